//! Edges: LINE.
//!
//! Edges are drawn by weight, so a node begins as many of them as its (weighted) degree says.

use std::sync::Arc;

use super::{PositiveSource, Walk};
use crate::graph::{Graph, Node};
use crate::rng::Rng;

/// Walks of one step; more of them begin where there are more edges.
pub struct Edges {
    steps: Walk,
    /// The mean over all nodes of what [`weight`](Self::weight) says.
    mean: f64,
}

impl Edges {
    /// Prepares the edges.
    pub fn new(graph: &Arc<Graph>) -> Self {
        let mut edges = Self { steps: Walk::new(graph), mean: 1.0 };
        let total: f64 = (0..graph.nodes() as Node).map(|node| edges.weight(node)).sum();
        edges.mean = total / graph.nodes().max(1) as f64;
        edges
    }

    /// How many of the edges begin at a node, as a multiple of the mean.
    pub fn share(&self, node: Node) -> f64 {
        self.weight(node) / self.mean
    }

    /// The weight of all edges at a node.
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
        // Rounded up or down at random, so that the mean is right.
        (walks as f64 * self.share(start) + rng.unit()) as usize
    }
}
