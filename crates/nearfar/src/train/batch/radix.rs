//! Sorting pairs of nodes by their digits.
//!
//! A batch has some ten thousands of pairs of small numbers. Putting them in the order of their last
//! digit, then of the one before, and so on, each time without changing the order of equal ones,
//! takes a few passes over them, none of which has anything to compare.

/// Sorts numbers below 2^`bits`.
pub(super) fn sort(numbers: &mut Vec<u64>, bits: u32) {
    const DIGIT: u32 = 10;
    let mut sorted = vec![0; numbers.len()];
    for shift in (0..bits).step_by(DIGIT as usize) {
        let digit = |number: u64| (number >> shift) as usize % (1 << DIGIT);
        let mut next = [0_usize; 1 << DIGIT];
        for &number in &*numbers {
            next[digit(number)] += 1;
        }
        let mut before = 0;
        for place in &mut next {
            before += std::mem::replace(place, before);
        }
        for &number in &*numbers {
            let place = &mut next[digit(number)];
            sorted[*place] = number;
            *place += 1;
        }
        std::mem::swap(numbers, &mut sorted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    #[test]
    fn digits_sort_as_comparing_does() {
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
