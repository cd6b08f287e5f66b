//! Distance-aware negatives from a table of the lengths of all shortest paths.

use rayon::prelude::*;

use super::NegativeSampler;
use super::law::DistanceLaw;
use super::rejection::RejectionSampler;
use crate::budget::{product, sum};
use crate::distance::LengthRows;
use crate::graph::Node;
use crate::memory::prefetch;
use crate::rng::Rng;

/// P(k|i) ∝ d(i,k)^γ, by rejection in the centre's row of lengths.
pub(super) struct LengthTable {
    /// Without infinite cells.
    lengths: LengthRows,
    gamma: f64,
    rows: Vec<Row>,
}

/// The distribution of one centre.
struct Row {
    /// The distance of weight 1: the largest or, for γ < 0, the smallest of the row. No γ makes all
    /// weights of a row vanish.
    reference: f64,
    /// The limits that weights are clamped to.
    low: f64,
    high: f64,
    sampler: RejectionSampler,
}

/// What is kept, without the lists of heavy nodes.
pub(super) fn kept_bytes(nodes: usize) -> u64 {
    sum([LengthRows::bytes(nodes), product([nodes, size_of::<Row>()])])
}

impl LengthTable {
    pub(super) fn new(lengths: LengthRows, law: DistanceLaw, nodes: usize) -> Self {
        let row = |centre| Row::new(lengths.row(centre), centre, law);
        let rows = (0..nodes).into_par_iter().map(row).collect();
        Self { lengths, gamma: law.gamma, rows }
    }
}

impl Row {
    fn new(lengths: &[f32], centre: usize, law: DistanceLaw) -> Self {
        let mut weights: Vec<f64> = lengths.iter().map(|&d| f64::from(d)).collect();
        let reference = law.to_powers(&mut weights, centre);
        let (low, high) = law.limits(weights.iter().sum(), weights.len());
        for (k, weight) in weights.iter_mut().enumerate() {
            *weight = if k == centre { 0.0 } else { weight.max(low).min(high) };
        }
        let others = || weights.iter().enumerate().filter(|&(k, _)| k != centre);
        let sampler = RejectionSampler::new(others().map(|(_, &weight)| (1.0, weight)), |cutoff| {
            let heavy = others().filter(|&(_, &weight)| weight > cutoff);
            heavy.map(|(k, &weight)| (k as u32, weight)).collect()
        });
        Self { reference, low, high, sampler }
    }

    #[inline]
    fn weight(&self, length: f32, gamma: f64) -> f64 {
        let ratio = f64::from(length) / self.reference;
        // By far the most frequent γ, and ten times as fast.
        let power = if gamma.to_bits() == 1_f64.to_bits() { ratio } else { ratio.powf(gamma) };
        power.max(self.low).min(self.high)
    }
}

impl NegativeSampler for LengthTable {
    /// A row comes from memory at its first use.
    fn prefers_batches(&self) -> bool {
        true
    }

    fn fill_each(&self, centre: Node, lists: &mut [(Rng, &mut [Node])]) {
        const LINE: usize = 64 / size_of::<f32>();
        let row = self.lengths.row(centre as usize);
        let draws: usize = lists.iter().map(|(_, out)| out.len()).sum();
        if draws > row.len() / LINE / 2 {
            (0..row.len()).step_by(LINE).for_each(|index| prefetch(row, index));
        }
        for (rng, out) in lists {
            self.fill(centre, rng, out);
        }
    }

    fn fill(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) {
        let lengths = self.lengths.row(centre as usize);
        let row = &self.rows[centre as usize];
        let propose = |rng: &mut Rng| {
            let (k, unit) = rng.index_and_unit(lengths.len());
            (k as Node, unit)
        };
        let weight = |k: Node| {
            if k == centre { 0.0 } else { row.weight(lengths[k as usize], self.gamma) }
        };
        row.sampler.fill(rng, out, propose, weight, |_, item| item);
    }

    fn weights(&self, centre: Node, out: &mut [f64]) {
        let row = &self.rows[centre as usize];
        for (weight, &length) in out.iter_mut().zip(self.lengths.row(centre as usize)) {
            *weight = row.weight(length, self.gamma);
        }
        out[centre as usize] = 0.0;
    }
}
