//! The chi-square test: whether counts of draws match a distribution.

/// Pearson's statistic and its degrees of freedom. Outcomes with an expectation below 5 are pooled.
/// If even that of the pool is below 5, chi-square does not describe it, and its count is compared with
/// the Poisson distribution at the level of [`chi_square_bound`].
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
    if rare_expected < 5.0 {
        let tail = poisson_tail(rare, rare_expected);
        assert!(tail > 3e-6, "{rare} draws of outcomes of expectation {rare_expected:.3}");
    } else {
        chi2 += (rare - rare_expected).powi(2) / rare_expected;
        terms += 1.0;
    }
    (chi2, f64::max(terms - 1.0, 0.0))
}

/// The probability of at least so many events where so many are expected.
fn poisson_tail(count: f64, expected: f64) -> f64 {
    let (mut term, mut k) = ((-expected).exp(), 0.0);
    let next = |k: &mut f64, term: &mut f64| {
        *k += 1.0;
        *term *= expected / *k;
    };
    while k < count {
        next(&mut k, &mut term);
    }
    let mut tail = 0.0;
    while term > 1e-20 {
        tail += term;
        next(&mut k, &mut term);
    }
    tail
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
