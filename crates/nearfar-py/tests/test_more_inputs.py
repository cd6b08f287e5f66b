"""Lists, dicts, matrices, tensors, and graphs of PyTorch Geometric and DGL; options that do not apply."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import nearfar
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

TRIPLES = [("a", "b", 2.0), ("b", "c", 0.5), ("c", "d", 3.0)]
WEIGHTS = {frozenset("ab"): 2.0, frozenset("bc"): 0.5, frozenset("cd"): 3.0}
#: The same as a matrix, with an isolated node.
MATRIX = np.zeros((5, 5))
for a, b, w in TRIPLES:
    MATRIX["abcd".index(a), "abcd".index(b)] = MATRIX["abcd".index(b), "abcd".index(a)] = w
BY_ROW = {frozenset((0, 1)): 2.0, frozenset((1, 2)): 0.5, frozenset((2, 3)): 3.0}


def edges(graph: nearfar.Graph) -> dict[frozenset[Any], float]:
    """The weight of each edge, by the ids of its ends."""
    sources, targets, weights = graph._engine.edge_arrays()
    if weights is None:
        weights = np.ones(len(sources), np.float32)
    ends = zip(sources.tolist(), targets.tolist(), strict=True)
    pairs = [frozenset((graph.nodes[a], graph.nodes[b])) for a, b in ends]
    return dict(zip(pairs, weights.tolist(), strict=True))


class Tensor:
    """A minimal PyTorch tensor, which must be detached and copied to the CPU first."""

    def __init__(self, values: Any, layout: str = "torch.strided") -> None:
        self._values, self.layout = values, layout
        self.shape = values.shape

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> Any:
        assert self.layout == "torch.strided"
        return self._values

    # Of sparse tensors.
    def to_sparse_coo(self) -> Tensor:
        return self

    def coalesce(self) -> Tensor:
        return self

    def indices(self) -> Tensor:
        return Tensor(np.stack(self._values.nonzero()))

    def values(self) -> Tensor:
        return Tensor(self._values[self._values.nonzero()])


def test_lists_and_generators_of_triples() -> None:
    for given in (TRIPLES, iter(TRIPLES), (edge for edge in TRIPLES), tuple(TRIPLES)):
        graph = nearfar.Graph(given)
        assert graph.nodes == list("abcd") and edges(graph) == WEIGHTS
    assert edges(nearfar.Graph((a, b) for a, b, _ in TRIPLES)) == dict.fromkeys(WEIGHTS, 1.0)
    assert not nearfar.Graph(TRIPLES, weight=None).weighted
    assert not nearfar.Graph(TRIPLES, no_weights=True).weighted
    pairs = [(a, b) for a, b, _ in TRIPLES]
    assert edges(nearfar.Graph(pairs, weight=[2.0, 0.5, 3.0])) == WEIGHTS
    cost = [(a, b, {"cost": w}) for a, b, w in TRIPLES]
    assert edges(nearfar.Graph(cost, weight="cost")) == WEIGHTS
    assert not nearfar.Graph(cost).weighted


@pytest.mark.parametrize("repeats", ["sum", "max", "first"])
def test_weights_of_repeated_edges_are_merged(repeats: str) -> None:
    expected = {"sum": 51.0, "max": 50.0, "first": 1.0}[repeats]
    rows = [("a", "b", 1), ("b", "a", 50), ("b", "c", 4)]
    frame = pd.DataFrame(rows, columns=["source", "target", "weight"])
    multigraph = nx.MultiGraph()
    multigraph.add_weighted_edges_from(rows)
    matrix = sp.coo_array(([1, 50, 4], ([0, 1, 1], [1, 0, 2])), shape=(3, 3))
    for given in (rows, frame, multigraph, matrix, matrix.tocsr()):
        weights = edges(nearfar.Graph(given, repeats=repeats)).values()
        assert sorted(weights) == sorted([expected, 4.0]), type(given)
    with pytest.raises(ValueError, match="repeats='mean': expected 'sum', 'max', 'min' or 'first'"):
        nearfar.Graph(rows, repeats="mean")


def test_dicts_of_neighbors() -> None:
    lists = {"e": [], "a": ["b"], "b": ["c"], "c": ["d"]}
    assert nearfar.Graph(lists).nodes == list("eabcd")
    assert edges(nearfar.Graph(lists)) == dict.fromkeys(WEIGHTS, 1.0)
    assert edges(nearfar.Graph({"a": {"b": 2.0}, "b": {"c": 0.5}, "c": {"d": 3.0}})) == WEIGHTS
    graph = nx.Graph()
    graph.add_weighted_edges_from(TRIPLES)
    graph.add_node("e")
    for exported in (nx.to_dict_of_dicts(graph), graph.adj):
        assert edges(nearfar.Graph(dict(exported))) == WEIGHTS
        assert nearfar.Graph(dict(exported)).nodes == list("abcde")
    assert edges(nearfar.Graph(nx.to_dict_of_lists(graph))) == dict.fromkeys(WEIGHTS, 1.0)
    assert nearfar.Graph({1: {2, 3}, 2: {3}, 3: set()}).num_edges == 3


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_columns_of_frames(frame: Any) -> None:
    ends = {"user_id": ["a", "b", "c"], "friend_id": ["b", "c", "d"]}
    usual = frame({"year": [1, 2, 3], **ends, "Weight": [2.0, 0.5, 3.0]})
    graph = nearfar.Graph(usual)
    assert edges(graph) == WEIGHTS
    assert graph.summary.endswith(
        ": 4 nodes, 3 edges, undirected, weighted, 1 component, columns user_id and friend_id, weights from Weight"
    )
    unusual = frame({"year": [1, 2, 3], "x": ends["user_id"], "y": ends["friend_id"], "z": [2.0, 0.5, 3.0]})
    assert edges(nearfar.Graph(unusual, source="x", target="Y", weight="z")) == WEIGHTS
    assert edges(nearfar.Graph(unusual, source=2, target="3", weight=4)) == WEIGHTS
    assert not nearfar.Graph(unusual, source=2, target=3).weighted
    assert not nearfar.Graph(usual, no_weights=True).weighted
    with pytest.raises(ValueError, match="no weight column 'cost'; the columns are 'year', 'x', 'y', 'z'"):
        nearfar.Graph(unusual, source=2, target=3, weight="cost")
    with pytest.raises(ValueError, match="no columns 'source' and 'target'; the columns are 'year', 'x'"):
        nearfar.Graph(unusual)


def test_adjacency_matrices() -> None:
    for given in (MATRIX, Tensor(MATRIX), Tensor(MATRIX, "torch.sparse_coo"), Tensor(MATRIX, "torch.sparse_csr")):
        graph = nearfar.Graph(given)
        assert graph.nodes == list(range(5)) and edges(graph) == BY_ROW
        assert edges(nearfar.Graph(given, weight=None)) == dict.fromkeys(BY_ROW, 1.0)
    for ones in (MATRIX > 0, (MATRIX > 0).astype(int), (MATRIX > 0).astype(np.float32)):
        assert not nearfar.Graph(ones).weighted and nearfar.Graph(ones).num_edges == 3
    directed = np.triu(MATRIX)
    directed[1, 0] = 4.0
    assert edges(nearfar.Graph(directed))[frozenset((0, 1))] == 6.0
    assert nearfar.Graph(directed).summary == (
        "read numpy.ndarray: 5 nodes, 3 edges, asymmetric matrix read as undirected, weights w(i,j) + w(j,i), "
        "weighted, 2 components, merged 1 repeated edge (weights added)"
    )
    assert nearfar.Graph(np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])).num_edges == 2
    with pytest.raises(ValueError, match=r"shape \(3, 3\) that is not symmetric may be .* or three edges"):
        nearfar.Graph(np.array([[0, 1, 5], [1, 2, 3], [0, 2, 1]]))
    with pytest.raises(ValueError, match="the matrix has 2 rows and 3 columns; expected a square matrix"):
        nearfar.Graph(Tensor(np.ones((2, 3)), "torch.sparse_coo"))
    with pytest.raises(ValueError, match="edge 0–1 has weight -1"):
        nearfar.Graph(-(MATRIX > 0).astype(int))
    listed = np.array([[0, 1, 2.0], [1, 2, 0.5], [2, 3, 3.0], [3, 3, 1.0]])
    assert edges(nearfar.Graph(listed)) == BY_ROW
    assert not nearfar.Graph(listed, weight=None).weighted


class EdgeStorage:
    """One edge type of PyTorch Geometric's HeteroData."""

    def __init__(self, key: tuple[str, str, str], index: Any, sizes: tuple[int | None, int | None]) -> None:
        self._key, self.edge_index, self._sizes = key, Tensor(np.array(index)), sizes

    def size(self) -> tuple[int | None, int | None]:
        return self._sizes


class HeteroData:
    """As in PyTorch Geometric: edges by type."""

    def __init__(self, *stores: EdgeStorage) -> None:
        self._stores = {store._key: store for store in stores}
        self.node_types = ["user", "film"]

    @property
    def edge_types(self) -> list[tuple[str, str, str]]:
        return list(self._stores)

    def __getitem__(self, key: tuple[str, str, str]) -> EdgeStorage:
        return self._stores[key]


def test_heterogeneous_data() -> None:
    rates = EdgeStorage(("user", "rates", "film"), [[0, 1, 1], [0, 0, 1]], (2, 3))
    knows = EdgeStorage(("user", "knows", "user"), [[0, 1], [1, 2]], (4, 4))
    data = HeteroData(rates, knows)
    with pytest.raises(TypeError, match="has 2 edge types; pass one of them: data\\['user', 'rates', 'film'\\], data\\["):
        nearfar.Graph(data)
    bipartite = nearfar.Graph(data["user", "rates", "film"])
    assert bipartite.nodes == [("user", 0), ("user", 1), ("film", 0), ("film", 1), ("film", 2)]
    assert bipartite.num_edges == 3
    assert edges(nearfar.Graph(HeteroData(rates))) == edges(bipartite)
    assert nearfar.Graph(data["user", "knows", "user"]).nodes == [0, 1, 2, 3]


class DGLGraph:
    """What DGL's graphs have, for edges of given types."""

    def __init__(self, ends: Any, types: list[tuple[str, str, str]], sizes: dict[str, int]) -> None:
        self._ends, self._sizes = np.array(ends), sizes
        self.canonical_etypes = types
        self.edata: dict[str, Tensor] = {}

    def edges(self) -> tuple[Tensor, Tensor]:
        return Tensor(self._ends[0]), Tensor(self._ends[1])

    def num_nodes(self, node_type: str) -> int:
        return self._sizes[node_type]


def test_dgl(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("dgl")
    module.DGLGraph = DGLGraph  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "dgl", module)
    both = np.array([[0, 1, 2, 1, 2, 3], [1, 2, 3, 0, 1, 2]])
    graph = DGLGraph(both, [("_N", "_E", "_N")], {"_N": 5})
    assert nearfar.Graph(graph).nodes == list(range(5)) and not nearfar.Graph(graph).weighted
    graph.edata["weight"] = Tensor(np.array([2.0, 0.5, 3.0] * 2))
    assert edges(nearfar.Graph(graph)) == BY_ROW
    with pytest.raises(ValueError, match="no edge has the weight attribute 'cost'"):
        nearfar.Graph(graph, weight="cost")
    rated = DGLGraph([[0, 1], [0, 0]], [("user", "rates", "film")], {"user": 2, "film": 1})
    assert nearfar.Graph(rated).nodes == [("user", 0), ("user", 1), ("film", 0)]
    several = DGLGraph([[], []], [("user", "rates", "film"), ("user", "knows", "user")], {})
    with pytest.raises(TypeError, match="2 edge types; pass one of them: graph\\['user', 'rates', 'film'\\]"):
        nearfar.Graph(several)


INVALID: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (["ab", "cd"], {}, TypeError, "edge 0 is 'ab'; expected pairs"),
    ([("a", "b"), ("a", "b", 1)], {}, ValueError, "edge 1 has 3 entries and edge 0 has 2"),
    ([("a", "b", "x")], {}, ValueError, r"edge a–b \(row 0\) has weight 'x'; expected a number"),
    ({("a", "b")}, {}, TypeError, r"pass sorted\(edges\)"),
    ({"a": 3}, {}, TypeError, "node 'a' has 3; expected a list or dict of its neighbors"),
    ({"source": ["a"], "target": ["b"]}, {}, TypeError, r"pass pandas.DataFrame\(graph\)"),
    (nx.path_graph(3).edges, {}, TypeError, "EdgeView is a view of a graph; pass the graph itself"),
    (nx.path_graph(3), {"source": "a"}, ValueError, "source cannot be used with a networkx Graph; it is for a frame"),
    (nx.path_graph(3), {"nodes": [1]}, ValueError, "nodes cannot be used with a networkx Graph"),
    (MATRIX, {"num_nodes": 9}, ValueError, "num_nodes cannot be used with an adjacency matrix"),
    (MATRIX, {"weight": [1.0]}, ValueError, "weight cannot be given with an adjacency matrix"),
    (TRIPLES, {"header": True}, ValueError, "header cannot be used with a list of edges; it is for a path to a table"),
    (TRIPLES, {"sep": ","}, ValueError, "sep cannot be used with a list of edges"),
    (TRIPLES, {"input_format": "gml"}, ValueError, "input_format cannot be used with a list of edges; it is for a path"),
    (TRIPLES, {"weight": "cost", "no_weights": True}, ValueError, "weight cannot be used with no_weights=True"),
    ("builtin:karate", {"weight": [1.0]}, ValueError, "weight cannot be an array with a path"),
]


@pytest.mark.parametrize(("graph", "options", "error", "message"), INVALID)
def test_errors_name_the_way_out(graph: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        nearfar.Graph(graph, **options)


def test_options_of_paths(tmp_path: Path) -> None:
    file = tmp_path / "x.txt"
    file.write_text("a b c\nc d\n")
    assert nearfar.Graph(file, input_format="adjacency").num_edges == 3
    file.write_text("x|y\na|b\nb|c\n")
    assert nearfar.Graph(file, sep="|", header=True).nodes == ["a", "b", "c"]
    assert nearfar.Graph(file, sep="|", header="no").num_nodes == 5
    file.write_text("a b 1\na b 50\n")
    assert edges(nearfar.Graph(file, repeats="max")) == {frozenset("ab"): 50.0}
    assert not nearfar.Graph(file, no_weights=True).weighted
    with pytest.raises(ValueError, match='^input_format="docx": '):
        nearfar.Graph(file, input_format="docx")


@pytest.mark.parametrize("extension", ["parquet", "safetensors"])
def test_files_keep_the_type_of_ids(extension: str, tmp_path: Path) -> None:
    file = tmp_path / f"x.{extension}"
    for ids in (["0", "1", "2"], ["7", "3", "5"], [0, 1, 2], [7, -3, 10**12], ["07", "1", "x"]):
        nearfar.Embedding(ids, [[1], [2], [3]]).save(file)
        loaded = nearfar.load(file)
        assert loaded.nodes == ids and [type(node) for node in loaded.nodes] == [type(node) for node in ids]
        # And again, after another round.
        loaded.save(file)
        assert nearfar.load(file).nodes == ids
    trained = nearfar.embed([("0", "1"), ("1", "2")], dim=2, epochs=1)
    trained.save(file)
    assert nearfar.load(file).nodes == ["0", "1", "2"]
    assert (nearfar.load(file).vectors == trained.vectors).all()


@pytest.mark.parametrize("extension", ["npy", "w2v", "tsv", "csv"])
def test_files_without_types_hold_integers_where_they_can(extension: str, tmp_path: Path) -> None:
    file = tmp_path / f"x.{extension}"
    nearfar.Embedding(["0", "1"], [[1], [2]]).save(file)
    assert nearfar.load(file).nodes == [0, 1]
