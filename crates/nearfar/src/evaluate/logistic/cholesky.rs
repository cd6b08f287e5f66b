//! Cholesky factorisation of symmetric positive-definite matrices, and solving with it.

use super::lbfgs::{add_scaled, dot};

/// The lower triangle L of A = L Lᵀ, row-major.
pub(super) struct Cholesky {
    size: usize,
    lower: Vec<f64>,
}

impl Cholesky {
    /// Factors the matrix whose lower triangle is `cell(row, column)`; `None` unless it is clearly
    /// positive definite.
    ///
    /// Row i of L follows from the rows above: L_ij = (A_ij − Σ_{k<j} L_ik L_jk) / L_jj, and
    /// L_ii = √(A_ii − Σ_{k<i} L_ik²).
    pub(super) fn new(size: usize, cell: impl Fn(usize, usize) -> f64) -> Option<Self> {
        let mut lower = vec![0.0; size * size];
        for row in 0..size {
            let (above, own) = lower.split_at_mut(row * size);
            for column in 0..row {
                let other = &above[column * size..][..=column];
                let rest = cell(row, column) - dot(&own[..column], &other[..column]);
                own[column] = rest / other[column];
            }
            let rest = cell(row, row) - dot(&own[..row], &own[..row]);
            // A pivot this small may consist of rounding errors only.
            if !(rest.is_finite() && rest > 1e-10 * cell(row, row)) {
                return None;
            }
            own[row] = rest.sqrt();
        }
        Some(Self { size, lower })
    }

    /// Solves A x = b in place: L y = b by forward substitution, then Lᵀ x = y backwards.
    pub(super) fn solve(&self, b: &mut [f64]) {
        let row = |at: usize| &self.lower[at * self.size..][..=at];
        for at in 0..self.size {
            b[at] = (b[at] - dot(&row(at)[..at], &b[..at])) / row(at)[at];
        }
        for at in (0..self.size).rev() {
            b[at] /= row(at)[at];
            let factor = -b[at];
            add_scaled(&mut b[..at], factor, &row(at)[..at]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn solutions_satisfy_the_equations(
            size in 1_usize..20,
            numbers in prop::collection::vec(-1.0_f64..1.0, 420),
        ) {
            // B Bᵀ + I is positive definite.
            let b = &numbers[..size * size];
            let cell = |i: usize, j: usize| {
                dot(&b[i * size..][..size], &b[j * size..][..size]) + f64::from(u8::from(i == j))
            };
            let right = &numbers[400..400 + size];
            let mut x = right.to_vec();
            Cholesky::new(size, cell).unwrap().solve(&mut x);
            for (i, right) in right.iter().enumerate() {
                let left: f64 = (0..size).map(|j| cell(i, j) * x[j]).sum();
                prop_assert!((left - right).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn matrices_that_are_not_positive_definite_are_rejected() {
        let ones = |_: usize, _: usize| 1.0;
        assert!(Cholesky::new(1, ones).is_some());
        assert!(Cholesky::new(2, ones).is_none());
        assert!(Cholesky::new(2, |_, _| f64::NAN).is_none());
    }
}
