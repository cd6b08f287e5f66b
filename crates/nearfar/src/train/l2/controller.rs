//! The strength λ of L2 regularisation, found while training and without labels.
//!
//! # Derivation
//!
//! With too small a λ, vectors fit the noise of the walks in all their dimensions; with too large a
//! one they collapse to a few. Both show in the effective rank ([`effective_rank`]), which falls as
//! λ grows. On the graphs we know, the ranks that classify best lie between 20 and 70 of 128, lower
//! for sparse graphs and higher for dense ones; they follow
//!
//! ```text
//! target(128) = 16 + 7 log₂(mean degree)
//! ```
//!
//! With fewer dimensions the best λ hardly changes, and the rank that it leads to is half the
//! harmonic mean of the number of dimensions and the rank that the graph would fill:
//!
//! ```text
//! 1 / target(dim) = 1 / target(∞) + 1 / min(dim, n)
//! ```
//!
//! Scores change slowly around the target. So after every epoch λ is multiplied with
//! (rank / target)^0.8. The rank responds with a delay of some epochs; what counts is therefore not
//! the present rank but its extrapolation, two epochs ahead (fewer towards the end, when the falling
//! learning rate lets nothing change any more).
//!
//! There is a limit. Near zero the loss is −¼ Σ z_i·z_j (π_ij + π_ji − …) + (λ/2) Σ ‖z_i‖², and with
//! a λ above all eigenvalues of π its only minimum is zero. No eigenvalue is above 1, and some
//! graphs, such as a long path, have so many close to 1 that the target is never reached; λ stays
//! below 0.75. The vectors of others, such as random graphs (from λ = 0.3 on, at mean degree 10),
//! fall to zero in all dimensions alike, whatever the target. That shows in the mean of ‖z‖²: if it
//! is below 0.1 and still falls, λ was too large, and is never again more than a fifth of that.

use super::super::config::L2;
use super::effective_rank::effective_rank;
use crate::graph::Graph;
use crate::simd::InstructionSet;

/// λ that is adjusted lies between these, at any time.
const LEAST: f64 = 1e-4;
const MOST: f64 = 0.75;

/// How often λ is adjusted in a run, at most.
const ADJUSTMENTS: usize = 15;

/// λ and what controls it.
#[derive(Clone, Debug, PartialEq)]
pub struct L2Controller {
    /// λ.
    pub lambda: f64,
    /// The instruction set of the arithmetic.
    set: InstructionSet,
    /// The effective rank to reach; `None` if λ is constant.
    target: Option<f64>,
    /// The fraction of nodes with edges: the vectors of others learn nothing.
    connected: f64,
    /// λ is never above this.
    most: f64,
    /// What was observed after the last epoch.
    last: Option<Observation>,
}

/// What λ is controlled by.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Observation {
    /// The effective rank.
    rank: f64,
    /// The mean of ‖z‖².
    size: f64,
}

impl L2Controller {
    /// The controller at the start of a run.
    pub fn new(l2: L2, graph: &Graph, dim: usize, set: InstructionSet) -> Self {
        let connected = (0..graph.nodes() as u32).filter(|&node| has_edge(graph, node)).count();
        let (lambda, target) = match l2 {
            L2::Auto => (0.1, Some(target(graph, connected, dim))),
            L2::Value(lambda) => (lambda, None),
        };
        let connected = connected.max(1) as f64 / graph.nodes().max(1) as f64;
        Self { lambda, set, target, connected, most: MOST, last: None }
    }

    /// Adjusts λ after an epoch, counted from 0, of some `epochs`: at most 15 times in a run, as the
    /// rank takes some milliseconds to measure. Returns the effective rank, if it was measured.
    pub fn after<'a>(
        &mut self,
        epoch: usize,
        epochs: usize,
        rows: impl ExactSizeIterator<Item = &'a [f32]> + Clone,
        dim: usize,
    ) -> Option<f64> {
        let every = step(rows.len());
        self.after_some(epoch, epochs, rows.step_by(every), dim)
    }

    /// The same with the rows that are looked at: every [`step`]-th.
    pub fn after_some<'a>(
        &mut self,
        epoch: usize,
        epochs: usize,
        rows: impl Iterator<Item = &'a [f32]> + Clone,
        dim: usize,
    ) -> Option<f64> {
        if !self.is_due(epoch, epochs) {
            return None;
        }
        let between = epochs.div_ceil(ADJUSTMENTS);
        self.adjust(rows, dim, (epochs - epoch - 1) / between)
    }

    /// Whether [`after`](Self::after) looks at the rows after this epoch.
    pub fn is_due(&self, epoch: usize, epochs: usize) -> bool {
        (epoch + 1).is_multiple_of(epochs.div_ceil(ADJUSTMENTS))
    }

    /// Whether λ is adjusted after this epoch.
    pub(crate) fn adjusts(&self, epoch: usize, epochs: usize) -> bool {
        self.target.is_some() && self.is_due(epoch, epochs)
    }

    /// Adjusts λ after an epoch, of which `left` remain. Returns the effective rank of the rows, if
    /// it was measured.
    fn adjust<'a>(
        &mut self,
        rows: impl Iterator<Item = &'a [f32]> + Clone,
        dim: usize,
        left: usize,
    ) -> Option<f64> {
        const SMALL: f64 = 0.1;
        let target = self.target?;
        let Observation { rank, size } = self.observe(rows, dim);
        if let Some(last) = self.last.filter(|last| last.rank > 0.0 && rank > 0.0) {
            let ahead = (left as f64 / 2.0).min(2.0);
            let expected = rank * (rank / last.rank).powf(ahead);
            let factor = (expected / target).powf(0.8).clamp(0.4, 2.5);
            if size < SMALL && size < last.size {
                self.most = (0.2 * self.lambda).max(LEAST);
            }
            self.lambda = (self.lambda * factor).clamp(LEAST, self.most);
        }
        self.last = Some(Observation { rank, size });
        Some(rank)
    }

    /// What changes while training, as numbers for a checkpoint.
    pub fn state(&self) -> [f64; 4] {
        let last = self.last.unwrap_or(Observation { rank: f64::NAN, size: f64::NAN });
        [self.lambda, self.most, last.rank, last.size]
    }

    /// Continues from what [`state`](Self::state) returned; `None` if it cannot be that.
    pub fn restore(&mut self, [lambda, most, rank, size]: [f64; 4]) -> Option<()> {
        let observed = |value: f64| value.is_finite() && value >= 0.0;
        let valid = match self.target {
            None => lambda.to_bits() == self.lambda.to_bits(),
            Some(_) => (LEAST..=MOST).contains(&lambda),
        };
        let unobserved = rank.is_nan() && size.is_nan();
        let valid = valid && (LEAST..=MOST).contains(&most);
        (valid && (unobserved || observed(rank) && observed(size))).then(|| {
            (self.lambda, self.most) = (lambda, most);
            self.last = (!unobserved).then_some(Observation { rank, size });
        })
    }

    fn observe<'a>(
        &self,
        rows: impl Iterator<Item = &'a [f32]> + Clone,
        dim: usize,
    ) -> Observation {
        let square = |row: &[f32]| row[..dim].iter().map(|x| f64::from(x * x)).sum::<f64>();
        let (sum, count) =
            rows.clone().fold((0.0, 0.0), |(sum, count), row| (sum + square(row), count + 1.0));
        let size = sum / f64::max(count * self.connected, 1.0);
        Observation { rank: effective_rank(self.set, rows, dim), size }
    }
}

/// Every so many rows of a table are looked at: a thousand show the rank as well as all.
pub fn step(rows: usize) -> usize {
    rows.div_ceil(1024).max(1)
}

fn has_edge(graph: &Graph, node: u32) -> bool {
    graph.degree(node) > 0 || !graph.incoming(node).is_empty()
}

/// The effective rank to reach, for a graph with so many nodes that have edges. Of a directed graph, a
/// node's arcs count in either direction.
fn target(graph: &Graph, connected: usize, dim: usize) -> f64 {
    let ends = if graph.is_directed() { 2 * graph.arcs() } else { graph.arcs() };
    let degree = ends as f64 / connected.max(1) as f64;
    let at_128 = (16.0 + 7.0 * degree.max(1.0).log2()).min(100.0);
    let available = dim.min(graph.nodes()).max(1) as f64;
    1.0 / (1.0 / at_128 - 1.0 / 128.0 + 1.0 / available)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{EdgeList, NodeIds};

    fn close(found: f64, exact: f64) {
        assert!((found - exact).abs() < 1e-9, "{found} instead of {exact}");
    }

    /// A ring in which every node is adjacent to the next `reach` ones.
    fn ring(nodes: u32, reach: u32) -> Graph {
        let pairs = (0..nodes).flat_map(|a| (1..=reach).map(move |by| (a, (a + by) % nodes)));
        let ids = NodeIds::Range { start: 0, len: nodes as usize };
        EdgeList { pairs: pairs.collect(), weights: None, ids }.build().unwrap().0
    }

    /// `rank` orthogonal vectors of square length `size` each.
    fn rows(rank: usize, size: f32) -> Vec<Vec<f32>> {
        (0..rank)
            .map(|at| (0..128).map(|k| if k == at { size.sqrt() } else { 0.0 }).collect())
            .collect()
    }

    fn adjust(controller: &mut L2Controller, rank: usize, size: f32, left: usize) -> f64 {
        let rows = rows(rank, size);
        controller.adjust(rows.iter().map(Vec::as_slice), 128, left).unwrap();
        controller.lambda
    }

    #[test]
    fn the_target_grows_with_the_logarithm_of_the_degree() {
        // Mean degrees 2, 8 and 64: 16 + 7 · 1, 3 and 6 of 128 dimensions.
        for (reach, exact) in [(1, 23.0), (4, 37.0), (32, 58.0)] {
            close(target(&ring(1000, reach), 1000, 128), exact);
        }
        // 1/37 − 1/128 + 1/32.
        close(target(&ring(1000, 4), 1000, 32), 1.0 / (1.0 / 37.0 - 1.0 / 128.0 + 1.0 / 32.0));
        // Fewer nodes than dimensions.
        close(target(&ring(50, 4), 50, 128), 1.0 / (1.0 / 37.0 - 1.0 / 128.0 + 1.0 / 50.0));
        // Isolated nodes do not lower the degree.
        close(target(&ring(1000, 4), 500, 128), 44.0);
    }

    #[test]
    fn lambda_follows_the_rank_to_the_power_of_eight_tenths() {
        let graph = ring(1000, 4);
        let start = || L2Controller::new(L2::Auto, &graph, 128, InstructionSet::detect());
        let mut controller = start();
        // One observation shows no trend.
        close(adjust(&mut controller, 40, 1.0, 9), 0.1);
        // The rank stays at 40, the target is 37.
        let expected = 0.1 * (40.0_f64 / 37.0).powf(0.8);
        close(adjust(&mut controller, 40, 1.0, 8), expected);
        // It fell from 40 to 30 in an epoch: two epochs ahead it would be 30 · (30/40)².
        let factor = (30.0 * (30.0_f64 / 40.0).powi(2) / 37.0).powf(0.8);
        let expected = expected * factor;
        close(adjust(&mut controller, 30, 1.0, 7), expected);
        // With one epoch left, half an epoch ahead.
        let mut controller = start();
        adjust(&mut controller, 40, 1.0, 2);
        let expected = 0.1 * (30.0 * (30.0_f64 / 40.0).sqrt() / 37.0).powf(0.8);
        close(adjust(&mut controller, 30, 1.0, 1), expected);
    }

    #[test]
    fn lambda_stays_within_its_limits_and_backs_off_from_vanishing_vectors() {
        let graph = ring(1000, 4);
        let mut controller = L2Controller::new(L2::Auto, &graph, 128, InstructionSet::detect());
        for _ in 0..20 {
            adjust(&mut controller, 128, 1.0, 9);
        }
        close(controller.lambda, 0.75);
        for _ in 0..40 {
            adjust(&mut controller, 1, 1.0, 9);
        }
        close(controller.lambda, 1e-4);
        let mut controller = L2Controller::new(L2::Auto, &graph, 128, InstructionSet::detect());
        adjust(&mut controller, 100, 0.09, 9);
        close(adjust(&mut controller, 100, 0.08, 8), 0.02);
        adjust(&mut controller, 128, 5.0, 7);
        assert!(controller.lambda < 0.02 + 1e-9, "never again more than a fifth of 0.1");
    }

    #[test]
    fn a_restored_controller_continues_alike() {
        let graph = ring(1000, 4);
        for epochs in 0..3 {
            let mut whole = L2Controller::new(L2::Auto, &graph, 128, InstructionSet::detect());
            for epoch in 0..epochs {
                adjust(&mut whole, 50 - epoch, 1.0, 9);
            }
            let mut resumed = L2Controller::new(L2::Auto, &graph, 128, InstructionSet::detect());
            resumed.restore(whole.state()).unwrap();
            assert_eq!(resumed, whole);
        }
        let good = L2Controller::new(L2::Auto, &graph, 128, InstructionSet::detect()).state();
        for (at, values) in [(0, [0.0, f64::NAN]), (1, [f64::NAN, 2.0]), (2, [1.0, f64::INFINITY])]
        {
            for value in values {
                let mut bad = good;
                bad[at] = value;
                let mut controller =
                    L2Controller::new(L2::Auto, &graph, 128, InstructionSet::detect());
                assert_eq!(controller.restore(bad), None, "{bad:?}");
            }
        }
        let mut constant = L2Controller::new(L2::Value(0.3), &graph, 128, InstructionSet::detect());
        assert_eq!(constant.adjust([0.5_f32; 128].chunks(128), 128, 3), None);
        close(constant.lambda, 0.3);
    }

    /// Every second of 30 epochs, every third of 45: 15 times in a run, as if the epochs between did
    /// not exist.
    #[test]
    fn lambda_is_adjusted_at_most_fifteen_times() {
        let graph = ring(1000, 4);
        for (epochs, between) in [(1, 1), (15, 1), (30, 2), (31, 3), (45, 3)] {
            let mut controller = L2Controller::new(L2::Auto, &graph, 128, InstructionSet::detect());
            let mut oracle = controller.clone();
            let mut adjusted = 0;
            for epoch in 0..epochs {
                let rows = rows(30 + epoch, 1.0);
                let rank = controller.after(epoch, epochs, rows.iter().map(Vec::as_slice), 128);
                if (epoch + 1) % between == 0 {
                    let left = (epochs - epoch - 1) / between;
                    assert_eq!(rank, oracle.adjust(rows.iter().map(Vec::as_slice), 128, left));
                    close(rank.unwrap(), (30 + epoch) as f64);
                    adjusted += 1;
                } else {
                    assert_eq!(rank, None);
                }
                assert_eq!(controller, oracle, "epoch {epoch} of {epochs}");
            }
            assert!((epochs.min(8)..=15).contains(&adjusted), "{adjusted} times");
        }
    }

    /// 3000 rows are measured by a thousand of them: those at every third index.
    #[test]
    fn the_rank_is_that_of_a_thousand_rows() {
        let mut controller =
            L2Controller::new(L2::Auto, &ring(1000, 4), 8, InstructionSet::detect());
        let mut rows = vec![[0.0_f32; 8]; 3000];
        for (at, row) in rows.iter_mut().enumerate() {
            row[at % 3] = 1.0;
        }
        let rank = |controller: &mut L2Controller, rows: &[[f32; 8]]| {
            controller.after(0, 1, rows.iter().map(|row| &row[..]), 8).unwrap()
        };
        close(rank(&mut controller, &rows), 1.0);
        assert!((rank(&mut controller, &rows[..1024]) - 3.0).abs() < 1e-4);
    }

    #[test]
    fn only_small_vectors_that_become_smaller_reduce_the_limit() {
        let graph = ring(1000, 4);
        // The mean of ‖z‖² is the size of a row: before, after, and the limit that follows.
        for (before, after, most) in [
            (0.09, 0.08, 0.02),
            (0.2, 0.08, 0.02),
            (0.08, 0.09, 0.75),
            (0.09, 0.09, 0.75),
            (2.0, 1.0, 0.75),
        ] {
            let mut controller = L2Controller::new(L2::Auto, &graph, 128, InstructionSet::detect());
            adjust(&mut controller, 37, before, 9);
            adjust(&mut controller, 37, after, 9);
            close(controller.most, most);
        }
        // Half of the nodes have no edges: what is trained is twice as large as the mean.
        let edges: Vec<_> = (0..500_u32).map(|a| (a, (a + 1) % 500)).collect();
        let ids = NodeIds::Range { start: 0, len: 1000 };
        let graph = EdgeList { pairs: edges, weights: None, ids }.build().unwrap().0;
        let mut controller = L2Controller::new(L2::Auto, &graph, 128, InstructionSet::detect());
        adjust(&mut controller, 37, 0.07, 9);
        adjust(&mut controller, 37, 0.06, 9);
        close(controller.most, 0.75);
    }

    #[test]
    fn vectors_of_zeros_leave_lambda_as_it_is() {
        let graph = ring(1000, 4);
        let adjusted = |ranks: [usize; 2]| {
            let mut controller = L2Controller::new(L2::Auto, &graph, 128, InstructionSet::detect());
            for rank in ranks {
                let rows = [rows(rank, 1.0), vec![vec![0.0; 128]]].concat();
                controller.adjust(rows.iter().map(Vec::as_slice), 128, 9);
            }
            controller.lambda
        };
        close(adjusted([0, 0]), 0.1);
        close(adjusted([0, 90]), 0.1);
        close(adjusted([90, 0]), 0.1);
        assert!(adjusted([90, 90]) > 0.11);
    }
}
