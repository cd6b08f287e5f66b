"""Draw negatives by distance in your own training loop, in PyTorch if it is installed, otherwise in
NumPy.

    python examples/own_loop.py
"""

# %% A graph, a sampler of negatives, and initial vectors
from importlib.util import find_spec

import nearfar
import numpy as np
import numpy.typing as npt

K, DIM, EPOCHS, RATE = 5, 32, 60, 0.1

graph = nearfar.Graph("builtin:karate")
sampler = nearfar.NegativeSampler(graph, "distance", gamma=1.0, seed=0)
sources, targets = graph.edge_index
start = np.random.default_rng(0).normal(0, 0.1, (graph.num_nodes, DIM)).astype(np.float32)


# %% The training loop: edges are positives
def train_with_numpy(z: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    def step(of: npt.NDArray[np.int64], other: npt.NDArray[np.int64], label: float) -> float:
        """One gradient step on log σ(± z_i·z_j), whose gradient is (label − σ(z_i·z_j)) z_j."""
        score = 1 / (1 + np.exp(-(z[of] * z[other]).sum(1, keepdims=True)))
        scale = RATE * (label - score)
        gradient_of, gradient_other = scale * z[other], scale * z[of]
        np.add.at(z, of, gradient_of)
        np.add.at(z, other, gradient_other)
        return float(-np.log(np.abs(1 - label - score)).mean())

    for epoch in range(EPOCHS):
        negatives = sampler.sample(sources, k=K)
        loss = step(sources, targets, 1) + step(sources.repeat(K), negatives.reshape(-1), 0)
        if epoch % 20 == 19:
            print(f"epoch {epoch + 1}: loss {loss:.3f}")
    return z


def train_with_torch(start: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    import torch  # type: ignore[import-not-found,unused-ignore]

    z = torch.nn.Embedding.from_pretrained(torch.from_numpy(start), freeze=False)
    optimiser = torch.optim.Adam(z.parameters(), lr=RATE)
    log_sigmoid = torch.nn.functional.logsigmoid
    i, j = torch.from_numpy(sources), torch.from_numpy(targets)
    for epoch in range(EPOCHS):
        negatives = sampler.sample(i, k=K)
        positive = log_sigmoid((z(i) * z(j)).sum(-1)).mean()
        negative = log_sigmoid(-(z(i).unsqueeze(1) * z(negatives)).sum(-1)).mean()
        optimiser.zero_grad()
        loss = -(positive + negative)
        loss.backward()
        optimiser.step()
        if epoch % 20 == 19:
            print(f"epoch {epoch + 1}: loss {loss.item():.3f}")
    return np.asarray(z.weight.detach().numpy(), dtype=np.float32)


vectors = train_with_torch(start) if find_spec("torch") else train_with_numpy(start)

# %% Wrap the vectors as an embedding
emb = nearfar.Embedding(graph.nodes, vectors)
print("nearest to node 33:", [node for node, _ in emb.neighbors(33, k=5)])
