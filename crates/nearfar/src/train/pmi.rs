//! Vectors of the pointwise mutual information (PMI) of edges, joined to the trained ones.
//!
//! # Derivation
//!
//! A product z_i·z_j has no negative eigenvalues, and a window of five nodes, smoothed, says little of
//! which edges a node has. So nodes that have the same neighbours, but are not neighbours themselves, are
//! not similar to each other. The leading eigenvectors, of either sign, of the PMI of edges
//!
//! ```text
//! M_ij = log max(1, vol w_ij / (d_i d_j)),   d: degrees,   vol = Σ d
//! ```
//!
//! hold what is missed (M is what NetMF factorises for windows of two nodes: Qiu et al., *Network
//! embedding as matrix factorization*, 2018). Subspace iteration finds a basis X of those with the largest
//! absolute eigenvalues μ; the vectors are
//!
//! ```text
//! E = M² X,   for which E Eᵀ ≈ Σ μ⁴ v vᵀ
//! ```
//!
//! The square of μ keeps the directions down that are noise, next to the strongest ones. Lengths of rows
//! are evened as in smoothing, and E is scaled to `weight` times the length of Z. The result is
//! [Z, E] in its first principal axes, as many as Z has columns: of the matrices of that rank the closest to
//! [Z, E] up to rotation. Its length is that of Z. A node without edges keeps its vector, in the new axes.
//!
//! Sums over nodes are over chunks of a fixed number of rows, added in order: the result does not
//! depend on the number of threads.

use rayon::prelude::*;

use super::rows::CHUNK;
use super::smooth::EVENING;
use super::start::{FEW, add_up, inverse_factor, products};
use crate::budget::{product, sum};
use crate::cancel;
use crate::graph::{Graph, Node};
use crate::matrix::{add_transposed, eigen, multiply, multiply_by_transposed};
use crate::rng::{Purpose, Rng};

/// How often X is made orthonormal, and the products with M before.
const ROUNDS: usize = 3;
const PRODUCTS: usize = 4;

/// The most columns of E: the work on small matrices grows with their cube.
const MOST: usize = 128;

/// The memory in addition to the vectors.
pub(crate) fn bytes(nodes: usize, dim: usize) -> u64 {
    let (columns, chunks) = (columns_of(nodes, dim), nodes.div_ceil(CHUNK));
    let (width, threads) = (dim + columns, rayon::current_num_threads());
    sum([
        product([2, nodes, columns, 4]),
        product([nodes, 4]),
        // Sums of chunks, and of what eigenvectors are found with.
        product([chunks + 3, width, width, 8]),
        product([threads.min(chunks), width, width, 4]),
        product([threads, width, 2 * FEW, 4]),
    ])
}

/// Joins vectors of edges, of this weight, to rows of `dim` values. The graph is undirected.
pub(crate) fn join(graph: &Graph, rows: &mut [f32], dim: usize, weight: f64, seed: u64) {
    let columns = columns_of(graph.nodes(), dim);
    let Some(mut edges) = vectors_of_edges(graph, columns, seed) else { return };
    let even = |row: &mut [f32]| {
        let length = squares(row).sqrt();
        let factor = if length > 0.0 { length.powf(-EVENING) as f32 } else { 0.0 };
        for x in row.iter_mut() {
            *x *= factor;
        }
    };
    edges.par_chunks_exact_mut(columns).for_each(even);
    let (of_rows, of_edges) = (total(rows, dim), total(&edges, columns));
    // Both parts together are as long as the rows were.
    let share = (1.0 + weight * weight).sqrt().recip();
    let scales = [share, share * weight * (of_rows / of_edges).sqrt()].map(|scale| scale as f32);
    if !scales[1].is_finite() {
        return;
    }
    let joined = Joined { edges: &edges, scales, widths: [dim, columns] };
    let axes = joined.axes(rows);
    let parts = rows.par_chunks_mut(FEW * dim).zip(edges.par_chunks(FEW * columns));
    parts.for_each(|(rows, edges)| {
        let both = joined.rows(rows, edges);
        multiply(&both, &axes, rows, dim + columns, dim);
    });
}

/// Columns of E.
fn columns_of(nodes: usize, dim: usize) -> usize {
    dim.div_ceil(2).min(nodes).min(MOST)
}

/// E, before its lengths are evened; `None` if no edge has PMI.
fn vectors_of_edges(graph: &Graph, columns: usize, seed: u64) -> Option<Vec<f32>> {
    let matrix = Pmi::new(graph)?;
    let mut x = vec![0.0; graph.nodes() * columns];
    x.par_chunks_exact_mut(columns).enumerate().for_each(|(node, row)| {
        let mut rng = Rng::new(seed, Purpose::Start, 2, node as u64);
        for value in row.iter_mut() {
            *value = rng.unit() as f32 - 0.5;
        }
    });
    let mut next = vec![0.0; x.len()];
    let mut multiply_by_matrix = |x: &mut Vec<f32>| {
        cancel::check();
        matrix.apply(x, &mut next, columns);
        std::mem::swap(x, &mut next);
    };
    for _ in 0..ROUNDS {
        (0..PRODUCTS).for_each(|_| multiply_by_matrix(&mut x));
        let of_chunk = |rows: &[f32]| products(rows, rows, columns);
        let gram = add_up(x.par_chunks(CHUNK * columns).map(of_chunk).collect());
        let inverse = inverse_factor(&gram, columns)?;
        x.par_chunks_mut(FEW * columns).for_each(|rows| {
            let old = rows.to_vec();
            multiply_by_transposed(&old, &inverse, rows, columns);
        });
    }
    (0..2).for_each(|_| multiply_by_matrix(&mut x));
    Some(x)
}

/// The matrix M, divided by its largest sum of a row, so that powers of it stay finite.
struct Pmi<'a> {
    graph: &'a Graph,
    /// Logarithms of degrees, less half of that of the volume.
    logs: Vec<f32>,
    scale: f32,
}

impl<'a> Pmi<'a> {
    /// `None` if all entries are 0.
    fn new(graph: &'a Graph) -> Option<Self> {
        let degrees = (0..graph.nodes() as Node).map(|node| graph.weighted_degree(node));
        let half = degrees.clone().sum::<f64>().ln() / 2.0;
        let logs = degrees.map(|degree| (degree.ln() - half) as f32).collect();
        let mut matrix = Self { graph, logs, scale: 1.0 };
        let sum = |node| matrix.row(node).map(|(_, value)| value).sum::<f32>();
        let largest = (0..graph.nodes() as Node).into_par_iter().map(sum).reduce(|| 0.0, f32::max);
        matrix.scale = largest.recip();
        matrix.scale.is_finite().then_some(matrix)
    }

    /// The neighbours of a node and their entries.
    fn row(&self, node: Node) -> impl Iterator<Item = (usize, f32)> + '_ {
        let weights = self.graph.weights(node);
        self.graph.neighbours(node).iter().enumerate().map(move |(edge, &other)| {
            let weight = weights.map_or(0.0, |weights| weights[edge].ln());
            let information = weight - self.logs[node as usize] - self.logs[other as usize];
            (other as usize, self.scale * information.max(0.0))
        })
    }

    /// Writes M x to `out`; both have rows of so many values.
    fn apply(&self, x: &[f32], out: &mut [f32], columns: usize) {
        out.par_chunks_exact_mut(columns).enumerate().for_each(|(node, out)| {
            out.fill(0.0);
            for (other, value) in self.row(node as Node) {
                let row = &x[other * columns..][..columns];
                out.iter_mut().zip(row).for_each(|(out, x)| *out += value * x);
            }
        });
    }
}

/// [Z, E], each times its scale. It is never in memory as a whole.
struct Joined<'a> {
    edges: &'a [f32],
    scales: [f32; 2],
    widths: [usize; 2],
}

impl Joined<'_> {
    /// Some of its rows.
    fn rows(&self, rows: &[f32], edges: &[f32]) -> Vec<f32> {
        let mut joined = Vec::with_capacity(rows.len() + edges.len());
        let pairs = rows.chunks_exact(self.widths[0]).zip(edges.chunks_exact(self.widths[1]));
        for (row, edges) in pairs {
            joined.extend(row.iter().map(|x| self.scales[0] * x));
            joined.extend(edges.iter().map(|x| self.scales[1] * x));
        }
        joined
    }

    /// Its first principal axes, as columns of a row-major matrix.
    fn axes(&self, rows: &[f32]) -> Vec<f32> {
        let [dim, columns] = self.widths;
        let width = dim + columns;
        let of_chunk = |(rows, edges): (&[f32], &[f32])| {
            let mut total = vec![0.0_f64; width * width];
            for (rows, edges) in rows.chunks(FEW * dim).zip(edges.chunks(FEW * columns)) {
                let both = self.rows(rows, edges);
                let mut part = vec![0.0; width * width];
                add_transposed(&both, &both, &mut part, width, width);
                total.iter_mut().zip(part).for_each(|(total, part)| *total += f64::from(part));
            }
            total
        };
        let chunks = rows.par_chunks(CHUNK * dim).zip(self.edges.par_chunks(CHUNK * columns));
        let gram = add_up(chunks.map(of_chunk).collect());
        let mut axes = vec![0.0; width * dim];
        for (column, axis) in eigen(&gram, width).iter().take(dim).enumerate() {
            for (row, value) in axis.vector.iter().enumerate() {
                axes[row * dim + column] = *value as f32;
            }
        }
        axes
    }
}

fn squares(row: &[f32]) -> f64 {
    row.iter().map(|x| f64::from(x * x)).sum()
}

/// The sum of squares of rows of so many values.
fn total(rows: &[f32], width: usize) -> f64 {
    let sums: Vec<f64> = rows.par_chunks(CHUNK * width).map(squares).collect();
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{EdgeList, NodeIds};

    /// Two triangles that share an edge's worth of path, a pendant node, and a node without edges.
    fn graph(weights: Option<Vec<f32>>) -> Graph {
        let pairs = vec![(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (3, 5), (5, 6)];
        let ids = NodeIds::Range { start: 0, len: 8 };
        EdgeList { pairs, weights, ids }.build().unwrap().0
    }

    fn vectors(count: usize) -> Vec<f32> {
        let mut rng = Rng::new(3, Purpose::Start, 0, 0);
        (0..count).map(|_| rng.unit() as f32 - 0.4).collect()
    }

    /// M by its definition.
    fn naive(graph: &Graph) -> Vec<Vec<f64>> {
        let n = graph.nodes();
        let degree = |i: usize| graph.weighted_degree(i as Node);
        let volume: f64 = (0..n).map(degree).sum();
        let mut matrix = vec![vec![0.0; n]; n];
        for (a, b, weight) in graph.edges_once() {
            let (a, b) = (a as usize, b as usize);
            let ratio = volume * f64::from(weight.unwrap_or(1.0)) / (degree(a) * degree(b));
            (matrix[a][b], matrix[b][a]) = (ratio.max(1.0).ln(), ratio.max(1.0).ln());
        }
        matrix
    }

    fn square(matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let cell =
            |i: usize, j: usize| matrix[i].iter().zip(matrix).map(|(a, row)| a * row[j]).sum();
        let n = matrix.len();
        (0..n).map(|i| (0..n).map(|j| cell(i, j)).collect()).collect()
    }

    /// With as many columns as nodes, X is a basis of all, and E Eᵀ = M⁴.
    #[test]
    fn products_of_joined_vectors_are_those_of_both_parts() {
        let (n, dim, weight) = (8, 16, 0.7);
        for weights in [None, Some(vec![1.0, 2.0, 0.5, 3.0, 1.0, 1.5, 2.5, 0.25])] {
            let graph = graph(weights);
            let old = vectors(n * dim);
            let mut new = old.clone();
            join(&graph, &mut new, dim, weight, 5);
            let of_edges = square(&square(&naive(&graph)));
            let even = |i: usize| match of_edges[i][i].sqrt() {
                length if length > 0.0 => length.powf(-0.375),
                _ => 0.0,
            };
            let edges = |i: usize, j: usize| even(i) * even(j) * of_edges[i][j];
            let trained = |i: usize, j: usize| {
                let pairs = old[i * dim..][..dim].iter().zip(&old[j * dim..][..dim]);
                pairs.map(|(a, b)| f64::from(a * b)).sum::<f64>()
            };
            let trace =
                |gram: &dyn Fn(usize, usize) -> f64| (0..n).map(|i| gram(i, i)).sum::<f64>();
            let scale = weight * weight * trace(&trained) / trace(&edges);
            for i in 0..n {
                for j in 0..n {
                    let exact = (trained(i, j) + scale * edges(i, j)) / (1.0 + weight * weight);
                    let pairs = new[i * dim..][..dim].iter().zip(&new[j * dim..][..dim]);
                    let found: f64 = pairs.map(|(a, b)| f64::from(a * b)).sum();
                    assert!((found - exact).abs() < 1e-3, "{i} {j}: {found} for {exact}");
                }
            }
        }
    }

    /// Two hubs with the same 20 leaves are similar, and unlike the leaves, although they are not adjacent.
    #[test]
    fn nodes_with_the_same_neighbours_are_similar() {
        let pairs = (2..22).flat_map(|leaf| [(0, leaf), (1, leaf)]);
        let ring = (22..60).map(|node| (node, if node < 59 { node + 1 } else { 22 }));
        let pairs: Vec<_> = pairs.chain(ring).chain([(21, 22)]).collect();
        let ids = NodeIds::Range { start: 0, len: 60 };
        let graph = EdgeList { pairs, weights: None, ids }.build().unwrap().0;
        let (dim, mut rows) = (8, vectors(60 * 8));
        // What was trained hardly counts.
        join(&graph, &mut rows, dim, 10.0, 0);
        let cosine = |a: usize, b: usize| {
            let (a, b) = (&rows[a * dim..][..dim], &rows[b * dim..][..dim]);
            let product: f64 = a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum();
            product / (squares(a) * squares(b)).sqrt()
        };
        assert!(cosine(0, 1) > 0.9, "{}", cosine(0, 1));
        assert!(cosine(2, 3) > 0.9, "{}", cosine(2, 3));
        assert!(cosine(0, 2) < 0.5, "{}", cosine(0, 2));
    }

    #[test]
    fn a_graph_without_edges_has_none_to_join() {
        let ids = NodeIds::Range { start: 0, len: 3 };
        let graph = EdgeList { pairs: vec![], weights: None, ids }.build().unwrap().0;
        let old = vectors(3 * 4);
        let mut new = old.clone();
        join(&graph, &mut new, 4, 0.3, 0);
        assert_eq!(new, old);
    }
}
