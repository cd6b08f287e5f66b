//! Training on all pairs: the objective itself, without sampling.
//!
//! # Derivation
//!
//! A centre i loses
//!
//! ```text
//! ℓ_i = −Σ_j π_ij log σ(s_ij) − w Σ_k P(k|i) log σ(−s_ik) + (λ/2) ‖z_i‖²,   s_ij = z_i·z_j
//! ```
//!
//! with π_ij the probability to meet j in a window of i, and P(k|i) the law of negatives. All
//! centres together lose Σ_i c_i ℓ_i, c_i being how often i is a centre, 1 on average.
//!
//! As s_ij = s_ji, both directions of a pair can be taken together. With
//! A_ij = c_i π_ij + c_j π_ji and T_ij = A_ij + w (c_i P(j|i) + c_j P(i|j)), and because
//! −log σ(s) = log(1 + eˢ) − s,
//!
//! ```text
//! Σ_i c_i ℓ_i = ½ Σ_ij (T_ij log(1 + e^s_ij) − A_ij s_ij) + (λ/2) Σ_i c_i ‖z_i‖²
//! gradient at z_i = Σ_j G_ij z_j + λ c_i z_i,    G_ij = T_ij σ(s_ij) − A_ij
//! ```
//!
//! Both sums over j are products of matrices. They are taken in tiles, some rows against some
//! columns, so that neither s nor G is ever kept as a whole; T is, in four bytes a pair. A is
//! sparse, as walks do not go far. Rows are divided among threads, and no sum is: the result is
//! the same on any number of them.
//!
//! Steps are plain: z −= rate · gradient, as those of the stream trainer are on average. Hubs take
//! smaller ones: the gradient at z_i can change by up to Σ_j T_ij ‖z_j‖² / 4 for each step of z_i,
//! and where that is much more than 1 / rate, steps overshoot, and vectors explode. Adam scored
//! about 0.03 less F1 on Cora and CiteSeer at the same λ (`docs/method.md`); why is not known.

use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::prelude::*;

use super::config::{Model, TrainConfig};
use super::l2::Pull;
use super::{Done, Run, State, small_vectors};
use crate::error::Result;
use crate::graph::{Graph, Node};
use crate::matrix::{add, multiply_by_transposed};
use crate::negative::NegativeSampler;
use crate::positive::{Cooccurrence, CooccurrenceRow, Edges};
use crate::simd::sigmoid_loss;

/// A node whose pairs weigh more than this takes smaller steps. The mean is 2 + 2 w.
const HEAVY: f64 = 8.0;

/// Rows and columns of a tile.
const TILE: (usize, usize) = (64, 512);

/// The objective of a graph: what every pair weighs.
pub struct Objective {
    /// T, row by row.
    total: Vec<f32>,
    /// A: the other ends in rising order, and their weights.
    near: Vec<Vec<(Node, f32)>>,
    /// c, of centres that have negatives; others are not pulled to the origin.
    pulled: Vec<f32>,
    /// The sum of all weights, each pair counted once.
    mass: f64,
    /// The share of a step that each node takes.
    shares: Vec<f32>,
}

impl Objective {
    /// The memory that it takes at most: T, and A while its two directions are put together.
    pub fn bytes(nodes: usize) -> u64 {
        (nodes as u64).pow(2) * 16
    }

    /// Weighs all pairs.
    pub fn new(graph: &Arc<Graph>, negatives: &dyn NegativeSampler, config: &TrainConfig) -> Self {
        let n = graph.nodes();
        let cooccurrence = Cooccurrence::new(graph, config.window());
        let centres = centres(graph, &cooccurrence, config);
        let mut total = vec![0.0_f32; n * n];
        let fill = |(row, centre): (&mut [f32], Node)| {
            let c = centres[centre as usize];
            let (mut met, mut far) = (CooccurrenceRow::default(), vec![0.0; n]);
            negatives.probabilities(centre, &mut far);
            let weight = c * config.negative_weight;
            row.iter_mut().zip(&far).for_each(|(weighs, p)| *weighs = (weight * p) as f32);
            cooccurrence.fill(centre, &mut met);
            let mut near: Vec<_> = met.iter().map(|(j, p)| (j, (c * p) as f32)).collect();
            near.sort_unstable_by_key(|&(j, _)| j);
            for &(j, weight) in &near {
                row[j as usize] += weight;
            }
            near
        };
        let rows = total.par_chunks_exact_mut(n.max(1)).zip(0..n as Node);
        let mut near: Vec<Vec<(Node, f32)>> = rows.map(fill).collect();
        add_own_transpose(&mut total, n);
        // A walk from i can meet j just if one from j can meet i: rows and columns have the same
        // places, and a column is found in rising order.
        let mut column: Vec<Vec<f32>> =
            near.iter().map(|row| Vec::with_capacity(row.len())).collect();
        near.iter().flatten().for_each(|&(j, weight)| column[j as usize].push(weight));
        let both = near
            .par_iter_mut()
            .zip(column)
            .flat_map_iter(|(row, column)| row.iter_mut().zip(column));
        both.for_each(|((_, weight), back)| *weight += back);
        let pulled = |(node, c): (usize, &f64)| {
            if negatives.has_negatives(node as Node) { *c as f32 } else { 0.0 }
        };
        let pulled = centres.iter().enumerate().map(pulled).collect();
        let sums: Vec<f64> = total
            .par_chunks(n.max(1))
            .map(|row| row.iter().map(|&weight| f64::from(weight)).sum())
            .collect();
        let mass = sums.iter().sum::<f64>() / 2.0;
        let shares = sums.iter().map(|&sum| (HEAVY / sum).min(1.0) as f32).collect();
        Self { total, near, pulled, mass, shares }
    }

    /// The gradient at `vectors`, rows of `dim` numbers, under a pull of λ. Returns the mean loss
    /// of a pair, the pull aside.
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
            let pull = l2 as f32 * self.pulled[first + row];
            out.iter_mut().zip(own).for_each(|(out, own)| *out = pull * own);
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
                let near = &self.near[first + row][at[row]..];
                let near = &near[..near.partition_point(|&(j, _)| (j as usize) < start + columns)];
                at[row] += near.len();
                let place = |j: Node| j as usize - start;
                loss -=
                    near.iter().map(|&(j, weight)| f64::from(weight * tile[place(j)])).sum::<f64>();
                loss += f64::from(push(tile, total));
                for &(j, weight) in near {
                    tile[place(j)] -= weight;
                }
            }
            add(tile, others, out, columns, dim);
        }
        loss / 2.0
    }
}

/// How often each node is a centre.
fn centres(graph: &Arc<Graph>, cooccurrence: &Cooccurrence<'_>, config: &TrainConfig) -> Vec<f64> {
    if config.model == Model::Line {
        let edges = Edges::new(graph);
        return (0..graph.nodes() as Node).map(|node| edges.share(node)).collect();
    }
    cooccurrence.visits(config.windows())
}

/// Puts T σ(s) in the place of every s, and returns the sum of T log(1 + eˢ).
fn push(products: &mut [f32], total: &[f32]) -> f32 {
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

/// Adds the transpose of a square matrix to it, tile by tile, so that both stay in the cache.
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

/// The trainer: a step an epoch, at a learning rate that falls to zero.
pub(super) struct Exact {
    config: TrainConfig,
    objective: Objective,
    vectors: Vec<f32>,
    gradient: Vec<f32>,
    pull: Pull,
}

impl Exact {
    pub(super) fn new(
        graph: &Arc<Graph>,
        negatives: &dyn NegativeSampler,
        config: &TrainConfig,
    ) -> Self {
        let mut vectors = vec![0.0; graph.nodes() * config.dim];
        small_vectors(config, config.dim, &mut vectors);
        Self {
            objective: Objective::new(graph, negatives, config),
            gradient: vec![0.0; vectors.len()],
            vectors,
            pull: Pull::new(config.l2, graph, config.dim),
            config: config.clone(),
        }
    }
}

impl Run for Exact {
    fn epoch(
        &mut self,
        epoch: usize,
        _: &mut dyn FnMut(f64) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<(), Done>> {
        /// The pull is adjusted so many times in a run.
        const LOOKS: usize = 20;
        let (config, epochs) = (&self.config, self.config.epochs());
        let l2 = self.pull.strength;
        let loss = self.objective.gradient(&self.vectors, config.dim, l2, &mut self.gradient);
        let rate = (config.lr() * (1.0 - epoch as f64 / epochs as f64)) as f32;
        let rows = self.vectors.par_chunks_exact_mut(config.dim);
        let rows = rows.zip(self.gradient.par_chunks_exact(config.dim)).zip(&self.objective.shares);
        rows.with_min_len(64).for_each(|((row, gradient), share)| {
            row.iter_mut().zip(gradient).for_each(|(x, gradient)| *x -= rate * share * gradient);
        });
        let between = epochs.div_ceil(LOOKS);
        let effective_rank = if (epoch + 1).is_multiple_of(between) {
            let rows = self.vectors.chunks_exact(config.dim);
            let rows = rows.step_by((self.vectors.len() / config.dim).div_ceil(1024).max(1));
            self.pull.adjust(rows, config.dim, (epochs - epoch - 1) / between)
        } else {
            None
        };
        let n = (self.vectors.len() / config.dim) as u64;
        Ok(ControlFlow::Continue(Done { pairs: n * n.saturating_sub(1), loss, l2, effective_rank }))
    }

    fn state(&self, epoch: usize) -> State<'_> {
        State::of_vectors(epoch, &self.vectors)
    }

    fn into_vectors(self: Box<Self>) -> Vec<f32> {
        self.vectors
    }
}
