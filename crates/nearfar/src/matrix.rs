//! Products of matrices that are stored row by row, by the crate `matrixmultiply`.

#![allow(unsafe_code)]

use matrixmultiply::sgemm;

/// A matrix as `matrixmultiply` takes it: where it is, and how far it is from one row to the next
/// and from one column to the next.
type Matrix<P> = (P, isize, isize);

/// Writes the product of `x`, rows × inner, and `w`, inner × columns, to `out`.
pub(crate) fn multiply(x: &[f32], w: &[f32], out: &mut [f32], inner: usize, columns: usize) {
    plain(x, w, false, out, inner, columns);
}

/// Adds the product of `x`, rows × inner, and `w`, inner × columns, to `out`.
pub(crate) fn add(x: &[f32], w: &[f32], out: &mut [f32], inner: usize, columns: usize) {
    plain(x, w, true, out, inner, columns);
}

fn plain(x: &[f32], w: &[f32], keep: bool, out: &mut [f32], inner: usize, columns: usize) {
    let rows = x.len() / inner.max(1);
    assert_eq!((x.len(), w.len(), out.len()), (rows * inner, inner * columns, rows * columns));
    let (row_of_x, row_of_w) = (inner.cast_signed(), columns.cast_signed());
    // SAFETY: the sizes were compared above, and with these steps from row to row and from
    // column to column every cell of the three matrices lies within its slice.
    unsafe {
        let (x, w) = ((x.as_ptr(), row_of_x, 1), (w.as_ptr(), row_of_w, 1));
        gemm([rows, inner, columns], x, w, keep, (out.as_mut_ptr(), row_of_w, 1));
    }
}

/// Writes the product of `x`, rows × inner, and the transpose of `y`, columns × inner, to `out`.
pub(crate) fn multiply_by_transposed(x: &[f32], y: &[f32], out: &mut [f32], inner: usize) {
    let (rows, columns) = (x.len() / inner.max(1), y.len() / inner.max(1));
    assert_eq!((x.len(), y.len(), out.len()), (rows * inner, columns * inner, rows * columns));
    let (row, row_of_out) = (inner.cast_signed(), columns.cast_signed());
    // SAFETY: as above; the transpose is read by going down the rows of `y`.
    unsafe {
        let (x, y) = ((x.as_ptr(), row, 1), (y.as_ptr(), 1, row));
        gemm([rows, inner, columns], x, y, false, (out.as_mut_ptr(), row_of_out, 1));
    }
}

/// Adds the product of the transpose of `x`, inner × rows, and `r`, rows × columns, to `out`.
pub(crate) fn add_transposed(x: &[f32], r: &[f32], out: &mut [f32], inner: usize, columns: usize) {
    let rows = x.len() / inner.max(1);
    assert_eq!((x.len(), r.len(), out.len()), (rows * inner, rows * columns, inner * columns));
    let (row_of_x, row_of_r) = (inner.cast_signed(), columns.cast_signed());
    // SAFETY: as above; the transpose is read by going down the columns of `x`.
    unsafe {
        let (x, r) = ((x.as_ptr(), 1, row_of_x), (r.as_ptr(), row_of_r, 1));
        gemm([inner, rows, columns], x, r, true, (out.as_mut_ptr(), row_of_r, 1));
    }
}

/// out = a b + keep · out, for a of rows × inner and b of inner × columns numbers.
///
/// # Safety
///
/// Every cell of the three matrices can be accessed.
unsafe fn gemm(
    [rows, inner, columns]: [usize; 3],
    a: Matrix<*const f32>,
    b: Matrix<*const f32>,
    keep: bool,
    out: Matrix<*mut f32>,
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

    /// Whole numbers, so that every order of summation gives the same.
    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|at| ((at * 37 + seed * 11) % 19) as f32 - 9.0).collect()
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
