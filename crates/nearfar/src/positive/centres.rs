//! How often nodes are centres: ∝ a power of their degree.
//!
//! With power 0 every node is a centre equally often. Power 1 is the stationary distribution of a
//! random walk: long walks visit nodes that often, and every edge counts the same.

use crate::graph::{Graph, Node};
use crate::rng::Rng;

/// The weights of nodes as centres, 1 on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CentreWeights {
    power: f64,
    /// The weighted degree that a node without edges counts as: that of a single edge, or 1 if there
    /// are none.
    of_isolated: f64,
    /// The mean of degree^power.
    mean: f64,
}

impl CentreWeights {
    /// Weights ∝ (weighted) degree^power.
    pub fn new(graph: &Graph, power: f64) -> Self {
        let nodes = 0..graph.nodes() as Node;
        let total: f64 = nodes.clone().map(|node| graph.weighted_degree(node)).sum();
        let of_isolated = if graph.arcs() == 0 { 1.0 } else { total / graph.arcs() as f64 };
        let mut weights = Self { power, of_isolated, mean: 1.0 };
        if power != 0.0 {
            let sum: f64 = nodes.map(|node| weights.of(graph, node)).sum();
            weights.mean = sum / graph.nodes().max(1) as f64;
        }
        weights
    }

    /// The weight of a node.
    pub fn of(&self, graph: &Graph, node: Node) -> f64 {
        let degree =
            if graph.degree(node) == 0 { self.of_isolated } else { graph.weighted_degree(node) };
        degree.powf(self.power) / self.mean
    }

    /// The number of walks from a node where `walks` are taken per node on average. Stochastic
    /// rounding: the expected number is exact.
    pub(super) fn walks(&self, graph: &Graph, node: Node, walks: usize, rng: &mut Rng) -> usize {
        if self.power == 0.0 {
            return walks;
        }
        (walks as f64 * self.of(graph, node) + rng.unit()) as usize
    }
}
