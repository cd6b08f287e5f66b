"""Negative sampling for custom training loops.

# Streams

A sampler draws from a stream of random numbers, named by its seed and a path of indices; within the stream,
the number of the call and the position of a node name the numbers. A copy in another process must not
repeat them, so every process that inherits a sampler gets an index of its own: a count kept by the sampler
in the parent, raised at each fork and each time a process is started with it. A ``DataLoader`` starts its
workers anew for each epoch and in the same order, so workers and epochs get different indices, and those
of a second run are the same.
"""

from __future__ import annotations

import os
import weakref
from multiprocessing.context import get_spawning_popen
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

import numpy as np

from . import _nearfar, _options
from ._arrays import Integers, as_numpy, like_input
from ._graph import Graph, as_graph

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keywords import Law, SamplerKeywords


class _Tensor(Protocol):
    """What distinguishes tensors from arrays, where PyTorch is not installed too."""

    def detach(self) -> Any: ...


_TensorType = TypeVar("_TensorType", bound=_Tensor)


@_options.documented(*_options.FUNCTIONS["sampler"])
class NegativeSampler:
    """Sampler of negatives for custom training loops (PyTorch, PyG, DGL, NumPy).

    Nodes are given by id; negatives are returned as rows, ready to index a table of vectors. If the
    ids are 0, ..., n − 1 the two are the same; otherwise ``sampler.nodes[row]`` is the id of a row
    and ``sampler.rows(ids)`` are the rows of ids. Every call draws new negatives. Samplers with the
    same seed return the same negatives for the same sequence of calls.

    In the workers of a PyTorch ``DataLoader``, and in other processes that are forked or started with a
    sampler, each process draws its own negatives, different in every epoch and the same again with the
    same seed. A pickled or copied sampler continues the sequence of the original; give copies that work
    side by side streams of their own, ``sampler.stream(rank)``.

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
    **options
        Options of the law, and keyword arguments of ``Graph``; ``help(nearfar.NegativeSampler)``
        describes each.

    Examples
    --------
    >>> import nearfar
    >>> sampler = nearfar.NegativeSampler("builtin:karate", "distance", gamma=1.0, seed=0)
    >>> negatives = sampler.sample([0, 5, 33], k=20)
    >>> negatives.shape, negatives.dtype
    ((3, 20), dtype('int64'))
    """

    def __init__(self, graph: Any, law: Law = "auto", **options: Unpack[SamplerKeywords]) -> None:
        _options.check("NegativeSampler()", options, _options.SAMPLER, _options.GRAPH)
        self._graph = as_graph("NegativeSampler()", graph, _options.select(options, _options.GRAPH))
        self._keywords = {"negatives": law, **_options.select(options, _options.SAMPLER)}
        keywords = _options.as_json(self._keywords)
        self._enter(_nearfar.NegativeSampler(self._graph._engine, keywords), ())

    def _enter(self, engine: _nearfar.NegativeSampler, path: tuple[int, ...], calls: int = 0) -> None:
        """Continues in the stream of a path, after some calls."""
        self._root, self._path = engine, path
        self._engine = engine.stream(path, calls)
        self._processes = 0
        _LIVE.add(self)

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

    @overload
    def sample(
        self, nodes: _TensorType, k: int = 1, *, seed: int | None = None, generator: Any = None
    ) -> _TensorType: ...
    @overload
    def sample(
        self, nodes: Any, k: int = 1, *, seed: int | None = None, generator: Any = None
    ) -> Integers: ...
    def sample(
        self, nodes: Any, k: int = 1, *, seed: int | None = None, generator: Any = None
    ) -> Any:
        """Draw negatives of nodes.

        Parameters
        ----------
        nodes : list, array or tensor of node ids, shape (n,)
            Centres; repeated nodes get independent draws.
        k : int, default=1
            Negatives per node.
        seed : int, default=None
            Seed of this call alone: the same seed and nodes give the same negatives. ``None`` continues
            the sampler's sequence.
        generator : torch.Generator, numpy.random.Generator or random.Random, default=None
            Generator that the seed of this call is drawn from.

        Returns
        -------
        array or tensor of int64, shape (n, k)
            Rows of the negatives; a tensor on the same device if ``nodes`` is a tensor.
        """
        if k < 0:
            raise ValueError(f"k={k}: expected at least 0")
        seed = _seed(seed, generator)
        return like_input(self._engine.sample(self.rows(nodes), k, seed), nodes)

    @overload
    def sample_edges(
        self, edge_index: _TensorType, k: int = 1, *, seed: int | None = None, generator: Any = None
    ) -> _TensorType: ...
    @overload
    def sample_edges(
        self, edge_index: Any, k: int = 1, *, seed: int | None = None, generator: Any = None
    ) -> Integers: ...
    def sample_edges(
        self, edge_index: Any, k: int = 1, *, seed: int | None = None, generator: Any = None
    ) -> Any:
        """Draw negative edges: each edge's source paired with negatives of it.

        Parameters
        ----------
        edge_index : array or tensor of node ids, shape (2, m)
            Sources and targets; only the sources are used.
        k : int, default=1
            Negatives per edge.
        seed, generator
            As of ``sample``.

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
        sources = self.rows(edges[0])
        negatives = self._engine.sample(sources, k, _seed(seed, generator))
        pairs = np.stack([np.repeat(sources, k), negatives.reshape(-1)])
        return like_input(pairs, edge_index)

    def stream(self, *indices: int) -> NegativeSampler:
        """Return a sampler of the same law that draws independently of this one.

        It shares the memory of this sampler. Use it where processes get copies that nearfar cannot tell
        apart, such as those of ``joblib`` or of several machines, or to begin at a given epoch:
        ``sampler.stream(rank, epoch)``.

        Parameters
        ----------
        *indices : int
            Name of the stream, at least 0: the same indices and seed give the same negatives.

        Returns
        -------
        NegativeSampler
            A sampler at the beginning of the stream.

        Examples
        --------
        >>> import nearfar
        >>> sampler = nearfar.NegativeSampler("builtin:karate", seed=0)
        >>> first, again = sampler.stream(3, 0).sample([0], k=4), sampler.stream(3, 0).sample([0], k=4)
        >>> bool((first == again).all())
        True
        """
        # Processes count from 1, so these paths are no process's.
        return _restored(self._graph, self._keywords, self._root, (*self._path, 0, *indices))

    def __repr__(self) -> str:
        return f"NegativeSampler: {self._engine.summary}"

    def __reduce__(self) -> Any:
        path, calls = self._path, self._engine.calls
        if get_spawning_popen() is not None:
            # Pickled for a process that is being started.
            self._processes += 1
            path, calls = (*path, self._processes), 0
        return _unpickled, (self._graph, self._keywords, path, calls)


#: Samplers of this process, which forks inherit.
_LIVE: weakref.WeakSet[NegativeSampler] = weakref.WeakSet()


def _restored(
    graph: Graph,
    keywords: dict[str, Any],
    engine: _nearfar.NegativeSampler,
    path: tuple[int, ...],
    calls: int = 0,
) -> NegativeSampler:
    sampler = NegativeSampler.__new__(NegativeSampler)
    sampler._graph, sampler._keywords = graph, keywords
    sampler._enter(engine, path, calls)
    return sampler


def _unpickled(graph: Graph, keywords: dict[str, Any], path: tuple[int, ...], calls: int) -> NegativeSampler:
    engine = _nearfar.NegativeSampler(graph._engine, _options.as_json(keywords))
    return _restored(graph, keywords, engine, path, calls)


def _before_fork() -> None:
    for sampler in list(_LIVE):
        sampler._processes += 1


def _in_forked_process() -> None:
    for sampler in list(_LIVE):
        sampler._enter(sampler._root, (*sampler._path, sampler._processes))


# Windows has no forks.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_in_forked_process)


def _seed(seed: int | None, generator: Any) -> int | None:
    """The seed of a call: as given, or drawn from a generator."""
    if generator is None:
        return seed
    if seed is not None:
        raise ValueError("seed cannot be combined with generator; pass one of the two")
    bits = 62
    if hasattr(generator, "integers"):
        return int(generator.integers(2**bits))
    if hasattr(generator, "getrandbits"):
        return int(generator.getrandbits(bits))
    # Not a method of torch.Generator: its numbers come from functions of PyTorch.
    import torch

    return int(torch.randint(2**bits, (), generator=generator, device=generator.device))
