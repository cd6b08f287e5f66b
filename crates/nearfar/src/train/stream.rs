//! Training by sampled pairs: the fast trainer.
//!
//! An epoch has two halves. First every node takes its walks and draws its negatives, and the
//! pairs are sorted into buckets by the blocks of their two ends. Then the buckets are trained,
//! round by round ([`rounds`]). Each half runs on all threads, and neither depends on how many
//! there are: walks and negatives come from streams named by epoch and node, and the tasks of a
//! round share no row.
//!
//! A bucket is a list of runs, each one centre with the other ends of its pairs there:
//! `centre, near, far, others…`, where near and far count the others of each kind; rows are counted
//! from the start of their block, the near ones first.

use rayon::prelude::*;

use super::blocks::{Blocks, rounds};
use super::kernel::{Centre, Kernel, Run, Step};
use crate::graph::Node;
use crate::negative::NegativeSampler;
use crate::positive::PositiveSource;
use crate::rng::{Purpose, Rng};

/// What an epoch samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Walks from every node.
    pub walks: usize,
    /// Nodes in a window: a centre and those after it.
    pub context: usize,
    /// Negatives for every walk.
    pub negatives: usize,
    /// The seed.
    pub seed: u64,
}

/// The pairs of one epoch: `runs[p][q]` are those with their centres in block p and their other
/// ends in block q.
pub struct Pairs {
    runs: Vec<Vec<Vec<u32>>>,
    /// How many pairs there are.
    pub count: u64,
}

impl Pairs {
    /// Samples the pairs of an epoch for a table of n rows in blocks of `rows`, a power of two.
    pub fn sample(
        positives: &dyn PositiveSource,
        negatives: &dyn NegativeSampler,
        sampling: Sampling,
        epoch: u64,
        n: usize,
        rows: usize,
    ) -> Self {
        let blocks = n.div_ceil(rows);
        let sampled: Vec<(Vec<Vec<u32>>, u64)> = (0..blocks)
            .into_par_iter()
            .map(|block| {
                let mut sampler = Sampler::new(sampling, blocks, rows);
                for node in block * rows..((block + 1) * rows).min(n) {
                    sampler.node(positives, negatives, epoch, node as Node);
                }
                (sampler.runs, sampler.count)
            })
            .collect();
        let count = sampled.iter().map(|(_, count)| count).sum();
        Self { runs: sampled.into_iter().map(|(runs, _)| runs).collect(), count }
    }
}

/// Samples the pairs of one block's centres.
struct Sampler {
    sampling: Sampling,
    rows: usize,
    runs: Vec<Vec<u32>>,
    count: u64,
    walk: Vec<Node>,
    near: Vec<Node>,
    far: Vec<Node>,
    /// For each block, the other ends of one centre's pairs there.
    sorted: Vec<(Vec<u32>, Vec<u32>)>,
}

impl Sampler {
    fn new(sampling: Sampling, blocks: usize, rows: usize) -> Self {
        Self {
            sampling,
            rows,
            runs: vec![Vec::new(); blocks],
            count: 0,
            walk: vec![0; sampling.context],
            near: Vec::new(),
            far: vec![0; sampling.walks * sampling.negatives],
            sorted: vec![(Vec::new(), Vec::new()); blocks],
        }
    }

    fn node(
        &mut self,
        positives: &dyn PositiveSource,
        negatives: &dyn NegativeSampler,
        epoch: u64,
        centre: Node,
    ) {
        let seed = self.sampling.seed;
        let mut rng = Rng::new(seed, Purpose::Walk, epoch, u64::from(centre));
        self.near.clear();
        for _ in 0..self.sampling.walks {
            let length = positives.walk(centre, &mut rng, &mut self.walk);
            // A walk that comes back to its start says nothing about it.
            self.near.extend(self.walk[1..length].iter().filter(|&&node| node != centre));
        }
        let far = if negatives.has_negatives(centre) { self.far.len() } else { 0 };
        let mut rng = Rng::new(seed, Purpose::Negative, epoch, u64::from(centre));
        negatives.fill(centre, &mut rng, &mut self.far[..far]);
        // Blocks have a power of two of rows.
        let (shift, mask) = (self.rows.ilog2(), self.rows as Node - 1);
        for &node in &self.near {
            self.sorted[(node >> shift) as usize].0.push(node & mask);
        }
        for &node in &self.far[..far] {
            self.sorted[(node >> shift) as usize].1.push(node & mask);
        }
        self.count += (self.near.len() + far) as u64;
        for (runs, (near, far)) in self.runs.iter_mut().zip(&mut self.sorted) {
            if near.is_empty() && far.is_empty() {
                continue;
            }
            runs.push(centre & mask);
            runs.push(near.len() as u32);
            runs.push(far.len() as u32);
            runs.append(near);
            runs.append(far);
        }
    }
}

/// Trains all pairs of an epoch. `step(part)` is the size of the steps when this part of the epoch
/// is done. Returns the sum of losses.
pub fn train(
    kernel: Kernel,
    table: &mut Blocks,
    pairs: &Pairs,
    step: impl Fn(f64) -> Step + Sync,
) -> f64 {
    let rounds = rounds(table.blocks.len());
    let mut loss = 0.0;
    for (at, round) in rounds.iter().enumerate() {
        let step = step(at as f64 / rounds.len() as f64);
        // Every task owns its blocks while it runs: threads cannot meet.
        let tasks: Vec<_> = round
            .iter()
            .map(|&(p, q)| {
                let left = std::mem::take(&mut table.blocks[p]);
                let right = if p == q { vec![] } else { std::mem::take(&mut table.blocks[q]) };
                (p, q, left, right)
            })
            .collect();
        let dim = table.dim;
        let done: Vec<_> = tasks
            .into_par_iter()
            .map(|(p, q, mut left, mut right)| {
                let mut centre = Centre::new(dim);
                let loss = if p == q {
                    bucket(kernel, &pairs.runs[p][p], &mut left, None, &mut centre, step)
                } else {
                    let one = &pairs.runs[p][q];
                    let other = &pairs.runs[q][p];
                    bucket(kernel, one, &mut left, Some(&mut right), &mut centre, step)
                        + bucket(kernel, other, &mut right, Some(&mut left), &mut centre, step)
                };
                (p, q, left, right, loss)
            })
            .collect();
        for (p, q, left, right, part) in done {
            table.blocks[p] = left;
            if p != q {
                table.blocks[q] = right;
            }
            loss += part;
        }
    }
    loss
}

/// The most pairs that are trained before their centre moves.
const PIECE: usize = 16;

/// Trains the runs of a bucket. `others` is the block of the other ends, if that is another one.
fn bucket(
    kernel: Kernel,
    mut runs: &[u32],
    centres: &mut [f32],
    mut others: Option<&mut Vec<f32>>,
    centre: &mut Centre,
    step: Step,
) -> f64 {
    let dim = centre.row().len();
    let mut loss = 0.0;
    while let [row, near, far, rest @ ..] = runs {
        let (near, rest) = rest.split_at(*near as usize);
        let (far, rest) = rest.split_at(*far as usize);
        runs = rest;
        let next = match runs {
            [_, near, far, others @ ..] => &others[..(near + far) as usize],
            _ => &[],
        };
        let place = *row as usize * dim..(*row as usize + 1) * dim;
        centre.row().copy_from_slice(&centres[place.clone()]);
        let block: &mut [f32] = match &mut others {
            Some(others) => others,
            None => centres,
        };
        // All pairs of a run see the centre as it was before: long runs are taken in pieces.
        let pieces = (near.len() + far.len()).div_ceil(PIECE);
        for piece in 0..pieces {
            let part = |others: &'_ [u32]| {
                others.len() * piece / pieces..others.len() * (piece + 1) / pieces
            };
            let run = Run { near: &near[part(near)], far: &far[part(far)], next };
            loss += f64::from(kernel.train(centre, block, run, step));
        }
        centres[place].copy_from_slice(centre.row());
    }
    loss
}
