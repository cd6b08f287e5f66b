//! How similar many pairs of vectors are, by their distance: one count for each pair, and all sums
//! from the counts.
//!
//! # Derivation
//!
//! σ and log σ of every pair would take most of the time. Instead, the products x = z_i·z_j are
//! sorted into bins, some thousand for every distance. A bin keeps how many there are and the sum
//! of where they lie in it, so their mean x̄ is known, and
//!
//! ```text
//! Σ f(x) = count · (f(x̄) + f″ · variance / 2 + …)
//! ```
//!
//! with a variance of at most a quarter of the squared width w. The bins are those of a floating
//! point number: y = |x| + u, of which exponent and leading digits name the bin and the other
//! digits are the place in it. With u = 1/4, w is 2⁻¹¹ near zero and |x|/512 further out, where σ
//! is flat, and Σ f is right to 5·10⁻⁷ a pair for σ, σ² and log σ; the tests hold us to it. Short
//! vectors have all their products near zero and get a smaller u, so that their ranks differ too.
//!
//! Count and place go into one 64-bit word, so a pair costs one addition. Sums of integers do not
//! depend on their order: nor do the results on threads.

use super::part::Sums;

/// Bits for the sum of places; above them stands the count.
const PLACE: u32 = 40;

/// How numbers become bins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bins {
    /// u, added to |x|: where the bins begin to grow.
    unit: f32,
    /// Bits of the place in a bin; the others of 23 name the bin.
    shift: u32,
    /// Bins on either side of zero.
    half: i32,
}

impl Bins {
    /// Bins for numbers up to `bound` on either side, in at most `distances` lists.
    pub(super) fn new(bound: f64, distances: usize) -> Self {
        /// Finest and coarsest, and how many bins there may be in all.
        const SHIFTS: std::ops::RangeInclusive<u32> = 14..=20;
        const MOST: usize = 1 << 23;
        // A power of two, of which the largest product is 64 times as much or more.
        let unit = f32::from_bits((bound as f32 / 64.0).clamp(1e-30, 0.25).to_bits() >> 23 << 23);
        let half = |shift: u32| (offset(bound as f32 * 1.01, unit) >> shift) + 1;
        let fits = |shift: &u32| 2 * half(*shift) as usize * distances <= MOST;
        let shift = SHIFTS.into_iter().find(fits).unwrap_or(*SHIFTS.end());
        Self { unit, shift, half: half(shift) }
    }

    /// The width of a bin as a share of |x| + u.
    pub(super) fn resolution(self) -> f64 {
        f64::from(1 << self.shift) / f64::from(1 << 23)
    }

    fn count(self) -> usize {
        2 * self.half as usize
    }

    /// How many pairs fit a word, so that neither half of it overflows.
    fn room(self) -> usize {
        1 << (64 - PLACE).min(PLACE - self.shift)
    }

    /// The place of a number in the order of all numbers; its upper bits are the bin.
    #[inline]
    fn place(self, x: f32) -> i32 {
        let place = offset(x.abs(), self.unit).min((self.half << self.shift) - 1);
        if x < 0.0 { !place } else { place }
    }

    /// The number at a mean place in a bin.
    fn number(self, bin: usize, place: f64) -> f64 {
        let width = f64::from(1 << self.shift);
        let bin = (bin as u32).cast_signed() - self.half;
        // Left of zero the order is reversed: the last place is the nearest to zero.
        let (at, part) =
            if bin < 0 { (!bin, (width - 1.0 - place) / width) } else { (bin, place / width) };
        let edge =
            |at: i32| f64::from(f32::from_bits((at << self.shift) as u32 + self.unit.to_bits()));
        let y = edge(at) + (edge(at + 1) - edge(at)) * part;
        let x = y - f64::from(self.unit);
        if bin < 0 { -x } else { x }
    }
}

/// How far the bits of x + u are from those of u.
#[inline]
fn offset(x: f32, unit: f32) -> i32 {
    (x + unit).to_bits().wrapping_sub(unit.to_bits()).cast_signed()
}

/// The pairs of one task, binned.
pub(super) struct Tally {
    bins: Bins,
    words: Vec<u64>,
    /// Pairs since the words were last emptied.
    pairs: usize,
}

impl Tally {
    /// The most pairs that [`add`](Self::add) takes at once.
    pub(super) const WIDTH: usize = 512;

    /// Room for distances below `distances`; 0 stands for no path.
    pub(super) fn new(bins: Bins, distances: usize) -> Self {
        Self { bins, words: vec![0; distances * bins.count()], pairs: 0 }
    }

    /// Whether so many pairs can be added before it has to be emptied.
    pub(super) fn has_room(&self, pairs: usize) -> bool {
        self.pairs + pairs < self.bins.room()
    }

    /// Adds pairs that are so far apart and so similar.
    #[inline]
    pub(super) fn add(&mut self, hops: &[u16], similarities: &[f32]) {
        let Bins { shift, half, .. } = self.bins;
        let bins = self.bins.count();
        // Two loops: the first is done for many pairs at once.
        let mut places = [0; Self::WIDTH];
        for (place, &x) in places.iter_mut().zip(similarities) {
            *place = self.bins.place(x);
        }
        for (&hops, place) in hops.iter().zip(&places[..similarities.len()]) {
            let bin = ((place >> shift) + half) as usize;
            let within = (place & ((1 << shift) - 1)) as u64;
            self.words[usize::from(hops) * bins + bin] += (1 << PLACE) + within;
        }
        self.pairs += similarities.len();
    }

    /// Empties it: into sums by distance, each pair `weight` times, and into counts.
    pub(super) fn empty(&mut self, weight: u32, sums: &mut [Sums], counts: &mut Counts) {
        let weight = f64::from(weight);
        let bins = self.bins.count();
        counts.cells.resize(counts.cells.len().max(self.words.len()), 0);
        let rows = self.words.chunks_exact_mut(bins).zip(counts.cells.chunks_exact_mut(bins));
        for ((words, cells), sums) in rows.zip(sums) {
            for (bin, (word, cell)) in words.iter_mut().zip(cells).enumerate() {
                let (count, places) = (*word >> PLACE, *word & ((1 << PLACE) - 1));
                if count == 0 {
                    continue;
                }
                *word = 0;
                *cell += count;
                let x = self.bins.number(bin, places as f64 / count as f64);
                let pairs = weight * count as f64;
                let (sigma, near) = (1.0 / (1.0 + (-x).exp()), log_sigma(x));
                sums.sigma += pairs * sigma;
                sums.square += pairs * sigma * sigma;
                sums.near += pairs * near;
                // log σ(−x) = log σ(x) − x.
                sums.far += pairs * (near - x);
            }
        }
        self.pairs = 0;
    }
}

/// log σ(x), without loss on either side.
fn log_sigma(x: f64) -> f64 {
    x.min(0.0) - (-x.abs()).exp().ln_1p()
}

/// How many pairs of all tasks are in which bin, by distance.
pub(super) struct Counts {
    bins: Bins,
    cells: Vec<u64>,
}

impl Counts {
    /// None yet.
    pub(super) fn new(bins: Bins) -> Self {
        Self { bins, cells: Vec::new() }
    }

    /// Spearman's correlation of distance and similarity over the pairs that have a path. Equal
    /// distances share their mean rank, and so do similarities in one bin. `None` if all
    /// distances or all similarities are equal.
    pub(super) fn spearman(&self) -> Option<f64> {
        let bins = self.bins.count();
        let by_distance: Vec<&[u64]> = self.cells.chunks_exact(bins).skip(1).collect();
        let totals: Vec<u64> = by_distance.iter().map(|row| row.iter().sum()).collect();
        let in_bin = |bin| by_distance.iter().map(|row| row[bin]).sum();
        let columns: Vec<u64> = (0..bins).map(in_bin).collect();
        let (distances, similarities) = (ranks(&totals), ranks(&columns));
        let variance = |ranks: &[f64], counts: &[u64]| -> f64 {
            ranks.iter().zip(counts).map(|(rank, &count)| rank * rank * count as f64).sum()
        };
        let both: f64 = by_distance
            .iter()
            .zip(&distances)
            .map(|(row, rank)| {
                let sum = row.iter().zip(&similarities).map(|(&count, rank)| count as f64 * rank);
                rank * sum.sum::<f64>()
            })
            .sum();
        let spread = variance(&distances, &totals) * variance(&similarities, &columns);
        (spread > 0.0).then(|| both / spread.sqrt())
    }
}

/// The mean rank of each group of equals, with zero in the middle of all.
fn ranks(counts: &[u64]) -> Vec<f64> {
    let middle = counts.iter().sum::<u64>() as f64 / 2.0;
    let mut below = 0.0;
    let rank = |&count: &u64| {
        let rank = below + count as f64 / 2.0 - middle;
        below += count as f64;
        rank
    };
    counts.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_comes_back_from_its_bin() {
        let bins = Bins::new(900.0, 3);
        for x in [0.0, 1e-6, -1e-6, 0.1, -0.1, 0.25, -0.749, 1.75, -1.75, 5.5, -31.0, 900.0] {
            let place = bins.place(x);
            let bin = ((place >> bins.shift) + bins.half) as usize;
            assert!(bin < bins.count());
            let back = bins.number(bin, f64::from(place & ((1 << bins.shift) - 1)));
            assert!((back - f64::from(x)).abs() <= 1e-7 * f64::from(1.0 + x.abs()), "{x} {back}");
        }
    }

    #[test]
    fn places_are_in_the_order_of_numbers() {
        let bins = Bins::new(50.0, 3);
        let numbers: Vec<f32> = (-5000..5000).map(|at| at as f32 * 0.01).collect();
        assert!(numbers.windows(2).all(|two| bins.place(two[0]) < bins.place(two[1])));
    }

    #[test]
    fn sums_are_right_to_less_than_a_millionth() {
        // Two numbers at the ends of a bin are the worst case: find the largest error of all.
        let bins = Bins::new(40.0, 2);
        let mut worst = [0.0_f64; 3];
        for bin in 0..bins.count() {
            let ends = [bins.number(bin, 0.0) as f32, bins.number(bin, 16383.0) as f32];
            let mut tally = Tally::new(bins, 2);
            tally.add(&[1, 1], &ends);
            let mut sums = vec![Sums::default(); 2];
            tally.empty(1, &mut sums, &mut Counts::new(bins));
            let exact = ends.map(f64::from);
            let sigma = exact.map(|x| 1.0 / (1.0 + (-x).exp()));
            for (at, (found, exact)) in [
                (sums[1].sigma, sigma[0] + sigma[1]),
                (sums[1].near, sigma[0].ln() + sigma[1].ln()),
                (sums[1].square, sigma[0].powi(2) + sigma[1].powi(2)),
            ]
            .into_iter()
            .enumerate()
            {
                worst[at] = worst[at].max((found - exact).abs() / 2.0);
            }
        }
        assert!(worst.iter().all(|&error| error < 5e-7), "{worst:?}");
    }

    #[test]
    fn spearman_of_few_pairs() {
        // x falls with distance but for one swap: ranks 1 2 3 4 against 4 2 3 1.
        let bins = Bins::new(9.0, 5);
        let mut tally = Tally::new(bins, 5);
        let mut counts = Counts::new(bins);
        tally.add(&[1, 2, 3, 4, 0], &[3.0, -1.0, 0.5, -2.0, 9.0]);
        tally.empty(1, &mut vec![Sums::default(); 5], &mut counts);
        assert!((counts.spearman().unwrap() + 0.8).abs() < 1e-12);
        assert_eq!(Counts::new(bins).spearman(), None);
    }
}
