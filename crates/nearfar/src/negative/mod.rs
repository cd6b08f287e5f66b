//! Stage 4, negatives: the laws that negative samples are drawn from.

mod arrays;
mod bands;
mod by_length;
mod cells;
mod clusters;
mod config;
mod costs;
mod degree;
mod directed;
mod edge;
mod landmark;
mod landmark_approx;
mod landmark_index;
mod law;
mod length_search;
mod length_table;
mod levels;
mod listed;
mod other_components;
mod plan;
mod rejection;
mod routes;
mod table;
mod uniform;

pub use crate::distance::CellArray;
pub use arrays::{HopArrays, HopRow, LandmarkArrays, LandmarkRow, LawArrays, Proposal};
pub use config::{LandmarkCount, NegativeConfig, Negatives, Strategy};
pub use plan::{Demand, NegativePlan};

use crate::graph::Node;
use crate::rng::Rng;

/// A law P(k|i) over the nodes k ≠ i, ready to be drawn from by many threads at once.
///
/// ```
/// use std::sync::Arc;
/// use nearfar::Budget;
/// use nearfar::graph::{ReadOptions, read};
/// use nearfar::negative::{Demand, NegativeConfig, NegativePlan};
/// use nearfar::rng::{Purpose, Rng};
///
/// let graph = Arc::new(read("builtin:karate", &ReadOptions::default())?.graph);
/// let config = NegativeConfig::default();
/// let plan = NegativePlan::new(&graph, &config, &Budget::default(), &Demand::default())?;
/// let sampler = plan.build(&graph)?;
/// let mut negatives = [0; 20];
/// sampler.fill(0, &mut Rng::new(7, Purpose::Negative, 0, 0), &mut negatives);
/// assert!(negatives.iter().all(|&k| k != 0 && k < 34));
/// # Ok::<(), nearfar::Error>(())
/// ```
pub trait NegativeSampler: Send + Sync {
    /// Fills `out` with independent negatives of a centre. What is drawn depends on the centre
    /// and the stream alone. Leaves `out` unchanged if the centre has no negatives.
    fn fill(&self, centre: Node, rng: &mut Rng, out: &mut [Node]);

    /// Fills several lists, each from its own stream, with the same result as filling them one by
    /// one.
    fn fill_each(&self, centre: Node, lists: &mut [(Rng, &mut [Node])]) {
        for (rng, out) in lists {
            self.fill(centre, rng, out);
        }
    }

    /// Whether changing to another centre costs more than drawing from it, so that callers should
    /// draw many negatives of a centre at a time.
    fn prefers_batches(&self) -> bool {
        false
    }

    /// Fills `out` with weights ∝ P(k|i) for every node k; the weight of the centre is zero. All
    /// are zero if the centre has no negatives.
    fn weights(&self, centre: Node, out: &mut [f64]);

    /// Fills `out` with P(k|i) for every node k. Takes a pass over all nodes, unlike
    /// [`fill`](Self::fill).
    fn probabilities(&self, centre: Node, out: &mut [f64]) {
        self.weights(centre, out);
        let total: f64 = out.iter().sum();
        if total > 0.0 {
            for weight in out {
                *weight /= total;
            }
        }
    }

    /// Whether the centre has any negatives. With [`Negatives::Edge`] a centre that is adjacent to
    /// all other nodes has none.
    fn has_negatives(&self, _centre: Node) -> bool {
        true
    }

    /// What the law is made of, if backends on other devices can draw from it themselves. The draws of
    /// centres that the arrays leave out, and of laws without arrays, come from
    /// [`fill`](Self::fill).
    fn arrays(&self) -> Option<LawArrays<'_>> {
        None
    }
}
