//! Stage 7, training: from positive and negative pairs to vectors.
//!
//! [`TrainPlan`] resolves the options, a [`Backend`] trains, a [`Sink`] observes. The whole is run by
//! [`embed`](crate::embed).

pub(crate) mod backend;
mod batch;
mod config;
mod device;
#[doc(hidden)]
pub mod exact;
pub(crate) mod given;
#[doc(hidden)]
pub mod l2;
mod observe;
mod plan;
mod pmi;
mod rows;
mod settings;
#[doc(hidden)]
pub mod smooth;
#[doc(hidden)]
pub mod start;
#[doc(hidden)]
pub mod stream;
pub(crate) mod update;

pub use backend::{Backend, EpochStats, KeepGoing, Task, VectorView};
pub(crate) use batch::network_kind;
pub use config::{Kernel, L2, Model, Protocol, TrainConfig, TrainDefaults, Trainer};
pub use device::Device;
#[doc(hidden)]
pub use given::initial;
pub use observe::{Checkpoint, Checkpoints, Event, Recorder, RunLog, Scores, Sink, State};
pub(crate) use plan::From;
pub use plan::TrainPlan;
pub use settings::Settings;
pub use start::Start;
pub use update::Updated;

pub use crate::memory::Array;
