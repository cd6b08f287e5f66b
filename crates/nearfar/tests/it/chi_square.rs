//! Whether counts of draws agree with a law.

/// Pearson's statistic, cells with an expectation below 5 taken together; degrees of freedom.
pub(crate) fn chi_square(counts: &[u32], law: &[f64]) -> (f64, f64) {
    let draws = f64::from(counts.iter().sum::<u32>());
    let (mut chi2, mut cells, mut rare, mut rare_expected) = (0.0, 0.0, 0.0, 0.0);
    for (&count, &p) in counts.iter().zip(law) {
        assert!(p > 0.0 || count == 0, "a node was drawn that has no probability");
        if p * draws < 5.0 {
            rare += f64::from(count);
            rare_expected += p * draws;
        } else {
            chi2 += (f64::from(count) - p * draws).powi(2) / (p * draws);
            cells += 1.0;
        }
    }
    if rare_expected >= 1.0 {
        chi2 += (rare - rare_expected).powi(2) / rare_expected;
        cells += 1.0;
    }
    (chi2, f64::max(cells - 1.0, 0.0))
}

/// The value that chi-square stays below but for 3 times in a million (Wilson and Hilferty).
pub(crate) fn chi_square_bound(freedom: f64) -> f64 {
    if freedom < 1.0 {
        // One node has all but nothing of the probability; what is left is rounding.
        return 0.1;
    }
    let spread = 2.0 / (9.0 * freedom);
    freedom * (1.0 - spread + 4.5 * spread.sqrt()).powi(3)
}
