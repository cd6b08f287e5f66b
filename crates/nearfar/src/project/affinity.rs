//! The input affinities of t-SNE.
//!
//! p_j|i ∝ exp(−b_i d_ij²) over the nearest neighbours j of i, with b_i such that exp(entropy of
//! p_·|i) is the perplexity. The entropy decreases in b, so b is found by bisection. Then
//! p_ij = (p_j|i + p_i|j) / 2n, so that all affinities sum to 1 and every node has some.

use rayon::prelude::*;

use crate::graph::Node;

/// Affinities in compressed rows: those of node i are `pairs[starts[i]..starts[i + 1]]`.
pub(super) struct Affinities {
    starts: Vec<usize>,
    pairs: Vec<(Node, f32)>,
}

impl Affinities {
    pub(super) fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn row(&self, node: usize) -> &[(Node, f32)] {
        &self.pairs[self.starts[node]..self.starts[node + 1]]
    }
}

/// Affinities from the `k` nearest neighbours of every node and their squared distances.
pub(super) fn affinities(near: &[(Node, f32)], k: usize, perplexity: f64) -> Affinities {
    let n = near.len() / k;
    let given: Vec<Vec<f32>> =
        near.par_chunks(k).map(|near| conditional(near, perplexity.ln())).collect();
    let mut rows: Vec<Vec<(Node, f32)>> = vec![Vec::with_capacity(2 * k); n];
    let half = 1.0 / (2.0 * n as f32);
    for (node, (near, given)) in near.chunks(k).zip(&given).enumerate() {
        for (&(other, _), &weight) in near.iter().zip(given) {
            rows[node].push((other, weight * half));
            rows[other as usize].push((node as Node, weight * half));
        }
    }
    rows.par_iter_mut().for_each(|row| {
        // A stable sort: the order of additions depends only on the nodes.
        row.sort_by_key(|&(other, _)| other);
        row.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0.0 };
            same
        });
    });
    let mut starts = vec![0];
    starts.extend(rows.iter().scan(0, |end, row| {
        *end += row.len();
        Some(*end)
    }));
    Affinities { starts, pairs: rows.concat() }
}

/// p_j|i of the nearest neighbours j of i, with the given entropy.
fn conditional(near: &[(Node, f32)], target: f64) -> Vec<f32> {
    const MAX_BISECTIONS: usize = 64;
    let closest = f64::from(near.first().map_or(0.0, |&(_, square)| square));
    // A common offset cancels; without it the exponent stays in the range of a float.
    let squares: Vec<f64> = near.iter().map(|&(_, square)| f64::from(square) - closest).collect();
    let mean = squares.iter().sum::<f64>() / squares.len() as f64;
    let weights = |b: f64| squares.iter().map(move |square| (-b * square).exp());
    let entropy = |b: f64| {
        let total: f64 = weights(b).sum();
        let mean: f64 = weights(b).zip(&squares).map(|(w, square)| w * square).sum();
        total.ln() + b * mean / total
    };
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut b = if mean > 0.0 { 1.0 / mean } else { 0.0 };
    for _ in 0..MAX_BISECTIONS {
        let excess = entropy(b) - target;
        if excess.abs() < 1e-6 || b == 0.0 {
            break;
        }
        if excess > 0.0 {
            low = b;
        } else {
            high = b;
        }
        b = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * b };
    }
    let total: f64 = weights(b).sum();
    weights(b).map(|weight| (weight / total) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditional_affinities_have_the_target_entropy() {
        let near: Vec<(Node, f32)> = (0..30).map(|at| (at, 0.1 + (at as f32).powi(2))).collect();
        let weights = conditional(&near, 10_f64.ln());
        let entropy: f64 = weights.iter().map(|&p| f64::from(p)).map(|p| -p * p.ln()).sum();
        assert!((entropy.exp() - 10.0).abs() < 1e-3, "{}", entropy.exp());
        assert!(weights.windows(2).all(|pair| pair[0] > pair[1]));
    }

    #[test]
    fn equal_distances_have_equal_affinities() {
        for square in [0.0, 1e-30, 7.0] {
            let weights = conditional(&[(1, square), (2, square), (3, square)], 1.0);
            assert!(weights.iter().all(|p| (p - 1.0 / 3.0).abs() < 1e-6), "{weights:?}");
        }
    }

    #[test]
    fn affinities_are_symmetric_and_sum_to_one() {
        // A star: 0 is the nearest neighbour of all, and 1 that of 0.
        let near = [(1, 1.0), (0, 1.0), (0, 2.0), (0, 3.0)];
        let found = affinities(&near, 1, 1.0);
        let total: f32 = (0..4).flat_map(|node| found.row(node)).map(|pair| pair.1).sum();
        assert!((total - 1.0).abs() < 1e-6);
        assert_eq!(found.row(0), [(1, 0.25), (2, 0.125), (3, 0.125)]);
        assert_eq!(found.row(1), [(0, 0.25)]);
    }
}
