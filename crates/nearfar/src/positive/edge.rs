//! Edges as positive pairs: LINE.
//!
//! Edges are drawn by weight, so the number that begin at a node is ∝ its (weighted) degree.

use std::sync::Arc;

use super::{PositiveSource, Walk};
use crate::graph::{Graph, Node};
use crate::rng::Rng;

/// Walks of one step; the number from each node is ∝ its (weighted) degree.
pub struct Edges {
    steps: Walk,
    /// The mean [`weight`](Self::weight) of a node.
    mean: f64,
}

impl Edges {
    /// Prepares draws of edges.
    pub fn new(graph: &Arc<Graph>) -> Self {
        let mut edges = Self { steps: Walk::new(graph), mean: 1.0 };
        let total: f64 = (0..graph.nodes() as Node).map(|node| edges.weight(node)).sum();
        edges.mean = total / graph.nodes().max(1) as f64;
        edges
    }

    /// The weighted degree of a node divided by the mean over all nodes.
    pub fn share(&self, node: Node) -> f64 {
        self.weight(node) / self.mean
    }

    /// The weighted degree of a node.
    fn weight(&self, node: Node) -> f64 {
        self.steps.graph().weighted_degree(node)
    }
}

impl PositiveSource for Edges {
    fn walk(&self, start: Node, rng: &mut Rng, out: &mut [Node]) -> usize {
        self.steps.walk(start, rng, out)
    }

    fn walks(&self, starts: &[Node], rngs: &mut [Rng], out: &mut [Node]) {
        self.steps.walks(starts, rngs, out);
    }

    fn walks_from(&self, start: Node, walks: usize, rng: &mut Rng) -> usize {
        // Stochastic rounding: the expected number is exact.
        (walks as f64 * self.share(start) + rng.unit()) as usize
    }
}
