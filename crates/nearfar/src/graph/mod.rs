//! Stage 1, load: graphs from files and generators, in compressed sparse rows (CSR).

mod build;
mod builtin;
mod components;
mod csr;
pub(crate) mod dataset;
mod directed;
mod ids;
pub(crate) mod labels;
mod lengths;
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
pub use lengths::Distance;
pub use pack::{PackConfig, Packed, open_packed, pack, packed_record};
pub use read::{
    Column, Header, InputFormat, ReadOptions, Separator, known_ends, known_weight, read,
};
pub(crate) use read::{SparseRows, read_sparse};
pub use stats::GraphStats;
pub use storage::{Direction, Storage};
pub use summary::{Origin, ReadSummary, UsedColumns};
pub use synth::{Join, Preset, SynthConfig, synth};

use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::sync::Arc;

use crate::memory::{self, Array};
use directed::Incoming;

/// A node, as the index of its row. Four bytes: up to 4 294 967 294 nodes.
pub type Node = u32;

/// A graph in compressed sparse rows: the neighbours of node i are
/// `targets[offsets[i]..offsets[i + 1]]`, in increasing order, without i itself and without
/// duplicates. An edge of an undirected graph is in the rows of both of its ends. In a directed
/// graph, the neighbours of a node are the targets of its arcs.
#[derive(Clone, Debug)]
pub struct Graph {
    offsets: Array<usize>,
    targets: Array<Node>,
    weights: Option<Array<f32>>,
    /// The lengths of arcs, where distances are lengths.
    lengths: Option<Array<f32>>,
    ids: NodeIds,
    /// The arcs by target; `None` in an undirected graph, whose rows hold them already.
    incoming: Option<Incoming>,
}

impl Graph {
    /// The undirected graph of these rows, which are as described above.
    fn of_rows(
        offsets: Vec<usize>,
        targets: Vec<Node>,
        weights: Option<Vec<f32>>,
        ids: NodeIds,
    ) -> Self {
        let weights = weights.map(Array::from);
        let (offsets, targets) = (offsets.into(), targets.into());
        Self { offsets, targets, weights, lengths: None, ids, incoming: None }
    }

    /// The number of nodes n.
    pub fn nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of edges, each counted once: arcs, in a directed graph.
    pub fn edges(&self) -> usize {
        if self.is_directed() { self.arcs() } else { self.arcs() / 2 }
    }

    /// Whether edges have a direction.
    #[inline]
    pub fn is_directed(&self) -> bool {
        self.incoming.is_some()
    }

    /// The number of directed edges: an edge of an undirected graph counts in both directions.
    pub fn arcs(&self) -> usize {
        self.targets.len()
    }

    /// The neighbours of a node, in increasing order.
    #[inline]
    pub fn neighbours(&self, node: Node) -> &[Node] {
        &self.targets[self.offsets[node as usize]..self.offsets[node as usize + 1]]
    }

    /// The nodes with an arc to this one, in increasing order: its neighbours, in an undirected graph.
    #[inline]
    pub fn incoming(&self, node: Node) -> &[Node] {
        match &self.incoming {
            Some(incoming) => incoming.of(node),
            None => self.neighbours(node),
        }
    }

    /// This graph or, if it is directed, the undirected one of its arcs. The weights of two opposite
    /// arcs are added; the shorter of their lengths counts.
    #[must_use]
    pub fn to_undirected(self: &Arc<Self>) -> Arc<Self> {
        if self.is_directed() { Arc::new(directed::undirected(self)) } else { Arc::clone(self) }
    }

    /// The undirected graph of a directed one.
    pub(crate) fn without_directions(&self) -> Self {
        directed::undirected(self)
    }

    /// The memory of [`to_undirected`](Self::to_undirected) beside this graph.
    pub(crate) fn undirected_bytes(&self) -> u64 {
        let values = u64::from(self.is_weighted()) + u64::from(self.has_lengths());
        let arc = 8 + 8 * values as usize;
        if self.is_directed() { (self.nodes() * 8 + self.arcs() * arc) as u64 } else { 0 }
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

    /// Where the neighbours of each node begin in [`targets`](Self::targets), and the end.
    #[doc(hidden)]
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The neighbours of all nodes, one node after the other.
    #[doc(hidden)]
    #[inline]
    pub fn targets(&self) -> &[Node] {
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

    /// The weight of the edge from one node to another: 1 in a graph without weights, 0 without edge.
    pub(crate) fn arc_weight(&self, from: Node, to: Node) -> f32 {
        match self.neighbours(from).binary_search(&to) {
            Ok(at) => self.weights(from).map_or(1.0, |weights| weights[at]),
            Err(_) => 0.0,
        }
    }

    /// Whether edges have lengths: distances are then sums of lengths, not numbers of hops.
    pub fn has_lengths(&self) -> bool {
        self.lengths.is_some()
    }

    /// The lengths of the edges to [`neighbours`](Self::neighbours), if edges have lengths.
    pub fn lengths(&self, node: Node) -> Option<&[f32]> {
        self.lengths.as_ref().map(|lengths| &lengths[self.places(node)])
    }

    /// The length of the edge to a neighbour: 1 where distances are hops.
    #[inline]
    pub(crate) fn length_at(&self, node: Node, neighbour: usize) -> f64 {
        let place = self.offsets[node as usize] + neighbour;
        self.lengths.as_ref().map_or(1.0, |lengths| f64::from(lengths[place]))
    }

    /// The length of the edge from one node to another, which exists.
    pub(crate) fn length(&self, from: Node, to: Node) -> f64 {
        self.length_at(from, self.neighbours(from).partition_point(|&other| other < to))
    }

    /// The length of the edge from one node to another; infinite without edge.
    pub fn edge_length(&self, from: Node, to: Node) -> f32 {
        match self.neighbours(from).binary_search(&to) {
            Ok(at) => self.length_at(from, at) as f32,
            Err(_) => f32::INFINITY,
        }
    }

    /// The number of neighbours of a node; of arcs from it, in a directed graph.
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

    /// Each edge once, as (a, b, weight) with a < b, ordered by a, then by b; each arc from a to b, in
    /// a directed graph. The weight is `None` in a graph without weights.
    pub fn edges_once(&self) -> impl Iterator<Item = (Node, Node, Option<f32>)> {
        (0..self.nodes() as Node).flat_map(move |a| {
            let (targets, weights) = (self.neighbours(a), self.weights(a));
            let first = if self.is_directed() { 0 } else { targets.partition_point(|&b| b < a) };
            (first..targets.len()).map(move |at| (a, targets[at], weights.map(|w| w[at])))
        })
    }

    /// Whether there is an edge between two nodes; from a to b, in a directed graph.
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
        let lengths = if self.has_lengths() { 4 } else { 0 };
        let incoming = self.incoming.as_ref().map_or(0, Incoming::bytes);
        let rows = (self.offsets.len() * 8 + self.targets.len() * (4 + weights + lengths)) as u64;
        rows + incoming + self.ids.bytes()
    }

    /// A hash of nodes, edges and weights. Ids do not enter.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = foldhash::quality::FixedState::with_seed(0).build_hasher();
        hasher.write_usize(self.nodes());
        if self.is_directed() {
            hasher.write(b"directed");
        }
        for node in 0..self.nodes() as Node {
            hasher.write_usize(self.degree(node));
            for &target in self.neighbours(node) {
                hasher.write_u32(target);
            }
            let weights = self.weights(node).unwrap_or_default();
            for weight in weights {
                hasher.write_u32(weight.to_bits());
            }
            for length in self.lengths(node).unwrap_or_default() {
                hasher.write_u32(length.to_bits());
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
        let mut lengths = self.has_lengths().then(Vec::new);
        for &row in rows {
            for (at, &target) in self.neighbours(row).iter().enumerate() {
                let target = new_row[target as usize];
                if target != Node::MAX {
                    targets.push(target);
                    if let (Some(new), Some(old)) = (&mut weights, self.weights(row)) {
                        new.push(old[at]);
                    }
                    if let (Some(new), Some(old)) = (&mut lengths, self.lengths(row)) {
                        new.push(old[at]);
                    }
                }
            }
            offsets.push(targets.len());
        }
        let incoming = self.is_directed().then(|| Incoming::new(&offsets, &targets));
        Self {
            lengths: lengths.map(Array::from),
            incoming,
            ..Self::of_rows(offsets, targets, weights, self.ids.select(rows))
        }
    }
}
