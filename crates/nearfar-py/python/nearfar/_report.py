"""HTML reports."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _nearfar, _options
from ._embedding import Embedding, with_info
from ._evaluate import as_embedding, by_row, label_strings, split_name
from ._graph import as_graph

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keywords import ReportKeywords


@_options.documented(*_options.FUNCTIONS["report"])
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
    **options: Unpack[ReportKeywords],
) -> Path:
    """Write an HTML report about an embedding.

    The page shows a map of the vectors, the most and least similar nodes of a node, and statistics.
    It is self-contained: it opens in any browser and loads nothing from the network. It is the page
    that ``nearfar report`` writes.

    Parameters
    ----------
    emb : Embedding, array of shape (n, dim) or path
        Vectors to show.
    path : str or path-like, default="report.html"
        File to write.
    graph : Graph or graph-like, default=None
        The embedded graph: anything that ``Graph`` accepts. Without it, the page has no distances.
    labels, splits : dict, Series, array, list or path, default=None
        Labels and splits of the nodes, as in ``classify``. ``None`` takes those of the graph, if it
        has any.
    log : path, default=None
        Log file written by ``embed``.
    links : path, default=None
        File with the output of ``nearfar links --json``.
    ids : sequence of ids, default=None
        Ids of an array's rows; ``None`` means the nodes of the graph in its order.
    **options
        Options of the map and the scores, and keyword arguments of ``Graph``;
        ``help(nearfar.report)`` describes each.

    Returns
    -------
    pathlib.Path
        The file.

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
    converted = None
    if graph is not None:
        converted = as_graph("report()", graph, _options.select(options, _options.GRAPH))
        if ids is None and not isinstance(emb, (Embedding, str, os.PathLike)):
            ids = converted._ids.values
        if labels is None:
            labels, splits = converted.labels, splits if splits is not None else converted.splits
    embedding = as_embedding(emb, ids)
    if converted is not None and embedding._ids.values != converted._ids.values:
        embedding = _reordered(embedding, converted._ids.values)
    values: dict[str, Any] = {}
    label_rows = split_rows = None
    if labels is not None:
        label_rows = by_row(embedding, labels, "labels", lambda value: label_strings(value, values))
    if splits is not None:
        split_rows = by_row(embedding, splits, "splits", split_name)
    files = tuple(None if file is None else os.fspath(file) for file in (log, links))
    name = Path(emb).stem if isinstance(emb, (str, os.PathLike)) else Path(path).stem
    engine = None if converted is None else converted._engine
    keywords = _options.as_json(_options.select(options, _options.REPORT))
    _nearfar.report(embedding._engine, os.fspath(path), name, engine, label_rows, split_rows, files, keywords)
    return Path(path)


def _reordered(embedding: Embedding, nodes: Sequence[Hashable]) -> Embedding:
    """The embedding with its rows in the order of ``nodes``."""
    missing = [node for node in nodes if node not in embedding]
    if missing or len(nodes) != len(embedding):
        example = f", e.g. {missing[0]!r}" if missing else ""
        raise ValueError(
            f"the graph has {len(nodes)} nodes, the embedding {len(embedding)} vectors, and "
            f"{len(missing)} nodes have no vector{example}; pass the graph that was embedded"
        )
    return with_info(nodes, embedding[list(nodes)], embedding.info)
