"""Embeddings: training, access, loading and saving."""

from __future__ import annotations

import inspect
import os
from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _nearfar, _options, _update
from ._arrays import Floats, as_numpy
from ._features import as_features
from ._graph import as_graph, engine_ids, preview
from ._ids import Ids
from ._progress import Callback, Observer

if TYPE_CHECKING:
    import pandas


class Embedding:
    """Node vectors with their ids, as returned by ``embed`` and ``load``.

    Supports ``emb[node]``, ``emb[[node, ...]]``, ``node in emb``, ``len(emb)``, iteration over the
    ids, and ``numpy.asarray(emb)``.

    Parameters
    ----------
    nodes : sequence of ids
        Distinct hashable ids, one per vector.
    vectors : array-like of shape (n, dim)
        Copied, as float32.

    Examples
    --------
    >>> import nearfar
    >>> emb = nearfar.Embedding(["ann", "bob", "eve"], [[1, 0], [2, 0], [0, 1]])
    >>> emb["bob"]
    array([2., 0.], dtype=float32)
    >>> emb.neighbors("ann", k=2)
    [('bob', 1.0), ('eve', 0.0)]
    >>> "zoe" in emb, len(emb), emb.vectors.shape
    (False, 3, (3, 2))
    """

    _engine: _nearfar.Embedding
    _ids: Ids
    _vectors: Floats
    _updated: dict[str, int] | None = None

    def __init__(self, nodes: Sequence[Hashable], vectors: npt.ArrayLike) -> None:
        array = as_numpy(vectors).astype(np.float32, copy=False)
        if array.ndim != 2 or len(array) != len(nodes):
            raise ValueError(f"vectors have shape {array.shape}; expected ({len(nodes)}, dim) for {len(nodes)} nodes")
        ids = Ids(nodes if isinstance(nodes, range) and nodes == range(len(nodes)) else list(nodes))
        if len(set(ids.values)) < len(ids):
            raise ValueError("two vectors have the same node id; ids must be distinct")
        strings = ids.strings if ids.has_unique_strings else None
        self._set(_nearfar.Embedding(array, strings, ids.is_text), ids)

    def _set(self, engine: _nearfar.Embedding, ids: Ids) -> None:
        self._engine, self._ids = engine, ids
        self._vectors = np.asarray(engine)

    @property
    def vectors(self) -> Floats:
        """All vectors, as a read-only float32 array of shape (n, dim); not a copy."""
        return self._vectors

    @property
    def nodes(self) -> list[Any]:
        """Node ids in row order."""
        return self._ids.nodes

    @property
    def contexts(self) -> Embedding | None:
        """The context vectors, after training with ``order=2``; else ``None``. Of a directed graph,
        vectors are those of nodes as sources, context vectors those of nodes as targets.
        """
        engine = self._engine.contexts()
        return None if engine is None else _from_engine(engine, self._ids)

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return int(self._vectors.shape[1])

    def __getitem__(self, node: Any) -> Floats:
        """Return the vector of a node, or the vectors of a list of nodes."""
        if isinstance(node, (list, np.ndarray)):
            return self._vectors[self._ids.rows(node)]
        vector: Floats = self._vectors[self._ids.row(node)]
        return vector

    def __contains__(self, node: object) -> bool:
        try:
            self._ids.row(node)
        except (KeyError, TypeError):
            return False
        return True

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._ids.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self._vectors, dtype=dtype) if copy else np.asarray(self._vectors, dtype=dtype)

    def __repr__(self) -> str:
        return f"Embedding of {len(self)} nodes in {self.dim} dimensions: {preview(self._ids)}"

    def __reduce__(self) -> Any:
        return Embedding, (self._ids.values, self._vectors)

    def neighbors(self, node: Any, k: int = 10, by: str = "cosine") -> list[tuple[Any, float]]:
        """Find the nodes with the most similar vectors.

        Parameters
        ----------
        node : node id
            Query node. It is not among the results.
        k : int, default=10
            Number of neighbors, at least 1; all other nodes if there are fewer.
        by : {"cosine", "dot"}, default="cosine"
            Similarity: cosine or dot product.

        Returns
        -------
        list of (node id, float)
            Nodes and their similarities, the most similar first.

        Examples
        --------
        >>> import nearfar
        >>> emb = nearfar.Embedding(["ann", "bob", "eve"], [[1, 0], [2, 0], [3, 3]])
        >>> emb.neighbors("ann", k=1), emb.neighbors("ann", k=1, by="dot")
        ([('bob', 1.0)], [('eve', 3.0)])
        """
        if k < 1:
            raise ValueError(f"k={k}: expected at least 1")
        rows, similarities = self._engine.neighbors([self._ids.row(node)], k, by)
        found = zip(rows[0].tolist(), similarities[0].tolist(), strict=True)
        return [(self._ids.values[row], similarity) for row, similarity in found]

    def update(
        self,
        graph: Any,
        old_graph: Any = None,
        *,
        progress: bool = False,
        callback: Callback | None = None,
        **options: Any,
    ) -> Embedding:
        """Update the vectors to a graph that changed.

        New nodes get vectors, those of removed nodes go. A node of whose edges none changed keeps
        its vector, bit for bit; others move as far as their changed edges ask. Vectors before and
        after can be compared: nothing is rotated. The cost is in proportion to what changed.

        Parameters
        ----------
        graph : Graph or graph-like
            The graph as it is now.
        old_graph : Graph or graph-like, default=None
            The graph that these vectors were trained on. Without it, an edge counts as new if one
            of its ends is a new node; edges that are new or gone between old nodes are not noticed.
        progress, callback
            See ``embed``.
        **options
            Keyword arguments of ``embed``, except those that keep files. The defaults are what the
            vectors were trained with, where that is recorded: in embeddings that ``embed`` returned,
            and in Parquet and safetensors files.

        Returns
        -------
        Embedding
            One vector per node of ``graph``. Its ``updated`` counts the nodes that are ``new``,
            ``removed``, ``moved`` and ``kept``.

        Examples
        --------
        >>> import nearfar
        >>> emb = nearfar.embed("builtin:karate", dim=8)
        >>> edges = [(int(a), int(b)) for a, b in nearfar.Graph("builtin:karate").edge_index.T]
        >>> new = emb.update(edges + [(34, 0), (34, 1)])
        >>> new.updated
        {'new': 1, 'removed': 0, 'moved': 2, 'kept': 32}
        >>> bool((new[5] == emb[5]).all())
        True
        """
        engine, ids, updated = _update.update(self, graph, old_graph, progress, callback, options)
        embedding = _from_engine(engine, ids)
        embedding._updated = updated
        return embedding

    @property
    def updated(self) -> dict[str, int] | None:
        """Numbers of ``new``, ``removed``, ``moved`` and ``kept`` nodes; ``None`` unless ``update`` returned this."""
        return self._updated

    def transform(self, edges: Any, **options: Any) -> Embedding:
        """Compute vectors of unseen nodes from their edges; no vector changes.

        An unseen node gets the mean of its neighbors' vectors, at the mean length of all vectors;
        nodes that are connected only through other unseen nodes follow hop by hop.

        Parameters
        ----------
        edges : Graph or graph-like
            The edges of the unseen nodes, among themselves and to nodes that have vectors. Edges
            between nodes that have vectors do not matter.
        **options
            Keyword arguments of ``Graph``.

        Returns
        -------
        Embedding
            Vectors of the unseen nodes only.

        Examples
        --------
        >>> import nearfar
        >>> emb = nearfar.Embedding(["ann", "bob"], [[1, 0], [0, 1]])
        >>> emb.transform([("eve", "ann"), ("zoe", "eve")])["eve"]
        array([1., 0.], dtype=float32)
        """
        return _from_engine(*_update.transform(self, edges, options))

    def save(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write the vectors and ids to a file.

        The file is written to a temporary name first, so a failed call leaves no partial file. Ids
        are written as strings. ``load`` returns integers where all ids are such; strings that look
        like integers (``"7"``) come back as strings from Parquet and safetensors, and as integers
        from the other formats, which cannot tell.

        Parameters
        ----------
        path : str or path-like
            File to write. ``.npy`` stores the ids in a file ``NAME.nodes.tsv`` beside it; all other
            formats contain them.
        format : {"npy", "word2vec", "parquet", "safetensors", "tsv", "csv"}, default=None
            File format. ``None`` follows the file extension: ``.npy``, ``.w2v`` or ``.txt``,
            ``.parquet``, ``.safetensors``, ``.tsv``, ``.csv``.
        """
        self._ids.check_strings()
        self._engine.save(os.fspath(path), format)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas frame with one row per node and the ids as index ``node``."""
        import pandas

        return pandas.DataFrame(self._vectors, index=pandas.Index(self.nodes, name="node"))

    def to_keyedvectors(self) -> Any:
        """Return a gensim ``KeyedVectors`` with the ids as strings."""
        from gensim.models import KeyedVectors

        self._ids.check_strings()
        vectors = KeyedVectors(vector_size=self.dim)
        keys = self._ids.strings or [str(node) for node in self._ids.values]
        vectors.add_vectors(keys, self._vectors)
        return vectors


def embed(
    graph: Any,
    *,
    progress: bool = False,
    callback: Callback | None = None,
    init: Any = None,
    features: Any = None,
    save_model: str | os.PathLike[str] | None = None,
    **options: Any,
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
    model : {"deepwalk", "node2vec", "line", "gae", "vgae", "gcn", "sage"}, default="deepwalk"
        What to train. deepwalk, node2vec, gcn and sage take positives from random walks; line, gae
        and vgae take them from edges. gae, vgae, gcn and sage compute vectors with a graph neural
        network; the others train a table of vectors.
    trainer : {"stream", "batch", "exact"}, default=None
        How to train: SGD on sampled pairs; Adam on minibatches; or all pairs with exact
        probabilities, for graphs up to some ten thousand nodes. ``None`` selects ``"batch"`` for
        gae, vgae, gcn, sage and ``protocol="paper"``, else ``"stream"``.
    protocol : {"paper"}, default=None
        Preset: ``"paper"`` reproduces the settings and details of the authors' code.
    dim : int, default=128
        Dimensions, 1 to 4096.
    context : int, default=None
        Nodes per window, 2 to 1000: the first node and its positives. ``None`` selects 5; 4 with
        ``protocol="paper"``; always 2 for line, gae and vgae.
    walk_length : int, default=None
        Nodes per walk, ``context`` to 1000. ``None`` selects one window; 20 with
        ``protocol="paper"``.
    walks : int, default=None
        Walks per node and epoch, on average. ``None`` selects about 10 positive pairs per directed
        edge in the default number of epochs, but at least 2 windows per node and epoch (60 and 6
        with ``start="random"``); 5 walks for graph neural networks; 50 with ``protocol="paper"``.
    centre_power : float, default=None
        The number of walks from a node is proportional to its degree to this power, 0 to 2. ``None``
        selects 0.5; 1 for line; 0 with ``trainer="batch"``.
    k : int, default=None
        Negatives per window, 1 to 1000. ``None`` selects 10; 20 with ``protocol="paper"``; 1 for gae
        and vgae.
    p : float, default=1.0
        Return parameter of node2vec: walks step back less often for larger values.
    q : float, default=1.0
        In-out parameter of node2vec: walks stay closer to their start for larger values.
    order : {1, 2}, default=1
        Vectors per node: 2 adds a context vector (``trainer="stream"`` only), ``Embedding.contexts``.
    start : {"spectral", "random"}, default=None
        Initial vectors: leading eigenvectors of the objective at zero, or small random ones.
        ``None`` selects ``"spectral"``; ``"random"`` with ``trainer="batch"`` and ``order=2``.
    epochs : int, default=None
        Passes over all nodes. ``None`` selects 30 for ``"stream"``, 30 for ``"batch"``, 60 for
        ``"exact"``, 400 for graph neural networks.
    lr : float, default=None
        Initial learning rate, above 0 and at most 10. It decays linearly to 0, except with
        ``"batch"``. ``None`` selects 0.5; 0.01 for ``"batch"``.
    batch : int, default=None
        Start nodes per minibatch of ``trainer="batch"``. ``None`` selects 8; all nodes for graph
        neural networks.
    l2 : float or "auto", default="auto"
        L2 regularisation λ, 0 to 2. ``"auto"`` adapts it during training. ``trainer="batch"``
        has no L2 regularisation.
    smoothing : int, default=None
        Products of the trained vectors with the normalised adjacency matrix, 0 to 100. ``None``
        selects 2; 0 with ``trainer="batch"``, and for directed graphs with ``order=2``.
    pmi : float, default=None
        Weight of vectors of the pointwise mutual information (PMI) of edges that are joined to the
        trained ones, 0 to 10. ``None`` selects 0.3; 0 with ``trainer="batch"``, ``order=2`` and
        ``smoothing=0``.
    negative_weight : float, default=1.0
        Weight of a window's negatives relative to its positives.
    kernel : {"auto", "scalar", "avx2", "avx512", "neon"}, default="auto"
        Instruction set of the arithmetic. Sets differ in the order of sums; the same set gives the
        same vectors on other machines. ``"auto"`` selects the fastest of this machine.
    seed : int, default=0
        Random seed.
    negatives : str, default="auto"
        Distribution of the negatives: ``"uniform"``, ``"degree"``, ``"distance"``,
        ``"distance-min"``, ``"distance-max"``, ``"landmark-approx"``, ``"landmark"``, ``"edge"``.
        ``"auto"`` selects ``"distance"`` where that fits memory and time, else
        ``"landmark-approx"``. See ``NegativeSampler``.
    gamma : float, default=1.0
        Exponent of the distance, −64 to 64. Values below 0 prefer nearby nodes.
    degree_power : float, default=0.75
        Exponent of the degree, 0 to 64, with ``negatives="degree"``.
    landmarks : int or float, default=None
        Number of landmarks, or a fraction of the nodes. ``None`` selects 0.1 of the nodes, with at
        most 64 MB of distances between landmarks.
    far : int, "auto" or "undirected", default="auto"
        Distance in hops of nodes without a path. ``"auto"`` is the largest finite distance plus 1.
        ``"undirected"``, in a directed graph, is the distance without the directions.
    strategy : {"auto", "table", "levels"}, default="auto"
        Source of exact distances: an n × n table, one byte per entry; or a breadth-first search per
        centre. ``"auto"`` selects the faster one that fits memory and time.
    threads : int, default=None
        Number of threads; ``None`` uses all cores. The result does not depend on it.
    max_memory : int or str, default=8_000_000_000
        Memory limit in bytes, or a string such as ``"800MB"``. A run that would exceed it raises
        ``MemoryError`` before it starts.
    config : path, default=None
        TOML file with settings; keyword arguments take precedence.
    log : path, default=None
        File for one JSON object per epoch.
    checkpoint : path, default=None
        Folder in which to save the state of the run.
    resume : bool, default=False
        Continue from ``checkpoint``; the result has the same bytes as that of an uninterrupted run.
        ``log`` is continued too.
    resume_anyway : bool, default=False
        With ``resume``, continue also from a checkpoint of an instruction set that this machine does
        not have. The result is then not that of an uninterrupted run, and a ``UserWarning`` says so.
    weight, source, target, distance, length, no_weights, header, sep, input_format, repeats, nodes, num_nodes, directed, largest_component
        See ``Graph``.

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
        start = _update.as_engine(init if isinstance(init, Embedding) else load(init))
        converted._ids.check_strings()
    if save_model is not None and features is None:
        raise ValueError("save_model needs features; a network without them knows its own nodes alone")
    inputs = None if features is None else as_features(features, converted._engine)
    file = None if save_model is None else os.fspath(save_model)
    with Observer(progress, callback) as observer:
        engine = _nearfar.embed(
            converted._engine, keywords, observer, converted._ids.is_text, start, inputs, file
        )
    return _from_engine(engine, converted._ids)


embed.__signature__ = _options.signature(  # type: ignore[attr-defined]
    inspect.Parameter("graph", inspect.Parameter.POSITIONAL_OR_KEYWORD),
    keywords={"progress": False, "callback": None, "init": None, "features": None, "save_model": None, **_options.EMBED, **_options.GRAPH},
)


def apply(
    model: str | os.PathLike[str], graph: Any, features: Any, **options: Any
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
    return _from_engine(engine, converted._ids)


def load(path: str | os.PathLike[str]) -> Embedding:
    """Read an embedding from a file.

    Parameters
    ----------
    path : str or path-like
        File written by ``Embedding.save``, ``nearfar embed`` or another program, in NumPy, word2vec
        (text or binary), Parquet, Safetensors, TSV or CSV format.

    Returns
    -------
    Embedding
        Its ids are integers if all of them can be, else strings. Parquet and safetensors files
        record where such ids were strings.

    Examples
    --------
    >>> import nearfar, os, tempfile
    >>> file = os.path.join(tempfile.mkdtemp(), "x.parquet")
    >>> nearfar.Embedding(["ann", "bob"], [[1, 0], [2, 0]]).save(file)
    >>> nearfar.load(file)
    Embedding of 2 nodes in 2 dimensions: 'ann', 'bob'
    """
    engine = _nearfar.Embedding.load(os.fspath(path))
    return _from_engine(engine, engine_ids(engine, np.asarray(engine).shape[0]))


def _from_engine(engine: _nearfar.Embedding, ids: Ids) -> Embedding:
    embedding = Embedding.__new__(Embedding)
    embedding._set(engine, ids)
    return embedding
