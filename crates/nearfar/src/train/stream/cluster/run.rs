//! What the process that submits tasks does itself.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::Tasks;
use crate::embedding::Embedding;
use crate::error::{Error, Problem, Result};
use crate::train::backend::{Backend, EpochStats, KeepGoing, VectorView};
use crate::train::l2::L2Controller;
use crate::train::pmi::join;
use crate::train::smooth::smooth;
use crate::train::{Checkpoint, Event, Sink, State};

/// What a run on a cluster decides between epochs: λ, and the result. A sink records it.
pub struct Run<S> {
    tasks: Arc<Tasks>,
    l2: L2Controller,
    sink: S,
}

/// All rows of a run, padded: of the vectors, and of the context vectors if there are any.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AllRows {
    /// The vectors.
    pub centres: Vec<f32>,
    /// The context vectors; empty if there are none.
    pub contexts: Vec<f32>,
}

impl<S: Sink> Run<S> {
    /// The run of tasks, the epochs that are complete, and the rows after them: from a checkpoint, if the
    /// sink has one to continue from. `report` receives the first events, as the sink does.
    pub fn new(
        tasks: &Arc<Tasks>,
        mut sink: S,
        mut report: impl FnMut(&Event) -> Result<()>,
    ) -> Result<(Self, usize, AllRows)> {
        let plan = &tasks.plan;
        let checkpoint = sink.plan(plan)?.continue_value().flatten();
        let l2 = L2Controller::new(plan.l2, &tasks.graph, plan.dim, plan.kernel);
        let started = Event::Started {
            nodes: tasks.graph.nodes(),
            epochs: plan.epochs,
            walks: plan.walks,
            kernel: plan.kernel.name(),
            memory: plan.memory,
            settings: plan.provenance(),
        };
        // Who stops a run asks for no more tasks.
        let _ = sink.event(&started)?;
        report(&started)?;
        let mut run = Self { tasks: Arc::clone(tasks), l2, sink };
        let rows = tasks.graph.nodes() * tasks.stride();
        let Some(checkpoint) = checkpoint else {
            let contexts = vec![0.0; if plan.order == 2 { rows } else { 0 }];
            return Ok((run, 0, AllRows { centres: tasks.start(), contexts }));
        };
        checkpoint.check_epoch(plan.epochs)?;
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
        let kernel = Some(checkpoint.kernel()).filter(|kernel| *kernel != plan.kernel.name());
        let resumed = Event::Resumed { epoch: *epoch, kernel };
        let _ = run.sink.event(&resumed)?;
        report(&resumed)?;
        Ok((run, *epoch, AllRows { centres, contexts }))
    }

    /// λ of the next epoch.
    pub fn lambda(&self) -> f64 {
        self.l2.lambda
    }

    /// Whether λ is adjusted after an epoch, counted from 0: the next one cannot begin before.
    pub fn adjusts(&self, epoch: usize) -> bool {
        self.l2.adjusts(epoch, self.tasks.plan.epochs)
    }

    /// Some more of the run is done.
    pub fn progress(&mut self, done: f64) -> Result<Event> {
        let progress = Event::Progress { done };
        let _ = self.sink.event(&progress)?;
        Ok(progress)
    }

    /// Adjusts λ after an epoch, counted from 0, by every [`step`](crate::train::l2::step)-th row, and
    /// records it. Where it is not [adjusted](Self::adjusts), no rows are needed.
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
        let _ = self.sink.event(&done)?;
        Ok(done)
    }

    /// Saves a checkpoint after so many epochs: the file of a local run.
    pub fn save(&mut self, epoch: usize, rows: AllRows) -> Result<()> {
        let (plan, graph) = (&self.tasks.plan, &self.tasks.graph);
        let state = self.l2.state().into_iter().flat_map(f64::to_le_bytes).collect();
        let fetched = Fetched { rows, dim: plan.dim, stride: self.tasks.stride(), state };
        self.sink.state(&State { epoch, backend: &fetched, plan, graph }).map(drop)
    }

    /// Smooths the vectors and joins those of edges. Returns the sink, too.
    pub fn finish(self, rows: AllRows) -> Result<(Embedding, S)> {
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
        let embedding = Embedding::new(graph.ids().clone(), plan.dim, vectors)?;
        let embedding = embedding.with_provenance(plan.provenance());
        let embedding = match plan.order {
            2 => embedding.with_contexts(unpadded(&contexts).into()),
            _ => embedding,
        };
        Ok((embedding, self.sink))
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
