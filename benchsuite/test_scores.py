"""Tests of the axis `scores`: methods, judges, the planted graph, tables. `test` runs them.

Needs NumPy, SciPy and scikit-learn, as the environment of the suite has them.
"""

import itertools
import json
import subprocess
import sys
import tempfile
import unittest
import warnings
from argparse import Namespace
from pathlib import Path

import measure
from axes import scores

try:
    import judge
    import numpy
    import planted
    import scipy.sparse
    from rivals import netmf, prone, spectral
    from scipy.linalg import expm
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression, RidgeClassifier, RidgeClassifierCV
    from sklearn.metrics import f1_score

    MISSING = ""
except ImportError as error:
    MISSING = f"{error} (`benchsuite/run` installs what they need)"


def small_graph(nodes=60, edges=240):
    """Adjacency matrix and labels of a planted graph of four blocks."""
    pairs, labels = planted.make(nodes, edges, 4)
    ends = numpy.concatenate([pairs, pairs[:, ::-1]]).T
    ones = numpy.ones(2 * len(pairs), numpy.float32)
    return scipy.sparse.csr_matrix((ones, ends), shape=(nodes, nodes)), labels


def clouds(nodes, classes, seed=0):
    """Vectors around a centre for each label."""
    random = numpy.random.default_rng(seed)
    labels = random.integers(0, classes, nodes)
    centres = random.standard_normal((classes, 12))
    return centres[labels] + 1.5 * random.standard_normal((nodes, 12)), labels


def one_hot(labels):
    return labels[:, None] == numpy.arange(labels.max() + 1)


@unittest.skipIf(MISSING, MISSING)
class Methods(unittest.TestCase):
    def test_netmf_equals_powers_of_the_dense_transition_matrix(self):
        matrix, _ = small_graph()
        dense = matrix.toarray().astype(float)
        degrees = dense.sum(axis=1)
        step = dense / degrees[:, None]
        for window, negatives in [(1, 1), (3, 1), (10, 5)]:
            powers = [numpy.linalg.matrix_power(step, r + 1) for r in range(window)]
            wanted = degrees.sum() / (negatives * window) * sum(powers) / degrees
            wanted = numpy.log(numpy.maximum(wanted, 1))
            found = netmf.log_matrix(matrix, window, negatives)
            found = found.toarray() if window == 1 else found
            numpy.testing.assert_allclose(found, wanted, atol=2e-5)
            # With the signs of eigenvalues lost, U √Σ still gives U Σ U' = (M M')^½.
            vectors = netmf.factor(found.astype(float), 8)
            left, values, _ = numpy.linalg.svd(wanted)
            nearest = left[:, :8] * values[:8] @ left[:, :8].T
            numpy.testing.assert_allclose(vectors @ vectors.T, nearest, atol=1e-3)

    def test_netmf_refuses_a_dense_matrix_of_too_many_nodes(self):
        with self.assertRaisesRegex(SystemExit, "dense matrix of 80000 nodes has 26 GB"):
            netmf.embed({"nodes": 80_000, "netmf_window": 3})

    def test_spectral_vectors_reproduce_the_leading_part_of_the_matrix(self):
        matrix, _ = small_graph()
        root = numpy.sqrt(numpy.asarray(matrix.sum(axis=1)).ravel())
        values, vectors = numpy.linalg.eigh(matrix.toarray() / root[:, None] / root)
        wanted = vectors[:, -5:] * values[-5:] @ vectors[:, -5:].T
        found = spectral.spectral(matrix, 5)
        numpy.testing.assert_allclose(found @ found.T, wanted, atol=1e-4)

    def test_prone_is_deterministic_for_a_seed_and_has_unit_rows(self):
        matrix, _ = small_graph()

        def vectors(seed):
            start = prone.factorise(matrix, 16, seed)
            return prone.orthogonal(prone.propagate(matrix, start, 10, 0.2, 0.5))

        self.assertEqual(vectors(0).shape, (60, 16))
        numpy.testing.assert_array_equal(vectors(0), vectors(0))
        numpy.testing.assert_allclose(numpy.linalg.norm(vectors(1), axis=1), 1)

    def test_prone_propagates_by_the_exponential_of_its_filter(self):
        matrix, _ = small_graph()
        start = numpy.random.default_rng(0).standard_normal((60, 4))
        loops = matrix.toarray() + numpy.eye(60)
        shifted = 0.8 * numpy.eye(60) - loops / loops.sum(axis=1)[:, None]
        kernel = expm(-0.5 * (shifted @ shifted / 2 - numpy.eye(60)))
        found = prone.propagate(matrix, start, 12, 0.2, 0.5)
        numpy.testing.assert_allclose(found, loops @ (start - kernel @ start), atol=1e-6)


@unittest.skipIf(MISSING, MISSING)
class Judges(unittest.TestCase):
    def test_ridge_equals_scikit_learn(self):
        for nodes, classes in [(200, 5), (10, 3)]:
            vectors, labels = clouds(nodes, classes)
            model = RidgeClassifierCV(judge.PENALTIES, scoring="accuracy").fit(vectors, labels)
            others = clouds(50, classes, seed=1)[0]
            found = judge.ridge(vectors, one_hot(labels), False)(others)
            numpy.testing.assert_allclose(found, model.decision_function(others), atol=1e-6)

    def test_ridge_equals_a_refit_without_each_node(self):
        # Two labels: RidgeClassifierCV scores its single column of targets by argmax, always 1.
        vectors, labels = clouds(12, 2)
        correct = dict.fromkeys(judge.PENALTIES, 0)
        for penalty, node in itertools.product(judge.PENALTIES, range(12)):
            others = numpy.arange(12) != node
            model = RidgeClassifier(alpha=penalty).fit(vectors[others], labels[others])
            correct[penalty] += model.predict(vectors[[node]])[0] == labels[node]
        best = max(correct, key=correct.get)
        self.assertGreater(best, judge.PENALTIES[0])
        wanted = RidgeClassifier(alpha=best).fit(vectors, labels).decision_function(vectors)
        found = judge.ridge(vectors, one_hot(labels), False)(vectors)
        numpy.testing.assert_allclose(found, numpy.stack([-wanted, wanted], 1), atol=1e-6)

    def test_logistic_regression_equals_scikit_learn(self):
        vectors, labels = clouds(200, 4)
        truth = one_hot(labels)
        truth[:50, 0] = True
        for c in (0.1, 10):
            model = LogisticRegression(C=c, tol=1e-6, max_iter=5000).fit(vectors, labels)
            found = judge.decide(vectors, judge.logistic(vectors, one_hot(labels), c, False))
            found = numpy.exp(found) / numpy.exp(found).sum(axis=1)[:, None]
            numpy.testing.assert_allclose(found, model.predict_proba(vectors), atol=0.005)
            found = judge.decide(vectors, judge.logistic(vectors, truth, c, True))
            for label in range(4):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    model = LogisticRegression(C=c, tol=1e-6).fit(vectors, truth[:, label])
                wanted = model.decision_function(vectors)
                numpy.testing.assert_allclose(found[:, label], wanted, atol=0.05)

    def test_f1_scores_equal_scikit_learn(self):
        random = numpy.random.default_rng(0)
        truth, predicted = random.integers(0, 9, (2, 40))
        wanted = f1_score(truth, predicted, average="macro")
        self.assertAlmostEqual(judge.f1_macro(truth, predicted), wanted)
        truth = random.random((30, 6)) < 0.4
        decisions = random.standard_normal((30, 6))
        ranks = (-decisions).argsort(axis=1).argsort(axis=1)
        given = ranks < truth.sum(axis=1)[:, None]
        wanted = f1_score(truth, given, average="micro")
        self.assertAlmostEqual(judge.f1_micro_top_k(truth, decisions), wanted)

    def test_scores_do_not_depend_on_the_scale_of_the_vectors(self):
        vectors, labels = clouds(600, 4)
        for name in (judge.ridge, judge.fair):
            found = [judge.score(name, by * vectors, one_hot(labels), 0) for by in (1, 10)]
            self.assertAlmostEqual(*found, delta=0.02)

    def test_the_program_reads_labels_of_both_kinds(self):
        vectors, labels = clouds(400, 3)
        for several in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                folder = Path(folder)
                numpy.save(folder / "x.npy", vectors.astype(numpy.float32))
                extra = ",even" if several else ""
                # Node 0 has no label, and is neither trained on nor tested.
                lines = [f"{i}\t{label}{extra}\n" for i, label in enumerate(labels) if i > 0]
                (folder / "labels.tsv").write_text("".join(["0\t\n", *lines]))
                program = [sys.executable, Path(judge.__file__), "ridge", folder / "x.npy"]
                done = subprocess.run(
                    [*program, folder / "labels.tsv", "2"], capture_output=True, check=True
                )
                truth = one_hot(labels)
                truth[0] = False
                if several:
                    truth = numpy.column_stack([truth, truth.any(axis=1)])
                exact = vectors.astype(numpy.float32).astype(float)
                each = [judge.score(judge.ridge, exact, truth, seed) for seed in (0, 1)]
                self.assertAlmostEqual(json.loads(done.stdout)["score"], numpy.mean(each))


@unittest.skipIf(MISSING, MISSING)
class Planted(unittest.TestCase):
    def setUp(self):
        self.edges, self.labels = planted.make(4000, 40_000, 10)

    def test_it_is_a_simple_connected_graph_without_isolated_nodes(self):
        low, high = self.edges.T.astype(int)
        self.assertTrue((low < high).all())
        self.assertEqual(len(numpy.unique(low * 4000 + high)), len(low))
        self.assertGreaterEqual(len(low), 40_000)
        self.assertLess(len(low), 40_100)
        matrix = scipy.sparse.csr_matrix((numpy.ones(len(low)), (low, high)), shape=(4000, 4000))
        self.assertEqual(scipy.sparse.csgraph.connected_components(matrix)[0], 1)

    def test_degrees_have_a_heavy_tail(self):
        degrees = numpy.bincount(self.edges.ravel(), minlength=4000)
        self.assertGreater(degrees.max(), 10 * degrees.mean())
        self.assertLess(numpy.median(degrees), 0.75 * degrees.mean())

    def test_blocks_differ_in_size_and_have_more_edges_inside_than_by_chance(self):
        sizes = numpy.bincount(self.labels)
        self.assertEqual(len(sizes), 10)
        self.assertGreater(sizes[0], 2 * sizes[9])
        degrees = numpy.bincount(self.edges.ravel(), minlength=4000)
        share = numpy.bincount(self.labels, degrees) / degrees.sum()
        inside = numpy.mean(self.labels[self.edges[:, 0]] == self.labels[self.edges[:, 1]])
        excess = (1 - planted.NOISE) ** 2 * planted.INSIDE * (1 - (share**2).sum())
        self.assertAlmostEqual(inside - (share**2).sum(), excess, delta=0.25 * excess)

    def test_it_depends_on_the_seed_alone(self):
        again, labels = planted.make(4000, 40_000, 10)
        numpy.testing.assert_array_equal(again, self.edges)
        numpy.testing.assert_array_equal(labels, self.labels)
        other, _ = planted.make(4000, 40_000, 10, seed=1)
        self.assertFalse(numpy.array_equal(other, self.edges))


def row(graph, system, score, seconds=2.0, judge="ridge", repeat=0):
    fixed = {"graph": graph, "system": system, "judge": judge, "repeat": repeat}
    return {**fixed, "score": score, "seconds": seconds}


class Tables(unittest.TestCase):
    ROWS = [
        row("cora", "NetMF, T = 1", 0.75),
        row("acm", "NetMF, T = 1", 0.9),
        row("cora", "nearfar", 0.76),
        row("cora", "nearfar", 0.78, repeat=1),
        row("acm", "nearfar", 0.85),
        {"graph": "acm", "system": "GRAPE", "failure": "took longer than 900 s"},
        {"graph": "acm", "system": "nearfar", "judge": "c1", "failure": "class 7 has one node"},
    ]

    def test_the_best_method_of_each_graph_is_bold_and_losses_are_shown(self):
        text = scores.show(self.ROWS)
        self.assertIn("| method | cora | acm |", text)
        self.assertIn("| nearfar | **.770** ± .014 | .850 |", text)
        self.assertIn("| NetMF, T = 1 | .750 | **.900** |", text)
        self.assertIn("| cora | .770 | NetMF, T = 1 | .750 | +.020 |", text)
        self.assertIn("| acm | .850 | NetMF, T = 1 | .900 | −.050 |", text)
        self.assertIn("| nearfar | 2.00 | 2.00 |", text)
        self.assertIn("- judge `c1` (acm): class 7 has one node\n", text)
        self.assertIn("- GRAPE (acm): took longer than 900 s", text)

    def test_a_run_becomes_a_row_for_each_judge_or_one_failure(self):
        runs = [
            {
                "system": "a",
                "seconds": 1.0,
                "scores": {"ridge": {"score": 0.5}, "c1": {"failure": "x"}},
            },
            {"system": "b", "failure": "no"},
        ]
        wanted = [
            {"system": "a", "seconds": 1.0, "judge": "ridge", "score": 0.5},
            {"system": "a", "seconds": 1.0, "judge": "c1", "failure": "x"},
            {"system": "b", "failure": "no"},
        ]
        self.assertEqual(scores.by_judge(runs), wanted)

    def test_a_selected_run_is_added_to_earlier_results(self):
        new = [row("acm", "GRAPE", 0.8), row("cora", "nearfar", 0.79, repeat=1)]
        asked = Namespace(graph=[], method=["grape"], judge=[], seed=[])
        # The failure and the row that was run again are replaced.
        self.assertEqual(
            measure.kept(self.ROWS, new, asked), self.ROWS[:3] + self.ROWS[4:5] + self.ROWS[6:]
        )
        asked = Namespace(graph=["acm"], method=[], judge=[], seed=[])
        cora = [old for old in self.ROWS if old["graph"] == "cora"]
        self.assertEqual(measure.kept(self.ROWS, new[:1], asked), cora)
        asked = Namespace(graph=[], method=[], judge=[], seed=[])
        self.assertEqual(measure.kept(self.ROWS, new, asked), [])
