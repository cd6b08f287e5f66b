"""pandas and SciPy: an edge list into a symmetric sparse matrix, as most scripts do it."""

import numpy
import pandas
import scipy.sparse
from adapter import stage


def load(job):
    with stage("load"):
        edges = pandas.read_csv(job["edges"], sep="\t", header=None, dtype=numpy.int32)
        a, b = edges[0].to_numpy(), edges[1].to_numpy()
        ones = numpy.ones(len(a), numpy.float32)
        matrix = scipy.sparse.csr_matrix((ones, (a, b)), shape=(job["nodes"],) * 2)
        matrix = matrix + matrix.T
    return {"amount": matrix.nnz // 2}
