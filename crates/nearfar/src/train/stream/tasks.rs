//! Training tasks, each with the rows of two groups of blocks.

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::kernel::{Pair, PairRows, Step, train_pairs};
use super::sampling::EpochPairs;
use super::schedule::{Order, Scheduled, Stage, back_and_forth, levels};
use crate::error::Result;
use crate::simd::InstructionSet;

/// The pairs of a pass, or those of a stage, by the blocks of their two nodes.
pub(super) trait PairLists: Sync {
    /// The pairs with centres in block p and other nodes in block q, in contiguous parts.
    fn list(&self, p: usize, q: usize) -> impl Iterator<Item = &[Pair]>;
}

impl PairLists for EpochPairs {
    fn list(&self, p: usize, q: usize) -> impl Iterator<Item = &[Pair]> {
        Self::list(self, p, q)
    }
}

/// The rows of one block, of both tables.
#[derive(Default)]
pub(super) struct BlockRows<'a> {
    pub(super) centres: &'a mut [f32],
    pub(super) contexts: Option<&'a mut [f32]>,
}

/// The blocks of consecutive rows of one or two tables.
pub(super) fn blocks(tables: Vec<&mut [f32]>, size: usize) -> Vec<BlockRows<'_>> {
    let mut tables = tables.into_iter().map(|values| values.chunks_mut(size));
    let (centres, contexts) = (tables.next(), tables.next());
    let mut contexts = contexts.into_iter().flatten();
    let block = |centres| BlockRows { centres, contexts: contexts.next() };
    centres.into_iter().flatten().map(block).collect()
}

/// What tasks are trained with.
pub(super) struct Training<'a, L> {
    pub(super) set: InstructionSet,
    pub(super) dim: usize,
    pub(super) order: Order,
    pub(super) pairs: &'a L,
}

impl<L: PairLists> Training<'_, L> {
    /// Trains tasks, which are given in order; `step(done)` is the size of the steps after this
    /// fraction of the pass. `groups` are the blocks of each group, empty where no task needs them.
    /// `keep_going` is asked with the completed fraction of the tasks; if it says `Break`, they end there.
    /// Returns the sum of losses of each task.
    pub(super) fn run<'b>(
        &self,
        tasks: &[Scheduled],
        step: impl Fn(f64) -> Step,
        groups: &mut [&'b mut [BlockRows<'b>]],
        mut keep_going: impl FnMut(f64) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<(), Vec<f64>>> {
        let levels = levels(tasks.iter().map(|task| task.groups), groups.len());
        let mut losses = vec![0.0; tasks.len()];
        for (level, of_level) in levels.iter().enumerate() {
            if keep_going(level as f64 / levels.len() as f64)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            // Every task owns its blocks while it runs: threads share no row.
            let mut running: Vec<_> = of_level
                .iter()
                .map(|&at| {
                    let Scheduled { groups: (p, q), done } = tasks[at];
                    let task = BucketTask { training: self, step: step(done) };
                    let left = std::mem::take(&mut groups[p]);
                    (task, p, q, left, std::mem::take(&mut groups[q]))
                })
                .collect();
            let of_tasks: Vec<f64> = running
                .par_iter_mut()
                .map(|(task, p, q, left, right)| task.train((*p, *q), left, right))
                .collect();
            of_level.iter().zip(of_tasks).for_each(|(&at, loss)| losses[at] = loss);
            for (_, p, q, left, right) in running {
                groups[q] = right;
                groups[p] = left;
            }
        }
        Ok(ControlFlow::Continue(losses))
    }
}

/// The losses of a pass: the sum over the tasks of each row p with each part, in their order. So the total
/// is the same to the bit, whichever tasks run first.
pub(super) struct Losses {
    order: Order,
    sums: Vec<f64>,
}

impl Losses {
    pub(super) fn new(order: Order) -> Self {
        Self { order, sums: vec![0.0; order.groups() * order.parts()] }
    }

    /// Adds the losses of tasks, which are given in order.
    pub(super) fn add(&mut self, tasks: &[Scheduled], losses: &[f64]) {
        for (&Scheduled { groups: (p, q), .. }, loss) in tasks.iter().zip(losses) {
            self.sums[p * self.order.parts() + self.order.part_of(q)] += loss;
        }
    }

    /// The sums of the rows of a stage.
    pub(super) fn of_stage(&self, (a, b): Stage) -> impl Iterator<Item = f64> {
        self.order.groups_of(a).map(move |p| self.sums[p * self.order.parts() + b])
    }

    /// The sum over all rows, stage by stage.
    pub(super) fn total(&self) -> f64 {
        self.order.stages().flat_map(|stage| self.of_stage(stage)).fold(0.0, |sum, loss| sum + loss)
    }
}

/// Trains the pairs of blocks, which are given by their numbers.
struct BucketTask<'a, L> {
    training: &'a Training<'a, L>,
    step: Step,
}

impl<L: PairLists> BucketTask<'_, L> {
    /// All pairs within a group, or between two. Returns the sum of losses, as all of these do.
    fn train(
        &self,
        (p, q): (usize, usize),
        left: &mut [BlockRows],
        right: &mut [BlockRows],
    ) -> f64 {
        let group = self.training.order.group;
        if p == q {
            return self.within_group(p * group, left);
        }
        back_and_forth(left.len(), right.len())
            .map(|(l, r)| self.between((p * group + l, q * group + r), &mut left[l], &mut right[r]))
            .sum()
    }

    /// All pairs within a group of blocks, which begins with this one.
    fn within_group(&self, first: usize, group: &mut [BlockRows]) -> f64 {
        let mut loss = 0.0;
        for at in 0..group.len() {
            let (before, rest) = group.split_at_mut(at);
            loss += self.within(first + at, &mut rest[0]);
            for (other, block) in before.iter_mut().enumerate() {
                loss += self.between((first + other, first + at), block, &mut rest[0]);
            }
        }
        loss
    }

    /// The pairs within a block.
    fn within(&self, p: usize, block: &mut BlockRows) -> f64 {
        let &Training { set, dim, pairs, .. } = self.training;
        pairs.list(p, p).map(|pairs| train_pairs(set, block.alone(dim), pairs, self.step)).sum()
    }

    /// The pairs with centres in the first block and other nodes in the second, then the reverse.
    fn between(&self, (p, q): (usize, usize), left: &mut BlockRows, right: &mut BlockRows) -> f64 {
        let &Training { set, dim, pairs, .. } = self.training;
        let step = self.step;
        let there: f64 = pairs
            .list(p, q)
            .map(|pairs| train_pairs(set, left.with(right, dim), pairs, step))
            .sum();
        let back: f64 = pairs
            .list(q, p)
            .map(|pairs| train_pairs(set, right.with(left, dim), pairs, step))
            .sum();
        there + back
    }
}

impl BlockRows<'_> {
    /// Centres and other nodes both in this block.
    fn alone(&mut self, dim: usize) -> PairRows<'_> {
        PairRows { dim, centres: self.centres, others: self.contexts.as_deref_mut() }
    }

    /// Centres in this block, other nodes in another.
    fn with<'a>(&'a mut self, other: &'a mut BlockRows<'_>, dim: usize) -> PairRows<'a> {
        let others = other.contexts.as_deref_mut().unwrap_or(other.centres);
        PairRows { dim, centres: self.centres, others: Some(others) }
    }
}
