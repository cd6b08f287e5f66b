"""Compare distributions of negatives on one of the paper's synthetic graphs.

    python examples/compare_samplers.py
"""

# %% Mean distance of the negatives of one node, by distribution
import nearfar
from nearfar.typing import Law

SAMPLERS: list[Law] = ["uniform", "degree", "distance", "landmark-approx", "edge"]

graph = nearfar.synth("sparse", seed=0)
centre = graph.nodes[0]
hops = nearfar.distances(graph, centre)
print(f"mean distance of the negatives of node {centre}; all nodes: {hops[hops > 0].mean():.2f}")
for negatives in SAMPLERS:
    drawn = nearfar.NegativeSampler(graph, negatives, seed=0).sample([centre], k=10_000)
    print(f"  {negatives:<16} {hops[drawn].mean():.2f}")

# %% Effect on the vectors: node classification, and separation of distant nodes
print("                   F1-macro  separation")
for negatives in SAMPLERS:
    emb = nearfar.embed(graph, negatives=negatives, seed=0)
    scores, measures = nearfar.classify(emb, graph.labels, graph.splits), nearfar.measure(emb, graph)
    print(f"  {negatives:<16} {scores.f1_macro:8.3f}  {measures.separation:10.4g}")
