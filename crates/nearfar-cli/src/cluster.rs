//! Training on a cluster, which another program than the binary can provide.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use nearfar::embedding::Embedding;
use nearfar::graph::Graph;
use nearfar::train::{Settings, Sink};

/// Trains a run on a cluster.
pub type TrainOnCluster<'a> = &'a dyn Fn(ClusterRun) -> anyhow::Result<Embedding>;

/// A run of `nearfar embed --cluster`.
pub struct ClusterRun {
    /// The cluster.
    pub address: String,
    /// The graph.
    pub graph: Arc<Graph>,
    /// The file that it was read from, unless with options of reading.
    pub file: Option<PathBuf>,
    /// The settings.
    pub settings: Settings,
    /// The most bytes of memory.
    pub max_memory: u64,
    /// Threads of a task, if they are given.
    pub threads: Option<usize>,
    /// Shows and records the run.
    pub sink: Arc<Mutex<dyn Sink + Send>>,
    /// Whether it saves checkpoints.
    pub keeps_checkpoints: bool,
}
