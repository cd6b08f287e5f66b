"""All graph types keep their ids, isolated nodes and node order."""

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

# A weighted path of nodes 0 to 3; node 4 is isolated.
ENDS = np.array([[0, 1], [1, 2], [2, 3]])
WEIGHTS = np.array([1.0, 0.5, 2.0])


def edges(graph: nearfar.Graph) -> dict[frozenset[Any], float]:
    """The weight of each edge, by the ids of its ends."""
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
    converted = nearfar.Graph(graph)
    assert converted.nodes == names
    assert edges(converted) == expected(names)
    assert edges(nearfar.Graph(graph, weight=None)) == expected(names, weighted=False)
    assert converted.weighted and not nearfar.Graph(graph, weight=None).weighted


def test_networkx_weight_attribute_and_parallel_edges() -> None:
    graph = nx.MultiGraph()
    graph.add_edge("a", "b", cost=3)
    graph.add_edge("a", "b", cost=4)
    graph.add_edge("b", "c")
    converted = nearfar.Graph(graph, weight="cost")
    assert edges(converted) == {frozenset("ab"): 7.0, frozenset("bc"): 1.0}


def test_networkx_views() -> None:
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
    converted = nearfar.Graph(matrix)
    assert converted.nodes == list(range(5))
    assert edges(converted) == expected(converted.nodes)
    assert not nearfar.Graph((matrix.tocsr() != 0).astype(int)).weighted


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint32, np.uint8, np.int16])
@pytest.mark.parametrize("transposed", [False, True])
def test_arrays_of_both_shapes(dtype: Any, transposed: bool) -> None:
    array = np.ascontiguousarray(ENDS.T) if transposed else ENDS
    converted = nearfar.Graph(array.astype(dtype), num_nodes=5)
    assert converted.nodes == list(range(5))
    assert edges(converted) == expected(converted.nodes, weighted=False)
    assert edges(nearfar.Graph(array, weight=WEIGHTS)) == expected(converted.nodes)
    assert nearfar.Graph(array).num_nodes == 4


def test_shape_2_by_2_has_one_edge_per_row() -> None:
    assert edges(nearfar.Graph(np.array([[0, 1], [2, 3]]))).keys() == {frozenset((0, 1)), frozenset((2, 3))}


class Tensor:
    """A minimal tensor, which must be detached and copied to the CPU first."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> Any:
        return self._values


def test_pytorch_geometric_data() -> None:
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
    converted = nearfar.Graph(frame(table), nodes=range(5))
    assert converted.nodes == list(range(5))
    assert edges(converted) == expected(converted.nodes)


@pytest.mark.parametrize("frame", FRAMES)
def test_frames_with_string_ids_keep_order_of_appearance(frame: Any) -> None:
    table = {"a": ["x", "y", "z"], "b": ["y", "w", "w"], "strength": [1, 2, 3]}
    converted = nearfar.Graph(frame(table), source="a", target="b", weight="strength")
    assert converted.nodes == ["x", "y", "w", "z"]
    assert edges(converted) == {frozenset("xy"): 1.0, frozenset("yw"): 2.0, frozenset("zw"): 3.0}
    assert nearfar.Graph(frame(table), source="a", target="b", nodes=["q", "z"]).nodes == list("qzxyw")


def test_frames_with_integer_ids() -> None:
    rows = [(30, 10), (20, 30)]
    for shift in (0, -100, 10**12):
        frame = pd.DataFrame(np.array(rows) + shift, columns=["source", "target"])
        converted = nearfar.Graph(frame)
        assert converted.nodes == [30 + shift, 10 + shift, 20 + shift]
        assert edges(converted).keys() == {frozenset((a + shift, b + shift)) for a, b in rows}
    assert nearfar.Graph(pd.DataFrame({"source": [2, 1], "target": [0, 2]})).nodes == [0, 1, 2]


def test_lists_of_pairs() -> None:
    converted = nearfar.Graph([("ann", "bob"), ("bob", 7)])
    assert converted.nodes == ["ann", "bob", 7]


def test_ids_from_files_are_strings_or_integers(tmp_path: Any) -> None:
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


def test_labels_and_splits() -> None:
    graph = nearfar.synth("sparse", nodes=300, seed=3)
    assert graph.labels is not None and len(graph.labels) == 300
    assert graph.splits is not None and graph.splits.count("train") == 30
    assert nearfar.Graph("builtin:karate").labels[0] == "Mr. Hi"


def test_largest_component_keeps_ids() -> None:
    converted = nearfar.Graph([("p", "q"), ("a", "b"), ("b", "c")], largest_component=True)
    assert converted.nodes == ["a", "b", "c"]
    assert converted.num_edges == 2


def test_directed_graphs_warn_if_information_is_lost() -> None:
    for graph in (nx.DiGraph([(0, 1), (1, 0), (1, 2)]), igraph.Graph(edges=[(0, 1), (1, 0), (1, 2)], directed=True)):
        with pytest.warns(UserWarning, match="1 of its 3 edges have no reverse edge") as caught:
            converted = nearfar.Graph(graph)
        assert converted.num_edges == 2
        assert caught[0].filename == __file__
    symmetric = nx.DiGraph([(0, 1), (1, 0)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nearfar.Graph(symmetric)
    symmetric[0][1]["weight"], symmetric[1][0]["weight"] = 2, 3
    with pytest.warns(UserWarning, match="differ in weight from their reverse edge"):
        assert edges(nearfar.Graph(symmetric)) == {frozenset((0, 1)): 5.0}


def test_a_packed_graph_opens_without_being_read(tmp_path: Any) -> None:
    path = tmp_path / "karate.nfg"
    nearfar.Graph("builtin:karate")._engine.pack(path)
    opened, read = nearfar.Graph.open(path), nearfar.Graph(path)
    assert opened.nodes == read.nodes and np.array_equal(opened.edge_index, read.edge_index)
    first, second = (nearfar.embed(graph, dim=8, epochs=1).vectors for graph in (opened, read))
    assert np.array_equal(first, second)
    # A byte of its record is damaged: whoever reads all of the file notices.
    data = bytearray(path.read_bytes())
    data[data.index(b'"version"') + 1] ^= 1
    path.write_bytes(data)
    assert nearfar.Graph.open(path).num_edges == 78
    with pytest.raises(ValueError, match="damaged"):
        nearfar.Graph(path)
    path.write_bytes(data[:-100])
    with pytest.raises(ValueError, match="karate.nfg"):
        nearfar.Graph.open(path)
