"""Runs one job of one rival, in the virtual environment of that rival.

    python adapter.py NAME JOB

JOB is JSON: the `task`, the files of the graph, the budget, threads and seed. The adapter
`rivals/NAME.py` has one function per task that it supports. Only code inside `stage` is timed;
imports, warm-up and everything else is not. The output is one line of JSON: seconds by stage, an
amount (pairs, steps or edges), peak memory, and memory before the graph was opened.
"""

import importlib
import json
import resource
import sys
import time
from contextlib import contextmanager

SECONDS = {}


def main():
    name, job = sys.argv[1], json.loads(sys.argv[2])
    rival = importlib.import_module(f"rivals.{name}")
    if hasattr(rival, "warm_up"):
        rival.warm_up(job)
        SECONDS.clear()
    before = resident_bytes()
    answer = getattr(rival, job["task"])(job)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": SECONDS, "peak_bytes": peak, "base_bytes": before, **answer}))


@contextmanager
def stage(name):
    """Adds the time of the enclosed code to a stage."""
    start = time.perf_counter()
    yield
    SECONDS[name] = SECONDS.get(name, 0.0) + time.perf_counter() - start


def resident_bytes():
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def read_edges(job):
    """The graph as an array of edges, with ids 0 to n − 1."""
    import numpy

    if job.get("edges_npy"):
        return numpy.load(job["edges_npy"])
    return numpy.loadtxt(job["edges"], dtype=numpy.uint32, delimiter="\t")


def adjacency(job):
    """The graph as a symmetric sparse matrix of ones."""
    import numpy
    import scipy.sparse

    edges = read_edges(job)
    n = job["nodes"]
    a, b = edges[:, 0], edges[:, 1]
    ends = numpy.concatenate([a, b]), numpy.concatenate([b, a])
    matrix = scipy.sparse.csr_matrix((numpy.ones(2 * len(a), numpy.float32), ends), shape=(n, n))
    matrix.data[:] = 1
    matrix.sort_indices()
    return matrix


def ring():
    """A small graph for warm-up: 64 nodes in a ring, with edges to the next and the fifth next."""
    return [(i, (i + step) % 64) for i in range(64) for step in (1, 5)]


def save(job, vectors, ids):
    """Writes the vectors in order of ids; a node without a vector gets zeros."""
    import numpy

    if not job.get("vectors"):
        return
    table = numpy.zeros((job["nodes"], vectors.shape[1]), numpy.float32)
    table[numpy.asarray(ids, dtype=numpy.int64)] = vectors
    numpy.save(job["vectors"], table)


def word2vec(job, Word2Vec, sentences):
    """Trains gensim's `Word2Vec` on walks of node names. The caller imports the class, so that the
    memory of the package counts as memory before the graph."""
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


def steps(job):
    """Steps of the requested walks: one less than nodes in each."""
    return job["nodes"] * job["walks"] * (job["length"] - 1)


def word2vec_pairs(job):
    """Pairs that word2vec trains: the width of every window is uniform on 1 to `window`.

    A walk of L nodes has 2·(L·b − b(b+1)/2) positives at width b; this is averaged over b. Every
    positive has its own negatives, and so counts as 1 + negatives pairs.
    """
    length, widths = job["length"], range(1, job["window"] + 1)
    positives = sum(2 * (length * b - b * (b + 1) / 2) for b in widths) / job["window"]
    walks = job["nodes"] * job["walks"] * job["epochs"]
    return walks * positives * (1 + job["negatives"])


if __name__ == "__main__":
    # Adapters import this module by name and must get this instance, which holds SECONDS.
    sys.modules["adapter"] = sys.modules["__main__"]
    main()
