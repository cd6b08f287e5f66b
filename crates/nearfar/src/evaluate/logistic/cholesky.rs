//! Solving equations with a symmetric, positive matrix.

use super::minimise::{add, dot};

/// The lower triangle L of a matrix A = L Lᵀ, row by row.
pub(super) struct Cholesky {
    size: usize,
    lower: Vec<f64>,
}

impl Cholesky {
    /// Factors a matrix that is given by its lower triangle; nothing if it is not clearly
    /// positive.
    ///
    /// Row i of L follows from the rows above: L_ij = (A_ij − Σ_{k<j} L_ik L_jk) / L_jj, and L_ii
    /// is the root of the same without the division.
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
            // What rounding alone could have left is no basis for a division.
            if !(rest.is_finite() && rest > 1e-10 * cell(row, row)) {
                return None;
            }
            own[row] = rest.sqrt();
        }
        Some(Self { size, lower })
    }

    /// Puts the x of A x = b in the place of b: first L y = b from the top, then Lᵀ x = y from the
    /// bottom.
    pub(super) fn solve(&self, b: &mut [f64]) {
        let row = |at: usize| &self.lower[at * self.size..][..=at];
        for at in 0..self.size {
            b[at] = (b[at] - dot(&row(at)[..at], &b[..at])) / row(at)[at];
        }
        for at in (0..self.size).rev() {
            b[at] /= row(at)[at];
            let share = -b[at];
            add(&mut b[..at], share, &row(at)[..at]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_solved_solves(
            size in 1_usize..20,
            numbers in prop::collection::vec(-1.0_f64..1.0, 420),
        ) {
            // B Bᵀ is never negative; with the identity it is positive.
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
    fn what_is_not_positive_is_refused() {
        let ones = |_: usize, _: usize| 1.0;
        assert!(Cholesky::new(1, ones).is_some());
        assert!(Cholesky::new(2, ones).is_none());
        assert!(Cholesky::new(2, |_, _| f64::NAN).is_none());
    }
}
