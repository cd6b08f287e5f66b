//! Radix sort of pairs of nodes.
//!
//! A batch has some ten thousand pairs, each a number of few bits. A stable counting sort by each
//! digit, from the last to the first, takes a few passes and no comparisons.

/// Sorts numbers below 2^`bits`.
pub(super) fn sort(numbers: &mut Vec<u64>, bits: u32) {
    /// Bits of a digit.
    const DIGIT: u32 = 10;
    let mut sorted = vec![0; numbers.len()];
    for shift in (0..bits).step_by(DIGIT as usize) {
        let digit = |number: u64| (number >> shift) as usize % (1 << DIGIT);
        let mut next = [0_usize; 1 << DIGIT];
        for &number in &*numbers {
            next[digit(number)] += 1;
        }
        let mut before = 0;
        for slot in &mut next {
            before += std::mem::replace(slot, before);
        }
        for &number in &*numbers {
            let slot = &mut next[digit(number)];
            sorted[*slot] = number;
            *slot += 1;
        }
        std::mem::swap(numbers, &mut sorted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    #[test]
    fn agrees_with_a_comparison_sort() {
        for (bits, length) in [(0, 5), (1, 100), (10, 1000), (11, 1000), (30, 5000), (64, 900)] {
            let mut rng = Rng::new(0, Purpose::Source, u64::from(bits), 0);
            let mut numbers: Vec<u64> =
                (0..length).map(|_| rng.bits().checked_shr(64 - bits).unwrap_or(0)).collect();
            let mut expected = numbers.clone();
            expected.sort_unstable();
            sort(&mut numbers, bits);
            assert_eq!(numbers, expected, "{bits} bits");
        }
    }
}
