"""Link prediction with a network of PyTorch Geometric: its uniform negatives, and negatives by distance.

FOLDER contains edges.tsv; without it, a synthetic graph is used:

    python examples/pyg_links.py [FOLDER]
"""

# %% A graph, its edges divided into those to train on and those to score
import sys
from typing import Any

import nearfar
from nearfar.typing import Law

try:
    import torch  # type: ignore[import-not-found,unused-ignore]
    from torch_geometric.data import Data  # type: ignore[import-not-found,unused-ignore]
    from torch_geometric.nn import SAGEConv  # type: ignore[import-not-found,unused-ignore]
    from torch_geometric.transforms import RandomLinkSplit  # type: ignore[import-not-found,unused-ignore]
    from torch_geometric.utils import negative_sampling, to_undirected  # type: ignore[import-not-found,unused-ignore]
except ImportError as missing:
    print(f"skipped: {missing.name} is not installed", file=sys.stderr)
    sys.exit()

DIM, EPOCHS, SEEDS = 64, 100, 3

graph = nearfar.Graph(sys.argv[1]) if len(sys.argv) > 1 else nearfar.synth("moderate", seed=0)
data = Data(edge_index=to_undirected(torch.from_numpy(graph.edge_index)), num_nodes=graph.num_nodes)
print(graph)


# %% A network of two layers on vectors of nodes that are trained with it
class Network(torch.nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def __init__(self, nodes: int) -> None:
        super().__init__()
        self.nodes = torch.nn.Embedding(nodes, DIM)
        self.first, self.second = SAGEConv(DIM, DIM), SAGEConv(DIM, DIM)

    def forward(self, edge_index: Any) -> Any:
        return self.second(self.first(self.nodes.weight, edge_index).relu(), edge_index)


def scores(z: Any, pairs: Any) -> Any:
    return (z[pairs[0]] * z[pairs[1]]).sum(-1)


# %% Training: a negative for each edge, drawn anew in every epoch
def train(known: Any, negatives: Any) -> Any:
    network = Network(known.num_nodes)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    positive = known.edge_label_index
    for _ in range(EPOCHS):
        z = network(known.edge_index)
        logits = torch.cat([scores(z, positive), scores(z, negatives(positive))])
        labels = (torch.arange(len(logits)) < positive.shape[1]).float()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return network


def of_edges(law: Law) -> Any:
    """Negatives of the source of each edge: nodes of many edges are sources more often."""
    return nearfar.NegativeSampler(known, law, seed=seed).sample_edges


def of_nodes(law: Law) -> Any:
    """Negatives of random nodes, each as often as others."""
    sampler = nearfar.NegativeSampler(known, law, seed=seed)

    def draw(positive: Any) -> Any:
        sources = torch.randint(known.num_nodes, (positive.shape[1],))
        return torch.stack([sources, sampler.sample(sources)[:, 0]])

    return draw


def of_pyg(positive: Any) -> Any:
    """Random pairs without an edge."""
    return negative_sampling(known.edge_index, known.num_nodes, positive.shape[1])


# %% Scores: AUC of held-out edges against pairs without an edge
def auc(z: Any, held_out: Any) -> float:
    score, label = scores(z, held_out.edge_label_index), held_out.edge_label.bool()
    return float((score[label][:, None] > score[~label]).float().mean())


results: dict[str, list[float]] = {}
split = RandomLinkSplit(num_val=0, num_test=0.1, is_undirected=True, add_negative_train_samples=False)
for seed in range(SEEDS):
    torch.manual_seed(seed)
    known, _, held_out = split(data)
    draws = {
        "PyTorch Geometric": of_pyg,
        "edge, of nodes": of_nodes("edge"),
        "distance, of nodes": of_nodes("distance"),
        "distance, of edges": of_edges("distance"),
    }
    for name, negatives in draws.items():
        torch.manual_seed(seed)
        network = train(known, negatives)
        with torch.no_grad():
            z = network(known.edge_index)
        results.setdefault(name, []).append(auc(z, held_out))

for name, runs in results.items():
    print(f"{name:<20} AUC {sum(runs) / len(runs):.3f}  of {len(runs)} runs from {min(runs):.3f} to {max(runs):.3f}")
