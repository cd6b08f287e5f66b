//! What can be observed of a run: its events, its log, its checkpoints.

mod checkpoint;
mod event;
mod log;
mod recorder;

pub(in crate::train) use checkpoint::WRITTEN;
pub use checkpoint::{Checkpoint, Checkpoints};
pub use event::{Event, Scores, Sink, State};
pub use log::RunLog;
pub use recorder::Recorder;
