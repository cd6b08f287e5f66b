//! What a batch is made of: pairs, each with its weight, in the order of either of their ends.

use std::ops::Range;

use super::kernel::PIECE;
use crate::graph::Node;

/// The pairs of a batch, from both sides.
#[derive(Default)]
pub(super) struct Batch {
    /// How many pairs there were before equal ones were put together.
    pub(super) pairs: u64,
    /// The nodes that are centres, in rising order.
    pub(super) centres: Vec<Node>,
    /// Where the others of each centre begin, and the end.
    starts: Vec<usize>,
    others: Vec<Node>,
    /// Of every pair: above zero of near ones, below of far ones. [`PIECE`] zeros follow.
    weights: Vec<f32>,
    /// Where the pairs towards each node begin, and the end.
    incoming: Vec<u32>,
    pairs_in: Vec<Incoming>,
    /// Place of each node in `centres`; `NOT` for others.
    places: Vec<u32>,
    /// One more than the place where each node was last seen among `others`; 0 if it was not.
    seen: Vec<u32>,
}

/// A pair, for its other end.
#[derive(Clone, Copy, Default)]
pub(super) struct Incoming {
    /// The place of the centre in `centres`.
    pub(super) centre: u32,
    /// The place of the pair in `others`.
    pub(super) pair: u32,
}

/// The place of a node that is no centre.
const NOT: u32 = u32::MAX;

impl Batch {
    /// Forgets all pairs, and keeps the room for them. The graph has so many nodes.
    pub(super) fn clear(&mut self, nodes: usize) {
        for (list, length) in [(&mut self.seen, nodes), (&mut self.incoming, nodes + 2)] {
            list.clear();
            list.resize(length, 0);
        }
        self.places.clear();
        self.places.resize(nodes, NOT);
        self.pairs = 0;
        self.centres.clear();
        self.starts.clear();
        self.others.clear();
        self.weights.clear();
    }

    /// Adds a centre, whose pairs follow. Centres come in rising order.
    pub(super) fn begin(&mut self, centre: Node) {
        self.places[centre as usize] = self.centres.len() as u32;
        self.centres.push(centre);
        self.starts.push(self.others.len());
    }

    /// Adds a pair to the last centre.
    #[inline]
    pub(super) fn add(&mut self, other: Node, weight: f32) {
        // Counted two places behind their own, the starts of nodes are where they belong once the
        // pairs are in theirs.
        self.incoming[other as usize + 2] += 1;
        self.others.push(other);
        self.weights.push(weight);
    }

    /// Adds negatives to the last centre, all of one weight, and those that come again to the
    /// weight of the first. Both are done the same way, as a branch could not be foreseen.
    pub(super) fn add_far(&mut self, far: &[Node], weight: f32) {
        let start = self.others.len();
        self.others.resize(start + far.len(), 0);
        self.weights.resize(start + far.len(), 0.0);
        let (others, weights) = (&mut self.others[start..], &mut self.weights[start..]);
        let mut length = 0;
        for &other in far {
            let seen = &mut self.seen[other as usize];
            let again = *seen as usize > start;
            let place = if again { *seen as usize - start - 1 } else { length };
            *seen = (start + place + 1) as u32;
            others[place] = other;
            weights[place] -= weight;
            self.incoming[other as usize + 2] += u32::from(!again);
            length += usize::from(!again);
        }
        self.others.truncate(start + length);
        self.weights.truncate(start + length);
    }

    /// Sorts the pairs by their other ends, once all are there.
    pub(super) fn sort(&mut self) {
        self.starts.push(self.others.len());
        self.weights.resize(self.others.len() + PIECE, 0.0);
        let next = &mut self.incoming;
        for node in 2..next.len() {
            next[node] += next[node - 1];
        }
        self.pairs_in.resize(self.others.len(), Incoming::default());
        for (centre, range) in self.starts.windows(2).enumerate() {
            for pair in range[0]..range[1] {
                let slot = &mut next[self.others[pair] as usize + 1];
                self.pairs_in[*slot as usize] =
                    Incoming { centre: centre as u32, pair: pair as u32 };
                *slot += 1;
            }
        }
    }

    /// Nodes of the graph.
    pub(super) fn nodes(&self) -> usize {
        self.places.len()
    }

    /// Pairs, equal ones put together.
    pub(super) fn len(&self) -> usize {
        self.others.len()
    }

    /// The place of a node among the centres.
    pub(super) fn place(&self, node: usize) -> Option<usize> {
        Some(self.places[node]).filter(|&place| place != NOT).map(|place| place as usize)
    }

    /// The places of the pairs of some centres.
    pub(super) fn pairs_of(&self, centres: Range<usize>) -> Range<usize> {
        self.starts[centres.start]..self.starts[centres.end]
    }

    /// The other ends of the centre at a place, and the weights of these pairs.
    pub(super) fn of(&self, at: usize) -> (&[Node], &[f32]) {
        let range = self.pairs_of(at..at + 1);
        (&self.others[range.clone()], &self.weights[range])
    }

    /// The weights of the pairs from the centre at a place on, with at least [`PIECE`] behind the
    /// last one.
    pub(super) fn weights_from(&self, at: usize) -> &[f32] {
        &self.weights[self.starts[at]..]
    }

    /// The other ends from the centre at a place on.
    pub(super) fn others_from(&self, at: usize) -> &[Node] {
        &self.others[self.starts[at]..]
    }

    /// The pairs that a node is the other end of; and these together with those of later nodes.
    pub(super) fn towards(&self, node: usize) -> (&[Incoming], &[Incoming]) {
        let later = &self.pairs_in[self.incoming[node] as usize..];
        (&later[..(self.incoming[node + 1] - self.incoming[node]) as usize], later)
    }
}
