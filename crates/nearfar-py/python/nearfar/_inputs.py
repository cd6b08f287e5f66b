"""Graphs as other libraries have them, as edges between rows.

One function for each kind. None imports the library whose graphs it reads: whoever has such a graph
has imported it already.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import Floats, as_numpy, as_weights
from ._ids import Ids, number

_ENDS = [("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v")]


@dataclass
class Edges:
    """Edges between rows, and which node each row is."""

    sources: npt.NDArray[Any]
    targets: npt.NDArray[Any]
    weights: Floats | None
    ids: Ids
    #: Whether an edge from a to b is not one from b to a.
    directed: bool = False
    #: If sources are in order: where each of them starts among the targets, and the end. They need
    #: not be listed then.
    starts: npt.NDArray[Any] | None = None


def read(graph: Any, options: dict[str, Any]) -> Edges:
    """Recognises what was given."""
    for library, names, convert in _KINDS:
        module = sys.modules.get(library)
        kinds = tuple(getattr(module, name) for name in names if hasattr(module, name))
        if kinds and isinstance(graph, kinds):
            return convert(graph, options)
    if hasattr(graph, "edge_index"):
        return _from_geometric(graph, options)
    if isinstance(graph, np.ndarray) or hasattr(graph, "detach"):
        return _from_array(as_numpy(graph), options)
    if isinstance(graph, (list, tuple)):
        return _from_pairs(graph, options)
    raise TypeError(
        f"{type(graph).__module__}.{type(graph).__qualname__} is not a graph; give a path, a "
        "NetworkX or igraph graph, a SciPy sparse matrix, an integer array of shape (m, 2) or "
        "(2, m), a PyTorch Geometric Data, or a pandas, polars or pyarrow frame"
    )


def _from_networkx(graph: Any, options: dict[str, Any]) -> Edges:
    ids = Ids(list(graph))
    place = {node: row for row, node in enumerate(ids.values)}
    if all(node == row and type(node) is int for node, row in place.items()):
        ids = Ids(range(len(place)))
    neighbours = [row for _, row in graph.adjacency()]
    sources = np.repeat(np.arange(len(place)), np.fromiter(map(len, neighbours), int, len(place)))
    ends = map(place.__getitem__, chain.from_iterable(neighbours))
    targets = np.fromiter(ends, int, len(sources))
    # An undirected edge stands in the rows of both of its ends: once is enough.
    keep = np.ones(len(sources), bool) if graph.is_directed() else sources <= targets
    sources, targets, weights = sources[keep], targets[keep], None
    name = _attribute(options)
    if name is not None:
        data = list(compress(chain.from_iterable(row.values() for row in neighbours), keep))
        if graph.is_multigraph():
            # Of parallel edges the first counts.
            data = [next(iter(edges.values())) for edges in data]
        # Most graphs have nothing to say about their edges, and that is soon seen.
        found = [edge.get(name) for edge in data] if any(data) else []
        if found.count(None) < len(found):
            found = [1 if weight is None else weight for weight in found]
            weights = as_weights(found, _named(ids, sources, targets))
        else:
            _check_optional(name, "edge")
    return Edges(sources, targets, weights, ids, graph.is_directed())


def _from_igraph(graph: Any, options: dict[str, Any]) -> Edges:
    ids = Ids(range(graph.vcount()))
    if "name" in graph.vs.attributes():
        names = graph.vs["name"]
        if len(set(names)) < len(names):
            raise ValueError("two vertices have the same 'name'; rename one, or delete the attribute")
        ids = Ids(names)
    ends = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    sources, targets = ends[:, 0], ends[:, 1]
    name, weights = _attribute(options), None
    if name is not None and name in graph.es.attributes():
        weights = as_weights(graph.es[name], _named(ids, sources, targets))
    elif name is not None:
        _check_optional(name, "edge")
    return Edges(sources, targets, weights, ids, graph.is_directed())


def _from_scipy(matrix: Any, options: dict[str, Any]) -> Edges:
    rows, columns = matrix.shape
    if rows != columns:
        raise ValueError(
            f"a matrix of {rows} rows and {columns} columns; a graph's is square, one row and one "
            "column for each node"
        )
    ids, starts = Ids(range(rows)), None
    if matrix.format == "coo":
        sources, targets = matrix.row, matrix.col
    else:
        matrix = matrix.tocsr()
        sources, targets, starts = np.zeros(0, np.int64), matrix.indices, matrix.indptr
    weights = None
    # An adjacency matrix of ones says that there are edges, not how heavy they are.
    if options["weight"] is not None and not (matrix.data == 1).all():

        def named(at: int) -> str:
            row = sources[at] if starts is None else np.searchsorted(starts, at, side="right") - 1
            return f"{row}–{targets[at]}"

        weights = as_weights(matrix.data, named)
    return Edges(sources, targets, weights, ids, starts=starts)


def _from_geometric(data: Any, options: dict[str, Any]) -> Edges:
    edges = as_numpy(data.edge_index)
    if edges.ndim != 2 or len(edges) != 2:
        raise ValueError(f"edge_index of shape {edges.shape}; it takes (2, m)")
    nodes = options["num_nodes"] or getattr(data, "num_nodes", None)
    weights = options["weight"]
    if isinstance(weights, str):
        name = "edge_weight" if weights == "weight" else weights
        weights = getattr(data, name, None)
        if weights is None:
            _check_optional(options["weight"], "Data")
    return _from_ends(edges[0], edges[1], weights, nodes)


def _from_array(edges: npt.NDArray[Any], options: dict[str, Any]) -> Edges:
    weights = None if isinstance(options["weight"], str) else options["weight"]
    if edges.ndim == 2 and edges.shape[1] == 2:
        sources, targets = edges[:, 0], edges[:, 1]
    elif edges.ndim == 2 and edges.shape[0] == 2:
        sources, targets = edges[0], edges[1]
    else:
        raise ValueError(
            f"an array of shape {edges.shape}; edges are of shape (m, 2) or (2, m), and a matrix of "
            "all pairs can be given as scipy.sparse.csr_array(matrix)"
        )
    return _from_ends(sources, targets, weights, options["num_nodes"])


def _from_ends(
    sources: npt.NDArray[Any], targets: npt.NDArray[Any], weights: Any, nodes: int | None
) -> Edges:
    if sources.dtype.kind not in "iu":
        raise ValueError(
            f"edges of type {sources.dtype}; nodes are integers from 0 on: use .astype(int) if these "
            "are, or a frame with columns source and target for ids of any kind"
        )
    least = int(min(sources.min(), targets.min())) if len(sources) else 0
    if least < 0:
        raise ValueError(f"an edge of node {least}; nodes are integers from 0 on")
    largest = int(max(sources.max(), targets.max())) if len(sources) else -1
    if nodes is None:
        nodes = largest + 1
        if largest > 1_000_000 and largest // 64 > len(sources):
            raise ValueError(
                f"node {largest} in {len(sources)} edges would make as many rows, most of them "
                "empty; say so with num_nodes, or give a frame with columns source and target"
            )
    elif largest >= nodes:
        raise ValueError(f"an edge of node {largest}; num_nodes is {nodes}, nodes are 0 to {nodes - 1}")
    ids = Ids(range(nodes))
    if weights is not None:
        weights = as_weights(weights, _named(ids, sources, targets))
        if len(weights) != len(sources):
            raise ValueError(f"{len(weights)} weights for {len(sources)} edges")
    return Edges(sources, targets, weights, ids)


def _from_pairs(pairs: Sequence[Any], options: dict[str, Any]) -> Edges:
    try:
        ends = [(source, target) for source, target in pairs]
    except (TypeError, ValueError):
        raise TypeError("a list that is not one of pairs (source, target)") from None
    return _from_ids([a for a, _ in ends], [b for _, b in ends], None, options)


def _from_pandas(frame: Any, options: dict[str, Any]) -> Edges:
    def column(name: str) -> tuple[Any, int]:
        return frame[name].to_numpy(), int(frame[name].isna().sum())

    return _from_columns(list(frame.columns), column, options)


def _from_polars(frame: Any, options: dict[str, Any]) -> Edges:
    def column(name: str) -> tuple[Any, int]:
        return frame[name].to_numpy(), frame[name].null_count()

    return _from_columns(frame.columns, column, options)


def _from_arrow(table: Any, options: dict[str, Any]) -> Edges:
    def column(name: str) -> tuple[Any, int]:
        values = table.column(name)
        # Without copies where one chunk without nulls allows it.
        whole = values if not hasattr(values, "num_chunks") or values.num_chunks != 1 else values.chunk(0)
        return whole.to_numpy(zero_copy_only=False), values.null_count

    return _from_columns(table.schema.names, column, options)


def _from_columns(names: list[Any], column: Any, options: dict[str, Any]) -> Edges:
    source, target = _ends(names, options["source"], options["target"])
    parts = []
    for name in (source, target):
        values, nulls = column(name)
        if nulls:
            raise ValueError(f"{nulls} rows have no value in column {name!r}; drop them first")
        if values.dtype.kind == "f":
            raise ValueError(
                f"column {name!r} holds {values.dtype}; ids are integers, texts or anything else that "
                "is exact: convert it"
            )
        parts.append(values)
    weights = options["weight"]
    if isinstance(weights, str):
        if weights != "weight" and weights not in names:
            raise ValueError(f"no column {weights!r} for weights; there are {_listed(names)}")
        weights = column(weights)[0] if weights in names else None
    return _from_ids(parts[0], parts[1], weights, options)


def _from_ids(sources: Any, targets: Any, weights: Any, options: dict[str, Any]) -> Edges:
    first: Sequence[Hashable] = [] if options["nodes"] is None else list(options["nodes"])
    if options["num_nodes"] is not None:
        first = [*first, *range(options["num_nodes"])]
    try:
        ids, source_rows, target_rows = number(first, sources, targets)
    except TypeError as error:
        raise TypeError(f"ids have to be hashable: {error}") from None
    if weights is not None:
        weights = as_weights(weights, lambda at: f"{sources[at]!s}–{targets[at]!s} (row {at})")
    return Edges(source_rows, target_rows, weights, ids)


def _ends(names: list[Any], source: str | None, target: str | None) -> tuple[Any, Any]:
    """The columns of sources and targets."""
    lower = {str(name).lower(): name for name in names}
    for one, other in _ENDS:
        ends = (source or lower.get(one), target or lower.get(other))
        if ends[0] in names and ends[1] in names:
            return ends
    missing = [name for name in (source, target) if name is not None and name not in names]
    what = f"column {missing[0]!r}" if missing else "columns 'source' and 'target'"
    raise ValueError(
        f"the frame has no {what}; it has {_listed(names)}: say which to take with source= and target="
    )


def _listed(names: list[Any]) -> str:
    return ", ".join(repr(name) for name in names) or "none"


def _attribute(options: dict[str, Any]) -> str | None:
    """The name of the weights, in graphs whose edges have attributes."""
    weight = options["weight"]
    return weight if isinstance(weight, str) else None


def _check_optional(name: str, owner: str) -> None:
    """Weights that nobody asked for by their name need not be there."""
    if name != "weight":
        raise ValueError(f"no {owner} has an attribute {name!r} for weights; weight=None takes none")


def _named(ids: Ids, sources: npt.NDArray[Any], targets: npt.NDArray[Any]) -> Any:
    return lambda at: f"{ids.values[int(sources[at])]!s}–{ids.values[int(targets[at])]!s}"


_KINDS: list[tuple[str, tuple[str, ...], Callable[[Any, dict[str, Any]], Edges]]] = [
    ("networkx", ("Graph",), _from_networkx),
    ("igraph", ("Graph",), _from_igraph),
    ("scipy.sparse", ("sparray", "spmatrix"), _from_scipy),
    ("pandas", ("DataFrame",), _from_pandas),
    ("polars", ("DataFrame",), _from_polars),
    ("pyarrow", ("Table", "RecordBatch"), _from_arrow),
]
