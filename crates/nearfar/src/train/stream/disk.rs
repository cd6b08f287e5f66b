//! Tables that do not fit memory: they are in files, and some of their rows in memory.
//!
//! A table is cut into segments of some groups of blocks. As many consecutive segments as fit memory are
//! held as rows; then all segments from the first of them on come by as columns, one at a time, and the
//! tasks between the rows and the column are trained. Then the next segments are rows. The order of tasks
//! allows that, whatever the number of rows ([`schedule`](super::schedule)): the bytes of the vectors do
//! not depend on it.
//!
//! While a step trains, another thread reads the column of the next step with its pairs. It takes the memory
//! of a segment that neither step needs, after writing it: the last column, or a row of those before.

use std::ops::{ControlFlow, Range};
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use super::blocks::Blocks;
use super::kernel::Step;
use super::padded;
use super::sampling::{EpochPairs, PairSources, Sampling};
use super::schedule::{Order, Scheduled};
use super::spill::{Lists, Spill};
use super::tasks::{self, BlockRows, Losses, Training};
use crate::error::Result;
use crate::file::FloatFile;
use crate::memory::{self, Aligned, Array};
use crate::simd::InstructionSet;
use crate::train::TrainPlan;
use crate::train::rows::{CHUNK, Rows};

/// The tables of a run in files, and the pairs of a pass.
pub(super) struct Disk {
    cut: Segments,
    /// Rows in a block, and numbers in a row.
    rows: usize,
    dim: usize,
    /// The vectors, and in second-order models the context vectors.
    pub(super) tables: Vec<FloatFile>,
    pub(super) pairs: EpochPairs,
    spill: Spill,
    /// Buffers that no segment uses.
    free: Vec<Vec<Aligned>>,
}

/// How tables are cut into segments.
#[derive(Clone, Copy)]
pub(super) struct Segments {
    pub(super) order: Order,
    /// Groups in a segment; the last one may have fewer.
    width: usize,
    /// Segments that are held as rows.
    held: usize,
}

/// A segment of all tables in memory.
struct Segment {
    number: usize,
    tables: Vec<Aligned>,
}

/// The tasks between rows and a column: the first of the segments that are rows, and that of the column.
type Place = (usize, usize);

impl Segments {
    /// Those of a plan. A segment is about an eighth of a part, but has two groups for each thread where that
    /// is no more than an eighth of the table: tasks that run at the same time do not share a group.
    pub(super) fn new(plan: &TrainPlan, nodes: usize) -> Self {
        const OF_A_PART: usize = 8;
        const OF_A_TABLE: usize = 8;
        let blocks = nodes.div_ceil(Blocks::rows_for(nodes, padded(plan)));
        let order = Order::new(blocks, plan.parts);
        let width = order.groups_of(0).len().div_ceil(OF_A_PART);
        let wide = (2 * rayon::current_num_threads()).min(order.groups() / OF_A_TABLE);
        Self { order, width: width.max(wide), held: plan.held }
    }

    /// The number of segments.
    pub(super) fn count(self) -> usize {
        self.order.groups().div_ceil(self.width)
    }

    /// Segments that are in memory at a time: rows, a column, and another one on its way.
    pub(super) fn in_memory(self) -> usize {
        self.held.saturating_add(2).min(self.count())
    }

    /// Blocks in a segment.
    pub(super) fn blocks(self) -> usize {
        self.blocks_of(0..1).len()
    }

    /// The groups of some segments.
    fn groups_of(self, segments: Range<usize>) -> Range<usize> {
        segments.start * self.width..self.order.groups().min(segments.end * self.width)
    }

    /// The blocks of some segments.
    fn blocks_of(self, segments: Range<usize>) -> Range<usize> {
        self.order.blocks_in(self.groups_of(segments))
    }

    /// The segments that are rows of a step; those behind the column have no tasks with it.
    fn rows(self, (first, column): Place) -> Range<usize> {
        first..(first + self.held).min(column + 1)
    }

    /// The steps of a pass, in order.
    fn steps(self) -> impl Iterator<Item = Place> {
        let count = self.count();
        (0..count)
            .step_by(self.held)
            .flat_map(move |first| (first..count).map(move |at| (first, at)))
    }

    /// The tasks of a step, in order.
    fn tasks(self, place: Place) -> Vec<Scheduled> {
        let (rows, column) = (self.rows(place), place.1..place.1 + 1);
        self.order.rectangle(self.groups_of(rows), self.groups_of(column)).collect()
    }
}

impl Disk {
    /// Tables of zeros.
    pub(super) fn new(folder: &Path, plan: &TrainPlan, nodes: usize) -> Result<Self> {
        let (cut, dim) = (Segments::new(plan, nodes), padded(plan));
        let tables = (0..plan.order).map(|_| FloatFile::new(folder, nodes * dim));
        let tables = tables.collect::<Result<_>>()?;
        let rows = Blocks::rows_for(nodes, dim);
        let spill = Spill::new(folder, nodes.div_ceil(rows), cut.blocks())?;
        Ok(Self { cut, rows, dim, tables, pairs: EpochPairs::default(), spill, free: vec![] })
    }

    /// Samples the pairs of a pass into files.
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
        let (cut, order, dim, size) = (self.cut, self.cut.order, self.dim, self.rows * self.dim);
        let mut steps = cut.steps().peekable();
        let (mut losses, mut trained, count) = (Losses::new(order), 0, order.count() as f64);
        let (mut resident, mut pairs) = self.exchange(vec![], &[], steps.peek().copied())?;
        while let Some(place) = steps.next() {
            let rows = cut.rows(place);
            let is_used =
                |segment: &Segment| rows.contains(&segment.number) || segment.number == place.1;
            let (mut used, idle) = resident.into_iter().partition::<Vec<_>, _>(is_used);
            let numbers: Vec<usize> = used.iter().map(|segment| segment.number).collect();
            let (tasks, next) = (cut.tasks(place), steps.peek().copied());
            let keep_going =
                |part: f64| keep_going((trained as f64 + part * tasks.len() as f64) / count);
            let (done, exchanged) = thread::scope(|scope| {
                let exchange = scope.spawn(|| self.exchange(idle, &numbers, next));
                let mut groups = groups(cut, &mut used, size);
                let mut groups: Vec<_> = groups.iter_mut().map(Vec::as_mut_slice).collect();
                let done = Training { set, dim, order, pairs: &pairs }.run(
                    &tasks,
                    &step,
                    &mut groups,
                    keep_going,
                );
                (done, exchange.join().unwrap_or_else(|panic| resume_unwind(panic)))
            });
            (resident, pairs) = exchanged?;
            resident.append(&mut used);
            let ControlFlow::Continue(of_tasks) = done? else {
                self.write_all(resident)?;
                return Ok(ControlFlow::Break(()));
            };
            losses.add(&tasks, &of_tasks);
            trained += tasks.len();
        }
        self.write_all(resident)?;
        Ok(ControlFlow::Continue(losses.total()))
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

    /// Gives the memory of segments and pairs back.
    pub(super) fn free_buffers(&mut self) {
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

    /// Reads the column of a step, unless it is in memory, and the pairs of the step. `used` are the numbers
    /// of the segments that are being trained, and `idle` the other ones in memory. Returns those that are
    /// idle or were read.
    fn exchange(
        &mut self,
        mut idle: Vec<Segment>,
        used: &[usize],
        next: Option<Place>,
    ) -> Result<(Vec<Segment>, Vec<Lists>)> {
        let Some(place) = next else { return Ok((idle, vec![])) };
        let number = place.1;
        if !used.contains(&number) && idle.iter().all(|segment| segment.number != number) {
            // Rows of earlier steps, which are not needed again, have lower numbers than the last column.
            idle.sort_by_key(|segment| std::cmp::Reverse(segment.number));
            let is_full = idle.len() + used.len() == self.cut.in_memory();
            let mut tables = match idle.pop_if(|_| is_full) {
                Some(segment) => self.write(segment)?,
                None => self.free.pop().unwrap_or_else(|| self.buffer()),
            };
            let (at, len) = self.place(number);
            for (file, values) in self.tables.iter().zip(&mut tables) {
                file.read(at, &mut values[..len])?;
            }
            idle.push(Segment { number, tables });
        }
        Ok((idle, self.pairs_of(place)?))
    }

    /// Writes a segment, and returns its memory.
    fn write(&mut self, Segment { number, tables }: Segment) -> Result<Vec<Aligned>> {
        let (at, len) = self.place(number);
        for (file, values) in self.tables.iter_mut().zip(&tables) {
            file.write(at, &values[..len])?;
        }
        Ok(tables)
    }

    /// Writes segments; their memory is free.
    fn write_all(&mut self, segments: Vec<Segment>) -> Result<()> {
        segments.into_iter().try_for_each(|segment| {
            let tables = self.write(segment)?;
            self.free.push(tables);
            Ok(())
        })
    }

    /// The pairs of a step: those with centres in its rows, and those with centres in its column.
    fn pairs_of(&self, place: Place) -> Result<Vec<Lists>> {
        let (rows, column) = (self.cut.rows(place), place.1);
        let above = self.cut.blocks_of(rows.start..rows.end.min(column));
        let (rows, column) = (self.cut.blocks_of(rows), self.cut.blocks_of(column..column + 1));
        Ok(vec![self.spill.lists(rows, column.clone())?, self.spill.lists(column, above)?])
    }

    /// Memory for a segment. Its pages are taken when it is first read.
    fn buffer(&self) -> Vec<Aligned> {
        let (_, largest) = self.place(0);
        self.tables.iter().map(|_| Aligned::zeroed(largest)).collect()
    }

    /// Where the numbers of a segment begin in a table, and how many there are.
    fn place(&self, segment: usize) -> (usize, usize) {
        let blocks = self.cut.blocks_of(segment..segment + 1);
        let (start, size) = (blocks.start * self.rows * self.dim, self.rows * self.dim);
        let end = (blocks.end * size).min(self.tables[0].values().len());
        (start, end - start)
    }
}

/// The blocks of all groups; none of groups whose segment is not here.
fn groups(cut: Segments, segments: &mut [Segment], size: usize) -> Vec<Vec<BlockRows<'_>>> {
    let mut groups: Vec<Vec<BlockRows>> = vec![];
    groups.resize_with(cut.order.groups(), Vec::new);
    for Segment { number, tables } in segments {
        let tables = tables.iter_mut().map(|values| &mut values[..]).collect();
        let segment = *number..*number + 1;
        let mut blocks =
            tasks::blocks(tables, size).into_iter().take(cut.blocks_of(segment.clone()).len());
        for group in cut.groups_of(segment) {
            groups[group] = blocks.by_ref().take(cut.order.group).collect();
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

    /// The plan of a run whose table is cut into parts.
    fn plan(graph: &Graph, law: Negatives, train: &TrainConfig) -> TrainPlan {
        let train = TrainConfig { epochs: Some(2), ..train.clone() };
        let negatives = NegativeConfig { negatives: law, ..Default::default() };
        let settings = Settings { train, negatives };
        let plan = TrainPlan::new(&settings, graph, &Budget::default()).unwrap();
        TrainPlan { parts: 12, ..plan }
    }

    /// With one thread, a table of 32 blocks has sixteen segments, of which a quarter or all are in memory;
    /// with three threads, eight. A table of 16 blocks has eight segments.
    #[test]
    fn vectors_are_the_same_in_memory_and_in_files() {
        let graph = graph(50_000);
        let folder = tempfile::tempdir().unwrap();
        let scratch = Some(folder.path().to_owned());
        let small = TrainConfig { dim: 20, walks: Some(2), ..Default::default() };
        let large = TrainConfig { dim: 90, walks: Some(1), ..Default::default() };
        for (law, train, cuts) in [
            (Negatives::Uniform, large, &[(1, 2, 4), (1, 16, 16), (3, 1, 3)][..]),
            (
                Negatives::Degree,
                TrainConfig { order: 2, smoothing: Some(0), ..small.clone() },
                &[(1, 2, 4)],
            ),
            (
                Negatives::LandmarkApprox,
                TrainConfig { walk_length: Some(7), ..small },
                &[(3, 2, 4)],
            ),
        ] {
            let plan = plan(&graph, law, &train);
            let mut memory = Record::default();
            let expected = trained(&plan, &graph, None, &mut memory);
            for &(threads, held, in_memory) in cuts {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let on_disk = TrainPlan { scratch: scratch.clone(), held, ..plan.clone() };
                let mut files = Record::default();
                let found = pool.install(|| {
                    assert_eq!(Segments::new(&on_disk, 50_000).in_memory(), in_memory);
                    trained(&on_disk, &graph, None, &mut files)
                });
                assert!(found == expected, "{law:?}, {held} segments held");
                assert_eq!(files.events, memory.events, "{law:?}, {held} segments held");
            }
            assert_eq!(memory.events.len(), 2);
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
