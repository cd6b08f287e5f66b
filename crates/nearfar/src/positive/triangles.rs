//! Which edges may be sides of a triangle.
//!
//! One bit for every edge and direction, so that walks can look it up at the place where they
//! found their step. Edges between nodes of many neighbours are not looked at to the end: the bit
//! then says "maybe", and the time stays linear in the edges.

use rayon::prelude::*;

use crate::graph::{Graph, Node};
use crate::memory;

/// For every place in [`Graph::targets`]: whether the two nodes may have a neighbour in common.
pub(super) struct Triangles {
    bits: Vec<u64>,
}

impl Triangles {
    /// The memory that it takes.
    pub(super) fn bytes(graph: &Graph) -> u64 {
        graph.arcs() as u64 / 8
    }

    /// Looks at all edges.
    pub(super) fn new(graph: &Graph) -> Self {
        /// StringIds that a thread fills at a time.
        const RUN: usize = 1 << 10;
        let mut bits = memory::zeroed(graph.arcs().div_ceil(64));
        bits.par_chunks_mut(RUN).enumerate().for_each_init(
            || Marks { bits: vec![0; graph.nodes().div_ceil(64)] },
            |marks, (run, bits)| {
                let first = run * RUN * 64;
                let end = (first + bits.len() * 64).min(graph.arcs());
                let mut node = graph.node_at(first);
                let mut place = first;
                while place < end {
                    let row = graph.places(node);
                    marks.set(graph.neighbours(node), true);
                    for place in place..row.end.min(end) {
                        let at = place - first;
                        bits[at / 64] |= u64::from(marks.maybe(graph, node, place)) << (at % 64);
                    }
                    marks.set(graph.neighbours(node), false);
                    place = row.end;
                    node += 1;
                }
            },
        );
        Self { bits }
    }

    /// Whether the edge at a place may be in a triangle.
    #[inline]
    pub(super) fn maybe(&self, place: usize) -> bool {
        self.bits[place / 64] >> (place % 64) & 1 == 1
    }

    /// Asks for the answer, so that it is there when it is needed.
    #[inline]
    pub(super) fn prefetch(&self, place: usize) {
        memory::prefetch(&self.bits, place / 64);
    }
}

/// A bit for every node: whether it is next to the one that is looked at.
struct Marks {
    bits: Vec<u64>,
}

impl Marks {
    fn set(&mut self, nodes: &[Node], next: bool) {
        for &node in nodes {
            let word = &mut self.bits[node as usize / 64];
            *word = *word & !(1 << (node % 64)) | u64::from(next) << (node % 64);
        }
    }

    fn has(&self, node: Node) -> bool {
        self.bits[node as usize / 64] >> (node % 64) & 1 == 1
    }

    /// Whether the marked node and its neighbour at a place may have one in common.
    fn maybe(&self, graph: &Graph, node: Node, place: usize) -> bool {
        /// So many neighbours are looked at, no more.
        const LOOKS: usize = 128;
        /// Rows are asked for so many places before they are needed.
        const AHEAD: usize = 8;
        let targets = graph.targets();
        if let Some(&next) = targets.get(place + AHEAD / 2) {
            graph.prefetch_target(graph.places(next).start);
        }
        if let Some(&later) = targets.get(place + AHEAD) {
            graph.prefetch_places(later);
        }
        let [here, there] = [node, targets[place]].map(|node| graph.neighbours(node));
        if there.len() <= LOOKS {
            there.iter().any(|&node| self.has(node))
        } else {
            here.len() > LOOKS || here.iter().any(|node| there.binary_search(node).is_ok())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{EdgeList, NodeIds};
    use crate::rng::{Purpose, Rng};

    #[test]
    fn edges_outside_of_triangles_are_found_but_between_hubs() {
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
            for (place, &b) in graph.places(a).zip(graph.neighbours(a)) {
                let in_one = graph.neighbours(a).iter().any(|&c| graph.has_edge(b, c));
                let between_hubs = a < 2 && b < 2;
                assert_eq!(triangles.maybe(place), in_one || between_hubs, "{a}–{b}");
                in_none += usize::from(!in_one);
            }
        }
        assert!(in_none > 1000 && in_none < graph.arcs(), "both kinds are there");
    }
}
