"""Edges as arrays: what every graph type is converted to."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from ._arrays import Floats, as_weights
from ._ids import Ids, assign_rows


@dataclass
class Edges:
    """Edges as arrays of rows, with the id of each row."""

    sources: npt.NDArray[Any]
    targets: npt.NDArray[Any]
    weights: Floats | None
    ids: Ids
    #: Whether an edge (a, b) is distinct from (b, a); ``None`` where the graph does not say.
    directed: bool | None = None
    #: Whether the edges are the entries of a matrix.
    matrix: bool = False
    #: Names of the columns of sources, targets and weights of a frame.
    columns: tuple[str, str, str | None] | None = None
    #: CSR row offsets (n + 1 values) of ``targets``; ``sources`` is then empty.
    offsets: npt.NDArray[Any] | None = None


def of_ids(sources: Any, targets: Any, weights: Any, options: dict[str, Any]) -> Edges:
    """Edges between ids; those in the option ``nodes`` come first."""
    first: Sequence[Hashable] = [] if options["nodes"] is None else list(options["nodes"])
    if options["num_nodes"] is not None:
        first = [*first, *range(options["num_nodes"])]
    try:
        ids, source_rows, target_rows = assign_rows(first, sources, targets)
    except TypeError as error:
        raise TypeError(f"node ids must be hashable: {error}") from None
    if weights is not None:
        weights = as_weights(weights, lambda index: f"{sources[index]!s}–{targets[index]!s} (row {index})")
        check_length(weights, len(source_rows))
    return Edges(source_rows, target_rows, weights, ids)


def of_entries(rows: npt.NDArray[Any], columns: npt.NDArray[Any], values: Any, n: int, weighted: bool) -> Edges:
    """Edges that are the entries of a matrix. If all entries are 1, the graph has no weights."""
    ids = Ids(range(n))
    weights = None
    if weighted and not (values == 1).all():
        weights = as_weights(values, edge_namer(ids, rows, columns))
    return Edges(rows, columns, weights, ids, matrix=True)


def check_square(shape: tuple[int, ...]) -> int:
    """The number of rows of a matrix of a graph."""
    if len(shape) != 2 or shape[0] != shape[1]:
        rows, columns = (*shape, 1)[:2]
        raise ValueError(
            f"the matrix has {rows} rows and {columns} columns; expected a square matrix with one row "
            "and one column per node"
        )
    return int(shape[0])


def check_length(weights: Floats, edges: int) -> None:
    """Raises ``ValueError`` unless there is a weight for every edge."""
    if len(weights) != edges:
        raise ValueError(f"there are {len(weights)} weights for {edges} edges; expected one per edge")


def weight_name(options: dict[str, Any]) -> str | None:
    """The name of the edge attribute with the weights, if one is to be read."""
    weight = options["weight"]
    return weight if isinstance(weight, str) else None


def check_optional(name: str, owner: str) -> None:
    """Raises ``ValueError`` for a missing attribute unless its name is the default."""
    if name != "weight":
        raise ValueError(f"no {owner} has the weight attribute {name!r}; use weight=None for an unweighted graph")


def edge_namer(ids: Ids, sources: npt.NDArray[Any], targets: npt.NDArray[Any]) -> Callable[[int], str]:
    """A function that names an edge in error messages."""
    return lambda index: f"{ids.values[int(sources[index])]!s}–{ids.values[int(targets[index])]!s}"
