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

    /// The weights of all nodes; `None` if they are equal.
    pub(super) fn all(&self, graph: &Graph) -> Option<Vec<f64>> {
        let nodes = 0..graph.nodes() as Node;
        (self.power != 0.0).then(|| nodes.map(|node| self.of(graph, node)).collect())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{EdgeList, NodeIds};
    use crate::rng::Purpose;

    /// Node 0 has degree 3, or 7.5 with weights; node 4 has none.
    fn star(weights: Option<Vec<f32>>) -> Graph {
        let ids = NodeIds::Range { start: 0, len: 5 };
        EdgeList { pairs: vec![(0, 1), (0, 2), (0, 3)], weights, ids }.build().unwrap().0
    }

    #[test]
    fn weights_are_powers_of_the_degree() {
        for (weights, degrees) in [
            (None, [3.0, 1.0, 1.0, 1.0, 1.0]),
            (Some(vec![0.5, 3.0, 4.0]), [7.5, 0.5, 3.0, 4.0, 2.5]),
        ] {
            let graph = star(weights);
            for power in [0.0, 0.5, 1.0, 2.0] {
                let powers = degrees.map(|degree: f64| degree.powf(power));
                let mean = powers.iter().sum::<f64>() / 5.0;
                let found = CentreWeights::new(&graph, power);
                for (node, expected) in (0..).zip(powers) {
                    assert!((found.of(&graph, node) - expected / mean).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn the_expected_number_of_walks_is_exact() {
        const DRAWS: u32 = 20_000;
        let graph = star(None);
        let weights = CentreWeights::new(&graph, 0.5);
        for node in 0..5 {
            let mut rng = Rng::new(1, Purpose::Walk, 0, u64::from(node));
            let expected = 3.0 * weights.of(&graph, node);
            let draws = (0..DRAWS).map(|_| weights.walks(&graph, node, 3, &mut rng));
            let mut sum = 0;
            for walks in draws {
                assert!((walks as f64 - expected).abs() < 1.0);
                sum += walks;
            }
            // Five standard deviations of a draw between two integers, at most ½ each.
            let mean = sum as f64 / f64::from(DRAWS);
            assert!((mean - expected).abs() < 5.0 * 0.5 / f64::from(DRAWS).sqrt(), "{mean}");
        }
    }
}
