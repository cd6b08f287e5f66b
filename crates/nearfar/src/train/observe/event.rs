//! What training tells while it runs.

use std::ops::ControlFlow;

use super::checkpoint::State;
use crate::error::Result;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// Everything is prepared; the first epoch begins.
    Started {
        /// Rows to train.
        nodes: usize,
        /// Epochs to come.
        epochs: usize,
        /// Walks from every node in an epoch.
        walks: usize,
        /// The instruction set.
        kernel: String,
    },
    /// Some more is done. Comes often, also in the middle of a long epoch, so that bars move and
    /// listeners can stop the run.
    Progress {
        /// The share of the whole run that is done, from 0 to 1.
        done: f64,
    },
    /// An epoch is done.
    Epoch {
        /// Its number, counted from 1.
        epoch: usize,
        /// How many there will be.
        epochs: usize,
        /// Pairs trained in it.
        pairs: u64,
        /// The mean loss of a pair.
        loss: f64,
        /// The pull to the origin that it had.
        l2: f64,
        /// The effective rank of the vectors after it, if it was looked at.
        effective_rank: Option<f64>,
    },
    /// The vectors after an epoch were scored, by `evaluate::PeriodicScores`.
    Scores {
        /// The epoch, counted from 1.
        epoch: usize,
        /// On validation, if there is such a part.
        val: Option<Scores>,
        /// On test.
        test: Scores,
    },
}

/// How well a classifier learned the labels of nodes from their vectors, on one part of them.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Scores {
    /// The mean of F1 over classes.
    pub f1_macro: f64,
    /// F1 of all classes together.
    pub f1_micro: f64,
    /// The share of right decisions.
    pub accuracy: f64,
}

/// Someone who listens, and may stop the run.
pub trait Sink {
    /// Hears an event. Training ends after it if the answer is `Break`, and fails on an error. An
    /// epoch that is broken off in the middle leaves its vectors half trained.
    fn event(&mut self, event: &Event) -> Result<ControlFlow<()>>;

    /// Sees the state after an epoch, just before the event that tells of it: to look at the
    /// vectors, or to save a checkpoint.
    fn state(&mut self, _state: &State<'_>) -> Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }
}

/// Listens to nothing.
impl Sink for () {
    fn event(&mut self, _: &Event) -> Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }
}
