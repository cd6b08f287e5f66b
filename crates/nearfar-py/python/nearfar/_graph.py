"""Graphs, and what can be asked of them without training."""

from __future__ import annotations

import json
import os
import sys
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _inputs, _nearfar, _options
from ._arrays import Integers
from ._ids import Ids


class Graph:
    """A graph, ready for any number of calls. Every function here takes one, or whatever can be
    made into one.

    Parameters
    ----------
    graph
        A path or ``builtin:karate``, a NetworkX or igraph graph, a SciPy sparse matrix, an integer
        array of shape (m, 2) or (2, m), a PyTorch Geometric ``Data``, a pandas, polars or pyarrow
        frame, or a list of pairs.
    weight
        The name of the attribute or column of weights, or an array of them; ``None`` for none. An
        edge without the attribute counts 1.
    source, target
        The names of a frame's columns, if they are not source and target, src and dst, or from and
        to.
    nodes
        For frames and lists, all ids, so that isolated nodes are kept. For a path, a file of them.
    num_nodes
        For arrays, the number of nodes, so that isolated ones at the end are kept.
    largest_component
        Keep only the largest connected component.

    Examples
    --------
    >>> import nearfar
    >>> graph = nearfar.Graph([("ann", "bob"), ("bob", "eve"), ("eve", "eve")], nodes=["zoe"])
    >>> graph
    Graph of 4 nodes and 2 edges: 'zoe', 'ann', 'bob', ...
    >>> graph.dropped
    {'self_loops': 1, 'repeats': 0, 'zero_weights': 0}
    """

    _engine: _nearfar.Graph
    _ids: Ids
    _labels: list[Any] | None = None
    _splits: list[str | None] | None = None

    def __init__(
        self,
        graph: Any,
        *,
        weight: Any = "weight",
        source: str | None = None,
        target: str | None = None,
        nodes: Any = None,
        num_nodes: int | None = None,
        largest_component: bool = False,
    ) -> None:
        options = {
            "weight": weight,
            "source": source,
            "target": target,
            "nodes": nodes,
            "num_nodes": num_nodes,
        }
        if isinstance(graph, Graph):
            _refuse(options, "a Graph is made already: say it where it is made")
            self._engine, self._ids = graph._engine, graph._ids
            self._labels, self._splits = graph._labels, graph._splits
        elif isinstance(graph, (str, os.PathLike)):
            listed = options.pop("nodes")
            _refuse(options, "a file says it itself")
            self._engine = _nearfar.read(os.fspath(graph), listed and os.fspath(listed))
            for note in self._engine.notes:
                _warn(f"{os.fspath(graph)}: {note}")
            self._ids = engine_ids(self._engine, self._engine.nodes)
            self._labels, self._splits = _labels(self._engine), self._engine.splits
        else:
            edges = _inputs.read(graph, options)
            self._ids = edges.ids
            self._engine = _build(edges)
        if self._engine.nodes < 2 or self._engine.edges == 0:
            raise ValueError(
                f"a graph of {self.num_nodes} nodes and {self.num_edges} edges between different ones has nothing "
                "near or far; give one with edges"
            )
        if weight is None and self._engine.weighted:
            sources, targets, _ = self._engine.edge_arrays()
            self._engine = _build(_inputs.Edges(sources, targets, None, self._ids))
        if largest_component:
            rows, self._engine = self._engine.largest_component()
            if len(rows) < len(self._ids):
                keep = rows.tolist()
                self._ids = Ids([self._ids.values[row] for row in keep])
                self._labels = self._labels and [self._labels[row] for row in keep]
                self._splits = self._splits and [self._splits[row] for row in keep]

    @property
    def nodes(self) -> list[Any]:
        """The ids, in row order."""
        return self._ids.nodes

    @property
    def num_nodes(self) -> int:
        """The number of nodes."""
        return self._engine.nodes

    @property
    def num_edges(self) -> int:
        """The number of edges, each counted once."""
        return self._engine.edges

    @property
    def edge_index(self) -> Integers:
        """Every edge once, as rows: sources above targets, of shape (2, m)."""
        sources, targets, _ = self._engine.edge_arrays()
        return np.stack([sources, targets]).astype(np.int64)

    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        return self._engine.weighted

    @property
    def dropped(self) -> dict[str, int]:
        """How many edges that were given are not in the graph, and why."""
        return self._engine.dropped

    @property
    def labels(self) -> list[Any] | None:
        """The label of each node, or a tuple of them where nodes have several; ``None`` if the
        graph came without."""
        return self._labels

    @property
    def splits(self) -> list[str | None] | None:
        """``"train"``, ``"val"`` or ``"test"`` for each node; ``None`` if the graph came without."""
        return self._splits

    def __len__(self) -> int:
        return self.num_nodes

    def __repr__(self) -> str:
        weighted = "weighted " if self.weighted else ""
        return (
            f"Graph of {self.num_nodes} nodes and {self.num_edges} {weighted}edges: "
            f"{some(self._ids)}"
        )

    def __copy__(self) -> Graph:
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> Graph:
        # It cannot be changed, so one is enough.
        return self

    def __reduce__(self) -> Any:
        state = (*self._engine.edge_arrays(), self._ids, self._labels, self._splits)
        return _unpickled, state


def distances(graph: Any, sources: Any, **options: Any) -> npt.NDArray[np.int32]:
    """Hop distances from some nodes to all.

    ``sources`` is a list of nodes, which gives a row for each of them, or one node, which gives its
    row alone. Columns are in the order of ``Graph(graph).nodes``; −1 stands for no path. Further
    keywords are those of ``Graph``.

    >>> import nearfar
    >>> nearfar.distances([("a", "b"), ("b", "c"), ("x", "y")], ["a", "c"])
    array([[ 0,  1,  2, -1, -1],
           [ 2,  1,  0, -1, -1]], dtype=int32)
    >>> nearfar.distances([("a", "b"), ("b", "c")], "b")
    array([1, 0, 1], dtype=int32)
    """
    own = as_graph("distances()", graph, options)
    if isinstance(sources, (str, bytes)) or not hasattr(sources, "__len__"):
        rows: npt.NDArray[np.int32] = own._engine.distances(np.array([own._ids.row(sources)]))
        return rows.reshape(-1)
    return own._engine.distances(own._ids.rows(sources))


def stats(graph: Any, *, sources: int | None = None, seed: int = 0, **options: Any) -> dict[str, Any]:
    """Sizes, components, and how far apart nodes are: what ``nearfar stats --json`` prints.

    Distances are counted from ``sources`` random nodes; from all if it is not given, or from 1024
    in graphs where that would take minutes. Further keywords are those of ``Graph``.

    >>> import nearfar
    >>> stats = nearfar.stats("builtin:karate")
    >>> stats["nodes"], stats["edges_undirected"], stats["diameter"], stats["classes"]
    (34, 78, 5, 2)
    >>> stats["distance_histogram"]
    {1: 156, 2: 530, 3: 274, 4: 146, 5: 16}
    """
    found: dict[str, Any] = json.loads(as_graph("stats()", graph, options)._engine.stats(sources, seed))
    pairs = found["distance_histogram"].items()
    return {**found, "distance_histogram": {int(hops): count for hops, count in pairs}}


def synth(
    preset: str | None = None,
    *,
    exponent: float | None = None,
    nodes: int | None = None,
    classes: int | None = None,
    join: str | None = None,
    mean_degree: float | None = None,
    seed: int = 0,
) -> Graph:
    """Makes one of the paper's synthetic graphs, ``"sparse"``, ``"moderate"`` or ``"dense"``, or
    one whose degrees follow a power law with another ``exponent``. It comes with labels and splits.

    >>> import nearfar
    >>> graph = nearfar.synth("sparse", nodes=500)
    >>> graph.num_nodes, sorted(set(graph.labels))
    (500, ['0', '1', '2', '3', '4', '5', '6'])
    """
    if (preset is None) == (exponent is None):
        raise TypeError("synth() takes a preset, 'sparse', 'moderate' or 'dense', or an exponent")
    given = {
        "exponent": exponent,
        "nodes": nodes,
        "classes": classes,
        "join": join,
        "mean_degree": mean_degree,
        "seed": seed,
    }
    options = {name: value for name, value in given.items() if value is not None}
    engine = _nearfar.synth(preset, _options.as_json(options))
    graph = _of(engine, Ids(range(engine.nodes)))
    graph._labels, graph._splits = _labels(engine), engine.splits
    return graph


def as_graph(function: str, graph: Any, options: dict[str, Any]) -> Graph:
    """What a function was given, as a graph."""
    _options.check(function, options, _options.GRAPH)
    return graph if isinstance(graph, Graph) and not options else Graph(graph, **options)


def engine_ids(engine: _nearfar.Graph | _nearfar.Embedding, count: int) -> Ids:
    """The ids that came out of a file."""
    ids = engine.ids()
    if ids is None:
        return Ids(range(count))
    return Ids(ids if isinstance(ids, list) else ids.tolist())


def some(ids: Ids) -> str:
    """The first ids, for people."""
    shown = ", ".join(repr(value) for value in ids.values[:3])
    return shown + (", ..." if len(ids) > 3 else "")


def _refuse(options: dict[str, Any], why: str) -> None:
    """Fails if something was asked for that cannot be done."""
    for name, value in options.items():
        if value is not None and not (isinstance(value, str) and value == _options.GRAPH[name]):
            raise ValueError(f"{name} does not apply to this graph; {why}")


def _build(edges: _inputs.Edges) -> _nearfar.Graph:
    if edges.starts is not None:
        starts, targets = _as_rows(edges.starts), _as_rows(edges.targets)
        return _nearfar.Graph.from_rows(starts, targets, edges.weights)
    texts = edges.ids.texts if edges.ids.writable else None
    sources, targets = _as_rows(edges.sources), _as_rows(edges.targets)
    engine = _nearfar.Graph(sources, targets, edges.weights, len(edges.ids), texts)
    if edges.directed:
        _warn_of_direction(engine, edges)
    return engine


def _as_rows(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return rows if rows.dtype in (np.int32, np.int64) else rows.astype(np.int64)


def _warn_of_direction(engine: _nearfar.Graph, edges: _inputs.Edges) -> None:
    """Edges have no direction here. That loses nothing if each goes both ways, with one weight."""
    forth = edges.sources.astype(np.int64) * len(edges.ids) + edges.targets
    back = edges.targets.astype(np.int64) * len(edges.ids) + edges.sources
    keys, first = np.unique(forth, return_index=True)
    place = np.searchsorted(keys, back[first])
    both = keys[np.minimum(place, len(keys) - 1)] == back[first]
    if not both.all():
        _warn(
            f"{len(both) - int(both.sum())} of the {len(both)} edges of a directed graph go one way "
            "only; nearfar takes every edge in both directions. Give graph.to_undirected() "
            "(as_undirected() in igraph) if that is what you mean"
        )
    elif edges.weights is not None and (edges.weights[first] != edges.weights[first][place]).any():
        _warn(
            "some edges of a directed graph have another weight on their way back; nearfar takes "
            "edges in both directions, with the weight of the one that comes first"
        )


def _warn(message: str) -> None:
    """Warns whoever called into this package."""
    level, frame = 1, sys._getframe()
    while frame is not None and frame.f_globals.get("__package__") == __package__:
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(message, UserWarning, stacklevel=level)


def _labels(engine: _nearfar.Graph) -> list[Any] | None:
    """The label of each node, or all of them where some node has several."""
    if engine.labels is None:
        return None
    names, places = engine.labels
    if all(len(of) <= 1 for of in places):
        return [names[of[0]] if of else None for of in places]
    return [tuple(names[label] for label in of) for of in places]


def _of(engine: _nearfar.Graph, ids: Ids) -> Graph:
    graph = Graph.__new__(Graph)
    graph._engine, graph._ids = engine, ids
    return graph


def _unpickled(
    sources: Integers, targets: Integers, weights: Any, ids: Ids, labels: Any, splits: Any
) -> Graph:
    graph = _of(_build(_inputs.Edges(sources, targets, weights, ids)), ids)
    graph._labels, graph._splits = labels, splits
    return graph
