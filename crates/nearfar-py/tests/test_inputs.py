"""Every kind of graph keeps its ids, its isolated nodes and its order."""

from __future__ import annotations

import types
import warnings
from typing import Any

import igraph
import nearfar
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

# A path of three edges with weights, between nodes 0 to 3; node 4 has no edge.
ENDS = np.array([[0, 1], [1, 2], [2, 3]])
WEIGHTS = np.array([1.0, 0.5, 2.0])


def edges(graph: nearfar.Graph) -> dict[frozenset[Any], float]:
    """Edges by their ids, each with its weight."""
    sources, targets, weights = graph._engine.edge_arrays()
    if weights is None:
        weights = np.ones(len(sources), np.float32)
    ends = zip(sources.tolist(), targets.tolist(), strict=True)
    pairs = [frozenset((graph.nodes[a], graph.nodes[b])) for a, b in ends]
    return dict(zip(pairs, weights.tolist(), strict=True))


def expected(names: list[Any], weighted: bool = True) -> dict[frozenset[Any], float]:
    pairs = [frozenset((names[a], names[b])) for a, b in ENDS.tolist()]
    return dict(zip(pairs, WEIGHTS.tolist() if weighted else [1.0] * 3, strict=True))


@pytest.mark.parametrize("names", [["a", "b", "c", "d", "e"], [(0, 1), 2.5, "x", None, 7], [9, 1, 5, 0, 3]])
def test_networkx_keeps_any_ids(names: list[Any]) -> None:
    if None in names:
        names = [frozenset() if name is None else name for name in names]
    graph = nx.Graph()
    graph.add_nodes_from(names)
    graph.add_weighted_edges_from((names[a], names[b], w) for (a, b), w in zip(ENDS, WEIGHTS, strict=True))
    own = nearfar.Graph(graph)
    assert own.nodes == names
    assert edges(own) == expected(names)
    assert edges(nearfar.Graph(graph, weight=None)) == expected(names, weighted=False)
    assert own.weighted and not nearfar.Graph(graph, weight=None).weighted


def test_networkx_by_another_attribute_and_parallel_edges() -> None:
    graph = nx.MultiGraph()
    graph.add_edge("a", "b", cost=3)
    graph.add_edge("a", "b", cost=4)
    graph.add_edge("b", "c")
    own = nearfar.Graph(graph, weight="cost")
    assert edges(own) == {frozenset("ab"): 3.0, frozenset("bc"): 1.0}


def test_networkx_views_work() -> None:
    graph = nx.path_graph(10)
    assert nearfar.Graph(graph.subgraph([3, 4, 5])).nodes == [3, 4, 5]
    assert nearfar.Graph(nx.karate_club_graph()).num_edges == 78


def test_igraph_keeps_names() -> None:
    graph = igraph.Graph(n=5, edges=ENDS.tolist())
    graph.es["weight"] = WEIGHTS.tolist()
    assert edges(nearfar.Graph(graph)) == expected(list(range(5)))
    assert nearfar.Graph(graph).nodes == list(range(5))
    graph.vs["name"] = list("abcde")
    assert nearfar.Graph(graph).nodes == list("abcde")
    assert edges(nearfar.Graph(graph, weight=None)) == expected(list("abcde"), weighted=False)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok"])
@pytest.mark.parametrize("array", [sp.coo_array, sp.coo_matrix])
@pytest.mark.parametrize("symmetric", [True, False])
def test_scipy_keeps_all_rows(form: str, array: Any, symmetric: bool) -> None:
    upper = array((WEIGHTS, (ENDS[:, 0], ENDS[:, 1])), shape=(5, 5))
    matrix = (upper + upper.T if symmetric else upper).asformat(form)
    own = nearfar.Graph(matrix)
    assert own.nodes == list(range(5))
    assert edges(own) == expected(own.nodes)
    assert not nearfar.Graph((matrix.tocsr() != 0).astype(int)).weighted


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint32, np.uint8, np.int16])
@pytest.mark.parametrize("across", [False, True])
def test_arrays_of_both_shapes(kind: Any, across: bool) -> None:
    array = np.ascontiguousarray(ENDS.T) if across else ENDS
    own = nearfar.Graph(array.astype(kind), num_nodes=5)
    assert own.nodes == list(range(5))
    assert edges(own) == expected(own.nodes, weighted=False)
    assert edges(nearfar.Graph(array, weight=WEIGHTS)) == expected(own.nodes)
    assert nearfar.Graph(array).num_nodes == 4


def test_two_by_two_is_one_edge_a_row() -> None:
    assert edges(nearfar.Graph(np.array([[0, 1], [2, 3]]))).keys() == {frozenset((0, 1)), frozenset((2, 3))}


class Tensor:
    """As much of a tensor as is needed: it has to be detached and fetched first."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> Any:
        return self._values


def test_geometric_data() -> None:
    index = np.concatenate([ENDS.T, ENDS.T[::-1]], axis=1)
    data = types.SimpleNamespace(edge_index=Tensor(index), num_nodes=5, edge_weight=None)
    assert nearfar.Graph(data).nodes == list(range(5))
    assert edges(nearfar.Graph(data)) == expected(list(range(5)), weighted=False)
    data.edge_weight = Tensor(np.concatenate([WEIGHTS, WEIGHTS]))
    assert edges(nearfar.Graph(data)) == expected(list(range(5)))
    assert not nearfar.Graph(data, weight=None).weighted
    data.strength = Tensor(np.full(6, 2.0))
    assert set(edges(nearfar.Graph(data, weight="strength")).values()) == {2.0}


FRAMES = [pd.DataFrame, pl.DataFrame, pa.table, pa.RecordBatch.from_pydict]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("ends", [("source", "target"), ("src", "dst"), ("From", "To")])
def test_frames(frame: Any, ends: tuple[str, str]) -> None:
    table = {ends[0]: ENDS[:, 0], ends[1]: ENDS[:, 1], "weight": WEIGHTS}
    own = nearfar.Graph(frame(table), nodes=range(5))
    assert own.nodes == list(range(5))
    assert edges(own) == expected(own.nodes)


@pytest.mark.parametrize("frame", FRAMES)
def test_frames_of_texts_are_numbered_as_they_appear(frame: Any) -> None:
    table = {"a": ["x", "y", "z"], "b": ["y", "w", "w"], "strength": [1, 2, 3]}
    own = nearfar.Graph(frame(table), source="a", target="b", weight="strength")
    assert own.nodes == ["x", "y", "w", "z"]
    assert edges(own) == {frozenset("xy"): 1.0, frozenset("yw"): 2.0, frozenset("zw"): 3.0}
    assert nearfar.Graph(frame(table), source="a", target="b", nodes=["q", "z"]).nodes == list("qzxyw")


def test_integer_ids_of_frames() -> None:
    rows = [(30, 10), (20, 30)]
    for shift in (0, -100, 10**12):
        frame = pd.DataFrame(np.array(rows) + shift, columns=["source", "target"])
        own = nearfar.Graph(frame)
        assert own.nodes == [30 + shift, 10 + shift, 20 + shift]
        assert edges(own).keys() == {frozenset((a + shift, b + shift)) for a, b in rows}
    assert nearfar.Graph(pd.DataFrame({"source": [2, 1], "target": [0, 2]})).nodes == [0, 1, 2]


def test_lists_of_pairs() -> None:
    own = nearfar.Graph([("ann", "bob"), ("bob", 7)])
    assert own.nodes == ["ann", "bob", 7]


def test_paths_have_texts_or_integers(tmp_path: Any) -> None:
    file = tmp_path / "edges.tsv"
    file.write_text("ann\tbob\nbob\t7\n")
    assert nearfar.Graph(file).nodes == ["ann", "bob", "7"]
    file.write_text("30\t10\n20\t30\n")
    assert nearfar.Graph(str(file)).nodes == [30, 10, 20]
    file.write_text("1\t0\n1\t2\n")
    assert nearfar.Graph(file).nodes == [0, 1, 2]
    file.write_text("ann\tbob\t2.5\n")
    assert nearfar.Graph(file).weighted and not nearfar.Graph(file, weight=None).weighted
    assert nearfar.Graph(nearfar.Graph(file), weight=None).nodes == ["ann", "bob"]


def test_folders_have_labels_and_splits() -> None:
    graph = nearfar.synth("sparse", nodes=300, seed=3)
    assert graph.labels is not None and len(graph.labels) == 300
    assert graph.splits is not None and graph.splits.count("train") == 30
    assert nearfar.Graph("builtin:karate").labels[0] == "Mr. Hi"


def test_largest_component_keeps_ids() -> None:
    own = nearfar.Graph([("p", "q"), ("a", "b"), ("b", "c")], largest_component=True)
    assert own.nodes == ["a", "b", "c"]
    assert own.num_edges == 2


def test_a_directed_graph_is_taken_both_ways_and_says_so() -> None:
    for graph in (nx.DiGraph([(0, 1), (1, 0), (1, 2)]), igraph.Graph(edges=[(0, 1), (1, 0), (1, 2)], directed=True)):
        with pytest.warns(UserWarning, match="1 of the 3 edges of a directed graph go one way only") as caught:
            own = nearfar.Graph(graph)
        assert own.num_edges == 2
        assert caught[0].filename == __file__
    both = nx.DiGraph([(0, 1), (1, 0)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nearfar.Graph(both)
    both[0][1]["weight"], both[1][0]["weight"] = 2, 3
    with pytest.warns(UserWarning, match="another weight on their way back"):
        assert edges(nearfar.Graph(both)) == {frozenset((0, 1)): 2.0}
