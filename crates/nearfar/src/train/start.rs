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
//! leading eigenvectors: X random, X ← F X made orthonormal (three times), with
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

use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::plan::TrainPlan;
use super::rows::{CHUNK, Panels, Rows};
use crate::budget::{product, sum};
use crate::cancel;
use crate::encode::Propagation;
use crate::error::Result;
use crate::file::FloatFile;
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
pub const SPREAD: f64 = 0.1;

/// Columns that are multiplied at a time: a cache line of each row; half of one where memory is short.
fn panel(on_disk: bool) -> usize {
    if on_disk { 8 } else { 16 }
}

/// Rows that are multiplied with a small matrix at a time.
pub(super) const FEW: usize = 256;

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
            let panels = product([3, n, panel(plan.scratch.is_some()).min(columns), 4]);
            // In files, but for the chunks that each thread has.
            let tables = match plan.scratch {
                None => product([2, n, columns, 4]),
                Some(_) => product([threads, 3 * CHUNK, columns.max(plan.dim), 4]),
            };
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
    // Files are all that can fail.
    let _ = start_rows(plan, graph, Rows::Memory(rows, stride), None);
}

/// Fills rows with initial vectors; padding stays as it is. Where rows are in a file, so are the large
/// matrices, in this folder.
pub(super) fn start_rows(
    plan: &TrainPlan,
    graph: &Arc<Graph>,
    mut rows: Rows<'_>,
    scratch: Option<&Path>,
) -> Result<()> {
    match plan.start {
        Start::Random => small_rows(plan, &mut rows, SPREAD),
        Start::Spectral => {
            small_rows(plan, &mut rows, 0.1 * SPREAD)?;
            spectral(plan, &graph.to_undirected(), rows, scratch)
        }
    }
}

/// Fills rows of `stride` numbers with uniform random vectors.
pub(super) fn small_vectors(plan: &TrainPlan, stride: usize, rows: &mut [f32], spread: f64) {
    // Files are all that can fail.
    let _ = small_rows(plan, &mut Rows::Memory(rows, stride), spread);
}

fn small_rows(plan: &TrainPlan, rows: &mut Rows<'_>, spread: f64) -> Result<()> {
    let stride = rows.stride();
    rows.update(|at, rows| {
        rows.par_chunks_exact_mut(stride).enumerate().for_each(|(row, values)| {
            let node = (at * CHUNK + row) as u64;
            let mut rng = Rng::new(plan.seed, Purpose::Start, 0, node);
            for value in &mut values[..plan.dim] {
                *value = ((rng.unit() - 0.5) * 2.0 * spread) as f32;
            }
        });
    })?;
    Ok(())
}

/// The large matrices of the subspace iteration, wherever they are: X and Y of n rows and so many columns,
/// and the vectors.
pub trait Subspace {
    /// X ← F X, but for a factor.
    fn filter(&mut self) -> Result<()>;
    /// Y ← M X.
    fn matrix(&mut self) -> Result<()>;
    /// XᵀX, row-major.
    fn gram(&mut self) -> Result<Vec<f64>>;
    /// XᵀY, row-major.
    fn products(&mut self) -> Result<Vec<f64>>;
    /// X ← X Wᵀ.
    fn transform(&mut self, weights: &[f32]) -> Result<()>;
    /// The sum of squares of Y W.
    fn length(&mut self, weights: &[f32]) -> Result<f64>;
    /// Adds a multiple of Y W to the first columns of the vectors.
    fn add(&mut self, weights: &[f32], scale: f32) -> Result<()>;
}

/// The number of columns of the spectral start, for n nodes.
pub fn spectral_columns(plan: &TrainPlan, n: usize) -> usize {
    plan.dim.min(n).min(MOST)
}

/// Adds spectral vectors, from random X, to the first columns of the vectors. Leaves them as they are if
/// the graph has none.
pub fn add_spectral(subspace: &mut dyn Subspace, n: usize, columns: usize) -> Result<()> {
    for _ in 0..ITERATIONS {
        subspace.filter()?;
        let Some(inverse) = inverse_factor(&subspace.gram()?, columns) else { return Ok(()) };
        subspace.transform(&inverse)?;
    }
    subspace.matrix()?;
    let weights = spectral_weights(&subspace.products()?, columns);
    let scale = (n as f64 / subspace.length(&weights)?).sqrt() as f32;
    if !scale.is_finite() {
        return Ok(());
    }
    subspace.add(&weights, scale)
}

/// Adds spectral vectors to the first columns of `rows`.
fn spectral(
    plan: &TrainPlan,
    graph: &Arc<Graph>,
    rows: Rows<'_>,
    scratch: Option<&Path>,
) -> Result<()> {
    let n = graph.nodes();
    let columns = spectral_columns(plan, n);
    if graph.arcs() == 0 {
        return Ok(());
    }
    let operator =
        Operator { panel: panel(scratch.is_some()), ..Operator::new(graph, plan.window) };
    let random = |at: usize, x: &mut [f32]| {
        x.par_chunks_exact_mut(columns).enumerate().for_each(|(row, values)| {
            let mut rng = Rng::new(plan.seed, Purpose::Start, 1, (at * CHUNK + row) as u64);
            for value in values.iter_mut() {
                *value = rng.unit() as f32 - 0.5;
            }
        });
    };
    let matrices = |x, y| RowSubspace { operator, columns, x, y, rows };
    if let Some(folder) = scratch {
        let file = || FloatFile::new(folder, n * columns);
        let [mut x, mut y] = [file()?, file()?];
        let panels = Panels { rows: n, columns, width: panel(scratch.is_some()) };
        let (mut x, y) = (Rows::Panels(&mut x, panels), Rows::Panels(&mut y, panels));
        x.update(random)?;
        return add_spectral(&mut matrices(x, y), n, columns);
    }
    let [mut x, mut y] = [vec![0.0; n * columns], vec![0.0; n * columns]];
    let (mut x, y) = (Rows::Memory(&mut x, columns), Rows::Memory(&mut y, columns));
    x.update(random)?;
    add_spectral(&mut matrices(x, y), n, columns)
}

/// The matrices of this process.
struct RowSubspace<'a> {
    operator: Operator,
    columns: usize,
    x: Rows<'a>,
    y: Rows<'a>,
    rows: Rows<'a>,
}

impl Subspace for RowSubspace<'_> {
    fn filter(&mut self) -> Result<()> {
        self.operator.filter(&self.x, &mut self.y, self.columns)?;
        std::mem::swap(&mut self.x, &mut self.y);
        Ok(())
    }

    fn matrix(&mut self) -> Result<()> {
        self.operator.matrix(&self.x, &mut self.y, self.columns)
    }

    fn gram(&mut self) -> Result<Vec<f64>> {
        Ok(add_up(self.x.map(|_, x| products(x, x, self.columns))?))
    }

    fn products(&mut self) -> Result<Vec<f64>> {
        let of_chunk = |at: usize, x: &[f32]| Ok(products(x, &self.y.chunk(at)?, self.columns));
        Ok(add_up(self.x.map(of_chunk)?.into_iter().collect::<Result<_>>()?))
    }

    fn transform(&mut self, weights: &[f32]) -> Result<()> {
        let columns = self.columns;
        self.x.update(|_, x| {
            x.par_chunks_mut(FEW * columns).for_each(|rows| {
                let old = rows.to_vec();
                multiply_by_transposed(&old, weights, rows, columns);
            });
        })?;
        Ok(())
    }

    fn length(&mut self, weights: &[f32]) -> Result<f64> {
        let columns = self.columns;
        let length = |rows: &[f32]| -> f64 {
            let mut out = vec![0.0; rows.len()];
            multiply(rows, weights, &mut out, columns, columns);
            out.iter().map(|value| f64::from(value * value)).sum()
        };
        let squares =
            self.y.map(|_, y| y.par_chunks(FEW * columns).map(length).collect::<Vec<f64>>())?;
        Ok(squares.iter().flatten().sum())
    }

    fn add(&mut self, weights: &[f32], scale: f32) -> Result<()> {
        let Self { columns, y, rows, .. } = self;
        let (columns, stride) = (*columns, rows.stride());
        let added = rows.update(|at, rows| {
            let y = y.chunk(at)?;
            let rows = rows.par_chunks_mut(FEW * stride);
            rows.zip(y.par_chunks(FEW * columns)).for_each(|(rows, y)| {
                let mut out = vec![0.0; y.len()];
                multiply(y, weights, &mut out, columns, columns);
                for (row, out) in rows.chunks_exact_mut(stride).zip(out.chunks_exact(columns)) {
                    row.iter_mut().zip(out).for_each(|(value, out)| *value += scale * out);
                }
            });
            Ok(())
        });
        added?.into_iter().collect()
    }
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

/// What M and F are made of: degrees by mean degree, divided by the number of steps T; and T.
pub fn spectral_scale(graph: &Graph, window: usize) -> (Vec<f32>, usize) {
    let steps = (window - 1).max(2);
    let degrees = (0..graph.nodes() as Node).map(|node| graph.weighted_degree(node));
    let mean = degrees.clone().sum::<f64>() / graph.nodes() as f64;
    (degrees.map(|degree| (degree / mean / steps as f64) as f32).collect(), steps)
}

/// The matrices M and F.
struct Operator {
    mean: Propagation,
    /// Degree by mean degree, divided by T.
    scale: Vec<f32>,
    steps: usize,
    /// Columns that are multiplied at a time.
    panel: usize,
}

impl Operator {
    /// For windows of so many nodes. At least two steps: the eigenvalues of a single one can be as
    /// far below zero as above.
    fn new(graph: &Arc<Graph>, window: usize) -> Self {
        let (scale, steps) = spectral_scale(graph, window);
        Self { mean: Propagation::mean(graph), scale, steps, panel: panel(false) }
    }

    /// Writes M x to `out`.
    fn matrix(&self, x: &Rows<'_>, out: &mut Rows<'_>, columns: usize) -> Result<()> {
        self.polynomial(x, out, columns, |product| product < self.steps)
    }

    /// Writes F x to `out`, but for a factor.
    fn filter(&self, x: &Rows<'_>, out: &mut Rows<'_>, columns: usize) -> Result<()> {
        self.polynomial(x, out, columns, |product| product == 1)
    }

    /// Writes a polynomial of P times x, times D, to `out`, some columns at a time. Horner's rule: `x`
    /// is added after the products for which `adds` holds, counted from 1.
    fn polynomial(
        &self,
        x: &Rows<'_>,
        out: &mut Rows<'_>,
        columns: usize,
        adds: impl Fn(usize) -> bool,
    ) -> Result<()> {
        let n = self.scale.len();
        let mut panels = [(); 3].map(|()| vec![0.0; n * self.panel.min(columns)]);
        for first in (0..columns).step_by(self.panel) {
            cancel::check();
            let width = self.panel.min(columns - first);
            let [panel, mut sum, mut next] =
                panels.each_mut().map(|all: &mut Vec<f32>| &mut all[..n * width]);
            x.load(first, width, panel)?;
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
            let rows = sum.par_chunks_exact_mut(width).zip(&self.scale);
            rows.for_each(|(sum, scale)| sum.iter_mut().for_each(|sum| *sum *= scale));
            out.store(first, width, sum, |_| true)?;
        }
        Ok(())
    }
}

/// L⁻¹ of XᵀX = L Lᵀ: the columns of X L⁻ᵀ are orthonormal. `None` if they are all zero or not finite.
pub(super) fn inverse_factor(gram: &[f64], columns: usize) -> Option<Vec<f32>> {
    /// What is added to the diagonal, as a fraction of its mean: columns may be dependent.
    const SHIFTS: [f64; 3] = [1e-9, 1e-7, 1e-5];
    let trace: f64 = (0..columns).map(|at| gram[at * columns + at]).sum();
    let factor = SHIFTS.into_iter().find_map(|shift| {
        let shift = shift * trace / columns as f64;
        let cell = |i: usize, j: usize| gram[i * columns + j] + if i == j { shift } else { 0.0 };
        Cholesky::new(columns, cell)
    })?;
    Some(factor.inverse_lower().into_iter().map(|value| value as f32).collect())
}

/// XᵀY of a chunk of rows, row-major.
pub(super) fn products(x: &[f32], y: &[f32], columns: usize) -> Vec<f64> {
    let mut total = vec![0.0_f64; columns * columns];
    for (x, y) in x.chunks(FEW * columns).zip(y.chunks(FEW * columns)) {
        let mut part = vec![0.0; columns * columns];
        add_transposed(x, y, &mut part, columns, columns);
        total.iter_mut().zip(part).for_each(|(total, part)| *total += f64::from(part));
    }
    total
}

pub(super) fn add_up(sums: Vec<Vec<f64>>) -> Vec<f64> {
    let mut sums = sums.into_iter();
    let mut total = sums.next().unwrap_or_default();
    for sum in sums {
        total.iter_mut().zip(sum).for_each(|(total, value)| *total += value);
    }
    total
}

#[cfg(test)]
mod tests;
