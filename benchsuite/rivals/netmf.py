"""NetMF: factorises the matrix that DeepWalk factorises implicitly (Qiu et al. 2018).

With P = D⁻¹A, volume vol = Σ degrees, window T and b negatives, the matrix is

    M = log max(1, vol / (b T) · Σ_{r=1..T} Pʳ · D⁻¹),

elementwise. It is symmetric, so its singular vectors are eigenvectors and its singular values are
absolute eigenvalues; the vectors are U √Σ of the largest `dim`. For T = 1 M has the non-zeros of A.
For larger T it is computed exactly as a dense matrix, which limits the number of nodes.
"""

import numpy
import scipy.sparse
from adapter import adjacency, save, stage
from scipy.sparse.linalg import eigsh

MOST_NODES = 20_000
# Columns that are computed together.
COLUMNS = 512


def embed(job):
    nodes, window = job["nodes"], job["netmf_window"]
    if window > 1 and nodes > MOST_NODES:
        gigabytes = 4 * nodes**2 / 1e9
        raise SystemExit(f"the dense matrix of {nodes} nodes has {gigabytes:.0f} GB: not tried")
    with stage("load"):
        matrix = adjacency(job)
    with stage("train"):
        vectors = factor(log_matrix(matrix, window, job["netmf_negatives"]), job["dim"])
    save(job, vectors, range(nodes))
    return {}


def log_matrix(matrix, window, negatives):
    """The matrix M: sparse for T = 1, else dense."""
    degrees = numpy.asarray(matrix.sum(axis=1)).ravel().astype(numpy.float64)
    inverse = scipy.sparse.diags(1 / degrees)
    scale = degrees.sum() / (negatives * window)
    if window == 1:
        answer = (scale * (inverse @ matrix @ inverse)).tocsr()
        answer.data = numpy.log(numpy.maximum(answer.data, 1))
        return answer
    nodes = len(degrees)
    steps = (inverse @ matrix).astype(numpy.float32).tocsr()
    answer = numpy.empty((nodes, nodes), numpy.float32)
    for first in range(0, nodes, COLUMNS):
        some = numpy.arange(first, min(first + COLUMNS, nodes))
        power = numpy.zeros((nodes, len(some)), numpy.float32)
        power[some, some - first] = scale / degrees[some]
        total = numpy.zeros_like(power)
        for _ in range(window):
            power = steps @ power
            total += power
        answer[:, some] = numpy.log(numpy.maximum(total, 1))
    return answer


def factor(matrix, dim):
    """U √Σ of a symmetric matrix, largest singular value first."""
    start = numpy.random.default_rng(0).standard_normal(matrix.shape[0]).astype(matrix.dtype)
    values, vectors = eigsh(matrix, k=dim, which="LM", v0=start, tol=1e-5)
    order = numpy.argsort(-abs(values))
    return vectors[:, order] * numpy.sqrt(abs(values[order]))
