//! Logistic regression, with the objective of scikit-learn's `LogisticRegression`.
//!
//! # Derivation
//!
//! An example x has the scores s = Wᵀx + b, one per class. With cross entropy ℓ and n examples,
//!
//!   E(W, b) = (C Σ ℓ(sᵢ, yᵢ) + ½‖W‖²) / (C n),
//!
//! where the intercepts b are not regularised. For three classes or more ℓ is the softmax loss,
//! log Σₖ exp sₖ − s_y; two classes have one score and ℓ = log(1 + exp s) − y s, as has each label
//! of multi-label data. Either way ∂ℓ/∂s = p − y, the residual: predicted minus true probability.
//! So with the examples in the rows of X and their residuals in the rows of R,
//!
//!   S = X W + b,   ∂E/∂W = (Xᵀ R + W / C) / n,   ∂E/∂b = (1ᵀ R) / n.
//!
//! L-BFGS starts from W = 0 and the log odds b. There the Hessian of a label that a fraction q of the
//! examples has is (q (1 − q) XᵀX + I / C) / n. With it as initial Hessian the first step is
//! Newton's, and later Hessians differ little: about ten passes over the examples instead of
//! twenty-five. For the softmax the Hessian changes so much on the way that L-BFGS is as fast
//! without.
//!
//! The labels of a node are independent problems; they are minimised side by side, one column of W
//! and R each. Tasks depend only on the number of examples, and their sums are added in the order of
//! the tasks: the result is the same on any number of threads. Products are in single precision, as
//! in scikit-learn on float32; sums over tasks and L-BFGS are in double precision.

mod examples;
mod gradient;
mod lbfgs;
mod loss;
mod products;

use rayon::prelude::*;

pub(super) use examples::Examples;
use examples::TiledExamples;
use gradient::{gram, losses_and_gradient, scores};
use lbfgs::Lbfgs;
use loss::{LabelLoss, SoftmaxLoss};

use crate::matrix::Cholesky;

/// A trained classifier: one score per column.
pub(super) struct Logistic {
    columns: usize,
    /// dim × columns, then a row of intercepts.
    weights: Vec<f64>,
}

/// How a classifier is trained.
#[derive(Clone, Copy)]
pub(super) struct Training<'a> {
    /// Inverse L2 strength.
    pub(super) c: f64,
    /// The first weights: of a classifier of the same examples with another C. `None` starts from
    /// zero.
    pub(super) start: Option<&'a Logistic>,
}

impl Training<'_> {
    /// From zero.
    pub(super) fn new(c: f64) -> Self {
        Self { c, start: None }
    }
}

/// L-BFGS stops where the largest component of the gradient of E is at most this, a tenth of
/// scikit-learn's default.
const TOLERANCE: f64 = 1e-5;

impl Logistic {
    /// Trains a softmax on the class of every example, 0 to classes − 1.
    pub(super) fn softmax<F: Fn(usize, &mut [f32]) + Sync>(
        examples: &Examples<F>,
        class: &[u32],
        classes: usize,
        training: Training,
    ) -> Self {
        let tiled = TiledExamples::cached(examples);
        let start = training.start.map_or_else(
            || log_frequencies(class, classes, examples.dim),
            |start| start.weights.clone(),
        );
        let mut search = Lbfgs::new(start, TOLERANCE, None);
        let loss = SoftmaxLoss { class, classes };
        let penalty = L2Penalty { c: training.c, count: examples.count };
        loop {
            let (losses, mut gradient) =
                losses_and_gradient(&tiled, search.point(), classes, &loss);
            let values = penalty.add(search.point(), classes, &losses, &mut gradient);
            if search.advance(values.iter().sum(), &gradient) {
                return Self { columns: classes, weights: search.point().to_vec() };
            }
        }
    }

    /// Trains one binary classifier per label. `labels` holds the labels of each example. The score of
    /// a label that all examples have is ∞, of one that none has −∞.
    pub(super) fn labels<F: Fn(usize, &mut [f32]) + Sync, L: AsRef<[u32]> + Sync>(
        examples: &Examples<F>,
        labels: &[L],
        columns: usize,
        training: Training,
    ) -> Self {
        let height = examples.dim + 1;
        let mut positives = vec![0; columns];
        for &label in labels.iter().flat_map(AsRef::as_ref) {
            positives[label as usize] += 1;
        }
        let mut weights = vec![0.0; height * columns];
        for (constant, &positives) in weights[examples.dim * columns..].iter_mut().zip(&positives) {
            *constant = if positives == 0 { f64::NEG_INFINITY } else { f64::INFINITY };
        }
        let tiled = TiledExamples::cached(examples);
        let gram = gram(&tiled, height);
        let penalty = L2Penalty { c: training.c, count: examples.count };
        let mut searches: Vec<(usize, Lbfgs)> = (0..columns)
            .into_par_iter()
            .filter(|&label| positives[label] > 0 && positives[label] < examples.count)
            .map(|label| {
                let fraction = positives[label] as f64 / examples.count as f64;
                let start = if let Some(Self { weights, .. }) = training.start {
                    weights[label..].iter().step_by(columns).copied().collect()
                } else {
                    let mut start = vec![0.0; height];
                    start[examples.dim] = (fraction / (1.0 - fraction)).ln();
                    start
                };
                let hessian = Cholesky::new(height, |row, column| {
                    let penalised = row == column && row != examples.dim;
                    fraction * (1.0 - fraction) * gram[row * height + column]
                        + if penalised { penalty.strength() } else { 0.0 }
                });
                (label, Lbfgs::new(start, TOLERANCE, hessian))
            })
            .collect();
        while !searches.is_empty() {
            let width = searches.len();
            let mut trial = vec![0.0; height * width];
            let mut column_of = vec![None; columns];
            for (column, (label, search)) in searches.iter().enumerate() {
                column_of[*label] = Some(column);
                put_column(&mut trial, width, column, search.point());
            }
            let loss = LabelLoss { labels, column: &column_of, width };
            let (losses, mut gradient) = losses_and_gradient(&tiled, &trial, width, &loss);
            let values = penalty.add(&trial, width, &losses, &mut gradient);
            let done: Vec<bool> = searches
                .par_iter_mut()
                .enumerate()
                .map(|(column, (_, search))| {
                    let own: Vec<f64> = gradient[column..].iter().step_by(width).copied().collect();
                    search.advance(values[column], &own)
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

    /// The scores of examples, one row per example.
    pub(super) fn scores<F: Fn(usize, &mut [f32]) + Sync>(
        &self,
        examples: &Examples<F>,
    ) -> Vec<f64> {
        scores(&TiledExamples::streaming(examples), &self.weights, self.columns)
    }
}

/// L2 regularisation of the weights, and the number of examples.
struct L2Penalty {
    c: f64,
    count: usize,
}

impl L2Penalty {
    /// 1 / (C n).
    fn strength(&self) -> f64 {
        1.0 / (self.c * self.count as f64)
    }

    /// Turns sums over examples into means and adds the penalty; returns the value of every column.
    fn add(
        &self,
        weights: &[f64],
        columns: usize,
        losses: &[f64],
        gradient: &mut [f64],
    ) -> Vec<f64> {
        let scale = 1.0 / self.count as f64;
        let strength = self.strength();
        let mut values: Vec<f64> = losses.iter().map(|loss| loss * scale).collect();
        for component in &mut *gradient {
            *component *= scale;
        }
        // The last row holds the intercepts, which are not regularised.
        let penalised = weights.len() - columns;
        let rows = weights[..penalised].chunks(columns).zip(gradient.chunks_mut(columns));
        for (weights, gradient) in rows {
            for ((weight, gradient), value) in weights.iter().zip(gradient).zip(&mut values) {
                *gradient += strength * weight;
                *value += 0.5 * strength * weight * weight;
            }
        }
        values
    }
}

/// Weights of zero, with the logarithms of the class frequencies as intercepts.
fn log_frequencies(class: &[u32], classes: usize, dim: usize) -> Vec<f64> {
    let mut counts = vec![0_usize; classes];
    for &class in class {
        counts[class as usize] += 1;
    }
    let mut weights = vec![0.0; (dim + 1) * classes];
    for (intercept, &count) in weights[dim * classes..].iter_mut().zip(&counts) {
        // Only ratios matter; a class without examples counts as half an example.
        *intercept = (count as f64).max(0.5).ln();
    }
    weights
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

    /// Random features, with a higher mean where the feature belongs to the class.
    fn features(example: usize, out: &mut [f32]) {
        let mut rng = Rng::new(5, Purpose::Repeat, 0, example as u64);
        for (at, out) in out.iter_mut().enumerate() {
            *out = (rng.unit() * 2.0 - 1.0) as f32 + f32::from(u8::from(example % 3 == at)) * 0.5;
        }
    }

    const EXAMPLES: Examples<fn(usize, &mut [f32])> =
        Examples { count: COUNT, dim: DIM, fill: features };

    fn labels(example: usize) -> Vec<u32> {
        (0..3).filter(|label| example.is_multiple_of(label + 2)).map(|label| label as u32).collect()
    }

    /// The scores of one example, computed naively.
    fn scores(weights: &[f64], columns: usize, example: usize) -> Vec<f64> {
        let mut x = [1.0; DIM + 1];
        features(example, &mut x[..DIM]);
        let score =
            |column| (0..=DIM).map(|at| f64::from(x[at]) * weights[at * columns + column]).sum();
        (0..columns).map(score).collect()
    }

    /// Checks that the numerical gradient of a naive objective vanishes at these weights.
    fn assert_stationary(weights: &[f64], c: f64, loss: impl Fn(&[f64], usize) -> f64) {
        let columns = weights.len() / (DIM + 1);
        let objective = |weights: &[f64]| {
            let losses: f64 =
                (0..COUNT).map(|example| loss(&scores(weights, columns, example), example)).sum();
            let squares: f64 = weights[..DIM * columns].iter().map(|w| w * w).sum();
            (c * losses + 0.5 * squares) / (c * COUNT as f64)
        };
        for at in 0..weights.len() {
            let shifted = |by: f64| {
                let mut weights = weights.to_vec();
                weights[at] += by;
                objective(&weights)
            };
            let slope = (shifted(1e-4) - shifted(-1e-4)) / 2e-4;
            assert!(slope.abs() < 1.1 * TOLERANCE, "weight {at}: slope {slope}");
        }
    }

    #[test]
    fn the_softmax_is_a_stationary_point() {
        let class: Vec<u32> = (0..COUNT as u32).map(|example| example % 3).collect();
        for c in [0.01, 1.0, 50.0] {
            let model = Logistic::softmax(&EXAMPLES, &class, 3, Training::new(c));
            assert_stationary(&model.weights, c, |scores, example| {
                let sum: f64 = scores.iter().map(|score| score.exp()).sum();
                sum.ln() - scores[class[example] as usize]
            });
        }
    }

    #[test]
    fn other_starts_have_the_same_end() {
        let class: Vec<u32> = (0..COUNT as u32).map(|example| example % 3).collect();
        let of: Vec<Vec<u32>> = (0..COUNT).map(labels).collect();
        let train: [&dyn Fn(Training) -> Logistic; 2] =
            [&|training| Logistic::softmax(&EXAMPLES, &class, 3, training), &|training| {
                Logistic::labels(&EXAMPLES, &of, 3, training)
            }];
        for train in train {
            let first = train(Training::new(0.01));
            let from_zero = train(Training::new(1.0));
            let from_first = train(Training { c: 1.0, start: Some(&first) });
            let pairs = from_zero.scores(&EXAMPLES).into_iter().zip(from_first.scores(&EXAMPLES));
            assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 2e-3));
        }
    }

    #[test]
    fn every_label_is_a_stationary_point() {
        let of: Vec<Vec<u32>> = (0..COUNT).map(labels).collect();
        let model = Logistic::labels(&EXAMPLES, &of, 3, Training::new(1.0));
        assert_stationary(&model.weights, 1.0, |scores, example| {
            let loss = |(label, score): (u32, &f64)| {
                let sign = if of[example].contains(&label) { 1.0 } else { -1.0 };
                (1.0 + (-sign * score).exp()).ln()
            };
            (0..).zip(scores).map(loss).sum()
        });
        let found = model.scores(&EXAMPLES);
        for example in [0, 1, 255, 256, COUNT - 1] {
            let naive = scores(&model.weights, 3, example);
            let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-5;
            assert!(found[example * 3..].iter().zip(&naive).all(close), "example {example}");
        }
    }

    #[test]
    fn labels_of_all_or_no_examples_have_infinite_scores() {
        let of: Vec<Vec<u32>> = (0..COUNT).map(|_| vec![1]).collect();
        let scores = Logistic::labels(&EXAMPLES, &of, 2, Training::new(1.0)).scores(&EXAMPLES);
        assert_eq!(scores[..2], [f64::NEG_INFINITY, f64::INFINITY]);
    }

    #[test]
    fn weights_do_not_depend_on_the_number_of_threads() {
        let of: Vec<Vec<u32>> = (0..COUNT).map(labels).collect();
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Logistic::labels(&EXAMPLES, &of, 3, Training::new(1.0)).weights)
        };
        let one = on(1);
        assert!((2..5).all(|threads| on(threads) == one));
    }
}
