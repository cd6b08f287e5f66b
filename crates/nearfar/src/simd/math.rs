//! exp, ln and the logistic loss, in operations that compilers vectorise: no table, no branch, no
//! call.
//!
//! # Derivation
//!
//! Let x be the dot product of a positive pair, or minus that of a negative pair. With e = e^−x, the
//! loss of the pair is −log σ(x) = ln(1 + e), and its derivative is −(1 − σ(x)) = −e / (1 + e).

/// The error 1 − σ(x) and the loss −log σ(x) to within 10⁻⁶, with x clamped to ±30. NaN stays NaN, so
/// the loss of a run that diverges is NaN.
#[inline(always)]
pub fn sigmoid_loss(x: f32) -> (f32, f32) {
    let e = exp(-x.clamp(-30.0, 30.0));
    (e / (1.0 + e), ln(1.0 + e))
}

/// e^x for |x| ≤ 87.
///
/// e^x = 2^k e^r with k = round(x / ln 2), so |r| ≤ ln 2 / 2, where seven terms of the series suffice.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    /// 1.5 · 2²³: adding it to a small number leaves the nearest integer in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    /// ln 2 in two parts; the product of k and the first is exact.
    const LN2: (f32, f32) = (0.693_359_4, -2.121_944_4e-4);
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let power = f32::from_bits((rounded.to_bits() << 23).wrapping_add(1.0_f32.to_bits()));
    let k = rounded - ROUND;
    let r = x - k * LN2.0 - k * LN2.1;
    let series = r * (1.0 / 720.0) + 1.0 / 120.0;
    let series = r * series + 1.0 / 24.0;
    let series = r * series + 1.0 / 6.0;
    let series = r * series + 0.5;
    let series = r * series + 1.0;
    (r * series + 1.0) * power
}

/// ln y for y ≥ 1.
///
/// y = 2^k m with m in [√½, √2), and ln m = 2 artanh s with s = (m − 1) / (m + 1), |s| < 0.172.
#[inline(always)]
pub(crate) fn ln(y: f32) -> f32 {
    /// √½ as bits.
    const ROOT_HALF: u32 = 0x3f35_04f3;
    let above = y.to_bits().wrapping_sub(ROOT_HALF);
    let k = (above >> 23).cast_signed() as f32;
    let m = f32::from_bits((above & 0x007f_ffff).wrapping_add(ROOT_HALF));
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    let series = square * (1.0 / 7.0) + 0.2;
    let series = square * series + 1.0 / 3.0;
    let series = square * series + 1.0;
    // The bit operations turn NaN into a number.
    if y.is_nan() { y } else { k * std::f32::consts::LN_2 + 2.0 * s * series }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_below_one_millionth() {
        for i in -40_000..=40_000 {
            let x = i as f32 * 0.001;
            let e = (-f64::from(x.clamp(-30.0, 30.0))).exp();
            let (error, loss) = sigmoid_loss(x);
            assert!((f64::from(error) - e / (1.0 + e)).abs() < 1e-6, "{x}");
            assert!((f64::from(loss) - e.ln_1p()).abs() < 1e-6 * (1.0 + e.ln_1p()), "{x}");
        }
    }

    #[test]
    fn infinity_is_clamped_and_nan_stays() {
        assert_eq!(sigmoid_loss(f32::INFINITY), sigmoid_loss(30.0));
        assert_eq!(sigmoid_loss(f32::NEG_INFINITY), sigmoid_loss(-30.0));
        let (error, loss) = sigmoid_loss(f32::NAN);
        assert!(error.is_nan() && loss.is_nan());
    }
}
