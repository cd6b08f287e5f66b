//! Stage 4, who is far: the laws that negatives are drawn from.

mod clusters;
mod config;
mod degree;
mod edge;
mod landmark;
mod landmark_approx;
mod landmark_index;
mod law;
mod levels;
mod other_components;
mod plan;
mod rejection;
mod table;
mod uniform;

pub use config::{LandmarkCount, NegativeConfig, Negatives, Strategy};
pub use plan::{Budget, NegativePlan, parse_bytes};

use crate::graph::Node;
use crate::rng::Rng;

/// A law P(k|i) over the nodes k ≠ i, ready to be drawn from by many threads at once.
///
/// ```
/// use std::sync::Arc;
/// use nearfar::graph::{ReadOptions, read};
/// use nearfar::negative::{Budget, NegativeConfig, NegativePlan};
/// use nearfar::rng::{Purpose, Rng};
///
/// let graph = Arc::new(read("builtin:karate", &ReadOptions::default())?.graph);
/// let plan = NegativePlan::new(&graph, &NegativeConfig::default(), &Budget::default())?;
/// let sampler = plan.build(&graph)?;
/// let mut negatives = [0; 20];
/// sampler.fill(0, &mut Rng::new(7, Purpose::Negative, 0, 0), &mut negatives);
/// assert!(negatives.iter().all(|&k| k != 0 && k < 34));
/// # Ok::<(), nearfar::Error>(())
/// ```
pub trait NegativeSampler: Send + Sync {
    /// Fills `out` with independent negatives of a centre. What is drawn depends on the centre
    /// and the stream alone. Leaves `out` as it is if the centre has no negatives.
    fn fill(&self, centre: Node, rng: &mut Rng, out: &mut [Node]);

    /// Fills several lists, each from its stream, just as if they were filled one after the other.
    fn fill_each(&self, centre: Node, lists: &mut [(Rng, &mut [Node])]) {
        for (rng, out) in lists {
            self.fill(centre, rng, out);
        }
    }

    /// Whether coming to a centre takes longer than drawing from it, so that one should draw much
    /// at a time.
    fn visits_are_slow(&self) -> bool {
        false
    }

    /// Which law this is; never [`Negatives::Auto`].
    fn law(&self) -> Negatives;

    /// Fills `out` with weights ∝ P(k|i) for every node k, that of the centre itself being zero.
    /// All are zero if the centre has no negatives.
    fn weights(&self, centre: Node, out: &mut [f64]);

    /// Fills `out` with the law itself, P(k|i) for every node k. What costs [`fill`](Self::fill)
    /// next to nothing takes a pass over all nodes here.
    fn probabilities(&self, centre: Node, out: &mut [f64]) {
        self.weights(centre, out);
        let total: f64 = out.iter().sum();
        if total > 0.0 {
            for weight in out {
                *weight /= total;
            }
        }
    }

    /// Whether there is any node that can be a negative of this centre. Only [`Negatives::Edge`]
    /// ever says no: for a centre that is next to all other nodes.
    fn has_negatives(&self, _centre: Node) -> bool {
        true
    }
}
