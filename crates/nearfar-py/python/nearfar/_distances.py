"""Distances in graphs, and their statistics."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _options
from ._graph import as_graph

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keywords import GraphOptions


@_options.documented("graph")
def distances(
    graph: Any, sources: Any, **options: Unpack[GraphOptions]
) -> npt.NDArray[np.int32] | npt.NDArray[np.float64]:
    """Compute distances from given nodes to all nodes, along the arcs of a directed graph.

    Parameters
    ----------
    graph : Graph or graph-like
        Anything that ``Graph`` accepts.
    sources : node id or list of node ids
        Nodes to measure from.
    **options
        Keyword arguments of ``Graph``.

    Returns
    -------
    array of int32, shape (len(sources), n), or (n,) for a single node
        Number of edges on a shortest path, −1 where there is no path. Columns are in the order of
        ``Graph(graph).nodes``. Where distances are lengths, an array of float64: the sum of the
        lengths, infinite where there is no path.

    Examples
    --------
    >>> import nearfar
    >>> nearfar.distances([("a", "b"), ("b", "c"), ("x", "y")], ["a", "c"])
    array([[ 0,  1,  2, -1, -1],
           [ 2,  1,  0, -1, -1]], dtype=int32)
    >>> nearfar.distances([("a", "b"), ("b", "c")], "b")
    array([1, 0, 1], dtype=int32)
    >>> nearfar.distances([("a", "b", 2.5), ("b", "c", 0.5)], "a", distance="length")
    array([0. , 2.5, 3. ])
    """
    converted = as_graph("distances()", graph, options)
    engine, ids = converted._engine, converted._ids
    measured = engine.distances if converted.distance == "hops" else engine.lengths
    if isinstance(sources, (str, bytes)) or not hasattr(sources, "__len__"):
        return measured(np.array([ids.row(sources)])).reshape(-1)
    return measured(ids.rows(sources))


@_options.documented("graph")
def stats(
    graph: Any, *, sources: int | None = None, seed: int = 0, **options: Unpack[GraphOptions]
) -> dict[str, Any]:
    """Compute sizes, components and the distribution of hop distances.

    The result has the fields that ``nearfar stats --json`` prints.

    Parameters
    ----------
    graph : Graph or graph-like
        Anything that ``Graph`` accepts.
    sources : int, default=None
        Number of random nodes from which distances are counted. ``None`` counts from all nodes, or
        from 1024 in graphs where all would take minutes.
    seed : int, default=0
        Seed of the random choice of nodes.
    **options
        Keyword arguments of ``Graph``.

    Returns
    -------
    dict
        Among others ``nodes``, ``edges_undirected``, ``edges_directed``, ``classes``, ``diameter``
        (hops), ``mean_degree``, ``components``, ``largest_component``, ``isolated``,
        ``mean_distance`` (hops) and ``distance_histogram``, the number of ordered pairs of nodes by
        distance.

    Examples
    --------
    >>> import nearfar
    >>> stats = nearfar.stats("builtin:karate")
    >>> stats["nodes"], stats["edges_undirected"], stats["diameter"], stats["classes"]
    (34, 78, 5, 2)
    >>> stats["distance_histogram"]
    {1: 156, 2: 530, 3: 274, 4: 146, 5: 16}
    """
    found: dict[str, Any] = json.loads(as_graph("stats()", graph, options)._engine.stats(sources, seed))
    pairs = found["distance_histogram"].items()
    return {**found, "distance_histogram": {int(hops): count for hops, count in pairs}}
