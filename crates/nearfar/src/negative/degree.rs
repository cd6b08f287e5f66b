//! Negatives by degree, as in word2vec.

use super::{LawArrays, NegativeSampler};
use crate::budget::product;
use crate::error::{Error, Problem, Result};
use crate::graph::{Graph, Node};
use crate::rng::{Alias, Rng};

/// P(k|i) ∝ deg(k)^power, k ≠ i, with the number of arcs *to* k in a directed graph: as often as it is
/// a target. Nodes of degree 0 are never drawn, unless the power is 0.
pub(super) struct Degree {
    weights: Vec<f64>,
    all: Alias,
    /// The node with more than half of the total weight, if there is one, and a table without it:
    /// when it is the centre, rejecting it from `all` would take many draws.
    dominant: Option<(Node, Alias)>,
}

impl Degree {
    /// The memory while it is built, and from then on: weights and an alias table of 8 bytes a node
    /// each, beside the lists that the table is built from.
    pub(super) fn bytes(graph: &Graph) -> (u64, u64) {
        (product([graph.nodes(), 40]), product([graph.nodes(), 16]))
    }

    pub(super) fn new(graph: &Graph, power: f64) -> Result<Self> {
        let degree = |k| graph.incoming(k).len();
        let largest = (0..graph.nodes() as Node).map(degree).max().unwrap_or(0);
        let weight = |k| (degree(k) as f64 / largest.max(1) as f64).powf(power);
        let weights: Vec<f64> = (0..graph.nodes() as Node).map(weight).collect();
        let no_weight = || {
            let problem = Problem::from("the graph has no edges: all degrees are zero");
            Error::graph(problem.set("negatives", "uniform"))
        };
        let all = Alias::new(&weights).ok_or_else(no_weight)?;
        let total: f64 = weights.iter().sum();
        let dominant = match weights.iter().position(|&weight| 2.0 * weight > total) {
            None => None,
            Some(dominant) => {
                let mut others = weights.clone();
                others[dominant] = 0.0;
                Some((dominant as Node, Alias::new(&others).ok_or_else(no_weight)?))
            }
        };
        Ok(Self { weights, all, dominant })
    }
}

impl NegativeSampler for Degree {
    fn fill(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) {
        let table = match &self.dominant {
            Some((dominant, others)) if *dominant == centre => others,
            _ => &self.all,
        };
        for negative in out {
            *negative = loop {
                let k = table.draw(rng) as Node;
                if k != centre {
                    break k;
                }
            };
        }
    }

    fn weights(&self, centre: Node, out: &mut [f64]) {
        out.copy_from_slice(&self.weights);
        out[centre as usize] = 0.0;
    }

    fn arrays(&self) -> Option<LawArrays<'_>> {
        let dominant = self.dominant.as_ref().map(|(node, table)| (*node, table.cells()));
        Some(LawArrays::Alias { all: self.all.cells(), dominant })
    }
}
