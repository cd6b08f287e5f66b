"""Embeddings: access, updates, loading and saving."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _nearfar, _options, _update
from ._arrays import Floats, as_numpy
from ._export import Export
from ._graph import engine_ids, preview
from ._ids import Ids
from ._maps import Maps
from ._progress import Callback
from ._search import Search

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keywords import GraphOptions, UpdateKeywords


class Embedding(Search, Export, Maps):
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

    _updated: dict[str, int] | None = None

    def __init__(self, nodes: Sequence[Hashable], vectors: npt.ArrayLike) -> None:
        array = as_numpy(vectors).astype(np.float32, copy=False)
        if array.ndim != 2 or len(array) != len(nodes):
            raise ValueError(f"vectors have shape {array.shape}; expected ({len(nodes)}, dim) for {len(nodes)} nodes")
        ids = Ids(nodes if isinstance(nodes, range) and nodes == range(len(nodes)) else list(nodes))
        if len(set(ids.values)) < len(ids):
            raise ValueError("two vectors have the same node id; ids must be distinct")
        self._set(_engine(array, ids), ids)

    @property
    def contexts(self) -> Embedding | None:
        """The context vectors, after training with ``order=2``; else ``None``. Of a directed graph,
        vectors are those of nodes as sources, context vectors those of nodes as targets.
        """
        engine = self._engine.contexts()
        return None if engine is None else from_engine(engine, self._ids)

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

    def __iter__(self) -> Iterator[Any]:
        return iter(self._ids.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self._vectors, dtype=dtype) if copy else np.asarray(self._vectors, dtype=dtype)

    def __repr__(self) -> str:
        return f"Embedding of {len(self)} nodes in {self.dim} dimensions: {preview(self._ids)}"

    def __reduce__(self) -> Any:
        return with_info, (self._ids.values, self._vectors, self.info)

    @_options.documented(*_options.FUNCTIONS["update"])
    def update(
        self,
        graph: Any,
        old_graph: Any = None,
        *,
        progress: bool = False,
        callback: Callback | None = None,
        **options: Unpack[UpdateKeywords],
    ) -> Embedding:
        """Update the vectors to a graph that changed.

        New nodes get vectors, those of removed nodes go. A node of whose edges none changed keeps
        its vector, bit for bit; others move as far as their changed edges ask. Vectors before and
        after can be compared: nothing is rotated. The cost is in proportion to what changed. Options
        that are not given are those that the vectors were trained with, where ``info`` says so.

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
            Options of training, and keyword arguments of ``Graph``. The defaults of most are what the
            vectors were trained with, where ``info`` says so.

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
        embedding = from_engine(engine, ids)
        embedding._updated = updated
        return embedding

    @property
    def updated(self) -> dict[str, int] | None:
        """Numbers of ``new``, ``removed``, ``moved`` and ``kept`` nodes; ``None`` unless ``update`` returned this."""
        return self._updated

    @_options.documented("graph")
    def transform(self, edges: Any, **options: Unpack[GraphOptions]) -> Embedding:
        """Compute vectors of unseen nodes from their edges; no vector changes.

        An unseen node gets the mean of its neighbors' vectors, at the mean length of those in ``edges``;
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
        return from_engine(*_update.transform(self, edges, options))

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
    return from_engine(engine, engine_ids(engine, np.asarray(engine).shape[0]))


def from_engine(engine: _nearfar.Embedding, ids: Ids) -> Embedding:
    embedding = Embedding.__new__(Embedding)
    embedding._set(engine, ids)
    return embedding


def with_info(nodes: Sequence[Hashable], vectors: Floats, info: dict[str, Any]) -> Embedding:
    """An embedding with a record of how its vectors were made."""
    ids = Ids(nodes)
    return from_engine(_engine(vectors, ids, info), ids)


def _engine(vectors: Floats, ids: Ids, info: dict[str, Any] | None = None) -> _nearfar.Embedding:
    strings = ids.strings if ids.has_unique_strings else None
    return _nearfar.Embedding(vectors, strings, ids.is_text, json.dumps(info or {}))
