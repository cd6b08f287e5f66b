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

use super::examples::{Examples, TILE, Table, tiles};
use super::minimise::Minimiser;
use crate::products::add_transposed;

/// A trained classifier: a score for each column from the numbers of an example.
pub(super) struct Logistic {
    columns: usize,
    /// dim × columns, then a row of intercepts.
    weights: Vec<f64>,
}

/// The search ends where no part of the gradient of E is above this, half of what scikit-learn
/// takes for the end. Only rare labels are not quite settled there.
const TOLERANCE: f64 = 5e-5;

impl Logistic {
    /// Learns the one class of every example, of 0 to classes − 1, by the softmax.
    pub(super) fn softmax<F: Fn(usize, &mut [f64]) + Sync>(
        examples: &Examples<F>,
        class: &[u32],
        classes: usize,
        c: f64,
    ) -> Self {
        let table = Table::keep(examples);
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
            for score in scores.iter_mut() {
                *score /= sum;
            }
            scores[truth] -= 1.0;
            loss[0] += sum.ln() - of_truth;
        };
        loop {
            let mut pass = Pass::new(&table, search.point(), classes, residuals);
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
        let table = Table::keep(examples);
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
            let mut pass = Pass::new(&table, &trial, width, residuals);
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
        let table = Table::fleeting(examples);
        let parts: Vec<Vec<f64>> = table.parts(|rows| {
            let mut scores = vec![0.0; rows.len() * self.columns];
            let mut room = Vec::new();
            for (tile, scores) in tiles(rows).zip(scores.chunks_mut(TILE * self.columns)) {
                table.score(tile, &self.weights, self.columns, &mut room, scores);
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
        table: &Table<F>,
        weights: &[f64],
        columns: usize,
        residuals: impl Fn(usize, &mut [f64], &mut [f64]) + Sync,
    ) -> Self {
        let zero = || Self { losses: vec![0.0; columns], gradient: vec![0.0; weights.len()] };
        let parts = table.parts(|rows| {
            let mut sums = zero();
            let (mut room, mut scores) = (Vec::new(), Vec::new());
            let inner = weights.len() / columns - 1;
            for tile in tiles(rows) {
                scores.resize(tile.len() * columns, 0.0);
                let x = table.score(tile.clone(), weights, columns, &mut room, &mut scores);
                let (matrix, intercepts) = sums.gradient.split_at_mut(inner * columns);
                for (example, scores) in tile.zip(scores.chunks_mut(columns)) {
                    residuals(example, scores, &mut sums.losses);
                    for (sum, residual) in intercepts.iter_mut().zip(&*scores) {
                        *sum += residual;
                    }
                }
                add_transposed(x, &scores, matrix, inner, columns);
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
        for part in &mut self.gradient {
            *part *= share;
        }
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

fn put_column(matrix: &mut [f64], columns: usize, column: usize, values: &[f64]) {
    for (cell, value) in matrix[column..].iter_mut().step_by(columns).zip(values) {
        *cell = *value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    const DIM: usize = 4;
    const COUNT: usize = 700;

    /// Numbers that grow with the class, more or less.
    fn numbers(example: usize, out: &mut [f64]) {
        let mut rng = Rng::new(5, Purpose::Repeat, 0, example as u64);
        for (at, out) in out.iter_mut().enumerate() {
            *out = rng.unit() * 2.0 - 1.0 + f64::from(u8::from(example % 3 == at)) * 0.5;
        }
    }

    const EXAMPLES: Examples<fn(usize, &mut [f64])> =
        Examples { count: COUNT, dim: DIM, fill: numbers };

    fn labels(example: usize) -> Vec<u32> {
        (0..3).filter(|label| example.is_multiple_of(label + 2)).map(|label| label as u32).collect()
    }

    /// The scores of one example, one by one.
    fn scores(weights: &[f64], columns: usize, example: usize) -> Vec<f64> {
        let mut x = [1.0; DIM + 1];
        numbers(example, &mut x[..DIM]);
        let score = |column| (0..=DIM).map(|at| x[at] * weights[at * columns + column]).sum();
        (0..columns).map(score).collect()
    }

    /// Fails unless the objective, written down again, is flat at these weights.
    fn assert_flat(weights: &[f64], c: f64, loss: impl Fn(&[f64], usize) -> f64) {
        let columns = weights.len() / (DIM + 1);
        let objective = |weights: &[f64]| {
            let losses: f64 =
                (0..COUNT).map(|example| loss(&scores(weights, columns, example), example)).sum();
            let squares: f64 = weights[..DIM * columns].iter().map(|w| w * w).sum();
            (c * losses + 0.5 * squares) / (c * COUNT as f64)
        };
        for at in 0..weights.len() {
            let moved = |by: f64| {
                let mut weights = weights.to_vec();
                weights[at] += by;
                objective(&weights)
            };
            let slope = (moved(1e-4) - moved(-1e-4)) / 2e-4;
            assert!(slope.abs() < 1.1 * TOLERANCE, "weight {at}: slope {slope}");
        }
    }

    #[test]
    fn the_softmax_is_where_the_objective_is_flat() {
        let class: Vec<u32> = (0..COUNT as u32).map(|example| example % 3).collect();
        for c in [0.01, 1.0, 50.0] {
            let model = Logistic::softmax(&EXAMPLES, &class, 3, c);
            assert_flat(&model.weights, c, |scores, example| {
                let sum: f64 = scores.iter().map(|score| score.exp()).sum();
                sum.ln() - scores[class[example] as usize]
            });
        }
    }

    #[test]
    fn every_label_is_where_the_objective_is_flat() {
        let of: Vec<Vec<u32>> = (0..COUNT).map(labels).collect();
        let model = Logistic::labels(&EXAMPLES, &of, 3, 1.0);
        assert_flat(&model.weights, 1.0, |scores, example| {
            let loss = |(label, score): (u32, &f64)| {
                let sign = if of[example].contains(&label) { 1.0 } else { -1.0 };
                (1.0 + (-sign * score).exp()).ln()
            };
            (0..).zip(scores).map(loss).sum()
        });
        let found = model.scores(&EXAMPLES);
        for example in [0, 1, 255, 256, COUNT - 1] {
            let naive = scores(&model.weights, 3, example);
            let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
            assert!(found[example * 3..].iter().zip(&naive).all(near), "example {example}");
        }
    }

    #[test]
    fn labels_of_all_or_none_are_certain() {
        let of: Vec<Vec<u32>> = (0..COUNT).map(|_| vec![1]).collect();
        let scores = Logistic::labels(&EXAMPLES, &of, 2, 1.0).scores(&EXAMPLES);
        assert_eq!(scores[..2], [f64::NEG_INFINITY, f64::INFINITY]);
    }

    #[test]
    fn any_number_of_threads_gives_the_same() {
        let of: Vec<Vec<u32>> = (0..COUNT).map(labels).collect();
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Logistic::labels(&EXAMPLES, &of, 3, 1.0).weights)
        };
        let one = on(1);
        assert!((2..5).all(|threads| on(threads) == one));
    }
}
