"""karateclub's DeepWalk: walks in Python, training by gensim's word2vec."""

import networkx
from adapter import read_edges, save, stage, word2vec_pairs
from karateclub import DeepWalk


def embed(job):
    with stage("load"):
        graph = networkx.Graph()
        graph.add_nodes_from(range(job["nodes"]))
        graph.add_edges_from(read_edges(job).tolist())
    model = DeepWalk(
        walk_number=job["walks"],
        walk_length=job["length"],
        dimensions=job["dim"],
        workers=job["threads"],
        window_size=job["window"],
        epochs=job["epochs"],
        min_count=0,
        seed=job["seed"],
    )
    with stage("train"):
        model.fit(graph)
    vectors = model.get_embedding()
    save(job, vectors, range(len(vectors)))
    return {"amount": word2vec_pairs(job)}
