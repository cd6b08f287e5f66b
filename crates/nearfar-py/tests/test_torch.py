"""PyTorch: loaders with workers, tensors without copies. Skipped where it is not installed."""

from __future__ import annotations

from typing import Any

import nearfar
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


class Edges(torch.utils.data.Dataset):  # type: ignore[misc,name-defined,unused-ignore]
    """The edges of a graph, with a negative of the source of each."""

    def __init__(self, seed: int) -> None:
        graph = nearfar.Graph("builtin:karate")
        self.edges = graph.edge_index.T
        self.sampler = nearfar.NegativeSampler(graph, "distance", seed=seed)

    def __len__(self) -> int:
        return len(self.edges)

    def __getitem__(self, at: int) -> Any:
        return self.sampler.sample(torch.from_numpy(self.edges[at, :1]), k=8)[0]


def epochs(seed: int, **options: Any) -> list[Any]:
    """The negatives of each worker in two epochs: batches go to the workers in turn."""
    loader = torch.utils.data.DataLoader(Edges(seed), batch_size=13, **options)
    batches = [list(loader) for _ in range(2)]
    return [torch.cat(of[worker::2]) for of in batches for worker in range(2)]


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("persistent", [False, True])
def test_two_workers_and_two_epochs(method: str, persistent: bool) -> None:
    options = {"num_workers": 2, "multiprocessing_context": method, "persistent_workers": persistent}
    drawn = epochs(0, **options)
    # Each worker reads half of the 78 edges.
    assert [tuple(of.shape) for of in drawn] == [(39, 8)] * 4
    assert len({of.numpy().tobytes() for of in drawn}) == 4
    assert all(torch.equal(a, b) for a, b in zip(drawn, epochs(0, **options), strict=True))
    assert not torch.equal(drawn[0], epochs(1, **options)[0])


def test_the_law_is_exact_in_workers() -> None:
    dataset = Edges(3)
    dataset.edges = np.full((4000, 2), 7)
    loader = torch.utils.data.DataLoader(dataset, batch_size=100, num_workers=2)
    drawn = torch.cat([batch for _ in range(2) for batch in loader]).numpy()
    weights = nearfar.distances("builtin:karate", 7).astype(float)
    expected = weights / weights.sum() * drawn.size
    counts = np.bincount(drawn.ravel(), minlength=34)
    others = np.arange(34) != 7
    # Chi-squared with 32 degrees of freedom exceeds 62.5 with probability 0.001.
    assert ((counts - expected)[others] ** 2 / expected[others]).sum() < 62.5


def test_generators_of_torch() -> None:
    sampler = nearfar.NegativeSampler("builtin:karate", seed=0)
    nodes = torch.arange(34)
    drawn = [sampler.sample(nodes, k=4, generator=torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)]
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])


def test_tensors_share_the_memory_of_the_vectors() -> None:
    emb = nearfar.embed("builtin:karate", dim=8, epochs=1)
    tensor = emb.to_torch()
    assert tensor.data_ptr() == emb.vectors.ctypes.data
    assert tensor.shape == (34, 8) and tensor.dtype == torch.float32


def test_negative_edges_are_those_of_edge_index() -> None:
    data = pytest.importorskip("torch_geometric.data", reason="PyTorch Geometric is not installed")
    utils = pytest.importorskip("torch_geometric.utils")
    edge_index = torch.from_numpy(nearfar.Graph("builtin:karate").edge_index)
    graph = data.Data(edge_index=utils.to_undirected(edge_index), num_nodes=34)
    sampler = nearfar.NegativeSampler(graph, "edge", seed=0)
    negatives = sampler.sample_edges(graph.edge_index, k=2)
    assert negatives.shape == (2, 2 * graph.num_edges) and negatives.dtype == torch.int64
    known = set(zip(*graph.edge_index.tolist(), strict=True))
    assert not known & set(zip(*negatives.tolist(), strict=True))
