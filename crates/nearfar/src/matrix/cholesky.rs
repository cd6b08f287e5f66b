//! Cholesky factorisation of symmetric positive-definite matrices, and solving with it.

/// The lower triangle L of A = L Lᵀ, row-major.
pub(crate) struct Cholesky {
    size: usize,
    lower: Vec<f64>,
}

impl Cholesky {
    /// Factors the matrix whose lower triangle is `cell(row, column)`; `None` unless it is clearly
    /// positive definite.
    ///
    /// Row i of L follows from the rows above: L_ij = (A_ij − Σ_{k<j} L_ik L_jk) / L_jj, and
    /// L_ii = √(A_ii − Σ_{k<i} L_ik²).
    pub(crate) fn new(size: usize, cell: impl Fn(usize, usize) -> f64) -> Option<Self> {
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

    /// L⁻¹, row-major: column by column of the identity, by forward substitution.
    pub(crate) fn inverse_lower(&self) -> Vec<f64> {
        let size = self.size;
        let mut inverse = vec![0.0; size * size];
        for row in 0..size {
            let (above, own) = inverse.split_at_mut(row * size);
            let factors = &self.lower[row * size..][..=row];
            for (factor, above) in factors.iter().zip(above.chunks_exact(size)) {
                add_scaled(&mut own[..row], -factor, &above[..row]);
            }
            own[row] = 1.0;
            own[..=row].iter_mut().for_each(|value| *value /= factors[row]);
        }
        inverse
    }

    /// Solves A x = b in place: L y = b by forward substitution, then Lᵀ x = y backwards.
    pub(crate) fn solve(&self, b: &mut [f64]) {
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

/// Σ a_i b_i.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// `to` += `factor` · `x`.
pub(crate) fn add_scaled(to: &mut [f64], factor: f64, x: &[f64]) {
    for (to, x) in to.iter_mut().zip(x) {
        *to += factor * x;
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
            let inverse = Cholesky::new(size, cell).unwrap().inverse_lower();
            let row = |at: usize| &inverse[at * size..][..size];
            for i in 0..size {
                // L⁻¹ A L⁻ᵀ is the identity.
                for j in 0..size {
                    let product: f64 = (0..size)
                        .map(|a| row(i)[a] * (0..size).map(|b| cell(a, b) * row(j)[b]).sum::<f64>())
                        .sum();
                    prop_assert!((product - f64::from(u8::from(i == j))).abs() < 1e-9);
                }
            }
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
