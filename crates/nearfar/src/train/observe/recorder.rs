//! What is kept of a run: its log and its checkpoints.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::super::plan::TrainPlan;
use super::{Checkpoint, Checkpoints, Event, RunLog, State};
use crate::error::Result;

/// Passes events and states of a run to its log and its checkpoints. Sinks that also talk to people
/// hold one and forward what they receive.
#[derive(Debug)]
pub struct Recorder {
    log: Option<RunLog>,
    checkpoints: Option<Checkpoints>,
    start: Instant,
    epochs: usize,
}

impl Default for Recorder {
    /// Records nothing.
    fn default() -> Self {
        Self::new(None, None)
    }
}

impl Recorder {
    /// Records to a log and to checkpoints, where they are given.
    pub fn new(log: Option<RunLog>, checkpoints: Option<Checkpoints>) -> Self {
        Self { log, checkpoints, start: Instant::now(), epochs: 0 }
    }

    /// The time since training started.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Epochs of the run, once it is planned.
    pub fn epochs(&self) -> usize {
        self.epochs
    }

    /// Whether it saves checkpoints.
    pub fn keeps_checkpoints(&self) -> bool {
        self.checkpoints.is_some()
    }

    /// Finds the checkpoint to continue from, if that was asked for.
    pub fn plan(&mut self, plan: &TrainPlan) -> Result<Option<Checkpoint>> {
        self.epochs = plan.epochs;
        self.checkpoints.as_mut().map_or(Ok(None), |checkpoints| checkpoints.open(plan))
    }

    /// Writes an event to the log.
    pub fn event(&mut self, event: &Event) -> Result<()> {
        if matches!(event, Event::Started { .. }) {
            self.start = Instant::now();
        }
        self.log.as_mut().map_or(Ok(()), |log| log.event(event))
    }

    /// Saves the state after the last epoch, and if the run is `stopped`; else unless saving would
    /// take more than a tenth of the time.
    pub fn state(&mut self, state: &State<'_>, stopped: ControlFlow<()>) -> Result<()> {
        let now = stopped.is_break() || state.epoch == self.epochs;
        self.checkpoints.as_mut().map_or(Ok(()), |checkpoints| checkpoints.state(state, now))
    }

    /// Completes the log. Its lines, if they are in memory.
    pub fn finish(self) -> Result<Option<String>> {
        self.log.map_or(Ok(None), RunLog::finish)
    }
}
