//! Training on all pairs: the objective itself, without sampling.
//!
//! # Derivation
//!
//! The loss of a centre i is
//!
//! ```text
//! ℓ_i = −Σ_j π_ij log σ(s_ij) − w Σ_k P(k|i) log σ(−s_ik) + (λ/2) ‖z_i‖²,   s_ij = z_i·z_j
//! ```
//!
//! with π_ij the probability of j in a window of i, and P(k|i) the law of negatives. The total loss
//! is Σ_i c_i ℓ_i, c_i being how often i is a centre, 1 on average.
//!
//! As s_ij = s_ji, both directions of a pair can be added. With
//! A_ij = c_i π_ij + c_j π_ji and T_ij = A_ij + w (c_i P(j|i) + c_j P(i|j)), and because
//! −log σ(s) = log(1 + eˢ) − s,
//!
//! ```text
//! Σ_i c_i ℓ_i = ½ Σ_ij (T_ij log(1 + e^s_ij) − A_ij s_ij) + (λ/2) Σ_i c_i ‖z_i‖²
//! gradient at z_i = Σ_j G_ij z_j + λ c_i z_i,    G_ij = T_ij σ(s_ij) − A_ij
//! ```
//!
//! Both sums over j are matrix products. They are computed in tiles, some rows against some columns,
//! so that neither s nor G is ever stored as a whole; T is, in four bytes per pair. A is sparse, as
//! windows are short. Rows are divided among threads, and no sum is: the result is the same on any
//! number of them.
//!
//! Steps are plain gradient descent, z −= rate · gradient, as those of the stream trainer are on
//! average. Hubs take smaller ones: the gradient at z_i can change by up to Σ_j T_ij ‖z_j‖² / 4 for
//! each step of z_i, and where that is much more than 1 / rate, steps overshoot and training
//! diverges. Adam scored about 0.03 less F1 on Cora and CiteSeer at the same λ (`docs/method.md`);
//! why is not known.

use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::prelude::*;

use super::backend::{Backend, EpochStats, KeepGoing, Task, VectorView, cannot_be_of_this_run};
use super::given::initial;
use super::l2::L2Controller;
use super::plan::TrainPlan;
use crate::budget::{product, sum};
use crate::error::Result;
use crate::graph::{Graph, Node};
use crate::matrix::{add, multiply_by_transposed};
use crate::memory::{Array, zeroed};
use crate::negative::NegativeSampler;
use crate::positive::{CentreWeights, Cooccurrence, CooccurrenceRow};
use crate::simd::sigmoid_loss;

/// A node whose pairs weigh more than this in total takes smaller steps. The mean is 2 + 2 w.
const HEAVY: f64 = 8.0;

/// Rows and columns of a tile.
const TILE: (usize, usize) = (64, 512);

/// The objective of a graph: what every pair weighs.
pub struct Objective {
    /// T, row by row.
    total: Vec<f32>,
    /// A, by row: the other nodes in increasing order, and their weights.
    positive: Vec<Vec<(Node, f32)>>,
    /// c of centres that have negatives; others are not regularised.
    regularised: Vec<f32>,
    /// The sum of all weights, each pair counted once.
    mass: f64,
    /// The fraction of a step that each node takes.
    step_sizes: Vec<f32>,
}

impl Objective {
    /// The memory that it takes: T in four bytes a pair, and for each entry of A, while its two
    /// directions are added, eight bytes and four. A has an entry for each pair that a window can
    /// hold; how many these are is estimated by searches from some nodes.
    pub fn bytes(graph: &Graph, window: usize) -> u64 {
        let n = graph.nodes();
        sum([product([n, n, 4]), Self::positive_bytes(graph, window)])
    }

    /// That of A alone.
    pub(super) fn positive_bytes(graph: &Graph, window: usize) -> u64 {
        let n = graph.nodes();
        let entries = (n as f64 * Cooccurrence::reach(graph, window)).ceil() as usize;
        let lists = product([n, 2, size_of::<Vec<f32>>()]);
        let rows = product([rayon::current_num_threads(), n, 40]);
        sum([product([entries, 12]), lists, rows])
    }

    /// Computes the weights of all pairs.
    pub fn new(graph: &Arc<Graph>, negatives: &dyn NegativeSampler, plan: &TrainPlan) -> Self {
        let n = graph.nodes();
        let Positives { centres, mut rows } = Positives::new(graph, plan);
        let mut total: Vec<f32> = zeroed(n * n);
        total.par_chunks_exact_mut(n.max(1)).enumerate().for_each(|(centre, row)| {
            let mut probabilities = vec![0.0; n];
            negatives.probabilities(centre as Node, &mut probabilities);
            let weight = centres[centre] * plan.negative_weight;
            let entries = row.iter_mut().zip(&probabilities);
            entries.for_each(|(entry, p)| *entry = (weight * p) as f32);
            for &(j, weight) in &rows[centre] {
                row[j as usize] += weight;
            }
        });
        add_own_transpose(&mut total, n);
        add_transposed_rows(&mut rows);
        let regularised = regularised(&centres, negatives);
        let sums: Vec<f64> = total
            .par_chunks(n.max(1))
            .map(|row| row.iter().map(|&weight| f64::from(weight)).sum())
            .collect();
        let mass = sums.iter().sum::<f64>() / 2.0;
        let step_sizes = sums.iter().map(|&sum| step_size(sum)).collect();
        Self { total, positive: rows, regularised, mass, step_sizes }
    }

    /// Writes the gradient at `vectors`, rows of `dim` dimensions, to `out`. Returns the mean loss of a
    /// pair, regularisation excluded.
    pub fn gradient(&self, vectors: &[f32], dim: usize, l2: f64, out: &mut [f32]) -> f64 {
        let rows = (vectors.par_chunks(TILE.0 * dim), out.par_chunks_mut(TILE.0 * dim));
        let losses: Vec<f64> = rows
            .into_par_iter()
            .enumerate()
            .map(|(tile, (own, out))| self.rows_gradient(tile * TILE.0, own, vectors, dim, l2, out))
            .collect();
        losses.iter().sum::<f64>() / self.mass.max(f64::MIN_POSITIVE)
    }

    /// The gradient at some rows, of which `own` holds the vectors, and their half of the loss.
    fn rows_gradient(
        &self,
        first: usize,
        own: &[f32],
        vectors: &[f32],
        dim: usize,
        l2: f64,
        out: &mut [f32],
    ) -> f64 {
        let (n, rows) = (vectors.len() / dim, own.len() / dim);
        for (row, (out, own)) in out.chunks_exact_mut(dim).zip(own.chunks_exact(dim)).enumerate() {
            let factor = l2 as f32 * self.regularised[first + row];
            out.iter_mut().zip(own).for_each(|(out, own)| *out = factor * own);
        }
        let mut tile = vec![0.0; rows * TILE.1];
        let mut at = vec![0; rows];
        let mut loss = 0.0;
        for (start, others) in (0..n).step_by(TILE.1).zip(vectors.chunks(TILE.1 * dim)) {
            let columns = others.len() / dim;
            let tile = &mut tile[..rows * columns];
            multiply_by_transposed(own, others, tile, dim);
            for (row, tile) in tile.chunks_exact_mut(columns).enumerate() {
                let total = &self.total[(first + row) * n + start..][..columns];
                let positive = &self.positive[first + row][at[row]..];
                let end = positive.partition_point(|&(j, _)| (j as usize) < start + columns);
                let positive = &positive[..end];
                at[row] += positive.len();
                let column = |j: Node| j as usize - start;
                let terms = positive.iter().map(|&(j, weight)| weight * tile[column(j)]);
                loss -= terms.map(f64::from).sum::<f64>();
                loss += f64::from(weigh(tile, total));
                for &(j, weight) in positive {
                    tile[column(j)] -= weight;
                }
            }
            add(tile, others, out, columns, dim);
        }
        loss / 2.0
    }
}

/// The weights of positive pairs, and how often nodes are centres.
pub struct Positives {
    /// c.
    pub centres: Vec<f64>,
    /// c_i π_ij by row: the other nodes in increasing order.
    pub rows: Vec<Vec<(Node, f32)>>,
}

impl Positives {
    /// Computes them for a graph.
    pub fn new(graph: &Arc<Graph>, plan: &TrainPlan) -> Self {
        let cooccurrence = Cooccurrence::new(graph, plan.window);
        let centres = centres(graph, &cooccurrence, plan);
        let row = |centre: Node| {
            let (c, mut contexts) = (centres[centre as usize], CooccurrenceRow::default());
            cooccurrence.fill(centre, &mut contexts);
            let mut row: Vec<_> = contexts.iter().map(|(j, p)| (j, (c * p) as f32)).collect();
            row.sort_unstable_by_key(|&(j, _)| j);
            row
        };
        let rows = (0..graph.nodes() as Node).into_par_iter().map(row).collect();
        Self { centres, rows }
    }
}

/// A from its part of one direction: adds the transposed matrix. A window of i can contain j if and only
/// if one of j can contain i: row and column i have entries at the same indices, and those of a column are
/// found in increasing order.
pub fn add_transposed_rows(rows: &mut [Vec<(Node, f32)>]) {
    let mut columns: Vec<Vec<f32>> = rows.iter().map(|row| Vec::with_capacity(row.len())).collect();
    rows.iter().flatten().for_each(|&(j, weight)| columns[j as usize].push(weight));
    let both =
        rows.par_iter_mut().zip(columns).flat_map_iter(|(row, column)| row.iter_mut().zip(column));
    both.for_each(|((_, weight), transposed)| *weight += transposed);
}

/// c of centres that have negatives; others are not regularised.
pub fn regularised(centres: &[f64], negatives: &dyn NegativeSampler) -> Vec<f32> {
    let regularised = |(node, c): (usize, &f64)| {
        if negatives.has_negatives(node as Node) { *c as f32 } else { 0.0 }
    };
    centres.iter().enumerate().map(regularised).collect()
}

/// The fraction of a step that a node takes whose pairs weigh so much.
pub fn step_size(weight: f64) -> f32 {
    (HEAVY / weight).min(1.0) as f32
}

/// How often each node is a centre.
fn centres(graph: &Arc<Graph>, cooccurrence: &Cooccurrence<'_>, plan: &TrainPlan) -> Vec<f64> {
    let weights = CentreWeights::new(graph, plan.centre_power);
    let starts = (0..graph.nodes() as Node).map(|node| weights.of(graph, node)).collect();
    cooccurrence.visits(starts, plan.windows())
}

/// Replaces every s by T σ(s), and returns the sum of T log(1 + eˢ).
fn weigh(products: &mut [f32], total: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0.0; LANES];
    let mut one = |lane: usize, s: &mut f32, weight: f32| {
        let (sigma, loss) = sigmoid_loss(-*s);
        *s = weight * sigma;
        sums[lane] += weight * loss;
    };
    let (chunks, rest) = products.as_chunks_mut::<LANES>();
    let (weights, weights_of_rest) = total.as_chunks::<LANES>();
    for (chunk, weights) in chunks.iter_mut().zip(weights) {
        (0..LANES).for_each(|lane| one(lane, &mut chunk[lane], weights[lane]));
    }
    rest.iter_mut().zip(weights_of_rest).for_each(|(s, &weight)| one(0, s, weight));
    sums.iter().sum()
}

/// Adds its transpose to a square matrix, tile by tile, so that both stay in cache.
fn add_own_transpose(matrix: &mut [f32], n: usize) {
    const SIDE: usize = 64;
    for top in (0..n).step_by(SIDE) {
        for left in (0..=top).step_by(SIDE) {
            for row in top..(top + SIDE).min(n) {
                for column in left..(left + SIDE).min(row) {
                    let sum = matrix[row * n + column] + matrix[column * n + row];
                    (matrix[row * n + column], matrix[column * n + row]) = (sum, sum);
                }
            }
        }
    }
}

/// The trainer: one step per epoch, with a learning rate that falls to zero.
pub(super) struct Exact<'a> {
    plan: &'a TrainPlan,
    objective: Objective,
    vectors: Vec<f32>,
    gradient: Vec<f32>,
    l2: L2Controller,
}

impl<'a> Exact<'a> {
    pub(super) fn new(task: &Task<'a>) -> Self {
        let &Task { plan, graph, negatives, init, .. } = task;
        let mut vectors = vec![0.0; graph.nodes() * plan.dim];
        initial(plan, graph, init, plan.dim, &mut vectors);
        Self {
            plan,
            objective: Objective::new(graph, negatives, plan),
            gradient: vec![0.0; vectors.len()],
            vectors,
            l2: L2Controller::new(plan.l2, graph, plan.dim, plan.kernel),
        }
    }
}

impl Backend for Exact<'_> {
    fn epoch(
        &mut self,
        epoch: usize,
        _: &mut KeepGoing<'_>,
    ) -> Result<ControlFlow<(), EpochStats>> {
        let &TrainPlan { dim, epochs, lr, .. } = self.plan;
        let l2 = self.l2.lambda;
        let loss = self.objective.gradient(&self.vectors, dim, l2, &mut self.gradient);
        let rate = (lr * (1.0 - epoch as f64 / epochs as f64)) as f32;
        let rows = self.vectors.par_chunks_exact_mut(dim);
        let rows = rows.zip(self.gradient.par_chunks_exact(dim)).zip(&self.objective.step_sizes);
        rows.with_min_len(64).for_each(|((row, gradient), size)| {
            row.iter_mut().zip(gradient).for_each(|(x, gradient)| *x -= rate * size * gradient);
        });
        let rows = self.vectors.chunks_exact(dim);
        let effective_rank = self.l2.after(epoch, epochs, rows, dim);
        let n = (self.vectors.len() / dim) as u64;
        let pairs = n * n.saturating_sub(1);
        Ok(ControlFlow::Continue(EpochStats { pairs, loss, l2, effective_rank }))
    }

    fn vectors(&self) -> VectorView<'_> {
        VectorView { values: &self.vectors, dim: self.plan.dim, stride: self.plan.dim }
    }

    /// The state of the L2 controller.
    fn state(&self) -> Option<Vec<u8>> {
        Some(self.l2.state().into_iter().flat_map(f64::to_le_bytes).collect())
    }

    fn restore(&mut self, vectors: &Array<f32>, state: &Array<u8>) -> Result<()> {
        let numbers = <[[u8; 8]; 4]>::try_from(state.as_chunks().0).ok();
        let fits = vectors.len() == self.vectors.len()
            && state.len() == 32
            && vectors.iter().all(|value| value.is_finite());
        numbers
            .filter(|_| fits)
            .and_then(|numbers| self.l2.restore(numbers.map(f64::from_le_bytes)))
            .ok_or_else(cannot_be_of_this_run)?;
        self.vectors.copy_from_slice(vectors);
        Ok(())
    }

    fn into_vectors(self: Box<Self>) -> Vec<f32> {
        self.vectors
    }
}
