//! Cross-entropy losses: from scores to residuals and losses, one tile of examples at a time.
//!
//! Loops run over the lanes of a tile, so that the compiler vectorises them; only the true labels are
//! looked up per example.

#![allow(clippy::inline_always, reason = "only inlined code is compiled for the instruction set")]

use super::products::{LANES, Lanes};
use crate::simd::{exp, ln};

/// A cross-entropy loss.
pub(super) trait Loss: Sync {
    /// Replaces the scores of `count` examples, from `first` on, by residuals, and adds to the
    /// `losses` of the columns; a loss common to all columns is added to the first. A tile may have
    /// more lanes than `count` and columns of zeros after the last.
    fn residuals(&self, first: usize, count: usize, scores: &mut [Lanes], losses: &mut [f64]);
}

/// Softmax loss: log Σₖ exp sₖ − s_y.
pub(super) struct SoftmaxLoss<'a> {
    /// The class of every example.
    pub(super) class: &'a [u32],
    pub(super) classes: usize,
}

/// Binary loss of each label: log(1 + exp s) − y s.
pub(super) struct LabelLoss<'a, L> {
    /// The labels of every example.
    pub(super) labels: &'a [L],
    /// The column of each label; `None` for labels that are not trained.
    pub(super) column: &'a [Option<usize>],
    /// The number of columns.
    pub(super) width: usize,
}

/// Smallest argument of exp: the result is 0 in single precision below it.
const LOWEST: f32 = -87.0;

impl Loss for SoftmaxLoss<'_> {
    #[inline(always)]
    fn residuals(&self, first: usize, count: usize, scores: &mut [Lanes], losses: &mut [f64]) {
        let scores = &mut scores[..self.classes];
        let class = &self.class[first..first + count];
        let mut largest = [f32::NEG_INFINITY; LANES];
        for scores in &*scores {
            for lane in 0..LANES {
                largest[lane] = largest[lane].max(scores[lane]);
            }
        }
        let mut true_score = [0.0; LANES];
        for (lane, &class) in class.iter().enumerate() {
            true_score[lane] = scores[class as usize][lane] - largest[lane];
        }
        let mut sums = [0.0; LANES];
        for scores in &mut *scores {
            for lane in 0..LANES {
                scores[lane] = exp((scores[lane] - largest[lane]).max(LOWEST));
                sums[lane] += scores[lane];
            }
        }
        let (mut cost, mut inverse) = ([0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            cost[lane] = ln(sums[lane]) - true_score[lane];
            inverse[lane] = 1.0 / sums[lane];
        }
        for scores in &mut *scores {
            for lane in 0..LANES {
                scores[lane] *= inverse[lane];
            }
        }
        for (lane, &class) in class.iter().enumerate() {
            scores[class as usize][lane] -= 1.0;
        }
        losses[0] += f64::from(sum(cost, count));
    }
}

impl<L: AsRef<[u32]> + Sync> Loss for LabelLoss<'_, L> {
    #[inline(always)]
    fn residuals(&self, first: usize, count: usize, scores: &mut [Lanes], losses: &mut [f64]) {
        let labels = &self.labels[first..first + count];
        let mut truths = Vec::new();
        for (lane, labels) in labels.iter().enumerate() {
            let columns = labels.as_ref().iter().filter_map(|&label| self.column[label as usize]);
            truths.extend(columns.map(|column| (lane, column)));
        }
        for &(lane, column) in &truths {
            losses[column] -= f64::from(scores[column][lane]);
        }
        for (scores, loss) in scores[..self.width].iter_mut().zip(losses) {
            let mut cost = [0.0; LANES];
            for lane in 0..LANES {
                // Without overflow: with e = exp(−|s|), σ(s) is 1 / (1 + e) or e / (1 + e).
                let score = scores[lane];
                let small = exp((-score.abs()).max(LOWEST));
                cost[lane] = score.max(0.0) + ln(1.0 + small);
                scores[lane] = if score >= 0.0 { 1.0 } else { small } / (1.0 + small);
            }
            *loss += f64::from(sum(cost, count));
        }
        for &(lane, column) in &truths {
            scores[column][lane] -= 1.0;
        }
    }
}

/// The sum of the first `count` lanes, pairwise.
#[inline(always)]
fn sum(mut lanes: Lanes, count: usize) -> f32 {
    lanes[count..].fill(0.0);
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    lanes[0]
}
