//! Logistic regression, with the objective of scikit-learn's `LogisticRegression`.
//!
//! # Derivation
//!
//! An example x has the scores s = Wᵀx + b, one a class. With cross entropy ℓ and n examples,
//!
//!   E(W, b) = C Σ ℓ(sᵢ, yᵢ) + ½‖W‖²   over   C n,
//!
//! where the intercepts b are not pulled to zero. For three classes or more ℓ is that of the
//! softmax, log Σₖ exp sₖ − s_y; two classes have one score, and ℓ = log(1 + exp s) − y s, as for
//! each label where a node may have several. Either way ∂ℓ/∂s = p − y, the residual: what the
//! model believes less what is true. So with X the examples row by row and R their residuals,
//!
//!   S = X W + b,   ∂E/∂W = (Xᵀ R + W / C) / n,   ∂E/∂b = (1ᵀ R) / n.
//!
//! Tiles of rows that fit the cache go through all of it at once. The labels of a node are
//! independent problems; they are minimised side by side, a column of W and R for each.
//!
//! Rows are cut into parts by their number alone, and sums are taken in the order of the parts:
//! the result is the same on any number of threads.

use std::ops::Range;

use rayon::prelude::*;

use super::minimise::Minimiser;
use super::products::{add_transposed, multiply};

/// Examples that a classifier learns from or is asked about.
#[derive(Clone, Copy)]
pub(super) struct Examples<F> {
    /// How many there are.
    pub(super) count: usize,
    /// Numbers in an example.
    pub(super) dim: usize,
    /// Writes the numbers of one example.
    pub(super) fill: F,
}

/// A trained classifier: a score for each column from the numbers of an example.
pub(super) struct Logistic {
    columns: usize,
    /// dim × columns, then a row of intercepts.
    weights: Vec<f64>,
}

/// scikit-learn stops at 1e-4, which leaves some percent of nodes on the border undecided.
const TOLERANCE: f64 = 1e-5;
/// Rows of a tile: 256 of 128 numbers are 256 kB, which fit the cache of one core.
const TILE: usize = 256;
/// Parts that threads may share, at most.
const PARTS: usize = 64;

impl Logistic {
    /// Learns the one class of every example, of 0 to classes − 1, by the softmax.
    pub(super) fn softmax<F: Fn(usize, &mut [f64]) + Sync>(
        examples: &Examples<F>,
        class: &[u32],
        classes: usize,
        c: f64,
    ) -> Self {
        let mut search = Minimiser::new(vec![0.0; (examples.dim + 1) * classes], TOLERANCE);
        let residuals = |example: usize, scores: &mut [f64], loss: &mut [f64]| {
            let truth = class[example] as usize;
            let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let of_truth = scores[truth] - largest;
            let mut sum = 0.0;
            for score in scores.iter_mut() {
                *score = (*score - largest).exp();
                sum += *score;
            }
            scores.iter_mut().for_each(|score| *score /= sum);
            scores[truth] -= 1.0;
            loss[0] += sum.ln() - of_truth;
        };
        loop {
            let mut pass = Pass::new(examples, search.point(), classes, residuals);
            let values = pass.regularise(search.point(), classes, c, examples.count);
            if search.tell(values.iter().sum(), &pass.gradient) {
                return Self { columns: classes, weights: search.point().to_vec() };
            }
        }
    }

    /// Learns for every label which examples have it, each by itself. `labels` are those of each
    /// example. A label that all examples have or none has the score ∞ or −∞ throughout.
    pub(super) fn labels<F: Fn(usize, &mut [f64]) + Sync, L: AsRef<[u32]> + Sync>(
        examples: &Examples<F>,
        labels: &[L],
        columns: usize,
        c: f64,
    ) -> Self {
        let height = examples.dim + 1;
        let mut having = vec![0; columns];
        for &label in labels.iter().flat_map(AsRef::as_ref) {
            having[label as usize] += 1;
        }
        let mut weights = vec![0.0; height * columns];
        for (constant, &having) in weights[examples.dim * columns..].iter_mut().zip(&having) {
            *constant = if having == 0 { f64::NEG_INFINITY } else { f64::INFINITY };
        }
        let mut searches: Vec<(usize, Minimiser)> = (0..columns)
            .filter(|&label| having[label] > 0 && having[label] < examples.count)
            .map(|label| (label, Minimiser::new(vec![0.0; height], TOLERANCE)))
            .collect();
        while !searches.is_empty() {
            let width = searches.len();
            let mut trial = vec![0.0; height * width];
            let mut place = vec![None; columns];
            for (column, (label, search)) in searches.iter().enumerate() {
                place[*label] = Some(column);
                put_column(&mut trial, width, column, search.point());
            }
            let residuals = |example: usize, scores: &mut [f64], losses: &mut [f64]| {
                for &label in labels[example].as_ref() {
                    if let Some(column) = place[label as usize] {
                        losses[column] -= scores[column];
                    }
                }
                for (score, loss) in scores.iter_mut().zip(losses.iter_mut()) {
                    // log(1 + exp s) and its derivative, without overflow.
                    let small = (-score.abs()).exp();
                    *loss += score.max(0.0) + small.ln_1p();
                    *score = if *score >= 0.0 { 1.0 } else { small } / (1.0 + small);
                }
                for &label in labels[example].as_ref() {
                    if let Some(column) = place[label as usize] {
                        scores[column] -= 1.0;
                    }
                }
            };
            let mut pass = Pass::new(examples, &trial, width, residuals);
            let values = pass.regularise(&trial, width, c, examples.count);
            let mut column = 0;
            searches.retain_mut(|(label, search)| {
                let gradient: Vec<f64> =
                    pass.gradient[column..].iter().step_by(width).copied().collect();
                let done = search.tell(values[column], &gradient);
                if done {
                    put_column(&mut weights, columns, *label, search.point());
                }
                column += 1;
                !done
            });
        }
        Self { columns, weights }
    }

    /// The scores of examples, one row each.
    pub(super) fn scores<F: Fn(usize, &mut [f64]) + Sync>(
        &self,
        examples: &Examples<F>,
    ) -> Vec<f64> {
        let parts: Vec<Vec<f64>> = examples.parts(|rows| {
            let mut scores = vec![0.0; rows.len() * self.columns];
            let mut x = Vec::new();
            for (tile, scores) in tiles(rows).zip(scores.chunks_mut(TILE * self.columns)) {
                examples.score(tile, &self.weights, self.columns, &mut x, scores);
            }
            scores
        });
        parts.concat()
    }
}

/// The losses and their gradient, summed over all examples.
struct Pass {
    losses: Vec<f64>,
    gradient: Vec<f64>,
}

impl Pass {
    /// `residuals(example, scores, losses)` turns scores into residuals and adds to the losses.
    fn new<F: Fn(usize, &mut [f64]) + Sync>(
        examples: &Examples<F>,
        weights: &[f64],
        columns: usize,
        residuals: impl Fn(usize, &mut [f64], &mut [f64]) + Sync,
    ) -> Self {
        let zero = || Self { losses: vec![0.0; columns], gradient: vec![0.0; weights.len()] };
        let parts = examples.parts(|rows| {
            let mut sums = zero();
            let (mut x, mut scores) = (Vec::new(), Vec::new());
            for tile in tiles(rows) {
                scores.resize(tile.len() * columns, 0.0);
                examples.score(tile.clone(), weights, columns, &mut x, &mut scores);
                let (matrix, intercepts) = sums.gradient.split_at_mut(examples.dim * columns);
                for (example, scores) in tile.zip(scores.chunks_mut(columns)) {
                    residuals(example, scores, &mut sums.losses);
                    for (sum, residual) in intercepts.iter_mut().zip(&*scores) {
                        *sum += residual;
                    }
                }
                add_transposed(&x, &scores, matrix, examples.dim, columns);
            }
            sums
        });
        parts.into_iter().fold(zero(), |mut all, part| {
            let sums = all.losses.iter_mut().chain(&mut all.gradient);
            for (sum, part) in sums.zip(part.losses.iter().chain(&part.gradient)) {
                *sum += part;
            }
            all
        })
    }

    /// Takes means and adds the pull to zero; returns the value of every column.
    fn regularise(&mut self, weights: &[f64], columns: usize, c: f64, count: usize) -> Vec<f64> {
        let share = 1.0 / count as f64;
        let pull = share / c;
        let mut values: Vec<f64> = self.losses.iter().map(|loss| loss * share).collect();
        self.gradient.iter_mut().for_each(|part| *part *= share);
        let rows = weights.chunks(columns).zip(self.gradient.chunks_mut(columns));
        // The last row are the intercepts.
        for (weights, gradient) in rows.take(weights.len() / columns - 1) {
            for ((weight, gradient), value) in weights.iter().zip(gradient).zip(&mut values) {
                *gradient += pull * weight;
                *value += 0.5 * pull * weight * weight;
            }
        }
        values
    }
}

impl<F: Fn(usize, &mut [f64]) + Sync> Examples<F> {
    /// Calls `work` on runs of examples, on all threads; results are in the order of the runs.
    fn parts<T: Send>(&self, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
        let run = self.count.div_ceil(PARTS).max(TILE);
        let starts = (0..self.count.div_ceil(run)).into_par_iter();
        starts.map(|part| work(part * run..self.count.min((part + 1) * run))).collect()
    }

    /// Writes the numbers of a tile of examples to `x`, and their scores to `scores`.
    fn score(
        &self,
        tile: Range<usize>,
        weights: &[f64],
        columns: usize,
        x: &mut Vec<f64>,
        scores: &mut [f64],
    ) {
        x.resize(tile.len() * self.dim, 0.0);
        for (example, x) in tile.zip(x.chunks_mut(self.dim)) {
            (self.fill)(example, x);
        }
        let (matrix, intercepts) = weights.split_at(self.dim * columns);
        multiply(x, matrix, scores, self.dim, columns);
        for scores in scores.chunks_mut(columns) {
            for (score, intercept) in scores.iter_mut().zip(intercepts) {
                *score += intercept;
            }
        }
    }
}

fn tiles(rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = rows.end;
    rows.step_by(TILE).map(move |start| start..end.min(start + TILE))
}

fn put_column(matrix: &mut [f64], columns: usize, column: usize, values: &[f64]) {
    for (cell, value) in matrix[column..].iter_mut().step_by(columns).zip(values) {
        *cell = *value;
    }
}
