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
//! The search starts where W = 0 and b are the logarithms of the odds. There a label of which the
//! share q is true has the curvature (q (1 − q) XᵀX + I / C) / n, so its first step is Newton's,
//! and the curvature of later steps does not differ much: about ten passes over the examples
//! instead of twenty-five. Where classes are told apart well, as softmaxes do, the curvature
//! changes so much on the way that L-BFGS is as fast without.
//!
//! The labels of a node are independent problems; they are minimised side by side, a column of W
//! and R for each. Examples are cut into parts by their number alone, and sums are taken in the
//! order of the parts: the result is the same on any number of threads. Products are of 32 bits,
//! as those of scikit-learn on vectors of 32 bits; sums over parts and the search are of 64.

mod cholesky;
mod examples;
mod loss;
mod minimise;
mod pass;
mod products;

use rayon::prelude::*;

use cholesky::Cholesky;
pub(super) use examples::Examples;
use examples::Table;
use loss::{LabelLoss, SoftmaxLoss};
use minimise::Minimiser;
use pass::{gram, pass, scores};

/// A trained classifier: a score for each column from the numbers of an example.
pub(super) struct Logistic {
    columns: usize,
    /// dim × columns, then a row of intercepts.
    weights: Vec<f64>,
}

/// The search ends where no part of the gradient of E is above this, a tenth of what scikit-learn
/// takes for the end.
const TOLERANCE: f64 = 1e-5;

impl Logistic {
    /// Learns the one class of every example, of 0 to classes − 1, by the softmax.
    pub(super) fn softmax<F: Fn(usize, &mut [f32]) + Sync>(
        examples: &Examples<F>,
        class: &[u32],
        classes: usize,
        c: f64,
    ) -> Self {
        let table = Table::keep(examples);
        let mut counts = vec![0_usize; classes];
        for &class in class {
            counts[class as usize] += 1;
        }
        let mut start = vec![0.0; (examples.dim + 1) * classes];
        for (intercept, &count) in start[examples.dim * classes..].iter_mut().zip(&counts) {
            // Only ratios count; a class without examples is as good as one with half of one.
            *intercept = (count as f64).max(0.5).ln();
        }
        let mut search = Minimiser::new(start, TOLERANCE, None);
        let loss = SoftmaxLoss { class, classes };
        let pull = Pull { c, count: examples.count };
        loop {
            let (losses, mut gradient) = pass(&table, search.point(), classes, &loss);
            let values = pull.add(search.point(), classes, &losses, &mut gradient);
            if search.tell(values.iter().sum(), &gradient) {
                return Self { columns: classes, weights: search.point().to_vec() };
            }
        }
    }

    /// Learns for every label which examples have it, each by itself. `labels` are those of each
    /// example. A label that all examples have or none has the score ∞ or −∞ throughout.
    pub(super) fn labels<F: Fn(usize, &mut [f32]) + Sync, L: AsRef<[u32]> + Sync>(
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
        let table = Table::keep(examples);
        let gram = gram(&table, height);
        let pull = Pull { c, count: examples.count };
        let mut searches: Vec<(usize, Minimiser)> = (0..columns)
            .into_par_iter()
            .filter(|&label| having[label] > 0 && having[label] < examples.count)
            .map(|label| {
                let share = having[label] as f64 / examples.count as f64;
                let mut start = vec![0.0; height];
                start[examples.dim] = (share / (1.0 - share)).ln();
                let curvature = Cholesky::new(height, |row, column| {
                    let free = row != column || row == examples.dim;
                    share * (1.0 - share) * gram[row * height + column]
                        + if free { 0.0 } else { pull.strength() }
                });
                (label, Minimiser::new(start, TOLERANCE, curvature))
            })
            .collect();
        while !searches.is_empty() {
            let width = searches.len();
            let mut trial = vec![0.0; height * width];
            let mut place = vec![None; columns];
            for (column, (label, search)) in searches.iter().enumerate() {
                place[*label] = Some(column);
                put_column(&mut trial, width, column, search.point());
            }
            let loss = LabelLoss { labels, place: &place, width };
            let (losses, mut gradient) = pass(&table, &trial, width, &loss);
            let values = pull.add(&trial, width, &losses, &mut gradient);
            let done: Vec<bool> = searches
                .par_iter_mut()
                .enumerate()
                .map(|(column, (_, search))| {
                    let own: Vec<f64> = gradient[column..].iter().step_by(width).copied().collect();
                    search.tell(values[column], &own)
                })
                .collect();
            let mut done = done.into_iter();
            searches.retain(|(label, search)| {
                let done = done.next().unwrap_or(false);
                if done {
                    put_column(&mut weights, columns, *label, search.point());
                }
                !done
            });
        }
        Self { columns, weights }
    }

    /// The scores of examples, one row each.
    pub(super) fn scores<F: Fn(usize, &mut [f32]) + Sync>(
        &self,
        examples: &Examples<F>,
    ) -> Vec<f64> {
        scores(&Table::fleeting(examples), &self.weights, self.columns)
    }
}

/// The pull to zero, and the number of examples over which means are taken.
struct Pull {
    c: f64,
    count: usize,
}

impl Pull {
    fn strength(&self) -> f64 {
        1.0 / (self.c * self.count as f64)
    }

    /// Makes means of sums and adds the pull; returns the value of every column.
    fn add(
        &self,
        weights: &[f64],
        columns: usize,
        losses: &[f64],
        gradient: &mut [f64],
    ) -> Vec<f64> {
        let share = 1.0 / self.count as f64;
        let pull = self.strength();
        let mut values: Vec<f64> = losses.iter().map(|loss| loss * share).collect();
        for part in &mut *gradient {
            *part *= share;
        }
        // The last row are the intercepts.
        let inner = weights.len() - columns;
        let rows = weights[..inner].chunks(columns).zip(gradient.chunks_mut(columns));
        for (weights, gradient) in rows {
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
    fn numbers(example: usize, out: &mut [f32]) {
        let mut rng = Rng::new(5, Purpose::Repeat, 0, example as u64);
        for (at, out) in out.iter_mut().enumerate() {
            *out = (rng.unit() * 2.0 - 1.0) as f32 + f32::from(u8::from(example % 3 == at)) * 0.5;
        }
    }

    const EXAMPLES: Examples<fn(usize, &mut [f32])> =
        Examples { count: COUNT, dim: DIM, fill: numbers };

    fn labels(example: usize) -> Vec<u32> {
        (0..3).filter(|label| example.is_multiple_of(label + 2)).map(|label| label as u32).collect()
    }

    /// The scores of one example, one by one.
    fn scores(weights: &[f64], columns: usize, example: usize) -> Vec<f64> {
        let mut x = [1.0; DIM + 1];
        numbers(example, &mut x[..DIM]);
        let score =
            |column| (0..=DIM).map(|at| f64::from(x[at]) * weights[at * columns + column]).sum();
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
            let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-5;
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
