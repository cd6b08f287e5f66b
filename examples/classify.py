"""Classify the nodes of a graph by their vectors.

FOLDER contains edges.tsv, labels.tsv and splits.tsv; without it, a synthetic graph is used:

    python examples/classify.py [FOLDER]
"""

# %% A graph with labels and splits
import sys

import nearfar
import numpy as np
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped,unused-ignore]

graph = nearfar.Graph(sys.argv[1]) if len(sys.argv) > 1 else nearfar.synth("dense", seed=3)
if graph.labels is None or graph.splits is None:
    sys.exit(f"{sys.argv[1]} needs labels.tsv and splits.tsv")
labels, splits = np.array(graph.labels), np.array(graph.splits)
print(graph, f"with {len(set(graph.labels))} classes")

# %% One vector per node, trained without the labels
emb = nearfar.embed(graph, dim=128, seed=0)
print(emb)

# %% Train a classifier on the train split and score it on the test split
scores = nearfar.classify(emb, graph.labels, graph.splits, per_class=True)
print(scores)
for each in scores.per_class or []:
    print(f"  class {each['label']}: F1 {each['f1']:.3f} on {each['support']} nodes")

# %% The same with ten random splits, each with 10 % of the nodes for training
print(nearfar.classify(emb, graph.labels, train_ratio=0.1))

# %% The vectors are a NumPy array: here with a scikit-learn classifier
train, test = splits == "train", splits == "test"
classifier = LogisticRegression(max_iter=1000).fit(emb.vectors[train], labels[train])
print(f"scikit-learn's accuracy on {test.sum()} nodes: {classifier.score(emb.vectors[test], labels[test]):.3f}")
