"""Draw negatives by distance in a training loop of your own: in PyTorch if it is there, in NumPy if
it is not.

    python examples/own_loop.py
"""

# %% A graph, a sampler of its negatives, and a vector for each node to start from
import nearfar
import numpy as np
import numpy.typing as npt

try:
    import torch  # type: ignore[import-not-found,unused-ignore]
except ImportError:
    torch = None

K, DIM, EPOCHS, RATE = 5, 32, 60, 0.1

graph = nearfar.Graph("builtin:karate")
sampler = nearfar.NegativeSampler(graph, "distance", gamma=1.0, seed=0)
sources, targets = graph.edge_index
start = np.random.default_rng(0).normal(0, 0.1, (graph.num_nodes, DIM)).astype(np.float32)


# %% The loop: both ends of an edge come near, a node and its negatives go apart
def train_with_numpy(z: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    def push(of: npt.NDArray[np.int64], other: npt.NDArray[np.int64], label: float) -> float:
        """One step along the gradient of log σ(± z_i·z_j), which is (label − σ(z_i·z_j)) z_j."""
        score = 1 / (1 + np.exp(-(z[of] * z[other]).sum(1, keepdims=True)))
        step = RATE * (label - score)
        one, two = step * z[other], step * z[of]
        np.add.at(z, of, one)
        np.add.at(z, other, two)
        return float(-np.log(np.abs(1 - label - score)).mean())

    for epoch in range(EPOCHS):
        negatives = sampler.sample(sources, k=K)
        loss = push(sources, targets, 1) + push(sources.repeat(K), negatives.reshape(-1), 0)
        if epoch % 20 == 19:
            print(f"epoch {epoch + 1}: loss {loss:.3f}")
    return z


def train_with_torch(start: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    z = torch.nn.Embedding.from_pretrained(torch.from_numpy(start), freeze=False)
    optimiser = torch.optim.Adam(z.parameters(), lr=RATE)
    near = torch.nn.functional.logsigmoid
    i, j = torch.from_numpy(sources), torch.from_numpy(targets)
    for epoch in range(EPOCHS):
        negatives = sampler.sample(i, k=K)
        positive = near((z(i) * z(j)).sum(-1)).mean()
        negative = near(-(z(i).unsqueeze(1) * z(negatives)).sum(-1)).mean()
        optimiser.zero_grad()
        loss = -(positive + negative)
        loss.backward()
        optimiser.step()
        if epoch % 20 == 19:
            print(f"epoch {epoch + 1}: loss {loss.item():.3f}")
    return np.asarray(z.weight.detach().numpy(), dtype=np.float32)


vectors = train_with_torch(start) if torch is not None else train_with_numpy(start)

# %% The vectors are an embedding like any other
emb = nearfar.Embedding(graph.nodes, vectors)
print("nearest to node 33:", [node for node, _ in emb.neighbors(33, k=5)])
