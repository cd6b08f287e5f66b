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
from sklearn.metrics import f1_score  # type: ignore[import-untyped,unused-ignore]

graph = nearfar.Graph(sys.argv[1]) if len(sys.argv) > 1 else nearfar.synth("dense", seed=1)
if graph.labels is None or graph.splits is None:
    sys.exit("the folder needs labels.tsv and splits.tsv")
labels, splits = np.array(graph.labels), np.array(graph.splits)
print(graph, f"with {len(set(graph.labels))} classes")

# %% A vector for every node, found without looking at the labels
emb = nearfar.embed(graph, dim=128, seed=0)
print(emb)

# %% A classifier learns from some and is scored on others
train, test = splits == "train", splits == "test"
classifier = LogisticRegression(max_iter=1000).fit(emb.vectors[train], labels[train])
predicted = classifier.predict(emb.vectors[test])
print(f"macro F1 on {test.sum()} nodes: {f1_score(labels[test], predicted, average='macro'):.3f}")
