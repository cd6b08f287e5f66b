//! Stage 1, load: graphs from files and generators, in compressed sparse rows (CSR).

mod build;
mod builtin;
mod components;
mod csr;
pub(crate) mod dataset;
mod ids;
pub(crate) mod labels;
mod mapped_ids;
mod pack;
pub mod read;
mod stats;
mod storage;
mod summary;
mod synth;

pub use build::{Dropped, EdgeList, Repeats};
pub use components::Components;
pub use csr::CsrRows;
pub use dataset::Dataset;
pub(crate) use ids::integer;
pub use ids::{NodeIds, StringIds};
pub use labels::{Labels, Split, Splits};
pub use pack::{PackConfig, Packed, open_packed, pack};
pub use read::{
    Column, Header, InputFormat, ReadOptions, Separator, known_ends, known_weight, read,
};
pub use stats::GraphStats;
pub use storage::{Direction, Storage};
pub use summary::{Origin, ReadSummary, UsedColumns};
pub use synth::{Join, Preset, SynthConfig, synth};

use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

use crate::memory::{self, Array};

/// A node, as the index of its row. Four bytes: up to 4 294 967 294 nodes.
pub type Node = u32;

/// An undirected graph in compressed sparse rows: the neighbours of node i are
/// `targets[offsets[i]..offsets[i + 1]]`, in increasing order, without i itself and without
/// duplicates. Every edge is in the rows of both of its ends.
#[derive(Clone, Debug)]
pub struct Graph {
    offsets: Array<usize>,
    targets: Array<Node>,
    weights: Option<Array<f32>>,
    ids: NodeIds,
}

impl Graph {
    /// The graph of these rows, which are as described above.
    fn of_rows(
        offsets: Vec<usize>,
        targets: Vec<Node>,
        weights: Option<Vec<f32>>,
        ids: NodeIds,
    ) -> Self {
        let weights = weights.map(Array::from);
        Self { offsets: offsets.into(), targets: targets.into(), weights, ids }
    }

    /// The number of nodes n.
    pub fn nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of edges, each counted once.
    pub fn edges(&self) -> usize {
        self.targets.len() / 2
    }

    /// The number of directed edges: every edge counts in both directions.
    pub fn arcs(&self) -> usize {
        self.targets.len()
    }

    /// The neighbours of a node, in increasing order.
    #[inline]
    pub fn neighbours(&self, node: Node) -> &[Node] {
        &self.targets[self.offsets[node as usize]..self.offsets[node as usize + 1]]
    }

    /// The positions of a node's neighbours in [`targets`](Self::targets).
    #[inline]
    pub(crate) fn places(&self, node: Node) -> Range<usize> {
        self.offsets[node as usize]..self.offsets[node as usize + 1]
    }

    /// The node to whose row a position in [`targets`](Self::targets) belongs.
    pub(crate) fn node_at(&self, at: usize) -> Node {
        self.offsets.partition_point(|&start| start <= at).saturating_sub(1) as Node
    }

    /// The neighbours of all nodes, one node after the other.
    #[inline]
    pub(crate) fn targets(&self) -> &[Node] {
        &self.targets
    }

    /// Prefetches what [`places`](Self::places) of a node reads.
    #[inline]
    pub(crate) fn prefetch_places(&self, node: Node) {
        memory::prefetch(&self.offsets, node as usize);
    }

    /// Prefetches the neighbour at a position.
    #[inline]
    pub(crate) fn prefetch_target(&self, at: usize) {
        memory::prefetch(&self.targets, at);
    }

    /// The weights of the edges to [`neighbours`](Self::neighbours), if the graph has weights.
    pub fn weights(&self, node: Node) -> Option<&[f32]> {
        let row = self.offsets[node as usize]..self.offsets[node as usize + 1];
        self.weights.as_ref().map(|weights| &weights[row])
    }

    /// Whether the graph has weights.
    pub fn is_weighted(&self) -> bool {
        self.weights.is_some()
    }

    /// The number of neighbours of a node.
    #[inline]
    pub fn degree(&self, node: Node) -> usize {
        self.offsets[node as usize + 1] - self.offsets[node as usize]
    }

    /// The sum of the weights of a node's edges; its degree in a graph without weights.
    pub fn weighted_degree(&self, node: Node) -> f64 {
        match self.weights(node) {
            Some(weights) => weights.iter().map(|&weight| f64::from(weight)).sum(),
            None => self.degree(node) as f64,
        }
    }

    /// Each edge once, as (a, b, weight) with a < b, ordered by a, then by b. The weight is `None`
    /// in a graph without weights.
    pub fn edges_once(&self) -> impl Iterator<Item = (Node, Node, Option<f32>)> {
        (0..self.nodes() as Node).flat_map(move |a| {
            let (targets, weights) = (self.neighbours(a), self.weights(a));
            let first = targets.partition_point(|&b| b < a);
            (first..targets.len()).map(move |at| (a, targets[at], weights.map(|w| w[at])))
        })
    }

    /// Whether there is an edge between two nodes.
    pub fn has_edge(&self, a: Node, b: Node) -> bool {
        self.neighbours(a).binary_search(&b).is_ok()
    }

    /// The ids of the nodes.
    pub fn ids(&self) -> &NodeIds {
        &self.ids
    }

    /// The memory that the graph takes, ids included.
    pub fn bytes(&self) -> u64 {
        let weights = if self.is_weighted() { 4 } else { 0 };
        (self.offsets.len() * 8 + self.targets.len() * (4 + weights)) as u64 + self.ids.bytes()
    }

    /// A hash of nodes, edges and weights. Ids do not enter.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = foldhash::quality::FixedState::with_seed(0).build_hasher();
        hasher.write_usize(self.nodes());
        for node in 0..self.nodes() as Node {
            hasher.write_usize(self.degree(node));
            for &target in self.neighbours(node) {
                hasher.write_u32(target);
            }
            let weights = self.weights(node).unwrap_or_default();
            for weight in weights {
                hasher.write_u32(weight.to_bits());
            }
        }
        hasher.finish()
    }

    /// The induced subgraph of some nodes, which keep their ids. `rows` must be increasing.
    #[must_use]
    pub fn induced(&self, rows: &[Node]) -> Self {
        let mut new_row = vec![Node::MAX; self.nodes()];
        for (new, &old) in rows.iter().enumerate() {
            new_row[old as usize] = new as Node;
        }
        let mut offsets = Vec::with_capacity(rows.len() + 1);
        offsets.push(0);
        let mut targets = Vec::new();
        let mut weights = self.is_weighted().then(Vec::new);
        for &row in rows {
            for (at, &target) in self.neighbours(row).iter().enumerate() {
                let target = new_row[target as usize];
                if target != Node::MAX {
                    targets.push(target);
                    if let (Some(new), Some(old)) = (&mut weights, self.weights(row)) {
                        new.push(old[at]);
                    }
                }
            }
            offsets.push(targets.len());
        }
        Self::of_rows(offsets, targets, weights, self.ids.select(rows))
    }
}
