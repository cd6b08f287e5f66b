//! How strong the pull to the origin should be, found while training and without labels.
//!
//! # Derivation
//!
//! Too little pull, and vectors fit the noise of the walks in all their dimensions; too much, and
//! they collapse to a few. Both show in the effective rank ([`effective_rank`]), which falls when
//! the pull grows. On the graphs we know, the ranks that classify best lie between 20 and 70 of
//! 128, lower for sparse graphs and higher for dense ones; they follow
//!
//! ```text
//! target(128) = 16 + 7 log₂(mean degree)
//! ```
//!
//! With fewer dimensions there is less room, but the pull that is best hardly changes, and the rank
//! it leads to is the harmonic mean, as it were, of the room and of what the graph would fill:
//!
//! ```text
//! 1 / target(dim) = 1 / target(∞) + 1 / min(dim, n)
//! ```
//!
//! and scores change slowly around it. So after every epoch the pull is multiplied with
//! (rank / target)^0.8. The rank answers with a delay of some epochs; what counts is therefore not
//! the rank of now but the one that its last change leads to, two epochs ahead (fewer towards the
//! end, when the falling learning rate lets nothing change any more).
//!
//! There is a limit. Near zero the loss is −¼ Σ z_i·z_j (π_ij + π_ji − …) + (λ/2) Σ ‖z_i‖², and with
//! a λ above all eigenvalues of π nothing but zero is left. None is above 1, and some graphs, such as
//! a long path, have so many close to it that the target is never reached before; the pull stops
//! short of it, at 0.75. Others, such as random graphs (from 0.3 on, at mean degree 10), fall to
//! zero in all dimensions alike, whatever the target. That shows in their size, the mean of ‖z‖²:
//! if it is below 0.1 and still falls, the pull was too strong, and never again is more than a
//! fifth of that.

use super::super::config::L2;
use super::effective_rank::effective_rank;
use crate::graph::Graph;

/// The pull and what it is steered by.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::train) struct Pull {
    /// λ.
    pub(in crate::train) strength: f64,
    /// The rank to come to; `None` if λ was given.
    target: Option<f64>,
    /// The share of nodes with edges: the others have nothing to learn.
    linked: f64,
    /// λ is never above this.
    pub(in crate::train) most: f64,
    /// What was seen after the last epoch.
    pub(in crate::train) last: Option<Look>,
}

/// What steers the pull.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::train) struct Look {
    /// The effective rank.
    pub(in crate::train) rank: f64,
    /// The mean of ‖z‖².
    pub(in crate::train) size: f64,
}

impl Pull {
    /// The pull at the start.
    pub(in crate::train) fn new(l2: L2, graph: &Graph, dim: usize) -> Self {
        let linked = (0..graph.nodes() as u32).filter(|&node| graph.degree(node) > 0).count();
        let degree = graph.arcs() as f64 / linked.max(1) as f64;
        let at_128 = (16.0 + 7.0 * degree.max(1.0).log2()).min(100.0);
        let room = dim.min(graph.nodes()).max(1) as f64;
        let target = 1.0 / (1.0 / at_128 - 1.0 / 128.0 + 1.0 / room);
        let (strength, target) = match l2 {
            L2::Auto => (0.1, Some(target)),
            L2::Value(strength) => (strength, None),
        };
        let linked = linked.max(1) as f64 / graph.nodes().max(1) as f64;
        Self { strength, target, linked, most: 0.75, last: None }
    }

    /// Looks at the vectors after an epoch, of which `left` are to come. Returns their rank, if
    /// it was looked at.
    pub(in crate::train) fn adjust<'a>(
        &mut self,
        rows: impl Iterator<Item = &'a [f32]> + Clone,
        dim: usize,
        left: usize,
    ) -> Option<f64> {
        const LEAST: f64 = 1e-4;
        const SMALL: f64 = 0.1;
        let target = self.target?;
        let Look { rank, size } = self.look(rows, dim);
        if let Some(last) = self.last.filter(|last| last.rank > 0.0 && rank > 0.0) {
            let ahead = (left as f64 / 2.0).min(2.0);
            let expected = rank * (rank / last.rank).powf(ahead);
            let factor = (expected / target).powf(0.8).clamp(0.4, 2.5);
            if size < SMALL && size < last.size {
                self.most = (0.2 * self.strength).max(LEAST);
            }
            self.strength = (self.strength * factor).clamp(LEAST, self.most);
        }
        self.last = Some(Look { rank, size });
        Some(rank)
    }

    fn look<'a>(&self, rows: impl Iterator<Item = &'a [f32]> + Clone, dim: usize) -> Look {
        let square = |row: &[f32]| row[..dim].iter().map(|x| f64::from(x * x)).sum::<f64>();
        let (sum, count) =
            rows.clone().fold((0.0, 0.0), |(sum, count), row| (sum + square(row), count + 1.0));
        Look { rank: effective_rank(rows, dim), size: sum / f64::max(count * self.linked, 1.0) }
    }
}
