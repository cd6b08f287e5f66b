//! The chi-square test: whether counts of draws match a distribution.

/// Pearson's statistic and its degrees of freedom. Outcomes with an expectation below 5 are pooled.
pub(crate) fn chi_square(counts: &[u32], probabilities: &[f64]) -> (f64, f64) {
    let draws = f64::from(counts.iter().sum::<u32>());
    let (mut chi2, mut terms, mut rare, mut rare_expected) = (0.0, 0.0, 0.0, 0.0);
    for (&count, &p) in counts.iter().zip(probabilities) {
        assert!(p > 0.0 || count == 0, "an outcome of probability 0 was drawn");
        if p * draws < 5.0 {
            rare += f64::from(count);
            rare_expected += p * draws;
        } else {
            chi2 += (f64::from(count) - p * draws).powi(2) / (p * draws);
            terms += 1.0;
        }
    }
    if rare_expected >= 1.0 {
        chi2 += (rare - rare_expected).powi(2) / rare_expected;
        terms += 1.0;
    }
    (chi2, f64::max(terms - 1.0, 0.0))
}

/// The value that chi-square exceeds with a probability of 3 in a million (Wilson and Hilferty).
pub(crate) fn chi_square_bound(freedom: f64) -> f64 {
    if freedom < 1.0 {
        // One outcome has nearly all of the probability; the rest is rounding.
        return 0.1;
    }
    let spread = 2.0 / (9.0 * freedom);
    freedom * (1.0 - spread + 4.5 * spread.sqrt()).powi(3)
}
