"""Maps of the vectors in the plane, and their view in notebooks: methods of ``Embedding``."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from . import _options
from ._arrays import Floats
from ._ids import as_list
from ._vectors import Vectors

if TYPE_CHECKING:
    from ._keywords import Metric


class Maps(Vectors):
    """Positions in the plane, drawn or as numbers."""

    def map(
        self,
        method: Literal["tsne", "pca"] = "tsne",
        *,
        metric: Metric = "cosine",
        perplexity: float = 30.0,
        points: int = 20_000,
        seed: int = 0,
        threads: int | None = None,
    ) -> Floats:
        """Compute positions of the nodes in the plane: the map that reports show.

        Parameters
        ----------
        method : {"tsne", "pca"}, default="tsne"
            t-SNE, which preserves neighbourhoods, or the two directions of largest variance.
        metric : {"cosine", "euclidean"}, default="cosine"
            Distance between vectors.
        perplexity : float, default=30.0
            Effective number of neighbours of t-SNE, 1 to 1000.
        points : int, default=20_000
            Number of nodes that t-SNE runs on; others are placed beside the most similar of these.
        seed : int, default=0
            Random seed.
        threads : int, default=None
            Number of threads; ``None`` uses all cores. The result does not depend on it.

        Returns
        -------
        array of float32, shape (n, 2)
            Positions in row order.

        Examples
        --------
        >>> import nearfar
        >>> nearfar.embed("builtin:karate", dim=8).map().shape
        (34, 2)
        """
        keywords = {
            "method": method,
            "metric": metric,
            "perplexity": perplexity,
            "points": points,
            "seed": seed,
            "threads": threads,
        }
        return self._engine.map(_options.as_json(keywords))

    def plot(self, labels: Any = None, ax: Any = None, **options: Any) -> Any:
        """Draw the map with matplotlib.

        Parameters
        ----------
        labels : dict, Series, array or list, default=None
            A label of each node, by id or in row order, for its colour.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; ``None`` makes a figure.
        **options
            Keyword arguments of ``map``.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from matplotlib import pyplot

        if ax is None:
            ax = pyplot.figure().add_subplot()
        positions = self.map(**options)
        size = min(20.0, 20_000 / len(self))
        groups = {"": range(len(self))} if labels is None else self._by_label(labels)
        for label, rows in groups.items():
            ax.scatter(*positions[list(rows)].T, s=size, linewidths=0, label=str(label))
        if 1 < len(groups) <= 20:
            ax.legend(markerscale=max(1.0, 3 / size**0.5))
        ax.set_axis_off()
        ax.set_aspect("equal", adjustable="datalim")
        return ax

    def _by_label(self, labels: Any) -> dict[Hashable, list[int]]:
        """The rows of each label, the label of most nodes first."""
        if isinstance(labels, Mapping) or hasattr(labels, "items"):
            by_id = dict(labels.items())
            values = [by_id.get(node) for node in self._ids.values]
        else:
            values = as_list(labels)
        if len(values) != len(self):
            raise ValueError(f"labels has {len(values)} entries for {len(self)} vectors; expected one per vector")
        groups: dict[Hashable, list[int]] = {}
        for row, value in enumerate(values):
            groups.setdefault(value, []).append(row)
        return dict(sorted(groups.items(), key=lambda group: -len(group[1])))

    def _repr_html_(self) -> str:
        """The first vectors, and how they were made."""
        shown, columns = min(5, len(self)), min(6, self.dim)
        more = "<td>…</td>" if columns < self.dim else ""
        rows = "".join(
            f"<tr><th>{escape(repr(node))}</th>"
            + "".join(f"<td>{value:.3f}</td>" for value in self._vectors[row, :columns])
            + f"{more}</tr>"
            for row, node in enumerate(self._ids.values[:shown])
        )
        named = ("model", "negatives", "epochs", "seed", "graph", "version")
        made = ", ".join(f"{name} {self.info[name]}" for name in named if name in self.info)
        return (
            f"<p><b>Embedding</b> of {len(self)} nodes in {self.dim} dimensions"
            f"{'<br>' + escape(made) if made else ''}</p><table>{rows}</table>"
        )
