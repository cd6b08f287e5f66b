//! Principal directions: those in which vectors differ most.
//!
//! They are the first eigenvectors of C = Σ (x − μ)(x − μ)ᵀ, found by orthogonal iteration: some
//! directions are multiplied by C and made orthogonal again, until the first of them have turned
//! into the eigenvectors of the largest eigenvalues (Golub and Van Loan, *Matrix computations*,
//! section 8.2). A few more than wanted make the wanted ones settle sooner.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, Axis, s};
use rayon::prelude::*;

use crate::rng::{Purpose, Rng};

const SPARE: usize = 8;
const STEPS: usize = 100;

/// The mean (zero if vectors are not to be `centred`), and the first `count` directions, one a
/// row, each of length 1; fewer if there are not so many dimensions. Where vectors do not differ
/// any more, directions are any.
pub(crate) fn principal(
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
    for _ in 0..STEPS {
        directions = directions.dot(&covariance);
        orthogonalise(&mut directions);
    }
    let kept = directions.slice(s![..kept, ..]).to_owned();
    let missing = Array2::zeros((count.saturating_sub(dim), dim));
    let all = ndarray::concatenate(Axis(0), &[kept.view(), missing.view()]).unwrap_or(kept);
    (mean, all)
}

/// Σ (x − μ)(x − μ)ᵀ, over parts that depend on the number of vectors only.
fn covariance(vectors: &Array2<f32>, mean: &[f32]) -> Array2<f32> {
    const PARTS: usize = 16;
    let dim = vectors.ncols();
    let part = vectors.nrows().div_ceil(PARTS).max(1);
    let starts = (0..vectors.nrows()).into_par_iter().step_by(part);
    let parts: Vec<Array2<f32>> = starts
        .map(|start| {
            let rows = vectors.slice(s![start..vectors.nrows().min(start + part), ..]);
            let mut sum = Array2::zeros((dim, dim));
            for rows in rows.axis_chunks_iter(Axis(0), 1024) {
                let centred = &rows - &ndarray::ArrayView1::from(mean);
                general_mat_mul(1.0, &centred.t(), &centred, 1.0, &mut sum);
            }
            sum
        })
        .collect();
    parts.into_iter().fold(Array2::zeros((dim, dim)), |sum, part| sum + part)
}

/// Gram and Schmidt, twice, because once leaves too much in single precision. A row that lies in
/// the span of those before it becomes zero.
fn orthogonalise(rows: &mut Array2<f32>) {
    for at in 0..rows.nrows() {
        let (before, mut from) = rows.view_mut().split_at(Axis(0), at);
        let mut row = from.row_mut(0);
        let length = row.dot(&row).sqrt();
        if length > 0.0 {
            row /= length;
        }
        for _ in 0..2 {
            for other in before.rows() {
                let along = other.dot(&row);
                row.scaled_add(-along, &other);
            }
        }
        let left = row.dot(&row).sqrt();
        if left > 1e-5 { row /= left } else { row.fill(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points on three axes that are turned by known angles: variances 9, 4 and 1.
    #[test]
    fn the_axes_of_a_cloud_are_found() {
        let (sin, cos) = (0.6, 0.8);
        let axes = [[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]];
        let ends = [(0, 3.0), (0, -3.0), (1, 2.0), (1, -2.0), (2, 1.0), (2, -1.0)];
        let cloud = Array2::from_shape_fn((6, 3), |(point, x)| {
            let (axis, length): (usize, f32) = ends[point];
            5.0 + axes[axis][x] * length
        });
        let (mean, directions) = principal(&cloud, 2, true);
        assert!(mean.iter().all(|mean| (mean - 5.0).abs() < 1e-6), "{mean:?}");
        for (axis, direction) in axes.iter().zip(directions.rows()) {
            let cosine: f32 = axis.iter().zip(direction).map(|(a, b)| a * b).sum();
            assert!(cosine.abs() > 0.999, "{directions}");
        }
    }

    #[test]
    fn more_directions_than_there_are_become_zero() {
        let line = Array2::from_shape_fn((5, 2), |(point, _)| point as f32);
        let (_, directions) = principal(&line, 3, true);
        assert!((directions[[0, 0]].abs() - 0.5_f32.sqrt()).abs() < 1e-6);
        assert_eq!(directions.row(2).to_vec(), [0.0; 2]);
        let (_, none) = principal(&Array2::zeros((4, 3)), 2, true);
        assert!(none.iter().all(|x| x.is_finite()));
    }
}
