"""A page to look at."""

from __future__ import annotations

import inspect
import os
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

from . import _nearfar, _options
from ._embedding import Embedding
from ._evaluate import _as_embedding, _by_row, _part, _texts
from ._graph import as_graph


def report(
    emb: Any,
    path: str | os.PathLike[str] = "report.html",
    graph: Any = None,
    labels: Any = None,
    splits: Any = None,
    *,
    log: str | os.PathLike[str] | None = None,
    links: str | os.PathLike[str] | None = None,
    ids: Sequence[Hashable] | None = None,
    **options: Any,
) -> Path:
    """Writes one page that shows vectors: a map of them, who is near a node and who is far, and the
    numbers. It opens in any browser and fetches nothing. What ``nearfar report`` writes.

    Parameters
    ----------
    emb
        An ``Embedding``, an array of shape (n, dim), or a file of vectors.
    path
        Where to write the page.
    graph
        The graph that they were made from: anything that ``Graph`` takes. Without it, the page knows
        nothing of distances.
    labels, splits
        As in ``classify``; those of the graph, if it has any and none are given.
    log, links
        Files: the log of ``embed``, and what ``nearfar links --json`` printed.
    ids
        The ids of an array's rows; those of the graph, in its order, if not given.
    **options
        The options of ``nearfar report``, with underscores: ``title``, ``perplexity``, ``metric``,
        ``points``, ``seed``; ``threads``; and those of ``Graph``.

    Examples
    --------
    >>> import nearfar, tempfile
    >>> emb = nearfar.embed("builtin:karate", dim=16, seed=0)
    >>> folder = tempfile.mkdtemp()
    >>> page = nearfar.report(emb, f"{folder}/karate.html", "builtin:karate")
    >>> page.name, page.read_text()[:15]
    ('karate.html', '<!doctype html>')
    """
    _options.check("report()", options, _options.REPORT, _options.GRAPH)
    own_graph = None
    if graph is not None:
        own_graph = as_graph("report()", graph, _options.part(options, _options.GRAPH))
        if ids is None and not isinstance(emb, (Embedding, str, os.PathLike)):
            ids = own_graph._ids.values
        if labels is None:
            labels, splits = own_graph.labels, splits if splits is not None else own_graph.splits
    own = _as_embedding(emb, ids)
    if own_graph is not None and own._ids.values != own_graph._ids.values:
        own = _in_order_of(own, own_graph._ids.values)
    values: dict[str, Any] = {}
    rows = None if labels is None else _by_row(own, labels, "labels", lambda value: _texts(value, values))
    parts = None if splits is None else _by_row(own, splits, "splits", _part)
    files = tuple(None if file is None else os.fspath(file) for file in (log, links))
    name = Path(emb).stem if isinstance(emb, (str, os.PathLike)) else Path(path).stem
    engine = None if own_graph is None else own_graph._engine
    keywords = _options.as_json(_options.part(options, _options.REPORT))
    _nearfar.report(own._engine, os.fspath(path), name, engine, rows, parts, files, keywords)
    return Path(path)


report.__signature__ = _options.signature(  # type: ignore[attr-defined]
    inspect.Parameter("emb", inspect.Parameter.POSITIONAL_OR_KEYWORD),
    *(
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)
        for name, default in [("path", "report.html"), ("graph", None), ("labels", None), ("splits", None)]
    ),
    keywords={"log": None, "links": None, "ids": None, **_options.REPORT, **_options.GRAPH},
)


def _in_order_of(own: Embedding, nodes: Sequence[Hashable]) -> Embedding:
    missing = [node for node in nodes if node not in own]
    if missing or len(nodes) != len(own):
        example = f", {missing[0]!r} among them," if missing else ""
        raise ValueError(
            f"there are {len(own)} vectors for {len(nodes)} nodes, and {len(missing)} nodes{example} have "
            "none; give the graph that was embedded"
        )
    return Embedding(nodes, own[list(nodes)])
