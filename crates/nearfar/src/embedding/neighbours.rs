//! Exact nearest-neighbour search: every pair is compared.
//!
//! Work is split into tiles of a few centres and some thousand rows, so that each row is loaded once
//! for all centres of a tile. Candidates are ranked by a 64-bit key: similarity in the upper bits,
//! row in the lower ones. Keys are unique, so the result does not depend on how work is split.

use std::collections::BinaryHeap;
use std::ops::{Range, RangeInclusive};

use rayon::prelude::*;

use super::Embedding;
use crate::graph::Node;

/// Similarity of two vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Similarity {
    /// Cosine similarity; 0 if one vector is zero
    #[default]
    Cosine,
    /// Dot product
    Dot,
}

const CENTRES: usize = 16;
const ROWS: usize = 1 << 13;
const LANES: usize = 16;

/// A vector whose neighbours are asked for, and the node that it belongs to, which is none of them.
struct Query<'a> {
    vector: &'a [f32],
    norm: f32,
    node: Option<Node>,
}

impl<'a> Query<'a> {
    fn new(vector: &'a [f32], node: Option<Node>) -> Self {
        Self { vector, norm: norm(vector), node }
    }
}

impl Embedding {
    /// The k nodes with the most similar vectors, without the node itself, and their similarities in
    /// descending order. Ties are ordered by row.
    pub fn neighbours(&self, node: Node, k: usize, by: Similarity) -> Vec<(Node, f32)> {
        self.neighbours_of(&[node], k, by).pop().unwrap_or_default()
    }

    /// [`neighbours`](Self::neighbours) of many nodes.
    pub fn neighbours_of(&self, nodes: &[Node], k: usize, by: Similarity) -> Vec<Vec<(Node, f32)>> {
        let query = |&node: &Node| Query::new(self.vector(node), Some(node));
        self.nearest(&nodes.iter().map(query).collect::<Vec<_>>(), k, by)
    }

    /// The k nodes with the vectors most similar to each of some vectors, in row-major order, with
    /// their similarities in descending order. Ties are ordered by row.
    pub fn neighbours_of_vectors(
        &self,
        vectors: &[f32],
        k: usize,
        by: Similarity,
    ) -> Vec<Vec<(Node, f32)>> {
        let queries = vectors.chunks_exact(self.dim()).map(|vector| Query::new(vector, None));
        self.nearest(&queries.collect::<Vec<_>>(), k, by)
    }

    fn nearest(&self, queries: &[Query], k: usize, by: Similarity) -> Vec<Vec<(Node, f32)>> {
        let ranges: Vec<Range<usize>> = (0..self.nodes())
            .step_by(ROWS)
            .map(|start| start..self.nodes().min(start + ROWS))
            .collect();
        let best = queries.par_chunks(CENTRES).flat_map_iter(|queries| {
            let tiles = ranges.par_iter().map(|rows| self.tile(queries, rows.clone(), k, by));
            tiles.reduce(|| vec![TopK::default(); queries.len()], |a, b| merge(a, b, k))
        });
        best.map(TopK::ranked).collect()
    }

    fn tile(&self, queries: &[Query], rows: Range<usize>, k: usize, by: Similarity) -> Vec<TopK> {
        let mut best = vec![TopK::default(); queries.len()];
        for row in rows.start as Node..rows.end as Node {
            let vector = self.vector(row);
            let norm = if by == Similarity::Cosine { norm(vector) } else { 1.0 };
            for (query, best) in queries.iter().zip(&mut best) {
                if query.node == Some(row) {
                    continue;
                }
                let similarity = match by {
                    Similarity::Dot => dot(query.vector, vector),
                    Similarity::Cosine => cosine(query.vector, vector, query.norm, norm),
                };
                best.offer(key(similarity, row), k);
            }
        }
        best
    }
}

/// The k best candidates of one centre: those with the smallest keys, in a max-heap.
#[derive(Clone, Default)]
pub(crate) struct TopK(BinaryHeap<u64>);

impl TopK {
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

fn merge(mut a: Vec<TopK>, b: Vec<TopK>, k: usize) -> Vec<TopK> {
    for (a, b) in a.iter_mut().zip(b) {
        b.0.into_iter().for_each(|key| a.offer(key, k));
    }
    a
}

/// A key that increases with falling similarity, then with the row. NaN comes last.
#[inline]
pub(crate) fn key(similarity: f32, row: Node) -> u64 {
    // The sum turns −0 into 0.
    let bits = if similarity.is_nan() { u32::MAX } else { (similarity + 0.0).to_bits() };
    // The bits of positive floats are in the order of the floats, those of negative ones reversed;
    // here the largest float has the smallest rank.
    let rank = if bits >> 31 == 1 { bits } else { !bits & 0x7fff_ffff };
    u64::from(rank) << 32 | u64::from(row)
}

fn candidate(key: u64) -> (Node, f32) {
    let rank = (key >> 32) as u32;
    let bits = if rank >> 31 == 1 { rank } else { !rank & 0x7fff_ffff };
    (key as Node, f32::from_bits(bits))
}

/// The cosine of two vectors with known norms. Squares of very large or small norms leave the range
/// of a float; those are computed in double precision.
#[inline]
fn cosine(a: &[f32], b: &[f32], a_norm: f32, b_norm: f32) -> f32 {
    const SAFE: RangeInclusive<f32> = 1e-15..=1e15;
    let cosine = if SAFE.contains(&a_norm) && SAFE.contains(&b_norm) {
        dot(a, b) / (a_norm * b_norm)
    } else {
        let dot = |a: &[f32], b: &[f32]| -> f64 {
            a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
        };
        let norms = dot(a, a).sqrt() * dot(b, b).sqrt();
        if norms == 0.0 { 0.0 } else { (dot(a, b) / norms) as f32 }
    };
    // Rounding may exceed the range of a cosine.
    cosine.clamp(-1.0, 1.0)
}

fn norm(vector: &[f32]) -> f32 {
    dot(vector, vector).sqrt()
}

/// The dot product in sixteen partial sums, which the compiler keeps in vector registers.
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
    fn a_vector_finds_the_node_that_has_it() {
        let ids = crate::graph::NodeIds::Range { start: 0, len: 3 };
        let embedding = Embedding::new(ids, 2, vec![1.0, 0.0, 1.0, 1.0, 0.0, -2.0]).unwrap();
        let found = embedding.neighbours_of_vectors(&[2.0, 0.0, 0.0, -1.0], 2, Similarity::Cosine);
        assert_eq!(found[0], [(0, 1.0), (1, std::f32::consts::FRAC_1_SQRT_2)]);
        assert_eq!(found[1], [(2, 1.0), (0, 0.0)]);
        assert_eq!(embedding.neighbours(0, 1, Similarity::Cosine), found[0][1..]);
        assert!(embedding.neighbours_of_vectors(&[], 2, Similarity::Dot).is_empty());
    }

    #[test]
    fn keys_order_by_similarity_then_row() {
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
