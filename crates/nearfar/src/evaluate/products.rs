//! Products of matrices that are stored row by row, by the crate `matrixmultiply`.

#![allow(unsafe_code)]

use matrixmultiply::dgemm;

/// Writes the product of `x`, rows × inner, and `w`, inner × columns, to `out`.
pub(super) fn multiply(x: &[f64], w: &[f64], out: &mut [f64], inner: usize, columns: usize) {
    let rows = x.len() / inner.max(1);
    assert_eq!((x.len(), w.len(), out.len()), (rows * inner, inner * columns, rows * columns));
    let (row_of_x, row_of_w) = (inner.cast_signed(), columns.cast_signed());
    // SAFETY: the sizes were compared above, and with these steps from row to row and from
    // column to column every cell of the three matrices lies within its slice.
    unsafe {
        let (x, w, out) = (x.as_ptr(), w.as_ptr(), out.as_mut_ptr());
        dgemm(rows, inner, columns, 1.0, x, row_of_x, 1, w, row_of_w, 1, 0.0, out, row_of_w, 1);
    }
}

/// Adds the product of the transpose of `x`, inner × rows, and `r`, rows × columns, to `out`.
pub(super) fn add_transposed(x: &[f64], r: &[f64], out: &mut [f64], inner: usize, columns: usize) {
    let rows = x.len() / inner.max(1);
    assert_eq!((x.len(), r.len(), out.len()), (rows * inner, rows * columns, inner * columns));
    let (row_of_x, row_of_r) = (inner.cast_signed(), columns.cast_signed());
    // SAFETY: as above; the transpose is read by going down the columns of `x`.
    unsafe {
        let (x, r, out) = (x.as_ptr(), r.as_ptr(), out.as_mut_ptr());
        dgemm(inner, rows, columns, 1.0, x, 1, row_of_x, r, row_of_r, 1, 1.0, out, row_of_r, 1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whole numbers, so that every order of summation gives the same.
    fn numbers(count: usize, seed: usize) -> Vec<f64> {
        (0..count).map(|at| ((at * 37 + seed * 11) % 19) as f64 - 9.0).collect()
    }

    proptest! {
        #[test]
        fn products_are_sums_of_products(rows in 0_usize..40, inner in 1_usize..40, columns in 1_usize..20) {
            let [x, w, r] = [rows * inner, inner * columns, rows * columns].map(|len| numbers(len, len));
            let mut scores = vec![f64::NAN; rows * columns];
            multiply(&x, &w, &mut scores, inner, columns);
            let mut sums = numbers(inner * columns, 5);
            let before = sums.clone();
            add_transposed(&x, &r, &mut sums, inner, columns);
            for column in 0..columns {
                for row in 0..rows {
                    let naive: f64 =
                        (0..inner).map(|at| x[row * inner + at] * w[at * columns + column]).sum();
                    prop_assert!(scores[row * columns + column].total_cmp(&(naive + 0.0)).is_eq());
                }
                for at in 0..inner {
                    let naive: f64 =
                        (0..rows).map(|row| x[row * inner + at] * r[row * columns + column]).sum();
                    let found = sums[at * columns + column];
                    prop_assert!((found - before[at * columns + column] - naive).abs() < 1e-9);
                }
            }
        }
    }
}
