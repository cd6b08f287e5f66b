//! Smoothing: products of the trained vectors with the normalised adjacency matrix.
//!
//! # Derivation
//!
//! S = D^−½ A D^−½ replaces a vector by a weighted mean of its neighbours' vectors, which averages the
//! noise of sampling away and keeps what neighbours have in common. Its largest eigenvalue is 1, with
//! the eigenvector √degree; on dense graphs all others are much smaller, and after two products all
//! vectors would be nearly parallel. So only the part of the vectors that is orthogonal to √degree is
//! smoothed, and the other part is left as it was:
//!
//! ```text
//! Z = q qᵀZ + R,   q ∝ √degree,   ‖q‖ = 1
//! Y = q qᵀZ + a (S − q qᵀ)ˢ R,    with a such that the smoothed part is as long as R
//! ```
//!
//! Smoothing leaves hubs with much longer vectors than other nodes, and linear classifiers then see
//! little of the others; vectors of equal length would lose what the length says of a node. So lengths
//! are evened out in part:
//!
//! ```text
//! z_i ← b y_i / ‖y_i‖^⅜,   with b such that Σ ‖z_i‖² is twice what it was before smoothing
//! ```
//!
//! The factor b is for classifiers with a fixed regularisation: logistic regression with C = 1 scores
//! well at that length on citeseer, cora and pubmed. `docs/method.md` has what was measured. A node
//! without edges keeps its vector.

use std::sync::Arc;

use rayon::prelude::*;

use super::rows::{CHUNK, Rows};
use crate::budget::product;
use crate::cancel;
use crate::encode::Propagation;
use crate::error::Result;
use crate::graph::{Graph, Node};

/// Columns that are smoothed at a time: a cache line of each row.
const PANEL: usize = 16;

/// The power of its length that a vector is divided by.
pub const EVENING: f64 = 0.375;

/// The sum of squares of all vectors, as a multiple of what it was before.
pub const GROWTH: f64 = 2.0;

/// The memory in addition to the vectors.
pub(crate) fn bytes(nodes: usize, dim: usize) -> u64 {
    product([nodes, 2 * PANEL.min(dim) + 5, 4])
}

/// Smooths rows of `dim` values so many times.
pub(crate) fn smooth(graph: &Arc<Graph>, rows: &mut [f32], dim: usize, times: usize) {
    // Files are all that can fail.
    let _ = smooth_rows(graph, &mut Rows::Memory(rows, dim), dim, times);
}

/// Smooths the first `dim` values of rows, which may be in a file, so many times.
pub(crate) fn smooth_rows(
    graph: &Arc<Graph>,
    rows: &mut Rows<'_>,
    dim: usize,
    times: usize,
) -> Result<()> {
    let n = graph.nodes();
    let degrees = || (0..n as Node).map(|node| graph.weighted_degree(node));
    let volume: f64 = degrees().sum();
    if times == 0 || volume <= 0.0 {
        return Ok(());
    }
    let q: Vec<f32> = degrees().map(|degree| (degree / volume).sqrt() as f32).collect();
    let matrix = Propagation::symmetric(graph);
    let stride = rows.stride();
    let of_chunk = |at: usize| &q[at * CHUNK..n.min((at + 1) * CHUNK)];
    let lengths = rows.map(|at, rows| sum_of_squares(of_chunk(at), rows, (stride, dim)))?;
    let length: f64 = lengths.iter().sum();
    let mut panels = [(); 2].map(|()| vec![0.0; n * PANEL.min(dim)]);
    let (mut along_q, mut before, mut after) = (Vec::with_capacity(dim), 0.0, 0.0);
    for first in (0..dim).step_by(PANEL) {
        cancel::check();
        let width = PANEL.min(dim - first);
        let [mut panel, mut next] = panels.each_mut().map(|all| &mut all[..n * width]);
        rows.load(first, width, panel)?;
        along_q.extend(remove(&q, panel, width));
        before += squares(&q, panel, width);
        for _ in 0..times {
            matrix.apply(panel, next, width);
            std::mem::swap(&mut panel, &mut next);
            // S R is orthogonal to q, but for rounding errors, which would grow.
            remove(&q, panel, width);
        }
        after += squares(&q, panel, width);
        rows.store(first, width, panel, |node| q[node] > 0.0)?;
    }
    let factor = if after > 0.0 { (before / after).sqrt() as f32 } else { 0.0 };
    let evened = rows.update(|at, rows| {
        let connected = || of_chunk(at).iter().enumerate().filter(|(_, q)| **q > 0.0);
        for (row, q) in connected() {
            let row = &mut rows[row * stride..][..dim];
            row.iter_mut().zip(&along_q).for_each(|(x, along)| *x = q * along + factor * *x);
        }
        evened(of_chunk(at), rows, (stride, dim))
    })?;
    let total = GROWTH * length / evened.iter().sum::<f64>();
    rows.update(|at, rows| even_lengths(of_chunk(at), rows, (stride, dim), total))?;
    Ok(())
}

/// The sum of squares of rows that are divided by a power of their lengths.
fn evened(q: &[f32], rows: &[f32], (stride, dim): (usize, usize)) -> f64 {
    let connected = rows.chunks_exact(stride).zip(q).filter(|(_, q)| **q > 0.0);
    connected.map(|(row, _)| square(&row[..dim]).powf(1.0 - EVENING)).sum()
}

/// Divides every row by a power of its length, and multiplies the squares of all with a number.
fn even_lengths(q: &[f32], rows: &mut [f32], (stride, dim): (usize, usize), total: f64) {
    let connected = rows.chunks_exact_mut(stride).zip(q).filter(|(_, q)| **q > 0.0);
    for (row, _) in connected {
        let row = &mut row[..dim];
        let factor = (total / square(row).powf(EVENING)).sqrt() as f32;
        if factor.is_finite() {
            for x in row.iter_mut() {
                *x *= factor;
            }
        }
    }
}

/// ‖row‖².
fn square(row: &[f32]) -> f64 {
    row.iter().map(|x| f64::from(x * x)).sum()
}

/// What evening did to the lengths of smoothed vectors, so that it can be undone for some and done again.
///
/// ‖y‖ = b ‖u‖^⅝, so u = c y ‖y‖^⅗; and Σ ‖u‖² is Σ ‖y‖² / 2, which determines c.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evening {
    factor: f64,
}

impl Evening {
    /// That of smoothed vectors, rows of `dim` values.
    pub(super) fn of(rows: &[f32], dim: usize) -> Self {
        let square = |row: &[f32]| row.iter().map(|x| f64::from(x * x)).sum::<f64>();
        let of_chunk = |rows: &[f32]| {
            let squares = rows.chunks_exact(dim).map(square);
            squares.fold((0.0, 0.0), |(total, longer), square| {
                (total + square, longer + square.powf(1.0 / (1.0 - EVENING)))
            })
        };
        let sums: Vec<(f64, f64)> = rows.par_chunks(CHUNK * dim).map(of_chunk).collect();
        let total: f64 = sums.iter().map(|sums| sums.0).sum();
        let longer: f64 = sums.iter().map(|sums| sums.1).sum();
        Self { factor: if total > 0.0 { (total / GROWTH / longer).sqrt() } else { 1.0 } }
    }

    /// Undoes it for a vector.
    pub(super) fn undo(self, row: &mut [f32]) {
        let length = row.iter().map(|x| f64::from(x * x)).sum::<f64>().sqrt();
        scale(row, self.factor * length.powf(EVENING / (1.0 - EVENING)));
    }

    /// Does it again.
    pub(super) fn redo(self, row: &mut [f32]) {
        let length = row.iter().map(|x| f64::from(x * x)).sum::<f64>().sqrt();
        scale(row, (length / self.factor).powf(1.0 - EVENING) / length);
    }
}

fn scale(row: &mut [f32], factor: f64) {
    if factor.is_finite() {
        for x in row {
            *x = (f64::from(*x) * factor) as f32;
        }
    }
}

/// Subtracts q qᵀX from X, and returns qᵀX.
fn remove(q: &[f32], x: &mut [f32], width: usize) -> Vec<f32> {
    let sums: Vec<[f64; PANEL]> = (x.par_chunks(CHUNK * width), q.par_chunks(CHUNK))
        .into_par_iter()
        .map(|(x, q)| {
            let mut sums = [0.0; PANEL];
            for (row, q) in x.chunks_exact(width).zip(q) {
                sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(q * x));
            }
            sums
        })
        .collect();
    let along: Vec<f32> =
        (0..width).map(|column| sums.iter().map(|sums| sums[column]).sum::<f64>() as f32).collect();
    x.par_chunks_exact_mut(width).zip(q).for_each(|(row, q)| {
        row.iter_mut().zip(&along).for_each(|(x, along)| *x -= q * along);
    });
    along
}

/// The sum of squares over the rows of nodes with edges.
fn squares(q: &[f32], x: &[f32], width: usize) -> f64 {
    let chunks = (x.par_chunks(CHUNK * width), q.par_chunks(CHUNK)).into_par_iter();
    let of_chunk = |(x, q)| sum_of_squares(q, x, (width, width));
    chunks.map(of_chunk).collect::<Vec<f64>>().iter().sum()
}

/// The same for a chunk of rows, which may be padded.
fn sum_of_squares(q: &[f32], rows: &[f32], (stride, dim): (usize, usize)) -> f64 {
    let connected = rows.chunks_exact(stride).zip(q).filter(|(_, q)| **q > 0.0);
    connected.flat_map(|(row, _)| &row[..dim]).map(|x| f64::from(x * x)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{EdgeList, NodeIds};
    use crate::rng::{Purpose, Rng};

    /// Two triangles that share an edge's worth of path, a pendant node, and a node without edges.
    fn graph(weights: Option<Vec<f32>>) -> Arc<Graph> {
        let pairs = vec![(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (3, 5), (5, 6)];
        let ids = NodeIds::Range { start: 0, len: 8 };
        Arc::new(EdgeList { pairs, weights, ids }.build().unwrap().0)
    }

    fn vectors(count: usize) -> Vec<f32> {
        let mut rng = Rng::new(3, Purpose::Start, 0, 0);
        (0..count).map(|_| rng.unit() as f32 - 0.4).collect()
    }

    /// The definition, with dense matrices in double precision.
    fn naive(graph: &Graph, rows: &[f32], dim: usize, times: usize) -> Vec<f64> {
        let n = graph.nodes();
        let degree = |i: usize| graph.weighted_degree(i as Node);
        let volume: f64 = (0..n).map(degree).sum();
        let q: Vec<f64> = (0..n).map(|i| (degree(i) / volume).sqrt()).collect();
        let mut s = vec![vec![0.0; n]; n];
        for (a, b, weight) in graph.edges_once() {
            let (a, b) = (a as usize, b as usize);
            let value = f64::from(weight.unwrap_or(1.0)) / (degree(a) * degree(b)).sqrt();
            (s[a][b], s[b][a]) = (value, value);
        }
        let mut out = vec![0.0; n * dim];
        let (mut before, mut after) = (0.0, 0.0);
        let mut parts = vec![];
        for k in 0..dim {
            let z: Vec<f64> = (0..n).map(|i| f64::from(rows[i * dim + k])).collect();
            let along: f64 = z.iter().zip(&q).map(|(z, q)| z * q).sum();
            let mut r: Vec<f64> = z.iter().zip(&q).map(|(z, q)| z - q * along).collect();
            let length =
                |r: &[f64]| (0..n).filter(|&i| q[i] > 0.0).map(|i| r[i] * r[i]).sum::<f64>();
            before += length(&r);
            for _ in 0..times {
                r = s.iter().map(|row| row.iter().zip(&r).map(|(s, r)| s * r).sum()).collect();
            }
            after += length(&r);
            parts.push((z, along, r));
        }
        let mut total = 0.0;
        for (k, (z, along, r)) in parts.into_iter().enumerate() {
            for i in 0..n {
                let factor = f64::sqrt(before / after);
                out[i * dim + k] = if q[i] > 0.0 { q[i] * along + factor * r[i] } else { z[i] };
                total += if q[i] > 0.0 { 2.0 * z[i] * z[i] } else { 0.0 };
            }
        }
        let mut evened = 0.0;
        for row in out.chunks_exact_mut(dim).zip(&q).filter(|(_, q)| **q > 0.0).map(|(row, _)| row)
        {
            let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
            for x in row {
                *x /= norm.powf(0.375);
                evened += *x * *x;
            }
        }
        for (value, i) in out.iter_mut().zip((0..n).flat_map(|i| std::iter::repeat_n(i, dim))) {
            *value *= if q[i] > 0.0 { (total / evened).sqrt() } else { 1.0 };
        }
        out
    }

    #[test]
    fn smoothing_is_its_definition() {
        for weights in [None, Some(vec![1.0, 2.0, 0.5, 3.0, 1.0, 1.5, 2.5, 0.25])] {
            let graph = graph(weights);
            for (dim, times) in [(3, 1), (21, 2), (16, 5)] {
                let start = vectors(8 * dim);
                let mut found = start.clone();
                smooth(&graph, &mut found, dim, times);
                let exact = naive(&graph, &start, dim, times);
                for (found, exact) in found.iter().zip(&exact) {
                    assert!((f64::from(*found) - exact).abs() < 1e-4, "{found} for {exact}");
                }
                assert_eq!(found[7 * dim..], start[7 * dim..], "a node without edges");
            }
        }
    }

    #[test]
    fn no_smoothing_leaves_vectors_as_they_are() {
        let start = vectors(8 * 5);
        let mut found = start.clone();
        smooth(&graph(None), &mut found, 5, 0);
        assert_eq!(found, start);
    }

    /// Rows are summed in chunks, of which the last is shorter.
    #[test]
    fn sums_are_over_all_rows() {
        let n = 2 * CHUNK + 17;
        let q: Vec<f32> = (0..n).map(|i| ((i % 7) as f32) / 500.0).collect();
        for width in [1, 5, PANEL] {
            let old = vectors(n * width);
            let column = |k: usize| old.chunks(width).map(move |row| f64::from(row[k]));
            let along: Vec<f64> = (0..width)
                .map(|k| column(k).zip(&q).map(|(x, q)| x * f64::from(*q)).sum())
                .collect();
            let mut x = old.clone();
            let found = remove(&q, &mut x, width);
            for (found, exact) in found.iter().zip(&along) {
                assert!((f64::from(*found) - exact).abs() < 1e-4, "{found} for {exact}");
            }
            for (i, row) in x.chunks(width).enumerate() {
                for (k, x) in row.iter().enumerate() {
                    let exact = f64::from(old[i * width + k]) - f64::from(q[i]) * along[k];
                    assert!((f64::from(*x) - exact).abs() < 1e-5, "{x} for {exact}");
                }
            }
            let with_edges = old.chunks(width).zip(&q).filter(|(_, q)| **q > 0.0);
            let exact: f64 = with_edges.flat_map(|(row, _)| row).map(|x| f64::from(x * x)).sum();
            let found = squares(&q, &old, width);
            assert!((found / exact - 1.0).abs() < 1e-9, "{found} for {exact}");
        }
    }

    /// Undone, smoothed vectors have half their sum of squares, and their lengths differ as before.
    #[test]
    fn evening_can_be_undone_and_done_again() {
        let dim = 5;
        let evened = vectors(40 * dim);
        let sum = |rows: &[f32]| rows.iter().map(|x| f64::from(x * x)).sum::<f64>();
        let evening = Evening::of(&evened, dim);
        let mut undone = evened.clone();
        for row in undone.chunks_exact_mut(dim) {
            evening.undo(row);
        }
        assert!((sum(&undone) / sum(&evened) - 0.5).abs() < 1e-5);
        // The definition: divided by the power of the length, and scaled to twice the sum of squares.
        let mut again = undone.clone();
        let total = GROWTH * sum(&undone) / super::evened(&[1.0; 40], &undone, (dim, dim));
        super::even_lengths(&[1.0; 40], &mut again, (dim, dim), total);
        let mut redone = undone;
        for row in redone.chunks_exact_mut(dim) {
            evening.redo(row);
        }
        for ((evened, again), redone) in evened.iter().zip(&again).zip(&redone) {
            assert!((evened - again).abs() < 1e-5 && (evened - redone).abs() < 1e-5);
        }
    }

    /// Two panels of up to 16 columns, and five more numbers for each node.
    #[test]
    fn memory_is_that_of_two_panels() {
        assert_eq!(bytes(1000, 128), 1000 * (2 * 16 + 5) * 4);
        assert_eq!(bytes(1000, 3), 1000 * (2 * 3 + 5) * 4);
    }
}
