//! Uniform negatives: every other node with the same probability.

use super::{LawArrays, NegativeSampler};
use crate::graph::Node;
use crate::rng::Rng;

/// P(k|i) = 1 / (n − 1).
pub(super) struct Uniform {
    pub(super) nodes: usize,
}

impl NegativeSampler for Uniform {
    fn fill(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) {
        // Draws one of n − 1 numbers; those from the centre on map to the next node.
        for negative in out {
            let other = rng.below(self.nodes - 1) as Node;
            *negative = other + Node::from(other >= centre);
        }
    }

    fn weights(&self, centre: Node, out: &mut [f64]) {
        out.fill(1.0);
        out[centre as usize] = 0.0;
    }

    fn arrays(&self) -> Option<LawArrays<'_>> {
        Some(LawArrays::Uniform)
    }
}
