//! Eigenvalues and eigenvectors of a symmetric matrix.
//!
//! Reflections make the matrix tridiagonal (Householder): T = QᵀAQ. The implicit QL method with Wilkinson
//! shifts then makes T diagonal by rotations of adjacent rows (Wilkinson and Reinsch, *Handbook for
//! Automatic Computation* II, 1971): T = YᵀDY. The rows of YQᵀ are the eigenvectors.

use super::{add_scaled, dot};

/// An eigenvalue and its eigenvector of length 1.
pub(crate) struct Eigen {
    pub(crate) value: f64,
    pub(crate) vector: Vec<f64>,
}

/// The eigenvectors of a symmetric matrix, row-major, by decreasing eigenvalue. Eigenvectors of the
/// eigenvalue 0 are left out.
pub(crate) fn eigen(matrix: &[f64], size: usize) -> Vec<Eigen> {
    let mut rows: Vec<Vec<f64>> = matrix.chunks_exact(size.max(1)).map(<[f64]>::to_vec).collect();
    let reflections = tridiagonal(&mut rows);
    let mut diagonal: Vec<f64> = (0..size).map(|i| rows[i][i]).collect();
    // The last one is no entry of the matrix.
    let mut beside: Vec<f64> =
        (1..=size).map(|i| if i < size { rows[i - 1][i] } else { 0.0 }).collect();
    for (i, row) in rows.iter_mut().enumerate() {
        row.fill(0.0);
        row[i] = 1.0;
    }
    diagonalise(&mut diagonal, &mut beside, &mut rows);
    let mut all: Vec<Eigen> = diagonal
        .into_iter()
        .zip(rows)
        .filter(|(value, _)| value.is_finite() && *value != 0.0)
        .map(|(value, mut vector)| {
            for (first, reflection) in reflections.iter().enumerate().rev() {
                reflect(&mut vector[first + 1..], reflection);
            }
            Eigen { value, vector }
        })
        .collect();
    all.sort_by(|a, b| b.value.total_cmp(&a.value));
    all
}

/// Makes a symmetric matrix tridiagonal: H A H for one reflection H = I − 2 v vᵀ after the other, of which
/// the first acts on all rows but the first. Returns their v. Entries off the three diagonals are not set.
fn tridiagonal(rows: &mut [Vec<f64>]) -> Vec<Vec<f64>> {
    let size = rows.len();
    let mut reflections = Vec::with_capacity(size.saturating_sub(2));
    for column in 0..size.saturating_sub(2) {
        let from = column + 1;
        let mut v = rows[column][from..].to_vec();
        let length = dot(&v, &v).sqrt();
        let reflected = -length.copysign(v[0]);
        v[0] -= reflected;
        let norm = dot(&v, &v).sqrt();
        if norm > 0.0 {
            for value in &mut v {
                *value /= norm;
            }
            rows[column][from] = reflected;
            // H A H = A − 2 (v wᵀ + w vᵀ) with w = A v − (vᵀA v) v.
            let mut w: Vec<f64> = rows[from..].iter().map(|row| dot(&row[from..], &v)).collect();
            let along = dot(&v, &w);
            add_scaled(&mut w, -along, &v);
            for (at, row) in rows[from..].iter_mut().enumerate() {
                add_scaled(&mut row[from..], -2.0 * v[at], &w);
                add_scaled(&mut row[from..], -2.0 * w[at], &v);
            }
        }
        reflections.push(v);
    }
    reflections
}

/// Makes a tridiagonal matrix diagonal, and applies the rotations to the rows of a matrix.
fn diagonalise(diagonal: &mut [f64], beside: &mut [f64], rows: &mut [Vec<f64>]) {
    const ITERATIONS: usize = 60;
    let size = diagonal.len();
    for first in 0..size {
        for _ in 0..ITERATIONS {
            let is_small = |&at: &usize| {
                let scale: f64 = diagonal[at].abs() + diagonal[at + 1].abs();
                beside[at].abs() <= f64::EPSILON * scale
            };
            let last = (first..size - 1).find(is_small).unwrap_or(size - 1);
            if last == first {
                break;
            }
            let half = (diagonal[first + 1] - diagonal[first]) / (2.0 * beside[first]);
            let shift = half + half.hypot(1.0).copysign(half);
            let mut g = diagonal[last] - diagonal[first] + beside[first] / shift;
            let (mut sine, mut cosine, mut moved) = (1.0, 1.0, 0.0);
            for at in (first..last).rev() {
                let (turned, kept) = (sine * beside[at], cosine * beside[at]);
                let length = turned.hypot(g);
                beside[at + 1] = length;
                (sine, cosine) =
                    if length > 0.0 { (turned / length, g / length) } else { (0.0, 1.0) };
                g = diagonal[at + 1] - moved;
                let change = (diagonal[at] - g) * sine + 2.0 * cosine * kept;
                moved = sine * change;
                diagonal[at + 1] = g + moved;
                g = cosine * change - kept;
                let (low, high) = rows.split_at_mut(at + 1);
                for (x, y) in low[at].iter_mut().zip(&mut high[0]) {
                    (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
                }
            }
            diagonal[first] -= moved;
            beside[first] = g;
            beside[last] = 0.0;
        }
    }
}

/// x ← x − 2 v vᵀx.
fn reflect(x: &mut [f64], v: &[f64]) {
    let along = dot(x, v);
    add_scaled(x, -2.0 * along, v);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
