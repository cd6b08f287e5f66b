"""Judges: scores vectors by node classification. Runs in the environment of the suite.

    python judge.py JUDGE VECTORS.npy LABELS.tsv SPLITS

JUDGE is `ridge` or `fair`. Both use the vectors as they are and choose their regularisation on the
training nodes alone, so that no method gains or loses by the scale of its vectors. Scores are the
mean over SPLITS random splits, the same for all methods: split s is a permutation of the labelled
nodes with seed s. One label per node: 10 % of the nodes train, F1-macro of the others. Several
labels: 50 % train; a node with k labels is given the k labels with the highest scores, F1-micro.

- `ridge`: ridge regression on ±1 for each label, as scikit-learn's RidgeClassifier. The penalty has
  the best leave-one-out accuracy (several labels: F1-micro).
- `fair`: logistic regression, multinomial (several labels: one for each label). C has the best
  accuracy (F1-micro) in five-fold cross-validation; one C for all labels.
"""

import json
import sys

import numpy
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

PENALTIES = 10.0 ** numpy.arange(-5, 6)
INVERSE_PENALTIES = 10.0 ** numpy.arange(-2, 5)
FOLDS = 5
SINGLE_SHARE, MULTI_SHARE = 0.1, 0.5


def main():
    judge = {"ridge": ridge, "fair": fair}[sys.argv[1]]
    vectors = numpy.load(sys.argv[2]).astype(numpy.float64)
    truth = read_labels(sys.argv[3], len(vectors))
    scores = [score(judge, vectors, truth, seed) for seed in range(int(sys.argv[4]))]
    print(json.dumps({"score": float(numpy.mean(scores))}))


def read_labels(path, nodes):
    """A table of nodes and labels; a node without labels has no true entry."""
    own = {}
    for line in open(path):
        node, _, text = line.rstrip("\n").partition("\t")
        own[int(node)] = [label for label in text.split(",") if label]
    names = {name: at for at, name in enumerate(sorted({n for some in own.values() for n in some}))}
    truth = numpy.zeros((nodes, len(names)), bool)
    for node, some in own.items():
        truth[node, [names[label] for label in some]] = True
    return truth


def score(judge, vectors, truth, seed):
    """The score of one random split."""
    multi = truth.sum(axis=1).max() > 1
    labelled = numpy.flatnonzero(truth.any(axis=1))
    order = numpy.random.default_rng(seed).permutation(labelled)
    count = round((MULTI_SHARE if multi else SINGLE_SHARE) * len(order))
    train, test = order[:count], order[count:]
    # A label without training nodes cannot be predicted, but counts in the test.
    known = numpy.flatnonzero(truth[train].any(axis=0))
    decisions = numpy.full((len(test), truth.shape[1]), -numpy.inf)
    model = judge(vectors[train], truth[train][:, known], multi)
    decisions[:, known] = model(vectors[test])
    if multi:
        return f1_micro_top_k(truth[test], decisions)
    return f1_macro(truth[test].argmax(axis=1), decisions.argmax(axis=1))


def ridge(vectors, truth, multi):
    """A ridge classifier as a function from vectors to a decision value for each label.

    With the centred vectors X = U S V' of n nodes and targets y of mean ȳ, the fit is
    ȳ + U diag(s²/(s² + α)) U'y, and the diagonal of its hat matrix h_i = 1/n + Σ_j U_ij² s_j²/(s_j² + α).
    Without node i its prediction would be y_i − (y_i − fit_i)/(1 − h_i): one SVD serves all α.
    """
    targets = numpy.where(truth, 1.0, -1.0)
    centre, mean = vectors.mean(axis=0), targets.mean(axis=0)
    left, values, right = numpy.linalg.svd(vectors - centre, full_matrices=False)
    products = left.T @ (targets - mean)
    best, chosen = -1.0, None
    for penalty in PENALTIES:
        shrink = values**2 / (values**2 + penalty)
        residuals = targets - mean - left @ (shrink[:, None] * products)
        rest = 1 - 1 / len(targets) - left**2 @ shrink
        left_out = targets - residuals / numpy.maximum(rest, 1e-12)[:, None]
        reached = agreement(truth, left_out, multi)
        if reached > best:
            best, chosen = reached, penalty
    weights = right.T @ ((values / (values**2 + chosen))[:, None] * products)
    return lambda others: mean + (others - centre) @ weights


def fair(vectors, truth, multi):
    """Logistic regression with the best C, as a function from vectors to decision values."""
    fold = numpy.random.default_rng(0).permutation(len(vectors)) % FOLDS
    starts = [None] * FOLDS
    reached = []
    for c in INVERSE_PENALTIES:
        decisions = numpy.empty(truth.shape)
        for number in range(FOLDS):
            inside, outside = fold != number, fold == number
            fitted = logistic(vectors[inside], truth[inside], c, multi, starts[number])
            decisions[outside] = decide(vectors[outside], fitted)
            starts[number] = fitted
        reached.append(agreement(truth, decisions, multi))
        # Large C are the slow ones: they are left out once two in a row are worse than the best.
        if len(reached) > 2 and max(reached[-2:]) < max(reached[:-2]):
            break
    parameters = logistic(vectors, truth, INVERSE_PENALTIES[numpy.argmax(reached)], multi)
    return lambda others: decide(others, parameters)


def logistic(vectors, truth, c, multi, start=None):
    """Parameters that minimise C · loss + ½ ‖weights‖²: a row per dimension, the last the intercept.

    The loss is multinomial, or with several labels the sum of one loss for each label; in both cases
    its gradient by the decision values is probabilities − truth.
    """
    shape = vectors.shape[1] + 1, truth.shape[1]

    def loss(flat):
        parameters = flat.reshape(shape)
        decisions = decide(vectors, parameters)
        if multi:
            value = (numpy.logaddexp(0, decisions) - truth * decisions).sum()
            errors = expit(decisions) - truth
        else:
            value = -log_softmax(decisions, axis=1)[truth].sum()
            errors = softmax(decisions, axis=1) - truth
        gradient = numpy.vstack([vectors.T @ errors, errors.sum(axis=0)])
        gradient[:-1] += parameters[:-1] / c
        value += (parameters[:-1] ** 2).sum() / (2 * c)
        return value / len(vectors), gradient.ravel() / len(vectors)

    start = numpy.zeros(shape) if start is None else start
    options = {"maxiter": 1000, "maxfun": 1500, "gtol": 1e-6, "ftol": 1e-8}
    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return found.x.reshape(shape)


def decide(vectors, parameters):
    return vectors @ parameters[:-1] + parameters[-1]


def agreement(truth, decisions, multi):
    """What the regularisation is chosen by: accuracy, or F1-micro."""
    if multi:
        return f1_micro_top_k(truth, decisions)
    return numpy.mean(truth[numpy.arange(len(truth)), decisions.argmax(axis=1)])


def f1_macro(truth, predicted):
    """The mean over the labels that occur in either; as scikit-learn."""
    size = 1 + max(truth.max(), predicted.max())
    hits = numpy.bincount(truth[truth == predicted], minlength=size)
    total = numpy.bincount(truth, minlength=size) + numpy.bincount(predicted, minlength=size)
    return float(numpy.mean(2 * hits[total > 0] / total[total > 0]))


def f1_micro_top_k(truth, decisions):
    """A node with k labels is given k labels, so precision and recall are the same fraction."""
    counts = truth.sum(axis=1)
    order = numpy.argsort(-decisions, axis=1, kind="stable")
    given = numpy.arange(truth.shape[1]) < counts[:, None]
    return float((numpy.take_along_axis(truth, order, axis=1) & given).sum() / counts.sum())


if __name__ == "__main__":
    main()
