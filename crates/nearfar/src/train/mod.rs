//! Stage 7, pull and push: training the vectors.

pub mod blocks;
mod config;
mod event;
pub mod kernel;
mod pull;
pub mod rank;
pub mod stream;

pub use config::{L2, TrainConfig};
pub use event::{Event, Sink};

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::negative::NegativeSampler;
use crate::positive::{Node2Vec, PositiveSource, Walk};
use crate::rng::{Purpose, Rng};
use blocks::Blocks;
use kernel::{Kernel, LANES, Step};
use pull::Pull;
use stream::{Pairs, Sampling};

/// The memory that training takes beside the negatives: the graph, the vectors twice, and the
/// pairs of an epoch.
pub fn memory(graph: &Graph, config: &TrainConfig) -> u64 {
    let n = graph.nodes() as u64;
    let padded = config.dim.next_multiple_of(LANES);
    let blocks = n.div_ceil(Blocks::rows_for(graph.nodes(), padded) as u64);
    let pairs = (config.walks(graph) * (config.context - 1 + config.k)) as u64;
    // A centre has at most one run in each block, with three numbers in front; lists that grow by
    // doubling have a quarter to spare on average.
    let runs = (pairs + 3 * blocks.min(pairs)) * 5;
    let vectors = (padded + config.dim) as u64 * 4;
    graph.bytes() + Walk::bytes(graph) + n * (vectors + runs)
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
    embed_with(Kernel::detect(), graph, negatives, config, sink)
}

/// [`embed`] with a kernel of one's choice.
pub fn embed_with(
    kernel: Kernel,
    graph: &Arc<Graph>,
    negatives: &dyn NegativeSampler,
    config: &TrainConfig,
    sink: &mut dyn Sink,
) -> Result<Vec<f32>> {
    config.validate()?;
    let positives = positives(graph, config)?;
    let (n, epochs) = (graph.nodes(), config.epochs);
    let walks = config.walks(graph);
    let sampling =
        Sampling { walks, context: config.context, negatives: config.k, seed: config.seed };
    let mut table = start(n, config);
    let mut pull = Pull::new(config.l2, graph, config.dim);
    let started = Event::Started { nodes: n, epochs, walks, kernel: kernel.name() };
    if sink.event(&started)?.is_break() {
        return Ok(vectors(&table, config.dim));
    }
    for epoch in 0..epochs {
        let pairs = Pairs::sample(&*positives, negatives, sampling, epoch as u64, n, table.rows);
        let l2 = pull.strength;
        let step = |part: f64| {
            let rate = config.lr * (1.0 - (epoch as f64 + part) / epochs as f64);
            let far = rate / config.k as f64;
            Step {
                near: (rate / (config.context - 1) as f64) as f32,
                far: (far * config.negative_weight) as f32,
                shrink: (1.0 - far * l2) as f32,
            }
        };
        let loss = stream::train(kernel, &mut table, &pairs, step);
        if !loss.is_finite() {
            return Err(Error::Option(format!(
                "training diverged in epoch {}; use a lower --lr than {}",
                epoch + 1,
                config.lr
            )));
        }
        // A thousand rows show the rank as well as all.
        let rows = table.iter().step_by(n.div_ceil(1024));
        let effective_rank = pull.adjust(rows, config.dim, epochs - epoch - 1);
        let done = Event::Epoch {
            epoch: epoch + 1,
            epochs,
            pairs: pairs.count,
            loss: loss / (pairs.count as f64).max(1.0),
            l2,
            effective_rank,
        };
        if sink.event(&done)?.is_break() {
            break;
        }
    }
    Ok(vectors(&table, config.dim))
}

fn positives(graph: &Arc<Graph>, config: &TrainConfig) -> Result<Box<dyn PositiveSource>> {
    let plain = |value: f64| (value - 1.0).abs() < f64::EPSILON;
    Ok(if plain(config.p) && plain(config.q) {
        Box::new(Walk::new(graph))
    } else {
        Box::new(Node2Vec::new(graph, config.p, config.q)?)
    })
}

/// Small random vectors, padded with zeros, which training leaves as they are.
fn start(n: usize, config: &TrainConfig) -> Blocks {
    const SPREAD: f64 = 0.1;
    let padded = config.dim.next_multiple_of(LANES);
    Blocks::new(n, Blocks::rows_for(n, padded), padded, |node, row| {
        let mut rng = Rng::new(config.seed, Purpose::Start, 0, node as u64);
        for value in &mut row[..config.dim] {
            *value = ((rng.unit() - 0.5) * 2.0 * SPREAD) as f32;
        }
    })
}

fn vectors(table: &Blocks, dim: usize) -> Vec<f32> {
    table.iter().flat_map(|row| &row[..dim]).copied().collect()
}
