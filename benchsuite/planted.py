"""A large labelled graph: a planted partition with hubs, the same for the same numbers.

Degree-corrected stochastic block model: a node i has a weight w_i with a heavy tail, P(w > x) = x^-TAIL,
and one of `blocks` blocks of unequal size. Both ends of an edge are drawn in proportion to the weights; a
fraction INSIDE of the edges has its second end in the block of the first, the others anywhere. So a
node of low degree has few edges inside its block, and hubs have edges to all blocks. The label of a
node is its block, except for a fraction NOISE of the nodes, whose labels are uniform.
"""

import numpy

TAIL = 1.5
INSIDE = 0.15
NOISE = 0.05
# The largest weight, relative to the sum of all: bounds the degree of the largest hub.
HUB = 0.002


def make(nodes, edges, blocks, seed=0):
    """Edges, each once with the lower id first, sorted; and a label for each node."""
    random = numpy.random.default_rng(seed)
    block = random.choice(blocks, nodes, p=shares(blocks))
    weight = (1 - random.random(nodes)) ** (-1 / TAIL)
    weight = numpy.minimum(weight, HUB * weight.sum())
    sampler = Sampler(block, weight, blocks)
    keys = numpy.empty(0, numpy.int64)
    while len(keys) < edges:
        # Edges between hubs repeat, so a few more are drawn than are missing.
        first = sampler.anywhere(random, edges - len(keys) + edges // 10)
        keys = numpy.union1d(keys, sampler.edges(random, first, nodes))
    keys = random.choice(keys, edges, replace=False)
    while len(isolated := numpy.setdiff1d(numpy.arange(nodes), numpy.divmod(keys, nodes))):
        keys = numpy.concatenate([keys, sampler.edges(random, isolated, nodes)])
    keys = numpy.unique(keys)
    noisy = random.random(nodes) < NOISE
    labels = numpy.where(noisy, random.integers(0, blocks, nodes), block)
    return numpy.stack(numpy.divmod(keys, nodes), 1).astype(numpy.uint32), labels


def shares(blocks):
    """Shares of the nodes: the first block is about √blocks times as large as the last."""
    sizes = numpy.arange(1, blocks + 1) ** -0.5
    return sizes / sizes.sum()


class Sampler:
    """Draws nodes in proportion to their weights, anywhere or from one block."""

    def __init__(self, block, weight, blocks):
        self.block = block
        # Nodes sorted by block: a block is a range of the cumulative weights.
        self.order = numpy.argsort(block, kind="stable")
        self.upto = numpy.concatenate([[0], numpy.cumsum(weight[self.order])])
        self.first = numpy.searchsorted(block[self.order], numpy.arange(blocks + 1))

    def anywhere(self, random, count):
        return self.at(random.random(count) * self.upto[-1])

    def inside(self, random, blocks):
        low, high = self.upto[self.first[blocks]], self.upto[self.first[blocks + 1]]
        return self.at(low + random.random(len(blocks)) * (high - low))

    def at(self, position):
        place = numpy.searchsorted(self.upto, position, side="right") - 1
        return self.order[numpy.clip(place, 0, len(self.order) - 1)]

    def edges(self, random, first, nodes):
        """Edges from these nodes as numbers low · nodes + high, without self-loops."""
        second = self.anywhere(random, len(first))
        inside = random.random(len(first)) < INSIDE
        second[inside] = self.inside(random, self.block[first[inside]])
        low, high = numpy.minimum(first, second), numpy.maximum(first, second)
        return (low * nodes + high)[low < high]
