//! Which vectors are most alike, exactly: every pair is compared.
//!
//! Work is cut into tiles of a few centres and some thousand rows, so that a row that was fetched
//! serves all centres of a tile. Candidates are ranked by one integer: above, how alike they are,
//! below, their row. Integers are in one order only, so it does not matter how work was cut.

use std::collections::BinaryHeap;
use std::ops::{Range, RangeInclusive};

use rayon::prelude::*;

use super::Embedding;
use crate::graph::Node;

/// How alike two vectors are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Similarity {
    /// The cosine of the angle between them; 0 if one of them is zero
    #[default]
    Cosine,
    /// Their dot product, to which long vectors contribute more
    Dot,
}

const CENTRES: usize = 16;
const ROWS: usize = 1 << 13;
const LANES: usize = 16;

impl Embedding {
    /// The k nodes whose vectors are most like that of a node, without itself, best first, and
    /// how alike they are. Of two that are equally alike, the one of the lower row comes first.
    pub fn neighbours(&self, node: Node, k: usize, by: Similarity) -> Vec<(Node, f32)> {
        self.neighbours_of(&[node], k, by).pop().unwrap_or_default()
    }

    /// [`neighbours`](Self::neighbours) of many nodes.
    pub fn neighbours_of(&self, nodes: &[Node], k: usize, by: Similarity) -> Vec<Vec<(Node, f32)>> {
        let ranges: Vec<Range<usize>> = (0..self.nodes())
            .step_by(ROWS)
            .map(|start| start..self.nodes().min(start + ROWS))
            .collect();
        let best = nodes.par_chunks(CENTRES).flat_map_iter(|centres| {
            let tiles = ranges.par_iter().map(|rows| self.tile(centres, rows.clone(), k, by));
            tiles.reduce(|| vec![Best::default(); centres.len()], |a, b| merge(a, b, k))
        });
        best.map(Best::ranked).collect()
    }

    fn tile(&self, centres: &[Node], rows: Range<usize>, k: usize, by: Similarity) -> Vec<Best> {
        let vectors: Vec<&[f32]> = centres.iter().map(|&node| self.vector(node)).collect();
        let norms: Vec<f32> = vectors.iter().map(|vector| norm(vector)).collect();
        let mut best = vec![Best::default(); centres.len()];
        for row in rows.start as Node..rows.end as Node {
            let vector = self.vector(row);
            let norm = if by == Similarity::Cosine { norm(vector) } else { 1.0 };
            for (at, best) in best.iter_mut().enumerate() {
                if centres[at] == row {
                    continue;
                }
                let similarity = match by {
                    Similarity::Dot => dot(vectors[at], vector),
                    Similarity::Cosine => cosine(vectors[at], vector, norms[at], norm),
                };
                best.offer(key(similarity, row), k);
            }
        }
        best
    }
}

/// The best candidates of one centre: those with the smallest keys, the largest of them on top.
#[derive(Clone, Default)]
pub(crate) struct Best(BinaryHeap<u64>);

impl Best {
    #[inline]
    pub(crate) fn offer(&mut self, key: u64, k: usize) {
        if self.0.len() < k {
            self.0.push(key);
        } else if let Some(mut worst) = self.0.peek_mut()
            && key < *worst
        {
            *worst = key;
        }
    }

    pub(crate) fn ranked(self) -> Vec<(Node, f32)> {
        self.0.into_sorted_vec().into_iter().map(candidate).collect()
    }
}

fn merge(mut a: Vec<Best>, b: Vec<Best>, k: usize) -> Vec<Best> {
    for (a, b) in a.iter_mut().zip(b) {
        b.0.into_iter().for_each(|key| a.offer(key, k));
    }
    a
}

/// An integer that is smaller for the more similar, and for the lower row among equals. What is no
/// number comes last.
#[inline]
pub(crate) fn key(similarity: f32, row: Node) -> u64 {
    // The sum makes minus zero zero: they are equally alike.
    let bits = if similarity.is_nan() { u32::MAX } else { (similarity + 0.0).to_bits() };
    // Floats are in the order of their bits, but for the sign; and here the largest comes first.
    let rank = if bits >> 31 == 1 { bits } else { !bits & 0x7fff_ffff };
    u64::from(rank) << 32 | u64::from(row)
}

fn candidate(key: u64) -> (Node, f32) {
    let rank = (key >> 32) as u32;
    let bits = if rank >> 31 == 1 { rank } else { !rank & 0x7fff_ffff };
    (key as Node, f32::from_bits(bits))
}

/// The cosine of two vectors whose lengths are known. Squares of very long or short ones leave the
/// range of a float; those are computed again as doubles, which have room for all.
#[inline]
fn cosine(a: &[f32], b: &[f32], a_norm: f32, b_norm: f32) -> f32 {
    const SAFE: RangeInclusive<f32> = 1e-15..=1e15;
    let cosine = if SAFE.contains(&a_norm) && SAFE.contains(&b_norm) {
        dot(a, b) / (a_norm * b_norm)
    } else {
        let dot = |a: &[f32], b: &[f32]| -> f64 {
            a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
        };
        let lengths = dot(a, a).sqrt() * dot(b, b).sqrt();
        if lengths == 0.0 { 0.0 } else { (dot(a, b) / lengths) as f32 }
    };
    // Rounding may lead a little beyond what a cosine can be.
    cosine.clamp(-1.0, 1.0)
}

fn norm(vector: &[f32]) -> f32 {
    dot(vector, vector).sqrt()
}

/// The dot product in sixteen sums, which the compiler puts side by side in wide registers.
#[inline]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    for (sum, (a, b)) in sums.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *sum += a * b;
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_put_the_most_alike_first() {
        let order = [f32::INFINITY, 1.0, 1e-40, 0.0, -1e-40, -1.0, f32::NEG_INFINITY, f32::NAN];
        for pair in order.windows(2) {
            assert!(key(pair[0], 9) < key(pair[1], 0), "{pair:?}");
        }
        assert_eq!(key(-0.0, 3), key(0.0, 3));
        assert!(key(0.5, 3) < key(0.5, 4));
        for similarity in &order[..7] {
            assert_eq!(candidate(key(*similarity, 7)), (7, *similarity));
        }
        assert!(candidate(key(f32::NAN, 7)).1.is_nan());
    }
}
