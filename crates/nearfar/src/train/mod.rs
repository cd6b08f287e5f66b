//! Stage 7, pull and push: training the vectors.

mod batch;
mod config;
pub mod exact;
pub mod l2;
mod observe;
mod settings;
pub mod stream;

pub use config::{L2, Model, Protocol, TrainConfig, Trainer};
pub use observe::{Checkpoint, Event, Records, Saving, Scores, Sink, State};
pub use settings::Settings;

use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::graph::{Graph, Node};
use crate::negative::NegativeSampler;
use crate::positive::{Edges, Node2Vec, PositiveSource, Walk};
use crate::rng::{Purpose, Rng};
use crate::simd::{InstructionSet, LANES};
use batch::{Batches, Draws};
use exact::{Exact, Objective};
use stream::Stream;
use stream::blocks::Blocks;
use stream::buckets::Buckets;

/// The memory that training takes beside the graph and what negatives are drawn from: the tables,
/// the pairs of an epoch and, if negatives are drawn `ahead`, those of some epochs.
pub fn memory(graph: &Graph, config: &TrainConfig, ahead: bool) -> u64 {
    let n = graph.nodes() as u64;
    match config.trainer() {
        Trainer::Stream => {}
        Trainer::Batch => return Walk::bytes(graph) + batch::bytes(graph, config),
        Trainer::Exact => {
            let tables = 2 * n * config.dim as u64 * 4;
            return tables + Objective::bytes(graph.nodes());
        }
    }
    let tables = (config.order * config.dim.next_multiple_of(LANES) * 4) as u64;
    let rows = Blocks::rows_for(graph.nodes(), config.dim.next_multiple_of(LANES));
    let lists = n.div_ceil(rows as u64).pow(2);
    let parts = config.parts(graph) as u64;
    let pairs = Buckets::bytes(lists, (n * config.pairs(graph) as u64).div_ceil(parts));
    let windows = (config.walks(graph) * config.windows()) as u64;
    // Walks that windows slide along are kept, with 12 bytes a window to sort them.
    let walks = if config.windows() > 1 {
        ((config.walks(graph) * config.length()) as u64 * 4 + windows * 12).div_ceil(parts)
    } else {
        0
    };
    let ahead = if ahead {
        epochs_ahead(graph, config) as u64 * windows * config.k() as u64 * size_of::<Node>() as u64
    } else {
        0
    };
    let positives = match config.model {
        Model::Node2vec => Node2Vec::bytes(graph),
        _ => Walk::bytes(graph),
    };
    positives + pairs + n * (tables + walks + ahead)
}

/// For how many epochs a visit to a centre draws negatives where visits are slow.
fn epochs_ahead(graph: &Graph, config: &TrainConfig) -> usize {
    let bytes = graph.nodes() * config.walks(graph) * config.k() * size_of::<Node>();
    // How often a centre comes up in windows that slide is not known before, and parts differ.
    if config.windows() > 1 || config.parts(graph) > 1 {
        1
    } else {
        stream::negatives_ahead::epochs_ahead(config.epochs(), bytes as u64)
    }
}

/// Where a run starts.
#[derive(Clone, Debug)]
pub struct Start {
    /// The instruction set.
    pub kernel: InstructionSet,
    /// A state to go on from.
    pub checkpoint: Option<Checkpoint>,
}

impl Default for Start {
    /// At the beginning, with the fastest kernel.
    fn default() -> Self {
        Self { kernel: InstructionSet::detect(), checkpoint: None }
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
    config.validate()?;
    let Start { kernel, checkpoint } = start;
    let (n, epochs, walks) = (graph.nodes(), config.epochs(), config.walks(graph));
    let started = Event::Started { nodes: n, epochs, walks, kernel: kernel.name() };
    let first = checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.epoch);
    let mut run: Box<dyn Run> = match config.trainer() {
        Trainer::Stream => {
            let positives = positives(graph, config)?;
            let checkpoint = checkpoint.as_ref();
            Box::new(Stream::new(kernel, checkpoint, graph, positives, negatives, config)?)
        }
        _ if checkpoint.is_some() => return Err(observe::no_checkpoints()),
        Trainer::Exact => Box::new(Exact::new(graph, negatives, config)),
        Trainer::Batch => {
            let walks = (!config.model.by_edges()).then(|| positives(graph, config));
            let (graph_of_draws, positives) = (Arc::clone(graph), walks.transpose()?);
            let draws = Draws { graph: graph_of_draws, positives, negatives, config };
            Box::new(Batches::new(kernel, graph, draws, config))
        }
    };
    let mut stopped = sink.event(&started)?.is_break();
    let mut most: f64 = 0.0;
    for epoch in first..epochs {
        if stopped {
            break;
        }
        let mut keep_going = |part: f64| {
            // What was done for later epochs stays done.
            most = most.max((epoch as f64 + part) / epochs as f64).min(1.0);
            sink.event(&Event::Progress { done: most })
        };
        if keep_going(0.0)?.is_break() {
            break;
        }
        let Some(done) = run.epoch(epoch, &mut keep_going)?.continue_value() else { break };
        let Done { pairs, loss, l2, effective_rank } = done;
        if !loss.is_finite() {
            return Err(Error::Option(format!(
                "training diverged in epoch {}; use a lower --lr than {}",
                epoch + 1,
                config.lr()
            )));
        }
        let epoch = epoch + 1;
        stopped = sink.state(&run.state(epoch))?.is_break();
        let done = Event::Epoch { epoch, epochs, pairs, loss, l2, effective_rank };
        stopped |= sink.event(&done)?.is_break();
    }
    Ok(run.into_vectors())
}

/// What an epoch has done.
struct Done {
    /// Pairs trained in it.
    pairs: u64,
    /// The mean loss of a pair.
    loss: f64,
    /// The pull to the origin that it had.
    l2: f64,
    /// The effective rank of the vectors after it, if it was looked at.
    effective_rank: Option<f64>,
}

/// Vectors on their way.
trait Run {
    /// Trains them for an epoch. `keep_going(part)` is asked when this part of it is done; if it says
    /// `Break`, the epoch ends there.
    fn epoch(
        &mut self,
        epoch: usize,
        keep_going: &mut dyn FnMut(f64) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<(), Done>>;

    /// What a listener can see after so many epochs.
    fn state(&self, epoch: usize) -> State<'_>;

    /// The vectors, row by row.
    fn into_vectors(self: Box<Self>) -> Vec<f32>;
}

fn positives(graph: &Arc<Graph>, config: &TrainConfig) -> Result<Box<dyn PositiveSource>> {
    Ok(match config.model {
        Model::Deepwalk | Model::Gcn | Model::Sage => Box::new(Walk::new(graph)),
        Model::Node2vec => Box::new(Node2Vec::new(graph, config.p, config.q)?),
        Model::Line | Model::Gae | Model::Vgae => Box::new(Edges::new(graph)),
    })
}

/// Fills rows of `padded` numbers with small random vectors; what is behind them stays as it is.
fn small_vectors(config: &TrainConfig, padded: usize, rows: &mut [f32]) {
    const SPREAD: f64 = 0.1;
    rows.par_chunks_exact_mut(padded).enumerate().for_each(|(node, row)| {
        let mut rng = Rng::new(config.seed, Purpose::Start, 0, node as u64);
        for value in &mut row[..config.dim] {
            *value = ((rng.unit() - 0.5) * 2.0 * SPREAD) as f32;
        }
    });
}
