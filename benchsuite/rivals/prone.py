"""ProNE: a sparse factorisation, then spectral propagation (Zhang et al. 2019).

1. With P = D⁻¹A and negatives q_j ∝ (Σ_i P_ij)^0.75, the matrix log(P_ij / q_j) on the edges is
   factorised by a randomised truncated SVD: vectors U √Σ, rows of length 1.
2. With the Laplacian L = I − P' of the graph with self-loops, M = L − μI and x = ½M² − I, the vectors
   R become (A + I)(R − f(x) R), where f(x) = e^(−θx) is expanded in Chebyshev polynomials T_i,

       e^(−θx) ≈ I_0(θ) + 2 Σ_{0<i<step} (−1)^i I_i(θ) T_i(x),   I_i: modified Bessel functions.
3. An SVD of the result makes its columns orthogonal: U √Σ again, rows of length 1.
"""

import numpy
import scipy.sparse
from adapter import adjacency, save, stage
from scipy.special import iv
from sklearn.utils.extmath import randomized_svd

NEGATIVE_POWER = 0.75


def embed(job):
    with stage("load"):
        matrix = adjacency(job)
    with stage("train"):
        vectors = factorise(matrix, job["dim"], job["seed"])
        parameters = job["prone_step"], job["prone_mu"], job["prone_theta"]
        vectors = orthogonal(propagate(matrix, vectors, *parameters))
    save(job, vectors, range(job["nodes"]))
    return {}


def factorise(matrix, dim, seed):
    steps = by_rows(matrix).tocoo()
    negatives = numpy.asarray(steps.sum(axis=0)).ravel() ** NEGATIVE_POWER
    negatives /= negatives.sum()
    logs = numpy.log(steps.data) - numpy.log(negatives[steps.col])
    sparse = scipy.sparse.csr_matrix((logs, (steps.row, steps.col)), shape=matrix.shape)
    left, values, _ = randomized_svd(sparse, dim, n_iter=5, random_state=seed)
    return unit_rows(left * numpy.sqrt(values))


def propagate(matrix, vectors, step, mu, theta):
    identity = scipy.sparse.identity(matrix.shape[0], format="csr")
    loops = matrix + identity
    shifted = (1 - mu) * identity - by_rows(loops)

    def twice_x(some):
        return shifted @ (shifted @ some) - 2 * some

    before, now = vectors, twice_x(vectors) / 2
    filtered = iv(0, theta) * before - 2 * iv(1, theta) * now
    for i in range(2, step):
        before, now = now, twice_x(now) - before
        filtered += 2 * (-1) ** i * iv(i, theta) * now
    return loops @ (vectors - filtered)


def orthogonal(vectors):
    left, values, _ = numpy.linalg.svd(vectors, full_matrices=False)
    return unit_rows(left * numpy.sqrt(values))


def by_rows(matrix):
    """The matrix with rows of sum 1."""
    degrees = numpy.asarray(matrix.sum(axis=1)).ravel().astype(numpy.float64)
    return scipy.sparse.diags(1 / degrees) @ matrix


def unit_rows(vectors):
    lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / numpy.where(lengths > 0, lengths, 1)
