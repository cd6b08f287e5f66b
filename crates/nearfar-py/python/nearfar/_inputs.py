"""Conversion of other libraries' graphs to edge arrays, one function per graph type.

None of the functions imports the library whose graphs it reads: a caller who has such a graph has
already imported that library. Arrays and tensors are in ``_tensors``, frames in ``_frames``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, compress
from typing import Any

import numpy as np

from . import _frames, _options, _tensors
from ._arrays import as_numpy, as_weights
from ._edges import (
    Edges,
    check_optional,
    check_square,
    edge_namer,
    of_entries,
    of_ids,
    weight_name,
)
from ._ids import Ids

_Convert = Callable[[Any, dict[str, Any]], Edges]

#: What a message says about each option of a graph type that does not take it.
_MEANT_FOR = {
    "source": "a frame or a path",
    "target": "a frame or a path",
    "header": "a path to a table of text",
    "sep": "a path to a table of text",
    "input_format": "a path",
    "nodes": "a frame, a list of edges, a dict or a path",
    "num_nodes": "arrays of integers",
}


def read(graph: Any, options: dict[str, Any]) -> Edges:
    """Converts a graph of any supported type."""
    name, takes, convert = _converter(graph)
    for option, meant_for in _MEANT_FOR.items():
        given = options[option]
        is_default = given is None or (isinstance(given, str) and given == _options.GRAPH[option])
        if option not in takes and not is_default:
            raise ValueError(f"{option} cannot be used with {name}; it is for {meant_for}")
    return convert(graph, options)


def read_lengths(graph: Any, options: dict[str, Any], length: Any) -> Edges:
    """Converts a graph with its lengths in the place of weights."""
    options = {**options, "weight": "length" if length is None else length, "complete": True}
    try:
        edges = read(graph, options)
    except ValueError as error:
        message = str(error).replace("; use weight=None for an unweighted graph", "")
        raise ValueError(message.replace("weight", "length").replace("≥ 0", "> 0")) from None
    if edges.weights is None:
        if not edges.matrix:
            raise ValueError("the edges have no lengths; set length=, or distance='hops'")
        return edges
    sources = edges.sources
    if edges.offsets is not None:
        sources = np.repeat(np.arange(len(edges.ids)), np.diff(edges.offsets))
    zero = (edges.weights == 0) & (sources != edges.targets)
    if zero.any():
        index = int(np.argmax(zero))
        name = edge_namer(edges.ids, sources, edges.targets)(index)
        raise ValueError(f"edge {name} has length 0; expected a finite number > 0")
    return edges


def _converter(graph: Any) -> tuple[str, set[str], _Convert]:
    """The name of the type of a graph, the options that it takes, and its conversion."""
    for library, names, takes, convert in _CONVERTERS:
        module = sys.modules.get(library)
        types = tuple(getattr(module, name) for name in names if hasattr(module, name))
        if types and isinstance(graph, types):
            return f"a {library} {type(graph).__name__}", takes, convert
    if hasattr(graph, "edge_types") and hasattr(graph, "node_types"):
        return "a HeteroData", {"num_nodes"}, _tensors.from_hetero
    if hasattr(graph, "edge_index"):
        return "a PyTorch Geometric graph", {"num_nodes"}, _tensors.from_geometric
    if _tensors.is_sparse(graph):
        return "a sparse tensor", set(), _tensors.from_sparse
    if isinstance(graph, np.ndarray) or hasattr(graph, "detach"):
        array = as_numpy(graph)
        if _tensors.is_adjacency(array):
            return "an adjacency matrix", set(), lambda _, options: _tensors.from_dense(array, options)
        return "an edge array", {"num_nodes"}, lambda _, options: _tensors.from_array(array, options)
    if type(graph).__module__.startswith("networkx."):
        raise TypeError(f"{type(graph).__qualname__} is a view of a graph; pass the graph itself")
    if isinstance(graph, Mapping):
        return "a dict", {"nodes", "num_nodes"}, _from_mapping
    if isinstance(graph, (set, frozenset)):
        raise TypeError("a set of edges has no order, on which the rows depend; pass sorted(edges)")
    if isinstance(graph, Iterable) and not isinstance(graph, (str, bytes)):
        return "a list of edges", {"nodes", "num_nodes"}, _from_edges
    raise TypeError(
        f"{type(graph).__module__}.{type(graph).__qualname__} is not a supported graph type; expected a path, "
        "a NetworkX, igraph or DGL graph, a sparse or dense adjacency matrix, an integer array of shape "
        "(m, 2) or (2, m), a PyTorch Geometric Data, a pandas, polars or pyarrow frame, a list of edges, or "
        "a dict of neighbors"
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
    if graph.is_multigraph():
        parallel = [len(edges) for row in neighbours for edges in row.values()]
        sources, targets = np.repeat(sources, parallel), np.repeat(targets, parallel)
    # adjacency() lists an undirected edge twice, once per end.
    keep = np.ones(len(sources), bool) if graph.is_directed() else sources <= targets
    sources, targets, weights = sources[keep], targets[keep], None
    name = weight_name(options)
    if name is not None:
        attributes = chain.from_iterable(row.values() for row in neighbours)
        if graph.is_multigraph():
            attributes = chain.from_iterable(edges.values() for edges in attributes)
        data = list(compress(attributes, keep))
        # Fast path: in most graphs no edge has attributes.
        found = [edge.get(name) for edge in data] if any(data) else []
        if found.count(None) < len(found):
            found = _completed(found, options)
            weights = as_weights(found, edge_namer(ids, sources, targets))
        else:
            check_optional(name, "edge")
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
    name, weights = weight_name(options), None
    if name is not None and name in graph.es.attributes():
        weights = as_weights(graph.es[name], edge_namer(ids, sources, targets))
    elif name is not None:
        check_optional(name, "edge")
    return Edges(sources, targets, weights, ids, graph.is_directed())


def _from_scipy(matrix: Any, options: dict[str, Any]) -> Edges:
    n, weighted = check_square(matrix.shape), options["weight"] is not None
    if matrix.format == "coo":
        return of_entries(matrix.row, matrix.col, matrix.data, n, weighted)
    matrix = matrix.tocsr()
    offsets, targets, weights = matrix.indptr, matrix.indices, None
    # A matrix of ones is an unweighted adjacency matrix.
    if weighted and not (matrix.data == 1).all():

        def edge_name(index: int) -> str:
            return f"{np.searchsorted(offsets, index, side='right') - 1}–{targets[index]}"

        weights = as_weights(matrix.data, edge_name)
    return Edges(np.zeros(0, np.int64), targets, weights, Ids(range(n)), matrix=True, offsets=offsets)


def _from_edges(edges: Iterable[Any], options: dict[str, Any]) -> Edges:
    """Reads ``(source, target)`` or ``(source, target, weight)``, from a list or a generator."""
    rows: list[tuple[Any, ...]] = []
    for edge in edges:
        if isinstance(edge, (str, bytes)) or not isinstance(edge, Iterable):
            raise TypeError(
                f"edge {len(rows)} is {edge!r}; expected pairs (source, target) or triples "
                "(source, target, weight)"
            )
        rows.append(tuple(edge))
        if len(rows[-1]) not in (2, 3) or len(rows[-1]) != len(rows[0]):
            raise ValueError(
                f"edge {len(rows) - 1} has {len(rows[-1])} entries and edge 0 has {len(rows[0])}; expected "
                "either pairs (source, target) or triples (source, target, weight)"
            )
    weights = None if isinstance(options["weight"], str) else options["weight"]
    if rows and len(rows[0]) == 3 and isinstance(options["weight"], str):
        weights = _attribute_weights([row[2] for row in rows], options["weight"], options)
    return of_ids([row[0] for row in rows], [row[1] for row in rows], weights, options)


def _from_mapping(graph: Mapping[Any, Any], options: dict[str, Any]) -> Edges:
    """Reads the neighbours of each node: a list, or a dict of weights or attributes."""
    if {"source", "target"} <= {str(key).lower() for key in graph}:
        raise TypeError("the dict has columns instead of neighbors; pass pandas.DataFrame(graph)")
    sources, targets, data = [], [], []
    for node, neighbours in graph.items():
        if isinstance(neighbours, (str, bytes)) or not isinstance(neighbours, Iterable):
            raise TypeError(f"node {node!r} has {neighbours!r}; expected a list or dict of its neighbors")
        is_mapping = isinstance(neighbours, Mapping)
        if isinstance(neighbours, (set, frozenset)):
            neighbours = sorted(neighbours, key=repr)
        for neighbour in neighbours:
            sources.append(node)
            targets.append(neighbour)
            data.append(neighbours[neighbour] if is_mapping else {})
    weights = None
    if isinstance(options["weight"], str):
        weights = _attribute_weights(data, options["weight"], options)
    elif options["weight"] is not None:
        raise ValueError("weight cannot be an array with a dict; put the weights into it: {'a': {'b': 2.5}}")
    nodes = chain(() if options["nodes"] is None else options["nodes"], graph)
    return of_ids(sources, targets, weights, {**options, "nodes": nodes})


def _attribute_weights(data: list[Any], name: str, options: dict[str, Any]) -> list[Any] | None:
    """The weights of edges that have numbers or dicts of attributes; ``None`` if none has one."""
    found = [edge.get(name) if isinstance(edge, Mapping) else edge for edge in data]
    if all(weight is None for weight in found):
        check_optional(name, "edge")
        return None
    return _completed(found, options)


def _completed(found: list[Any], options: dict[str, Any]) -> list[Any]:
    """Weights, 1 where an edge has none. A length that is missing stays so, and is an error."""
    if options.get("complete"):
        return found
    return [1 if weight is None else weight for weight in found]


_CONVERTERS: list[tuple[str, tuple[str, ...], set[str], _Convert]] = [
    ("networkx", ("Graph",), set(), _from_networkx),
    ("igraph", ("Graph",), set(), _from_igraph),
    ("dgl", ("DGLGraph",), set(), _tensors.from_dgl),
    ("scipy.sparse", ("sparray", "spmatrix"), set(), _from_scipy),
    ("pandas", ("DataFrame",), _frames.OPTIONS, _frames.from_pandas),
    ("polars", ("LazyFrame",), _frames.OPTIONS, _frames.from_lazy),
    ("polars", ("DataFrame",), _frames.OPTIONS, _frames.from_polars),
    ("pyarrow", ("Table", "RecordBatch"), _frames.OPTIONS, _frames.from_arrow),
]
