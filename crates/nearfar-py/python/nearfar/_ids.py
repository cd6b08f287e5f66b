"""Which row is which node."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from itertools import chain
from operator import index
from typing import Any

import numpy as np

from ._arrays import Integers, as_numpy


class Ids:
    """The ids of nodes in row order: a ``range`` from 0, or any different hashable values."""

    def __init__(self, values: range | Sequence[Hashable]) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def __getstate__(self) -> dict[str, Any]:
        # The places are found again when they are asked for.
        return {"values": self.values}

    @cached_property
    def nodes(self) -> list[Any]:
        """All ids."""
        return list(self.values)

    @cached_property
    def _places(self) -> dict[Hashable, int]:
        return {value: row for row, value in enumerate(self.values)}

    @cached_property
    def texts(self) -> list[str] | None:
        """The ids as they are written to files; ``None`` for 0, 1, 2, ..."""
        if isinstance(self.values, range):
            return None
        return [str(value) for value in self.values]

    def check_texts(self) -> None:
        """Fails if two nodes, or none, would be told apart in a file."""
        rows: dict[str, Hashable] = {}
        for value, text in zip(self.values, self.texts or (), strict=False):
            if not text:
                raise ValueError(f"node {value!r} is empty as text; give it an id that can be written")
            if text in rows:
                raise ValueError(
                    f"nodes {rows[text]!r} and {value!r} are both written as {text!r}; "
                    "rename one before saving"
                )
            rows[text] = value

    @property
    def writable(self) -> bool:
        """Whether texts tell all nodes apart."""
        return self.texts is None or ("" not in self.texts and len(set(self.texts)) == len(self))

    def row(self, node: Any) -> int:
        """The row of a node."""
        if isinstance(self.values, range):
            try:
                row = index(node)
            except TypeError:
                row = -1
            if 0 <= row < len(self):
                return row
        else:
            found = self._places.get(node)
            if found is not None:
                return found
        first = self.values[0] if len(self) else None
        raise KeyError(f"no node {node!r}; ids look like {first!r}")

    def rows(self, nodes: Any) -> Integers:
        """The rows of many nodes."""
        if isinstance(nodes, (str, bytes)):
            raise TypeError(f"{nodes!r} is one node; give a list of nodes")
        if isinstance(self.values, range):
            array = as_numpy(nodes)
            if array.ndim != 1:
                raise ValueError(f"nodes of shape {array.shape}; give one after the other, (n,)")
            if array.size == 0:
                return np.zeros(0, dtype=np.int64)
            if array.dtype.kind in "iu":
                outside = (array < 0) | (array >= len(self))
                if outside.any():
                    self.row(array[outside][0].item())
                return array.astype(np.int64, copy=False)
        places = [self.row(node) for node in as_list(nodes)]
        return np.array(places, dtype=np.int64)


def as_list(nodes: Any) -> list[Any]:
    """Nodes as Python has them: arrays give integers, not NumPy's own."""
    return list(nodes.tolist() if hasattr(nodes, "tolist") else nodes)


def number(
    first: Sequence[Hashable], sources: Any, targets: Any
) -> tuple[Ids, Integers, Integers]:
    """Numbers the ids of edges by their first appearance, those in ``first`` before all. Integers
    that are exactly 0, 1, 2, ... are their own rows."""
    parts = [_as_integers(part) for part in (first, sources, targets)]
    if parts[0] is not None and parts[1] is not None and parts[2] is not None:
        return _number_integers(parts[0], parts[1], parts[2])
    places: dict[Hashable, int] = {}
    insert = places.setdefault
    for node in first:
        insert(node, len(places))
    pairs = zip(as_list(sources), as_list(targets), strict=True)
    ends = [insert(node, len(places)) for node in chain.from_iterable(pairs)]
    rows = np.array(ends, dtype=np.int64).reshape(-1, 2)
    return Ids(list(places)), rows[:, 0], rows[:, 1]


def _as_integers(ids: Any) -> Integers | None:
    """Ids as an array of integers, if they are."""
    if isinstance(ids, np.ndarray):
        fits = ids.dtype.kind == "i" or (ids.dtype.kind == "u" and ids.dtype.itemsize < 8)
        return ids.astype(np.int64, copy=False) if fits else None
    try:
        return np.array(ids, dtype=np.int64) if all(type(node) is int for node in ids) else None
    except OverflowError:
        return None


def _number_integers(
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
        # A table of all integers up to the largest: where each appears first, or never.
        place = np.full(high + 1, len(ends), dtype=np.int64)
        place[ends[::-1]] = np.arange(len(ends) - 1, -1, -1)
        if (place < len(ends)).all():
            return Ids(range(high + 1)), sources, targets
        ids = np.flatnonzero(place < len(ends))
        ids = ids[np.argsort(place[ids])]
        place[ids] = np.arange(len(ids))
        return Ids(ids.tolist()), place[sources], place[targets]
    ids, place, inverse = np.unique(ends, return_index=True, return_inverse=True)
    order = np.argsort(place)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    rows = rank[inverse.reshape(-1)[len(first) :]]
    return Ids(ids[order].tolist()), rows[0::2], rows[1::2]
