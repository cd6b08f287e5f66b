//! Ranges of distances whose weights are alike.

/// Consecutive ranges of distances d, within each of which d^γ changes by at most a factor of two.
/// That holds for (a + d)^γ with any a ≥ 0 too.
pub(super) struct Bands {
    /// The first distance of each band, and the end.
    starts: Vec<u64>,
}

impl Bands {
    /// Bands of the distances from `first` to `last`.
    pub(super) fn new(first: u64, last: u64, gamma: f64) -> Self {
        let ratio = 2_f64.powf(1.0 / gamma.abs());
        let mut starts = vec![first];
        let mut start = first;
        while start < last {
            let inside = (start as f64 * ratio).min(last as f64) as u64;
            start = inside.max(start) + 1;
            if start <= last {
                starts.push(start);
            }
        }
        starts.push(last + 1);
        Self { starts }
    }

    /// A bound on the number of bands of the distances from 0 to `last`.
    pub(super) fn most(last: u32, gamma: f64) -> usize {
        let doublings = f64::from(last.max(1)).log2() * gamma.abs();
        (doublings as usize).saturating_add(3).min(last as usize + 1)
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The smallest and the largest distance of a band.
    #[inline]
    pub(super) fn range(&self, band: usize) -> (u64, u64) {
        (self.starts[band], self.starts[band + 1] - 1)
    }

    /// The band of a distance.
    pub(super) fn of(&self, distance: u64) -> usize {
        self.starts.partition_point(|&start| start <= distance) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_within_a_band_differ_by_at_most_a_factor_of_two() {
        for gamma in [0.1, 0.5, 1.0, 2.0, 20.0, 64.0, -1.0, -7.5, -64.0_f64] {
            for (first, last) in [(0, 0), (0, 1), (0, 40), (1, 1), (7, 5000), (0, 300_000)] {
                let bands = Bands::new(first, last, gamma);
                let mut next = first;
                for band in 0..bands.len() {
                    let (low, high) = bands.range(band);
                    assert_eq!(low, next);
                    assert!(low <= high);
                    assert_eq!((bands.of(low), bands.of(high)), (band, band));
                    let ratio = (high as f64 / low.max(1) as f64).powf(gamma.abs());
                    assert!(ratio <= 2.0 + 1e-9, "{low} to {high} to the power of {gamma}");
                    next = high + 1;
                }
                assert_eq!(next, last + 1);
                if first == 0 {
                    assert!(bands.len() <= Bands::most(last as u32, gamma), "{last}, {gamma}");
                }
            }
        }
    }
}
