"""fastnode2vec: walks by Numba inside gensim's worker threads."""

from concurrent.futures import ThreadPoolExecutor

from adapter import read_edges, ring, save, stage, steps, word2vec_pairs
from fastnode2vec import Graph, Node2Vec


def make(edges):
    return Graph(edges, directed=False, weighted=False, verbose=False)


def model(job, graph):
    return Node2Vec(
        graph,
        dim=job["dim"],
        walk_length=job["length"],
        window=job["window"],
        p=job["p"],
        q=job["q"],
        workers=job["threads"],
        negative=job["negatives"],
    )


def warm_up(job):
    model(job, make(ring())).train(epochs=1, verbose=False)


def embed(job):
    with stage("load"):
        graph = make(read_edges(job).tolist())
    with stage("train"):
        trained = model(job, graph)
        # An epoch of fastnode2vec is one walk from every node.
        trained.train(epochs=job["walks"] * job["epochs"], verbose=False)
    save(job, trained.wv.vectors, [int(name) for name in trained.wv.index_to_key])
    return {"amount": word2vec_pairs(job)}


def walks(job):
    graph = make(read_edges(job).tolist())
    n = len(graph.node_names)

    def some(nodes):
        for node in nodes:
            graph.generate_random_walk(job["length"], job["p"], job["q"], node)

    chunks = [range(first, n, job["threads"]) for first in range(job["threads"])] * job["walks"]
    with ThreadPoolExecutor(job["threads"]) as pool, stage("walks"):
        list(pool.map(some, chunks))
    return {"amount": steps(job)}
