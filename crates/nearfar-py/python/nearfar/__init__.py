"""Node embeddings with distance-aware negative sampling.

>>> import nearfar
>>> emb = nearfar.embed("builtin:karate", negatives="distance", dim=16, seed=0)
>>> emb
Embedding of 34 nodes in 16 dimensions: 0, 1, 2, ...
>>> emb[0].shape, emb.vectors.dtype
((16,), dtype('float32'))
>>> len(emb.neighbors(33, k=3))
3

A graph may be a path, a NetworkX or igraph graph, a SciPy sparse matrix, a NumPy edge array, a
PyTorch Geometric ``Data``, or a pandas, polars or pyarrow frame. The same options and the same seed
give the same bytes as the command line, on any number of threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._distances import distances, stats
from ._embedding import Embedding, load
from ._evaluate import classify, links, measure
from ._graph import Graph
from ._nearfar import VERSION as __version__
from ._report import report
from ._results import Classification, LinkScores, Measures, Summary
from ._sampler import NegativeSampler
from ._synth import synth
from ._train import apply, embed

if TYPE_CHECKING:
    from ._estimator import NearFar

__all__ = [
    "Classification",
    "Embedding",
    "Graph",
    "LinkScores",
    "Measures",
    "NearFar",
    "NegativeSampler",
    "Summary",
    "apply",
    "classify",
    "distances",
    "embed",
    "links",
    "load",
    "measure",
    "report",
    "stats",
    "synth",
]


def __getattr__(name: str) -> Any:
    # Importing scikit-learn takes about a second: do it only when the estimator is used.
    if name == "NearFar":
        from ._estimator import NearFar

        return NearFar
    raise AttributeError(f"module 'nearfar' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
