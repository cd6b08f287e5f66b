"""The estimator of scikit-learn. Works without scikit-learn, for whoever only wants to fit."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from . import _options
from ._arrays import Floats
from ._embedding import Embedding, embed
from ._graph import Graph

try:
    from sklearn.base import BaseEstimator, TransformerMixin
except ImportError:

    class BaseEstimator:  # type: ignore[no-redef]
        """What is needed of the real one."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {name: getattr(self, name) for name in _KEYWORDS}

        def set_params(self, **params: Any) -> Any:
            _options.check("NearFar()", params, _KEYWORDS)
            for name, value in params.items():
                setattr(self, name, value)
            return self

    class TransformerMixin:  # type: ignore[no-redef]
        """Nothing is needed of the real one."""


_KEYWORDS: dict[str, Any] = {"graph": None, "progress": False, **_options.EMBED, **_options.GRAPH}


class NearFar(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """``embed`` as an estimator: it clones, pickles, and sits in pipelines and searches.

    ``fit`` takes a graph, and ``transform`` gives the vectors of the nodes that it is asked for:
    those of a list of ids, or all if it is given the graph again. Where scikit-learn cuts its input
    to pieces, as in a cross-validation, the graph is a parameter and the input is a list of nodes:

    >>> import nearfar
    >>> graph = nearfar.Graph("builtin:karate")
    >>> model = nearfar.NearFar(dim=8, seed=1)
    >>> model.fit_transform(graph).shape
    (34, 8)
    >>> model.transform([0, 33]).shape
    (2, 8)
    >>> nearfar.NearFar(graph=graph, dim=8).fit_transform([5, 6, 7]).shape
    (3, 8)

    After ``fit``, ``embedding_`` is the ``Embedding``. Parameters are the keywords of ``embed``.
    """

    embedding_: Embedding

    def __init__(self, **options: Any) -> None:
        _options.check("NearFar()", options, _KEYWORDS)
        for name, default in _KEYWORDS.items():
            setattr(self, name, options.get(name, default))

    __init__.__signature__ = _options.signature(  # type: ignore[attr-defined]
        inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), keywords=_KEYWORDS
    )

    def fit(self, X: Any, y: Any = None) -> NearFar:
        """Makes the vectors. ``y`` is not looked at."""
        options = {name: getattr(self, name) for name in _KEYWORDS if name != "graph"}
        if self.config is not None:
            # What was left as it is, the file may say.
            same = [name for name, value in _options.EMBED.items() if options[name] == value]
            options = {name: value for name, value in options.items() if name not in same}
        self.embedding_ = embed(X if self.graph is None else self.graph, **options)
        self.n_features_out_ = self.embedding_.dim
        return self

    def fit_transform(self, X: Any, y: Any = None, **_: Any) -> Floats:
        """Makes the vectors and returns them: of all nodes, or of those in X if the graph is a
        parameter."""
        self.fit(X, y)
        return self.embedding_.vectors if self.graph is None else self.transform(X)

    def transform(self, X: Any) -> Floats:
        """The vectors of a list of nodes, or of all nodes of the graph that was fitted."""
        if not hasattr(self, "embedding_"):
            raise ValueError("this NearFar is not fitted yet; call fit first")
        if _are_nodes(X):
            return self.embedding_[np.asarray(X) if hasattr(X, "to_numpy") else X]
        graph = X if isinstance(X, Graph) else Graph(X, **self._graph_options())
        if graph.nodes != self.embedding_.nodes:
            raise ValueError(
                "this graph has other nodes than the one that was fitted, and vectors are found for "
                "a graph as a whole: call fit_transform"
            )
        return self.embedding_.vectors

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """nearfar0, nearfar1, ..."""
        return np.array([f"nearfar{at}" for at in range(self.n_features_out_)], dtype=object)

    def _graph_options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _options.GRAPH}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "embedding_")


def _are_nodes(X: Any) -> bool:
    if isinstance(X, (list, tuple)):
        return not (X and all(isinstance(pair, tuple) and len(pair) == 2 for pair in X))
    return getattr(X, "ndim", None) == 1
