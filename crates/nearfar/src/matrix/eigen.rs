//! Eigenvalues and eigenvectors of a symmetric matrix, by one-sided Jacobi rotations.
//!
//! Rotations of two rows of A at a time make all rows orthogonal (Hestenes 1958): V A = W with V
//! orthogonal and the rows of W orthogonal, so A² = WᵀW, and each row of W is an eigenvector of A
//! times ± its eigenvalue. The sign is that of vᵀ A v. Rows of a matrix of 128 × 128 are orthogonal
//! after some eight sweeps over all pairs.

use super::dot;

/// An eigenvalue and its eigenvector of length 1.
pub(crate) struct Eigen {
    pub(crate) value: f64,
    pub(crate) vector: Vec<f64>,
}

/// The eigenvectors of a symmetric matrix, row-major, by decreasing eigenvalue. Eigenvectors of the
/// eigenvalue 0 are left out.
pub(crate) fn eigen(matrix: &[f64], size: usize) -> Vec<Eigen> {
    const SWEEPS: usize = 30;
    /// Rows with a smaller cosine are orthogonal.
    const SMALL: f64 = 1e-10;
    let mut rows: Vec<Vec<f64>> = matrix.chunks_exact(size.max(1)).map(<[f64]>::to_vec).collect();
    for _ in 0..SWEEPS {
        let mut largest: f64 = 0.0;
        for p in 0..size {
            for q in p + 1..size {
                let (left, right) = rows.split_at_mut(q);
                largest = largest.max(orthogonalise(&mut left[p], &mut right[0]));
            }
        }
        if largest < SMALL {
            break;
        }
    }
    let product = |v: &[f64]| -> f64 {
        matrix.chunks_exact(size).zip(v).map(|(row, factor)| factor * dot(row, v)).sum()
    };
    let mut all: Vec<Eigen> = rows
        .into_iter()
        .filter_map(|mut vector| {
            let length = dot(&vector, &vector).sqrt();
            for value in &mut vector {
                *value /= length;
            }
            let value = product(&vector);
            (length > 0.0 && value.is_finite()).then_some(Eigen { value, vector })
        })
        .collect();
    all.sort_by(|a, b| b.value.total_cmp(&a.value));
    all
}

/// Rotates two rows so that they become orthogonal. Returns the cosine of their angle before.
fn orthogonalise(a: &mut [f64], b: &mut [f64]) -> f64 {
    let (aa, bb, ab) = (dot(a, a), dot(b, b), dot(a, b));
    let scale = (aa * bb).sqrt();
    if scale == 0.0 || ab.abs() <= f64::EPSILON * scale {
        return 0.0;
    }
    // tan of the angle: the smaller root of t² + 2 τ t − 1 = 0.
    let tau = (bb - aa) / (2.0 * ab);
    let tangent = tau.signum() / (tau.abs() + (1.0 + tau * tau).sqrt());
    let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
    let sine = cosine * tangent;
    for (a, b) in a.iter_mut().zip(b) {
        (*a, *b) = (cosine * *a - sine * *b, sine * *a + cosine * *b);
    }
    ab.abs() / scale
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::add_scaled;
    use super::*;

    proptest! {
        #[test]
        fn eigenvectors_make_up_the_matrix(
            size in 1_usize..16,
            numbers in prop::collection::vec(-1.0_f64..1.0, 256),
        ) {
            let cell = |i: usize, j: usize| numbers[i.max(j) * 16 + i.min(j)];
            let matrix: Vec<f64> =
                (0..size * size).map(|at| cell(at / size, at % size)).collect();
            let found = eigen(&matrix, size);
            prop_assert!(found.is_sorted_by(|a, b| a.value >= b.value));
            let mut sum = vec![0.0; size * size];
            for Eigen { value, vector } in &found {
                prop_assert!((dot(vector, vector) - 1.0).abs() < 1e-9);
                for (row, factor) in sum.chunks_exact_mut(size).zip(vector) {
                    add_scaled(row, value * factor, vector);
                }
            }
            let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-6;
            prop_assert!(sum.iter().zip(&matrix).all(close), "{sum:?} for {matrix:?}");
        }
    }

    #[test]
    fn a_matrix_of_zeros_has_none() {
        assert!(eigen(&[0.0; 9], 3).is_empty());
        assert!(eigen(&[], 0).is_empty());
    }
}
