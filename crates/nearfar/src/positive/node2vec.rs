//! Second-order walks: node2vec.
//!
//! # Derivation
//!
//! Coming from node t to v, the walk goes on to a neighbour x of v with probability ∝ w(v,x) α(x):
//!
//! ```text
//! α(x) = 1/p   if x = t                (return)
//!        1     if x is next to t
//!        1/q   else                    (move on)
//! ```
//!
//! A table for each pair (t, v) would take memory like the number of paths of two edges, which is
//! where other programs fail on large graphs. Rejection takes none: propose x by w(v,x) and keep
//! it with probability α(x) / M, M = max(1, 1/q). A large 1/p would make M large for the sake of
//! a single neighbour, so what 1/p has above M is set apart: the walk returns at once with
//! probability ∝ w(v,t) (1/p − M), against ∝ M Σ w for a proposal (Yang et al., *KnightKing*,
//! SOSP 2019).

use std::sync::Arc;

use super::{PositiveSource, Walk};
use crate::error::{Error, Result};
use crate::graph::{Graph, Node};
use crate::rng::Rng;

/// Walks with return parameter p and in-out parameter q.
pub struct Node2Vec {
    first: Walk,
    back: f64,
    on: f64,
    /// Σ w over the neighbours of each node, in a weighted graph.
    totals: Option<Vec<f64>>,
}

impl Node2Vec {
    /// Prepares the steps. p and q are positive numbers; p = q = 1 is [`Walk`].
    pub fn new(graph: &Arc<Graph>, p: f64, q: f64) -> Result<Self> {
        for (name, value) in [("p", p), ("q", q)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(Error::Option(format!("{name} is {value}; it takes a number above 0")));
            }
        }
        let sum =
            |node| graph.weights(node).unwrap_or_default().iter().map(|&w| f64::from(w)).sum();
        let totals = graph.is_weighted().then(|| (0..graph.nodes() as Node).map(sum).collect());
        Ok(Self { first: Walk::new(graph), back: 1.0 / p, on: 1.0 / q, totals })
    }

    /// The sum of the weights at `node`, and the weight of its edge to `before`.
    fn weights(&self, node: Node, before: Node) -> (f64, f64) {
        let graph = self.first.graph();
        match (&self.totals, graph.weights(node)) {
            (Some(totals), Some(weights)) => {
                let at = graph.neighbours(node).binary_search(&before);
                (totals[node as usize], at.map_or(0.0, |at| f64::from(weights[at])))
            }
            _ => (graph.degree(node) as f64, 1.0),
        }
    }

    #[inline]
    fn step(&self, before: Node, node: Node, rng: &mut Rng) -> Option<Node> {
        let graph = self.first.graph();
        let bound = self.on.max(1.0);
        let apart = self.back - bound;
        if apart > 0.0 {
            let (total, back) = self.weights(node, before);
            let (apart, rest) = (apart * back, bound * total);
            if rng.unit() * (apart + rest) < apart {
                return Some(before);
            }
        }
        loop {
            let next = self.first.step(node, rng)?;
            let alpha = if next == before {
                self.back.min(bound)
            } else if graph.has_edge(before, next) {
                1.0
            } else {
                self.on
            };
            if rng.unit() * bound < alpha {
                return Some(next);
            }
        }
    }
}

impl PositiveSource for Node2Vec {
    fn walk(&self, start: Node, rng: &mut Rng, out: &mut [Node]) -> usize {
        for at in 0..out.len() {
            let next = match at {
                0 => Some(start),
                1 => self.first.step(start, rng),
                _ => self.step(out[at - 2], out[at - 1], rng),
            };
            let Some(next) = next else { return at };
            out[at] = next;
        }
        out.len()
    }
}
