//! Pairs without an edge: the edge-based sampler of LINE and GAE.

use std::collections::HashMap;
use std::sync::Arc;

use super::NegativeSampler;
use crate::graph::{Graph, Node};
use crate::rng::Rng;

/// P(k|i) is the same for every k ≠ i that is not next to i. A centre that is next to all others
/// has no negatives.
///
/// A centre with few neighbours proposes any node and rejects its neighbours, at most half of the
/// tries. To tell a neighbour in constant time, its row is divided into equal ranges of nodes,
/// about four neighbours each on average, and the start of each range is noted: whatever the
/// row, a *random* node falls into a range with four neighbours on average. A centre with more
/// than n / 2 neighbours has its fewer other nodes listed.
pub(super) struct Edge {
    graph: Arc<Graph>,
    /// Where each range begins in its row.
    range_starts: Vec<u32>,
    /// Where the ranges of each node begin in `range_starts`.
    first_range: Vec<usize>,
    others: HashMap<Node, Vec<Node>>,
}

impl Edge {
    pub(super) fn bytes(graph: &Graph) -> u64 {
        graph.arcs() as u64 + graph.nodes() as u64 * 12
    }

    pub(super) fn new(graph: &Arc<Graph>) -> Self {
        let n = graph.nodes();
        let mut range_starts = Vec::with_capacity(graph.arcs() / 4 + n);
        let mut first_range = Vec::with_capacity(n);
        let mut others = HashMap::new();
        for centre in 0..n as Node {
            let row = graph.neighbours(centre);
            first_range.push(range_starts.len());
            let ranges = Ranges::new(row.len(), n);
            let mut at = 0;
            for range in 0..ranges.count {
                while at < row.len() && ranges.of(row[at]) < range {
                    at += 1;
                }
                range_starts.push(at as u32);
            }
            if row.len() > n / 2 {
                let list = (0..n as Node).filter(|k| *k != centre && row.binary_search(k).is_err());
                others.insert(centre, list.collect());
            }
        }
        Self { graph: Arc::clone(graph), range_starts, first_range, others }
    }
}

/// Equal ranges of nodes.
struct Ranges {
    count: usize,
    /// Ranges for a node, in parts of 2³². The range of a node is a product then: a division for
    /// every draw would take longer than all the rest.
    scale: u64,
}

impl Ranges {
    /// Those of a row.
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
        if let Some(others) = self.others.get(&centre) {
            if others.is_empty() {
                return;
            }
            for negative in out {
                *negative = others[rng.below(others.len())];
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
