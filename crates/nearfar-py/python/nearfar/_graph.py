"""Graphs: construction from files and from the objects of other libraries."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from . import _inputs, _nearfar, _options
from ._arrays import Integers
from ._edges import Edges
from ._ids import Ids

if TYPE_CHECKING:
    from ._keywords import Distance, InputFormat, Repeats

#: How the weights of repeated edges are merged, in messages.
_MERGED = {"sum": "the sum", "max": "the larger", "min": "the smaller", "first": "the first"}


class Graph:
    """A graph with node ids, undirected unless ``directed=True``.

    Every function of the package accepts a ``Graph`` or anything that can be converted to one;
    building it once saves the conversion in later calls. Self-loops, repeated edges and edges of
    weight 0 are dropped.

    Parameters
    ----------
    graph : path, graph, matrix, array, frame or list
        One of:

        - a path to a file in any format that the command line reads, or to a dataset folder; or
          ``"builtin:karate"``, ``"builtin:sparse"``, ``"builtin:moderate"``, ``"builtin:dense"``;
        - a NetworkX, igraph or DGL graph;
        - an adjacency matrix of shape (n, n): a SciPy sparse matrix or array, a sparse or dense
          PyTorch tensor, or a NumPy array;
        - an integer array of shape (m, 2) or (2, m), or (m, 3) with weights. An array of shape (2, 2)
          is two edges; one of shape (3, 3) is a matrix and has to be symmetric;
        - a PyTorch Geometric ``Data``, or one edge type of a ``HeteroData``:
          ``data["user", "rates", "film"]``, with node ids such as ``("user", 0)``;
        - a pandas, polars or pyarrow frame with one row per edge, or a polars ``LazyFrame``;
        - a list or generator of ``(source, target)`` or ``(source, target, weight)``;
        - a dict with a list of neighbors for each node, or with a dict of weights.
    weight : str, int, array of shape (m,) or None, default="weight"
        Name of the edge attribute or column with the weights, or the weights themselves; for frames
        and paths, also the number of the column from 1. By default the attribute ``weight``, and a
        column with a usual name. ``None`` makes the graph unweighted. An edge without the attribute
        has weight 1. Weights must be finite and ≥ 0.
    source, target : str or int, default=None
        Columns of a frame or of a path to a table: names, or numbers from 1. ``None`` looks for usual
        pairs of names, such as source and target, src and dst, from and to.
    distance : {"hops", "length", "1/weight"}, default=None
        What the distance of two nodes is: the number of edges on a shortest path, the sum of their
        lengths, or of 1/weight. ``None`` is ``"length"`` if ``length`` is given, else ``"hops"``.
        With ``"length"``, weights are read only if ``weight`` is given too.
    length : str, int or array of shape (m,), default=None
        Name of the edge attribute or column with the lengths, or the lengths themselves; for frames
        and paths, also the number of the column from 1. ``None`` takes the attribute or column
        ``length``, the entries of a matrix, or the third value of an edge. Lengths must be finite and
        > 0; of a repeated edge, the shortest counts.
    no_weights : bool, default=False
        Read no weights, as with ``weight=None``.
    header : bool or "auto", default="auto"
        For a path to a table of text: whether the first line names the columns.
    sep : str, default=None
        For a path to a table of text: the separator of columns, a character or ``"tab"``,
        ``"comma"``, ``"semicolon"``, ``"pipe"``, ``"space"``. ``None`` looks at the first lines.
    input_format : str, default=None
        For a path: the format, such as ``"metis"`` or ``"adjacency"``. ``None`` looks at the content,
        then at the extension.
    repeats : {"sum", "max", "min", "first"}, default="sum"
        Weight of an edge that is listed more than once.
    nodes : sequence of ids or path, default=None
        All node ids of a frame, list or dict, so that isolated nodes are kept. For a path, a file
        with one id per line.
    num_nodes : int, default=None
        Number of nodes of an integer array, so that isolated nodes at the end are kept. ``None``
        takes the largest id plus 1.
    directed : bool, default=False
        Read edges as arcs from the first end to the second: the arcs of a NetworkX ``DiGraph`` or
        another directed graph, the entries (i, j) of a matrix, the pairs of an array, frame, list or
        file. An edge of an undirected graph is two arcs.
    largest_component : bool, default=False
        Keep only the largest connected component.

    Examples
    --------
    >>> import nearfar
    >>> graph = nearfar.Graph([("ann", "bob"), ("bob", "eve"), ("eve", "eve")], nodes=["zoe"])
    >>> graph
    Graph of 4 nodes and 2 edges: 'zoe', 'ann', 'bob', ...
    >>> graph.dropped
    {'self_loops': 1, 'repeats': 0, 'zero_weights': 0}
    >>> graph.summary
    'read list: 4 nodes, 2 edges, undirected, unweighted, 2 components, dropped 1 self-loop'
    """

    _engine: _nearfar.Graph
    _ids: Ids
    _labels: list[Any] | None = None
    _splits: list[str | None] | None = None
    #: What ``summary`` calls the input.
    _source: str = "Graph"

    def __init__(
        self,
        graph: Any,
        *,
        weight: npt.ArrayLike | None = "weight",
        source: str | int | None = None,
        target: str | int | None = None,
        distance: Distance | None = None,
        length: npt.ArrayLike | None = None,
        no_weights: bool = False,
        header: bool | Literal["auto"] = "auto",
        sep: str | None = None,
        input_format: InputFormat | None = None,
        repeats: Repeats = "sum",
        nodes: Iterable[Hashable] | str | os.PathLike[str] | None = None,
        num_nodes: int | None = None,
        directed: bool = False,
        largest_component: bool = False,
    ) -> None:
        if repeats not in ("sum", "max", "min", "first"):
            raise ValueError(f"repeats={repeats!r}: expected 'sum', 'max', 'min' or 'first'")
        if distance not in (None, "hops", "length", "1/weight"):
            raise ValueError(f"distance={distance!r}: expected 'hops', 'length' or '1/weight'")
        if length is not None and distance not in (None, "length"):
            raise ValueError(f"length cannot be used with distance={distance!r}")
        if no_weights:
            if weight is not None and not (isinstance(weight, str) and weight == "weight"):
                raise ValueError("weight cannot be used with no_weights=True")
            weight = None
        options = {
            "weight": weight,
            "source": source,
            "target": target,
            "header": header,
            "sep": sep,
            "input_format": input_format,
            "repeats": repeats,
            "nodes": nodes,
            "num_nodes": num_nodes,
        }
        unit = distance or ("hops" if length is None else "length")
        if isinstance(graph, Graph):
            _reject(options, "a Graph; set it when building the Graph")
            if unit != "hops":
                raise ValueError("distance cannot be used with a Graph; set it when building the Graph")
            if directed and not graph.directed:
                raise ValueError("directed cannot be used with a Graph; set it when building the Graph")
            self._engine, self._ids = graph._engine, graph._ids
            self._labels, self._splits = graph._labels, graph._splits
            self._source = graph._source
        elif isinstance(graph, (str, os.PathLike)):
            _reject({"num_nodes": num_nodes}, "a path; list isolated nodes in a file, with nodes")
            if not (weight is None or isinstance(weight, (str, int))):
                raise ValueError("weight cannot be an array with a path; name the column of the weights")
            if not (length is None or isinstance(length, (str, int))):
                raise ValueError("length cannot be an array with a path; name the column of the lengths")
            self._source = os.fspath(graph)
            self._engine = _nearfar.read(self._source, _options.as_json(_of_file(options, directed, distance, length)))
            for note in self._engine.notes:
                _warn(f"{self._source}: {note}")
            self._ids = engine_ids(self._engine, self._engine.nodes)
            self._labels, self._splits = labels_of(self._engine), self._engine.splits
        else:
            self._source = _type_name(graph)
            graph = list(graph) if isinstance(graph, Iterator) else graph
            lengths = _inputs.read_lengths(graph, options, length) if unit == "length" else None
            if lengths is None or _is_given(weight):
                edges = _inputs.read(graph, options)
                self._engine = _build(edges, repeats, directed)
            else:
                edges, self._engine = lengths, None  # type: ignore[assignment]
            self._ids = edges.ids
            if lengths is not None:
                self._engine = _build(lengths, "min", directed).by_length(self._engine)
            elif unit == "1/weight":
                self._engine = self._engine.by_inverse_weight()
        if self._engine.nodes < 2 or self._engine.edges == 0:
            raise ValueError(
                f"the graph has {self.num_nodes} nodes and {self.num_edges} edges, self-loops not "
                "counted; expected at least 2 nodes and 1 edge"
            )
        if weight is None and self._engine.weighted:
            self._engine = self._engine.without_weights()
        if largest_component:
            rows, self._engine = self._engine.largest_component()
            if len(rows) < len(self._ids):
                keep = rows.tolist()
                self._ids = Ids([self._ids.values[row] for row in keep])
                self._labels = self._labels and [self._labels[row] for row in keep]
                self._splits = self._splits and [self._splits[row] for row in keep]

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Graph:
        """Opens a packed graph in milliseconds, whatever its size, for processes that share it.

        ``Graph(path)`` reads all of the file, to check it. This checks its header and its length only,
        and reads what is used: it is for files that were checked before. Ids that are not 0, 1, 2, ...
        are read, too.

        Parameters
        ----------
        path : path
            A file that ``nearfar pack`` wrote.
        """
        graph = cls.__new__(cls)
        graph._source = os.fspath(path)
        graph._engine = _nearfar.Graph.open(graph._source)
        graph._ids = engine_ids(graph._engine, graph._engine.nodes)
        return graph

    @property
    def nodes(self) -> list[Any]:
        """Node ids in row order."""
        return self._ids.nodes

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return self._engine.nodes

    @property
    def num_edges(self) -> int:
        """Number of edges; of arcs, if the graph is directed."""
        return self._engine.edges

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return self._engine.directed

    @property
    def edge_index(self) -> Integers:
        """Rows of the ends of each edge, as int64 of shape (2, m); each edge is listed once.

        In a directed graph, sources and targets of the arcs.
        """
        sources, targets, _ = self._engine.edge_arrays()
        return np.stack([sources, targets]).astype(np.int64)

    @property
    def weighted(self) -> bool:
        """Whether the edges have weights."""
        return self._engine.weighted

    @property
    def distance(self) -> str:
        """What distances are: ``"hops"``, ``"length"`` or ``"1/weight"``."""
        return self._engine.distance

    @property
    def dropped(self) -> dict[str, int]:
        """Number of input edges that were dropped: ``self_loops``, ``repeats``, ``zero_weights``."""
        return self._engine.dropped

    @property
    def summary(self) -> str:
        """What was read, in the line that every command prints, without the time."""
        return self._engine.summary(self._source)

    @property
    def labels(self) -> list[Any] | None:
        """Label of each node in row order; ``None`` if the graph has no labels.

        If any node has several labels, each entry is a tuple of labels.
        """
        return self._labels

    @property
    def splits(self) -> list[str | None] | None:
        """Split of each node in row order; ``None`` if the graph has no splits.

        An entry is ``"train"``, ``"val"``, ``"test"``, or ``None`` for a node in no split.
        """
        return self._splits

    def __len__(self) -> int:
        return self.num_nodes

    def __repr__(self) -> str:
        weighted = ("directed " if self.directed else "") + ("weighted " if self.weighted else "")
        return (
            f"Graph of {self.num_nodes} nodes and {self.num_edges} {weighted}edges: "
            f"{preview(self._ids)}"
        )

    def __copy__(self) -> Graph:
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> Graph:
        # Graphs are immutable, so copies can share one object.
        return self

    def __reduce__(self) -> Any:
        state = (*self._engine.edge_arrays(), self._ids, self._labels, self._splits, self._source)
        return _unpickled, (*state, self.directed, self._engine.edge_lengths())


def as_graph(function: str, graph: Any, options: Mapping[str, Any]) -> Graph:
    """Converts the graph argument of a public function; ``function`` is its name in errors."""
    _options.check(function, options, _options.GRAPH)
    return graph if isinstance(graph, Graph) and not options else Graph(graph, **options)


def engine_ids(engine: _nearfar.Graph | _nearfar.Embedding, count: int) -> Ids:
    """The ids of a graph or embedding that was read from a file."""
    ids = engine.ids()
    if ids is None:
        return Ids(range(count))
    return Ids(ids if isinstance(ids, list) else ids.tolist())


def preview(ids: Ids) -> str:
    """The first three ids, for ``repr``."""
    shown = ", ".join(repr(value) for value in ids.values[:3])
    return shown + (", ..." if len(ids) > 3 else "")


def _is_given(weight: Any) -> bool:
    """Whether the caller chose the weights."""
    return weight is not None and not (isinstance(weight, str) and weight == _options.GRAPH["weight"])


def _of_file(
    options: dict[str, Any], directed: bool, distance: str | None, length: str | int | None
) -> dict[str, Any]:
    """The options that the reader of files takes, without those that have their defaults."""
    length = str(length) if isinstance(length, int) else length
    options = {**options, "directed": directed, "distance": distance, "length": length}
    given = {name: value for name, value in options.items() if value not in (None, _options.GRAPH[name])}
    given.pop("num_nodes", None)
    if options["weight"] is None:
        given["no_weights"] = True
    if "nodes" in given:
        given["nodes"] = os.fspath(given["nodes"])
    return given


def _reject(options: dict[str, Any], graph_type: str) -> None:
    """Raises ``ValueError`` if an option is set that this type of graph does not support."""
    for name, value in options.items():
        if value is not None and not (isinstance(value, str) and value == _options.GRAPH[name]):
            raise ValueError(f"{name} cannot be used with {graph_type}")


def _build(edges: Edges, repeats: str = "sum", as_directed: bool = False) -> _nearfar.Graph:
    if edges.offsets is not None:
        offsets, targets = _as_rows(edges.offsets), _as_rows(edges.targets)
        return _nearfar.Graph.from_rows(offsets, targets, edges.weights, repeats, as_directed)
    strings = edges.ids.strings if edges.ids.has_unique_strings else None
    sources, targets = _as_rows(edges.sources), _as_rows(edges.targets)
    # A directed graph with both directions of every edge is an undirected one.
    directed = edges.directed
    if directed and not as_directed:
        directed = _warn_if_asymmetric(edges, repeats) or None
    stated = {
        "directed": directed,
        "as_directed": as_directed,
        "matrix": edges.matrix,
        "columns": edges.columns,
        "repeats": repeats,
    }
    return _nearfar.Graph(
        sources, targets, edges.weights, len(edges.ids), strings, json.dumps(stated)
    )


def _type_name(graph: Any) -> str:
    """The type of a graph as in ``networkx.Graph``."""
    kind = type(graph)
    library = kind.__module__.partition(".")[0]
    return kind.__qualname__ if library == "builtins" else f"{library}.{kind.__qualname__}"


def _as_rows(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return rows if rows.dtype in (np.int32, np.int64) else rows.astype(np.int64)


def _warn_if_asymmetric(edges: Edges, repeats: str) -> bool:
    """Warns if dropping the directions of edges loses information; returns whether it does."""
    if len(edges.sources) == 0:
        return False
    forward = edges.sources.astype(np.int64) * len(edges.ids) + edges.targets
    backward = edges.targets.astype(np.int64) * len(edges.ids) + edges.sources
    keys, first = np.unique(forward, return_index=True)
    position = np.searchsorted(keys, backward[first])
    reciprocal = keys[np.minimum(position, len(keys) - 1)] == backward[first]
    if not reciprocal.all():
        _warn(
            f"the graph is directed, and {len(reciprocal) - int(reciprocal.sum())} of its "
            f"{len(reciprocal)} edges have no reverse edge; nearfar treats all edges as undirected. "
            "Pass directed=True to keep their directions, or graph.to_undirected() (igraph: "
            "graph.as_undirected()) to silence this warning"
        )
    elif edges.weights is not None and (edges.weights[first] != edges.weights[first][position]).any():
        _warn(
            "the graph is directed, and some edges differ in weight from their reverse edge; nearfar "
            f"treats all edges as undirected, and takes {_MERGED[repeats]} of the two weights"
        )
    else:
        return False
    return True


def _warn(message: str) -> None:
    """Warns with the position of the caller outside this package."""
    level, frame = 1, sys._getframe()
    while frame is not None and frame.f_globals.get("__package__") == __package__:
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(message, UserWarning, stacklevel=level)


def labels_of(engine: _nearfar.Graph) -> list[Any] | None:
    """The label of each node, or a tuple of labels for each if any node has several."""
    if engine.labels is None:
        return None
    names, rows = engine.labels
    if all(len(labels) <= 1 for labels in rows):
        return [names[labels[0]] if labels else None for labels in rows]
    return [tuple(names[label] for label in labels) for labels in rows]


def from_engine(engine: _nearfar.Graph, ids: Ids) -> Graph:
    graph = Graph.__new__(Graph)
    graph._engine, graph._ids = engine, ids
    return graph


def _unpickled(
    sources: Integers,
    targets: Integers,
    weights: Any,
    ids: Ids,
    labels: Any,
    splits: Any,
    source: str,
    directed: bool = False,
    lengths: Any = None,
) -> Graph:
    engine = _build(Edges(sources, targets, weights, ids), as_directed=directed)
    if lengths is not None:
        by_length = _build(Edges(sources, targets, lengths, ids), as_directed=directed)
        engine = by_length.by_length(None if weights is None else engine)
    graph = from_engine(engine, ids)
    graph._labels, graph._splits, graph._source = labels, splits, source
    return graph
