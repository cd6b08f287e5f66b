//! The kernels of `kernels/training.cuh`.

use nearfar::simd::sigmoid_loss;

use crate::shape::{SCALE, SKIP, Step};

/// Adding it rounds to an integer in the lowest bits.
const ROUND: f32 = 12_582_912.0;

/// Terms of larger values would not fit.
const LARGEST: f32 = 64.0;

/// What a row is trained with: the entries of its own windows, and those it is in.
#[derive(Clone, Copy, Default)]
pub(crate) struct Lists<'a> {
    pub(crate) of_windows: &'a [u32],
    pub(crate) incoming: &'a [u32],
}

/// What a row adds to the totals.
#[derive(Clone, Copy, Default)]
pub(crate) struct RowTotals {
    pub(crate) pairs: u64,
    /// In units of 1 / [`SCALE`].
    pub(crate) loss: u64,
    pub(crate) diverged: bool,
}

/// The new value of a row.
pub(crate) fn train_row(
    row: usize,
    own: &[f32],
    others: &[f32],
    out: &mut [f32],
    lists: Lists<'_>,
    step: Step,
) -> RowTotals {
    let stride = out.len();
    let z = &own[row * stride..][..stride];
    let all = || lists.of_windows.iter().chain(lists.incoming).filter(|&&entry| entry != SKIP);
    let of_windows = || lists.of_windows.iter().filter(|&&entry| entry != SKIP);
    let positive = all().filter(|&&entry| entry & 1 == 1).count() as u32;
    let negative = all().filter(|&&entry| entry & 1 == 0).count() as u32;
    let own_negative = of_windows().filter(|&&entry| entry & 1 == 0).count() as u32;
    let weight = positive as f32 * step.weights[0] + negative as f32 * step.weights[1];
    let size = if weight > step.heavy { step.heavy / weight } else { 1.0 };
    let (of_positive, of_negative) = (size * step.positive * SCALE, size * step.negative * SCALE);
    let lanes = lanes(stride);
    let mut sums = vec![0_u32; stride];
    let mut totals = RowTotals { pairs: of_windows().count() as u64, ..RowTotals::default() };
    let owned = totals.pairs as usize;
    for (at, &entry) in all().enumerate() {
        let other = &others[(entry >> 1) as usize * stride..][..stride];
        let product = dot(z, other, lanes);
        let is_positive = entry & 1 == 1;
        let (error, loss) = sigmoid_loss(if is_positive { product } else { -product });
        let factor = if is_positive { of_positive * error } else { -(of_negative * error) };
        if at < owned {
            totals.loss += u64::from(rounded_bits(loss * SCALE).wrapping_sub(ROUND.to_bits()));
        }
        for (sum, value) in sums.iter_mut().zip(other) {
            *sum = sum.wrapping_add(rounded_bits(factor * value).wrapping_sub(ROUND.to_bits()));
        }
    }
    let keep = 1.0 - size * step.shrink * own_negative as f32;
    for ((out, old), sum) in out.iter_mut().zip(z).zip(sums) {
        *out = old * keep + sum.cast_signed() as f32 * step.rate;
        // NaN is not below it either.
        totals.diverged |=
            !matches!(out.abs().partial_cmp(&LARGEST), Some(std::cmp::Ordering::Less));
    }
    totals
}

fn rounded_bits(x: f32) -> u32 {
    (x + ROUND).to_bits()
}

/// Threads that share a row of so many values.
fn lanes(stride: usize) -> usize {
    (stride.next_power_of_two() / 4).clamp(4, 32)
}

/// The product in the order of the threads: each has four values of every chunk; then their sums are
/// added, by halving the distance.
fn dot(a: &[f32], b: &[f32], lanes: usize) -> f32 {
    let mut sums = [0.0; 32];
    for (a, b) in a.chunks(4 * lanes).zip(b.chunks(4 * lanes)) {
        for ((sum, a), b) in sums.iter_mut().zip(a.as_chunks::<4>().0).zip(b.as_chunks::<4>().0) {
            for (a, b) in a.iter().zip(b) {
                *sum += a * b;
            }
        }
    }
    let mut half = lanes / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
    sums[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_do_not_depend_on_which_end_comes_first() {
        for stride in [16, 32, 48, 64, 112, 128, 144, 256, 512, 1024] {
            let value = |at: usize, seed: u32| {
                let hash = (at as u32).wrapping_mul(2_654_435_761).wrapping_add(seed);
                (hash >> 8) as f32 / 1e7 - 0.8
            };
            let a: Vec<f32> = (0..stride).map(|at| value(at, 1)).collect();
            let b: Vec<f32> = (0..stride).map(|at| value(at, 9_999_991)).collect();
            let lanes = lanes(stride);
            assert_eq!(dot(&a, &b, lanes).to_bits(), dot(&b, &a, lanes).to_bits());
            let exact: f64 = a.iter().zip(&b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            assert!((f64::from(dot(&a, &b, lanes)) - exact).abs() < 1e-4 * exact.abs().max(1.0));
        }
    }

    #[test]
    fn a_row_takes_the_step_of_the_gradient() {
        let stride = 16;
        let rows: Vec<f32> = (0..4 * stride).map(|at| (at as f32 * 0.37).sin() * 0.4).collect();
        let step = Step {
            positive: 1.0,
            negative: 0.4,
            rate: 0.1 / SCALE,
            shrink: 0.01,
            weights: [0.25, 0.1],
            heavy: 8.0,
        };
        let lists = Lists { of_windows: &[2 + 1, SKIP, 4, 6], incoming: &[6 + 1] };
        let mut out = vec![0.0; stride];
        let totals = train_row(0, &rows, &rows, &mut out, lists, step);
        assert_eq!((totals.pairs, totals.diverged), (3, false));
        let row = |node: usize| &rows[node * stride..][..stride];
        let dot =
            |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
        let mut expected: Vec<f64> =
            row(0).iter().map(|x| f64::from(*x) * (1.0 - 2.0 * 0.01)).collect();
        let mut loss = 0.0;
        for (node, positive, own) in
            [(1, true, true), (2, false, true), (3, false, true), (3, true, false)]
        {
            let s = dot(row(0), row(node));
            let (y, weight) = if positive { (1.0, 1.0) } else { (0.0, 0.4) };
            let g = 0.1 * weight * (y - 1.0 / (1.0 + (-s).exp()));
            expected.iter_mut().zip(row(node)).for_each(|(x, z)| *x += g * f64::from(*z));
            let x = if positive { s } else { -s };
            loss += if own { (-x).exp().ln_1p() } else { 0.0 };
        }
        for (out, expected) in out.iter().zip(expected) {
            assert!((f64::from(*out) - expected).abs() < 1e-5, "{out} for {expected}");
        }
        assert!((totals.loss as f64 / f64::from(SCALE) - loss).abs() < 1e-4);
    }
}
