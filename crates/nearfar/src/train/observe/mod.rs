//! What can be seen of a run: its events, its log, its checkpoints.

mod checkpoint;
mod event;
mod log;

pub(super) use checkpoint::no_checkpoints;
pub use checkpoint::{Checkpoint, State};
pub use event::{Event, Scores, Sink};
pub use log::{Records, Saving};
