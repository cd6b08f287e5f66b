//! The stream trainer: SGD on sampled pairs.
//!
//! An epoch is cut into passes, so that the pairs of a pass fit memory. A pass has two halves. First
//! its pairs are sampled and sorted into buckets ([`EpochPairs`]). Then the buckets are trained, round
//! by round ([`rounds`]): the tasks of a round share no row, so they run in parallel, and the result
//! does not depend on the number of threads. [`mod@reference`] is the same algorithm, slow and obvious.

pub mod blocks;
pub mod buckets;
pub mod kernel;
mod memory;
mod negatives_ahead;
pub mod reference;
pub mod sampling;
pub mod schedule;
mod windows;

use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::prelude::*;

use super::backend::{Backend, EpochStats, KeepGoing, Task, VectorView};
use super::given::initial;
use super::l2::L2Controller;
use super::plan::TrainPlan;
use crate::embedding::Embedding;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::negative::NegativeSampler;
use crate::positive::PositiveSource;
use crate::simd::{InstructionSet, LANES};
use blocks::Blocks;
use kernel::{PairRows, Step, train_pairs};
pub(super) use memory::{bytes, bytes_ahead, passes, passes_ahead};
use sampling::{EpochPairs, PairSources, Sampling};
use schedule::{back_and_forth, group_size, rounds};

/// What is trained: a vector for every node and, in second-order models, another one for the node
/// as a context.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables {
    /// The vectors.
    pub centres: Blocks,
    /// The context vectors; `None` if nodes have one vector for both.
    pub contexts: Option<Blocks>,
}

/// The rows of one block, of both tables.
#[derive(Default)]
struct BlockRows<'a> {
    centres: &'a mut [f32],
    contexts: Option<&'a mut [f32]>,
}

/// The trainer.
pub(super) struct Stream<'a> {
    plan: &'a TrainPlan,
    set: InstructionSet,
    sampling: Sampling,
    positives: Box<dyn PositiveSource>,
    negatives: &'a dyn NegativeSampler,
    nodes: usize,
    passes: usize,
    tables: Tables,
    /// The pairs of the last pass, whose buffers the next one reuses.
    pairs: EpochPairs,
    l2: L2Controller,
}

impl<'a> Stream<'a> {
    pub(super) fn new(task: Task<'a>) -> Self {
        let Task { plan, graph, positives, negatives, instruction_set: set, init, .. } = task;
        let sampling = Sampling {
            walks: plan.walks,
            length: plan.length,
            context: plan.window,
            negatives: plan.k,
            ahead: if negatives.prefers_batches() { plan.passes_ahead } else { 1 },
            seed: plan.seed,
        };
        let nodes = graph.nodes();
        let tables = tables(graph, plan, init);
        let l2 = L2Controller::new(plan.l2, graph, plan.dim, plan.kernel);
        let pairs = EpochPairs::new(nodes, tables.centres.rows);
        let passes = plan.passes;
        Self { plan, set, sampling, positives, negatives, nodes, passes, tables, pairs, l2 }
    }
}

impl Backend for Stream<'_> {
    fn epoch(
        &mut self,
        epoch: usize,
        keep_going: &mut KeepGoing<'_>,
    ) -> Result<ControlFlow<(), EpochStats>> {
        let (plan, n, epochs) = (self.plan, self.nodes, self.plan.epochs);
        let rows = self.tables.centres.rows;
        let sources =
            PairSources { positives: &*self.positives, negatives: self.negatives, nodes: n, rows };
        let pairs = &mut self.pairs;
        let (passes, l2, (mut count, mut loss)) = (self.passes, self.l2.lambda, (0, 0.0));
        for pass in 0..passes {
            let done = |within: f64| (pass as f64 + within) / passes as f64;
            let walks = self.sampling.walks / passes;
            let more = usize::from(pass < self.sampling.walks % passes);
            let number = epoch * passes + pass;
            let ahead = self.sampling.ahead.min(epochs * passes - number);
            let sampling = Sampling { walks: walks + more, ahead, ..self.sampling };
            let number = number as u64;
            let sampled =
                pairs.sample(sources, sampling, number, |within| keep_going(done(within)));
            if sampled?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            let (from, to) = pairs.fractions(number);
            let step = |within: f64| plan.step(l2, (epoch as f64 + done(within)) / epochs as f64);
            let trained = train(self.set, &mut self.tables, pairs, step, |part| {
                keep_going(done(from + part * (to - from)))
            })?;
            let ControlFlow::Continue(sum) = trained else { return Ok(ControlFlow::Break(())) };
            (count, loss) = (count + pairs.count, loss + sum);
        }
        let effective_rank = self.l2.after(epoch, epochs, self.tables.centres.iter(), plan.dim);
        let loss = loss / (count as f64).max(1.0);
        Ok(ControlFlow::Continue(EpochStats { pairs: count, loss, l2, effective_rank }))
    }

    fn vectors(&self) -> VectorView<'_> {
        let centres = &self.tables.centres;
        VectorView { values: centres.values(), dim: self.plan.dim, stride: centres.dim }
    }

    /// The state of the L2 controller, then the context vectors.
    fn state(&self) -> Option<Vec<u8>> {
        let contexts = self.tables.contexts.as_ref().map_or(&[][..], Blocks::values);
        let numbers = self.l2.state().into_iter().flat_map(f64::to_le_bytes);
        Some(numbers.chain(contexts.iter().flat_map(|value| value.to_le_bytes())).collect())
    }

    fn restore(&mut self, vectors: &[f32], state: &[u8]) -> Result<()> {
        let dim = self.plan.dim;
        let (numbers, contexts) = state.split_at(state.len().min(32));
        let values = self.tables.contexts.as_mut().map_or(&mut [][..], Blocks::values_mut);
        let numbers = <[[u8; 8]; 4]>::try_from(numbers.as_chunks().0);
        let (Ok(numbers), true, true) =
            (numbers, vectors.len() == self.nodes * dim, contexts.len() == 4 * values.len())
        else {
            return Err(Error::conflict("the checkpoint is of another graph or of other settings"));
        };
        for (value, bytes) in values.iter_mut().zip(contexts.as_chunks().0) {
            *value = f32::from_le_bytes(*bytes);
        }
        let finite = vectors.iter().chain(&*values).all(|value| value.is_finite());
        let restored = self.l2.restore(numbers.map(f64::from_le_bytes));
        if !finite || restored.is_none() {
            let message = "the checkpoint holds numbers that no run can have";
            return Err(Error::conflict(message));
        }
        let stride = self.tables.centres.dim;
        let rows = self.tables.centres.values_mut().chunks_exact_mut(stride);
        rows.zip(vectors.chunks_exact(dim))
            .for_each(|(row, vector)| row[..dim].copy_from_slice(vector));
        Ok(())
    }

    fn into_vectors(self: Box<Self>) -> Vec<f32> {
        self.tables.centres.into_rows(self.plan.dim)
    }

    fn into_both(self: Box<Self>) -> (Vec<f32>, Option<Vec<f32>>) {
        let (Tables { centres, contexts }, dim) = (self.tables, self.plan.dim);
        (centres.into_rows(dim), contexts.map(|contexts| contexts.into_rows(dim)))
    }
}

/// Initial vectors, padded with zeros, which training leaves unchanged. Context vectors start
/// at zero.
fn tables(graph: &Arc<Graph>, plan: &TrainPlan, init: Option<&Embedding>) -> Tables {
    let n = graph.nodes();
    let padded = plan.dim.next_multiple_of(LANES);
    let rows = Blocks::rows_for(n, padded);
    let mut centres = Blocks::new(n, rows, padded);
    initial(plan, graph, init, padded, centres.values_mut());
    Tables { centres, contexts: (plan.order == 2).then(|| Blocks::new(n, rows, padded)) }
}

/// Trains all pairs of a pass. `step(part)` is the size of the steps after this fraction of the pass.
/// `keep_going` is asked between rounds; if it says `Break`, the pass ends there. Returns the sum of
/// losses.
pub fn train(
    set: InstructionSet,
    tables: &mut Tables,
    pairs: &EpochPairs,
    step: impl Fn(f64) -> Step + Sync,
    mut keep_going: impl FnMut(f64) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<(), f64>> {
    let count = tables.centres.count();
    let group = group_size(count);
    let rounds = rounds(count.div_ceil(group));
    let dim = tables.centres.dim;
    let mut blocks: Vec<BlockRows> =
        tables.centres.blocks().map(|centres| BlockRows { centres, contexts: None }).collect();
    if let Some(contexts) = &mut tables.contexts {
        blocks
            .iter_mut()
            .zip(contexts.blocks())
            .for_each(|(block, rows)| block.contexts = Some(rows));
    }
    let mut groups: Vec<&mut [BlockRows]> = blocks.chunks_mut(group).collect();
    let mut loss = 0.0;
    for (at, round) in rounds.iter().enumerate() {
        let part = at as f64 / rounds.len() as f64;
        if keep_going(part)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let step = step(part);
        // Every task owns its blocks while it runs: threads share no row.
        let mut tasks: Vec<_> = round
            .iter()
            .map(|&(p, q)| {
                let left = std::mem::take(&mut groups[p]);
                (p, q, left, std::mem::take(&mut groups[q]))
            })
            .collect();
        let train =
            |(p, q, left, right): &mut (usize, usize, &mut [BlockRows], &mut [BlockRows])| {
                let task = BucketTask { set, dim, pairs, step };
                if p == q {
                    task.within_group(*p * group, left)
                } else {
                    task.between_groups((*p * group, *q * group), left, right)
                }
            };
        let losses: Vec<f64> = tasks.par_iter_mut().map(train).collect();
        loss += losses.iter().sum::<f64>();
        for (p, q, left, right) in tasks {
            groups[q] = right;
            groups[p] = left;
        }
    }
    Ok(ControlFlow::Continue(loss))
}

/// Trains the pairs of blocks, which are given by their numbers.
#[derive(Clone, Copy)]
struct BucketTask<'a> {
    set: InstructionSet,
    dim: usize,
    pairs: &'a EpochPairs,
    step: Step,
}

impl BucketTask<'_> {
    /// All pairs within a group of blocks, which begins with this one. Returns the sum of losses, as
    /// all of these do.
    fn within_group(self, first: usize, group: &mut [BlockRows]) -> f64 {
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

    /// All pairs between two groups, which begin with these blocks.
    fn between_groups(
        self,
        (p, q): (usize, usize),
        left: &mut [BlockRows],
        right: &mut [BlockRows],
    ) -> f64 {
        back_and_forth(left.len(), right.len())
            .map(|(l, r)| self.between((p + l, q + r), &mut left[l], &mut right[r]))
            .sum()
    }

    /// The pairs within a block.
    fn within(self, p: usize, block: &mut BlockRows) -> f64 {
        let lists = self.pairs.buckets[p].list(p);
        lists.map(|pairs| train_pairs(self.set, block.alone(self.dim), pairs, self.step)).sum()
    }

    /// The pairs with centres in the first block and other nodes in the second, then the reverse.
    fn between(self, (p, q): (usize, usize), left: &mut BlockRows, right: &mut BlockRows) -> f64 {
        let Self { set, dim, pairs, step } = self;
        let there = pairs.buckets[p].list(q);
        let there: f64 =
            there.map(|pairs| train_pairs(set, left.with(right, dim), pairs, step)).sum();
        let back = pairs.buckets[q].list(p);
        let back: f64 =
            back.map(|pairs| train_pairs(set, right.with(left, dim), pairs, step)).sum();
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

#[cfg(test)]
mod tests {
    use super::super::config::TrainConfig;
    use super::super::settings::Settings;
    use super::*;
    use crate::budget::Budget;
    use crate::graph::{EdgeList, NodeIds, ReadOptions, read};
    use crate::negative::{NegativeConfig, Negatives};
    use crate::positive::Walk;

    fn plan(graph: &Arc<Graph>, train: TrainConfig) -> TrainPlan {
        let negatives = NegativeConfig { negatives: Negatives::Uniform, ..Default::default() };
        TrainPlan::new(&Settings { train, negatives }, graph, &Budget::default()).unwrap()
    }

    #[test]
    fn an_epoch_in_passes_is_as_many_short_ones() {
        let graph = Arc::new(read("builtin:karate", &ReadOptions::default()).unwrap().graph);
        let plan = plan(&graph, TrainConfig { dim: 16, walks: Some(6), ..Default::default() });
        let negatives = plan.negatives.build(&graph).unwrap();
        let stream = || {
            Stream::new(Task {
                plan: &plan,
                graph: &graph,
                positives: Box::new(Walk::new(&graph)),
                negatives: &*negatives,
                encoder: None,
                instruction_set: InstructionSet::detect(),
                init: None,
                features: None,
            })
        };
        // Six walks in four passes are 2 + 2 + 1 + 1.
        let mut in_passes = Stream { passes: 4, ..stream() };
        let mut progress = vec![];
        let done = in_passes.epoch(0, &mut |part| {
            progress.push(part);
            Ok(ControlFlow::Continue(()))
        });
        let ControlFlow::Continue(done) = done.unwrap() else { panic!("nothing stops it") };
        assert!(progress.is_sorted() && progress.iter().all(|part| (0.0..1.0).contains(part)));
        let mut one_by_one = stream();
        let positives = Walk::new(&graph);
        let (nodes, rows) = (graph.nodes(), one_by_one.tables.centres.rows);
        let sources = PairSources { positives: &positives, negatives: &*negatives, nodes, rows };
        let mut count = 0;
        for (pass, walks) in [2, 2, 1, 1].into_iter().enumerate() {
            let sampling = Sampling { walks, ..one_by_one.sampling };
            let keep_going = |_| Ok(ControlFlow::Continue(()));
            let pairs = &mut one_by_one.pairs;
            let sampled = pairs.sample(sources, sampling, pass as u64, keep_going);
            assert!(sampled.unwrap().is_continue());
            count += pairs.count;
            let step = |within: f64| {
                let done = (pass as f64 + within) / 4.0 / plan.epochs as f64;
                plan.step(one_by_one.l2.lambda, done)
            };
            let trained = train(one_by_one.set, &mut one_by_one.tables, pairs, step, keep_going);
            assert!(trained.unwrap().is_continue());
        }
        assert_eq!(done.pairs, count);
        assert!(count > 34 * 6 * 10, "every window has its negatives");
        assert_eq!(in_passes.tables.centres.values(), one_by_one.tables.centres.values());
    }

    #[test]
    fn groups_of_blocks_train_every_pair_once_on_any_threads() {
        const DIM: usize = 16;
        let nodes = 203;
        let pairs = (0..nodes as u32).map(|node| (node, (node + 1) % nodes as u32)).collect();
        let ids = NodeIds::Range { start: 0, len: nodes };
        let graph = Arc::new(EdgeList { pairs, weights: None, ids }.build().unwrap().0);
        let plan = plan(&graph, TrainConfig { dim: DIM, ..Default::default() });
        let (negatives, positives) = (plan.negatives.build(&graph).unwrap(), Walk::new(&graph));
        let rows = 3;
        assert_eq!(group_size(nodes.div_ceil(rows)), 3, "the last group has fewer");
        let sources = PairSources { positives: &positives, negatives: &*negatives, nodes, rows };
        let sampling =
            Sampling { walks: 5, length: 5, context: 5, negatives: 10, ahead: 1, seed: 0 };
        let keep_going = |_| Ok(ControlFlow::Continue(()));
        let mut pairs = EpochPairs::new(nodes, rows);
        assert!(pairs.sample(sources, sampling, 0, keep_going).unwrap().is_continue());
        let mut start = Tables { centres: Blocks::new(nodes, rows, DIM), contexts: None };
        initial(&plan, &graph, None, DIM, start.centres.values_mut());
        let trained = |threads: usize, step: Step| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut tables = start.clone();
            let set = InstructionSet::detect();
            let train = || train(set, &mut tables, &pairs, |_| step, keep_going);
            let ControlFlow::Continue(loss) = pool.install(train).unwrap() else {
                panic!("nothing stops it")
            };
            (tables.centres.values().to_vec(), loss)
        };

        // With steps of size zero, the loss is that of all pairs.
        let still = Step { positive: 0.0, negative: 0.0, shrink: 1.0 };
        let row = |node: usize| &start.centres.values()[node * DIM..][..DIM];
        let mut expected = 0.0_f64;
        for (p, buckets) in pairs.buckets.iter().enumerate() {
            for q in 0..pairs.buckets.len() {
                for pair in buckets.list(q).flatten() {
                    let (i, j) = (p * rows + pair.centre(), q * rows + pair.other());
                    let dot: f32 = row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum();
                    let x = f64::from(if pair.is_positive() { dot } else { -dot });
                    expected += (-x).exp().ln_1p();
                }
            }
        }
        let (_, loss) = trained(2, still);
        assert!((loss / expected - 1.0).abs() < 1e-6, "{loss} for {expected}");

        let step = plan.step(0.1, 0.0);
        assert_eq!(trained(1, step), trained(3, step));
    }
}
