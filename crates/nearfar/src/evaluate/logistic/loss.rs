//! How wrong scores are: from scores to residuals and losses, a tile of examples at a time.
//!
//! Every line is a loop over the lanes of a tile, which compilers turn into vector code; only the
//! truth is looked up example by example.

#![allow(clippy::inline_always, reason = "what is not inlined is not compiled for the set")]

use super::products::{LANES, Lanes};
use crate::simd::{exp, ln};

/// A cross entropy.
pub(super) trait Loss: Sync {
    /// Turns the scores of `count` examples, from `first` on, into residuals, and adds to the
    /// losses of columns; one for all of them counts as that of the first. There may be more lanes than examples, and columns of zeros after the last.
    fn residuals(&self, first: usize, count: usize, scores: &mut [Lanes], losses: &mut [f64]);
}

/// Of the softmax: log Σₖ exp sₖ − s_y.
pub(super) struct SoftmaxLoss<'a> {
    /// The class of every example.
    pub(super) class: &'a [u32],
    pub(super) classes: usize,
}

/// Of several labels, each by itself: log(1 + exp s) − y s.
pub(super) struct LabelLoss<'a, L> {
    /// The labels of every example.
    pub(super) labels: &'a [L],
    /// The column of every label that has one.
    pub(super) place: &'a [Option<usize>],
    /// The number of columns.
    pub(super) width: usize,
}

/// Below this exp is as good as zero.
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
        let mut of_truth = [0.0; LANES];
        for (lane, &class) in class.iter().enumerate() {
            of_truth[lane] = scores[class as usize][lane] - largest[lane];
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
            cost[lane] = ln(sums[lane]) - of_truth[lane];
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
            let columns = labels.as_ref().iter().filter_map(|&label| self.place[label as usize]);
            truths.extend(columns.map(|column| (lane, column)));
        }
        for &(lane, column) in &truths {
            losses[column] -= f64::from(scores[column][lane]);
        }
        for (scores, loss) in scores[..self.width].iter_mut().zip(losses) {
            let mut cost = [0.0; LANES];
            for lane in 0..LANES {
                // Without overflow: with e = exp(−|s|), σ(s) is 1 or e over 1 + e.
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

/// The sum of the first lanes, by halves.
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
