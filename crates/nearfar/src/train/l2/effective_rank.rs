//! The effective rank: how many dimensions a set of vectors really uses.
//!
//! It is exp(entropy of the normalised eigenvalues of ZᵀZ): dim if all directions have the same
//! weight, 1 if all vectors lie on a line (Roy and Vetterli, *The effective rank*, 2007).

#![allow(unsafe_code)]
#![allow(clippy::inline_always, reason = "compiled for the instruction set of the caller")]

use crate::budget::{product, sum};
use crate::simd::{InstructionSet, LANES, Vector, Work};

/// The effective rank of the first `dim` values of rows. 0 if they are all zero.
pub fn effective_rank<'a>(
    set: InstructionSet,
    rows: impl Iterator<Item = &'a [f32]>,
    dim: usize,
) -> f64 {
    let eigenvalues = eigenvalues(gram(set, rows, dim), dim);
    let total: f64 = eigenvalues.iter().map(|value| value.max(0.0)).sum();
    if total <= 0.0 {
        return 0.0;
    }
    let normalised = eigenvalues.iter().map(|value| value.max(0.0) / total);
    normalised.filter(|&p| p > 0.0).map(|p| -p * p.ln()).sum::<f64>().exp()
}

/// The memory of [`effective_rank`] of up to 1024 of so many rows: the rows, and three symmetric
/// matrices.
pub(in crate::train) fn bytes(nodes: usize, dim: usize) -> u64 {
    let rows = product([nodes.min(1024), dim.next_multiple_of(LANES), 4]);
    sum([rows, product([dim, dim, 4 + 8 + 8])])
}

/// ZᵀZ.
fn gram<'a>(set: InstructionSet, rows: impl Iterator<Item = &'a [f32]>, dim: usize) -> Vec<f64> {
    let padded = dim.next_multiple_of(LANES);
    let mut padded_rows = Vec::new();
    for (at, row) in rows.enumerate() {
        padded_rows.extend_from_slice(&row[..dim]);
        padded_rows.resize((at + 1) * padded, 0.0);
    }
    let rows: Vec<&[f32]> = padded_rows.chunks_exact(padded).collect();
    // SAFETY: all rows have `padded` elements.
    let sums = unsafe { set.run(Gram { rows: &rows, padded }) };
    let entry = |i: usize, j: usize| f64::from(sums[i.max(j) * padded + i.min(j)]);
    (0..dim).flat_map(|i| (0..dim).map(move |j| entry(i, j))).collect()
}

/// The sums of a_i a_j over rows a, for j up to the end of the vector that i is in.
struct Gram<'a> {
    rows: &'a [&'a [f32]],
    padded: usize,
}

impl Work for Gram<'_> {
    type Out = Vec<f32>;

    /// Four rows at a time: a sum is then loaded and stored once for four products.
    #[inline(always)]
    unsafe fn on<V: Vector>(self) -> Vec<f32> {
        let Self { rows, padded } = self;
        let mut sums = vec![0.0; padded * padded];
        let zeros = vec![0.0; padded];
        for four in rows.chunks(4) {
            let four: [&[f32]; 4] = std::array::from_fn(|at| *four.get(at).unwrap_or(&&zeros[..]));
            for (i, sums) in sums.chunks_exact_mut(padded).enumerate() {
                // SAFETY: the caller guarantees the instruction set, and that rows have `padded`
                // elements, a multiple of `LANES`: whole vectors lie within them.
                unsafe {
                    let factors = four.map(|row| V::splat(row[i]));
                    for from in (0..=i).step_by(LANES) {
                        let sum = sums.as_mut_ptr().add(from);
                        let mut total = V::load(sum);
                        for (row, factor) in four.iter().zip(factors) {
                            total = factor.mul_add(V::load(row.as_ptr().add(from)), total);
                        }
                        total.store(sum);
                    }
                }
            }
        }
        sums
    }
}

/// The eigenvalues of a symmetric matrix: Householder reduction to tridiagonal form, then QL with
/// implicit shifts (Golub and Van Loan, *Matrix computations*, chapter 8). O(n³).
fn eigenvalues(mut a: Vec<f64>, n: usize) -> Vec<f64> {
    let (mut diagonal, mut subdiagonal) = (vec![0.0; n], vec![0.0; n]);
    for k in (1..n).rev() {
        // A reflection that zeroes row k left of the subdiagonal.
        let row: Vec<f64> = a[k * n..k * n + k].to_vec();
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        let last = row[k - 1];
        let rest: f64 = row[..k - 1].iter().map(|x| x.abs()).sum();
        if rest == 0.0 {
            subdiagonal[k] = last;
        } else {
            let alpha = if last > 0.0 { -norm } else { norm };
            subdiagonal[k] = alpha;
            let mut v = row;
            v[k - 1] -= alpha;
            let scale = 2.0 / v.iter().map(|x| x * x).sum::<f64>();
            // Row by row, which is possible as the matrix is symmetric: independent sums vectorise.
            let mut p = vec![0.0; k];
            for (row, &v) in a.chunks_exact(n).zip(&v) {
                p.iter_mut().zip(row).for_each(|(p, a)| *p += scale * v * a);
            }
            let half = 0.5 * scale * p.iter().zip(&v).map(|(p, v)| p * v).sum::<f64>();
            let w: Vec<f64> = p.iter().zip(&v).map(|(p, v)| p - half * v).collect();
            for i in 0..k {
                for j in 0..k {
                    a[i * n + j] -= v[i] * w[j] + w[i] * v[j];
                }
            }
        }
    }
    for k in 0..n {
        diagonal[k] = a[k * n + k];
    }
    ql(&mut diagonal, &mut subdiagonal);
    diagonal
}

/// Replaces the diagonal of a symmetric tridiagonal matrix by its eigenvalues; `subdiagonal[k]` is the
/// entry in row k and column k − 1.
fn ql(diagonal: &mut [f64], subdiagonal: &mut [f64]) {
    let n = diagonal.len();
    subdiagonal.rotate_left(1.min(n));
    for low in 0..n {
        for _ in 0..50 {
            let small = |k: &usize| {
                subdiagonal[*k].abs()
                    <= f64::EPSILON * (diagonal[*k].abs() + diagonal[*k + 1].abs())
            };
            let high = (low..n - 1).find(small).unwrap_or(n - 1);
            if high == low {
                break;
            }
            let mut g = (diagonal[low + 1] - diagonal[low]) / (2.0 * subdiagonal[low]);
            let r = length(g, 1.0);
            g = diagonal[high] - diagonal[low] + subdiagonal[low] / (g + r.copysign(g));
            let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
            for k in (low..high).rev() {
                let (f, b) = (s * subdiagonal[k], c * subdiagonal[k]);
                let r = length(f, g);
                subdiagonal[k + 1] = r;
                if r == 0.0 {
                    diagonal[k + 1] -= p;
                    subdiagonal[high] = 0.0;
                    break;
                }
                (s, c) = (f / r, g / r);
                g = diagonal[k + 1] - p;
                let t = (diagonal[k] - g) * s + 2.0 * c * b;
                p = s * t;
                diagonal[k + 1] = g + p;
                g = c * t - b;
            }
            diagonal[low] -= p;
            subdiagonal[low] = g;
            subdiagonal[high] = 0.0;
        }
    }
}

/// √(a² + b²). In 64 bits the squares of values computed from 32-bit floats neither overflow nor
/// underflow.
fn length(a: f64, b: f64) -> f64 {
    (a * a + b * b).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::eigen;
    use crate::rng::{Purpose, Rng};

    #[test]
    fn eigenvalues_of_known_matrices() {
        let mut found = eigenvalues(vec![2.0, 1.0, 0.0, 1.0, 2.0, 1.0, 0.0, 1.0, 2.0], 3);
        found.sort_by(f64::total_cmp);
        let root = 2_f64.sqrt();
        for (found, exact) in found.iter().zip([2.0 - root, 2.0, 2.0 + root]) {
            assert!((found - exact).abs() < 1e-12);
        }
        assert_eq!(eigenvalues(vec![5.0], 1), [5.0]);
    }

    #[test]
    fn traces_of_random_matrices_agree() {
        // Σ λ = tr A and Σ λ² = tr A² for symmetric A.
        let n = 40;
        let mut rng = Rng::new(0, Purpose::Start, 0, 0);
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                let x = rng.unit() - 0.5;
                (a[i * n + j], a[j * n + i]) = (x, x);
            }
        }
        let trace: f64 = (0..n).map(|i| a[i * n + i]).sum();
        let square: f64 = a.iter().map(|x| x * x).sum();
        let found = eigenvalues(a, n);
        assert!((found.iter().sum::<f64>() - trace).abs() < 1e-9);
        assert!((found.iter().map(|x| x * x).sum::<f64>() - square).abs() < 1e-9);
    }

    #[test]
    fn the_gram_matrix_agrees_with_plain_sums() {
        let dim = 21;
        let mut rng = Rng::new(1, Purpose::Start, 0, 0);
        let row = |_| (0..dim).map(|_| rng.unit() as f32 - 0.5).collect();
        let rows: Vec<Vec<f32>> = (0..7).map(row).collect();
        let found = gram(InstructionSet::detect(), rows.iter().map(Vec::as_slice), dim);
        for (at, found) in found.iter().enumerate() {
            let (i, j) = (at / dim, at % dim);
            let exact: f64 = rows.iter().map(|row| f64::from(row[i]) * f64::from(row[j])).sum();
            assert!((found - exact).abs() < 1e-6, "{i}, {j}: {found} for {exact}");
        }
    }

    #[test]
    fn the_rank_of_known_sets() {
        let axes: Vec<Vec<f32>> =
            (0..8).map(|at| (0..8).map(|k| f32::from(u8::from(k == at))).collect()).collect();
        let rank = |rows: &[Vec<f32>]| {
            effective_rank(InstructionSet::detect(), rows.iter().map(Vec::as_slice), 8)
        };
        assert!((rank(&axes) - 8.0).abs() < 1e-9);
        assert!((rank(&axes[..3]) - 3.0).abs() < 1e-9);
        assert!((rank(&[axes[0].clone(), axes[0].clone()]) - 1.0).abs() < 1e-9);
        assert!(rank(&[vec![0.0; 8]]).abs() < 1e-9);
    }

    fn check(a: Vec<f64>, mut exact: Vec<f64>) {
        let n = exact.len();
        let mut found = eigenvalues(a, n);
        found.sort_by(f64::total_cmp);
        exact.sort_by(f64::total_cmp);
        let largest = exact.iter().fold(1.0, |most: f64, value| most.max(value.abs()));
        for (found, exact) in found.iter().zip(&exact) {
            assert!((found - exact).abs() < 1e-11 * largest, "{found} for {exact} of {n}");
        }
    }

    #[test]
    fn eigenvalues_of_paths_and_of_repeated_rows() {
        let matrix = |n: usize, cell: fn(usize, usize) -> f64| -> Vec<f64> {
            (0..n * n).map(|at| cell(at / n, at % n)).collect()
        };
        for n in [2, 3, 4, 7, 20, 33] {
            // The adjacency matrix of a path.
            let path = matrix(n, |i, j| f64::from(u8::from(i.abs_diff(j) == 1)));
            let angle = std::f64::consts::PI / (n + 1) as f64;
            check(path, (1..=n).map(|k| 2.0 * (k as f64 * angle).cos()).collect());
            let ones = (0..n).map(|k| if k == 0 { n as f64 } else { 0.0 });
            check(matrix(n, |_, _| 1.0), ones.collect());
            let diagonal = matrix(n, |i, j| if i == j { -(i as f64) } else { 0.0 });
            check(diagonal, (0..n).map(|i| -(i as f64)).collect());
            check(vec![0.0; n * n], vec![0.0; n]);
        }
    }

    /// ZᵀZ of random rows, some fewer than dimensions.
    #[test]
    fn eigenvalues_agree_with_those_of_jacobi_rotations() {
        let mut rng = Rng::new(2, Purpose::Start, 0, 0);
        for (rows, n) in [(3, 2), (9, 5), (4, 9), (60, 20), (20, 33)] {
            let z: Vec<f64> = (0..rows * n).map(|_| rng.unit() - 0.3).collect();
            let cell = |i: usize, j: usize| z.chunks(n).map(|z| z[i] * z[j]).sum::<f64>();
            let a: Vec<f64> = (0..n * n).map(|at| cell(at / n, at % n)).collect();
            let mut exact: Vec<f64> = eigen(&a, n).into_iter().map(|pair| pair.value).collect();
            exact.resize(n, 0.0);
            check(a, exact);
        }
    }

    /// Rows of whole vectors of four bytes, and three symmetric matrices: one of four bytes a cell and
    /// two of eight.
    #[test]
    fn memory_is_that_of_a_thousand_rows_and_three_matrices() {
        assert_eq!(bytes(100, 16), 100 * 16 * 4 + 16 * 16 * 20);
        assert_eq!(bytes(5000, 100), 1024 * 112 * 4 + 100 * 100 * 20);
    }
}
