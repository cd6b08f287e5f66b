"""Vectors of graphs that changed, and of unseen nodes: methods of ``Embedding``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _nearfar, _options
from ._graph import Graph, as_graph
from ._ids import Ids
from ._progress import Callback, Observer

if TYPE_CHECKING:
    from ._embedding import Embedding

def as_engine(embedding: Embedding) -> _nearfar.Embedding:
    """The engine's object, whose ids must tell nodes apart as text."""
    embedding._ids.check_strings()
    return embedding._engine


def update(
    embedding: Embedding,
    graph: Any,
    old_graph: Any,
    progress: bool,
    callback: Callback | None,
    options: Mapping[str, object],
) -> tuple[_nearfar.Embedding, Ids, dict[str, int]]:
    """The updated vectors, their ids, and what changed."""
    _options.check("update()", options, _options.UPDATE, _options.GRAPH)
    of_graph = _options.select(options, _options.GRAPH)
    now = _checked("update()", graph, of_graph)
    before = None if old_graph is None else _checked("update()", old_graph, of_graph)
    keywords = _options.as_json(_options.select(options, _options.UPDATE))
    with Observer(progress, callback) as observer:
        engine, changed = _nearfar.update(
            as_engine(embedding),
            now._engine,
            None if before is None else before._engine,
            keywords,
            observer,
            now._ids.is_text,
        )
    return engine, now._ids, json.loads(changed)


def transform(
    embedding: Embedding, edges: Any, options: Mapping[str, object]
) -> tuple[_nearfar.Embedding, Ids]:
    """Vectors of the nodes of ``edges`` that have none, and their ids."""
    graph = _checked("transform()", edges, options)
    engine, rows = _nearfar.transform(as_engine(embedding), graph._engine)
    return engine, Ids([graph._ids.values[row] for row in rows])


def _checked(function: str, graph: Any, options: Mapping[str, object]) -> Graph:
    converted = as_graph(function, graph, options)
    converted._ids.check_strings()
    return converted
