//! Ranking scores: how well scores separate positives from negatives.
//!
//! Each function takes the scores of the positives and of the negatives. The result does not depend
//! on the order of the input; equal scores are ties. It is `None` if either side is empty.

use std::cmp::Ordering;

/// The area under the ROC curve: the probability that a random positive ranks above a random
/// negative; a tie counts half.
///
/// ```
/// use nearfar::evaluate::ranking::roc_auc;
/// assert_eq!(roc_auc(&[0.9, 0.4], &[0.5, 0.4]), Some(0.625));
/// ```
pub fn roc_auc(positives: &[f64], negatives: &[f64]) -> Option<f64> {
    let (mut before, mut doubled) = (0, 0_u128);
    for tie in ties(positives, negatives)? {
        // Each negative of this tie ranks below the positives before it.
        doubled += tie.negatives as u128 * (2 * before + tie.positives as u128);
        before += tie.positives as u128;
    }
    Some(doubled as f64 / (2.0 * positives.len() as f64 * negatives.len() as f64))
}

/// Average precision: the mean over positives of the precision at their rank, ties included. Without
/// interpolation, as in scikit-learn.
pub fn average_precision(positives: &[f64], negatives: &[f64]) -> Option<f64> {
    let (mut positive, mut all, mut sum) = (0, 0, 0.0);
    for tie in ties(positives, negatives)? {
        positive += tie.positives;
        all += tie.positives + tie.negatives;
        sum += tie.positives as f64 * (positive as f64 / all as f64);
    }
    Some(sum / positives.len() as f64)
}

/// Hits@K: the fraction of positives that rank above the K-th best negative; 1 if there are fewer than
/// K negatives. As in the Open Graph Benchmark.
pub fn hits_at(k: usize, positives: &[f64], negatives: &[f64]) -> Option<f64> {
    if k == 0 || positives.is_empty() || negatives.is_empty() {
        return None;
    }
    if negatives.len() < k {
        return Some(1.0);
    }
    let mut sorted = negatives.to_vec();
    let (_, threshold, _) = sorted.select_nth_unstable_by(k - 1, |a, b| order(*a, *b));
    let hits = positives.iter().filter(|positive| order(**positive, *threshold).is_lt()).count();
    Some(hits as f64 / positives.len() as f64)
}

/// Mean reciprocal rank: the mean of 1 / rank, where each positive is ranked among all negatives and
/// takes the mean rank of a tie.
pub fn mean_reciprocal_rank(positives: &[f64], negatives: &[f64]) -> Option<f64> {
    let (mut before, mut sum) = (0, 0.0);
    for tie in ties(positives, negatives)? {
        let rank = 1.0 + before as f64 + 0.5 * tie.negatives as f64;
        sum += tie.positives as f64 / rank;
        before += tie.negatives;
    }
    Some(sum / positives.len() as f64)
}

/// Counts of one score.
#[derive(Default)]
struct Tie {
    positives: usize,
    negatives: usize,
}

/// The ties from the highest score to the lowest; `None` if either side is empty.
fn ties(positives: &[f64], negatives: &[f64]) -> Option<Vec<Tie>> {
    if positives.is_empty() || negatives.is_empty() {
        return None;
    }
    let positive = positives.iter().map(|&score| (score, true));
    let mut all: Vec<(f64, bool)> =
        positive.chain(negatives.iter().map(|&score| (score, false))).collect();
    all.sort_unstable_by(|a, b| order(a.0, b.0));
    let equal = |a: &(f64, bool), b: &(f64, bool)| order(a.0, b.0).is_eq();
    let ties = all.chunk_by(equal).map(|tie| {
        let positives = tie.iter().filter(|(_, positive)| *positive).count();
        Tie { positives, negatives: tie.len() - positives }
    });
    Some(ties.collect())
}

/// Descending order in which 0 and −0 are equal; NaN follows IEEE total order.
fn order(a: f64, b: f64) -> Ordering {
    (b + 0.0).total_cmp(&(a + 0.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Scores from a few values, so that there are ties.
    fn scores() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec((-4_i8..4).prop_map(|number| f64::from(number) / 4.0), 1..40)
    }

    fn close(a: Option<f64>, b: f64) -> bool {
        (a.unwrap() - b).abs() < 1e-12
    }

    proptest! {
        #[test]
        fn auc_is_the_fraction_of_ordered_pairs(positives in scores(), negatives in scores()) {
            let pairs = positives.iter().flat_map(|p| negatives.iter().map(move |n| (p, n)));
            let sum: f64 = pairs
                .map(|(p, n)| if p > n { 1.0 } else if p < n { 0.0 } else { 0.5 })
                .sum();
            let naive = sum / (positives.len() * negatives.len()) as f64;
            prop_assert!(close(roc_auc(&positives, &negatives), naive));
        }

        #[test]
        fn average_precision_is_the_mean_over_positives(positives in scores(), negatives in scores()) {
            let precision = |threshold: f64| {
                let above =
                    |scores: &[f64]| scores.iter().filter(|x| **x >= threshold).count() as f64;
                above(&positives) / (above(&positives) + above(&negatives))
            };
            let naive: f64 = positives.iter().map(|&score| precision(score)).sum::<f64>();
            let naive = naive / positives.len() as f64;
            prop_assert!(close(average_precision(&positives, &negatives), naive));
        }

        #[test]
        fn ranks_match_counting(positives in scores(), negatives in scores(), k in 1_usize..20) {
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
    fn an_empty_side_has_no_score() {
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
    fn zeros_of_either_sign_are_equal() {
        assert_eq!(roc_auc(&[-0.0], &[0.0]), Some(0.5));
    }
}
