//! The stream trainer, slow and obvious: what the fast one must agree with.
//!
//! It takes the same walks and negatives, by the names of their random streams, and trains the pairs
//! in the same order: tasks of blocks, the pairs of two blocks by centre, [`PIECE`] at a time with
//! the errors of the vectors before them. There are no buckets, threads, vector instructions or
//! approximations of functions: plain loops over one list of pairs, in double precision.

use std::sync::Arc;

use super::blocks::Blocks;
use super::schedule::{Order, back_and_forth};
use crate::graph::{Graph, Node};
use crate::negative::NegativeSampler;
use crate::positive::PositiveSource;
use crate::rng::{Purpose, Rng};
use crate::simd::{LANES, PIECE};
use crate::train::TrainPlan;
use crate::train::start;

/// A pair of nodes, and whether it is positive.
type Pair = (Node, Node, bool);

/// Trains with a constant λ. Returns the vectors row by row and the mean loss of
/// the last epoch.
pub fn train(
    plan: &TrainPlan,
    lambda: f64,
    graph: &Arc<Graph>,
    positives: &dyn PositiveSource,
    negatives: &dyn NegativeSampler,
) -> (Vec<f64>, f64) {
    let (n, dim) = (graph.nodes(), plan.dim);
    let mut start = vec![0.0; n * dim];
    start::start(plan, graph, dim, &mut start);
    let mut vectors: Vec<f64> = start.into_iter().map(f64::from).collect();
    let rows = Blocks::rows_for(n, dim.next_multiple_of(LANES));
    let order = tasks(n.div_ceil(rows), plan.parts);
    let mut mean_loss = 0.0;
    for epoch in 0..plan.epochs {
        let (mut loss, mut count) = (0.0, 0);
        for pass in 0..plan.passes {
            let walks = plan.walks / plan.passes + usize::from(pass < plan.walks % plan.passes);
            let number = epoch * plan.passes + pass;
            let pairs = sample(plan, walks, number as u64, n, positives, negatives);
            let between = |p: usize, q: usize| -> Vec<Pair> {
                let block = |node: Node| node as usize / rows;
                let of = |pair: &&Pair| block(pair.0) == p && block(pair.1) == q;
                pairs.iter().filter(of).copied().collect()
            };
            for (done, blocks) in &order {
                let passes = number as f64 + done;
                let step = Step::new(plan, lambda, passes / (plan.epochs * plan.passes) as f64);
                for &(p, q) in blocks {
                    loss += step.list(&between(p, q), dim, &mut vectors);
                    if p != q {
                        loss += step.list(&between(q, p), dim, &mut vectors);
                    }
                }
            }
            count += pairs.len();
        }
        mean_loss = loss / count as f64;
    }
    (vectors, mean_loss)
}

/// The pairs of a pass by centre: the contexts of each window, then its negatives.
fn sample(
    plan: &TrainPlan,
    walks: usize,
    pass: u64,
    nodes: usize,
    positives: &dyn PositiveSource,
    negatives: &dyn NegativeSampler,
) -> Vec<Pair> {
    let mut windows: Vec<Vec<Node>> = Vec::new();
    for start in 0..nodes as Node {
        let mut rng = Rng::new(plan.seed, Purpose::Walk, pass, u64::from(start));
        for _ in 0..positives.walks_from(start, walks, &mut rng) {
            let mut walk = vec![0; plan.length];
            positives.walks(&[start], &mut [rng.split()], &mut walk);
            windows.extend(walk.windows(plan.window).map(<[Node]>::to_vec));
        }
    }
    windows.sort_by_key(|window| window[0]);
    let mut pairs = Vec::new();
    for of_centre in windows.chunk_by(|a, b| a[0] == b[0]) {
        let centre = of_centre[0][0];
        let k = if negatives.has_negatives(centre) { plan.k } else { 0 };
        let mut drawn = vec![0; of_centre.len() * k];
        let mut rng = Rng::new(plan.seed, Purpose::Negative, pass, u64::from(centre));
        negatives.fill(centre, &mut rng, &mut drawn);
        for (at, window) in of_centre.iter().enumerate() {
            let steps = window.windows(2).filter(|step| step[1] != centre && step[1] != step[0]);
            pairs.extend(steps.map(|step| (centre, step[1], true)));
            pairs.extend(drawn[at * k..][..k].iter().map(|&node| (centre, node, false)));
        }
    }
    pairs
}

/// The pairs of blocks that each task trains, in order, with the fraction of the pass before it.
fn tasks(blocks: usize, parts: usize) -> Vec<(f64, Vec<(usize, usize)>)> {
    let order = Order::new(blocks, parts);
    let size = order.group;
    let group = |at: usize| (at * size..blocks.min((at + 1) * size)).collect::<Vec<_>>();
    let task = |(p, q): (usize, usize)| -> Vec<(usize, usize)> {
        let (left, right) = (group(p), group(q));
        if p == q {
            let with_earlier = |&block: &usize| {
                let earlier = left.iter().take_while(move |&&other| other < block);
                std::iter::once((block, block)).chain(earlier.map(move |&other| (other, block)))
            };
            return left.iter().flat_map(with_earlier).collect();
        }
        back_and_forth(left.len(), right.len()).map(|(l, r)| (left[l], right[r])).collect()
    };
    order.tasks().iter().map(|scheduled| (scheduled.done, task(scheduled.groups))).collect()
}

/// The sizes of an SGD step.
struct Step {
    positive: f64,
    negative: f64,
    /// What the centre is multiplied with for each negative pair.
    shrink: f64,
}

impl Step {
    fn new(plan: &TrainPlan, lambda: f64, done: f64) -> Self {
        let rate = plan.lr * (1.0 - done);
        let negative = rate / plan.k as f64;
        Self {
            positive: rate / (plan.window - 1) as f64,
            negative: negative * plan.negative_weight,
            shrink: 1.0 - negative * lambda,
        }
    }

    /// Trains a list of pairs, and returns the sum of their losses.
    fn list(&self, pairs: &[Pair], dim: usize, vectors: &mut [f64]) -> f64 {
        pairs.chunks(PIECE).map(|piece| self.piece(piece, dim, vectors)).sum()
    }

    /// Trains some pairs with the errors of the vectors before them. The other node of a pair sees
    /// the centre as it was before the first of its consecutive pairs.
    fn piece(&self, pairs: &[Pair], dim: usize, vectors: &mut [f64]) -> f64 {
        let row = |node: Node| node as usize * dim..(node as usize + 1) * dim;
        let mut loss = 0.0;
        let mut gradient = Vec::new();
        for &(centre, other, positive) in pairs {
            let (a, b) = (&vectors[row(centre)], &vectors[row(other)]);
            let product: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
            let x = if positive { product } else { -product };
            let rate = if positive { self.positive } else { -self.negative };
            gradient.push(rate / (1.0 + x.exp()));
            loss += (-x).exp().ln_1p();
        }
        let mut at = 0;
        for of_centre in pairs.chunk_by(|a, b| a.0 == b.0) {
            let centre = of_centre[0].0;
            let before = vectors[row(centre)].to_vec();
            let (mut after, mut shrink) = (before.clone(), 1.0);
            for &(_, other, positive) in of_centre {
                let g = gradient[at];
                at += 1;
                shrink *= if positive { 1.0 } else { self.shrink };
                for (k, value) in vectors[row(other)].iter_mut().enumerate() {
                    after[k] += g * *value;
                    *value += g * before[k];
                }
            }
            let scaled = after.iter().map(|value| value * shrink);
            vectors[row(centre)].iter_mut().zip(scaled).for_each(|(value, new)| *value = new);
        }
        loss
    }
}
