"""Arrays and tensors, and the graphs of PyTorch Geometric and DGL that consist of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import as_numpy, as_weights
from ._edges import (
    Edges,
    check_length,
    check_optional,
    check_square,
    edge_namer,
    of_entries,
    weight_name,
)
from ._ids import Ids


def is_sparse(tensor: Any) -> bool:
    """Whether this is a sparse PyTorch tensor."""
    return hasattr(tensor, "to_sparse_coo") and "strided" not in str(getattr(tensor, "layout", "strided"))


def is_adjacency(array: npt.NDArray[Any]) -> bool:
    """Whether this is a dense adjacency matrix rather than a list of edges.

    Lists have two columns or two rows, or three columns with a weight. A 2 × 2 array of integers is
    a list, a 3 × 3 array is a matrix if it is symmetric.
    """
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        return False
    if len(array) == 3 and not np.array_equal(array, array.T, equal_nan=array.dtype.kind == "f"):
        raise ValueError(
            "an array of shape (3, 3) that is not symmetric may be an adjacency matrix or three edges "
            "with weights; pass scipy.sparse.csr_array(array), or array[:, :2] with weight=array[:, 2]"
        )
    return len(array) > 2 or (len(array) == 2 and array.dtype.kind in "bf")


def from_dense(array: npt.NDArray[Any], options: dict[str, Any]) -> Edges:
    _check_no_array(options, "an adjacency matrix, which has them as its entries")
    rows, columns = np.nonzero(array)
    return of_entries(rows, columns, array[rows, columns], len(array), options["weight"] is not None)


def from_sparse(tensor: Any, options: dict[str, Any]) -> Edges:
    n = check_square(tuple(tensor.shape))
    _check_no_array(options, "an adjacency matrix, which has them as its entries")
    entries = tensor.detach().to_sparse_coo().coalesce()
    indices, values = as_numpy(entries.indices()), as_numpy(entries.values())
    return of_entries(indices[0], indices[1], values, n, options["weight"] is not None)


def from_array(edges: npt.NDArray[Any], options: dict[str, Any]) -> Edges:
    weights = None if isinstance(options["weight"], str) else options["weight"]
    if edges.ndim == 2 and edges.shape[1] == 2:
        sources, targets = edges[:, 0], edges[:, 1]
    elif edges.ndim == 2 and edges.shape[0] == 2:
        sources, targets = edges[0], edges[1]
    elif edges.ndim == 2 and edges.shape[1] == 3 and edges.dtype.kind in "iuf":
        sources, targets = _whole(edges[:, 0]), _whole(edges[:, 1])
        weights = edges[:, 2] if isinstance(options["weight"], str) else weights
    else:
        raise ValueError(
            f"the edge array has shape {edges.shape}; expected (m, 2) or (2, m), (m, 3) with weights, or a "
            "square adjacency matrix"
        )
    return _from_integers(sources, targets, weights, options["num_nodes"])


def from_geometric(data: Any, options: dict[str, Any]) -> Edges:
    edges = as_numpy(data.edge_index)
    if edges.ndim != 2 or len(edges) != 2:
        raise ValueError(f"edge_index has shape {edges.shape}; expected (2, m)")
    weights = options["weight"]
    if isinstance(weights, str):
        name = "edge_weight" if weights == "weight" else weights
        weights = getattr(data, name, None)
        if weights is None:
            check_optional(options["weight"], "Data")
    # One edge type of a HeteroData: its key names the types of the ends.
    key = getattr(data, "_key", None)
    if not (isinstance(key, tuple) and len(key) == 3):
        nodes = options["num_nodes"] or getattr(data, "num_nodes", None)
        return _from_integers(edges[0], edges[1], weights, nodes)
    sizes = data.size()
    if key[0] == key[2]:
        return _from_integers(edges[0], edges[1], weights, options["num_nodes"] or sizes[0])
    return _between_types(key[0], key[2], sizes, edges[0], edges[1], weights)


def from_hetero(data: Any, options: dict[str, Any]) -> Edges:
    if len(data.edge_types) == 1:
        return from_geometric(data[data.edge_types[0]], options)
    listed = ", ".join(f"data[{', '.join(map(repr, edge_type))}]" for edge_type in data.edge_types)
    raise TypeError(
        f"the HeteroData has {len(data.edge_types)} edge types; pass one of them: {listed}; or all as one: "
        "data.to_homogeneous()"
    )


def from_dgl(graph: Any, options: dict[str, Any]) -> Edges:
    types = list(graph.canonical_etypes)
    if len(types) != 1:
        listed = ", ".join(f"graph[{', '.join(map(repr, edge_type))}]" for edge_type in types)
        raise TypeError(
            f"the DGL graph has {len(types)} edge types; pass one of them: {listed}; or all as one: "
            "dgl.to_homogeneous(graph)"
        )
    source_type, _, target_type = types[0]
    sources, targets = (as_numpy(ends) for ends in graph.edges())
    weights = options["weight"]
    if isinstance(weights, str):
        name, weights = weights, None
        if name in graph.edata:
            weights = graph.edata[name]
        else:
            check_optional(name, "edge")
    sizes = graph.num_nodes(source_type), graph.num_nodes(target_type)
    if source_type != target_type:
        return _between_types(source_type, target_type, sizes, sources, targets, weights)
    return _from_integers(sources, targets, weights, sizes[0])


def _between_types(
    source_type: str, target_type: str, sizes: Any, sources: Any, targets: Any, weights: Any
) -> Edges:
    """Edges between nodes of two types, which are numbered separately: ids are (type, number)."""
    first, second = (
        int(ends.max(initial=-1)) + 1 if size is None else int(size)
        for ends, size in zip((sources, targets), sizes, strict=True)
    )
    edges = _from_integers(sources, targets + first, weights, first + second)
    edges.ids = Ids([*((source_type, i) for i in range(first)), *((target_type, i) for i in range(second))])
    return edges


def _from_integers(sources: npt.NDArray[Any], targets: npt.NDArray[Any], weights: Any, nodes: int | None) -> Edges:
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
        weights = as_weights(weights, edge_namer(ids, sources, targets))
        check_length(weights, len(sources))
    return Edges(sources, targets, weights, ids)


def _whole(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Floats that are integers, as integers; anything else as it is, which is refused later."""
    if numbers.dtype.kind == "f" and np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all():
        return numbers.astype(np.int64)
    return numbers


def _check_no_array(options: dict[str, Any], what: str) -> None:
    if options["weight"] is not None and weight_name(options) != "weight":
        raise ValueError(f"weight cannot be given with {what}")
