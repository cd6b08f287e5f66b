//! What kernels and their Rust twins are told: the numbers of a run, a pass and a step.

use nearfar::positive::WalkArrays;
use nearfar::simd::LANES;
use nearfar::train::TrainPlan;

/// In place of an entry where a walk has no pair or a centre has no negatives.
pub(crate) const SKIP: u32 = u32::MAX;

/// A node whose pairs in a minibatch weigh more than this takes smaller steps, as in the exact trainer.
/// The mean is 2 + 2 w.
const HEAVY: f32 = 8.0;

/// Terms are summed in units of this. (`SCALE` in the kernels.)
pub(crate) const SCALE: f32 = 65_536.0;

/// What stays the same in all passes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Nodes of the graph.
    pub(crate) nodes: usize,
    /// Values of a row, padded.
    pub(crate) stride: usize,
    /// Contexts of a window.
    pub(crate) contexts: usize,
    /// Negatives of a window.
    pub(crate) negatives: usize,
    /// Minibatches of a pass: about as many as it has windows of a node, so that a minibatch has one of
    /// each.
    pub(crate) batches: usize,
    /// The most windows of a pass.
    pub(crate) windows: usize,
    /// Whether nodes have a second vector as contexts.
    pub(crate) has_contexts: bool,
    /// The random seed.
    pub(crate) seed: u64,
}

/// A pass, as kernels take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Pass {
    /// The random seed.
    pub(crate) seed: u64,
    /// The number of the pass in the run.
    pub(crate) number: u64,
    /// Walks from a node, on average.
    pub(crate) walks: u64,
    /// Nodes of the graph.
    pub(crate) nodes: u32,
    /// Minibatches.
    pub(crate) batches: u32,
    /// Contexts of a window.
    pub(crate) contexts: u32,
    /// Negatives of a window.
    pub(crate) negatives: u32,
}

/// The sizes of a step, as kernels take them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub(crate) struct Step {
    /// The weight of the term of a positive pair, at most 1.
    pub(crate) positive: f32,
    /// That of a negative pair.
    pub(crate) negative: f32,
    /// What the sum of terms is multiplied with.
    pub(crate) rate: f32,
    /// L2 regularisation for each negative pair of a centre.
    pub(crate) shrink: f32,
    /// By which a row is heavy: the weight of a positive pair, and of a negative one.
    pub(crate) weights: [f32; 2],
    /// Heavier rows take smaller steps.
    pub(crate) heavy: f32,
}

impl Shape {
    /// The shape of a run; `walks` is `None` if walks are taken on the host.
    pub(crate) fn new(plan: &TrainPlan, nodes: usize, walks: Option<&WalkArrays<'_>>) -> Self {
        let of_a_pass = plan.walks.div_ceil(plan.passes);
        let most = |weight: &f64| (of_a_pass as f64 * weight) as usize + 1;
        let windows = match walks.and_then(|walks| walks.centres.as_ref()) {
            Some(centres) => centres.iter().map(most).sum(),
            None if walks.is_some() => nodes * of_a_pass,
            // The number of walks from a node is rounded up or down.
            None => nodes * (of_a_pass + 1) * plan.windows(),
        };
        Self {
            nodes,
            stride: plan.dim.next_multiple_of(LANES),
            contexts: plan.window - 1,
            negatives: plan.k,
            batches: of_a_pass * plan.windows(),
            windows,
            has_contexts: plan.order == 2,
            seed: plan.seed,
        }
    }

    /// Tables of vectors: of nodes, and of nodes as contexts if they have others.
    pub(crate) fn tables(self) -> usize {
        1 + usize::from(self.has_contexts)
    }

    /// Values of a table.
    pub(crate) fn values(self) -> usize {
        self.nodes * self.stride
    }

    /// Entries of a window.
    pub(crate) fn slots(self) -> usize {
        self.contexts + self.negatives
    }

    /// A pass with so many walks from a node.
    pub(crate) fn pass(self, number: u64, walks: usize) -> Pass {
        Pass {
            seed: self.seed,
            number,
            walks: walks as u64,
            nodes: self.nodes as u32,
            batches: self.batches as u32,
            contexts: self.contexts as u32,
            negatives: self.negatives as u32,
        }
    }
}

impl Step {
    /// The step with this λ, after this fraction of the run.
    pub(crate) fn new(plan: &TrainPlan, l2: f64, done: f64) -> Self {
        let rate = plan.lr * (1.0 - done);
        let positive = 1.0 / (plan.window - 1) as f64;
        let negative = plan.negative_weight / plan.k as f64;
        let larger = positive.max(negative);
        Self {
            positive: (positive / larger) as f32,
            negative: (negative / larger) as f32,
            rate: (rate * larger / f64::from(SCALE)) as f32,
            shrink: (rate / plan.k as f64 * l2) as f32,
            weights: [positive as f32, negative as f32],
            heavy: HEAVY,
        }
    }
}
