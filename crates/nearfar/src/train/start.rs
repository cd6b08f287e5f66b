//! Initial vectors: small random ones, or the leading eigenvectors of the objective at zero.
//!
//! # Derivation
//!
//! Near zero, −log σ(±s) = log 2 ∓ s/2 + …, so the loss falls fastest along the eigenvectors with
//! the largest eigenvalues of the weights of positive pairs (less those of negative pairs, which
//! are nearly of rank one and matter little here). Gradient descent from a small random start
//! is a power iteration on that matrix: it needs many epochs for eigenvalues that are small beside
//! the largest, as dense graphs have them. Products with the matrix itself are far cheaper than
//! epochs. With centres ∝ degree it is symmetric,
//!
//! ```text
//! M = D/d̄ · 1/T Σ_{t=1..T} (D⁻¹A)ᵗ,   T = C − 1,
//! ```
//!
//! and M x takes T products with the sparse P = D⁻¹A (Horner's rule). Subspace iteration finds its
//! leading eigenvectors: X random, X ← F X made orthonormal ([`ITERATIONS`] times), with
//!
//! ```text
//! F = D · P^(T−1) (I + P)
//! ```
//!
//! at the cost of M. On dense graphs the eigenvalues of P are small but for the first: M, nearly
//! P / T there, raises their ratio to the power of 1 per iteration, F to that of T − 1. I + P removes
//! eigenvalues near −1, which M maps to about zero too. Then Y = M X, and from the eigenvectors V and
//! eigenvalues μ of XᵀY the vectors
//!
//! ```text
//! Z = Y V μ^−½,   for which Z Zᵀ = Y (XᵀY)⁻¹ Yᵀ ≈ M
//! ```
//!
//! (the Nyström approximation: Halko, Martinsson and Tropp, *Finding structure with randomness*,
//! 2011), multiplied with a number that makes the mean of ‖z‖² 1. Directions with an eigenvalue
//! that is not clearly positive stay small and random.
//!
//! Sums over nodes are over chunks of a fixed number of rows, added in order: the result does not
//! depend on the number of threads.

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::plan::TrainPlan;
use crate::budget::{product, sum};
use crate::cancel;
use crate::encode::Propagation;
use crate::graph::{Graph, Node};
use crate::matrix::{Cholesky, add_transposed, eigen, multiply, multiply_by_transposed};
use crate::rng::{Purpose, Rng};

/// Initial vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Start {
    /// Leading eigenvectors of the objective at zero
    #[default]
    Spectral,
    /// Small random vectors
    Random,
}

/// Products with F.
const ITERATIONS: usize = 3;

/// At most so many dimensions are spectral: the work on small matrices grows with their cube.
const MOST: usize = 256;

/// The largest absolute value of a small random number.
pub(super) const SPREAD: f64 = 0.1;

/// Columns that are multiplied at a time: a cache line of each row.
const PANEL: usize = 16;

/// Rows of a chunk whose products are summed.
const CHUNK: usize = 4096;

/// Rows that are multiplied with a small matrix at a time.
const FEW: usize = 256;

/// The memory in addition to the vectors.
pub(super) fn bytes(plan: &TrainPlan, graph: &Graph) -> u64 {
    let n = graph.nodes();
    match plan.start {
        Start::Random => 0,
        Start::Spectral => {
            let columns = plan.dim.min(n).min(MOST);
            let threads = rayon::current_num_threads();
            let chunks = sum([
                product([n.div_ceil(CHUNK), columns, columns, 8]),
                product([threads, columns, columns, 12]),
                product([threads, FEW, columns, 8]),
            ]);
            let panels = product([3, n, PANEL.min(columns), 4]);
            let tables = product([2, n, columns, 4]);
            let both_ways = graph.undirected_bytes();
            sum([
                both_ways,
                tables,
                chunks.max(panels),
                product([n, 12]),
                product([columns, columns, 96]),
            ])
        }
    }
}

/// Fills rows of `stride` numbers with initial vectors; padding stays as it is.
pub(crate) fn start(plan: &TrainPlan, graph: &Arc<Graph>, stride: usize, rows: &mut [f32]) {
    match plan.start {
        Start::Random => small_vectors(plan, stride, rows, SPREAD),
        Start::Spectral => {
            small_vectors(plan, stride, rows, 0.1 * SPREAD);
            spectral(plan, &graph.to_undirected(), stride, rows);
        }
    }
}

/// Fills rows of `stride` numbers with uniform random vectors.
pub(super) fn small_vectors(plan: &TrainPlan, stride: usize, rows: &mut [f32], spread: f64) {
    rows.par_chunks_exact_mut(stride).enumerate().for_each(|(node, row)| {
        let mut rng = Rng::new(plan.seed, Purpose::Start, 0, node as u64);
        for value in &mut row[..plan.dim] {
            *value = ((rng.unit() - 0.5) * 2.0 * spread) as f32;
        }
    });
}

/// Adds spectral vectors to the first columns of `rows`.
fn spectral(plan: &TrainPlan, graph: &Arc<Graph>, stride: usize, rows: &mut [f32]) {
    let n = graph.nodes();
    let columns = plan.dim.min(n).min(MOST);
    if graph.arcs() == 0 {
        return;
    }
    let operator = Operator::new(graph, plan.window);
    let mut x = vec![0.0; n * columns];
    x.par_chunks_exact_mut(columns).enumerate().for_each(|(node, row)| {
        let mut rng = Rng::new(plan.seed, Purpose::Start, 1, node as u64);
        for value in row {
            *value = rng.unit() as f32 - 0.5;
        }
    });
    let mut y = vec![0.0; n * columns];
    for _ in 0..ITERATIONS {
        operator.filter(&x, &mut y, columns);
        std::mem::swap(&mut x, &mut y);
        if !orthonormalise(&mut x, columns) {
            return;
        }
    }
    operator.matrix(&x, &mut y, columns);
    let weights = spectral_weights(&products(&x, &y, columns), columns);
    drop(x);
    let length = |rows: &[f32]| {
        let mut out = vec![0.0; rows.len()];
        multiply(rows, &weights, &mut out, columns, columns);
        out.iter().map(|value| f64::from(value * value)).sum()
    };
    let squares: Vec<f64> = y.par_chunks(FEW * columns).map(length).collect();
    let scale = (n as f64 / squares.iter().sum::<f64>()).sqrt() as f32;
    if !scale.is_finite() {
        return;
    }
    rows.par_chunks_mut(FEW * stride).zip(y.par_chunks(FEW * columns)).for_each(|(rows, y)| {
        let mut out = vec![0.0; y.len()];
        multiply(y, &weights, &mut out, columns, columns);
        for (row, out) in rows.chunks_exact_mut(stride).zip(out.chunks_exact(columns)) {
            row.iter_mut().zip(out).for_each(|(value, out)| *value += scale * out);
        }
    });
}

/// V μ^−½ of the eigenvalues that are clearly positive, and zeros, from XᵀY, row-major.
fn spectral_weights(product: &[f64], columns: usize) -> Vec<f32> {
    /// Eigenvalues below this fraction of the largest are taken as zero.
    const SMALL: f64 = 1e-3;
    let symmetric: Vec<f64> = (0..columns * columns)
        .map(|at| product[at].midpoint(product[at % columns * columns + at / columns]))
        .collect();
    let all = eigen(&symmetric, columns);
    let largest = all.first().map_or(0.0, |first| first.value);
    let mut weights = vec![0.0; columns * columns];
    let kept = all.iter().filter(|pair| pair.value > 0.0 && pair.value > SMALL * largest);
    for (column, pair) in kept.enumerate() {
        for (row, value) in pair.vector.iter().enumerate() {
            weights[row * columns + column] = (value / pair.value.sqrt()) as f32;
        }
    }
    weights
}

/// The matrices M and F.
struct Operator {
    mean: Propagation,
    /// Degree by mean degree, divided by T.
    scale: Vec<f32>,
    steps: usize,
}

impl Operator {
    /// For windows of so many nodes. At least two steps: the eigenvalues of a single one can be as
    /// far below zero as above.
    fn new(graph: &Arc<Graph>, window: usize) -> Self {
        let steps = (window - 1).max(2);
        let degrees = (0..graph.nodes() as Node).map(|node| graph.weighted_degree(node));
        let mean = degrees.clone().sum::<f64>() / graph.nodes() as f64;
        let scale = degrees.map(|degree| (degree / mean / steps as f64) as f32).collect();
        Self { mean: Propagation::mean(graph), scale, steps }
    }

    /// Writes M x to `out`.
    fn matrix(&self, x: &[f32], out: &mut [f32], columns: usize) {
        self.polynomial(x, out, columns, |product| product < self.steps);
    }

    /// Writes F x to `out`, but for a factor.
    fn filter(&self, x: &[f32], out: &mut [f32], columns: usize) {
        self.polynomial(x, out, columns, |product| product == 1);
    }

    /// Writes a polynomial of P times x, times D, to `out`, some columns at a time. Horner's rule: `x`
    /// is added after the products for which `adds` holds, counted from 1.
    fn polynomial(&self, x: &[f32], out: &mut [f32], columns: usize, adds: impl Fn(usize) -> bool) {
        let n = x.len() / columns;
        let mut panels = [(); 3].map(|()| vec![0.0; n * PANEL.min(columns)]);
        for first in (0..columns).step_by(PANEL) {
            cancel::check();
            let width = PANEL.min(columns - first);
            let [panel, mut sum, mut next] =
                panels.each_mut().map(|all: &mut Vec<f32>| &mut all[..n * width]);
            let rows = panel.par_chunks_exact_mut(width).zip(x.par_chunks_exact(columns));
            rows.for_each(|(panel, x)| panel.copy_from_slice(&x[first..first + width]));
            sum.copy_from_slice(panel);
            for product in 1..=self.steps {
                self.mean.apply(sum, next, width);
                std::mem::swap(&mut sum, &mut next);
                if adds(product) {
                    sum.par_iter_mut()
                        .zip(&*panel)
                        .with_min_len(CHUNK)
                        .for_each(|(sum, x)| *sum += x);
                }
            }
            let rows = out.par_chunks_exact_mut(columns).zip(sum.par_chunks_exact(width));
            rows.zip(&self.scale).for_each(|((out, sum), scale)| {
                let out = &mut out[first..first + width];
                out.iter_mut().zip(sum).for_each(|(out, sum)| *out = scale * sum);
            });
        }
    }
}

/// Makes columns orthonormal: X ← X L⁻ᵀ with XᵀX = L Lᵀ. `false` if they are all zero or not finite.
fn orthonormalise(x: &mut [f32], columns: usize) -> bool {
    /// What is added to the diagonal, as a fraction of its mean: columns may be dependent.
    const SHIFTS: [f64; 3] = [1e-9, 1e-7, 1e-5];
    let gram = products(x, x, columns);
    let trace: f64 = (0..columns).map(|at| gram[at * columns + at]).sum();
    let factor = SHIFTS.into_iter().find_map(|shift| {
        let shift = shift * trace / columns as f64;
        let cell = |i: usize, j: usize| gram[i * columns + j] + if i == j { shift } else { 0.0 };
        Cholesky::new(columns, cell)
    });
    let Some(factor) = factor else { return false };
    let inverse: Vec<f32> = factor.inverse_lower().into_iter().map(|value| value as f32).collect();
    x.par_chunks_mut(FEW * columns).for_each(|rows| {
        let old = rows.to_vec();
        multiply_by_transposed(&old, &inverse, rows, columns);
    });
    true
}

/// XᵀY, row-major.
fn products(x: &[f32], y: &[f32], columns: usize) -> Vec<f64> {
    let of_chunk = |(x, y): (&[f32], &[f32])| {
        let mut total = vec![0.0_f64; columns * columns];
        for (x, y) in x.chunks(FEW * columns).zip(y.chunks(FEW * columns)) {
            let mut part = vec![0.0; columns * columns];
            add_transposed(x, y, &mut part, columns, columns);
            total.iter_mut().zip(part).for_each(|(total, part)| *total += f64::from(part));
        }
        total
    };
    let chunks = x.par_chunks(CHUNK * columns).zip(y.par_chunks(CHUNK * columns));
    add_up(chunks.map(of_chunk).collect())
}

fn add_up(sums: Vec<Vec<f64>>) -> Vec<f64> {
    let mut sums = sums.into_iter();
    let mut total = sums.next().unwrap_or_default();
    for sum in sums {
        total.iter_mut().zip(sum).for_each(|(total, value)| *total += value);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::super::config::TrainConfig;
    use super::super::settings::Settings;
    use super::*;
    use crate::budget::Budget;
    use crate::graph::{EdgeList, NodeIds};
    use crate::negative::{NegativeConfig, Negatives};

    fn graph(pairs: Vec<(Node, Node)>, weights: Option<Vec<f32>>, len: usize) -> Arc<Graph> {
        let ids = NodeIds::Range { start: 0, len };
        Arc::new(EdgeList { pairs, weights, ids }.build().unwrap().0)
    }

    fn plan(graph: &Arc<Graph>, dim: usize) -> TrainPlan {
        let negatives = NegativeConfig { negatives: Negatives::Uniform, ..Default::default() };
        let train = TrainConfig { dim, ..Default::default() };
        TrainPlan::new(&Settings { train, negatives }, graph, &Budget::default()).unwrap()
    }

    /// M by its definition, in double precision.
    fn dense(graph: &Graph, window: usize) -> Vec<f64> {
        let n = graph.nodes();
        let degree = |i: usize| graph.weighted_degree(i as Node);
        let mean = (0..n).map(degree).sum::<f64>() / n as f64;
        let mut step = vec![0.0; n * n];
        for (a, b, weight) in graph.edges_once() {
            let (a, b, weight) = (a as usize, b as usize, f64::from(weight.unwrap_or(1.0)));
            step[a * n + b] = weight / degree(a);
            step[b * n + a] = weight / degree(b);
        }
        let mut power: Vec<f64> =
            (0..n * n).map(|at| if at / n == at % n { 1.0 } else { 0.0 }).collect();
        let mut sum = vec![0.0; n * n];
        for _ in 1..window {
            let cell = |i: usize, j: usize| -> f64 {
                (0..n).map(|k| power[i * n + k] * step[k * n + j]).sum()
            };
            power = (0..n * n).map(|at| cell(at / n, at % n)).collect();
            sum.iter_mut().zip(&power).for_each(|(sum, power)| *sum += power);
        }
        (0..n * n).map(|at| degree(at / n) / mean * sum[at] / (window - 1) as f64).collect()
    }

    #[test]
    fn products_of_spectral_vectors_are_the_positive_part_of_the_matrix() {
        let pairs = vec![(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (3, 5), (5, 6)];
        for weights in [None, Some(vec![1.0, 2.0, 0.5, 3.0, 1.0, 1.5, 2.5, 0.25])] {
            let graph = graph(pairs.clone(), weights, 8);
            let (n, stride) = (8, 16);
            let plan = plan(&graph, 12);
            let mut rows = vec![0.0; n * stride];
            spectral(&plan, &graph, stride, &mut rows);
            let mut positive = vec![0.0; n * n];
            for pair in eigen(&dense(&graph, plan.window), n) {
                for (at, cell) in positive.iter_mut().enumerate() {
                    *cell += pair.value.max(0.0) * pair.vector[at / n] * pair.vector[at % n];
                }
            }
            let trace: f64 = (0..n).map(|i| positive[i * n + i]).sum();
            for (at, expected) in positive.iter().enumerate() {
                let (a, b) = (&rows[at / n * stride..][..stride], &rows[at % n * stride..]);
                let found: f64 = a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum();
                // The mean of ‖z‖² is 1.
                let expected = expected * n as f64 / trace;
                assert!((found - expected).abs() < 0.01, "{at}: {found} for {expected}");
            }
            for row in rows.chunks_exact(stride) {
                assert!(row[n..].iter().all(|&value| value == 0.0), "there are eight columns");
            }
        }
    }

    #[test]
    fn leading_eigenvectors_are_found_among_many_nodes() {
        // Cliques of ten nodes in a ring: M of T = 4 steps has as many large eigenvalues.
        let (cliques, size) = (30, 10);
        let mut pairs = vec![];
        for first in (0..cliques * size).step_by(size) {
            let inside =
                (first..first + size).flat_map(|a| (a + 1..first + size).map(move |b| (a, b)));
            pairs.extend(inside.map(|(a, b)| (a as Node, b as Node)));
            pairs.push((first as Node, ((first + size + 1) % (cliques * size)) as Node));
        }
        let n = cliques * size;
        let graph = graph(pairs, None, n);
        let plan = plan(&graph, cliques);
        let mut rows = vec![0.0; n * cliques];
        spectral(&plan, &graph, cliques, &mut rows);
        let leading: f64 =
            eigen(&dense(&graph, plan.window), n)[..cliques].iter().map(|pair| pair.value).sum();
        // Σ zᵀ M z / Σ ‖z‖² of eigenvectors weighted by μ is Σ μ² / Σ μ; here all μ are close.
        let m = dense(&graph, plan.window);
        let mut captured = 0.0;
        for k in 0..cliques {
            let z: Vec<f64> = (0..n).map(|i| f64::from(rows[i * cliques + k])).collect();
            let mz =
                m.chunks_exact(n).map(|row| row.iter().zip(&z).map(|(m, z)| m * z).sum::<f64>());
            let product: f64 = mz.zip(&z).map(|(mz, z)| mz * z).sum();
            captured += product / z.iter().map(|z| z * z).sum::<f64>();
        }
        assert!((captured / leading - 1.0).abs() < 0.01, "{captured} of {leading}");
    }

    #[test]
    fn the_same_bytes_on_any_number_of_threads() {
        let n = 2 * CHUNK + 100;
        let mut rng = Rng::new(4, Purpose::Walk, 0, 0);
        let mut node = || rng.below(n) as Node;
        let pairs = (0..3 * n).map(|_| (node(), node())).collect();
        let graph = graph(pairs, None, n);
        let plan = plan(&graph, 20);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut rows = vec![0.0; n * 32];
            pool.install(|| start(&plan, &graph, 32, &mut rows));
            rows
        };
        let one = on(1);
        assert!(one.iter().all(|value| value.is_finite()));
        assert!((2..5).all(|threads| on(threads) == one));
    }

    #[test]
    fn nodes_without_edges_start_small_and_random() {
        let connected = graph(vec![(0, 1), (1, 2)], None, 5);
        let empty = graph(vec![], None, 5);
        for graph in [connected, empty] {
            let plan = plan(&graph, 6);
            let mut rows = vec![0.0; 5 * 6];
            start(&plan, &graph, 6, &mut rows);
            let isolated = &rows[3 * 6..];
            assert!(isolated.iter().all(|&value| value != 0.0 && value.abs() <= 0.01));
            assert!(rows.iter().all(|value| value.is_finite()));
        }
    }

    /// Two tables and what is computed with them: sums of each chunk of 4096 rows, or three panels.
    #[test]
    fn memory_is_that_of_tables_and_sums() {
        let bytes = |nodes: usize, dim, threads, start| {
            let pairs = (1..nodes as Node).map(|b| (b - 1, b)).collect();
            let graph = graph(pairs, None, nodes);
            let mut plan = plan(&graph, dim);
            plan.start = start;
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| bytes(&plan, &graph))
        };
        assert_eq!(bytes(10_000, 20, 1, Start::Random), 0);
        // Panels exceed sums.
        let (n, small) = (10_000, 20 * 20 * 96);
        let spectral = 2 * n * 20 * 4 + 3 * n * 16 * 4 + n * 12 + small;
        assert_eq!(bytes(10_000, 20, 1, Start::Spectral), spectral);
        // Sums exceed panels: of two chunks, and of each of three threads.
        let n = 5000;
        let sums = 2 * 200 * 200 * 8 + 3 * 200 * 200 * 12 + 3 * 256 * 200 * 8;
        let spectral = 2 * n * 200 * 4 + sums + n * 12 + 200 * 200 * 96;
        assert_eq!(bytes(5000, 200, 3, Start::Spectral), spectral);
        // No more columns than nodes, nor than 256.
        assert_eq!(bytes(50, 200, 1, Start::Spectral), bytes(50, 50, 1, Start::Spectral));
        assert_eq!(bytes(400, 300, 1, Start::Spectral), bytes(400, 256, 1, Start::Spectral));
    }

    #[test]
    fn only_directions_of_clearly_positive_eigenvalues_are_kept() {
        let mut product = [0.0; 16];
        for (at, value) in [0.006, 0.003, 4.0, -1.0].into_iter().enumerate() {
            product[at * 5] = value;
        }
        let weights = spectral_weights(&product, 4);
        let row = |at: usize| weights[at * 4..][..4].iter().map(|x| x.abs()).collect::<Vec<_>>();
        assert_eq!(row(2), [0.5, 0.0, 0.0, 0.0]);
        let second = row(0)[1];
        assert!((second * second * 0.006 - 1.0).abs() < 1e-5, "{second}");
        assert_eq!(row(0), [0.0, second, 0.0, 0.0]);
        assert_eq!([row(1), row(3)], [[0.0; 4]; 2], "less than 4 / 1000");
    }

    /// Columns become orthonormal over all chunks of rows, whatever their scale; dependent ones do not
    /// fail, and zeros do.
    #[test]
    fn columns_become_orthonormal() {
        let mut rng = Rng::new(4, Purpose::Start, 0, 0);
        for scale in [1e-6, 1.0, 1e6] {
            let x = (0..3 * (2 * CHUNK + 10)).map(|_| scale * (rng.unit() as f32 - 0.2));
            let mut x: Vec<f32> = x.collect();
            assert!(orthonormalise(&mut x, 3));
            for (i, j) in (0..9).map(|at| (at / 3, at % 3)) {
                let sum: f64 = x.chunks(3).map(|row| f64::from(row[i]) * f64::from(row[j])).sum();
                assert!((sum - f64::from(u8::from(i == j))).abs() < 1e-4, "{i}, {j}: {sum}");
            }
            x.chunks_mut(3).for_each(|row| row[1] = row[0]);
            assert!(orthonormalise(&mut x, 3) && x.iter().all(|value| value.is_finite()));
        }
        assert!(!orthonormalise(&mut [0.0; 30], 3));
    }

    #[test]
    fn small_vectors_fill_their_range() {
        let graph = graph(vec![(0, 1)], None, 500);
        let mut rows = vec![0.0; 500 * 16];
        small_vectors(&plan(&graph, 12), 16, &mut rows, 0.3);
        let values = || rows.chunks(16).flat_map(|row| &row[..12]).copied();
        let (least, most) = values().fold((0.0, 0.0), |(a, b), x| (x.min(a), x.max(b)));
        assert!((-0.3..-0.297).contains(&least) && (0.297..0.3).contains(&most), "{least} {most}");
        assert!(values().sum::<f32>().abs() / 6000.0 < 0.01);
        assert!(rows.chunks(16).all(|row| row[12..] == [0.0; 4]));
    }
}
