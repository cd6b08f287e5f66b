"""Runs one job of one rival, in that rival's own environment.

    python adapter.py NAME JOB

JOB is JSON: what to do (`task`), the graph's files, the budget, threads and seed. The adapter
`rivals/NAME.py` has a function for every task it knows. What it times with `stage` is measured;
imports, warming up and what stands outside do not count. One line of JSON comes out: seconds by
stage, an amount (pairs, steps or edges), the peak of memory and what it was before the graph.
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
    """Counts the time of what it encloses."""
    start = time.perf_counter()
    yield
    SECONDS[name] = SECONDS.get(name, 0.0) + time.perf_counter() - start


def resident_bytes():
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def read_edges(job):
    """The graph as an array of edges; ids are 0 to n − 1."""
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
    """A little graph to compile on: 64 nodes in a ring, each with two further edges."""
    return [(i, (i + step) % 64) for i in range(64) for step in (1, 5)]


def save(job, vectors, ids):
    """Writes the vectors in the order of the ids; a node without a vector gets zeros."""
    import numpy

    if not job.get("vectors"):
        return
    table = numpy.zeros((job["nodes"], vectors.shape[1]), numpy.float32)
    table[numpy.asarray(ids, dtype=numpy.int64)] = vectors
    numpy.save(job["vectors"], table)


def word2vec(job, Word2Vec, sentences):
    """Trains gensim's class on walks of names, and answers the job. The rival imports it: what a
    package takes counts as there before the graph."""
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
    """Steps of the walks that were asked for: one less than nodes in each."""
    return job["nodes"] * job["walks"] * (job["length"] - 1)


def word2vec_pairs(job):
    """Pairs that word2vec trains: every window is as wide as a random number from 1 to `window`.

    A walk of L nodes has 2·(L·b − b(b+1)/2) pairs at width b; the mean over b is taken. Every
    positive has its negatives, so that one of them counts for 1 + negatives pairs.
    """
    length, widths = job["length"], range(1, job["window"] + 1)
    positives = sum(2 * (length * b - b * (b + 1) / 2) for b in widths) / job["window"]
    walks = job["nodes"] * job["walks"] * job["epochs"]
    return walks * positives * (1 + job["negatives"])


if __name__ == "__main__":
    # Adapters import this module by its name; it has to be the same one.
    sys.modules["adapter"] = sys.modules["__main__"]
    main()
