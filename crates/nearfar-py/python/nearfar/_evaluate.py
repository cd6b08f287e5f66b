"""Evaluation: node classification, link prediction, and the paper's measures."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _nearfar, _options
from ._arrays import as_numpy
from ._embedding import Embedding, load
from ._graph import as_graph
from ._ids import Ids, as_list
from ._progress import Callback, Observer
from ._results import Classification, LinkScores, Measures

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keywords import ClassifyKeywords, LinksKeywords, MeasureKeywords


@_options.documented(*_options.FUNCTIONS["classify"])
def classify(
    emb: Any,
    labels: Any,
    splits: Any = None,
    *,
    ids: Sequence[Hashable] | None = None,
    **options: Unpack[ClassifyKeywords],
) -> Classification:
    """Score an embedding by node classification with logistic regression.

    The result has the fields that ``nearfar evaluate --json`` prints.

    Parameters
    ----------
    emb : Embedding, array of shape (n, dim) or path
        Vectors to score.
    labels : dict, Series, array, list or path
        Label of each node, or a list of labels: by id in a ``dict`` or pandas Series, in row order
        in an array or list, or in a file with lines ``node<TAB>label``. A 0/1 array of shape
        (n, classes) has one column per label. ``None`` and NaN mean no label. A path may also be a
        dataset folder, whose splits are then used unless ``train_ratio`` is set.
    splits : dict, Series, array, list or path, default=None
        Split of each node, in the same forms: ``"train"``, ``"val"``, ``"test"`` or ``None``.
        Without splits, the labelled nodes are divided at random.
    ids : sequence of ids, default=None
        Ids of an array's rows; ``None`` means 0, 1, 2, ...
    **options
        Options of the classifier and of random splits; ``help(nearfar.classify)`` describes each.

    Returns
    -------
    Classification
        F1-macro, F1-micro and accuracy on the test nodes, each with mean, standard deviation and
        all runs.

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
    Classification into 2 classes, 2 training and 2 test nodes: F1-macro ...
    """
    _options.check("classify()", options, _options.CLASSIFY)
    random = [name for name in ("train_ratio", "repeats", "stratified") if options.get(name)]
    if splits is not None and random:
        raise ValueError(f"{random[0]} is for random splits and cannot be combined with splits; omit one")
    embedding = as_embedding(emb, ids)
    values: dict[str, Any] = {}
    label_rows = by_row(embedding, labels, "labels", lambda value: label_strings(value, values))
    split_rows = None if splits is None else by_row(embedding, splits, "splits", split_name)
    keywords = _options.as_json(options)
    fields = json.loads(_nearfar.classify(embedding._engine, label_rows, split_rows, keywords))
    # Return labels as they were given, not as strings.
    for scores in fields.get("per_class", ()):
        scores["label"] = values.get(scores["label"], scores["label"])
    if "confusion" in fields:
        strings = fields["confusion"]["labels"]
        fields["confusion"]["labels"] = [values.get(string, string) for string in strings]
    return Classification(fields)


@_options.documented(*_options.FUNCTIONS["links"])
def links(
    graph: Any,
    *,
    progress: bool = False,
    callback: Callback | None = None,
    **options: Unpack[LinksKeywords],
) -> LinkScores:
    """Score link prediction: hold out edges, embed the rest, and rank the held-out edges.

    This is repeated with several seeds. The result has the fields that ``nearfar links --json``
    prints.

    Parameters
    ----------
    graph : Graph or graph-like
        Anything that ``Graph`` accepts.
    progress, callback
        As in ``embed``. Stopping the run raises ``ValueError``, since there is nothing to score.
    **options
        Options of link prediction and of training, and keyword arguments of ``Graph``;
        ``help(nearfar.links)`` describes each.

    Returns
    -------
    LinkScores
        AUC, average precision, mean reciprocal rank and hits, each with mean, standard deviation
        and all runs.

    Examples
    --------
    >>> import nearfar
    >>> scores = nearfar.links("builtin:karate", dim=16, seeds=2)
    >>> scores
    LinkScores with 8 of 78 edges held out, 2 runs: AUC ...
    >>> 0 < scores.auc.mean < 1, len(scores.operators.hadamard.auc.runs)
    (True, 2)
    """
    _options.check("links()", options, _options.LINKS, _options.GRAPH)
    converted = as_graph("links()", graph, _options.select(options, _options.GRAPH))
    keywords = _options.as_json(_options.select(options, _options.LINKS))
    with Observer(progress, callback) as observer:
        return LinkScores(json.loads(_nearfar.links(converted._engine, keywords, observer)))


@_options.documented(*_options.FUNCTIONS["measure"])
def measure(
    emb: Any, graph: Any, *, ids: Sequence[Hashable] | None = None, **options: Unpack[MeasureKeywords]
) -> Measures:
    """Measure how the similarity of vectors depends on the distance of their nodes.

    The result has the fields that ``nearfar measure --json`` prints.

    Parameters
    ----------
    emb : Embedding, array of shape (n, dim) or path
        Vectors to measure, matched to nodes by id.
    graph : Graph or graph-like
        The embedded graph: anything that ``Graph`` accepts.
    ids : sequence of ids, default=None
        Ids of an array's rows; ``None`` means the nodes of the graph in its order.
    **options
        Options of the measures and of the objective's negatives, and keyword arguments of ``Graph``;
        ``help(nearfar.measure)`` describes each.

    Returns
    -------
    Measures
        Cohesion, separation, rank correlation, the mean similarity by distance, and the training
        objective if ``objective`` is set.

    Examples
    --------
    >>> import nearfar
    >>> emb = nearfar.embed("builtin:karate", dim=16, seed=0)
    >>> measures = nearfar.measure(emb, "builtin:karate")
    >>> measures
    Measures of 34 nodes, all pairs: cohesion ...
    >>> measures.xi[0] > measures.xi[-1], measures.separation_power
    (True, 5.0)
    >>> trained = nearfar.embed("builtin:karate", dim=16, seed=0, smoothing=0)
    >>> nearfar.measure(trained, "builtin:karate", objective=True).objective.loss < 0.7
    True
    """
    _options.check("measure()", options, _options.MEASURE, _options.GRAPH)
    converted = as_graph("measure()", graph, _options.select(options, _options.GRAPH))
    nodes = converted._ids
    if ids is None and not isinstance(emb, (Embedding, str, os.PathLike)):
        ids = nodes.values
    embedding = as_embedding(emb, ids)
    unique = embedding._ids.has_unique_strings and nodes.has_unique_strings
    if embedding._ids.values != nodes.values and not unique:
        raise ValueError(
            "vectors and graph list their nodes in different orders, and ids that are not unique as "
            "strings cannot be matched; pass Embedding(graph.nodes, vectors), in the graph's order"
        )
    keywords = _options.select(options, _options.MEASURE)
    if keywords.get("sources") == "all":
        keywords["sources"] = len(nodes)
    fields = _nearfar.measure(embedding._engine, converted._engine, _options.as_json(keywords))
    return Measures(json.loads(fields))


def as_embedding(emb: Any, ids: Sequence[Hashable] | None) -> Embedding:
    """Converts the embedding argument of a public function: an object, an array or a path."""
    if isinstance(emb, (Embedding, str, os.PathLike)):
        if ids is not None:
            raise ValueError("ids can be set only for arrays; an embedding has its own ids")
        return emb if isinstance(emb, Embedding) else load(emb)
    array = as_numpy(emb)
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise ValueError(
            f"the vectors have dtype {array.dtype} and shape {array.shape}; expected numbers of shape (n, dim)"
        )
    return Embedding(range(len(array)) if ids is None else ids, array)


def by_row(embedding: Embedding, given: Any, what: str, convert: Callable[[Any], Any]) -> Any:
    """Labels or splits in row order; a path is returned as it is, for the extension to read."""
    if isinstance(given, (str, os.PathLike)):
        embedding._ids.check_strings()
        return os.fspath(given)
    if isinstance(given, Mapping) or hasattr(given, "items"):
        return _from_mapping(embedding._ids, given, what, convert)
    if getattr(given, "ndim", 1) == 2:
        given = _from_indicators(as_numpy(given), what)
    values = as_list(given)
    if len(values) != len(embedding):
        raise ValueError(f"{what} has {len(values)} entries for {len(embedding)} vectors; expected one per vector")
    return [convert(value) for value in values]


def label_strings(value: Any, values: dict[str, Any]) -> list[str]:
    """The labels of one node as strings; ``values`` collects the label behind each string."""
    several = isinstance(value, Iterable) and not isinstance(value, (str, bytes))
    labels = [label for label in (as_list(value) if several else [value]) if not _is_missing(label)]
    strings = []
    for label in labels:
        # pandas converts a column of integers with missing values to floats.
        exact = int(label) if isinstance(label, float) and label.is_integer() else label
        strings.append(str(exact))
        if values.setdefault(strings[-1], exact) != exact:
            raise ValueError(
                f"labels {values[strings[-1]]!r} and {exact!r} are both written as {strings[-1]!r}; rename one"
            )
    return strings


def split_name(value: Any) -> str | None:
    """The split of one node."""
    return None if _is_missing(value) else str(value)


def _from_mapping(ids: Ids, given: Any, what: str, convert: Callable[[Any], Any]) -> Any:
    rows = [convert(None) for _ in range(len(ids))]
    for node, value in given.items():
        try:
            row = ids.row(node)
        except KeyError:
            raise ValueError(
                f"{what}: node {node!r} has no vector; the first node id is {ids.values[0]!r}. Remove "
                "the node, or embed a graph that contains it"
            ) from None
        rows[row] = convert(value)
    return rows


def _from_indicators(table: Any, what: str) -> list[list[int]]:
    """The columns that are 1 in each row of a 0/1 array."""
    if what == "splits" or not np.isin(table, (0, 1)).all():
        raise ValueError(f"{what} has shape {table.shape}; expected one entry per node, shape (n,)")
    return [np.flatnonzero(row).tolist() for row in table]


def _is_missing(value: Any) -> bool:
    # pandas.NA != pandas.NA is pandas.NA, which has no truth value.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)
