"""Negative sampling for custom training loops."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from . import _nearfar, _options
from ._arrays import Integers, as_numpy, like_input
from ._graph import Graph, as_graph


class NegativeSampler:
    """Sampler of negatives for custom training loops (PyTorch, PyG, DGL, NumPy).

    Nodes are given by id; negatives are returned as rows, ready to index a table of vectors. If the
    ids are 0, ..., n − 1 the two are the same; otherwise ``sampler.nodes[row]`` is the id of a row
    and ``sampler.rows(ids)`` are the rows of ids. Every call draws new negatives. Samplers with the
    same seed return the same negatives for the same sequence of calls.

    Parameters
    ----------
    graph : Graph or graph-like
        Anything that ``Graph`` accepts.
    law : str, default="auto"
        Distribution of the negatives j of a node i, j ≠ i:

        - ``"uniform"``: all nodes equally likely;
        - ``"degree"``: probability ∝ degree(j) ** ``degree_power``;
        - ``"distance"``: probability ∝ hops(i, j) ** ``gamma``;
        - ``"distance-min"``, ``"distance-max"``: ``"distance"``, where no probability is above or
          below the uniform one;
        - ``"landmark-approx"``: ``"distance"`` with distances approximated through landmarks;
        - ``"landmark"``: a landmark by its distance from that of i, then a node close to it;
        - ``"edge"``: all nodes without an edge to i equally likely;
        - ``"auto"``: ``"distance"`` where it fits memory and time, else ``"landmark-approx"``.
    gamma : float, default=1.0
        Exponent of the distance, −64 to 64. Values below 0 prefer nearby nodes.
    degree_power : float, default=0.75
        Exponent of the degree, 0 to 64.
    landmarks : int or float, default=None
        Number of landmarks, or a fraction of the nodes. ``None`` selects 0.1 of the nodes, with at
        most 64 MB of distances between landmarks.
    far : int or "auto", default="auto"
        Distance in hops of nodes without a path. ``"auto"`` is the largest finite distance plus 1.
    strategy : {"auto", "table", "levels"}, default="auto"
        Source of exact distances: an n × n table, one byte per entry; or a breadth-first search per
        centre. ``"auto"`` selects the faster one that fits memory and time.
    seed : int, default=0
        Random seed.
    threads : int, default=None
        Number of threads; ``None`` uses all cores. The result does not depend on it.
    max_memory : int or str, default=8_000_000_000
        Memory limit in bytes, or a string such as ``"800MB"``.
    weight, source, target, distance, length, no_weights, header, sep, input_format, repeats, nodes, num_nodes, directed, largest_component
        See ``Graph``.

    Examples
    --------
    >>> import nearfar
    >>> sampler = nearfar.NegativeSampler("builtin:karate", "distance", gamma=1.0, seed=0)
    >>> negatives = sampler.sample([0, 5, 33], k=20)
    >>> negatives.shape, negatives.dtype
    ((3, 20), dtype('int64'))
    """

    def __init__(self, graph: Any, law: str = "auto", **options: Any) -> None:
        known = {name: value for name, value in _options.SAMPLER.items() if name != "negatives"}
        _options.check("NegativeSampler()", options, known, _options.GRAPH)
        converted = as_graph("NegativeSampler()", graph, _options.select(options, _options.GRAPH))
        keywords = {"negatives": law, **_options.select(options, known)}
        self._build(converted, keywords, 0)

    def _build(self, graph: Graph, keywords: dict[str, Any], calls: int) -> None:
        self._graph, self._keywords = graph, keywords
        self._engine = _nearfar.NegativeSampler(graph._engine, _options.as_json(keywords), calls)

    @property
    def law(self) -> str:
        """Name of the distribution; ``"auto"`` is resolved."""
        return self._engine.negatives

    @property
    def nodes(self) -> list[Any]:
        """Node ids in row order."""
        return self._graph.nodes

    def rows(self, nodes: Any) -> Integers:
        """Return the rows of a list of node ids, as int64."""
        return self._graph._ids.rows(nodes)

    def sample(self, nodes: Any, k: int = 1) -> Any:
        """Draw negatives of nodes.

        Parameters
        ----------
        nodes : list, array or tensor of node ids, shape (n,)
            Centres; repeated nodes get independent draws.
        k : int, default=1
            Negatives per node.

        Returns
        -------
        array or tensor of int64, shape (n, k)
            Rows of the negatives; a tensor on the same device if ``nodes`` is a tensor.
        """
        if k < 0:
            raise ValueError(f"k={k}: expected at least 0")
        return like_input(self._engine.sample(self.rows(nodes), k), nodes)

    def sample_edges(self, edge_index: Any, k: int = 1) -> Any:
        """Draw negative edges: each edge's source paired with negatives of it.

        Parameters
        ----------
        edge_index : array or tensor of node ids, shape (2, m)
            Sources and targets; only the sources are used.
        k : int, default=1
            Negatives per edge.

        Returns
        -------
        array or tensor of int64, shape (2, k · m)
            Rows of sources and negatives. The first k columns belong to the first edge, and so on.

        Examples
        --------
        >>> import nearfar
        >>> sampler = nearfar.NegativeSampler("builtin:karate", "distance")
        >>> sampler.sample_edges([[0, 1], [2, 3]], k=3).shape
        (2, 6)
        """
        edges = as_numpy(edge_index)
        if edges.ndim != 2 or len(edges) != 2:
            raise ValueError(f"edge_index has shape {edges.shape}; expected (2, m)")
        negatives = as_numpy(self.sample(edges[0], k))
        pairs = np.stack([np.repeat(self.rows(edges[0]), k), negatives.reshape(-1)])
        return like_input(pairs, edge_index)

    def __repr__(self) -> str:
        return f"NegativeSampler: {self._engine.summary}"

    def __reduce__(self) -> Any:
        return _unpickled, (self._graph, self._keywords, self._engine.calls)


def _unpickled(graph: Graph, keywords: dict[str, Any], calls: int) -> NegativeSampler:
    sampler = NegativeSampler.__new__(NegativeSampler)
    sampler._build(graph, keywords, calls)
    return sampler


NegativeSampler.__signature__ = _options.signature(  # type: ignore[attr-defined]
    inspect.Parameter("graph", inspect.Parameter.POSITIONAL_OR_KEYWORD),
    inspect.Parameter("law", inspect.Parameter.POSITIONAL_OR_KEYWORD, default="auto"),
    keywords={
        **{name: value for name, value in _options.SAMPLER.items() if name != "negatives"},
        **_options.GRAPH,
    },
)
