"""gensim's word2vec alone, on walks made with NumPy; only training is timed."""

import numpy
from adapter import adjacency, word2vec
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
    return word2vec(job, Word2Vec, sentences)
