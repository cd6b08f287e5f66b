"""Classify the nodes of a graph from their vectors.

Give a folder with edges.tsv, labels.tsv and splits.tsv, such as that of Cora; without one, a graph
is made up:

    python examples/classify.py [FOLDER]
"""

# %% A graph whose nodes have labels, and parts in the experiment
import sys

import nearfar
import numpy as np
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped,unused-ignore]

graph = nearfar.Graph(sys.argv[1]) if len(sys.argv) > 1 else nearfar.synth("dense", seed=3)
if graph.labels is None or graph.splits is None:
    sys.exit("the folder needs labels.tsv and splits.tsv")
labels, splits = np.array(graph.labels), np.array(graph.splits)
print(graph, f"with {len(set(graph.labels))} classes")

# %% A vector for every node, found without looking at the labels
emb = nearfar.embed(graph, dim=128, seed=0)
print(emb)

# %% A classifier learns from some and is scored on others
scores = nearfar.classify(emb, graph.labels, graph.splits, per_class=True)
print(scores)
for each in scores.per_class or []:
    print(f"  class {each['label']}: F1 {each['f1']:.3f} on {each['support']} nodes")

# %% The same with a tenth of all nodes to learn from, ten times
print(nearfar.classify(emb, graph.labels, train_ratio=0.1))

# %% The vectors are an array like any other: here for a classifier of scikit-learn
train, test = splits == "train", splits == "test"
classifier = LogisticRegression(max_iter=1000).fit(emb.vectors[train], labels[train])
print(f"scikit-learn's accuracy on {test.sum()} nodes: {classifier.score(emb.vectors[test], labels[test]):.3f}")
