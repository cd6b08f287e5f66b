"""PecanPy: walks by Numba, training by gensim's word2vec."""

import numba
import numpy
from adapter import adjacency, stage, steps, word2vec
from gensim.models import Word2Vec
from numba_progress import ProgressBar
from pecanpy import pecanpy


def make(job, matrix):
    """The mode that its authors recommend; for first-order walks the fast one."""
    first_order = job["p"] == 1 and job["q"] == 1
    mode = pecanpy.FirstOrderUnweighted if first_order else pecanpy.SparseOTF
    numba.set_num_threads(job["threads"])
    # `extend` is node2vec+.
    extend = job.get("extend", False)
    made = mode(job["p"], job["q"], job["threads"], False, extend, 0, job["seed"])
    made.indptr = matrix.indptr.astype(numpy.uint32)
    made.indices = matrix.indices.astype(numpy.uint32)
    made.data = matrix.data
    made.set_node_ids(None, implicit_ids=True, num_nodes=matrix.shape[0])
    return made


def walker(job, graph):
    """Compiled walks as integers: `simulate_walks` up to the conversion to strings.

    It is compiled for every graph anew, so short walks are made first as a warm-up.
    """
    graph._preprocess_transition_probs()
    forward, has_neighbours = graph.get_move_forward(), graph.get_has_nbrs()

    def walk(walks, length):
        starts = numpy.tile(numpy.arange(graph.num_nodes, dtype=numpy.uint32), walks)
        numpy.random.seed(job["seed"])
        numpy.random.shuffle(starts)
        with ProgressBar(total=starts.size, disable=True) as progress:
            # The length counts steps; an extra column holds the length of the walk.
            return graph._random_walks(
                starts.size, length - 1, job["seed"], starts, has_neighbours, forward, progress
            )

    walk(1, 3)
    return walk


def walks(job):
    walk = walker(job, make(job, adjacency(job)))
    with stage("walks"):
        walk(job["walks"], job["length"])
    return {"amount": steps(job)}


def embed(job):
    with stage("load"):
        graph = make(job, adjacency(job))
    walk = walker(job, graph)
    with stage("walks"):
        made = [graph._map_walk(row) for row in walk(job["walks"], job["length"])]
    return word2vec(job, Word2Vec, made)
