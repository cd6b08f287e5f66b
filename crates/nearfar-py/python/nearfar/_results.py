"""What scores and measures are told in."""

from __future__ import annotations

from typing import Any, ClassVar


class Summary:
    """A score that was measured several times: ``mean``, ``std`` (divided by their number, as in
    NumPy) and all ``runs``. As a number it is its mean.

    >>> from nearfar import Summary
    >>> score = Summary([0.5, 0.7])
    >>> score
    0.6000 ± 0.1000
    >>> score > 0.55, float(score), f"{score:.2f}"
    (True, 0.6, '0.60')
    """

    mean: float
    std: float
    runs: list[float]

    def __init__(self, runs: list[float], mean: float | None = None, std: float | None = None) -> None:
        count = max(len(runs), 1)
        self.runs = runs
        self.mean = sum(runs) / count if mean is None else mean
        deviations = sum((run - self.mean) ** 2 for run in runs)
        self.std = (deviations / count) ** 0.5 if std is None else std

    def __float__(self) -> float:
        return self.mean

    def __lt__(self, other: Any) -> bool:
        return self.mean < float(other)

    def __gt__(self, other: Any) -> bool:
        return self.mean > float(other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Summary) and self.runs == other.runs

    def __hash__(self) -> int:
        return hash(tuple(self.runs))

    def __format__(self, form: str) -> str:
        return format(self.mean, form) if form else repr(self)

    def __repr__(self) -> str:
        spread = f" ± {self.std:.4f}" if len(self.runs) > 1 else ""
        return f"{self.mean:.4f}{spread}"


class Result:
    """Fields as attributes. ``to_dict()`` is what the command line prints with ``--json``."""

    _nested: ClassVar[dict[str, type[Result]]] = {}

    def __init__(self, found: dict[str, Any]) -> None:
        self._found = found
        for name, value in found.items():
            setattr(self, name.replace("@", "_at_"), self._shaped(name, value))

    def _shaped(self, name: str, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if value.keys() == {"mean", "std", "runs"}:
            return Summary(value["runs"], value["mean"], value["std"])
        return self._nested.get(name, Result)(value)

    def to_dict(self) -> dict[str, Any]:
        """All fields, as plain dictionaries, lists and numbers."""
        return self._found

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._found == self._found

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return type(self), (self._found,)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if name != "_found")
        return f"{type(self).__name__}({fields})"


class Part(Result):
    """The scores on one part of the nodes.

    Attributes
    ----------
    scored
        Nodes in it, in one run.
    f1_macro, f1_micro, accuracy
        The mean of F1 over classes, F1 of all classes together, the share of right decisions. Where
        nodes have several labels they are over all yes-or-no decisions in one list, as in
        ``ravelled``.
    ravelled, top_k
        Only where nodes have several labels: ``f1_macro`` and ``f1_micro`` of all yes-or-no
        decisions in one list, as in the paper; and of the most probable labels, as many as the node
        has, as is usual.
    """

    scored: int
    f1_macro: Summary
    f1_micro: Summary
    accuracy: Summary
    ravelled: Part | None = None
    top_k: Part | None = None


class Classification(Part):
    """How well nodes could be classified: what ``classify`` returns. Its own scores are those on
    test.

    Attributes
    ----------
    nodes, dim, classes, multi_label
        Vectors, numbers in a vector, different labels, and whether a node may have several.
    protocol
        ``splits`` is ``"fixed"``, or ``"random"`` with ``train_ratio``, ``repeats``, ``stratified``
        and ``seed``.
    c, train
        The classifier's trust in its examples, and the nodes that it learnt from in one run.
    val
        The scores on validation, where there is such a part.
    per_class
        If asked for, ``label``, ``precision``, ``recall``, ``f1`` and ``support`` of every class, of
        all runs together.
    confusion
        If asked for, ``labels`` and ``counts``: for every true class, how many of its nodes were
        given to each.
    """

    nodes: int
    dim: int
    classes: int
    multi_label: bool
    protocol: Result
    c: float
    train: int
    val: Part | None = None
    per_class: list[dict[str, Any]] | None = None
    confusion: Result | None = None
    _nested = {"val": Part, "ravelled": Part, "top_k": Part}

    def __repr__(self) -> str:
        named = {"F1-macro": self.f1_macro, "F1-micro": self.f1_micro, "accuracy": self.accuracy}
        if self.top_k is not None:
            named = {"F1-macro": self.top_k.f1_macro, "F1-micro": self.top_k.f1_micro}
        scores = ", ".join(f"{name} {score}" for name, score in named.items())
        runs = f", {len(self.accuracy.runs)} times" if len(self.accuracy.runs) > 1 else ""
        return (
            f"Classification into {self.classes} classes, trained on {self.train} nodes and scored on "
            f"{self.scored}{runs}: {scores}"
        )


class Ranking(Result):
    """The scores of one way to rank pairs.

    Attributes
    ----------
    auc, average_precision, mrr
        The area under the ROC curve, average precision, mean reciprocal rank.
    hits_at_10, hits_at_50, hits_at_100
        The share of held-out edges above all but nine, 49 or 99 pairs without an edge.
    """

    auc: Summary
    average_precision: Summary
    mrr: Summary
    hits_at_10: Summary
    hits_at_50: Summary
    hits_at_100: Summary


class Operators(Result):
    """The scores of a classifier, by what it sees of two vectors."""

    hadamard: Ranking
    average: Ranking
    l1: Ranking
    l2: Ranking
    _nested = dict.fromkeys(("hadamard", "average", "l1", "l2"), Ranking)


class LinkScores(Ranking):
    """How well links could be predicted: what ``links`` returns. Its own scores are those of the
    dot product, which nothing is trained for.

    Attributes
    ----------
    nodes, edges
        Those of the graph.
    asked, held_out
        Edges that should have been held out, and that were: fewer if the rest had to stay connected.
    keep_connected
        Whether it had to.
    operators
        The scores of classifiers on ``hadamard``, ``average``, ``l1`` and ``l2`` of two vectors.
    """

    nodes: int
    edges: int
    asked: int
    held_out: int
    keep_connected: bool
    operators: Operators
    _nested = {"operators": Operators}

    def __repr__(self) -> str:
        return (
            f"LinkScores of {self.held_out} of {self.edges} edges, held out {len(self.auc.runs)} times: "
            f"AUC {self.auc}, average precision {self.average_precision}"
        )


class Measures(Result):
    """How the similarity of vectors goes with the distance of their nodes: what ``measure`` returns.
    Lists are by distance, from 1 on; pairs are ordered.

    Attributes
    ----------
    cohesion, separation
        Near nodes near, far nodes far: the larger, the better.
    separation_power, separation_power_of_means
        How much heavier the farthest negatives of a node weigh than its neighbours.
    spearman
        Rank correlation of distance and similarity: −1 if vectors keep the order of distances.
    distance, pairs, xi, xi_std, alpha, beta, corollary
        For each distance: its hops, how many pairs have it, the mean and the deviation of their
        σ(z_i·z_j), their mean weights among positives and among negatives, and whether the paper's
        corollary holds.
    mean_total_distance
        The mean over nodes of the sum of their distances to all others.
    uniform
        ``beta``, ``separation`` and ``separation_power`` of uniform negatives.
    far
        ``hops``, ``pairs``, ``xi``, ``xi_std`` and ``beta`` of pairs without a path, if there are any.
    counted, sources, alpha_walks, interval
        ``"all"`` or ``"sampled"`` pairs, from how many nodes, with how many walks; and half the
        widths of 95 % intervals, where pairs are sampled.
    nodes, dim, resolution, config
        Sizes, the width of the bins in which similarities share a rank, and what was asked for.
    """

    cohesion: float
    separation: float
    separation_power: float | None
    separation_power_of_means: float | None
    spearman: float | None
    distance: list[int]
    pairs: list[int]
    xi: list[float]
    xi_std: list[float]
    alpha: list[float]
    beta: list[float]
    corollary: list[bool]
    mean_total_distance: float
    uniform: Result
    far: Result | None
    counted: str
    sources: int
    alpha_walks: int | None
    interval: Result | None
    nodes: int
    dim: int
    resolution: float
    config: Result

    def __repr__(self) -> str:
        spearman = "" if self.spearman is None else f", rank correlation {self.spearman:.4f}"
        xi = ", ".join(f"{value:.3f}" for value in self.xi[:8]) + (", ..." if len(self.xi) > 8 else "")
        return (
            f"Measures of {self.nodes} nodes, {self.counted} pairs: cohesion {self.cohesion:.6g}, "
            f"separation {self.separation:.6g}{spearman}; similarity by distance {xi}"
        )
