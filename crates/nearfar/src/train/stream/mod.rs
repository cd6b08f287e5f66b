//! The stream trainer: SGD on sampled pairs.
//!
//! An epoch is cut into passes, so that the pairs of a pass fit memory. A pass has two halves. First
//! its pairs are sampled and sorted into buckets ([`EpochPairs`]). Then the buckets are trained in
//! tasks, in an order that the graph fixes ([`schedule`]): tasks that share no row run in parallel, and
//! the result does not depend on the number of threads, nor on whether the rows are in memory or in
//! files (`disk`). [`mod@reference`] is the same algorithm, slow and obvious.

pub mod blocks;
pub mod buckets;
pub mod cluster;
mod disk;
pub mod kernel;
mod memory;
mod negatives_ahead;
pub mod reference;
pub mod sampling;
pub mod schedule;
mod spill;
mod tasks;
mod windows;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use super::backend::{Backend, EpochStats, KeepGoing, Task, VectorView};
use super::given::initial;
use super::l2::{L2Controller, step};
use super::plan::TrainPlan;
use super::rows::Rows;
use super::smooth::smooth_rows;
use super::start::start_rows;
use crate::embedding::Embedding;
use crate::error::{Error, Result};
use crate::file::FloatFile;
use crate::graph::Graph;
use crate::memory::Array;
use crate::negative::NegativeSampler;
use crate::positive::PositiveSource;
use crate::simd::{InstructionSet, LANES};
use blocks::Blocks;
use disk::Disk;
use kernel::Step;
pub(super) use memory::{bytes, bytes_ahead, disk_bytes, held, parts, passes, passes_ahead};
use sampling::{EpochPairs, PairSources, Sampling};
use schedule::Order;
use tasks::{BlockRows, Losses, Training};

/// What is trained: a vector for every node and, in second-order models, another one for the node
/// as a context.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables {
    /// The vectors.
    pub centres: Blocks,
    /// The context vectors; `None` if nodes have one vector for both.
    pub contexts: Option<Blocks>,
}

/// Where rows and the pairs of a pass are.
enum Store {
    Memory { tables: Tables, pairs: EpochPairs },
    Disk(Disk),
}

/// The trainer.
pub(super) struct Stream<'a> {
    plan: &'a TrainPlan,
    graph: &'a Arc<Graph>,
    set: InstructionSet,
    sampling: Sampling,
    positives: Box<dyn PositiveSource>,
    negatives: &'a dyn NegativeSampler,
    /// Rows in a block.
    rows: usize,
    passes: usize,
    store: Store,
    l2: L2Controller,
}

impl<'a> Stream<'a> {
    pub(super) fn new(task: Task<'a>) -> Result<Self> {
        let Task { plan, graph, positives, negatives, instruction_set: set, init, .. } = task;
        let sampling = Sampling {
            walks: plan.walks,
            length: plan.length,
            context: plan.window,
            negatives: plan.k,
            ahead: if negatives.prefers_batches() { plan.passes_ahead } else { 1 },
            seed: plan.seed,
        };
        let l2 = L2Controller::new(plan.l2, graph, plan.dim, plan.kernel);
        let (rows, passes) = (Blocks::rows_for(graph.nodes(), padded(plan)), plan.passes);
        let store = match &plan.scratch {
            None => {
                let tables = tables(graph, plan, init);
                Store::Memory { tables, pairs: EpochPairs::default() }
            }
            Some(folder) => Store::Disk(on_disk(graph, plan, folder)?),
        };
        Ok(Self { plan, graph, set, sampling, positives, negatives, rows, passes, store, l2 })
    }
}

impl Backend for Stream<'_> {
    fn epoch(
        &mut self,
        epoch: usize,
        keep_going: &mut KeepGoing<'_>,
    ) -> Result<ControlFlow<(), EpochStats>> {
        let (plan, nodes, epochs) = (self.plan, self.graph.nodes(), self.plan.epochs);
        let (positives, negatives, rows) = (&*self.positives, self.negatives, self.rows);
        let sources = PairSources { positives, negatives, nodes, rows };
        let (passes, l2, (mut count, mut loss)) = (self.passes, self.l2.lambda, (0, 0.0));
        for pass in 0..passes {
            let done = |within: f64| (pass as f64 + within) / passes as f64;
            let walks = self.sampling.walks / passes;
            let more = usize::from(pass < self.sampling.walks % passes);
            let number = epoch * passes + pass;
            let ahead = self.sampling.ahead.min(epochs * passes - number);
            let sampling = Sampling { walks: walks + more, ahead, ..self.sampling };
            let number = number as u64;
            let store = &mut self.store;
            let sampled =
                store.sample(sources, sampling, number, |within| keep_going(done(within)))?;
            if sampled.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            let (from, to) = store.pairs().fractions(number);
            let step = |within: f64| plan.step(l2, (epoch as f64 + done(within)) / epochs as f64);
            let trained = store.train(self.set, plan.parts, step, |part| {
                keep_going(done(from + part * (to - from)))
            })?;
            let ControlFlow::Continue(sum) = trained else { return Ok(ControlFlow::Break(())) };
            (count, loss) = (count + store.pairs().count, loss + sum);
        }
        let effective_rank = match &self.store {
            Store::Memory { tables, .. } => {
                self.l2.after(epoch, epochs, tables.centres.iter(), plan.dim)
            }
            Store::Disk(disk) => {
                let rows = disk.every(step(nodes))?;
                self.l2.after_some(epoch, epochs, rows.chunks_exact(padded(plan)), plan.dim)
            }
        };
        let loss = loss / (count as f64).max(1.0);
        Ok(ControlFlow::Continue(EpochStats { pairs: count, loss, l2, effective_rank }))
    }

    fn vectors(&self) -> VectorView<'_> {
        let values = self.store.centres();
        VectorView { values, dim: self.plan.dim, stride: padded(self.plan) }
    }

    fn release(&self) {
        if let Store::Disk(disk) = &self.store {
            disk.tables.iter().for_each(FloatFile::release);
        }
    }

    /// The state of the L2 controller; the context vectors follow it.
    fn state(&self) -> Option<Vec<u8>> {
        Some(self.l2.state().into_iter().flat_map(f64::to_le_bytes).collect())
    }

    fn contexts(&self) -> &[f32] {
        self.store.contexts()
    }

    fn restore(&mut self, vectors: &Array<f32>, state: &Array<u8>) -> Result<()> {
        /// Numbers of the checkpoint that are in memory at a time, about.
        const PIECE: usize = 1 << 22;
        let (dim, stride) = (self.plan.dim, padded(self.plan));
        let (numbers, contexts) = state.split_at(state.len().min(32));
        let numbers = <[[u8; 8]; 4]>::try_from(numbers.as_chunks().0);
        let (Ok(numbers), true, true) = (
            numbers,
            vectors.len() == self.graph.nodes() * dim,
            contexts.len() == 4 * self.store.contexts().len(),
        ) else {
            return Err(Error::conflict("the checkpoint is of another graph or of other settings"));
        };
        // The state of the controller is as long as eight floats.
        let contexts = || {
            let bytes = state.pieces(4 * PIECE).flat_map(|piece| piece.as_chunks::<4>().0);
            bytes.skip(8).map(|bytes| f32::from_le_bytes(*bytes))
        };
        let all_finite = |piece: &[f32]| piece.iter().all(|value| value.is_finite());
        let finite = vectors.pieces(PIECE).all(all_finite) && contexts().all(f32::is_finite);
        let restored = self.l2.restore(numbers.map(f64::from_le_bytes));
        if !finite || restored.is_none() {
            let message = "the checkpoint holds numbers that no run can have";
            return Err(Error::conflict(message));
        }
        let padding = vec![0.0; stride - dim];
        let row = |vector: &[f32]| [vector, &padding].concat();
        let pieces = vectors.pieces(PIECE.next_multiple_of(dim));
        self.store.write(0, &mut pieces.flat_map(|piece| piece.chunks_exact(dim)).flat_map(row))?;
        self.store.write(1, &mut contexts())
    }

    fn smooth(&mut self, times: usize) -> Result<bool> {
        let (dim, stride) = (self.plan.dim, padded(self.plan));
        let Store::Disk(disk) = &mut self.store else { return Ok(false) };
        disk.free_buffers();
        let rows = &mut Rows::File(&mut disk.tables[0], stride);
        smooth_rows(&self.graph.to_undirected(), rows, dim, times)?;
        Ok(true)
    }

    fn into_vectors(self: Box<Self>) -> Vec<f32> {
        let dim = self.plan.dim;
        match self.store {
            Store::Memory { tables, .. } => tables.centres.into_rows(dim),
            Store::Disk(_) => self.vectors().to_vec(),
        }
    }

    fn into_both(self: Box<Self>) -> Result<(Array<f32>, Option<Array<f32>>)> {
        let dim = self.plan.dim;
        match self.store {
            Store::Memory { tables: Tables { centres, contexts }, .. } => {
                let contexts = contexts.map(|contexts| contexts.into_rows(dim).into());
                Ok((centres.into_rows(dim).into(), contexts))
            }
            Store::Disk(disk) => disk.into_rows(dim),
        }
    }
}

impl Store {
    /// Samples the pairs of a pass.
    fn sample(
        &mut self,
        sources: PairSources<'_>,
        sampling: Sampling,
        pass: u64,
        keep_going: impl FnMut(f64) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        match self {
            Self::Memory { pairs, .. } => pairs.sample(sources, sampling, pass, keep_going),
            Self::Disk(disk) => disk.sample(sources, sampling, pass, keep_going),
        }
    }

    /// Trains them.
    fn train(
        &mut self,
        set: InstructionSet,
        parts: usize,
        step: impl Fn(f64) -> Step,
        keep_going: impl FnMut(f64) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<(), f64>> {
        match self {
            Self::Memory { tables, pairs } => train(set, tables, parts, pairs, step, keep_going),
            Self::Disk(disk) => disk.train(set, step, keep_going),
        }
    }

    fn pairs(&self) -> &EpochPairs {
        let (Self::Memory { pairs, .. } | Self::Disk(Disk { pairs, .. })) = self;
        pairs
    }

    /// The vectors, in padded rows.
    fn centres(&self) -> &[f32] {
        match self {
            Self::Memory { tables, .. } => tables.centres.values(),
            Self::Disk(disk) => disk.tables[0].values(),
        }
    }

    /// The context vectors; none if nodes have one vector for both.
    fn contexts(&self) -> &[f32] {
        match self {
            Self::Memory { tables, .. } => tables.contexts.as_ref().map_or(&[], Blocks::values),
            Self::Disk(disk) => disk.tables.get(1).map_or(&[], FloatFile::values),
        }
    }

    /// Replaces the values of the first or second table, if there is one.
    fn write(&mut self, table: usize, values: &mut dyn Iterator<Item = f32>) -> Result<()> {
        match self {
            Self::Memory { tables: Tables { centres, contexts }, .. } => {
                let table = if table == 0 { Some(centres) } else { contexts.as_mut() };
                let old = table.map_or(&mut [][..], Blocks::values_mut);
                old.iter_mut().zip(values).for_each(|(old, value)| *old = value);
                Ok(())
            }
            Self::Disk(disk) => disk.tables.get_mut(table).map_or(Ok(()), |it| it.fill(values)),
        }
    }
}

/// Numbers in a row.
fn padded(plan: &TrainPlan) -> usize {
    plan.dim.next_multiple_of(LANES)
}

/// Initial vectors in files.
fn on_disk(graph: &Arc<Graph>, plan: &TrainPlan, folder: &Path) -> Result<Disk> {
    let mut disk = Disk::new(folder, plan, graph.nodes())?;
    let rows = Rows::File(&mut disk.tables[0], padded(plan));
    start_rows(plan, graph, rows, Some(folder))?;
    Ok(disk)
}

/// Initial vectors, padded with zeros, which training leaves unchanged. Context vectors start
/// at zero.
fn tables(graph: &Arc<Graph>, plan: &TrainPlan, init: Option<&Embedding>) -> Tables {
    let (n, padded) = (graph.nodes(), padded(plan));
    let rows = Blocks::rows_for(n, padded);
    let mut centres = Blocks::new(n, rows, padded);
    initial(plan, graph, init, padded, centres.values_mut());
    Tables { centres, contexts: (plan.order == 2).then(|| Blocks::new(n, rows, padded)) }
}

/// Trains all pairs of a pass, of tables that are cut into at most so many parts. `step(part)` is the
/// size of the steps after this fraction of the pass. `keep_going` is asked between tasks; if it says
/// `Break`, the pass ends there. Returns the sum of losses.
pub fn train(
    set: InstructionSet,
    tables: &mut Tables,
    parts: usize,
    pairs: &EpochPairs,
    step: impl Fn(f64) -> Step,
    keep_going: impl FnMut(f64) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<(), f64>> {
    let order = Order::new(tables.centres.count(), parts);
    let tasks = order.tasks();
    let (dim, size) = (tables.centres.dim, tables.centres.dim * tables.centres.rows);
    let values = std::iter::once(tables.centres.values_mut());
    let values = values.chain(tables.contexts.as_mut().map(Blocks::values_mut));
    let mut blocks = tasks::blocks(values.collect(), size);
    let mut groups: Vec<&mut [BlockRows]> = blocks.chunks_mut(order.group).collect();
    let training = Training { set, dim, order, pairs };
    let trained = training.run(&tasks, step, &mut groups, keep_going)?;
    Ok(trained.map_continue(|of_tasks| {
        let mut losses = Losses::new(order);
        losses.add(&tasks, &of_tasks);
        losses.total()
    }))
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

    /// The vectors of a run in memory, in padded rows, without smoothing.
    pub(super) fn local(plan: &TrainPlan, graph: &Arc<Graph>) -> Vec<f32> {
        let negatives = plan.negatives.build(graph).unwrap();
        let mut stream = Stream::new(Task {
            plan,
            graph,
            positives: crate::train::backend::positives(plan, graph).unwrap(),
            negatives: &*negatives,
            encoder: None,
            instruction_set: plan.kernel,
            init: None,
            features: None,
        })
        .unwrap();
        for epoch in 0..plan.epochs {
            let done = stream.epoch(epoch, &mut |_| Ok(ControlFlow::Continue(())));
            assert!(done.unwrap().is_continue());
        }
        stream.store.centres().to_vec()
    }

    #[test]
    fn an_epoch_in_passes_is_as_many_short_ones() {
        let graph = Arc::new(read("builtin:karate", &ReadOptions::default()).unwrap().graph);
        let plan = plan(&graph, TrainConfig { dim: 16, walks: Some(6), ..Default::default() });
        let negatives = plan.negatives.build(&graph).unwrap();
        let stream = || {
            let task = Task {
                plan: &plan,
                graph: &graph,
                positives: Box::new(Walk::new(&graph)),
                negatives: &*negatives,
                encoder: None,
                instruction_set: InstructionSet::detect(),
                init: None,
                features: None,
            };
            Stream::new(task).unwrap()
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
        let Stream { mut store, sampling, rows, l2, set, .. } = stream();
        let positives = Walk::new(&graph);
        let nodes = graph.nodes();
        let sources = PairSources { positives: &positives, negatives: &*negatives, nodes, rows };
        let mut count = 0;
        for (pass, walks) in [2, 2, 1, 1].into_iter().enumerate() {
            let sampling = Sampling { walks, ..sampling };
            let keep_going = |_| Ok(ControlFlow::Continue(()));
            let sampled = store.sample(sources, sampling, pass as u64, keep_going);
            assert!(sampled.unwrap().is_continue());
            count += store.pairs().count;
            let step = |within: f64| {
                let done = (pass as f64 + within) / 4.0 / plan.epochs as f64;
                plan.step(l2.lambda, done)
            };
            assert!(store.train(set, 1, step, keep_going).unwrap().is_continue());
        }
        assert_eq!(done.pairs, count);
        assert!(count > 34 * 6 * 10, "every window has its negatives");
        assert_eq!(in_passes.store.centres(), store.centres());
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
        assert_eq!(Order::new(nodes.div_ceil(rows), 1).group, 3, "the last group has fewer");
        let sources = PairSources { positives: &positives, negatives: &*negatives, nodes, rows };
        let sampling =
            Sampling { walks: 5, length: 5, context: 5, negatives: 10, ahead: 1, seed: 0 };
        let keep_going = |_| Ok(ControlFlow::Continue(()));
        let mut pairs = EpochPairs::default();
        assert!(pairs.sample(sources, sampling, 0, keep_going).unwrap().is_continue());
        let mut start = Tables { centres: Blocks::new(nodes, rows, DIM), contexts: None };
        initial(&plan, &graph, None, DIM, start.centres.values_mut());
        let trained = |threads: usize, parts: usize, step: Step| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut tables = start.clone();
            let set = InstructionSet::detect();
            let train = || train(set, &mut tables, parts, &pairs, |_| step, keep_going);
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
        for parts in [1, 5] {
            let (_, loss) = trained(2, parts, still);
            assert!((loss / expected - 1.0).abs() < 1e-6, "{loss} for {expected}");
            let step = plan.step(0.1, 0.0);
            assert_eq!(trained(1, parts, step), trained(3, parts, step));
        }
    }
}
