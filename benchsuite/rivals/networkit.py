"""NetworKit: node2vec, all-pairs distances, reader.

Its node2vec has fixed window and negatives: ten and five, as in the usual budget.
"""

import networkit
import numpy
from adapter import save, stage, word2vec_pairs


def graph(job):
    networkit.setNumberOfThreads(job["threads"])
    with stage("load"):
        return networkit.readGraph(job["edges"], networkit.Format.EdgeListTabZero)


def load(job):
    return {"amount": graph(job).numberOfEdges()}


def embed(job):
    loaded = graph(job)
    model = networkit.embedding.Node2Vec(
        loaded, job["p"], job["q"], job["length"], job["walks"], job["dim"]
    )
    networkit.setSeed(job["seed"], False)
    with stage("train"):
        model.run()
    vectors = numpy.array(model.getFeatures(), numpy.float32)
    save(job, vectors, range(len(vectors)))
    return {"amount": word2vec_pairs(job)}


def distances(job):
    loaded = graph(job)
    search = networkit.distance.APSP(loaded)
    with stage("distances"):
        search.run()
    # One by one: all distances as Python lists would take several times the memory.
    first_row = sum(search.getDistance(0, node) for node in range(job["nodes"]))
    return {"amount": job["nodes"] ** 2, "sum": int(first_row)}
