//! Events of a run, and the trait of those who receive them.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::super::backend::{Backend, VectorView};
use super::super::plan::TrainPlan;
use super::super::pmi::join;
use super::super::smooth::smooth;
use super::checkpoint::Checkpoint;
use crate::error::Result;
use crate::graph::Graph;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// Preparations are complete; the first epoch begins.
    Started {
        /// Nodes of the graph.
        nodes: usize,
        /// Epochs of the run.
        epochs: usize,
        /// Walks per node and epoch.
        walks: usize,
        /// The instruction set.
        kernel: String,
        /// Planned bytes of memory.
        memory: u64,
        /// Every resolved setting, with the version of this library and the fingerprint of the
        /// graph.
        settings: Map<String, Value>,
    },
    /// The run continues from a checkpoint; follows `Started`.
    Resumed {
        /// Epochs that were completed before.
        epoch: usize,
        /// The instruction set of those, if it is another one than that of this run: the result is
        /// then not that of an uninterrupted run.
        #[serde(skip_serializing_if = "Option::is_none")]
        kernel: Option<String>,
    },
    /// Some more is done. Comes often, also within a long epoch, so that progress bars move and
    /// sinks can stop the run.
    Progress {
        /// The completed fraction of the run, from 0 to 1.
        done: f64,
    },
    /// An epoch is complete.
    Epoch {
        /// Its number, counted from 1.
        epoch: usize,
        /// Epochs of the run.
        epochs: usize,
        /// Pairs trained in it.
        pairs: u64,
        /// The mean loss of a pair.
        loss: f64,
        /// The λ of L2 regularisation.
        l2: f64,
        /// The effective rank of the vectors after it, if it was measured.
        effective_rank: Option<f64>,
    },
    /// The vectors after an epoch were scored, by `evaluate::PeriodicScores`.
    Scores {
        /// The epoch, counted from 1.
        epoch: usize,
        /// Scores on the validation nodes, if there are any.
        val: Option<Scores>,
        /// Scores on the test nodes.
        test: Scores,
    },
    /// Seconds of each stage. Reported by whoever called [`embed`](crate::embed), once the vectors
    /// are saved.
    Times {
        /// Reading the graph.
        read: f64,
        /// Building the sampler and the first vectors.
        prepare: f64,
        /// The epochs, and smoothing.
        train: f64,
        /// Saving the vectors.
        save: f64,
    },
    /// The run is over. Reported by whoever called [`embed`](crate::embed), once the vectors are
    /// saved.
    Finished {
        /// The most bytes of memory that the process had, where the system tells.
        peak_memory: Option<u64>,
    },
}

/// How well a classifier predicts the labels of nodes from their vectors.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Scores {
    /// The mean of F1 over classes.
    pub f1_macro: f64,
    /// F1 over the decisions of all classes.
    pub f1_micro: f64,
    /// The fraction of correct decisions.
    pub accuracy: f64,
}

/// The state of a run at the end of an epoch.
#[derive(Clone, Copy)]
pub struct State<'a> {
    /// Completed epochs.
    pub epoch: usize,
    pub(in crate::train) backend: &'a dyn Backend,
    pub(in crate::train) plan: &'a TrainPlan,
    pub(in crate::train) graph: &'a Arc<Graph>,
}

impl State<'_> {
    /// The vectors as they are trained.
    pub fn vectors(&self) -> VectorView<'_> {
        self.backend.vectors()
    }

    /// The vectors that the run would return if it ended here: smoothed, with those of edges
    /// joined, row by row.
    pub fn result(&self) -> Vec<f32> {
        let (plan, graph) = (self.plan, self.graph.to_undirected());
        let mut vectors = self.vectors().to_vec();
        smooth(&graph, &mut vectors, plan.dim, plan.smoothing_at_end());
        if plan.pmi_at_end() > 0.0 {
            join(&graph, &mut vectors, plan.dim, plan.pmi_at_end(), plan.seed);
        }
        vectors
    }
}

/// Observes a run, and may stop it.
pub trait Sink {
    /// Receives an event. Training ends after it if the answer is `Break`, and fails on an error.
    /// An epoch that is interrupted leaves its vectors partly trained.
    fn event(&mut self, event: &Event) -> Result<ControlFlow<()>>;

    /// Receives the plan, before any work is done: to show it, to stop the run, or to return a
    /// checkpoint from which to continue.
    fn plan(&mut self, _plan: &TrainPlan) -> Result<ControlFlow<(), Option<Checkpoint>>> {
        Ok(ControlFlow::Continue(None))
    }

    /// Receives the state after an epoch, just before its event: to look at the vectors, or to save
    /// a checkpoint.
    fn state(&mut self, _state: &State<'_>) -> Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }
}

/// Ignores everything.
impl Sink for () {
    fn event(&mut self, _: &Event) -> Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }
}
