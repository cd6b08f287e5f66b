//! The weight of a distance.

use crate::error::{Error, Result};

/// The weight d^γ of a distance d, and the paper's two ablations of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DistanceLaw {
    pub(super) gamma: f64,
    pub(super) bound: Bound,
}

/// On which side of the uniform probability 1/n probabilities are clamped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// On neither: P ∝ d^γ.
    None,
    /// P ∝ min(d^γ / D, 1/n), D the sum of d^γ over all nodes.
    Min,
    /// P ∝ max(d^γ / D, 1/n).
    Max,
}

impl DistanceLaw {
    /// d^γ divided by the largest weight of 1 to `largest` hops, so that no γ overflows. A distance
    /// of 0 has weight 0.
    pub(super) fn power(self, d: u32, largest: u32) -> f64 {
        let reference = if self.gamma >= 0.0 { f64::from(largest.max(1)) } else { 1.0 };
        if d == 0 { 0.0 } else { (f64::from(d) / reference).powf(self.gamma) }
    }

    /// Replaces the distances of a row, which are above 0 but for the centre's own, by their powers,
    /// relative to the largest of them. Returns the distance of weight 1.
    pub(super) fn to_powers(self, distances: &mut [f64], centre: usize) -> f64 {
        let others = distances.iter().enumerate().filter(|&(k, _)| k != centre).map(|(_, &d)| d);
        let reference = if self.gamma < 0.0 {
            others.fold(f64::INFINITY, f64::min)
        } else {
            others.fold(0.0, f64::max)
        };
        for distance in distances.iter_mut() {
            *distance = (*distance / reference).powf(self.gamma);
        }
        distances[centre] = 0.0;
        reference
    }

    /// The power of `far`, or an error if it underflows or overflows: all negatives of an isolated
    /// node are drawn by it.
    pub(super) fn far_power(self, far: u32, largest: u32) -> Result<f64> {
        let power = self.power(far, largest);
        if power.is_normal() {
            return Ok(power);
        }
        let message = format!("a distance of {far} hops to this power is out of range");
        Err(Error::option("gamma", self.gamma, message))
    }

    /// The limits (low, high) that P is clamped to, on the scale of d^γ, for a row of n nodes whose
    /// weights sum to `mass`.
    pub(super) fn limits(self, mass: f64, nodes: usize) -> (f64, f64) {
        let uniform = mass / nodes as f64;
        match self.bound {
            Bound::None => (0.0, f64::INFINITY),
            Bound::Min => (0.0, uniform),
            Bound::Max => (uniform, f64::INFINITY),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(gamma: f64) -> DistanceLaw {
        DistanceLaw { gamma, bound: Bound::None }
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "1 to any power is 1")]
    fn the_largest_weight_is_one_whatever_the_power() {
        for gamma in [0.0, 0.5, 1.0, 64.0] {
            assert_eq!(law(gamma).power(4_000_000_000, 4_000_000_000), 1.0);
            let half = law(gamma).power(6, 12);
            assert!((half - 0.5_f64.powf(gamma)).abs() < 1e-15, "{gamma}: {half}");
        }
        for gamma in [-0.5, -1.0, -64.0] {
            assert_eq!(law(gamma).power(1, 4_000_000_000), 1.0);
            let second = law(gamma).power(2, 12);
            assert!((second - 2_f64.powf(gamma)).abs() < 1e-15, "{gamma}: {second}");
        }
        for gamma in [-1.0, 0.0, 1.0] {
            assert_eq!(law(gamma).power(0, 12), 0.0, "a node is no negative of itself");
        }
    }

    #[test]
    fn a_weight_between_components_that_is_out_of_range_is_an_error() {
        assert!((law(1.0).far_power(3, 12).unwrap() - 0.25).abs() < 1e-15);
        let error = law(64.0).far_power(1, 4_000_000_000).unwrap_err().to_string();
        assert!(error.starts_with("--gamma 64: a distance of 1 hops"), "{error}");
    }
}
