"""An index for approximate search, by usearch: hierarchical navigable small worlds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import Floats, Integers

if TYPE_CHECKING:
    from ._search import By, Neighbors, Search


class AnnIndex:
    """Approximate nearest neighbours among the vectors of an ``Embedding``; see ``Embedding.ann_index``.

    Attributes
    ----------
    index : usearch.index.Index
        The index of usearch; its keys are rows.
    """

    def __init__(self, embedding: Search, by: By, **parameters: Any) -> None:
        from usearch.index import Index

        if by not in ("cosine", "dot"):
            raise ValueError(f"by={by!r}: expected 'cosine' or 'dot'")
        self._embedding, self._by = embedding, by
        metric = "cos" if by == "cosine" else "ip"
        self.index = Index(ndim=embedding.dim, metric=metric, dtype="f32", **parameters)
        self.index.add(np.arange(len(embedding)), np.array(embedding.vectors))

    def nearest(self, nodes: Any, k: int = 10) -> tuple[Integers, Floats]:
        """Find the rows of similar vectors for many nodes.

        Parameters
        ----------
        nodes : list or array of node ids
            Query nodes. A node is not among its own results.
        k : int, default=10
            Number of neighbors.

        Returns
        -------
        (array of int64, array of float32), both of shape (len(nodes), k)
            Rows and similarities, as of ``Embedding.nearest``, most of them the same.
        """
        rows = self._embedding._ids.rows(nodes)
        k = min(k, len(self._embedding) - 1)
        found = self.index.search(self._embedding.vectors[rows], k + 1)
        keys = np.asarray(found.keys, dtype=np.int64).reshape(len(rows), -1)
        distances = np.asarray(found.distances, dtype=np.float32).reshape(len(rows), -1)
        # The node itself, or the last one where the index did not find it.
        own = keys == rows[:, None]
        own[~own.any(1), -1] = True
        shape = (len(rows), k)
        return keys[~own].reshape(shape), (1 - distances)[~own].reshape(shape)

    def neighbors(self, node: Any, k: int = 10) -> Neighbors:
        """Find nodes with similar vectors, as ``Embedding.neighbors`` does exactly."""
        return self._embedding._named(*self.nearest([node], k))[0]

    def recall(self, k: int = 10, sample: int = 1000, seed: int = 0) -> float:
        """Measure the fraction of the true k nearest nodes that the index finds, for random nodes.

        Parameters
        ----------
        k : int, default=10
            Number of neighbors.
        sample : int, default=1000
            Number of nodes; all, if there are fewer.
        seed : int, default=0
            Random seed.

        Returns
        -------
        float
            The recall, 0 to 1.
        """
        count = len(self._embedding)
        rows = np.random.default_rng(seed).permutation(count)[:sample]
        nodes = [self._embedding._ids.values[row] for row in rows.tolist()]
        exact = self._embedding.nearest(nodes, k, self._by)[0]
        found = self.nearest(nodes, k)[0]
        return float((exact[:, :, None] == found[:, None, :]).any(2).mean())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a file that usearch reads; its keys are rows."""
        self.index.save(os.fspath(path))
