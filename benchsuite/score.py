"""Scores vectors with a classifier, the same for all systems. Runs in the environment of the suite.

    python score.py VECTORS.npy DATASET FRACTION SPLITS

Logistic regression (lbfgs, C = 1, at most 1000 iterations). `score`: F1-macro on the test part of
the given splits, trained on the train part. `score_random`: the mean over SPLITS stratified random
splits that train on FRACTION of the nodes and test on the rest.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split


def f1_macro(vectors, labels, train, test):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(C=1.0, max_iter=1000).fit(vectors[train], labels[train])
    return f1_score(labels[test], model.predict(vectors[test]), average="macro")


def column(path, n):
    values = numpy.full(n, "", dtype=object)
    for line in path.read_text().splitlines():
        node, value = line.split("\t")
        values[int(node)] = value
    return values


def main():
    vectors = numpy.load(sys.argv[1])
    folder, fraction, splits = Path(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    labels = column(folder / "labels.tsv", len(vectors)).astype(str)
    parts = column(folder / "splits.tsv", len(vectors))
    scores = []
    for seed in range(splits):
        train, test = train_test_split(
            numpy.arange(len(labels)), train_size=fraction, stratify=labels, random_state=seed
        )
        scores.append(f1_macro(vectors, labels, train, test))
    given = f1_macro(vectors, labels, parts == "train", parts == "test")
    print(json.dumps({"score": given, "score_random": float(numpy.mean(scores))}))


if __name__ == "__main__":
    main()
