"""Link prediction with minibatches of DGL: its uniform negatives, and negatives by distance.

FOLDER contains edges.tsv; without it, a synthetic graph is used:

    python examples/dgl_links.py [FOLDER]
"""

# %% A graph, a tenth of its edges held out
import sys
from typing import Any

import nearfar
from nearfar.typing import Law

try:
    import torch  # type: ignore[import-not-found,unused-ignore]
    import dgl  # type: ignore[import-not-found,unused-ignore]
except ImportError as missing:
    print(f"skipped: {missing.name} is not installed", file=sys.stderr)
    sys.exit()

DIM, EPOCHS, SEEDS = 64, 10, 3

graph = nearfar.Graph(sys.argv[1]) if len(sys.argv) > 1 else nearfar.synth("moderate", seed=0)
print(graph)


# %% A negative sampler of DGL: called with a batch of edges, it returns the ends of pairs
class Negatives:
    def __init__(self, known: Any, law: Law, seed: int) -> None:
        self.sampler = nearfar.NegativeSampler(known, law, seed=seed)

    def __call__(self, known: Any, edges: Any) -> Any:
        sources = torch.randint(known.num_nodes(), (len(edges),))
        return sources, self.sampler.sample(sources)[:, 0]


# %% A network of two layers on vectors of nodes, trained on sampled neighbourhoods
class Network(torch.nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def __init__(self, nodes: int) -> None:
        super().__init__()
        self.nodes = torch.nn.Embedding(nodes, DIM)
        self.first = dgl.nn.SAGEConv(DIM, DIM, "mean", activation=torch.relu)
        self.second = dgl.nn.SAGEConv(DIM, DIM, "mean")

    def forward(self, blocks: Any, rows: Any) -> Any:
        return self.second(blocks[1], self.first(blocks[0], self.nodes(rows)))


def train(known: Any, negatives: Any) -> Any:
    network = Network(known.num_nodes())
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    sampler = dgl.dataloading.NeighborSampler([10, 10])
    sampler = dgl.dataloading.as_edge_prediction_sampler(sampler, negative_sampler=negatives)
    edges = torch.arange(known.num_edges())
    for rows, positive, negative, blocks in (
        batch
        for _ in range(EPOCHS)
        for batch in dgl.dataloading.DataLoader(known, edges, sampler, batch_size=1024, shuffle=True)
    ):
        z = network(blocks, rows)
        logits = torch.cat([scores(z, torch.stack(pairs.edges())) for pairs in (positive, negative)])
        labels = (torch.arange(len(logits)) < positive.num_edges()).float()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return network


def scores(z: Any, pairs: Any) -> Any:
    return (z[pairs[0]] * z[pairs[1]]).sum(-1)


# %% Scores: AUC of held-out edges against random pairs of nodes
results: dict[str, list[float]] = {}
for seed in range(SEEDS):
    torch.manual_seed(seed)
    dgl.seed(seed)
    edges = torch.from_numpy(graph.edge_index)[:, torch.randperm(graph.num_edges)]
    held_out, rest = edges.split([graph.num_edges // 10, graph.num_edges - graph.num_edges // 10], 1)
    known = dgl.to_bidirected(dgl.graph(tuple(rest), num_nodes=graph.num_nodes))
    pairs = torch.randint(graph.num_nodes, held_out.shape)
    for name, negatives in {
        "DGL": dgl.dataloading.negative_sampler.GlobalUniform(1),
        "uniform": Negatives(known, "uniform", seed),
        "distance": Negatives(known, "distance", seed),
    }.items():
        torch.manual_seed(seed)
        dgl.seed(seed)
        network = train(known, negatives)
        with torch.no_grad():
            z = network([known, known], known.nodes())
        better = scores(z, held_out)[:, None] > scores(z, pairs)
        results.setdefault(name, []).append(float(better.float().mean()))

for name, runs in results.items():
    print(f"{name:<10} AUC {sum(runs) / len(runs):.3f}  of {len(runs)} runs from {min(runs):.3f} to {max(runs):.3f}")
