"""nodevectors: walks by csrgraph, training by gensim's word2vec.

It uses argument names of gensim before version 4, which no longer builds; they are translated.
"""

import csrgraph
import gensim
import numpy
import scipy.sparse
from adapter import adjacency, ring, save, stage, steps, word2vec_pairs
from nodevectors import Node2Vec

WORD2VEC = gensim.models.Word2Vec
gensim.models.Word2Vec = lambda size, **options: WORD2VEC(vector_size=size, **options)


def make(job, matrix):
    return csrgraph.csrgraph(matrix, threads=job["threads"])


def walk(job, graph):
    return graph.random_walks(
        walklen=job["length"],
        epochs=job["walks"],
        return_weight=1 / job["p"],
        neighbor_weight=1 / job["q"],
    )


def warm_up(job):
    ones = numpy.ones(128, numpy.float32)
    matrix = scipy.sparse.csr_matrix((ones, numpy.array(ring()).T), shape=(64, 64))
    walk(dict(job, walks=1, length=5), make(job, matrix + matrix.T))


def walks(job):
    graph = make(job, adjacency(job))
    with stage("walks"):
        walk(job, graph)
    return {"amount": steps(job)}


def embed(job):
    with stage("load"):
        graph = make(job, adjacency(job))
    word2vec = {
        "window": job["window"],
        "negative": job["negatives"],
        "epochs": job["epochs"],
        "sg": 1,
        "min_count": 0,
        "seed": job["seed"] + 1,
    }
    model = Node2Vec(
        n_components=job["dim"],
        walklen=job["length"],
        epochs=job["walks"],
        return_weight=1 / job["p"],
        neighbor_weight=1 / job["q"],
        threads=job["threads"],
        verbose=False,
        w2vparams=word2vec,
    )
    with stage("train"):
        model.fit(graph)
    vectors = model.model.wv
    save(job, vectors.vectors, [int(name) for name in vectors.index_to_key])
    return {"amount": word2vec_pairs(job)}
