"""Frames with one row per edge: pandas, polars and pyarrow."""

from __future__ import annotations

from typing import Any

from . import _nearfar
from ._edges import Edges, of_ids

#: The options that choose columns and nodes.
OPTIONS = {"source", "target", "nodes", "num_nodes"}


def from_pandas(frame: Any, options: dict[str, Any]) -> Edges:
    def column(name: Any) -> tuple[Any, int]:
        return frame[name].to_numpy(), int(frame[name].isna().sum())

    return _from_columns(list(frame.columns), column, options)


def from_polars(frame: Any, options: dict[str, Any]) -> Edges:
    def column(name: Any) -> tuple[Any, int]:
        return frame[name].to_numpy(), frame[name].null_count()

    return _from_columns(frame.columns, column, options)


def from_lazy(frame: Any, options: dict[str, Any]) -> Edges:
    names = frame.collect_schema().names()
    columns = [name for name in _chosen(names, options) if name is not None]
    source, target = columns[:2]
    weight = columns[2] if len(columns) == 3 else options["weight"]
    chosen = {**options, "source": source, "target": target, "weight": weight}
    return from_polars(frame.select(columns).collect(), chosen)


def from_arrow(table: Any, options: dict[str, Any]) -> Edges:
    def column(name: Any) -> tuple[Any, int]:
        values = table.column(name)
        # A single chunk without nulls converts without a copy.
        array = values if not hasattr(values, "num_chunks") or values.num_chunks != 1 else values.chunk(0)
        return array.to_numpy(zero_copy_only=False), values.null_count

    return _from_columns(table.schema.names, column, options)


def _from_columns(names: list[Any], column: Any, options: dict[str, Any]) -> Edges:
    source, target, weight = _chosen(names, options)
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
    given = options["weight"]
    weights = None if given is None or isinstance(given, (str, int)) else given
    if weight is not None:
        weights = column(weight)[0]
    edges = of_ids(columns[0], columns[1], weights, options)
    if names[:2] != [source, target] or weight is not None:
        edges.columns = (str(source), str(target), None if weight is None else str(weight))
    return edges


def _chosen(names: list[Any], options: dict[str, Any]) -> tuple[Any, Any, Any]:
    """The columns of sources, targets and weights; the last one is ``None`` if there is none."""
    ends, weight = _nearfar.known_columns([str(name) for name in names])
    source, target = (
        names[ends[at]] if options[keyword] is None and ends is not None else _find(names, options[keyword])
        for at, keyword in enumerate(("source", "target"))
    )
    if source == target:
        raise ValueError(f"source and target are both column {source!r}; set source= and target=")
    given = options["weight"]
    if isinstance(given, str) and given == "weight":
        return source, target, None if weight is None else names[weight]
    return source, target, _find(names, given, "weight ") if isinstance(given, (str, int)) else None


def _find(names: list[Any], wanted: str | int | None, kind: str = "") -> Any:
    """A column by its name, or by its number from 1; a name takes precedence."""
    if wanted is not None:
        if wanted in names:
            return wanted
        same = [name for name in names if str(name).lower() == str(wanted).lower()]
        if same:
            return same[0]
        number = int(wanted) if str(wanted).isdecimal() else 0
        if 1 <= number <= len(names):
            return names[number - 1]
    what = "columns 'source' and 'target'" if wanted is None else f"{kind}column {wanted!r}"
    how = "Set weight=, or no_weights=True" if kind else "Set source= and target="
    listed = ", ".join(repr(name) for name in names) or "none"
    raise ValueError(f"the frame has no {what}; the columns are {listed}. {how}")
