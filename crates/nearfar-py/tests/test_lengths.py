"""Distances that are lengths, against SciPy and NetworkX."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import nearfar


def _matrix(n, m, seed, symmetric):
    scipy_sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(0, n, m), rng.integers(0, n, m)
    keep = rows != columns
    lengths = rng.uniform(0.1, 9, m).astype(np.float32)
    dense = np.zeros((n, n), np.float32)
    dense[rows[keep], columns[keep]] = lengths[keep]
    if symmetric:
        dense = np.maximum(dense, dense.T)
    return scipy_sparse.csr_array(dense)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("edges", [60, 200, 2000])
def test_distances_are_those_of_scipy(directed, edges):
    csgraph = pytest.importorskip("scipy.sparse.csgraph")
    matrix = _matrix(150, edges, edges, symmetric=not directed)
    expected = csgraph.dijkstra(matrix.astype(np.float64), directed=directed)
    graph = nearfar.Graph(matrix, distance="length", directed=directed)
    assert graph.distance == "length" and not graph.weighted
    found = nearfar.distances(graph, graph.nodes)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(nearfar.distances(graph, 7), expected[7], rtol=1e-12)
    lengths = nearfar.stats(graph)["lengths"]
    assert lengths["diameter"] == pytest.approx(expected[np.isfinite(expected)].max())


@pytest.mark.parametrize("directed", [False, True])
def test_negatives_follow_scipys_distances(directed):
    csgraph = pytest.importorskip("scipy.sparse.csgraph")
    matrix = _matrix(40, 150, 3, symmetric=not directed)
    distance = csgraph.dijkstra(matrix.astype(np.float64), directed=directed)[5]
    longest = csgraph.dijkstra(matrix.astype(np.float64), directed=directed)
    far = longest[np.isfinite(longest)].max() + matrix.data.max()
    weights = np.where(np.isfinite(distance), distance, far)
    expected = weights / weights.sum()
    for strategy in ("table", "levels"):
        sampler = nearfar.NegativeSampler(
            matrix, "distance", distance="length", directed=directed, strategy=strategy, seed=1
        )
        counts = np.bincount(sampler.sample([5], k=200_000)[0], minlength=40)
        assert counts[5] == 0
        error = (counts - 200_000 * expected) ** 2 / np.maximum(200_000 * expected, 1)
        assert error.sum() < 100, strategy


def test_lengths_of_networkx_attributes():
    networkx = pytest.importorskip("networkx")
    roads = networkx.Graph()
    roads.add_edge("a", "b", length=2.5, weight=3)
    roads.add_edge("b", "c", length=1, weight=1)
    roads.add_edge("a", "c", length=8, weight=1)
    assert nearfar.distances(roads, "a", distance="length").tolist() == [0, 2.5, 3.5]
    assert nearfar.distances(roads, "a", length="length").tolist() == [0, 2.5, 3.5]
    inverse = nearfar.Graph(roads, distance="1/weight")
    assert inverse.weighted and nearfar.distances(inverse, "a").tolist() == pytest.approx([0, 1 / 3, 1])
    roads.edges["a", "b"]["flow"] = roads.edges["b", "c"]["flow"] = roads.edges["a", "c"]["flow"] = 5
    both = nearfar.Graph(roads, length="length", weight="flow")
    assert both.weighted and nearfar.distances(both, "a").tolist() == [0, 2.5, 3.5]
    arcs = networkx.DiGraph([("x", "y", {"length": 2}), ("y", "x", {"length": 5})])
    assert nearfar.distances(arcs, "y", distance="length", directed=True).tolist() == [5, 0]
    with pytest.warns(UserWarning, match="takes the smaller of the two weights"):
        assert nearfar.distances(arcs, "y", distance="length").tolist() == [2, 0]


def test_lengths_of_lists_and_files(tmp_path):
    triples = [("a", "b", 2), ("b", "c", 0.5), ("a", "b", 1)]
    graph = nearfar.Graph(triples, distance="length")
    assert nearfar.distances(graph, "a").tolist() == [0, 1, 1.5]
    assert nearfar.distances(iter(triples), "a", distance="length").tolist() == [0, 1, 1.5]
    copy = pickle.loads(pickle.dumps(graph))
    assert copy.distance == "length" and nearfar.distances(copy, "a").tolist() == [0, 1, 1.5]
    assert nearfar.Graph(graph, weight=None).distance == "length"
    path = tmp_path / "roads.csv"
    path.write_text("from,to,km,weight\na,b,2,1\nb,c,0.5,1\n")
    with pytest.warns(UserWarning, match="not read: column weight"):
        assert nearfar.distances(path, "a", length="km").tolist() == [0, 2, 2.5]
    assert nearfar.distances([("a", "b"), ("b", "c")], "a", length=[3, 4]).tolist() == [0, 3, 7]


def test_lengths_that_are_none_are_errors():
    for bad in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="expected a finite number > 0"):
            nearfar.Graph([("a", "b", 1), ("b", "c", bad)], distance="length")
    with pytest.raises(ValueError, match="no lengths"):
        nearfar.Graph([("a", "b")], distance="length")
    with pytest.raises(ValueError, match="distance='miles'"):
        nearfar.Graph([("a", "b")], distance="miles")
    with pytest.raises(ValueError, match="set it when building"):
        nearfar.Graph(nearfar.Graph([("a", "b")]), distance="length")
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph([("a", "b", {"length": 1}), ("b", "c")])
    with pytest.raises(ValueError, match="has length None"):
        nearfar.Graph(graph, distance="length")
    with pytest.raises(ValueError, match="no edge has the length attribute 'km'"):
        nearfar.Graph(graph, length="km")


def test_measures_by_length():
    side = 12
    rng = np.random.default_rng(0)
    edges = [(a, b, float(rng.uniform(0.5, 2))) for a in range(side**2) for b in (a + 1, a + side)
             if b < side**2 and (b == a + side or b % side)]
    graph = nearfar.Graph(edges, distance="length")
    emb = nearfar.embed(graph, dim=16, seed=0)
    found = nearfar.measure(emb, graph)
    assert len(found.length) == len(found.xi) and found.length == sorted(found.length)
    assert found.xi[0] > 0.6 > found.xi[-1] and found.spearman < -0.3
