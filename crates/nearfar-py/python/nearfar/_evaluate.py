"""How good vectors are."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _nearfar, _options
from ._arrays import as_numpy
from ._embedding import Embedding, load
from ._graph import as_graph
from ._ids import Ids, as_list
from ._progress import Callback, Listener
from ._results import Classification, LinkScores, Measures


def classify(
    emb: Any, labels: Any, splits: Any = None, *, ids: Sequence[Hashable] | None = None, **options: Any
) -> Classification:
    """Scores vectors by how well a linear classifier learns the labels of nodes from them: what
    ``nearfar evaluate --json`` prints.

    Parameters
    ----------
    emb
        An ``Embedding``, an array of shape (n, dim), or a file of vectors.
    labels
        The label of each node, or a list of several: a ``dict`` or a pandas Series by id, an array
        or a list in row order, or a file of lines ``node<TAB>label``. ``None`` and NaN are no label.
        A table of zeros and ones has a column for each label. A dataset folder brings its splits.
    splits
        The part of each node, ``"train"``, ``"val"``, ``"test"`` or ``None``, in one of these ways.
        Without it parts are random: ``train_ratio`` of the labelled nodes to learn from (0.1 if not
        given), ``repeats`` times.
    ids
        The ids of an array's rows; 0, 1, 2, ... if not given.
    **options
        The options of ``nearfar evaluate``, with underscores: ``train_ratio``, ``repeats``,
        ``stratified``, ``c``, ``seed``, ``per_class``, ``confusion``; and ``threads``.

    Examples
    --------
    >>> import nearfar
    >>> graph = nearfar.Graph("builtin:karate")
    >>> emb = nearfar.embed(graph, dim=16, seed=0)
    >>> scores = nearfar.classify(emb, graph.labels, train_ratio=0.5)
    >>> scores.accuracy > 0.8, len(scores.accuracy.runs)
    (True, 10)
    >>> known = {0: "a", 1: "a", 32: "b", 33: "b"}
    >>> nearfar.classify(emb, known, train_ratio=0.5, repeats=1, stratified=True)
    Classification into 2 classes, trained on 2 nodes and scored on 2: F1-macro ...
    """
    _options.check("classify()", options, _options.CLASSIFY)
    random = [name for name in ("train_ratio", "repeats", "stratified") if options.get(name)]
    if splits is not None and random:
        raise ValueError(f"{random[0]} is for random parts, and splits says them; leave one out")
    own = _as_embedding(emb, ids)
    values: dict[str, Any] = {}
    rows = _by_row(own, labels, "labels", lambda value: _texts(value, values))
    parts = None if splits is None else _by_row(own, splits, "splits", _part)
    keywords = _options.as_json(options)
    found = json.loads(_nearfar.classify(own._engine, rows, parts, keywords))
    # The labels as they were given, not as text.
    for scores in found.get("per_class", ()):
        scores["label"] = values.get(scores["label"], scores["label"])
    if "confusion" in found:
        found["confusion"]["labels"] = [values.get(text, text) for text in found["confusion"]["labels"]]
    return Classification(found)


classify.__signature__ = _options.signature(  # type: ignore[attr-defined]
    inspect.Parameter("emb", inspect.Parameter.POSITIONAL_OR_KEYWORD),
    inspect.Parameter("labels", inspect.Parameter.POSITIONAL_OR_KEYWORD),
    inspect.Parameter("splits", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None),
    keywords={"ids": None, **_options.CLASSIFY},
)


def links(
    graph: Any, *, progress: bool = False, callback: Callback | None = None, **options: Any
) -> LinkScores:
    """Holds out edges, embeds the rest, and scores how well the vectors predict them, once for each
    of several seeds: what ``nearfar links --json`` prints.

    Parameters
    ----------
    graph
        Anything that ``Graph`` takes.
    progress, callback
        As in ``embed``. Without vectors there are no scores: a callback that stops the run makes
        this a ``ValueError``.
    **options
        The options of ``nearfar links``, with underscores: ``test_ratio``, ``keep_connected``,
        ``seeds``, ``c``; and those of ``embed`` and of ``Graph``.

    Examples
    --------
    >>> import nearfar
    >>> scores = nearfar.links("builtin:karate", dim=16, seeds=2)
    >>> scores
    LinkScores of 8 of 78 edges, held out 2 times: AUC ...
    >>> 0 < scores.auc.mean < 1, len(scores.operators.hadamard.auc.runs)
    (True, 2)
    """
    _options.check("links()", options, _options.LINKS, _options.GRAPH)
    own = as_graph("links()", graph, _options.part(options, _options.GRAPH))
    keywords = _options.as_json(_options.part(options, _options.LINKS))
    with Listener(progress, callback) as listener:
        return LinkScores(json.loads(_nearfar.links(own._engine, keywords, listener)))


links.__signature__ = _options.signature(  # type: ignore[attr-defined]
    inspect.Parameter("graph", inspect.Parameter.POSITIONAL_OR_KEYWORD),
    keywords={"progress": False, "callback": None, **_options.LINKS, **_options.GRAPH},
)


def measure(emb: Any, graph: Any, *, ids: Sequence[Hashable] | None = None, **options: Any) -> Measures:
    """Measures how the similarity of vectors goes with the distance of their nodes: what ``nearfar
    measure --json`` prints.

    Parameters
    ----------
    emb
        An ``Embedding``, an array of shape (n, dim), or a file of vectors. Vectors and nodes are
        matched by id.
    graph
        The graph that they were made from: anything that ``Graph`` takes.
    ids
        The ids of an array's rows; those of the graph, in its order, if not given.
    **options
        The options of ``nearfar measure``, with underscores: ``context``, ``k``, ``gamma``, ``far``,
        ``sources`` (a number, or ``"all"``), ``walks``, ``seed``; ``threads``; and those of
        ``Graph``.

    Examples
    --------
    >>> import nearfar
    >>> emb = nearfar.embed("builtin:karate", dim=16, seed=0)
    >>> measures = nearfar.measure(emb, "builtin:karate")
    >>> measures
    Measures of 34 nodes, all pairs: cohesion ...
    >>> measures.xi[0] > measures.xi[-1], measures.separation_power
    (True, 5.0)
    """
    _options.check("measure()", options, _options.MEASURE, _options.GRAPH)
    own_graph = as_graph("measure()", graph, _options.part(options, _options.GRAPH))
    nodes = own_graph._ids
    if ids is None and not isinstance(emb, (Embedding, str, os.PathLike)):
        ids = nodes.values
    own = _as_embedding(emb, ids)
    if own._ids.values != nodes.values and not (own._ids.writable and nodes.writable):
        raise ValueError(
            "the nodes of vectors and graph differ, and have no text of their own to be matched by; "
            "give the vectors in the order of the graph, Embedding(graph.nodes, vectors)"
        )
    keywords = _options.part(options, _options.MEASURE)
    if keywords.get("sources") == "all":
        keywords["sources"] = len(nodes)
    return Measures(json.loads(_nearfar.measure(own._engine, own_graph._engine, _options.as_json(keywords))))


measure.__signature__ = _options.signature(  # type: ignore[attr-defined]
    inspect.Parameter("emb", inspect.Parameter.POSITIONAL_OR_KEYWORD),
    inspect.Parameter("graph", inspect.Parameter.POSITIONAL_OR_KEYWORD),
    keywords={"ids": None, **_options.MEASURE, **_options.GRAPH},
)


def _as_embedding(emb: Any, ids: Sequence[Hashable] | None) -> Embedding:
    if isinstance(emb, (Embedding, str, os.PathLike)):
        if ids is not None:
            raise ValueError("ids are for arrays; an embedding has its own")
        return emb if isinstance(emb, Embedding) else load(emb)
    array = as_numpy(emb)
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise ValueError(f"an array of {array.dtype} of shape {array.shape}; vectors are numbers of shape (n, dim)")
    return Embedding(range(len(array)) if ids is None else ids, array)


def _by_row(own: Embedding, given: Any, what: str, convert: Callable[[Any], Any]) -> Any:
    """What was given for each node, in row order; the name of a file as it is."""
    if isinstance(given, (str, os.PathLike)):
        own._ids.check_texts()
        return os.fspath(given)
    if isinstance(given, Mapping) or hasattr(given, "items"):
        return _by_id(own._ids, given, what, convert)
    if getattr(given, "ndim", 1) == 2:
        given = _columns(as_numpy(given), what)
    values = as_list(given)
    if len(values) != len(own):
        raise ValueError(f"{what} of {len(values)} nodes for {len(own)} vectors; it takes one each")
    return [convert(value) for value in values]


def _by_id(ids: Ids, given: Any, what: str, convert: Callable[[Any], Any]) -> Any:
    rows = [convert(None) for _ in range(len(ids))]
    for node, value in given.items():
        try:
            row = ids.row(node)
        except KeyError:
            raise ValueError(
                f"{what}: node {node!r} has no vector, ids look like {ids.values[0]!r}; remove it, or "
                "embed a graph that has the node"
            ) from None
        rows[row] = convert(value)
    return rows


def _columns(table: Any, what: str) -> list[list[int]]:
    """A column for each label: which of them a row has."""
    if what == "splits" or not np.isin(table, (0, 1)).all():
        raise ValueError(f"{what} of shape {table.shape}; it takes one for each node, (n,)")
    return [np.flatnonzero(row).tolist() for row in table]


def _texts(value: Any, values: dict[str, Any]) -> list[str]:
    """The labels of a node as text. ``values`` remembers what each was."""
    several = isinstance(value, Iterable) and not isinstance(value, (str, bytes))
    found = [label for label in (as_list(value) if several else [value]) if not _is_none(label)]
    texts = []
    for label in found:
        # A column of integers with gaps is one of floats.
        exact = int(label) if isinstance(label, float) and label.is_integer() else label
        texts.append(str(exact))
        if values.setdefault(texts[-1], exact) != exact:
            raise ValueError(
                f"labels {values[texts[-1]]!r} and {exact!r} are both written as {texts[-1]!r}; rename one"
            )
    return texts


def _part(value: Any) -> str | None:
    return None if _is_none(value) else str(value)


def _is_none(value: Any) -> bool:
    # pandas.NA is not even unequal to itself.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)
