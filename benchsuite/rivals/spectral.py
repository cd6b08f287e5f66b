"""Spectral: leading eigenvectors of D^-½ A D^-½, each times the square root of its eigenvalue."""

import numpy
import scipy.sparse
from adapter import adjacency, save, stage
from scipy.sparse.linalg import eigsh


def embed(job):
    with stage("load"):
        matrix = adjacency(job)
    with stage("train"):
        vectors = spectral(matrix, job["dim"])
    save(job, vectors, range(job["nodes"]))
    return {}


def spectral(matrix, dim):
    """Largest eigenvalue first; a negative eigenvalue counts as 0."""
    degrees = numpy.asarray(matrix.sum(axis=1)).ravel().astype(numpy.float64)
    root = scipy.sparse.diags(degrees**-0.5)
    start = numpy.random.default_rng(0).standard_normal(len(degrees))
    values, vectors = eigsh(root @ matrix @ root, k=dim, which="LA", v0=start, tol=1e-5)
    order = numpy.argsort(-values)
    return vectors[:, order] * numpy.sqrt(numpy.maximum(values[order], 0))
