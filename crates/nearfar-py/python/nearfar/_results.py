"""Result objects of the evaluation functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar


class Summary:
    """Scores of several runs; compares and formats like their mean.

    Attributes
    ----------
    mean : float
        Mean of the runs.
    std : float
        Standard deviation, divided by the number of runs as in NumPy.
    runs : list of float
        Score of each run.

    Examples
    --------
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
    """Named fields; ``to_dict()`` returns what the command line prints with ``--json``."""

    _nested: ClassVar[dict[str, type[Result]]] = {}

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields
        for name, value in fields.items():
            setattr(self, name.replace("@", "_at_"), self._wrap(name, value))

    def _wrap(self, name: str, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if value.keys() == {"mean", "std", "runs"}:
            return Summary(value["runs"], value["mean"], value["std"])
        return self._nested.get(name, Result)(value)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain dictionaries, lists and numbers."""
        return self._fields

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._fields == self._fields

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return type(self), (self._fields,)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if name != "_fields")
        return f"{type(self).__name__}({fields})"


class SplitScores(Result):
    """Scores on the nodes of one split.

    Attributes
    ----------
    scored : int
        Number of scored nodes per run.
    f1_macro, f1_micro, accuracy : Summary
        Mean F1 of the classes, F1 of the counts summed over classes, fraction of correct
        predictions. For multi-label data they are computed over all binary decisions, as in
        ``ravelled``.
    ravelled, top_k : SplitScores
        Only for multi-label data: ``f1_macro`` and ``f1_micro`` over all binary decisions in one
        list, as in the paper; and of the k most probable labels, where k is the node's true number
        of labels.
    """

    scored: int
    f1_macro: Summary
    f1_micro: Summary
    accuracy: Summary
    ravelled: SplitScores | None = None
    top_k: SplitScores | None = None


class Classification(SplitScores):
    """Node classification scores, as returned by ``classify``.

    ``scored``, ``f1_macro``, ``f1_micro`` and ``accuracy`` are those of the test nodes.

    Attributes
    ----------
    nodes, dim, classes : int
        Number of vectors, dimensions and labels.
    multi_label : bool
        Whether a node may have several labels.
    protocol : Result
        ``splits`` is ``"fixed"``, or ``"random"`` with ``train_ratio``, ``repeats``, ``stratified``
        and ``seed``.
    c : float or "auto"
        Inverse L2 strength of the classifier, as it was given.
    chosen_c : list of float or None
        With ``c="auto"``, the value that was chosen in each run.
    train : int
        Number of training nodes per run.
    val : SplitScores or None
        Scores of the validation nodes, if there are any.
    per_class : list of dict or None
        If requested: ``label``, ``precision``, ``recall``, ``f1`` and ``support`` of every class,
        over all runs.
    confusion : Result or None
        If requested: ``labels`` and ``counts``, the number of nodes by true and predicted class,
        over all runs.
    notes : list of str
        Classes that cannot be predicted or tested, because they have too few nodes.
    """

    nodes: int
    dim: int
    classes: int
    multi_label: bool
    protocol: Result
    c: float | str
    train: int
    chosen_c: list[float] | None = None
    val: SplitScores | None = None
    per_class: list[dict[str, Any]] | None = None
    confusion: Result | None = None
    notes: Sequence[str] = ()
    _nested = {"val": SplitScores, "ravelled": SplitScores, "top_k": SplitScores}

    def __repr__(self) -> str:
        named = {"F1-macro": self.f1_macro, "F1-micro": self.f1_micro, "accuracy": self.accuracy}
        if self.top_k is not None:
            named = {"F1-macro": self.top_k.f1_macro, "F1-micro": self.top_k.f1_micro}
        scores = ", ".join(f"{name} {score}" for name, score in named.items())
        runs = f", {len(self.accuracy.runs)} runs" if len(self.accuracy.runs) > 1 else ""
        return (
            f"Classification into {self.classes} classes, {self.train} training and {self.scored} test "
            f"nodes{runs}: {scores}" + "".join(f"\nnote: {note}" for note in self.notes)
        )


class Ranking(Result):
    """Ranking scores of held-out edges against pairs without an edge.

    Attributes
    ----------
    auc, average_precision, mrr : Summary
        Area under the ROC curve, average precision, mean reciprocal rank.
    hits_at_10, hits_at_50, hits_at_100 : Summary
        Fraction of held-out edges ranked above all but 9, 49 or 99 of the pairs without an edge.
    """

    auc: Summary
    average_precision: Summary
    mrr: Summary
    hits_at_10: Summary
    hits_at_50: Summary
    hits_at_100: Summary


class Operators(Result):
    """Scores of logistic regression by the operator that combines two vectors."""

    hadamard: Ranking
    average: Ranking
    l1: Ranking
    l2: Ranking
    _nested = dict.fromkeys(("hadamard", "average", "l1", "l2"), Ranking)


class LinkScores(Ranking):
    """Link prediction scores, as returned by ``links``.

    ``auc``, ``average_precision``, ``mrr`` and ``hits_at_*`` rank pairs by dot product, without
    further training.

    Attributes
    ----------
    nodes, edges : int
        Size of the graph.
    asked, held_out : int
        Number of edges requested and actually held out; ``keep_connected`` may reduce it.
    keep_connected : bool
        Whether the remaining graph was kept connected.
    operators : Operators
        Scores of classifiers on ``hadamard``, ``average``, ``l1`` and ``l2`` of two vectors.
    reversed : Ranking or None
        For a directed graph, scores of the dot product of held-out arcs against their own reverses.
    """

    nodes: int
    edges: int
    asked: int
    held_out: int
    keep_connected: bool
    operators: Operators
    reversed: Ranking | None
    _nested = {"operators": Operators, "reversed": Ranking}

    def __repr__(self) -> str:
        return (
            f"LinkScores with {self.held_out} of {self.edges} edges held out, {len(self.auc.runs)} runs: "
            f"AUC {self.auc}, average precision {self.average_precision}"
        )


class Measures(Result):
    """Similarity of vectors by distance of their nodes, as returned by ``measure``.

    Lists have one entry per distance, in the order of ``distance``; pairs (i, j) are ordered.

    Attributes
    ----------
    cohesion, separation : float
        Log-likelihoods of positives and negatives, at most 0; higher is better.
    separation_power, separation_power_of_means : float or None
        Weight of the farthest negatives of a node relative to its neighbours; the same ratio of the
        mean weights ``beta``.
    spearman : float or None
        Rank correlation of distance and similarity: −1 if similarity falls strictly with distance.
    distance : list of int
        Distances, in hops; where distances are lengths, the numbers of bins.
    length : list of float
        Only where distances are lengths: the largest length of each bin.
    pairs : list of int
        Number of pairs at each distance.
    xi, xi_std : list of float
        Mean and standard deviation of σ(z_i·z_j) at each distance.
    alpha, beta : list of float
        Mean weight of positives and of negatives at each distance.
    corollary : list of bool
        Whether the paper's corollary holds at each distance: n < D(A) / d.
    mean_total_distance : float
        D(A), the mean over nodes of the sum of distances to all other nodes, in hops.
    uniform : Result
        ``beta``, ``separation`` and ``separation_power`` for uniform negatives.
    far : Result or None
        ``hops``, ``pairs``, ``xi``, ``xi_std`` and ``beta`` of pairs without a path, if there are any.
    counted : {"all", "sampled"}
        Whether all pairs were counted or those of random sources.
    sources : int
        Number of nodes compared with all others.
    alpha_walks : int or None
        Walks per source from which ``alpha`` was estimated; ``None`` if it was computed exactly.
    interval : Result or None
        Half widths of 95 % confidence intervals, if pairs were sampled.
    objective : Result or None
        The training objective, if it was asked for: ``loss``, the sum of its parts ``positive``,
        ``negative`` and ``regularisation``; the ``law`` of negatives; the number of ``centres``; and
        ``interval``, the half width of the 95 % confidence interval if these were sampled.
    nodes, dim : int
        Number of vectors and dimensions.
    resolution : float
        Relative width of the bins within which similarities are tied in ``spearman``.
    config : Result
        Settings of the call.
    """

    cohesion: float
    separation: float
    separation_power: float | None
    separation_power_of_means: float | None
    spearman: float | None
    distance: list[int]
    length: list[float]
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
    objective: Result | None
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
