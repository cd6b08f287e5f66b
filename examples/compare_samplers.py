"""Compare the laws that negatives are drawn from, on one of the paper's synthetic graphs.

    python examples/compare_samplers.py
"""

# %% How often each law draws nodes at each distance
import nearfar
import numpy as np
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped,unused-ignore]

LAWS = ["uniform", "degree", "distance", "landmark-approx", "edge"]

graph = nearfar.synth("sparse", seed=0)
centre = graph.nodes[0]
hops = nearfar.distances(graph, centre)
print(f"mean distance of the negatives of node {centre}; all nodes: {hops[hops > 0].mean():.2f}")
for law in LAWS:
    negatives = nearfar.NegativeSampler(graph, law, seed=0).sample([centre], k=10_000)
    print(f"  {law:<16} {hops[negatives].mean():.2f}")

# %% What that does to the vectors: the share of test nodes that a classifier gets right
labels, splits = np.array(graph.labels), np.array(graph.splits)
train, test = splits == "train", splits == "test"
print("accuracy")
for law in LAWS:
    vectors = nearfar.embed(graph, negatives=law, seed=0).vectors
    classifier = LogisticRegression(max_iter=1000).fit(vectors[train], labels[train])
    print(f"  {law:<16} {classifier.score(vectors[test], labels[test]):.3f}")
