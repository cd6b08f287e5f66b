//! Stage 7, pull and push: training the vectors.

mod ahead;
pub mod blocks;
mod checkpoint;
mod config;
mod event;
pub mod kernel;
pub mod pairs;
mod pull;
pub mod rank;
mod records;
mod settings;
pub mod stream;
mod windows;

pub use checkpoint::{Checkpoint, State};
pub use config::{L2, Model, TrainConfig};
pub use event::{Event, Scores, Sink};
pub use records::{Records, Saving};
pub use settings::Settings;

use std::sync::Arc;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::graph::{Graph, Node};
use crate::negative::NegativeSampler;
use crate::positive::{Edges, Node2Vec, PositiveSource, Walk};
use crate::rng::{Purpose, Rng};
use blocks::Blocks;
use kernel::{Kernel, LANES};
use pairs::{Pairs, Sampling, Sources};
use pull::Pull;
use stream::Tables;

/// The memory that training takes beside the graph and what negatives are drawn from: the tables,
/// the pairs of an epoch and, if negatives are drawn `ahead`, those of some epochs.
pub fn memory(graph: &Graph, config: &TrainConfig, ahead: bool) -> u64 {
    let n = graph.nodes() as u64;
    let tables = (config.order * config.dim.next_multiple_of(LANES) * 4) as u64;
    let windows = (config.walks(graph) * config.windows()) as u64;
    let pairs =
        windows * (config.window() - 1 + config.k) as u64 * size_of::<kernel::Pair>() as u64;
    // Walks that windows slide along are kept, with 12 bytes a window to sort them.
    let walks = if config.windows() > 1 {
        (config.walks(graph) * config.length()) as u64 * 4 + windows * 12
    } else {
        0
    };
    let ahead = if ahead {
        epochs_ahead(graph, config) as u64 * windows * config.k as u64 * size_of::<Node>() as u64
    } else {
        0
    };
    Walk::bytes(graph) + n * (tables + pairs + walks + ahead)
}

/// For how many epochs a visit to a centre draws negatives where visits are slow.
fn epochs_ahead(graph: &Graph, config: &TrainConfig) -> usize {
    let bytes = graph.nodes() * config.walks(graph) * config.k * size_of::<Node>();
    // How often a centre comes up in windows that slide is not known before.
    if config.windows() > 1 { 1 } else { ahead::epochs_ahead(config.epochs, bytes as u64) }
}

/// Where a run starts.
#[derive(Clone, Debug)]
pub struct Start {
    /// The instruction set.
    pub kernel: Kernel,
    /// A state to go on from.
    pub checkpoint: Option<Checkpoint>,
}

impl Default for Start {
    /// At the beginning, with the fastest kernel.
    fn default() -> Self {
        Self { kernel: Kernel::detect(), checkpoint: None }
    }
}

/// Trains a vector for every node, and returns them row by row.
///
/// ```
/// use std::sync::Arc;
/// use nearfar::graph::{ReadOptions, read};
/// use nearfar::negative::{Budget, NegativeConfig, NegativePlan};
/// use nearfar::train::{TrainConfig, embed};
///
/// let graph = Arc::new(read("builtin:karate", &ReadOptions::default())?.graph);
/// let plan = NegativePlan::new(&graph, &NegativeConfig::default(), &Budget::default())?;
/// let config = TrainConfig { dim: 16, ..Default::default() };
/// let vectors = embed(&graph, &*plan.build(&graph)?, &config, &mut ())?;
/// assert_eq!(vectors.len(), 34 * 16);
/// # Ok::<(), nearfar::Error>(())
/// ```
pub fn embed(
    graph: &Arc<Graph>,
    negatives: &dyn NegativeSampler,
    config: &TrainConfig,
    sink: &mut dyn Sink,
) -> Result<Vec<f32>> {
    embed_from(Start::default(), graph, negatives, config, sink)
}

/// [`embed`] from where one likes.
pub fn embed_from(
    start: Start,
    graph: &Arc<Graph>,
    negatives: &dyn NegativeSampler,
    config: &TrainConfig,
    sink: &mut dyn Sink,
) -> Result<Vec<f32>> {
    /// About how much of an epoch is spent on sampling.
    const SAMPLING: f64 = 1.0 / 3.0;
    config.validate()?;
    let Start { kernel, checkpoint } = start;
    let positives = positives(graph, config)?;
    let (n, epochs) = (graph.nodes(), config.epochs);
    let sampling = Sampling {
        walks: config.walks(graph),
        length: config.length(),
        context: config.window(),
        negatives: config.k,
        ahead: if negatives.visits_are_slow() { epochs_ahead(graph, config) } else { 1 },
        seed: config.seed,
    };
    let mut tables = tables(n, config);
    let mut pull = Pull::new(config.l2, graph, config.dim);
    let mut first = 0;
    if let Some(checkpoint) = checkpoint {
        checkpoint.restore(&mut tables)?;
        (pull.strength, pull.last) = (checkpoint.strength, checkpoint.rank);
        first = checkpoint.epoch;
    }
    let rows = tables.centres.rows;
    let sources = Sources { positives: &*positives, negatives, nodes: n, rows };
    let started = Event::Started { nodes: n, epochs, walks: sampling.walks, kernel: kernel.name() };
    let mut pairs = Pairs::new(sources);
    let mut stopped = sink.event(&started)?.is_break();
    for epoch in first..epochs {
        if stopped {
            break;
        }
        let mut go_on = |part: f64| {
            sink.event(&Event::Progress { done: (epoch as f64 + part) / epochs as f64 })
        };
        let sampled =
            pairs.sample(sources, sampling, epoch as u64, |part| go_on(part * SAMPLING))?;
        if sampled.is_break() {
            break;
        }
        let l2 = pull.strength;
        let step = |part: f64| config.step(l2, (epoch as f64 + part) / epochs as f64);
        let loss = stream::train(kernel, &mut tables, &pairs, step, |part| {
            go_on(SAMPLING + part * (1.0 - SAMPLING))
        })?;
        let Some(loss) = loss.continue_value() else { break };
        if !loss.is_finite() {
            return Err(Error::Option(format!(
                "training diverged in epoch {}; use a lower --lr than {}",
                epoch + 1,
                config.lr
            )));
        }
        // A thousand rows show the rank as well as all.
        let rows = tables.centres.iter().step_by(n.div_ceil(1024));
        let effective_rank = pull.adjust(rows, config.dim, epochs - epoch - 1);
        let epoch = epoch + 1;
        let state = State { epoch, dim: config.dim, tables: &tables, pull: &pull };
        stopped = sink.state(&state)?.is_break();
        let loss = loss / (pairs.count as f64).max(1.0);
        let done = Event::Epoch { epoch, epochs, pairs: pairs.count, loss, l2, effective_rank };
        stopped |= sink.event(&done)?.is_break();
    }
    Ok(tables.centres.into_rows(config.dim))
}

fn positives(graph: &Arc<Graph>, config: &TrainConfig) -> Result<Box<dyn PositiveSource>> {
    Ok(match config.model {
        Model::Deepwalk => Box::new(Walk::new(graph)),
        Model::Node2vec => Box::new(Node2Vec::new(graph, config.p, config.q)?),
        Model::Line => Box::new(Edges::new(graph)),
    })
}

/// Small random vectors, padded with zeros, which training leaves as they are. Those of other ends
/// start at zero: pairs then push nothing about until their centres have met.
fn tables(n: usize, config: &TrainConfig) -> Tables {
    const SPREAD: f64 = 0.1;
    let padded = config.dim.next_multiple_of(LANES);
    let rows = Blocks::rows_for(n, padded);
    let mut centres = Blocks::new(n, rows, padded);
    centres.values_mut().par_chunks_exact_mut(padded).enumerate().for_each(|(node, row)| {
        let mut rng = Rng::new(config.seed, Purpose::Start, 0, node as u64);
        for value in &mut row[..config.dim] {
            *value = ((rng.unit() - 0.5) * 2.0 * SPREAD) as f32;
        }
    });
    Tables { centres, others: (config.order == 2).then(|| Blocks::new(n, rows, padded)) }
}
