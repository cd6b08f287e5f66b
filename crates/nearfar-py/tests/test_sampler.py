"""Negative samplers: shapes, distributions and reproducibility."""

from __future__ import annotations

import pickle
from typing import Any

import nearfar
import networkx as nx
import numpy as np
import pytest

LAWS = ["auto", "uniform", "degree", "distance", "distance-min", "distance-max", "landmark-approx", "landmark", "edge"]


@pytest.mark.parametrize("law", LAWS)
def test_shapes_and_ranges(law: str) -> None:
    sampler = nearfar.NegativeSampler("builtin:karate", law, seed=3)
    nodes = np.repeat(np.arange(34), 3)
    negatives = sampler.sample(nodes, k=20)
    assert negatives.shape == (102, 20) and negatives.dtype == np.int64
    assert negatives.min() >= 0 and negatives.max() < 34
    assert (negatives != nodes[:, None]).all(), "a node is never its own negative"
    assert law == "auto" or sampler.law == law


def test_distribution_follows_distances() -> None:
    graph = nx.karate_club_graph()
    sampler = nearfar.NegativeSampler(graph, "distance", gamma=2.0)
    counts = np.bincount(sampler.sample([0], k=400_000)[0], minlength=34)
    weights = nearfar.distances(graph, 0).astype(float) ** 2
    expected = weights / weights.sum() * 400_000
    drawn = weights > 0
    assert counts[0] == 0
    # Chi-squared with 32 degrees of freedom exceeds 62.5 with probability 0.001.
    assert ((counts - expected)[drawn] ** 2 / expected[drawn]).sum() < 62.5


def test_same_seed_gives_the_same_sequence_of_draws() -> None:
    first, again = (nearfar.NegativeSampler("builtin:karate", seed=5) for _ in range(2))
    one, two = first.sample([1, 1, 2], k=50), first.sample([1, 1, 2], k=50)
    assert (one != two).any(), "every call draws new negatives"
    assert (one[0] != one[1]).any(), "repeated nodes get independent draws"
    assert (again.sample([1, 1, 2], k=50) == one).all()
    third = pickle.loads(pickle.dumps(again))
    assert (third.sample([1, 1, 2], k=50) == two).all(), "a pickled sampler continues its sequence"
    assert (nearfar.NegativeSampler("builtin:karate", seed=6).sample([1, 1, 2], k=50) != one).any()


@pytest.mark.parametrize("strategy", ["table", "levels"])
def test_draws_do_not_depend_on_threads(strategy: str) -> None:
    draws = [
        nearfar.NegativeSampler("builtin:karate", "distance", strategy=strategy, threads=threads).sample(
            np.arange(34).repeat(100), k=11
        )
        for threads in (1, 3)
    ]
    assert (draws[0] == draws[1]).all()


def test_negative_edges_have_the_shape_of_edge_index() -> None:
    graph = nx.karate_club_graph()
    edge_index = np.array(graph.edges).T
    sampler = nearfar.NegativeSampler(graph, "edge", seed=1)
    negatives = sampler.sample_edges(edge_index, k=3)
    assert negatives.shape == (2, 78 * 3) and negatives.dtype == np.int64
    assert (negatives[0] == edge_index[0].repeat(3)).all()
    assert not any(graph.has_edge(a, b) for a, b in negatives.T.tolist())
    assert sampler.sample_edges(edge_index).shape == edge_index.shape


def test_nodes_are_ids_and_negatives_are_rows() -> None:
    graph = nx.relabel_nodes(nx.path_graph(4), {0: "a", 1: "b", 2: "c", 3: "d"})
    sampler = nearfar.NegativeSampler(graph, "edge", seed=1)
    assert set(sampler.sample(["a"], k=50).ravel().tolist()) == {2, 3}
    assert sampler.rows(["d", "a"]).tolist() == [3, 0]
    assert [sampler.nodes[row] for row in (2, 3)] == ["c", "d"]
    assert nearfar.NegativeSampler([(10, 20), (20, 30)]).sample([30], k=2).max() < 3


@pytest.mark.parametrize("nodes", [[], np.zeros(0, int)])
def test_empty_requests(nodes: Any) -> None:
    sampler = nearfar.NegativeSampler("builtin:karate")
    assert sampler.sample(nodes, k=4).shape == (0, 4)
    assert sampler.sample([1, 2], k=0).shape == (2, 0)


def test_repr_names_the_law() -> None:
    sampler = nearfar.NegativeSampler("builtin:karate", "distance")
    assert repr(sampler).startswith("NegativeSampler: ") and "distance" in repr(sampler)
