//! Scores of rankings: how far true things come before false ones when sorted by a number.
//!
//! Every function takes the numbers of the true ones (positives) and of the false ones
//! (negatives). Equal numbers are no order, and none of the scores depends on which of them came
//! first. Where one side is empty there is nothing to rank, and the score is `None`.

use std::cmp::Ordering;

/// The area under the ROC curve: the probability that a random positive comes before a random
/// negative; a tie counts half.
///
/// ```
/// use nearfar::evaluate::ranking::roc_auc;
/// assert_eq!(roc_auc(&[0.9, 0.4], &[0.5, 0.4]), Some(0.625));
/// ```
pub fn roc_auc(positives: &[f64], negatives: &[f64]) -> Option<f64> {
    let (mut before, mut doubled) = (0, 0_u128);
    for tie in ties(positives, negatives)? {
        // Each negative of this tie comes after the positives before it.
        doubled += tie.negatives as u128 * (2 * before + tie.positives as u128);
        before += tie.positives as u128;
    }
    Some(doubled as f64 / (2.0 * positives.len() as f64 * negatives.len() as f64))
}

/// Average precision: the mean over positives of the precision among all that rank as high or
/// higher. As in scikit-learn, nothing is interpolated.
pub fn average_precision(positives: &[f64], negatives: &[f64]) -> Option<f64> {
    let (mut right, mut all, mut sum) = (0, 0, 0.0);
    for tie in ties(positives, negatives)? {
        right += tie.positives;
        all += tie.positives + tie.negatives;
        sum += tie.positives as f64 * (right as f64 / all as f64);
    }
    Some(sum / positives.len() as f64)
}

/// Hits@K: the share of positives that rank above the K-th best negative; all do if there are
/// fewer negatives. As in the Open Graph Benchmark.
pub fn hits_at(k: usize, positives: &[f64], negatives: &[f64]) -> Option<f64> {
    if k == 0 || positives.is_empty() || negatives.is_empty() {
        return None;
    }
    if negatives.len() < k {
        return Some(1.0);
    }
    let mut sorted = negatives.to_vec();
    let (_, bar, _) = sorted.select_nth_unstable_by(k - 1, |a, b| order(*a, *b));
    let hits = positives.iter().filter(|positive| order(**positive, *bar).is_lt()).count();
    Some(hits as f64 / positives.len() as f64)
}

/// Mean reciprocal rank: each positive is ranked among all negatives, halfway among its equals,
/// and 1 / rank is averaged.
pub fn mean_reciprocal_rank(positives: &[f64], negatives: &[f64]) -> Option<f64> {
    let (mut before, mut sum) = (0, 0.0);
    for tie in ties(positives, negatives)? {
        let rank = 1.0 + before as f64 + 0.5 * tie.negatives as f64;
        sum += tie.positives as f64 / rank;
        before += tie.negatives;
    }
    Some(sum / positives.len() as f64)
}

/// How many have one and the same number.
#[derive(Default)]
struct Tie {
    positives: usize,
    negatives: usize,
}

/// The ties from the largest number to the smallest; `None` if one side is empty.
fn ties(positives: &[f64], negatives: &[f64]) -> Option<Vec<Tie>> {
    if positives.is_empty() || negatives.is_empty() {
        return None;
    }
    let positive = positives.iter().map(|&number| (number, true));
    let mut all: Vec<(f64, bool)> =
        positive.chain(negatives.iter().map(|&number| (number, false))).collect();
    all.sort_unstable_by(|a, b| order(a.0, b.0));
    let equal = |a: &(f64, bool), b: &(f64, bool)| order(a.0, b.0).is_eq();
    let ties = all.chunk_by(equal).map(|tie| {
        let positives = tie.iter().filter(|(_, positive)| *positive).count();
        Tie { positives, negatives: tie.len() - positives }
    });
    Some(ties.collect())
}

/// Largest first; 0 and −0 are equal. What is no number has a place of its own.
fn order(a: f64, b: f64) -> Ordering {
    (b + 0.0).total_cmp(&(a + 0.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A few different numbers, so that there are ties.
    fn some() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec((-4_i8..4).prop_map(|number| f64::from(number) / 4.0), 1..40)
    }

    fn close(a: Option<f64>, b: f64) -> bool {
        (a.unwrap() - b).abs() < 1e-12
    }

    proptest! {
        #[test]
        fn auc_is_the_share_of_pairs_in_order(positives in some(), negatives in some()) {
            let pairs = positives.iter().flat_map(|p| negatives.iter().map(move |n| (p, n)));
            let sum: f64 = pairs
                .map(|(p, n)| if p > n { 1.0 } else if p < n { 0.0 } else { 0.5 })
                .sum();
            let naive = sum / (positives.len() * negatives.len()) as f64;
            prop_assert!(close(roc_auc(&positives, &negatives), naive));
        }

        #[test]
        fn precision_is_averaged_over_positives(positives in some(), negatives in some()) {
            let precision = |bar: f64| {
                let above = |numbers: &[f64]| numbers.iter().filter(|x| **x >= bar).count() as f64;
                above(&positives) / (above(&positives) + above(&negatives))
            };
            let naive: f64 = positives.iter().map(|&bar| precision(bar)).sum::<f64>();
            let naive = naive / positives.len() as f64;
            prop_assert!(close(average_precision(&positives, &negatives), naive));
        }

        #[test]
        fn ranks_are_counted_one_by_one(positives in some(), negatives in some(), k in 1_usize..20) {
            let better = |p: f64| negatives.iter().filter(|n| **n > p).count();
            let equal = |p: f64| negatives.iter().filter(|n| (**n - p).abs() < 1e-9).count();
            let count = positives.len() as f64;
            let hits = positives.iter().filter(|p| better(**p) + equal(**p) < k).count();
            prop_assert!(close(hits_at(k, &positives, &negatives), hits as f64 / count));
            let reciprocal = |p: &f64| 1.0 / (1.0 + better(*p) as f64 + equal(*p) as f64 / 2.0);
            let naive = positives.iter().map(reciprocal).sum::<f64>() / count;
            prop_assert!(close(mean_reciprocal_rank(&positives, &negatives), naive));
        }
    }

    #[test]
    fn nothing_to_rank() {
        for (positives, negatives) in [(&[][..], &[1.0][..]), (&[1.0], &[])] {
            assert_eq!(roc_auc(positives, negatives), None);
            assert_eq!(average_precision(positives, negatives), None);
            assert_eq!(hits_at(1, positives, negatives), None);
            assert_eq!(mean_reciprocal_rank(positives, negatives), None);
        }
        assert_eq!(hits_at(0, &[1.0], &[1.0]), None);
        assert_eq!(hits_at(3, &[1.0], &[2.0, 2.0]), Some(1.0), "fewer than K negatives");
    }

    #[test]
    fn zeros_are_equal_whatever_their_sign() {
        assert_eq!(roc_auc(&[-0.0], &[0.0]), Some(0.5));
    }
}
