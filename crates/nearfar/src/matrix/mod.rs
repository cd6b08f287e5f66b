//! Products of row-major matrices, by the crate `matrixmultiply`, and factorisations of small ones.

#![allow(unsafe_code)]

mod cholesky;
mod eigen;

pub(crate) use cholesky::{Cholesky, add_scaled, dot};
pub(crate) use eigen::eigen;
use matrixmultiply::sgemm;

/// A matrix as `matrixmultiply` takes it: address, row stride and column stride.
type Strided<P> = (P, isize, isize);

/// out = x w, for x of rows × inner and w of inner × columns.
pub(crate) fn multiply(x: &[f32], w: &[f32], out: &mut [f32], inner: usize, columns: usize) {
    plain(x, w, false, out, inner, columns);
}

/// out += x w, for x of rows × inner and w of inner × columns.
pub(crate) fn add(x: &[f32], w: &[f32], out: &mut [f32], inner: usize, columns: usize) {
    plain(x, w, true, out, inner, columns);
}

fn plain(x: &[f32], w: &[f32], keep: bool, out: &mut [f32], inner: usize, columns: usize) {
    let rows = x.len() / inner.max(1);
    assert_eq!((x.len(), w.len(), out.len()), (rows * inner, inner * columns, rows * columns));
    let (row_of_x, row_of_w) = (inner.cast_signed(), columns.cast_signed());
    // SAFETY: the sizes were checked above, and with these strides every element of the three
    // matrices lies within its slice.
    unsafe {
        let (x, w) = ((x.as_ptr(), row_of_x, 1), (w.as_ptr(), row_of_w, 1));
        gemm([rows, inner, columns], x, w, keep, (out.as_mut_ptr(), row_of_w, 1));
    }
}

/// out = x yᵀ, for x of rows × inner and y of columns × inner.
pub(crate) fn multiply_by_transposed(x: &[f32], y: &[f32], out: &mut [f32], inner: usize) {
    let (rows, columns) = (x.len() / inner.max(1), y.len() / inner.max(1));
    assert_eq!((x.len(), y.len(), out.len()), (rows * inner, columns * inner, rows * columns));
    let (row, row_of_out) = (inner.cast_signed(), columns.cast_signed());
    // SAFETY: as above; the strides of `y` are swapped.
    unsafe {
        let (x, y) = ((x.as_ptr(), row, 1), (y.as_ptr(), 1, row));
        gemm([rows, inner, columns], x, y, false, (out.as_mut_ptr(), row_of_out, 1));
    }
}

/// out += xᵀ r, for x of rows × inner and r of rows × columns.
pub(crate) fn add_transposed(x: &[f32], r: &[f32], out: &mut [f32], inner: usize, columns: usize) {
    let rows = x.len() / inner.max(1);
    assert_eq!((x.len(), r.len(), out.len()), (rows * inner, rows * columns, inner * columns));
    let (row_of_x, row_of_r) = (inner.cast_signed(), columns.cast_signed());
    // SAFETY: as above; the strides of `x` are swapped.
    unsafe {
        let (x, r) = ((x.as_ptr(), 1, row_of_x), (r.as_ptr(), row_of_r, 1));
        gemm([inner, rows, columns], x, r, true, (out.as_mut_ptr(), row_of_r, 1));
    }
}

/// out = a b, or out += a b if `keep`, for a of rows × inner and b of inner × columns.
///
/// # Safety
///
/// Every element of `a` and `b` is valid for reads, and of `out` for reads and writes.
unsafe fn gemm(
    [rows, inner, columns]: [usize; 3],
    a: Strided<*const f32>,
    b: Strided<*const f32>,
    keep: bool,
    out: Strided<*mut f32>,
) {
    let keep = if keep { 1.0 } else { 0.0 };
    // SAFETY: promised by the caller.
    unsafe {
        sgemm(rows, inner, columns, 1.0, a.0, a.1, a.2, b.0, b.1, b.2, keep, out.0, out.1, out.2);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Integers, so that every order of summation gives the same result.
    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|at| ((at * 37 + seed * 11) % 19) as f32 - 9.0).collect()
    }

    /// Sums run over the inner index in blocks of 256, with fused products, on every machine that can
    /// fuse them. So products are the same numbers with AVX2, AVX-512 and NEON, and `--kernel` makes
    /// all of a run portable although `matrixmultiply` chooses for itself.
    #[test]
    fn products_do_not_depend_on_the_instruction_set() {
        #[cfg(target_arch = "x86_64")]
        if !(is_x86_feature_detected!("fma") && is_x86_feature_detected!("avx2")) {
            return;
        }
        // Fractions with all of their bits.
        let random = |count: usize| -> Vec<f32> {
            (1..=count).map(|at| (at as f32 * 0.618_034).fract() - 0.5).collect()
        };
        for (rows, inner, columns) in [(37, 700, 21), (5, 256, 3), (64, 257, 48), (1, 33, 17)] {
            let (x, w) = (random(rows * inner), random(inner * columns + 1));
            let mut found = vec![f32::NAN; rows * columns];
            multiply(&x, &w[1..], &mut found, inner, columns);
            for (at, found) in found.iter().enumerate() {
                let (row, column) = (at / columns, at % columns);
                let term = |sum: f32, k: &usize| {
                    x[row * inner + k].mul_add(w[1 + k * columns + column], sum)
                };
                let all: Vec<usize> = (0..inner).collect();
                let blocks = all.chunks(256).map(|block| block.iter().fold(0.0, term));
                let expected = blocks.reduce(|sum, block| sum + block).unwrap_or(0.0);
                assert_eq!(found.to_bits(), expected.to_bits(), "row {row}, column {column}");
            }
        }
    }

    proptest! {
        #[test]
        fn products_are_sums_of_products(rows in 0_usize..40, inner in 1_usize..40, columns in 1_usize..20) {
            let [x, w, r] = [rows * inner, inner * columns, rows * columns].map(|len| numbers(len, len));
            let mut scores = vec![f32::NAN; rows * columns];
            multiply(&x, &w, &mut scores, inner, columns);
            let by_rows: Vec<f32> = (0..inner * columns)
                .map(|at| w[at % inner * columns + at / inner])
                .collect();
            let mut same = vec![f32::NAN; rows * columns];
            multiply_by_transposed(&x, &by_rows, &mut same, inner);
            prop_assert_eq!(&same, &scores);
            add(&x, &w, &mut same, inner, columns);
            prop_assert!(same.iter().zip(&scores).all(|(twice, once)| (twice - 2.0 * once).abs() < 1e-3));
            let mut sums = numbers(inner * columns, 5);
            let before = sums.clone();
            add_transposed(&x, &r, &mut sums, inner, columns);
            for column in 0..columns {
                for row in 0..rows {
                    let naive: f32 =
                        (0..inner).map(|at| x[row * inner + at] * w[at * columns + column]).sum();
                    prop_assert!(scores[row * columns + column].total_cmp(&(naive + 0.0)).is_eq());
                }
                for at in 0..inner {
                    let naive: f32 =
                        (0..rows).map(|row| x[row * inner + at] * r[row * columns + column]).sum();
                    let found = sums[at * columns + column];
                    prop_assert!((found - before[at * columns + column] - naive).abs() < 1e-3);
                }
            }
        }
    }
}
