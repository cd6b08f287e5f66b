//! The stream trainer over an [`Engine`].
//!
//! # Derivation
//!
//! The CPU trains the pairs of a pass one after the other, block by block, and a thread waits for what it
//! reads. A GPU hides that by doing tens of thousands of rows at once. So here a step is one of gradient
//! descent: all rows move, by the pairs of a minibatch, from the vectors before it. A minibatch has about
//! one window of each node, so that the pairs of a node weigh 2 + 2 w on average, as in a step of
//! the exact trainer with the same learning rate; the weight of a hub, which is in many windows, is capped
//! as it is there. The sampled pairs are those of the CPU, bit for bit.
//!
//! No sum depends on an order that is not determined: rows sum integers (`kernels/training.cuh`). The
//! bytes are those of any GPU, and of the [twin](crate::twin).

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use nearfar::graph::Graph;
use nearfar::simd::LANES;
use nearfar::train::l2::L2Controller;
use nearfar::train::{Array, Backend, EpochStats, KeepGoing, Task, TrainPlan, VectorView, initial};
use nearfar::{Error, Result};

use crate::engine::{Engine, Totals, centres_on_host};
use crate::host::Host;
use crate::shape::{Shape, Step};

/// The trainer.
pub(crate) struct Stream<'a, E> {
    plan: &'a TrainPlan,
    graph: &'a Arc<Graph>,
    shape: Shape,
    engine: E,
    host: Host<'a>,
    l2: L2Controller,
    /// The vectors as they are, once somebody asked for them.
    downloaded: OnceLock<Vec<f32>>,
}

impl<'a, E: Engine> Stream<'a, E> {
    /// The trainer of a task, with the engine that `build` makes for the shape of the run.
    pub(crate) fn new(
        task: Task<'a>,
        build: impl FnOnce(Shape, &Task<'a>) -> Result<E>,
    ) -> Result<Self> {
        let (plan, graph, negatives) = (task.plan, task.graph, task.negatives);
        let walks = device_walks(plan, &task);
        let law = negatives.arrays();
        let shape = Shape::new(plan, graph.nodes(), walks.as_ref());
        let centres = centres_on_host(graph.nodes(), negatives, law.as_ref());
        let on_host = walks.is_none();
        drop((walks, law));
        let mut engine = build(shape, &task)?;
        if task.init.is_some() || !engine.start(&task)? {
            let mut vectors = vec![0.0; shape.nodes * shape.stride];
            initial(plan, graph, task.init, shape.stride, &mut vectors);
            let contexts = shape.has_contexts.then(|| vec![0.0; vectors.len()]);
            engine.set(&vectors, contexts.as_deref())?;
        }
        let host = Host::new(plan, task.positives, negatives, on_host, centres);
        let l2 = controller(plan, graph);
        Ok(Self { plan, graph, shape, engine, host, l2, downloaded: OnceLock::new() })
    }

    /// The engine.
    pub(crate) fn engine(&mut self) -> &mut E {
        &mut self.engine
    }

    /// Samples a pass, counted over the whole run.
    pub(crate) fn sample(&mut self, number: usize) -> Result<()> {
        let plan = self.plan;
        let within = number % plan.passes;
        let walks = plan.walks / plan.passes + usize::from(within < plan.walks % plan.passes);
        let pass = self.shape.pass(number as u64, walks);
        let drawn = self.host.draw(self.shape, pass);
        self.engine.sample(pass, &drawn)
    }
}

/// What walks on the device are made of; `None` if they are taken on the host.
pub(crate) fn device_walks<'t>(
    plan: &TrainPlan,
    task: &'t Task<'_>,
) -> Option<nearfar::positive::WalkArrays<'t>> {
    if plan.windows() > 1 {
        return None;
    }
    task.positives.arrays()
}

fn controller(plan: &TrainPlan, graph: &Graph) -> L2Controller {
    L2Controller::new(plan.l2, graph, plan.dim, plan.kernel)
}

impl<E: Engine> Backend for Stream<'_, E> {
    fn epoch(
        &mut self,
        epoch: usize,
        keep_going: &mut KeepGoing<'_>,
    ) -> Result<ControlFlow<(), EpochStats>> {
        let (plan, l2) = (self.plan, self.l2.lambda);
        self.downloaded = OnceLock::new();
        for pass in 0..plan.passes {
            let number = epoch * plan.passes + pass;
            if keep_going(pass as f64 / plan.passes as f64)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            self.sample(number)?;
            for batch in 0..self.shape.batches {
                let within = batch as f64 / self.shape.batches as f64;
                let done = (number as f64 + within) / (plan.epochs * plan.passes) as f64;
                self.engine.step(batch, Step::new(plan, l2, done))?;
            }
        }
        let Totals { pairs, loss } = self.engine.totals()?;
        let mut effective_rank = None;
        if self.l2.is_due(epoch, plan.epochs) {
            // A thousand rows show the rank as well as all.
            let every = self.shape.nodes.div_ceil(1024).max(1);
            let rows = self.engine.some_rows(every)?;
            let rows = rows.chunks_exact(self.shape.stride);
            effective_rank = self.l2.after(epoch, plan.epochs, rows, plan.dim);
        }
        let loss = loss / (pairs as f64).max(1.0);
        Ok(ControlFlow::Continue(EpochStats { pairs, loss, l2, effective_rank }))
    }

    fn vectors(&self) -> VectorView<'_> {
        // A device that fails here fails in the next epoch too, which says so.
        let download = || {
            self.engine
                .vectors()
                .unwrap_or_else(|_| vec![f32::NAN; self.shape.nodes * self.shape.stride])
        };
        let values = self.downloaded.get_or_init(download);
        VectorView { values, dim: self.plan.dim, stride: self.shape.stride }
    }

    /// The state of the L2 controller, then the context vectors.
    fn state(&self) -> Option<Vec<u8>> {
        let contexts = self.engine.contexts().ok()?.unwrap_or_default();
        let numbers = self.l2.state().into_iter().flat_map(f64::to_le_bytes);
        Some(numbers.chain(contexts.iter().flat_map(|value| value.to_le_bytes())).collect())
    }

    fn restore(&mut self, vectors: &Array<f32>, state: &Array<u8>) -> Result<()> {
        let (dim, Shape { nodes, stride, has_contexts, .. }) = (self.plan.dim, self.shape);
        let (numbers, contexts) = state.split_at(state.len().min(32));
        let contexts: Vec<f32> =
            contexts.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let expected = if has_contexts { nodes * stride } else { 0 };
        let (Ok(numbers), true, true) = (
            <[[u8; 8]; 4]>::try_from(numbers.as_chunks().0),
            vectors.len() == nodes * dim,
            contexts.len() == expected,
        ) else {
            return Err(Error::conflict("the checkpoint is of another graph or of other settings"));
        };
        let restored = self.l2.restore(numbers.map(f64::from_le_bytes));
        if restored.is_none() || vectors.iter().chain(&contexts).any(|value| !value.is_finite()) {
            return Err(Error::conflict("the checkpoint holds numbers that no run can have"));
        }
        let mut padded = vec![0.0; nodes * stride];
        let rows = padded.chunks_exact_mut(stride).zip(vectors.chunks_exact(dim));
        rows.for_each(|(row, vector)| row[..dim].copy_from_slice(vector));
        self.downloaded = OnceLock::new();
        self.engine.set(&padded, has_contexts.then_some(&contexts))
    }

    fn smooth(&mut self, times: usize) -> Result<bool> {
        self.downloaded = OnceLock::new();
        self.engine.smooth(self.graph, times)
    }

    fn into_vectors(self: Box<Self>) -> Vec<f32> {
        self.into_vecs().0
    }

    fn into_both(self: Box<Self>) -> Result<(Array<f32>, Option<Array<f32>>)> {
        let (vectors, contexts) = self.into_vecs();
        Ok((vectors.into(), contexts.map(Array::from)))
    }
}

impl<E: Engine> Stream<'_, E> {
    fn into_vecs(mut self) -> (Vec<f32>, Option<Vec<f32>>) {
        let vectors = match self.vectors() {
            // Copied once more only where rows are padded.
            view if view.stride > view.dim => view.to_vec(),
            _ => self.downloaded.take().unwrap_or_default(),
        };
        let contexts = self.engine.contexts().ok().flatten();
        let contexts = contexts.map(|values| {
            VectorView { values: &values, dim: self.plan.dim, stride: self.shape.stride }.to_vec()
        });
        (vectors, contexts)
    }
}

/// Rows are padded for the vectors of the CPU too; kernels rely on whole quadruples.
const _: () = assert!(LANES.is_multiple_of(4));
