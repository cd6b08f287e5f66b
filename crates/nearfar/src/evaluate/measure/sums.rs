//! Sums over the pairs of some sources, from which every measure is computed.

use std::ops::{AddAssign, SubAssign};

/// Sums over ordered pairs (i, j) at one distance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DistanceSums {
    /// Number of pairs.
    pub(super) pairs: f64,
    /// σ(z_i·z_j).
    pub(super) sigma: f64,
    /// σ(z_i·z_j)².
    pub(super) square: f64,
    /// log σ(z_i·z_j).
    pub(super) log_sigma: f64,
    /// log σ(−z_i·z_j).
    pub(super) log_sigma_neg: f64,
    /// π_ij, the co-occurrence probability.
    pub(super) cooccurrence: f64,
    /// P_neg(j|i) of distance-aware negatives.
    pub(super) negative: f64,
}

/// Sums over the pairs of a group of sources.
#[derive(Clone, Debug, Default)]
pub(super) struct GroupSums {
    /// Number of sources.
    pub(super) sources: usize,
    /// By distance; index 0 holds the unconnected pairs.
    pub(super) by_distance: Vec<DistanceSums>,
    /// Σ_i D(i), where D(i) is the sum of the distances from i.
    pub(super) total_distance: f64,
}

impl DistanceSums {
    fn combine(&mut self, other: &Self, mut change: impl FnMut(&mut f64, f64)) {
        change(&mut self.pairs, other.pairs);
        change(&mut self.sigma, other.sigma);
        change(&mut self.square, other.square);
        change(&mut self.log_sigma, other.log_sigma);
        change(&mut self.log_sigma_neg, other.log_sigma_neg);
        change(&mut self.cooccurrence, other.cooccurrence);
        change(&mut self.negative, other.negative);
    }
}

impl AddAssign<&GroupSums> for GroupSums {
    fn add_assign(&mut self, other: &GroupSums) {
        self.sources += other.sources;
        self.total_distance += other.total_distance;
        let distances = self.by_distance.len().max(other.by_distance.len());
        self.by_distance.resize(distances, DistanceSums::default());
        for (sums, other) in self.by_distance.iter_mut().zip(&other.by_distance) {
            sums.combine(other, |sum, other| *sum += other);
        }
    }
}

impl SubAssign<&GroupSums> for GroupSums {
    fn sub_assign(&mut self, other: &GroupSums) {
        self.sources -= other.sources;
        self.total_distance -= other.total_distance;
        for (sums, other) in self.by_distance.iter_mut().zip(&other.by_distance) {
            sums.combine(other, |sum, other| *sum -= other);
        }
    }
}
