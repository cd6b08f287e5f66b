"""scikit-network: spectral embedding, as a method without pairs, and reader."""

from adapter import adjacency, save, stage
from sknetwork.data import from_csv
from sknetwork.embedding import Spectral


def load(job):
    with stage("load"):
        matrix = from_csv(job["edges"], delimiter="\t", reindex=False)
    return {"amount": matrix.nnz // 2}


def embed(job):
    matrix = adjacency(job)
    with stage("train"):
        vectors = Spectral(job["dim"]).fit_transform(matrix)
    save(job, vectors, range(len(vectors)))
    return {}
