//! Counter-based random numbers: streams named by (seed, purpose, two indices such as epoch and
//! node).
//!
//! The t-th number of a stream is a pure function of its name and t, so any thread can produce any
//! stream, in any order, with the same result.
//!
//! # Derivation
//!
//! The name is hashed to a start s and an odd step g; number t is mix(s + t·g), where mix is a
//! bijection of 64 bits with full avalanche. This is `SplitMix` with a different step for each
//! stream (Steele, Lea and Flood, *Fast splittable pseudorandom number generators*, OOPSLA 2014);
//! the constants of mix are Stafford's variant 13. Two streams can only overlap if they have the
//! same step, which has probability 2⁻⁶³ for a pair.

mod alias;

pub(crate) use alias::Alias;
pub use alias::AliasCell;

/// What a stream is used for. Results depend on these numbers: they must never change or be reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Negative samples of a centre.
    Negative = 1,
    /// Building synthetic graphs: degrees.
    Degree = 2,
    /// Building synthetic graphs: edges.
    Edge = 3,
    /// Building synthetic graphs: connecting components.
    Join = 4,
    /// Building synthetic graphs: labels.
    Label = 5,
    /// Splitting nodes into train, validation and test.
    Split = 6,
    /// Choosing the hosts of outliers.
    Outlier = 7,
    /// Choosing the sources of a sampled distance histogram.
    Source = 8,
    /// Walks from a start node.
    Walk = 9,
    /// Initial vectors.
    Start = 10,
    /// The order of nodes in an epoch of minibatches.
    Order = 11,
    /// The noise of variational encoders.
    Noise = 12,
    /// Repeated splits into train and test.
    Repeat = 20,
    /// Choosing edges to hold out.
    HoldOut = 21,
    /// Choosing pairs without an edge.
    NonEdge = 22,
    /// Folds of cross-validation.
    Fold = 23,
    /// Projections to the plane.
    Projection = 40,
    /// Seeds of the processes that draw with copies of one sampler.
    Process = 50,
}

/// One stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng {
    state: u64,
    step: u64,
}

impl Rng {
    /// The stream with this name. `a` and `b` are indices within the purpose: an epoch and a
    /// node, a walk and a block, or zero.
    pub fn new(seed: u64, purpose: Purpose, a: u64, b: u64) -> Self {
        let mut key = mix(seed ^ 0x6e65_6172_6661_7231);
        for word in [purpose as u64, a, b] {
            key = mix(key.wrapping_add(GOLDEN) ^ mix(word.wrapping_add(GOLDEN)));
        }
        Self { state: key, step: spread(mix(key ^ 0xd1b5_4a32_d192_ed03)) }
    }

    /// An independent stream, named by this one and its current position.
    #[inline]
    #[must_use]
    pub fn split(&mut self) -> Self {
        let state = self.bits();
        Self { state, step: spread(mix(state ^ 0xd1b5_4a32_d192_ed03)) }
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(self.step);
        mix(self.state)
    }

    /// A number in [0, 1), with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// An integer in 0..n, each with the same probability. Lemire's method: the high word of
    /// bits × n, drawn again in the rare case (probability below n / 2⁶⁴) that would favour some
    /// values. For n = 0, the result is 0.
    #[inline]
    pub fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        let mut product = u128::from(self.bits()) * u128::from(n);
        if (product as u64) < n {
            let uneven = n.wrapping_neg().checked_rem(n).unwrap_or(0);
            while (product as u64) < uneven {
                product = u128::from(self.bits()) * u128::from(n);
            }
        }
        (product >> 64) as usize
    }

    /// An integer in 0..n and, from the same 64 bits, an independent number in [0, 1): the whole
    /// and the fractional part of a uniform number in [0, n), as rejection samplers need them. The
    /// error of either distribution is below n / 2⁶⁴.
    #[inline]
    pub fn index_and_unit(&mut self, n: usize) -> (usize, f64) {
        let product = u128::from(self.bits()) * n as u128;
        let unit = ((product as u64) >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0);
        ((product >> 64) as usize, unit)
    }

    /// A standard normal number (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Shuffles `items` (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// An odd step for a stream. With long runs of equal bits in g, the numbers s, s + g, s + 2g would
/// differ in few bits (Steele, Lea and Flood).
#[inline]
fn spread(bits: u64) -> u64 {
    let step = bits | 1;
    if (step ^ (step >> 1)).count_ones() < 24 { step ^ 0xaaaa_aaaa_aaaa_aaaa } else { step }
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of SplitMix64: every bit of the result depends on every bit of the argument.
#[inline]
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_a_function_of_its_name() {
        let draw = |seed, a, b| Rng::new(seed, Purpose::Negative, a, b).bits();
        assert_eq!(draw(1, 2, 3), draw(1, 2, 3));
        let all = [draw(1, 2, 3), draw(2, 2, 3), draw(1, 3, 2), draw(1, 2, 4), draw(1, 0, 3)];
        for (i, x) in all.iter().enumerate() {
            assert!(!all[..i].contains(x));
        }
        assert_ne!(
            Rng::new(1, Purpose::Negative, 2, 3).bits(),
            Rng::new(1, Purpose::Degree, 2, 3).bits()
        );
    }

    /// Users reproduce results from recorded seeds: these numbers must never change.
    #[test]
    fn the_numbers_are_stable() {
        let mut rng = Rng::new(42, Purpose::Negative, 0, 7);
        let first: Vec<u64> = (0..3).map(|_| rng.bits()).collect();
        // Computed by an independent implementation of the derivation above, in Python.
        let golden: [u64; 3] =
            [0xcac5_e1f9_57a2_5ed1, 0x5890_c33c_08fb_747d, 0x28e6_5ba9_0662_1b23];
        assert_eq!(first, golden);
    }

    #[test]
    fn neighbouring_streams_are_uncorrelated() {
        // The first numbers of 100 000 streams with consecutive names: every bit is set in half of
        // them and differs in half of the neighbouring pairs, up to five standard deviations.
        let first: Vec<u64> =
            (0..100_000).map(|node| Rng::new(0, Purpose::Negative, 0, node).bits()).collect();
        for bit in 0..64 {
            let ones = first.iter().filter(|x| *x >> bit & 1 == 1).count();
            let flips = first.windows(2).filter(|w| (w[0] ^ w[1]) >> bit & 1 == 1).count();
            assert!(ones.abs_diff(50_000) < 791, "bit {bit}: {ones} ones");
            assert!(flips.abs_diff(50_000) < 791, "bit {bit}: {flips} flips");
        }
    }

    #[test]
    fn streams_split_from_one_are_uncorrelated() {
        let mut rng = Rng::new(0, Purpose::Walk, 0, 0);
        let first: Vec<u64> = (0..100_000).map(|_| rng.split().bits()).collect();
        for bit in 0..64 {
            let ones = first.iter().filter(|x| *x >> bit & 1 == 1).count();
            let flips = first.windows(2).filter(|w| (w[0] ^ w[1]) >> bit & 1 == 1).count();
            assert!(ones.abs_diff(50_000) < 791, "bit {bit}: {ones} ones");
            assert!(flips.abs_diff(50_000) < 791, "bit {bit}: {flips} flips");
        }
    }

    #[test]
    fn below_is_uniform_and_in_range() {
        let mut rng = Rng::new(3, Purpose::Negative, 0, 0);
        let mut counts = [0_f64; 10];
        for _ in 0..100_000 {
            counts[rng.below(10)] += 1.0;
        }
        let chi2: f64 = counts.iter().map(|c| (c - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi2 < 27.9, "chi-square {chi2} with 9 degrees of freedom, p < 0.001");
        assert_eq!(rng.below(1), 0);
        assert_eq!(rng.below(0), 0);
    }

    #[test]
    fn normal_numbers_have_the_right_moments() {
        let mut rng = Rng::new(5, Purpose::Noise, 0, 0);
        let numbers: Vec<f64> = (0..100_000).map(|_| rng.normal()).collect();
        let moment = |power| numbers.iter().map(|x| x.powi(power)).sum::<f64>() / 1e5;
        // The standard deviations of these means are √(1, 2 and 96) / √100 000; four are allowed.
        assert!(moment(1).abs() < 0.013 && (moment(2) - 1.0).abs() < 0.018);
        assert!((moment(4) - 3.0).abs() < 0.124);
    }

    #[test]
    fn index_and_unit_are_independent() {
        let mut rng = Rng::new(4, Purpose::Negative, 0, 0);
        let mut counts = [[0_f64; 5]; 7];
        for _ in 0..350_000 {
            let (index, unit) = rng.index_and_unit(7);
            counts[index][(unit * 5.0) as usize] += 1.0;
        }
        let chi2: f64 = counts.iter().flatten().map(|c| (c - 1e4).powi(2) / 1e4).sum();
        assert!(chi2 < 65.3, "chi-square {chi2} with 34 degrees of freedom, p < 0.001");
    }
}
