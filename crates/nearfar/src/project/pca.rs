//! Principal directions by orthogonal iteration.
//!
//! They are the first eigenvectors of C = Σ (x − μ)(x − μ)ᵀ. Orthogonal iteration multiplies some
//! directions by C and orthogonalises them, until they converge to the eigenvectors of the largest
//! eigenvalues (Golub and Van Loan, *Matrix computations*, section 8.2). A few spare directions speed
//! up the convergence of the first ones.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, Axis, s};
use rayon::prelude::*;

use crate::rng::{Purpose, Rng};

const SPARE: usize = 8;
const ITERATIONS: usize = 100;

/// The mean (zero unless `centred`), and the first `count` directions, one per row, each of norm 1.
/// Directions beyond the number of dimensions are zero; directions without variance are arbitrary.
pub(crate) fn principal_directions(
    vectors: &Array2<f32>,
    count: usize,
    centred: bool,
) -> (Vec<f32>, Array2<f32>) {
    let dim = vectors.ncols();
    let mut mean = vec![0.0; dim];
    if centred {
        let mut sums = vec![0.0_f64; dim];
        for row in vectors.rows() {
            sums.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x));
        }
        let means = sums.iter().map(|sum| (sum / vectors.nrows() as f64) as f32);
        mean.iter_mut().zip(means).for_each(|(to, mean)| *to = mean);
    }
    let covariance = covariance(vectors, &mean);
    let kept = count.min(dim);
    let mut rng = Rng::new(0, Purpose::Projection, 1, 0);
    let mut directions =
        Array2::from_shape_fn(((kept + SPARE).min(dim), dim), |_| rng.unit() as f32 - 0.5);
    orthogonalise(&mut directions);
    for _ in 0..ITERATIONS {
        directions = directions.dot(&covariance);
        orthogonalise(&mut directions);
    }
    let kept = directions.slice(s![..kept, ..]).to_owned();
    let missing = Array2::zeros((count.saturating_sub(dim), dim));
    let all = ndarray::concatenate(Axis(0), &[kept.view(), missing.view()]).unwrap_or(kept);
    (mean, all)
}

/// Σ (x − μ)(x − μ)ᵀ, in chunks that depend only on the number of vectors.
fn covariance(vectors: &Array2<f32>, mean: &[f32]) -> Array2<f32> {
    const CHUNKS: usize = 16;
    let dim = vectors.ncols();
    let chunk = vectors.nrows().div_ceil(CHUNKS).max(1);
    let starts = (0..vectors.nrows()).into_par_iter().step_by(chunk);
    let sums: Vec<Array2<f32>> = starts
        .map(|start| {
            let rows = vectors.slice(s![start..vectors.nrows().min(start + chunk), ..]);
            let mut sum = Array2::zeros((dim, dim));
            for rows in rows.axis_chunks_iter(Axis(0), 1024) {
                let centred = &rows - &ndarray::ArrayView1::from(mean);
                general_mat_mul(1.0, &centred.t(), &centred, 1.0, &mut sum);
            }
            sum
        })
        .collect();
    sums.into_iter().fold(Array2::zeros((dim, dim)), |total, sum| total + sum)
}

/// Gram–Schmidt, twice, because once is not accurate enough in single precision. A row in the span of
/// the rows before it becomes zero.
fn orthogonalise(rows: &mut Array2<f32>) {
    for at in 0..rows.nrows() {
        let (before, mut rest) = rows.view_mut().split_at(Axis(0), at);
        let mut row = rest.row_mut(0);
        let norm = row.dot(&row).sqrt();
        if norm > 0.0 {
            row /= norm;
        }
        for _ in 0..2 {
            for other in before.rows() {
                let component = other.dot(&row);
                row.scaled_add(-component, &other);
            }
        }
        let norm = row.dot(&row).sqrt();
        if norm > 1e-5 { row /= norm } else { row.fill(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points on three rotated axes, with variances 9, 4 and 1.
    #[test]
    fn rotated_axes_are_found() {
        let (sin, cos) = (0.6, 0.8);
        let axes = [[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]];
        let ends = [(0, 3.0), (0, -3.0), (1, 2.0), (1, -2.0), (2, 1.0), (2, -1.0)];
        let cloud = Array2::from_shape_fn((6, 3), |(point, x)| {
            let (axis, length): (usize, f32) = ends[point];
            5.0 + axes[axis][x] * length
        });
        let (mean, directions) = principal_directions(&cloud, 2, true);
        assert!(mean.iter().all(|mean| (mean - 5.0).abs() < 1e-6), "{mean:?}");
        for (axis, direction) in axes.iter().zip(directions.rows()) {
            let cosine: f32 = axis.iter().zip(direction).map(|(a, b)| a * b).sum();
            assert!(cosine.abs() > 0.999, "{directions}");
        }
    }

    #[test]
    fn directions_beyond_the_dimensions_are_zero() {
        let line = Array2::from_shape_fn((5, 2), |(point, _)| point as f32);
        let (_, directions) = principal_directions(&line, 3, true);
        assert!((directions[[0, 0]].abs() - 0.5_f32.sqrt()).abs() < 1e-6);
        assert_eq!(directions.row(2).to_vec(), [0.0; 2]);
        let (_, none) = principal_directions(&Array2::zeros((4, 3)), 2, true);
        assert!(none.iter().all(|x| x.is_finite()));
    }
}
