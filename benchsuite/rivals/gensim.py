"""gensim's word2vec alone, on walks that a few lines of NumPy made; only training is timed."""

import numpy
from adapter import adjacency, save, stage, word2vec_pairs
from gensim.models import Word2Vec


def embed(job):
    matrix = adjacency(job)
    random = numpy.random.default_rng(job["seed"])
    at = numpy.tile(numpy.arange(job["nodes"]), job["walks"])
    random.shuffle(at)
    nodes = [at]
    for _ in range(job["length"] - 1):
        first, end = matrix.indptr[at], matrix.indptr[at + 1]
        at = matrix.indices[first + random.integers(0, end - first)]
        nodes.append(at)
    sentences = [[str(node) for node in walk] for walk in numpy.stack(nodes, 1).tolist()]
    with stage("train"):
        model = Word2Vec(
            sentences,
            vector_size=job["dim"],
            window=job["window"],
            negative=job["negatives"],
            min_count=0,
            sg=1,
            workers=job["threads"],
            epochs=job["epochs"],
            seed=job["seed"] + 1,
        )
    save(job, model.wv.vectors, [int(name) for name in model.wv.index_to_key])
    return {"amount": word2vec_pairs(job)}
