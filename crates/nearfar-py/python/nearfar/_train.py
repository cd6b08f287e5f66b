"""Training of embeddings, and networks applied to other graphs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import _nearfar, _options
from ._embedding import Embedding, from_engine, load
from ._features import as_features
from ._graph import as_graph
from ._progress import Callback, Observer
from ._update import as_engine

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keywords import EmbedKeywords, GraphOptions


@_options.documented(*_options.FUNCTIONS["embed"])
def embed(
    graph: Any,
    *,
    progress: bool = False,
    callback: Callback | None = None,
    init: Embedding | str | os.PathLike[str] | None = None,
    features: Any = None,
    save_model: str | os.PathLike[str] | None = None,
    **options: Unpack[EmbedKeywords],
) -> Embedding:
    """Train an embedding of a graph.

    The keyword arguments are the options of ``nearfar embed``, with underscores. The same arguments
    and seed give the same bytes as the command line, on any number of threads.

    Parameters
    ----------
    graph : Graph or graph-like
        Anything that ``Graph`` accepts.
    progress : bool, default=False
        Show a progress bar, in terminals and notebooks.
    callback : callable, default=None
        Called with each event, a ``dict`` with the key ``event``:

        - ``"planned"``: with ``negatives``, ``summary`` and ``memory`` (bytes);
        - ``"started"``: with ``nodes``, ``epochs``, ``walks`` and ``kernel``;
        - ``"resumed"``: with ``epoch``, the epochs that were completed before, and ``kernel`` if those
          were of another instruction set;
        - ``"progress"``: with ``done``, the completed fraction of the run, 0 to 1; at most ten times
          per second;
        - ``"epoch"``: with ``epoch``, ``epochs``, ``pairs``, ``loss`` (mean per pair), ``l2`` and
          ``effective_rank``.

        Returning ``False`` or raising ``StopIteration`` ends training, and ``embed`` returns the
        vectors trained so far. Any other exception propagates.
    init : Embedding or path, default=None
        Vectors to start from, matched by node id; not for graph neural networks. A node without one
        starts at the mean of its neighbors' vectors, or small and random if it is connected to none.
    features : array of shape (n, features), sparse matrix or path, default=None
        Features of the nodes, which gcn, sage, gae and vgae read in place of the nodes themselves: an
        array or SciPy matrix in the order of ``Graph(graph).nodes``, or a file of rows that are matched
        by id: NumPy, SciPy ``.npz``, Parquet, CSV or TSV.
    save_model : path, default=None
        File to write the network to that was trained on ``features``, for ``apply``; ``.safetensors``.
    **options
        Options of training, and keyword arguments of ``Graph``; ``help(nearfar.embed)`` describes each.

    Returns
    -------
    Embedding
        One vector per node.

    Examples
    --------
    >>> import nearfar
    >>> losses = []
    >>> def record(event):
    ...     if event["event"] == "epoch":
    ...         losses.append(event["loss"])
    >>> emb = nearfar.embed([("ann", "bob"), ("bob", "eve")], dim=4, epochs=3, callback=record)
    >>> emb.nodes, len(losses)
    (['ann', 'bob', 'eve'], 3)
    """
    _options.check("embed()", options, _options.EMBED, _options.GRAPH)
    converted = as_graph("embed()", graph, _options.select(options, _options.GRAPH))
    keywords = _options.as_json(_options.select(options, _options.EMBED))
    start = None
    if init is not None:
        start = as_engine(init if isinstance(init, Embedding) else load(init))
        converted._ids.check_strings()
    if save_model is not None and features is None:
        raise ValueError("save_model needs features; a network without them knows its own nodes alone")
    inputs = None if features is None else as_features(features, converted._engine)
    file = None if save_model is None else os.fspath(save_model)
    with Observer(progress, callback) as observer:
        engine = _nearfar.embed(
            converted._engine, keywords, observer, converted._ids.is_text, start, inputs, file
        )
    return from_engine(engine, converted._ids)


@_options.documented("graph")
def apply(
    model: str | os.PathLike[str], graph: Any, features: Any, **options: Unpack[GraphOptions]
) -> Embedding:
    """Compute vectors of the nodes of a graph from their features, with a trained network.

    Parameters
    ----------
    model : str or path-like
        File that ``embed(..., features=..., save_model=path)`` or ``nearfar embed`` wrote.
    graph : Graph or graph-like
        Anything that ``Graph`` accepts. It may have other nodes than the graph of the training.
    features : array, sparse matrix or path
        As in ``embed``.
    **options
        Keyword arguments of ``Graph``.

    Returns
    -------
    Embedding
        One vector per node.

    Examples
    --------
    >>> import nearfar, numpy, os, tempfile
    >>> graph = nearfar.Graph([("ann", "bob"), ("bob", "eve")])
    >>> file = os.path.join(tempfile.mkdtemp(), "sage.safetensors")
    >>> emb = nearfar.embed(graph, model="sage", dim=4, epochs=5, features=numpy.eye(3), save_model=file)
    >>> new = nearfar.apply(file, [("zoe", "tim")], [[1, 0, 0], [0, 1, 0]])
    >>> new
    Embedding of 2 nodes in 4 dimensions: 'zoe', 'tim'
    """
    converted = as_graph("apply()", graph, options)
    network = _nearfar.NetworkModel.load(os.fspath(model))
    engine = network.apply(converted._engine, as_features(features, converted._engine))
    return from_engine(engine, converted._ids)
