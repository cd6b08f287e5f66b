//! Which edges may be in a triangle.
//!
//! One bit for every arc, so that a walk can look it up by the arc of its last step. The bit has
//! one-sided error: edges between two nodes of high degree are not tested and have it set, so that
//! the time stays linear in the edges.

use rayon::prelude::*;

use crate::graph::{Graph, Node};
use crate::memory;

/// For every arc (an index into [`Graph::targets`]): whether its ends may have a common neighbour.
pub(super) struct Triangles {
    bits: Vec<u64>,
}

impl Triangles {
    /// The memory of the bits.
    pub(super) fn bytes(graph: &Graph) -> u64 {
        graph.arcs() as u64 / 8
    }

    /// Tests all edges.
    pub(super) fn new(graph: &Graph) -> Self {
        /// 64-bit words that a task fills.
        const CHUNK: usize = 1 << 10;
        let mut bits = memory::zeroed(graph.arcs().div_ceil(64));
        bits.par_chunks_mut(CHUNK).enumerate().for_each_init(
            || NodeSet { bits: vec![0; graph.nodes().div_ceil(64)] },
            |adjacent, (chunk, bits)| {
                let first = chunk * CHUNK * 64;
                let end = (first + bits.len() * 64).min(graph.arcs());
                let mut node = graph.node_at(first);
                let mut arc = first;
                while arc < end {
                    let row = graph.places(node);
                    adjacent.set(graph.neighbours(node), true);
                    for arc in arc..row.end.min(end) {
                        let maybe = adjacent.maybe_triangle(graph, node, arc);
                        bits[(arc - first) / 64] |= u64::from(maybe) << ((arc - first) % 64);
                    }
                    adjacent.set(graph.neighbours(node), false);
                    arc = row.end;
                    node += 1;
                }
            },
        );
        Self { bits }
    }

    /// Whether the edge of an arc may be in a triangle.
    #[inline]
    pub(super) fn maybe(&self, arc: usize) -> bool {
        self.bits[arc / 64] >> (arc % 64) & 1 == 1
    }

    /// Prefetches the bit of an arc.
    #[inline]
    pub(super) fn prefetch(&self, arc: usize) {
        memory::prefetch(&self.bits, arc / 64);
    }
}

/// A set of nodes, one bit each: the neighbours of the node whose arcs are tested.
struct NodeSet {
    bits: Vec<u64>,
}

impl NodeSet {
    fn set(&mut self, nodes: &[Node], present: bool) {
        for &node in nodes {
            let word = &mut self.bits[node as usize / 64];
            *word = *word & !(1 << (node % 64)) | u64::from(present) << (node % 64);
        }
    }

    fn contains(&self, node: Node) -> bool {
        self.bits[node as usize / 64] >> (node % 64) & 1 == 1
    }

    /// Whether `node`, whose neighbours are in the set, and the target of its arc may have a common
    /// neighbour.
    fn maybe_triangle(&self, graph: &Graph, node: Node, arc: usize) -> bool {
        /// Edges whose ends both have a higher degree are not tested.
        const MAX_DEGREE: usize = 128;
        /// Rows are prefetched this many arcs ahead.
        const AHEAD: usize = 8;
        let targets = graph.targets();
        if let Some(&next) = targets.get(arc + AHEAD / 2) {
            graph.prefetch_target(graph.places(next).start);
        }
        if let Some(&later) = targets.get(arc + AHEAD) {
            graph.prefetch_places(later);
        }
        let [here, there] = [node, targets[arc]].map(|node| graph.neighbours(node));
        if there.len() <= MAX_DEGREE {
            there.iter().any(|&node| self.contains(node))
        } else {
            here.len() > MAX_DEGREE || here.iter().any(|node| there.binary_search(node).is_ok())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{EdgeList, NodeIds};
    use crate::rng::{Purpose, Rng};

    #[test]
    fn only_edges_in_triangles_and_between_hubs_are_marked() {
        // Two hubs that share no neighbour, and random edges among the others.
        let n = 2000;
        let mut rng = Rng::new(0, Purpose::Edge, 0, 0);
        let mut pairs: Vec<(Node, Node)> = (2..n).map(|node| (node % 2, node)).collect();
        pairs.push((0, 1));
        pairs.extend((0..3000).map(|_| {
            let mut end = || 2 + rng.below(n as usize - 2) as Node;
            (end(), end())
        }));
        let ids = NodeIds::Range { start: 0, len: n as usize };
        let (graph, _) = EdgeList { pairs, weights: None, ids }.build().unwrap();
        let triangles = Triangles::new(&graph);
        let mut in_none = 0;
        for a in 0..n {
            for (arc, &b) in graph.places(a).zip(graph.neighbours(a)) {
                let in_one = graph.neighbours(a).iter().any(|&c| graph.has_edge(b, c));
                let between_hubs = a < 2 && b < 2;
                assert_eq!(triangles.maybe(arc), in_one || between_hubs, "{a}–{b}");
                in_none += usize::from(!in_one);
            }
        }
        assert!(in_none > 1000 && in_none < graph.arcs(), "the graph has edges of both kinds");
    }
}
