"""The mapping between node ids and rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from itertools import chain
from operator import index
from typing import Any

import numpy as np

from ._arrays import Integers, as_numpy


class Ids:
    """Node ids in row order: ``range(n)``, or distinct hashable values."""

    def __init__(self, values: range | Sequence[Hashable]) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def __getstate__(self) -> dict[str, Any]:
        # Cached properties are computed again on demand.
        return {"values": self.values}

    @cached_property
    def nodes(self) -> list[Any]:
        """All ids as a list."""
        return list(self.values)

    @cached_property
    def _row_of(self) -> dict[Hashable, int]:
        return {value: row for row, value in enumerate(self.values)}

    @cached_property
    def strings(self) -> list[str] | None:
        """The ids as they are written to files; ``None`` for 0, 1, 2, ..."""
        if isinstance(self.values, range):
            return None
        return [str(value) for value in self.values]

    @cached_property
    def is_text(self) -> bool:
        """Whether all ids are strings."""
        return not isinstance(self.values, range) and all(isinstance(value, str) for value in self.values)

    def check_strings(self) -> None:
        """Raises ``ValueError`` if an id is empty as a string or two ids have the same string."""
        seen: dict[str, Hashable] = {}
        for value, string in zip(self.values, self.strings or (), strict=False):
            if not string:
                raise ValueError(f"node id {value!r} is an empty string in files; rename it before saving")
            if string in seen:
                raise ValueError(
                    f"nodes {seen[string]!r} and {value!r} are both written as {string!r}; "
                    "rename one before saving"
                )
            seen[string] = value

    @property
    def has_unique_strings(self) -> bool:
        """Whether all ids differ, and none is empty, when written as strings."""
        return self.strings is None or ("" not in self.strings and len(set(self.strings)) == len(self))

    def row(self, node: Any) -> int:
        """The row of a node; ``KeyError`` if there is no such node."""
        if isinstance(self.values, range):
            try:
                row = index(node)
            except TypeError:
                row = -1
            if 0 <= row < len(self):
                return row
        else:
            found = self._row_of.get(node)
            if found is not None:
                return found
        first = self.values[0] if len(self) else None
        raise KeyError(f"no node {node!r}; the first node id is {first!r}")

    def rows(self, nodes: Any) -> Integers:
        """The rows of a sequence of nodes."""
        if isinstance(nodes, (str, bytes)):
            raise TypeError(f"{nodes!r} is a single node; expected a list of nodes")
        if isinstance(self.values, range):
            array = as_numpy(nodes)
            if array.ndim != 1:
                raise ValueError(f"nodes have shape {array.shape}; expected shape (n,)")
            if array.size == 0:
                return np.zeros(0, dtype=np.int64)
            if array.dtype.kind in "iu":
                outside = (array < 0) | (array >= len(self))
                if outside.any():
                    self.row(array[outside][0].item())
                return array.astype(np.int64, copy=False)
        rows = [self.row(node) for node in as_list(nodes)]
        return np.array(rows, dtype=np.int64)


def as_list(nodes: Any) -> list[Any]:
    """Converts to a list of Python objects: NumPy scalars become Python's."""
    return list(nodes.tolist() if hasattr(nodes, "tolist") else nodes)


def assign_rows(
    first: Sequence[Hashable], sources: Any, targets: Any
) -> tuple[Ids, Integers, Integers]:
    """Assigns rows to the ids in order of first appearance: those in ``first``, then the edges.

    Integer ids that are exactly 0, ..., n − 1 are their own rows.
    """
    columns = [_as_integers(column) for column in (first, sources, targets)]
    if columns[0] is not None and columns[1] is not None and columns[2] is not None:
        return _assign_integer_rows(columns[0], columns[1], columns[2])
    row_of: dict[Hashable, int] = {}
    insert = row_of.setdefault
    for node in first:
        insert(node, len(row_of))
    pairs = zip(as_list(sources), as_list(targets), strict=True)
    ends = [insert(node, len(row_of)) for node in chain.from_iterable(pairs)]
    rows = np.array(ends, dtype=np.int64).reshape(-1, 2)
    return Ids(list(row_of)), rows[:, 0], rows[:, 1]


def _as_integers(ids: Any) -> Integers | None:
    """The ids as int64 if all of them are integers that fit, else ``None``."""
    if isinstance(ids, np.ndarray):
        fits = ids.dtype.kind == "i" or (ids.dtype.kind == "u" and ids.dtype.itemsize < 8)
        return ids.astype(np.int64, copy=False) if fits else None
    try:
        return np.array(ids, dtype=np.int64) if all(type(node) is int for node in ids) else None
    except OverflowError:
        return None


def _assign_integer_rows(
    first: Integers, sources: Integers, targets: Integers
) -> tuple[Ids, Integers, Integers]:
    ends = np.empty(len(first) + 2 * len(sources), dtype=np.int64)
    ends[: len(first)] = first
    ends[len(first) :: 2] = sources
    ends[len(first) + 1 :: 2] = targets
    if len(ends) == 0:
        return Ids(range(0)), sources, targets
    low, high = int(ends.min()), int(ends.max())
    if low >= 0 and high <= 16 * len(ends):
        # Dense ids: a table indexed by id holds the position of first appearance (len(ends) if the
        # id is unused), and later the row.
        table = np.full(high + 1, len(ends), dtype=np.int64)
        table[ends[::-1]] = np.arange(len(ends) - 1, -1, -1)
        if (table < len(ends)).all():
            return Ids(range(high + 1)), sources, targets
        ids = np.flatnonzero(table < len(ends))
        ids = ids[np.argsort(table[ids])]
        table[ids] = np.arange(len(ids))
        return Ids(ids.tolist()), table[sources], table[targets]
    ids, position, inverse = np.unique(ends, return_index=True, return_inverse=True)
    order = np.argsort(position)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    rows = rank[inverse.reshape(-1)[len(first) :]]
    return Ids(ids[order].tolist()), rows[0::2], rows[1::2]
