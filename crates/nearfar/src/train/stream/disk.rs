//! Tables that do not fit memory: they are in files, and two parts at a time in memory.
//!
//! While a stage trains its two parts, another thread writes the parts that the stage before left, and
//! reads the part and the pairs of the next stage. So at most three parts are in memory. Tasks run in
//! the order in which they do in memory, or in one that leaves the same bytes ([`schedule`](super::schedule)).

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use super::blocks::Blocks;
use super::kernel::Step;
use super::sampling::{EpochPairs, PairSources, Sampling};
use super::schedule::{Order, Stage};
use super::spill::{Spill, StagePairs};
use super::tasks::{self, BlockRows, Training};
use crate::error::Result;
use crate::file::FloatFile;
use crate::memory::{self, Aligned, Array};
use crate::simd::InstructionSet;
use crate::train::rows::{CHUNK, Rows};

/// The tables of a run in files, and the pairs of a pass.
pub(super) struct Disk {
    order: Order,
    /// Rows in a block, and numbers in a row.
    rows: usize,
    dim: usize,
    /// The vectors, and in second-order models the context vectors.
    pub(super) tables: Vec<FloatFile>,
    pub(super) pairs: EpochPairs,
    spill: Spill,
    /// Buffers that no part uses.
    free: Vec<Vec<Aligned>>,
}

/// A part of all tables in memory.
struct Part {
    number: usize,
    tables: Vec<Aligned>,
}

/// Parts in memory at a time.
pub(super) const PARTS: usize = 3;

impl Disk {
    /// Tables of zeros: so many, of n rows of `dim` numbers.
    pub(super) fn new(
        folder: &Path,
        count: usize,
        (n, dim): (usize, usize),
        parts: usize,
    ) -> Result<Self> {
        let rows = Blocks::rows_for(n, dim);
        let order = Order::new(n.div_ceil(rows), parts);
        let tables = (0..count).map(|_| FloatFile::new(folder, n * dim));
        let tables = tables.collect::<Result<_>>()?;
        let spill = Spill::new(folder, order)?;
        let pairs = EpochPairs::default();
        Ok(Self { order, rows, dim, tables, pairs, spill, free: vec![] })
    }

    /// Samples the pairs of a pass into the file.
    pub(super) fn sample(
        &mut self,
        sources: PairSources<'_>,
        sampling: Sampling,
        pass: u64,
        keep_going: impl FnMut(f64) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let Self { pairs, spill, .. } = self;
        spill.clear();
        let blocks = 0..sources.blocks();
        let take = |_, pairs: &_| spill.add(pairs);
        pairs.sample_some(sources, sampling, pass, blocks, take, keep_going)
    }

    /// Trains the pairs of a pass, as [`train`](super::train) does.
    pub(super) fn train(
        &mut self,
        set: InstructionSet,
        step: impl Fn(f64) -> Step,
        mut keep_going: impl FnMut(f64) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<(), f64>> {
        let (order, count) = (self.order, self.order.count());
        let stages: Vec<Stage> = order.stages().collect();
        let (mut resident, mut current) = self.exchange(vec![], &[], stages.first().copied())?;
        let (mut leaving, mut round, mut loss) = (vec![], 0, 0.0);
        for at in 1.. {
            let Some((stage, pairs)) = current else { break };
            let next = stages.get(at).copied();
            let rounds = order.rounds(stage);
            let step = |at: usize| step((round + at) as f64 / count as f64);
            let keep_going =
                |part: f64| keep_going((round as f64 + part * rounds.len() as f64) / count as f64);
            let held: Vec<usize> = resident.iter().map(|part| part.number).collect();
            let (rows, dim) = (self.rows, self.dim);
            let (trained, exchanged) = thread::scope(|scope| {
                let exchange = scope.spawn(|| self.exchange(leaving, &held, next));
                let training = Training { set, dim, order, pairs: &pairs };
                let mut groups = groups(order, &mut resident, rows * dim);
                let mut groups: Vec<_> = groups.iter_mut().map(Vec::as_mut_slice).collect();
                let trained = training.rounds(&rounds, step, &mut groups, keep_going);
                (trained, exchange.join().unwrap_or_else(|panic| resume_unwind(panic)))
            });
            let (arrived, following) = exchanged?;
            resident.extend(arrived);
            let ControlFlow::Continue(losses) = trained? else {
                self.exchange(resident, &[], None)?;
                return Ok(ControlFlow::Break(()));
            };
            loss = losses.iter().fold(loss, |sum, loss| sum + loss);
            round += rounds.len();
            let is_needed = |part: &Part| next.is_some_and(|next| needs(next, part.number));
            (resident, leaving) = resident.into_iter().partition(is_needed);
            current = following;
        }
        self.exchange(leaving, &[], None)?;
        Ok(ControlFlow::Continue(loss))
    }

    /// Every so many rows of the vectors. (Mapped pages would be those of whole extents of the file.)
    pub(super) fn every(&self, step: usize) -> Result<Vec<f32>> {
        let dim = self.dim;
        let count = self.tables[0].values().len() / dim;
        let mut rows = vec![0.0; count.div_ceil(step) * dim];
        for (row, out) in rows.chunks_exact_mut(dim).enumerate() {
            self.tables[0].read(row * step * dim, out)?;
        }
        Ok(rows)
    }

    /// Gives the memory of parts back.
    pub(super) fn free_parts(&mut self) {
        self.free = vec![];
        self.pairs = EpochPairs::default();
        memory::give_back();
    }

    /// The first `dim` values of every row of the tables, which stay in files. They move within their
    /// file, to positions that were read before.
    pub(super) fn into_rows(self, dim: usize) -> Result<(Array<f32>, Option<Array<f32>>)> {
        let stride = self.dim;
        let pack = |mut file: FloatFile| {
            let mut at = 0;
            let chunks =
                if dim < stride { file.values().len().div_ceil(CHUNK * stride) } else { 0 };
            for chunk in 0..chunks {
                let rows = Rows::File(&mut file, stride).chunk(chunk)?.into_owned();
                let packed: Vec<f32> =
                    rows.chunks_exact(stride).flat_map(|row| &row[..dim]).copied().collect();
                file.write(at, &packed)?;
                at += packed.len();
            }
            let rows = file.values().len() / stride;
            file.release();
            Ok(file.into_array(rows * dim))
        };
        let mut tables = self.tables.into_iter().map(pack);
        let vectors = tables.next().unwrap_or_else(|| Ok(Array::from(vec![])))?;
        Ok((vectors, tables.next().transpose()?))
    }

    /// Writes the parts that are left, and reads the pairs of a stage and those of its parts that are
    /// not held.
    fn exchange(
        &mut self,
        leaving: Vec<Part>,
        held: &[usize],
        stage: Option<Stage>,
    ) -> Result<Arrived> {
        for Part { number, tables } in leaving {
            let (at, len) = self.place(number);
            for (file, values) in self.tables.iter_mut().zip(&tables) {
                file.write(at, &values[..len])?;
            }
            self.free.push(tables);
        }
        let Some(stage) = stage else { return Ok((vec![], None)) };
        let mut arrived = vec![];
        for number in (stage.0..=stage.1).step_by((stage.1 - stage.0).max(1)) {
            if held.contains(&number) {
                continue;
            }
            let (at, len) = self.place(number);
            let (_, largest) = self.place(0);
            let mut tables = self
                .free
                .pop()
                .unwrap_or_else(|| self.tables.iter().map(|_| Aligned::zeroed(largest)).collect());
            for (file, values) in self.tables.iter().zip(&mut tables) {
                file.read(at, &mut values[..len])?;
            }
            arrived.push(Part { number, tables });
        }
        Ok((arrived, Some((stage, self.spill.stage(stage)?))))
    }

    /// Where the numbers of a part begin in a table, and how many there are.
    fn place(&self, part: usize) -> (usize, usize) {
        let blocks = self.order.blocks_of(part);
        let (start, size) = (blocks.start * self.rows * self.dim, self.rows * self.dim);
        let end = (blocks.end * size).min(self.tables[0].values().len());
        (start, end - start)
    }
}

/// What was read: parts, and the pairs of a stage.
type Arrived = (Vec<Part>, Option<(Stage, StagePairs)>);

/// Whether a stage needs a part.
fn needs((a, b): Stage, part: usize) -> bool {
    a == part || b == part
}

/// The blocks of all groups; none of groups whose part is not here.
fn groups(order: Order, parts: &mut [Part], size: usize) -> Vec<Vec<BlockRows<'_>>> {
    let mut groups: Vec<Vec<BlockRows>> = vec![];
    groups.resize_with(order.groups(), Vec::new);
    for Part { number, tables } in parts {
        let tables = tables.iter_mut().map(|values| &mut values[..]).collect();
        let (all, count) = (order.groups_of(*number), order.blocks_of(*number).len());
        let mut blocks = tasks::blocks(tables, size).into_iter().take(count);
        for group in all {
            groups[group] = blocks.by_ref().take(order.group).collect();
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::Stream;
    use crate::budget::Budget;
    use crate::graph::{EdgeList, Graph, NodeIds};
    use crate::negative::{NegativeConfig, Negatives};
    use crate::positive::Walk;
    use crate::rng::{Purpose, Rng};
    use crate::simd::InstructionSet;
    use crate::train::backend::{Task, run};
    use crate::train::{
        Checkpoint, Checkpoints, Event, Settings, Sink, State, TrainConfig, TrainPlan,
    };

    use super::*;

    /// A ring with random chords.
    fn graph(nodes: u32) -> Arc<Graph> {
        let mut rng = Rng::new(7, Purpose::Edge, 0, 0);
        let chord = |a: u32| (a, rng.below(nodes as usize) as u32);
        let mut pairs: Vec<(u32, u32)> = (0..nodes).map(chord).collect();
        pairs.extend((0..nodes).map(|a| (a, (a + 1) % nodes)));
        let ids = NodeIds::Range { start: 0, len: nodes as usize };
        Arc::new(EdgeList { pairs, weights: None, ids }.build().unwrap().0)
    }

    /// Keeps events, and a checkpoint.
    #[derive(Default)]
    struct Record {
        events: Vec<Event>,
        checkpoints: Option<Checkpoints>,
        stop_after: Option<usize>,
    }

    impl Sink for Record {
        fn event(&mut self, event: &Event) -> Result<ControlFlow<()>> {
            if let Event::Epoch { epoch, .. } = event {
                self.events.push(event.clone());
                if self.stop_after == Some(*epoch) {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        }

        fn state(&mut self, state: &State<'_>) -> Result<ControlFlow<()>> {
            self.checkpoints.as_mut().map_or(Ok(()), |it| it.state(state, true))?;
            Ok(ControlFlow::Continue(()))
        }
    }

    fn trained(
        plan: &TrainPlan,
        graph: &Arc<Graph>,
        checkpoint: Option<Checkpoint>,
        sink: &mut Record,
    ) -> (Vec<f32>, Option<Vec<f32>>) {
        let negatives = plan.negatives.build(graph).unwrap();
        let task = Task {
            plan,
            graph,
            positives: Box::new(Walk::new(graph)),
            negatives: &*negatives,
            encoder: None,
            instruction_set: InstructionSet::detect(),
            init: None,
            features: None,
        };
        let stream = Box::new(Stream::new(task).unwrap());
        let started = Event::Progress { done: 0.0 };
        let trained = run(stream, plan, graph, &started, checkpoint, sink).unwrap();
        (trained.vectors.into_vec(), trained.contexts.map(crate::memory::Array::into_vec))
    }

    /// The plan of a run whose table is cut into twelve parts, three of which are a quarter.
    fn plan(graph: &Graph, law: Negatives, train: &TrainConfig) -> TrainPlan {
        let train = TrainConfig { epochs: Some(2), ..train.clone() };
        let negatives = NegativeConfig { negatives: law, ..Default::default() };
        let settings = Settings { train, negatives };
        let plan = TrainPlan::new(&settings, graph, &Budget::default()).unwrap();
        TrainPlan { parts: 12, ..plan }
    }

    #[test]
    fn vectors_are_the_same_in_memory_and_in_files() {
        let graph = graph(50_000);
        let folder = tempfile::tempdir().unwrap();
        let scratch = Some(folder.path().to_owned());
        let base = TrainConfig { dim: 20, walks: Some(2), ..Default::default() };
        for (law, train) in [
            (Negatives::Uniform, base.clone()),
            (Negatives::Degree, TrainConfig { order: 2, smoothing: Some(0), ..base.clone() }),
            (Negatives::LandmarkApprox, TrainConfig { walk_length: Some(7), ..base }),
        ] {
            let plan = plan(&graph, law, &train);
            let (mut memory, mut files) = (Record::default(), Record::default());
            let expected = trained(&plan, &graph, None, &mut memory);
            let on_disk = TrainPlan { scratch: scratch.clone(), ..plan };
            let found = trained(&on_disk, &graph, None, &mut files);
            assert!(found == expected, "{law:?}");
            assert_eq!(files.events, memory.events, "{law:?}");
            assert_eq!(files.events.len(), 2);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_run_in_files_is_resumed_in_memory_and_the_reverse() {
        let graph = graph(2000);
        let folder = tempfile::tempdir().unwrap();
        let train = TrainConfig { dim: 20, walks: Some(2), order: 2, ..Default::default() };
        let memory = plan(&graph, Negatives::Uniform, &train);
        let files = TrainPlan { scratch: Some(folder.path().to_owned()), ..memory.clone() };
        let whole = trained(&memory, &graph, None, &mut Record::default());
        for (number, (first, second)) in [(&memory, &files), (&files, &memory)].iter().enumerate() {
            let folder = folder.path().join(number.to_string());
            let open = |plan, resume| {
                let mut checkpoints = Checkpoints::new(&folder, resume).unwrap();
                let found = checkpoints.open(plan).unwrap();
                (checkpoints, found)
            };
            let (checkpoints, _) = open(first, false);
            let sink =
                Record { checkpoints: Some(checkpoints), stop_after: Some(1), events: vec![] };
            trained(first, &graph, None, &mut { sink });
            let (_, checkpoint) = open(second, true);
            assert!(trained(second, &graph, checkpoint, &mut Record::default()) == whole);
        }
    }
}
