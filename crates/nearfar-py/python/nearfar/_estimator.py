"""The scikit-learn estimator. It can be fitted without scikit-learn, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _options
from ._arrays import Floats, as_numpy
from ._embedding import Embedding
from ._graph import Graph
from ._train import embed

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keywords import EmbedKeywords

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.exceptions import NotFittedError
except ImportError:

    class BaseEstimator:  # type: ignore[no-redef]
        """The methods used here, where scikit-learn is not installed."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {name: getattr(self, name) for name in _KEYWORDS}

        def set_params(self, **params: Any) -> Any:
            _options.check("NearFar()", params, _KEYWORDS)
            for name, value in params.items():
                setattr(self, name, value)
            return self

    class TransformerMixin:  # type: ignore[no-redef]
        """An empty substitute, where scikit-learn is not installed."""

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """Scikit-learn's exception, where it is not installed."""


_KEYWORDS: dict[str, Any] = {"graph": None, "progress": False, **_options.EMBED, **_options.GRAPH}


@_options.documented(*_options.FUNCTIONS["embed"])
class NearFar(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Scikit-learn transformer that trains an embedding.

    ``fit`` expects a graph. ``transform`` expects a list of node ids, or a graph, and returns their
    vectors; nodes of the graph that were not fitted get vectors from their edges, as by
    ``Embedding.transform``. Where scikit-learn splits its input, as in cross-validation, pass the
    graph as parameter ``graph`` and node ids as ``X``: a list, an array, or a column of a frame, as a
    ``ColumnTransformer`` selects it.

    Parameters
    ----------
    graph : Graph or graph-like, default=None
        The graph to embed. ``None`` embeds the ``X`` of ``fit``.
    progress : bool, default=False
        Show a progress bar.
    **options
        Options of ``embed`` and keyword arguments of ``Graph``; ``help(nearfar.NearFar)`` describes each.

    Attributes
    ----------
    embedding_ : Embedding
        The trained embedding.
    n_features_out_ : int
        Number of dimensions.

    Notes
    -----
    If ``config`` is set, arguments equal to their defaults do not override the file.

    Examples
    --------
    >>> import nearfar
    >>> graph = nearfar.Graph("builtin:karate")
    >>> model = nearfar.NearFar(dim=8, seed=1)
    >>> model.fit_transform(graph).shape
    (34, 8)
    >>> model.transform([0, 33]).shape
    (2, 8)
    >>> nearfar.NearFar(graph=graph, dim=8).fit_transform([5, 6, 7]).shape
    (3, 8)
    """

    embedding_: Embedding

    @_options.documented(*_options.FUNCTIONS["embed"])
    def __init__(
        self, *, graph: Any = None, progress: bool = False, **options: Unpack[EmbedKeywords]
    ) -> None:
        _options.check("NearFar()", options, _KEYWORDS)
        self.graph, self.progress = graph, progress
        for name in (*_options.EMBED, *_options.GRAPH):
            setattr(self, name, options.get(name, _KEYWORDS[name]))

    def fit(self, X: Any, y: Any = None) -> NearFar:
        """Train the embedding.

        Parameters
        ----------
        X : Graph or graph-like, or list of node ids
            The graph; ignored if the parameter ``graph`` is set.
        y : ignored
            Present for scikit-learn.

        Returns
        -------
        NearFar
            The fitted estimator.
        """
        options = {name: getattr(self, name) for name in _KEYWORDS if name != "graph"}
        if self.config is not None:
            # Arguments left at their defaults must not override the file.
            unchanged = [name for name, value in _options.EMBED.items() if options[name] == value]
            options = {name: value for name, value in options.items() if name not in unchanged}
        self.embedding_ = embed(X if self.graph is None else self.graph, **options)
        self.n_features_out_ = self.embedding_.dim
        return self

    def fit_transform(self, X: Any, y: Any = None, **_: Any) -> Floats:
        """Train the embedding and return its vectors.

        Parameters
        ----------
        X : Graph or graph-like, or list of node ids
            The graph; or node ids, if the parameter ``graph`` is set.
        y : ignored
            Present for scikit-learn.

        Returns
        -------
        array of float32, shape (n, dim)
            Vectors of all nodes, or of the nodes in ``X`` if the parameter ``graph`` is set.
        """
        self.fit(X, y)
        return self.embedding_.vectors if self.graph is None else self.transform(X)

    def transform(self, X: Any) -> Floats:
        """Return vectors of the fitted embedding, and of unseen nodes from their edges.

        Parameters
        ----------
        X : list of node ids, or Graph or graph-like
            Nodes whose vectors to return; a graph stands for all of its nodes, in its order. Those
            that were not fitted get the mean of their neighbors' vectors; no fitted vector changes.

        Returns
        -------
        array of float32, shape (len(X), dim)
            One vector per node.
        """
        if not hasattr(self, "embedding_"):
            raise NotFittedError("this NearFar instance is not fitted yet; call fit first")
        if self.graph is not None:
            X = _first_column(X)
        if _is_node_list(X):
            return self.embedding_[np.asarray(X) if hasattr(X, "to_numpy") else X]
        graph = X if isinstance(X, Graph) else Graph(X, **self._graph_options())
        fitted = self.embedding_
        if graph.nodes == fitted.nodes:
            return fitted.vectors
        if all(node in fitted for node in graph.nodes):
            return fitted[graph.nodes]
        unseen = fitted.transform(graph)
        return np.stack([(fitted if node in fitted else unseen)[node] for node in graph.nodes])

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the dimensions: nearfar0, nearfar1, ..."""
        return np.array([f"nearfar{column}" for column in range(self.n_features_out_)], dtype=object)

    def _graph_options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _options.GRAPH}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "embedding_")


def _first_column(X: Any) -> Any:
    """A frame or array of one column as that column; anything else as it is."""
    if getattr(X, "ndim", None) == 2 and X.shape[1] == 1 and not hasattr(X, "tocsr"):
        return as_numpy(X)[:, 0]
    return X


def _is_node_list(X: Any) -> bool:
    if isinstance(X, (list, tuple)):
        return not (X and all(isinstance(pair, tuple) and len(pair) == 2 for pair in X))
    return getattr(X, "ndim", None) == 1
