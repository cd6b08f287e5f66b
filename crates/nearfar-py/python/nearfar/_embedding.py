"""Vectors of nodes."""

from __future__ import annotations

import inspect
import os
from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _nearfar, _options
from ._arrays import Floats, as_numpy
from ._graph import as_graph, engine_ids, some
from ._ids import Ids
from ._progress import Callback, Listener

if TYPE_CHECKING:
    import pandas


class Embedding:
    """A vector for each node: what ``embed`` and ``load`` return.

    It can be made from one's own vectors too:

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

    def __init__(self, nodes: Sequence[Hashable], vectors: npt.ArrayLike) -> None:
        array = as_numpy(vectors).astype(np.float32, copy=False)
        if array.ndim != 2 or len(array) != len(nodes):
            raise ValueError(f"vectors of shape {array.shape} for {len(nodes)} nodes; it takes (n, dim)")
        ids = Ids(nodes if isinstance(nodes, range) and nodes == range(len(nodes)) else list(nodes))
        if len(set(ids.values)) < len(ids):
            raise ValueError("two vectors have the same node")
        texts = ids.texts if ids.writable else None
        self._set(_nearfar.Embedding(array, texts), ids)

    def _set(self, engine: _nearfar.Embedding, ids: Ids) -> None:
        self._engine, self._ids = engine, ids
        self._vectors = np.asarray(engine)

    @property
    def vectors(self) -> Floats:
        """All vectors, one a row: an array of the engine's own memory, not to be written to."""
        return self._vectors

    @property
    def nodes(self) -> list[Any]:
        """The ids, in row order."""
        return self._ids.nodes

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return int(self._vectors.shape[1])

    def __getitem__(self, node: Any) -> Floats:
        """The vector of a node, or those of a list of nodes."""
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
        return f"Embedding of {len(self)} nodes in {self.dim} dimensions: {some(self._ids)}"

    def __reduce__(self) -> Any:
        return Embedding, (self._ids.values, self._vectors)

    def neighbors(self, node: Any, k: int = 10, by: str = "cosine") -> list[tuple[Any, float]]:
        """The ``k`` nodes whose vectors are most like that of a node, best first, by ``"cosine"``
        or ``"dot"`` product."""
        if k < 1:
            raise ValueError(f"k is {k}; it takes at least 1")
        rows, similarities = self._engine.neighbors([self._ids.row(node)], k, by)
        near = zip(rows[0].tolist(), similarities[0].tolist(), strict=True)
        return [(self._ids.values[row], similarity) for row, similarity in near]

    def save(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Writes a file, whole or not at all. Its ending says the format: .npy, .w2v or .txt,
        .parquet, .safetensors, .tsv; or ``format`` does. Ids are written as text."""
        self._ids.check_texts()
        self._engine.save(os.fspath(path), format)

    def to_pandas(self) -> pandas.DataFrame:
        """A frame with a row for each node, which is its index."""
        import pandas

        return pandas.DataFrame(self._vectors, index=pandas.Index(self.nodes, name="node"))

    def to_keyedvectors(self) -> Any:
        """The ``KeyedVectors`` of gensim, which takes ids as text."""
        from gensim.models import KeyedVectors

        self._ids.check_texts()
        vectors = KeyedVectors(vector_size=self.dim)
        keys = self._ids.texts or [str(node) for node in self._ids.values]
        vectors.add_vectors(keys, self._vectors)
        return vectors


def embed(
    graph: Any, *, progress: bool = False, callback: Callback | None = None, **options: Any
) -> Embedding:
    """Makes a vector for every node of a graph.

    Parameters
    ----------
    graph
        Anything that ``Graph`` takes.
    progress
        Show a bar, in terminals and notebooks.
    callback
        Is called with what happens, a ``dict`` whose ``event`` is ``"planned"`` (with ``negatives``,
        ``summary``, ``memory``), ``"started"``, ``"epoch"`` (with ``epoch``, ``epochs``, ``loss`` and
        others) or, at most ten times a second in between, ``"progress"`` (with ``done``, from 0 to
        1). The run ends early, with the vectors as they are, if it returns ``False`` or raises
        ``StopIteration``. Whatever else it raises comes out of ``embed``.
    **options
        The options of ``nearfar embed``, with underscores: ``dim``, ``negatives``, ``gamma``,
        ``epochs``, ``seed``, ``threads`` and all others; and those of ``Graph``. Among them

        - ``config``, a TOML file with settings; keywords go before it;
        - ``log``, a file for one JSON object an epoch;
        - ``checkpoint``, a folder to keep the state of the run in, and ``resume=True`` to go on from
          it, to the same bytes as an unbroken run.

    Examples
    --------
    >>> import nearfar
    >>> losses = []
    >>> def listen(event):
    ...     if event["event"] == "epoch":
    ...         losses.append(event["loss"])
    >>> emb = nearfar.embed([("ann", "bob"), ("bob", "eve")], dim=4, epochs=3, callback=listen)
    >>> emb.nodes, len(losses)
    (['ann', 'bob', 'eve'], 3)
    """
    _options.check("embed()", options, _options.EMBED, _options.GRAPH)
    own = as_graph("embed()", graph, _options.part(options, _options.GRAPH))
    keywords = _options.as_json(_options.part(options, _options.EMBED))
    with Listener(progress, callback) as listener:
        engine = _nearfar.embed(own._engine, keywords, listener)
    return _of(engine, own._ids)


embed.__signature__ = _options.signature(  # type: ignore[attr-defined]
    inspect.Parameter("graph", inspect.Parameter.POSITIONAL_OR_KEYWORD),
    keywords={"progress": False, "callback": None, **_options.EMBED, **_options.GRAPH},
)


def load(path: str | os.PathLike[str]) -> Embedding:
    """Reads vectors: what ``save`` or ``nearfar embed`` wrote, and what other libraries write in
    these formats. Ids are text, or integers if all of them are.

    >>> import nearfar, os, tempfile
    >>> file = os.path.join(tempfile.mkdtemp(), "x.parquet")
    >>> nearfar.Embedding(["ann", "bob"], [[1, 0], [2, 0]]).save(file)
    >>> nearfar.load(file)
    Embedding of 2 nodes in 2 dimensions: 'ann', 'bob'
    """
    engine = _nearfar.Embedding.load(os.fspath(path))
    return _of(engine, engine_ids(engine, np.asarray(engine).shape[0]))


def _of(engine: _nearfar.Embedding, ids: Ids) -> Embedding:
    embedding = Embedding.__new__(Embedding)
    embedding._set(engine, ids)
    return embedding
