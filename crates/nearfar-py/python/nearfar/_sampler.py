"""Negatives for anyone's training loop."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from . import _nearfar, _options
from ._arrays import Integers, as_given, as_numpy
from ._graph import Graph, as_graph


class NegativeSampler:
    """Draws nodes that a node is to be pushed away from.

    Parameters
    ----------
    graph
        Anything that ``Graph`` takes.
    law
        ``"distance"``, ``"uniform"``, ``"degree"``, ``"landmark-approx"`` and the others of
        ``nearfar sample --negatives``; ``"auto"`` is ``"distance"`` where that fits memory and time.
    **options
        The options of ``nearfar sample``, with underscores: ``gamma``, ``seed``, ``threads`` and all
        others; and those of ``Graph``.

    Nodes are given by their ids; negatives come back as rows, ready to index a table of vectors.
    In a graph whose nodes are 0, 1, 2, ... that is the same; in others ``sampler.nodes[row]`` is the
    id, and ``sampler.rows(ids)`` are the rows. Each call draws anew; a sampler made with the same
    seed draws the same in the same calls.

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
        own = as_graph("NegativeSampler()", graph, _options.part(options, _options.GRAPH))
        keywords = {"negatives": law, **_options.part(options, known)}
        self._build(own, keywords, 0)

    def _build(self, graph: Graph, keywords: dict[str, Any], calls: int) -> None:
        self._graph, self._keywords = graph, keywords
        self._engine = _nearfar.NegativeSampler(graph._engine, _options.as_json(keywords), calls)

    @property
    def law(self) -> str:
        """The law that negatives are drawn from; never ``"auto"``."""
        return self._engine.negatives

    @property
    def nodes(self) -> list[Any]:
        """The ids, in row order."""
        return self._graph.nodes

    def rows(self, nodes: Any) -> Integers:
        """The rows of nodes."""
        return self._graph._ids.rows(nodes)

    def sample(self, nodes: Any, k: int = 1) -> Any:
        """Draws ``k`` negatives of each node: rows, as integers of shape (len(nodes), k). A tensor
        for whoever gives a tensor."""
        if k < 0:
            raise ValueError(f"k is {k}; it takes at least 0")
        return as_given(self._engine.sample(self.rows(nodes), k), nodes)

    def sample_edges(self, edge_index: Any, k: int = 1) -> Any:
        """Draws ``k`` negatives of the source of each edge: edges that are not to be, as rows, of
        shape (2, k · m). The first k belong to the first edge, and so on.

        >>> import nearfar
        >>> sampler = nearfar.NegativeSampler("builtin:karate", "distance")
        >>> sampler.sample_edges([[0, 1], [2, 3]], k=3).shape
        (2, 6)
        """
        edges = as_numpy(edge_index)
        if edges.ndim != 2 or len(edges) != 2:
            raise ValueError(f"edge_index of shape {edges.shape}; it takes (2, m)")
        negatives = as_numpy(self.sample(edges[0], k))
        pairs = np.stack([np.repeat(self.rows(edges[0]), k), negatives.reshape(-1)])
        return as_given(pairs, edge_index)

    def __repr__(self) -> str:
        return f"NegativeSampler {self._engine.summary.removeprefix('negatives ')}"

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
