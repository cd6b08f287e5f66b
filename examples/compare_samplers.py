"""Compare the laws that negatives are drawn from, on one of the paper's synthetic graphs.

    python examples/compare_samplers.py
"""

# %% How often each law draws nodes at each distance
import nearfar

LAWS = ["uniform", "degree", "distance", "landmark-approx", "edge"]

graph = nearfar.synth("sparse", seed=0)
centre = graph.nodes[0]
hops = nearfar.distances(graph, centre)
print(f"mean distance of the negatives of node {centre}; all nodes: {hops[hops > 0].mean():.2f}")
for law in LAWS:
    negatives = nearfar.NegativeSampler(graph, law, seed=0).sample([centre], k=10_000)
    print(f"  {law:<16} {hops[negatives].mean():.2f}")

# %% What that does to the vectors: how well classes are learnt from them, and how far apart far nodes are
print("                   F1-macro  separation")
for law in LAWS:
    emb = nearfar.embed(graph, negatives=law, seed=0)
    scores, measures = nearfar.classify(emb, graph.labels, graph.splits), nearfar.measure(emb, graph)
    print(f"  {law:<16} {scores.f1_macro:8.3f}  {measures.separation:10.4g}")
