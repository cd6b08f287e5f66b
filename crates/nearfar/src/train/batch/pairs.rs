//! What a batch is made of: pairs, each with its weight, in the order of either of their ends.

use std::ops::Range;

use crate::graph::Node;
use crate::simd::PIECE;

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
    /// The pairs in the order of their other ends, and of every node those that it is the end of.
    incoming: Vec<Incoming>,
    ends: Vec<End>,
    /// Place of each node in `centres`; `NOT` for others.
    places: Vec<u32>,
}

/// What is known of a node as the other end of pairs.
#[derive(Clone, Copy, Default)]
struct End {
    /// How many there are; once they are sorted, where they end in `incoming`.
    pairs: u32,
    /// One more than the place where it was last seen among `others`; 0 if it was not.
    seen: u32,
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
        self.ends.clear();
        self.ends.resize(nodes, End::default());
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
        self.ends[other as usize].pairs += 1;
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
            let end = &mut self.ends[other as usize];
            let again = end.seen as usize > start;
            let place = if again { end.seen as usize - start - 1 } else { length };
            end.seen = (start + place + 1) as u32;
            end.pairs += u32::from(!again);
            others[place] = other;
            weights[place] -= weight;
            length += usize::from(!again);
        }
        self.others.truncate(start + length);
        self.weights.truncate(start + length);
    }

    /// Sorts the pairs by their other ends, once all are there.
    pub(super) fn sort(&mut self) {
        self.starts.push(self.others.len());
        self.weights.resize(self.others.len() + PIECE, 0.0);
        // Where the pairs of a node begin, at first; once all are in their place, where they end.
        let mut before = 0;
        for end in &mut self.ends {
            before += std::mem::replace(&mut end.pairs, before);
        }
        self.incoming.resize(self.others.len(), Incoming::default());
        for (centre, range) in self.starts.windows(2).enumerate() {
            for pair in range[0]..range[1] {
                let slot = &mut self.ends[self.others[pair] as usize].pairs;
                self.incoming[*slot as usize] =
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
    #[inline]
    pub(super) fn towards(&self, node: usize) -> (&[Incoming], &[Incoming]) {
        let start = if node > 0 { self.ends[node - 1].pairs as usize } else { 0 };
        let later = &self.incoming[start..];
        (&later[..self.ends[node].pairs as usize - start], later)
    }
}
