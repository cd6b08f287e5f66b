//! Edge operators: the features of a node pair, as in the node2vec paper.

/// Combines the vectors of two nodes element-wise into the features of their edge. All are
/// symmetric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// a b
    Hadamard,
    /// (a + b) / 2
    Average,
    /// |a − b|
    L1,
    /// (a − b)²
    L2,
}

impl Operator {
    /// All operators.
    pub const ALL: [Self; 4] = [Self::Hadamard, Self::Average, Self::L1, Self::L2];

    /// Writes the features of a pair.
    pub fn fill(self, a: &[f32], b: &[f32], out: &mut [f32]) {
        let of = |operator: fn(f32, f32) -> f32, out: &mut [f32]| {
            for (out, (&a, &b)) in out.iter_mut().zip(a.iter().zip(b)) {
                *out = operator(a, b);
            }
        };
        match self {
            Self::Hadamard => of(|a, b| a * b, out),
            Self::Average => of(f32::midpoint, out),
            Self::L1 => of(|a, b| (a - b).abs(), out),
            Self::L2 => of(|a, b| (a - b) * (a - b), out),
        }
    }
}

pub(super) fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_by_hand() {
        let values = Operator::ALL.map(|operator| {
            let mut out = [0.0; 2];
            operator.fill(&[3.0, -1.0], &[1.0, 2.0], &mut out);
            out
        });
        assert_eq!(values, [[3.0, -2.0], [2.0, 0.5], [2.0, 3.0], [4.0, 9.0]]);
    }
}
