"""Similar vectors: methods of ``Embedding``. All comparisons are done by the library, in parallel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt

from ._arrays import Floats, Integers, as_numpy
from ._vectors import Vectors

if TYPE_CHECKING:
    from ._ann import AnnIndex

#: Cosine or dot product.
By = Literal["cosine", "dot"]

#: Nodes and their similarities, the most similar first.
Neighbors = list[tuple[Any, float]]


class Search(Vectors):
    """Exact nearest neighbours and similarities."""

    @overload
    def neighbors(self, node: list[Any] | npt.NDArray[Any], k: int = 10, by: By = "cosine") -> list[Neighbors]: ...
    @overload
    def neighbors(self, node: Any, k: int = 10, by: By = "cosine") -> Neighbors: ...
    def neighbors(self, node: Any, k: int = 10, by: By = "cosine") -> Neighbors | list[Neighbors]:
        """Find the nodes with the most similar vectors.

        Parameters
        ----------
        node : node id, or list or array of node ids
            Query node, or several. A node is not among its own results.
        k : int, default=10
            Number of neighbors, at least 1; all other nodes if there are fewer.
        by : {"cosine", "dot"}, default="cosine"
            Similarity: cosine or dot product.

        Returns
        -------
        list of (node id, float), or a list of such lists
            Nodes and their similarities, the most similar first; for several nodes, one list each.

        Examples
        --------
        >>> import nearfar
        >>> emb = nearfar.Embedding(["ann", "bob", "eve"], [[1, 0], [2, 0], [3, 3]])
        >>> emb.neighbors("ann", k=1), emb.neighbors("ann", k=1, by="dot")
        ([('bob', 1.0)], [('eve', 3.0)])
        >>> emb.neighbors(["ann", "bob"], k=1)
        [[('bob', 1.0)], [('ann', 1.0)]]
        """
        if isinstance(node, (list, np.ndarray)):
            return self._named(*self.nearest(node, k, by))
        return self._named(*self.nearest([node], k, by))[0]

    def nearest(
        self, nodes: Any = None, k: int = 10, by: By = "cosine", *, vectors: npt.ArrayLike | None = None
    ) -> tuple[Integers, Floats]:
        """Find the rows of the most similar vectors, for many nodes or for vectors that are not of nodes.

        Parameters
        ----------
        nodes : list or array of node ids, default=None
            Query nodes; ``None`` with ``vectors`` takes those, without them all nodes. A node is not
            among its own results.
        k : int, default=10
            Number of neighbors, at least 1; all other nodes if there are fewer.
        by : {"cosine", "dot"}, default="cosine"
            Similarity: cosine or dot product.
        vectors : array of shape (m, dim), default=None
            Query vectors, in place of ``nodes``.

        Returns
        -------
        (array of int64, array of float32), both of shape (m, k)
            Rows, and similarities in descending order. ``emb.nodes[row]`` is the id of a row.

        Examples
        --------
        >>> import nearfar
        >>> emb = nearfar.Embedding(["ann", "bob", "eve"], [[1, 0], [2, 0], [3, 3]])
        >>> rows, similarities = emb.nearest(k=1)
        >>> rows.tolist()
        [[1], [0], [0]]
        >>> emb.nearest(vectors=[[0, 1]], k=1)[0].tolist()
        [[2]]
        """
        if k < 1:
            raise ValueError(f"k={k}: expected at least 1")
        if vectors is None:
            rows = np.arange(len(self)) if nodes is None else self._ids.rows(nodes)
            return self._engine.neighbors(rows, k, by)
        if nodes is not None:
            raise ValueError("nodes cannot be combined with vectors; pass one of the two")
        queries = as_numpy(vectors).astype(np.float32)
        if queries.ndim != 2 or queries.shape[1] != self.dim:
            raise ValueError(f"vectors have shape {queries.shape}; expected (m, {self.dim})")
        return self._engine.neighbors_of_vectors(np.ascontiguousarray(queries), k, by)

    def most_similar(self, positive: Any, negative: Any = (), k: int = 10) -> Neighbors:
        """Find the nodes most similar to some nodes and least to others, by cosine, as gensim does.

        The query is the sum of the normalised vectors of ``positive``, less those of ``negative``.

        Parameters
        ----------
        positive, negative : node id, or list or array of node ids
            Nodes to be similar to, and not. They are not among the results.
        k : int, default=10
            Number of nodes, at least 1.

        Returns
        -------
        list of (node id, float)
            Nodes and their cosine similarities, the most similar first.

        Examples
        --------
        >>> import nearfar
        >>> emb = nearfar.Embedding(["ann", "bob", "eve", "zoe"], [[1, 0], [0, 1], [1, 1], [-1, 1]])
        >>> emb.most_similar(["ann", "bob"], k=1)
        [('eve', 1.0)]
        >>> [node for node, _ in emb.most_similar("bob", negative="ann", k=1)]
        ['zoe']
        """
        rows = [self._ids.rows(nodes if _is_list(nodes) else [nodes]) for nodes in (positive, negative)]
        query = _units(self._vectors[rows[0]]).sum(0) - _units(self._vectors[rows[1]]).sum(0)
        given = np.concatenate(rows)
        found, similarities = self.nearest(vectors=query[None], k=k + len(given))
        kept = ~np.isin(found[0], given)
        return self._named(found[:, kept][:, :k], similarities[:, kept][:, :k])[0]

    def similarity(self, a: Any, b: Any, by: By = "cosine") -> Any:
        """Compute the similarity of two nodes, or of pairs of nodes.

        Parameters
        ----------
        a, b : node id, or list or array of node ids
            The two ends. Of two lists, the ends of each pair; a single node is compared with all.
        by : {"cosine", "dot"}, default="cosine"
            Similarity: cosine, 0 if one vector is zero, or dot product.

        Returns
        -------
        float, or array of float32, shape (pairs,)
            A number for two nodes.

        Examples
        --------
        >>> import nearfar
        >>> emb = nearfar.Embedding(["ann", "bob", "eve"], [[1, 0], [2, 0], [3, 3]])
        >>> emb.similarity("ann", "bob"), emb.similarity("ann", ["bob", "eve"], by="dot").tolist()
        (1.0, [2.0, 3.0])
        """
        ends = [self._vectors[self._ids.rows(end if _is_list(end) else [end])] for end in (a, b)]
        if by == "cosine":
            ends = [_units(end) for end in ends]
        elif by != "dot":
            raise ValueError(f"by={by!r}: expected 'cosine' or 'dot'")
        similarities = (ends[0] * ends[1]).sum(1)
        return similarities if _is_list(a) or _is_list(b) else float(similarities[0])

    def ann_index(self, by: By = "cosine", **parameters: Any) -> AnnIndex:
        """Build an index for approximate search, for graphs where comparing all vectors takes too long.

        Needs the package ``usearch``. Building takes longer than some thousand exact queries.

        Parameters
        ----------
        by : {"cosine", "dot"}, default="cosine"
            Similarity.
        **parameters
            Parameters of ``usearch.index.Index``, such as ``connectivity`` and ``expansion_search``.

        Returns
        -------
        AnnIndex
            With ``neighbors``, ``nearest``, ``recall`` and ``save``.
        """
        from ._ann import AnnIndex

        return AnnIndex(self, by, **parameters)

    def _named(self, rows: Integers, similarities: Floats) -> list[Neighbors]:
        values = self._ids.values
        pairs = zip(rows.tolist(), similarities.tolist(), strict=True)
        return [[(values[row], alike) for row, alike in zip(*found, strict=True)] for found in pairs]


def _is_list(nodes: Any) -> bool:
    """Whether this is several nodes. A tuple is an id, unless it is empty."""
    return isinstance(nodes, (list, np.ndarray)) or nodes == ()


def _units(vectors: Floats) -> Floats:
    """The vectors with norm 1; zeros stay."""
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    units: Floats = (vectors / np.where(norms == 0, 1, norms)).astype(np.float32)
    return units
