//! The weighted pairs of a batch, by centre and by other node.

use std::ops::Range;

use crate::graph::Node;
use crate::simd::PIECE;

/// The pairs of a batch, in both orders.
#[derive(Default)]
pub(super) struct Batch {
    /// Number of pairs before equal ones were merged.
    pub(super) pairs: u64,
    /// The nodes that are centres, in increasing order.
    pub(super) centres: Vec<Node>,
    /// For each centre the offset of its pairs, then the number of pairs.
    starts: Vec<usize>,
    /// The other node of each pair, by centre.
    others: Vec<Node>,
    /// The weight of each pair, above zero for positive and below for negative pairs. [`PIECE`]
    /// zeros follow.
    weights: Vec<f32>,
    /// The pairs by other node.
    incoming: Vec<Incoming>,
    /// For each node, where its incoming pairs are.
    of_nodes: Vec<IncomingRange>,
    /// For each node its index in `centres`, or [`NO_CENTRE`].
    centre_indices: Vec<u32>,
}

/// The incoming pairs of a node: those in which it is the other node.
#[derive(Clone, Copy, Default)]
struct IncomingRange {
    /// While pairs are added, their number; once they are sorted, where they end in `incoming`.
    end: u32,
    /// One more than the last index of the node in `others`; 0 if it has none.
    seen: u32,
}

/// A pair, as its other node sees it.
#[derive(Clone, Copy, Default)]
pub(super) struct Incoming {
    /// Index of the centre in `centres`.
    pub(super) centre: u32,
    /// Index of the pair in `others`.
    pub(super) pair: u32,
}

/// The index of a node that is not a centre.
const NO_CENTRE: u32 = u32::MAX;

impl Batch {
    /// Removes all pairs, and keeps their buffers. The graph has so many nodes.
    pub(super) fn clear(&mut self, nodes: usize) {
        self.of_nodes.clear();
        self.of_nodes.resize(nodes, IncomingRange::default());
        self.centre_indices.clear();
        self.centre_indices.resize(nodes, NO_CENTRE);
        self.pairs = 0;
        self.centres.clear();
        self.starts.clear();
        self.others.clear();
        self.weights.clear();
    }

    /// Adds a centre, whose pairs follow. Centres are added in increasing order.
    pub(super) fn begin(&mut self, centre: Node) {
        self.centre_indices[centre as usize] = self.centres.len() as u32;
        self.centres.push(centre);
        self.starts.push(self.others.len());
    }

    /// Adds a pair to the last centre.
    #[inline]
    pub(super) fn add(&mut self, other: Node, weight: f32) {
        self.of_nodes[other as usize].end += 1;
        self.others.push(other);
        self.weights.push(weight);
    }

    /// Adds negatives to the last centre, all of one weight. A node that is repeated adds to the
    /// weight of its first pair. New and repeated nodes take the same path, as a branch between them
    /// would be unpredictable.
    pub(super) fn add_negatives(&mut self, negatives: &[Node], weight: f32) {
        let start = self.others.len();
        self.others.resize(start + negatives.len(), 0);
        self.weights.resize(start + negatives.len(), 0.0);
        let (others, weights) = (&mut self.others[start..], &mut self.weights[start..]);
        let mut length = 0;
        for &other in negatives {
            let incoming = &mut self.of_nodes[other as usize];
            let repeated = incoming.seen as usize > start;
            let index = if repeated { incoming.seen as usize - start - 1 } else { length };
            incoming.seen = (start + index + 1) as u32;
            incoming.end += u32::from(!repeated);
            others[index] = other;
            weights[index] -= weight;
            length += usize::from(!repeated);
        }
        self.others.truncate(start + length);
        self.weights.truncate(start + length);
    }

    /// Sorts the pairs by their other nodes, once all are added.
    pub(super) fn sort(&mut self) {
        self.starts.push(self.others.len());
        self.weights.resize(self.others.len() + PIECE, 0.0);
        // At first where the incoming pairs of a node begin; once all are filled in, where they end.
        let mut before = 0;
        for incoming in &mut self.of_nodes {
            before += std::mem::replace(&mut incoming.end, before);
        }
        self.incoming.resize(self.others.len(), Incoming::default());
        for (centre, range) in self.starts.windows(2).enumerate() {
            for pair in range[0]..range[1] {
                let slot = &mut self.of_nodes[self.others[pair] as usize].end;
                self.incoming[*slot as usize] =
                    Incoming { centre: centre as u32, pair: pair as u32 };
                *slot += 1;
            }
        }
    }

    /// Nodes of the graph.
    pub(super) fn nodes(&self) -> usize {
        self.centre_indices.len()
    }

    /// Number of pairs, equal ones merged.
    pub(super) fn len(&self) -> usize {
        self.others.len()
    }

    /// The index of a node in `centres`.
    pub(super) fn centre_index(&self, node: usize) -> Option<usize> {
        Some(self.centre_indices[node]).filter(|&index| index != NO_CENTRE).map(|at| at as usize)
    }

    /// The indices of the pairs of some centres, which are given by index.
    pub(super) fn pairs_of(&self, centres: Range<usize>) -> Range<usize> {
        self.starts[centres.start]..self.starts[centres.end]
    }

    /// The other nodes of the centre with this index, and the weights of these pairs.
    pub(super) fn of(&self, centre: usize) -> (&[Node], &[f32]) {
        let range = self.pairs_of(centre..centre + 1);
        (&self.others[range.clone()], &self.weights[range])
    }

    /// The weights of all pairs from the centre with this index on, and [`PIECE`] zeros.
    pub(super) fn weights_from(&self, centre: usize) -> &[f32] {
        &self.weights[self.starts[centre]..]
    }

    /// The other nodes of all pairs from the centre with this index on.
    pub(super) fn others_from(&self, centre: usize) -> &[Node] {
        &self.others[self.starts[centre]..]
    }

    /// The incoming pairs of a node; and these followed by those of all later nodes.
    #[inline]
    pub(super) fn incoming(&self, node: usize) -> (&[Incoming], &[Incoming]) {
        let start = if node > 0 { self.of_nodes[node - 1].end as usize } else { 0 };
        let later = &self.incoming[start..];
        (&later[..self.of_nodes[node].end as usize - start], later)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is repeated within a centre is one pair of their total weight, also where its first pair is
    /// next to one of the centre before.
    #[test]
    fn repeated_negatives_of_a_centre_are_one_pair() {
        let mut batch = Batch::default();
        for _ in 0..2 {
            batch.clear(7);
            batch.begin(2);
            batch.add(4, 0.5);
            batch.add_negatives(&[5, 6, 5, 5, 1], 0.25);
            batch.begin(3);
            batch.add_negatives(&[1, 5, 1], 0.25);
            batch.begin(6);
            batch.add_negatives(&[], 0.25);
            batch.sort();
            assert_eq!((batch.nodes(), batch.len()), (7, 6));
            let (others, weights) = batch.of(0);
            assert_eq!(others, [4, 5, 6, 1]);
            assert_eq!(weights, [0.5, -0.75, -0.25, -0.25]);
            let (others, weights) = batch.of(1);
            assert_eq!(others, [1, 5]);
            assert_eq!(weights, [-0.5, -0.25]);
            assert!(batch.of(2).0.is_empty());
            assert_eq!(batch.weights_from(1), [vec![-0.5, -0.25], vec![0.0; PIECE]].concat());
            assert_eq!(batch.others_from(0), [4, 5, 6, 1, 1, 5]);
            let indices: Vec<_> = (0..7).map(|node| batch.centre_index(node)).collect();
            assert_eq!(indices, [None, None, Some(0), Some(1), None, None, Some(2)]);
            // By other node, then by centre.
            let incoming = |node: usize| -> Vec<(u32, u32)> {
                batch.incoming(node).0.iter().map(|at| (at.centre, at.pair)).collect()
            };
            let all: Vec<_> = (0..7).map(incoming).collect();
            let none = vec![];
            let expected = [
                none.clone(),
                vec![(0, 3), (1, 4)],
                none.clone(),
                none,
                vec![(0, 0)],
                vec![(0, 1), (1, 5)],
                vec![(0, 2)],
            ];
            assert_eq!(all, expected);
        }
    }
}
