"""Conversion of other libraries' graphs to edge arrays, one function per graph type.

None of the functions imports the library whose graphs it reads: a caller who has such a graph has
already imported that library.
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
from ._ids import Ids, assign_rows

#: Recognised names of the source and target columns of a frame.
_COLUMN_NAMES = [("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v")]


@dataclass
class Edges:
    """Edges as arrays of rows, with the id of each row."""

    sources: npt.NDArray[Any]
    targets: npt.NDArray[Any]
    weights: Floats | None
    ids: Ids
    #: Whether an edge (a, b) is distinct from (b, a).
    directed: bool = False
    #: CSR row offsets (n + 1 values) of ``targets``; ``sources`` is then empty.
    offsets: npt.NDArray[Any] | None = None


def read(graph: Any, options: dict[str, Any]) -> Edges:
    """Converts a graph of any supported type."""
    for library, names, convert in _CONVERTERS:
        module = sys.modules.get(library)
        types = tuple(getattr(module, name) for name in names if hasattr(module, name))
        if types and isinstance(graph, types):
            return convert(graph, options)
    if hasattr(graph, "edge_index"):
        return _from_geometric(graph, options)
    if isinstance(graph, np.ndarray) or hasattr(graph, "detach"):
        return _from_array(as_numpy(graph), options)
    if isinstance(graph, (list, tuple)):
        return _from_pairs(graph, options)
    raise TypeError(
        f"{type(graph).__module__}.{type(graph).__qualname__} is not a supported graph type; expected a path, "
        "a NetworkX or igraph graph, a SciPy sparse matrix, an integer array of shape (m, 2) or "
        "(2, m), a PyTorch Geometric Data, a pandas, polars or pyarrow frame, or a list of pairs"
    )


def _from_networkx(graph: Any, options: dict[str, Any]) -> Edges:
    ids = Ids(list(graph))
    row_of = {node: row for row, node in enumerate(ids.values)}
    if all(node == row and type(node) is int for node, row in row_of.items()):
        ids = Ids(range(len(row_of)))
    neighbours = [row for _, row in graph.adjacency()]
    sources = np.repeat(np.arange(len(row_of)), np.fromiter(map(len, neighbours), int, len(row_of)))
    ends = map(row_of.__getitem__, chain.from_iterable(neighbours))
    targets = np.fromiter(ends, int, len(sources))
    # adjacency() lists an undirected edge twice, once per end.
    keep = np.ones(len(sources), bool) if graph.is_directed() else sources <= targets
    sources, targets, weights = sources[keep], targets[keep], None
    name = _attribute(options)
    if name is not None:
        data = list(compress(chain.from_iterable(row.values() for row in neighbours), keep))
        if graph.is_multigraph():
            # The first of several parallel edges sets the weight.
            data = [next(iter(edges.values())) for edges in data]
        # Fast path: in most graphs no edge has attributes.
        found = [edge.get(name) for edge in data] if any(data) else []
        if found.count(None) < len(found):
            found = [1 if weight is None else weight for weight in found]
            weights = as_weights(found, _edge_namer(ids, sources, targets))
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
        weights = as_weights(graph.es[name], _edge_namer(ids, sources, targets))
    elif name is not None:
        _check_optional(name, "edge")
    return Edges(sources, targets, weights, ids, graph.is_directed())


def _from_scipy(matrix: Any, options: dict[str, Any]) -> Edges:
    rows, columns = matrix.shape
    if rows != columns:
        raise ValueError(
            f"the matrix has {rows} rows and {columns} columns; expected a square matrix with one row "
            "and one column per node"
        )
    ids, offsets = Ids(range(rows)), None
    if matrix.format == "coo":
        sources, targets = matrix.row, matrix.col
    else:
        matrix = matrix.tocsr()
        sources, targets, offsets = np.zeros(0, np.int64), matrix.indices, matrix.indptr
    weights = None
    # A matrix of ones is an unweighted adjacency matrix.
    if options["weight"] is not None and not (matrix.data == 1).all():

        def edge_name(index: int) -> str:
            if offsets is None:
                return f"{sources[index]}–{targets[index]}"
            return f"{np.searchsorted(offsets, index, side='right') - 1}–{targets[index]}"

        weights = as_weights(matrix.data, edge_name)
    return Edges(sources, targets, weights, ids, offsets=offsets)


def _from_geometric(data: Any, options: dict[str, Any]) -> Edges:
    edges = as_numpy(data.edge_index)
    if edges.ndim != 2 or len(edges) != 2:
        raise ValueError(f"edge_index has shape {edges.shape}; expected (2, m)")
    nodes = options["num_nodes"] or getattr(data, "num_nodes", None)
    weights = options["weight"]
    if isinstance(weights, str):
        name = "edge_weight" if weights == "weight" else weights
        weights = getattr(data, name, None)
        if weights is None:
            _check_optional(options["weight"], "Data")
    return _from_integers(edges[0], edges[1], weights, nodes)


def _from_array(edges: npt.NDArray[Any], options: dict[str, Any]) -> Edges:
    weights = None if isinstance(options["weight"], str) else options["weight"]
    if edges.ndim == 2 and edges.shape[1] == 2:
        sources, targets = edges[:, 0], edges[:, 1]
    elif edges.ndim == 2 and edges.shape[0] == 2:
        sources, targets = edges[0], edges[1]
    else:
        raise ValueError(
            f"the edge array has shape {edges.shape}; expected (m, 2) or (2, m). Pass a dense adjacency "
            "matrix as scipy.sparse.csr_array(matrix)"
        )
    return _from_integers(sources, targets, weights, options["num_nodes"])


def _from_integers(
    sources: npt.NDArray[Any], targets: npt.NDArray[Any], weights: Any, nodes: int | None
) -> Edges:
    if sources.dtype.kind not in "iu":
        raise ValueError(
            f"the edge array has dtype {sources.dtype}; expected integers ≥ 0. Convert it with "
            ".astype(int), or pass a frame with columns source and target for other ids"
        )
    least = int(min(sources.min(), targets.min())) if len(sources) else 0
    if least < 0:
        raise ValueError(f"an edge has node {least}; expected integers ≥ 0")
    largest = int(max(sources.max(), targets.max())) if len(sources) else -1
    if nodes is None:
        nodes = largest + 1
        if largest > 1_000_000 and largest // 64 > len(sources):
            raise ValueError(
                f"node {largest} would need {largest + 1} rows for {len(sources)} edges, most of them "
                "isolated nodes; set num_nodes to allow it, or pass a frame with columns source and "
                "target"
            )
    elif largest >= nodes:
        raise ValueError(f"an edge has node {largest}; expected 0 to {nodes - 1}, as num_nodes is {nodes}")
    ids = Ids(range(nodes))
    if weights is not None:
        weights = as_weights(weights, _edge_namer(ids, sources, targets))
        if len(weights) != len(sources):
            raise ValueError(f"there are {len(weights)} weights for {len(sources)} edges; expected one per edge")
    return Edges(sources, targets, weights, ids)


def _from_pairs(pairs: Sequence[Any], options: dict[str, Any]) -> Edges:
    try:
        ends = [(source, target) for source, target in pairs]
    except (TypeError, ValueError):
        raise TypeError("the list is not a graph; expected pairs (source, target)") from None
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
        # A single chunk without nulls converts without a copy.
        array = values if not hasattr(values, "num_chunks") or values.num_chunks != 1 else values.chunk(0)
        return array.to_numpy(zero_copy_only=False), values.null_count

    return _from_columns(table.schema.names, column, options)


def _from_columns(names: list[Any], column: Any, options: dict[str, Any]) -> Edges:
    source, target = _find_columns(names, options["source"], options["target"])
    columns = []
    for name in (source, target):
        values, nulls = column(name)
        if nulls:
            raise ValueError(f"column {name!r} has {nulls} missing values; drop those rows first")
        if values.dtype.kind == "f":
            raise ValueError(
                f"column {name!r} has dtype {values.dtype}; node ids cannot be floats: convert it to "
                "integers or strings"
            )
        columns.append(values)
    weights = options["weight"]
    if isinstance(weights, str):
        if weights != "weight" and weights not in names:
            raise ValueError(f"there is no weight column {weights!r}; the columns are {_listed(names)}")
        weights = column(weights)[0] if weights in names else None
    return _from_ids(columns[0], columns[1], weights, options)


def _from_ids(sources: Any, targets: Any, weights: Any, options: dict[str, Any]) -> Edges:
    first: Sequence[Hashable] = [] if options["nodes"] is None else list(options["nodes"])
    if options["num_nodes"] is not None:
        first = [*first, *range(options["num_nodes"])]
    try:
        ids, source_rows, target_rows = assign_rows(first, sources, targets)
    except TypeError as error:
        raise TypeError(f"node ids must be hashable: {error}") from None
    if weights is not None:
        weights = as_weights(weights, lambda index: f"{sources[index]!s}–{targets[index]!s} (row {index})")
    return Edges(source_rows, target_rows, weights, ids)


def _find_columns(names: list[Any], source: str | None, target: str | None) -> tuple[Any, Any]:
    """The names of the source and target columns."""
    lower = {str(name).lower(): name for name in names}
    for default_source, default_target in _COLUMN_NAMES:
        found = (source or lower.get(default_source), target or lower.get(default_target))
        if found[0] in names and found[1] in names:
            return found
    missing = [name for name in (source, target) if name is not None and name not in names]
    what = f"column {missing[0]!r}" if missing else "columns 'source' and 'target'"
    raise ValueError(
        f"the frame has no {what}; the columns are {_listed(names)}. Set source= and target="
    )


def _listed(names: list[Any]) -> str:
    return ", ".join(repr(name) for name in names) or "none"


def _attribute(options: dict[str, Any]) -> str | None:
    """The name of the edge attribute with the weights, if one is to be read."""
    weight = options["weight"]
    return weight if isinstance(weight, str) else None


def _check_optional(name: str, owner: str) -> None:
    """Raises ``ValueError`` for a missing attribute unless its name is the default."""
    if name != "weight":
        raise ValueError(
            f"no {owner} has the weight attribute {name!r}; use weight=None for an unweighted graph"
        )


def _edge_namer(
    ids: Ids, sources: npt.NDArray[Any], targets: npt.NDArray[Any]
) -> Callable[[int], str]:
    return lambda index: f"{ids.values[int(sources[index])]!s}–{ids.values[int(targets[index])]!s}"


_CONVERTERS: list[tuple[str, tuple[str, ...], Callable[[Any, dict[str, Any]], Edges]]] = [
    ("networkx", ("Graph",), _from_networkx),
    ("igraph", ("Graph",), _from_igraph),
    ("scipy.sparse", ("sparray", "spmatrix"), _from_scipy),
    ("pandas", ("DataFrame",), _from_pandas),
    ("polars", ("DataFrame",), _from_polars),
    ("pyarrow", ("Table", "RecordBatch"), _from_arrow),
]
