//! Sums over the pairs of some sources, of which every measure is made.

use std::ops::{AddAssign, SubAssign};

/// Sums over ordered pairs (i, j) at one distance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sums {
    /// Pairs.
    pub(super) pairs: f64,
    /// σ(z_i·z_j).
    pub(super) sigma: f64,
    /// σ(z_i·z_j)².
    pub(super) square: f64,
    /// log σ(z_i·z_j).
    pub(super) near: f64,
    /// log σ(−z_i·z_j).
    pub(super) far: f64,
    /// π_ij, whom walks meet.
    pub(super) met: f64,
    /// P_neg(j|i) of distance-aware negatives.
    pub(super) negative: f64,
}

/// Sums over the pairs of some sources.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// How many sources.
    pub(super) sources: usize,
    /// By distance; at 0 the pairs without a path.
    pub(super) sums: Vec<Sums>,
    /// Σ_i D(i), where D(i) is the sum of the distances from i.
    pub(super) total_distance: f64,
}

impl Sums {
    fn each(&mut self, other: &Self, mut change: impl FnMut(&mut f64, f64)) {
        change(&mut self.pairs, other.pairs);
        change(&mut self.sigma, other.sigma);
        change(&mut self.square, other.square);
        change(&mut self.near, other.near);
        change(&mut self.far, other.far);
        change(&mut self.met, other.met);
        change(&mut self.negative, other.negative);
    }
}

impl AddAssign<&Part> for Part {
    fn add_assign(&mut self, other: &Part) {
        self.sources += other.sources;
        self.total_distance += other.total_distance;
        self.sums.resize(self.sums.len().max(other.sums.len()), Sums::default());
        for (sums, other) in self.sums.iter_mut().zip(&other.sums) {
            sums.each(other, |sum, other| *sum += other);
        }
    }
}

impl SubAssign<&Part> for Part {
    fn sub_assign(&mut self, other: &Part) {
        self.sources -= other.sources;
        self.total_distance -= other.total_distance;
        for (sums, other) in self.sums.iter_mut().zip(&other.sums) {
            sums.each(other, |sum, other| *sum -= other);
        }
    }
}
