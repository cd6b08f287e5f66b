//! The work of a run as pure functions, for machines that share no memory.
//!
//! [`Tasks::sample`] samples the pairs whose centres are in one part, [`Tasks::train`] trains the pairs of
//! a stage given the rows of its two parts. Both depend on nothing but their arguments, the plan and the
//! graph. Of two stages of a pass that share a part, the later one takes the rows that the earlier one
//! returned; others may run at the same time. So the vectors are those of a local run, to the byte,
//! wherever tasks run, and however often.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use super::blocks::Blocks;
use super::padded;
use super::sampling::{EpochPairs, PairSources, Sampling};
use super::schedule::{Order, Stage};
use super::spill::{Lists, append};
use super::tasks::{self, BlockRows, Losses, Training};
use crate::embedding::Embedding;
use crate::error::{Error, Problem, Result};
use crate::graph::Graph;
use crate::negative::NegativeSampler;
use crate::positive::PositiveSource;
use crate::train::backend::{Backend, EpochStats, KeepGoing, VectorView, positives};
use crate::train::l2::L2Controller;
use crate::train::pmi::join;
use crate::train::smooth::smooth;
use crate::train::{Checkpoint, Device, Event, Recorder, State, TrainPlan, Trainer, initial};

/// What tasks of a run have in common.
pub struct Tasks {
    plan: TrainPlan,
    graph: Arc<Graph>,
    positives: Box<dyn PositiveSource>,
    negatives: Box<dyn NegativeSampler>,
    order: Order,
    /// Rows in a block.
    rows: usize,
}

impl Tasks {
    /// The tasks of a plan. Fails unless the stream trainer trains, with windows that are whole walks: those
    /// that slide need the walks of all nodes.
    pub fn new(plan: TrainPlan, graph: &Arc<Graph>) -> Result<Self> {
        if plan.trainer != Trainer::Stream {
            let problem = Problem::from("only the stream trainer trains on a cluster");
            return Err(Error::conflict(problem.set("trainer", "stream")));
        }
        if plan.windows() > 1 {
            let problem =
                Problem::from("windows that slide along walks need the walks of all nodes");
            return Err(Error::conflict(problem.omit("walk-length")));
        }
        if plan.scratch.is_some() {
            let problem = Problem::from("vectors are in memory where a cluster trains them");
            return Err(Error::conflict(problem.omit("scratch")));
        }
        if plan.device != Device::Cpu {
            return Err(Error::conflict(
                Problem::from("the machines of a cluster train on their CPUs").omit("device"),
            ));
        }
        let (negatives, positives) = (plan.negatives.build(graph)?, positives(&plan, graph)?);
        let rows = Blocks::rows_for(graph.nodes(), padded(&plan));
        let order = Order::new(graph.nodes().div_ceil(rows), plan.parts);
        Ok(Self { plan, graph: Arc::clone(graph), positives, negatives, order, rows })
    }

    /// The plan.
    pub fn plan(&self) -> &TrainPlan {
        &self.plan
    }

    /// Numbers in a row.
    pub fn stride(&self) -> usize {
        padded(&self.plan)
    }

    /// The nodes of each part.
    pub fn parts(&self) -> Vec<Range<usize>> {
        (0..self.order.parts()).map(|part| self.nodes(part)).collect()
    }

    /// The pairs of parts that a pass trains, in order.
    pub fn stages(&self) -> Vec<Stage> {
        self.order.stages().collect()
    }

    /// The initial vectors, in padded rows. Context vectors start at zero.
    pub fn start(&self) -> Vec<f32> {
        let mut rows = vec![0.0; self.graph.nodes() * self.stride()];
        initial(&self.plan, &self.graph, None, self.stride(), &mut rows);
        rows
    }

    /// Samples the pairs of a pass, counted over the run, whose centres are in one part: for each part of
    /// other nodes, the lists as [`train`](Self::train) takes them. Returns the number of pairs, too.
    pub fn sample(&self, pass: usize, part: usize) -> Result<(Vec<Vec<u32>>, u64)> {
        let TrainPlan { walks, passes, length, window, k, seed, .. } = self.plan;
        let more = usize::from(pass % passes < walks % passes);
        let sampling = Sampling {
            walks: walks / passes + more,
            length,
            context: window,
            negatives: k,
            ahead: 1,
            seed,
        };
        let (positives, negatives) = (&*self.positives, &*self.negatives);
        let (nodes, rows) = (self.graph.nodes(), self.rows);
        let sources = PairSources { positives, negatives, nodes, rows };
        let mut lists = vec![vec![]; self.order.parts()];
        let mut pairs = EpochPairs::default();
        let take = |_, block: &_| {
            for (others, numbers) in lists.iter_mut().enumerate() {
                append(block, self.order.blocks_of(others), numbers);
            }
            Ok(())
        };
        let blocks = self.order.blocks_of(part);
        let keep_going = |_| Ok(ControlFlow::Continue(()));
        // Nothing stops it.
        let _ = pairs.sample_some(sources, sampling, pass as u64, blocks, take, keep_going)?;
        Ok((lists, pairs.count))
    }

    /// Trains the pairs of a stage in a pass with this λ. `parts` are the rows of its parts, one if they
    /// are the same: of the vectors and, in second-order models, of the context vectors. `there` are the
    /// pairs with centres in the first part, `back` those of the second one. Returns the sum of losses of
    /// each row of groups.
    pub fn train(
        &self,
        (pass, l2): (usize, f64),
        (a, b): Stage,
        parts: &mut [Vec<&mut [f32]>],
        (there, back): (&[u32], &[u32]),
    ) -> Result<Vec<f64>> {
        let Self { plan, order, .. } = self;
        let here: &[usize] = if a == b { &[a] } else { &[a, b] };
        let size = |part: usize| self.nodes(part).len() * self.stride();
        let fits = |(part, tables): (&usize, &Vec<&mut [f32]>)| {
            tables.len() == plan.order && tables.iter().all(|table| table.len() == size(*part))
        };
        let lists = |centres, others, numbers| Lists::parse(*order, (centres, others), numbers);
        let pairs: Option<Vec<Lists>> = if a == b {
            lists(a, b, there).map(|there| vec![there])
        } else {
            [lists(a, b, there), lists(b, a, back)].into_iter().collect()
        };
        let (true, Some(pairs), true) = (
            order.stages().any(|stage| stage == (a, b)),
            pairs,
            parts.len() == here.len() && here.iter().zip(&*parts).all(fits),
        ) else {
            return Err(Error::conflict("rows or pairs are not those of the stage"));
        };
        let step = |within: f64| {
            let (epoch, of_epoch) = (pass / plan.passes, (pass % plan.passes) as f64);
            let done =
                (epoch as f64 + (of_epoch + within) / plan.passes as f64) / plan.epochs as f64;
            plan.step(l2, done)
        };
        let mut groups: Vec<Vec<BlockRows>> = vec![];
        groups.resize_with(order.groups(), Vec::new);
        for (&part, tables) in here.iter().zip(parts) {
            let tables = tables.iter_mut().map(|table| &mut **table).collect();
            let mut blocks = tasks::blocks(tables, self.rows * self.stride()).into_iter();
            for group in order.groups_of(part) {
                groups[group] = blocks.by_ref().take(order.group).collect();
            }
        }
        let mut groups: Vec<_> = groups.iter_mut().map(Vec::as_mut_slice).collect();
        let (set, dim) = (plan.kernel, self.stride());
        let training = Training { set, dim, order: *order, pairs: &pairs };
        let keep_going = |_| Ok(ControlFlow::Continue(()));
        let tasks = order.of_stage((a, b));
        let of_tasks = training.run(&tasks, step, &mut groups, keep_going)?;
        let mut losses = Losses::new(*order);
        losses.add(&tasks, &of_tasks.continue_value().unwrap_or_default());
        Ok(losses.of_stage((a, b)).collect())
    }

    /// The nodes of a part.
    fn nodes(&self, part: usize) -> Range<usize> {
        let blocks = self.order.blocks_of(part);
        blocks.start * self.rows..self.graph.nodes().min(blocks.end * self.rows)
    }
}

/// What a run on a cluster decides between epochs, and keeps: λ, the log, checkpoints, the result.
pub struct Run {
    tasks: Arc<Tasks>,
    l2: L2Controller,
    recorder: Recorder,
}

/// All rows of a run, padded: of the vectors, and of the context vectors if there are any.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AllRows {
    /// The vectors.
    pub centres: Vec<f32>,
    /// The context vectors; empty if there are none.
    pub contexts: Vec<f32>,
}

impl Run {
    /// The run of tasks, the epochs that are complete, and the rows after them: from a checkpoint, if the
    /// recorder has one to continue from. `report` receives the first events.
    pub fn new(
        tasks: &Arc<Tasks>,
        mut recorder: Recorder,
        mut report: impl FnMut(&Event) -> Result<()>,
    ) -> Result<(Self, usize, AllRows)> {
        let plan = &tasks.plan;
        let checkpoint = recorder.plan(plan)?;
        let l2 = L2Controller::new(plan.l2, &tasks.graph, plan.dim, plan.kernel);
        let started = Event::Started {
            nodes: tasks.graph.nodes(),
            epochs: plan.epochs,
            walks: plan.walks,
            kernel: plan.kernel.name(),
            memory: plan.memory,
            settings: plan.provenance(),
        };
        recorder.event(&started)?;
        report(&started)?;
        let mut run = Self { tasks: Arc::clone(tasks), l2, recorder };
        let rows = tasks.graph.nodes() * tasks.stride();
        let Some(checkpoint) = checkpoint else {
            let contexts = vec![0.0; if plan.order == 2 { rows } else { 0 }];
            return Ok((run, 0, AllRows { centres: tasks.start(), contexts }));
        };
        let foreign = || Error::conflict("the checkpoint is of another graph or of other settings");
        let Checkpoint { epoch, vectors, state, .. } = &checkpoint;
        let (numbers, contexts) = state.split_first_chunk::<32>().ok_or_else(foreign)?;
        let mut values = numbers.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes));
        let values = std::array::from_fn(|_| values.next().unwrap_or_default());
        let contexts: Vec<f32> =
            contexts.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let expected = if plan.order == 2 { rows } else { 0 };
        let restored = run.l2.restore(values).is_some();
        if !restored
            || vectors.len() * tasks.stride() != rows * plan.dim
            || contexts.len() != expected
        {
            return Err(foreign());
        }
        let mut centres = vec![0.0; rows];
        for (row, vector) in
            centres.chunks_exact_mut(tasks.stride()).zip(vectors.chunks_exact(plan.dim))
        {
            row[..plan.dim].copy_from_slice(vector);
        }
        let resumed = Event::Resumed { epoch: *epoch, kernel: None };
        run.recorder.event(&resumed)?;
        report(&resumed)?;
        Ok((run, *epoch, AllRows { centres, contexts }))
    }

    /// λ of the next epoch.
    pub fn lambda(&self) -> f64 {
        self.l2.lambda
    }

    /// Adjusts λ after an epoch, counted from 0, by every [`step`](crate::train::l2::step)-th row, and
    /// records it.
    pub fn after(
        &mut self,
        epoch: usize,
        (pairs, loss): (u64, f64),
        rows: &[f32],
    ) -> Result<Event> {
        let (plan, stride) = (&self.tasks.plan, self.tasks.stride());
        let (l2, loss) = (self.l2.lambda, loss / (pairs as f64).max(1.0));
        let epochs = plan.epochs;
        let rows = rows.chunks_exact(stride);
        let effective_rank = self.l2.after_some(epoch, epochs, rows, plan.dim);
        if !loss.is_finite() {
            let problem = Problem::from(format!("training diverged in epoch {}", epoch + 1));
            return Err(Error::conflict(problem.lower("lr")));
        }
        let done = Event::Epoch { epoch: epoch + 1, epochs, pairs, loss, l2, effective_rank };
        self.recorder.event(&done)?;
        Ok(done)
    }

    /// Saves a checkpoint after so many epochs: the file of a local run.
    pub fn save(&mut self, epoch: usize, rows: AllRows) -> Result<()> {
        let (plan, graph) = (&self.tasks.plan, &self.tasks.graph);
        let state = self.l2.state().into_iter().flat_map(f64::to_le_bytes).collect();
        let fetched = Fetched { rows, dim: plan.dim, stride: self.tasks.stride(), state };
        let state = State { epoch, backend: &fetched, plan, graph };
        self.recorder.state(&state, ControlFlow::Break(()))
    }

    /// Smooths the vectors, and completes the log.
    pub fn finish(self, rows: AllRows) -> Result<Embedding> {
        let (plan, graph, stride) = (&self.tasks.plan, &self.tasks.graph, self.tasks.stride());
        let unpadded = |values: &[f32]| -> Vec<f32> {
            values.chunks_exact(stride).flat_map(|row| &row[..plan.dim]).copied().collect()
        };
        let AllRows { centres, contexts } = rows;
        let mut vectors = unpadded(&centres);
        let undirected = graph.to_undirected();
        smooth(&undirected, &mut vectors, plan.dim, plan.smoothing);
        if plan.pmi > 0.0 {
            join(&undirected, &mut vectors, plan.dim, plan.pmi, plan.seed);
        }
        self.recorder.finish()?;
        let embedding = Embedding::new(graph.ids().clone(), plan.dim, vectors)?;
        let embedding = embedding.with_provenance(plan.provenance());
        Ok(match plan.order {
            2 => embedding.with_contexts(unpadded(&contexts).into()),
            _ => embedding,
        })
    }
}

/// Rows that were fetched to be saved.
struct Fetched {
    rows: AllRows,
    dim: usize,
    stride: usize,
    state: Vec<u8>,
}

impl Backend for Fetched {
    fn epoch(
        &mut self,
        _epoch: usize,
        _keep_going: &mut KeepGoing<'_>,
    ) -> Result<ControlFlow<(), EpochStats>> {
        Ok(ControlFlow::Break(()))
    }

    fn vectors(&self) -> VectorView<'_> {
        VectorView { values: &self.rows.centres, dim: self.dim, stride: self.stride }
    }

    fn state(&self) -> Option<Vec<u8>> {
        Some(self.state.clone())
    }

    fn contexts(&self) -> &[f32] {
        &self.rows.contexts
    }

    fn into_vectors(self: Box<Self>) -> Vec<f32> {
        self.vectors().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::super::schedule::levels;
    use super::*;
    use crate::budget::Budget;
    use crate::graph::{EdgeList, NodeIds};
    use crate::negative::{NegativeConfig, Negatives};
    use crate::train::{L2, Settings, TrainConfig};

    /// Stages that run beside each other, on copies of the rows, leave the bytes of a local run.
    #[test]
    fn tasks_in_another_order_train_the_vectors_of_a_local_run() {
        let nodes = 700;
        let pairs = (0..nodes).flat_map(|a| [(a, (a + 1) % nodes), (a, (a * a + 7) % nodes)]);
        let ids = NodeIds::Range { start: 0, len: nodes as usize };
        let edges = EdgeList { pairs: pairs.collect(), weights: None, ids };
        let graph = Arc::new(edges.build().unwrap().0);
        let l2 = 0.05;
        let train = TrainConfig {
            dim: 20,
            order: 2,
            walks: Some(3),
            epochs: Some(2),
            l2: L2::Value(l2),
            smoothing: Some(0),
            start: Some(crate::train::Start::Random),
            ..Default::default()
        };
        let negatives = NegativeConfig { negatives: Negatives::Degree, ..Default::default() };
        let plan = |parts| {
            let settings = Settings { train: train.clone(), negatives: negatives.clone() };
            let plan = TrainPlan::new(&settings, &graph, &Budget::default()).unwrap();
            TrainPlan { parts, ..plan }
        };
        let tasks = Tasks::new(plan(5), &graph).unwrap();
        let (parts, stages, stride) = (tasks.parts(), tasks.stages(), tasks.stride());
        assert!(parts.len() == 4 || parts.len() == 5, "{parts:?}");
        let start = tasks.start();
        let rows = |part: &Range<usize>| start[part.start * stride..part.end * stride].to_vec();
        let mut blocks: Vec<Vec<Vec<f32>>> =
            parts.iter().map(|part| vec![rows(part), vec![0.0; part.len() * stride]]).collect();
        for pass in 0..2 * tasks.plan().passes {
            let lists: Vec<_> =
                (0..parts.len()).map(|part| tasks.sample(pass, part).unwrap().0).collect();
            for level in levels(stages.iter().copied(), parts.len()) {
                for &stage in level.iter().rev() {
                    let (a, b) = stages[stage];
                    let mut here: Vec<_> = [a, b].map(|part| blocks[part].clone()).into();
                    here.truncate(if a == b { 1 } else { 2 });
                    let mut views: Vec<Vec<&mut [f32]>> = here
                        .iter_mut()
                        .map(|tables| tables.iter_mut().map(Vec::as_mut_slice).collect())
                        .collect();
                    let lists = (&lists[a][b][..], &lists[b][a][..]);
                    tasks.train((pass, l2), (a, b), &mut views, lists).unwrap();
                    for (part, new) in [a, b].into_iter().zip(here) {
                        blocks[part] = new;
                    }
                }
            }
        }
        let found: Vec<f32> = blocks.iter().flat_map(|tables| &tables[0]).copied().collect();
        let expected = super::super::tests::local(&plan(5), &graph);
        assert!(found == expected);
        // The same lists again, whoever asks; others are refused.
        let (lists, count) = tasks.sample(1, 2).unwrap();
        assert_eq!((&lists, count), (&tasks.sample(1, 2).unwrap().0, count));
        assert!(count > 0);
        let mut tables = blocks[0].clone();
        let mut views = [tables.iter_mut().map(Vec::as_mut_slice).collect()];
        assert!(tasks.train((0, l2), (0, 0), &mut views, (&lists[2][1..], &[])).is_err());
    }
}
