"""Synthetic graphs."""

from __future__ import annotations

from . import _nearfar, _options
from ._graph import Graph, from_engine, labels_of
from ._ids import Ids


def synth(
    preset: str | None = None,
    *,
    exponent: float | None = None,
    nodes: int | None = None,
    classes: int | None = None,
    join: str | None = None,
    mean_degree: float | None = None,
    seed: int = 0,
) -> Graph:
    """Generate a synthetic graph with labels and splits.

    Parameters
    ----------
    preset : {"sparse", "moderate", "dense"}, default=None
        One of the three synthetic graphs of the paper. Exactly one of ``preset`` and ``exponent``
        must be set.
    exponent : float, default=None
        Exponent of the power law of the degrees, above 1.
    nodes : int, default=None
        Number of nodes. ``None`` takes 2000.
    classes : int, default=None
        Number of classes. ``None`` takes the preset's: 7, 5 or 4; 5 with ``exponent``.
    join : {"pairs", "star"}, default=None
        How components are connected: random nodes of two components at a time, or a random node of
        each to one node of the largest. ``None`` takes the preset's: ``"pairs"``, ``"pairs"`` or
        ``"star"``; ``"pairs"`` with ``exponent``.
    mean_degree : float, default=None
        Target mean degree: of 64 draws of the degrees, the closest is used. ``None`` takes the
        preset's: 2.49, 6.03 or 15.24; with ``exponent``, the first draw.
    seed : int, default=0
        Random seed.

    Returns
    -------
    Graph
        With ``labels`` and ``splits``.

    Examples
    --------
    >>> import nearfar
    >>> graph = nearfar.synth("sparse", nodes=500)
    >>> graph.num_nodes, sorted(set(graph.labels))
    (500, ['0', '1', '2', '3', '4', '5', '6'])
    """
    if (preset is None) == (exponent is None):
        raise TypeError("synth() expects either a preset, 'sparse', 'moderate' or 'dense', or an exponent")
    given = {
        "exponent": exponent,
        "nodes": nodes,
        "classes": classes,
        "join": join,
        "mean_degree": mean_degree,
        "seed": seed,
    }
    options = {name: value for name, value in given.items() if value is not None}
    engine = _nearfar.synth(preset, _options.as_json(options))
    graph = from_engine(engine, Ids(range(engine.nodes)))
    graph._source = "synth"
    graph._labels, graph._splits = labels_of(engine), engine.splits
    return graph
