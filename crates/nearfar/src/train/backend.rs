//! The trait that a trainer implements, and the one epoch loop.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::batch::Batches;
use super::config::{Model, Trainer};
use super::exact::Exact;
use super::observe::{Checkpoint, Event, Sink, State};
use super::plan::TrainPlan;
use super::pmi::join;
use super::smooth::smooth;
use super::stream::Stream;
use crate::embedding::Embedding;
use crate::encode::{Encoder, Features};
use crate::error::{Error, Problem, Result};
use crate::graph::Graph;
use crate::memory::{self, Array};
use crate::negative::NegativeSampler;
use crate::positive::{Node2Vec, PositiveSource, Walk};
use crate::simd::InstructionSet;

/// Asked with the completed fraction of an epoch; `Break` ends the epoch there.
pub type KeepGoing<'a> = dyn FnMut(f64) -> Result<ControlFlow<()>> + 'a;

/// What trains vectors: where they live and who does the arithmetic.
pub trait Backend {
    /// Trains for an epoch, counted from 0. `Break` if `keep_going` said so.
    fn epoch(
        &mut self,
        epoch: usize,
        keep_going: &mut KeepGoing<'_>,
    ) -> Result<ControlFlow<(), EpochStats>>;

    /// The vectors as they are.
    fn vectors(&self) -> VectorView<'_>;

    /// Gives memory of [`vectors`](Self::vectors) that were read back to the system, where they are in
    /// a file.
    fn release(&self) {}

    /// What [`restore`](Self::restore) needs beside the vectors and the context vectors, in bytes that
    /// only this backend reads. `None` if its runs cannot be resumed.
    fn state(&self) -> Option<Vec<u8>> {
        None
    }

    /// The context vectors, which belong to the state and follow its bytes; none by default.
    fn contexts(&self) -> &[f32] {
        &[]
    }

    /// Continues from vectors and bytes that [`vectors`](Self::vectors) and [`state`](Self::state)
    /// returned after an epoch, to the same result as if it had not been interrupted.
    fn restore(&mut self, _vectors: &Array<f32>, _state: &Array<u8>) -> Result<()> {
        Err(cannot_resume())
    }

    /// Smooths the vectors so many times where they are; `false` if that is left to the caller.
    fn smooth(&mut self, _times: usize) -> Result<bool> {
        Ok(false)
    }

    /// The parameters of the encoder, if a model of them can be saved.
    fn parameters(&self) -> Option<&[f32]> {
        None
    }

    /// The vectors, row by row.
    fn into_vectors(self: Box<Self>) -> Vec<f32>;

    /// The vectors, and those of nodes as contexts if there are any, row by row.
    fn into_both(self: Box<Self>) -> Result<(Array<f32>, Option<Array<f32>>)> {
        Ok((self.into_vectors().into(), None))
    }
}

/// Rows of vectors, possibly padded.
#[derive(Clone, Copy, Debug)]
pub struct VectorView<'a> {
    /// The numbers, row by row.
    pub values: &'a [f32],
    /// Dimensions of a vector: the first numbers of each row.
    pub dim: usize,
    /// Numbers in a row.
    pub stride: usize,
}

/// What an epoch did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpochStats {
    /// Pairs trained.
    pub pairs: u64,
    /// The mean loss of a pair.
    pub loss: f64,
    /// The λ of L2 regularisation.
    pub l2: f64,
    /// The effective rank of the vectors after it, if it was measured.
    pub effective_rank: Option<f64>,
}

/// What a backend is built from.
pub struct Task<'a> {
    /// The resolved settings.
    pub plan: &'a TrainPlan,
    /// The graph.
    pub graph: &'a Arc<Graph>,
    /// Walks that positive pairs come from.
    pub positives: Box<dyn PositiveSource>,
    /// The law of negatives.
    pub negatives: &'a dyn NegativeSampler,
    /// The encoder in place of the model's own.
    pub encoder: Option<Box<dyn Encoder>>,
    /// The instruction set to train with.
    pub instruction_set: InstructionSet,
    /// The vectors to start from, in place of the planned ones.
    pub init: Option<&'a Embedding>,
    /// The features that a network reads.
    pub features: Option<Arc<Features>>,
}

/// What training returns.
pub(crate) struct Trained {
    pub(crate) vectors: Array<f32>,
    /// The context vectors, if there are any.
    pub(crate) contexts: Option<Array<f32>>,
    /// The parameters of a network that reads features.
    pub(crate) parameters: Option<Vec<f32>>,
}

impl<'a> VectorView<'a> {
    /// The vectors in order.
    pub fn rows(self) -> impl Iterator<Item = &'a [f32]> + Clone {
        self.values.chunks_exact(self.stride.max(1)).map(move |row| &row[..self.dim])
    }

    /// A copy without padding.
    pub fn to_vec(self) -> Vec<f32> {
        self.rows().flatten().copied().collect()
    }
}

impl<'a> Task<'a> {
    /// The backend of the planned trainer.
    pub fn backend(self) -> Result<Box<dyn Backend + 'a>> {
        if self.encoder.is_some() && self.plan.trainer != Trainer::Batch {
            let problem = Problem::from("an encoder needs the batch trainer");
            return Err(Error::conflict(problem.set("trainer", "batch")));
        }
        Ok(match self.plan.trainer {
            Trainer::Stream => Box::new(Stream::new(self)?),
            Trainer::Batch => Box::new(Batches::new(self)),
            Trainer::Exact => Box::new(Exact::new(&self)),
        })
    }
}

/// The walks of a model.
pub(crate) fn positives(plan: &TrainPlan, graph: &Arc<Graph>) -> Result<Box<dyn PositiveSource>> {
    Ok(match plan.model {
        Model::Node2vec => {
            Box::new(Node2Vec::with_centre_power(graph, plan.p, plan.q, plan.centre_power)?)
        }
        _ => Box::new(Walk::with_centre_power(graph, plan.centre_power)),
    })
}

/// Runs all epochs, from the checkpoint on if there is one, smooths the vectors, and joins those of edges.
pub(crate) fn run(
    mut backend: Box<dyn Backend + '_>,
    plan: &TrainPlan,
    graph: &Arc<Graph>,
    started: &Event,
    checkpoint: Option<Checkpoint>,
    sink: &mut dyn Sink,
) -> Result<Trained> {
    let mut stopped = sink.event(started)?.is_break();
    let mut first = 0;
    if let Some(checkpoint) = checkpoint {
        checkpoint.check_epoch(plan.epochs)?;
        backend.restore(&checkpoint.vectors, &checkpoint.state)?;
        first = checkpoint.epoch;
        let kernel = Some(checkpoint.kernel()).filter(|kernel| *kernel != plan.kernel.name());
        stopped |= sink.event(&Event::Resumed { epoch: first, kernel })?.is_break();
    }
    let epochs = plan.epochs;
    let mut most: f64 = 0.0;
    for epoch in first..epochs {
        if stopped {
            break;
        }
        let mut keep_going = |part: f64| {
            // Work that was done ahead for later epochs stays done.
            most = most.max((epoch as f64 + part) / epochs as f64).min(1.0);
            sink.event(&Event::Progress { done: most })
        };
        if keep_going(0.0)?.is_break() {
            break;
        }
        let Some(stats) = backend.epoch(epoch, &mut keep_going)?.continue_value() else { break };
        let EpochStats { pairs, loss, l2, effective_rank } = stats;
        let epoch = epoch + 1;
        if !loss.is_finite() {
            let problem = Problem::from(format!("training diverged in epoch {epoch}"));
            return Err(Error::conflict(problem.lower("lr")));
        }
        stopped = sink.state(&State { epoch, backend: &*backend, plan, graph })?.is_break();
        let done = Event::Epoch { epoch, epochs, pairs, loss, l2, effective_rank };
        stopped |= sink.event(&done)?.is_break();
    }
    let parameters = plan.features.and_then(|_| backend.parameters().map(<[f32]>::to_vec));
    let smoothing = plan.smoothing_at_end();
    let is_smooth = smoothing > 0 && backend.smooth(smoothing)?;
    let (mut vectors, contexts) = backend.into_both()?;
    // The memory of pairs, before that of smoothing is taken.
    memory::give_back();
    if smoothing > 0 && !is_smooth {
        let mut values = vectors.into_vec();
        smooth(&graph.to_undirected(), &mut values, plan.dim, smoothing);
        vectors = values.into();
    }
    let pmi = plan.pmi_at_end();
    if pmi > 0.0 {
        let mut values = vectors.into_vec();
        join(&graph.to_undirected(), &mut values, plan.dim, pmi, plan.seed);
        vectors = values.into();
    }
    Ok(Trained { vectors, contexts, parameters })
}

/// Why the runs of some backends and encoders of other crates have no checkpoints.
pub(super) fn cannot_resume() -> Error {
    let problem = Problem::from("what trains here cannot be saved and resumed");
    Error::conflict(problem.omit("checkpoint"))
}

/// Why a checkpoint with a valid checksum is refused.
pub(super) fn cannot_be_of_this_run() -> Error {
    Error::conflict("the checkpoint holds a state that this run cannot have")
}
