//! Negatives among non-neighbours: the edge-based sampler of LINE and GAE.

use std::collections::HashMap;
use std::sync::Arc;

use super::NegativeSampler;
use crate::graph::{Graph, Node};
use crate::rng::Rng;

/// P(k|i) is uniform over the k ≠ i without an edge to i. A centre adjacent to all other nodes has
/// no negatives.
///
/// For a centre with at most n / 2 neighbours, nodes are proposed uniformly and neighbours are
/// rejected, at most half of the proposals. To test for a neighbour in constant expected time, the
/// node ids are divided into equal ranges, one for every four neighbours, and the offset in the
/// row at which each range begins is stored: whatever the row, the range of a *uniform* node has
/// about four neighbours on average. For a centre with more than n / 2 neighbours the
/// non-neighbours are listed.
pub(super) struct Edge {
    graph: Arc<Graph>,
    /// The offset in its row at which each range begins.
    range_starts: Vec<u32>,
    /// The index in `range_starts` of the first range of each node.
    first_range: Vec<usize>,
    /// The non-neighbours of each centre with more than n / 2 neighbours.
    non_neighbours: HashMap<Node, Vec<Node>>,
}

impl Edge {
    pub(super) fn bytes(graph: &Graph) -> u64 {
        graph.arcs() as u64 + graph.nodes() as u64 * 12
    }

    pub(super) fn new(graph: &Arc<Graph>) -> Self {
        let n = graph.nodes();
        let mut range_starts = Vec::with_capacity(graph.arcs() / 4 + n);
        let mut first_range = Vec::with_capacity(n);
        let mut non_neighbours = HashMap::new();
        for centre in 0..n as Node {
            let row = graph.neighbours(centre);
            first_range.push(range_starts.len());
            let ranges = Ranges::new(row.len(), n);
            let mut offset = 0;
            for range in 0..ranges.count {
                while offset < row.len() && ranges.of(row[offset]) < range {
                    offset += 1;
                }
                range_starts.push(offset as u32);
            }
            if row.len() > n / 2 {
                let list = (0..n as Node).filter(|k| *k != centre && row.binary_search(k).is_err());
                non_neighbours.insert(centre, list.collect());
            }
        }
        Self { graph: Arc::clone(graph), range_starts, first_range, non_neighbours }
    }
}

/// A division of the node ids into equal ranges.
struct Ranges {
    count: usize,
    /// Ranges per node as a 32-bit fixed-point fraction. The range of a node is then a product: a
    /// division would dominate the cost of a draw.
    scale: u64,
}

impl Ranges {
    /// The ranges for a node of this degree.
    fn new(degree: usize, nodes: usize) -> Self {
        let count = degree / 4 + 1;
        Self { count, scale: ((count as u64) << 32) / nodes as u64 }
    }

    #[inline]
    fn of(&self, k: Node) -> usize {
        ((u64::from(k) * self.scale) >> 32) as usize
    }
}

impl NegativeSampler for Edge {
    fn has_negatives(&self, centre: Node) -> bool {
        self.graph.degree(centre) + 1 < self.graph.nodes()
    }

    fn fill(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) {
        if let Some(list) = self.non_neighbours.get(&centre) {
            if list.is_empty() {
                return;
            }
            for negative in out {
                *negative = list[rng.below(list.len())];
            }
            return;
        }
        let row = self.graph.neighbours(centre);
        let ranges = Ranges::new(row.len(), self.graph.nodes());
        let starts = &self.range_starts[self.first_range[centre as usize]..][..ranges.count];
        let is_neighbour = |k: Node| {
            let start = starts[ranges.of(k)] as usize;
            row[start..].iter().find(|&&other| other >= k) == Some(&k)
        };
        for negative in out {
            *negative = loop {
                let k = rng.below(self.graph.nodes()) as Node;
                if k != centre && !is_neighbour(k) {
                    break k;
                }
            };
        }
    }

    fn weights(&self, centre: Node, out: &mut [f64]) {
        out.fill(1.0);
        out[centre as usize] = 0.0;
        self.graph.neighbours(centre).iter().for_each(|&k| out[k as usize] = 0.0);
    }
}
