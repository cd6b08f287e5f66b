//! Training by sampled pairs: the fast trainer.
//!
//! An epoch has two halves. First its pairs are sampled and sorted into buckets ([`Pairs`]). Then
//! the buckets are trained, round by round ([`rounds`]): the tasks of a round share no row, so
//! they run side by side, and the result does not depend on how many threads there are. An epoch of
//! very many pairs is cut into parts, each sampled and trained by itself, so that memory is bounded.

pub mod blocks;
pub mod buckets;
pub mod kernel;
pub(super) mod negatives_ahead;
pub mod sampling;
mod windows;

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::config::TrainConfig;
use super::l2::Pull;
use super::observe::{Checkpoint, State};
use super::{Done, Run, epochs_ahead, small_vectors};
use crate::error::Result;
use crate::graph::Graph;
use crate::negative::NegativeSampler;
use crate::positive::PositiveSource;
use crate::simd::{InstructionSet, LANES};
use blocks::{Blocks, back_and_forth, rounds, together};
use kernel::{Rows, Step, train_pairs};
use sampling::{Pairs, Sampling, Sources};

/// What is trained: a vector for every node and, in models of second order, another one for the
/// node as the other end of a pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables {
    /// The vectors.
    pub centres: Blocks,
    /// The vectors of other ends; `None` if nodes have one vector for both.
    pub others: Option<Blocks>,
}

/// The rows of one block, of both tables.
#[derive(Default)]
struct Share<'a> {
    centres: &'a mut [f32],
    others: Option<&'a mut [f32]>,
}

/// The trainer.
pub(super) struct Stream<'a> {
    config: &'a TrainConfig,
    kernel: InstructionSet,
    /// What an epoch samples, in so many parts.
    sampling: Sampling,
    parts: usize,
    positives: Box<dyn PositiveSource>,
    negatives: &'a dyn NegativeSampler,
    nodes: usize,
    tables: Tables,
    /// Those of the last epoch, whose room the next one uses again.
    pairs: Pairs,
    pull: Pull,
}

impl<'a> Stream<'a> {
    /// Prepares a run, and goes on from a state if there is one.
    pub(super) fn new(
        kernel: InstructionSet,
        checkpoint: Option<&Checkpoint>,
        graph: &Graph,
        positives: Box<dyn PositiveSource>,
        negatives: &'a dyn NegativeSampler,
        config: &'a TrainConfig,
    ) -> Result<Self> {
        let sampling = Sampling {
            walks: config.walks(graph),
            length: config.length(),
            context: config.window(),
            negatives: config.k(),
            ahead: if negatives.visits_are_slow() { epochs_ahead(graph, config) } else { 1 },
            seed: config.seed,
        };
        let nodes = graph.nodes();
        let mut tables = tables(nodes, config);
        let mut pull = Pull::new(config.l2, graph, config.dim);
        if let Some(checkpoint) = checkpoint {
            checkpoint.restore(&mut tables)?;
            (pull.strength, pull.most) = (checkpoint.strength, checkpoint.most);
            pull.last = checkpoint.last;
        }
        let pairs = Pairs::new(nodes, tables.centres.rows);
        let parts = config.parts(graph);
        Ok(Self {
            config,
            kernel,
            sampling,
            parts,
            positives,
            negatives,
            nodes,
            tables,
            pairs,
            pull,
        })
    }
}

impl Run for Stream<'_> {
    fn epoch(
        &mut self,
        epoch: usize,
        keep_going: &mut dyn FnMut(f64) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<(), Done>> {
        let (config, n, epochs) = (self.config, self.nodes, self.config.epochs());
        let rows = self.tables.centres.rows;
        let sources =
            Sources { positives: &*self.positives, negatives: self.negatives, nodes: n, rows };
        let pairs = &mut self.pairs;
        let (parts, l2, (mut count, mut loss)) = (self.parts, self.pull.strength, (0, 0.0));
        for part in 0..parts {
            let done = |within: f64| (part as f64 + within) / parts as f64;
            let walks = self.sampling.walks / parts;
            let more = usize::from(part < self.sampling.walks % parts);
            let ahead = self.sampling.ahead.min(epochs - epoch);
            let sampling = Sampling { walks: walks + more, ahead, ..self.sampling };
            let number = (epoch * parts + part) as u64;
            if pairs
                .sample(sources, sampling, number, |within| keep_going(done(within)))?
                .is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
            let (from, to) = pairs.shares(number);
            let step = |within: f64| config.step(l2, (epoch as f64 + done(within)) / epochs as f64);
            let trained = train(self.kernel, &mut self.tables, pairs, step, |part| {
                keep_going(done(from + part * (to - from)))
            })?;
            let ControlFlow::Continue(sum) = trained else { return Ok(ControlFlow::Break(())) };
            (count, loss) = (count + pairs.count, loss + sum);
        }
        // A thousand rows show the rank as well as all.
        let rows = self.tables.centres.iter().step_by(n.div_ceil(1024));
        let effective_rank = self.pull.adjust(rows, config.dim, epochs - epoch - 1);
        let loss = loss / (count as f64).max(1.0);
        Ok(ControlFlow::Continue(Done { pairs: count, loss, l2, effective_rank }))
    }

    fn state(&self, epoch: usize) -> State<'_> {
        State::of_tables(epoch, self.config.dim, &self.tables, &self.pull)
    }

    fn into_vectors(self: Box<Self>) -> Vec<f32> {
        self.tables.centres.into_rows(self.config.dim)
    }
}

/// Small random vectors, padded with zeros, which training leaves as they are. Those of other ends
/// start at zero: pairs then push nothing about until their centres have met.
fn tables(n: usize, config: &TrainConfig) -> Tables {
    let padded = config.dim.next_multiple_of(LANES);
    let rows = Blocks::rows_for(n, padded);
    let mut centres = Blocks::new(n, rows, padded);
    small_vectors(config, padded, centres.values_mut());
    Tables { centres, others: (config.order == 2).then(|| Blocks::new(n, rows, padded)) }
}

/// Trains all pairs of an epoch. `step(part)` is the size of the steps when this part of the epoch
/// is done. `keep_going(part)` is asked between rounds; if it says `Break`, the epoch ends there.
/// Returns the sum of losses.
pub fn train(
    kernel: InstructionSet,
    tables: &mut Tables,
    pairs: &Pairs,
    step: impl Fn(f64) -> Step + Sync,
    mut keep_going: impl FnMut(f64) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<(), f64>> {
    let count = tables.centres.count();
    let together = together(count);
    let rounds = rounds(count.div_ceil(together));
    let dim = tables.centres.dim;
    let mut shares: Vec<Share> =
        tables.centres.blocks().map(|centres| Share { centres, others: None }).collect();
    if let Some(others) = &mut tables.others {
        shares
            .iter_mut()
            .zip(others.blocks())
            .for_each(|(share, block)| share.others = Some(block));
    }
    let mut groups: Vec<&mut [Share]> = shares.chunks_mut(together).collect();
    let mut loss = 0.0;
    for (at, round) in rounds.iter().enumerate() {
        let part = at as f64 / rounds.len() as f64;
        if keep_going(part)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let step = step(part);
        // PeriodicScores task owns its blocks while it runs: threads cannot meet.
        let mut tasks: Vec<_> = round
            .iter()
            .map(|&(p, q)| {
                let left = std::mem::take(&mut groups[p]);
                (p, q, left, std::mem::take(&mut groups[q]))
            })
            .collect();
        let train = |(p, q, left, right): &mut (usize, usize, &mut [Share], &mut [Share])| {
            let visit = Visit { kernel, dim, pairs, step };
            if p == q {
                visit.within_group(*p * together, left)
            } else {
                visit.between_groups((*p * together, *q * together), left, right)
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

/// What trains the pairs of blocks, which are known by their numbers.
#[derive(Clone, Copy)]
struct Visit<'a> {
    kernel: InstructionSet,
    dim: usize,
    pairs: &'a Pairs,
    step: Step,
}

impl Visit<'_> {
    /// All pairs of a group of blocks, which begins with this one. Returns the sum of losses, as
    /// all of these do.
    fn within_group(self, first: usize, group: &mut [Share]) -> f64 {
        let mut loss = 0.0;
        for at in 0..group.len() {
            let (before, rest) = group.split_at_mut(at);
            loss += self.within(first + at, &mut rest[0]);
            for (other, share) in before.iter_mut().enumerate() {
                loss += self.between((first + other, first + at), share, &mut rest[0]);
            }
        }
        loss
    }

    /// All pairs between two groups, which begin with these blocks.
    fn between_groups(
        self,
        (p, q): (usize, usize),
        left: &mut [Share],
        right: &mut [Share],
    ) -> f64 {
        back_and_forth(left.len(), right.len())
            .map(|(l, r)| self.between((p + l, q + r), &mut left[l], &mut right[r]))
            .sum()
    }

    /// The pairs within a block.
    fn within(self, p: usize, share: &mut Share) -> f64 {
        let lists = self.pairs.buckets[p].list(p);
        lists.map(|pairs| train_pairs(self.kernel, share.alone(self.dim), pairs, self.step)).sum()
    }

    /// The pairs with their centres in one block and their other ends in the other, then those the
    /// other way round.
    fn between(self, (p, q): (usize, usize), left: &mut Share, right: &mut Share) -> f64 {
        let Self { kernel, dim, pairs, step } = self;
        let there = pairs.buckets[p].list(q);
        let there: f64 =
            there.map(|pairs| train_pairs(kernel, left.with(right, dim), pairs, step)).sum();
        let back = pairs.buckets[q].list(p);
        let back: f64 =
            back.map(|pairs| train_pairs(kernel, right.with(left, dim), pairs, step)).sum();
        there + back
    }
}

impl Share<'_> {
    /// Centres and other ends both here.
    fn alone(&mut self, dim: usize) -> Rows<'_> {
        Rows { dim, centres: self.centres, others: self.others.as_deref_mut() }
    }

    /// Centres here, other ends there.
    fn with<'a>(&'a mut self, there: &'a mut Share<'_>, dim: usize) -> Rows<'a> {
        let others = there.others.as_deref_mut().unwrap_or(there.centres);
        Rows { dim, centres: self.centres, others: Some(others) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::graph::{EdgeList, NodeIds, ReadOptions, read};
    use crate::negative::{Budget, NegativeConfig, NegativePlan, Negatives};
    use crate::positive::Walk;

    #[test]
    fn an_epoch_in_parts_is_as_many_short_ones() {
        let graph = Arc::new(read("builtin:karate", &ReadOptions::default()).unwrap().graph);
        let config = NegativeConfig { negatives: Negatives::Uniform, ..Default::default() };
        let plan = NegativePlan::new(&graph, &config, &Budget::default()).unwrap();
        let negatives = plan.build(&graph).unwrap();
        let config = TrainConfig { dim: 16, walks: Some(6), ..Default::default() };
        let walks = || Box::new(Walk::new(&graph));
        let stream = || {
            let kernel = InstructionSet::detect();
            Stream::new(kernel, None, &graph, walks(), &*negatives, &config).unwrap()
        };
        // Six walks in four parts are 2 + 2 + 1 + 1.
        let mut in_parts = Stream { parts: 4, ..stream() };
        let mut progress = vec![];
        let done = in_parts.epoch(0, &mut |part| {
            progress.push(part);
            Ok(ControlFlow::Continue(()))
        });
        let ControlFlow::Continue(done) = done.unwrap() else { panic!("nobody stops it") };
        assert!(progress.is_sorted() && progress.iter().all(|part| (0.0..1.0).contains(part)));
        let mut one_by_one = stream();
        let positives = Walk::new(&graph);
        let (nodes, rows) = (graph.nodes(), one_by_one.tables.centres.rows);
        let sources = Sources { positives: &positives, negatives: &*negatives, nodes, rows };
        let mut count = 0;
        for (part, walks) in [2, 2, 1, 1].into_iter().enumerate() {
            let sampling = Sampling { walks, ..one_by_one.sampling };
            let keep_going = |_| Ok(ControlFlow::Continue(()));
            let pairs = &mut one_by_one.pairs;
            assert!(
                pairs.sample(sources, sampling, part as u64, keep_going).unwrap().is_continue()
            );
            count += pairs.count;
            let step = |within: f64| {
                let done = (part as f64 + within) / 4.0 / config.epochs() as f64;
                config.step(one_by_one.pull.strength, done)
            };
            let trained = train(one_by_one.kernel, &mut one_by_one.tables, pairs, step, keep_going);
            assert!(trained.unwrap().is_continue());
        }
        assert_eq!(done.pairs, count);
        assert!(count > 34 * 6 * 10, "every window has its negatives");
        assert_eq!(in_parts.tables.centres.values(), one_by_one.tables.centres.values());
    }

    #[test]
    fn groups_of_blocks_train_every_pair_once_on_any_threads() {
        const DIM: usize = 16;
        let nodes = 203;
        let pairs = (0..nodes as u32).map(|node| (node, (node + 1) % nodes as u32)).collect();
        let ids = NodeIds::Range { start: 0, len: nodes };
        let graph = EdgeList { pairs, weights: None, ids }.build().unwrap().0;
        let graph = Arc::new(graph);
        let config = NegativeConfig { negatives: Negatives::Uniform, ..Default::default() };
        let plan = NegativePlan::new(&graph, &config, &Budget::default()).unwrap();
        let (negatives, positives) = (plan.build(&graph).unwrap(), Walk::new(&graph));
        let config = TrainConfig { dim: DIM, ..Default::default() };
        let rows = 3;
        assert_eq!(together(nodes.div_ceil(rows)), 3, "the last group has fewer");
        let sources = Sources { positives: &positives, negatives: &*negatives, nodes, rows };
        let sampling =
            Sampling { walks: 5, length: 5, context: 5, negatives: 10, ahead: 1, seed: 0 };
        let keep_going = |_| Ok(ControlFlow::Continue(()));
        let mut pairs = Pairs::new(nodes, rows);
        assert!(pairs.sample(sources, sampling, 0, keep_going).unwrap().is_continue());
        let mut start = Tables { centres: Blocks::new(nodes, rows, DIM), others: None };
        small_vectors(&config, DIM, start.centres.values_mut());
        let trained = |threads: usize, step: Step| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut tables = start.clone();
            let train =
                || train(InstructionSet::detect(), &mut tables, &pairs, |_| step, keep_going);
            let ControlFlow::Continue(loss) = pool.install(train).unwrap() else {
                panic!("nobody stops it")
            };
            (tables.centres.values().to_vec(), loss)
        };

        // Where nothing moves, the loss is that of all pairs.
        let still = Step { near: 0.0, far: 0.0, shrink: 1.0 };
        let row = |node: usize| &start.centres.values()[node * DIM..][..DIM];
        let mut expected = 0.0_f64;
        for (p, buckets) in pairs.buckets.iter().enumerate() {
            for q in 0..pairs.buckets.len() {
                for pair in buckets.list(q).flatten() {
                    let (i, j) = (p * rows + pair.centre(), q * rows + pair.other());
                    let dot: f32 = row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum();
                    let x = f64::from(if pair.near() { dot } else { -dot });
                    expected += (-x).exp().ln_1p();
                }
            }
        }
        let (_, loss) = trained(2, still);
        assert!((loss / expected - 1.0).abs() < 1e-6, "{loss} for {expected}");

        let step = config.step(0.1, 0.0);
        assert_eq!(trained(1, step), trained(3, step));
    }
}
