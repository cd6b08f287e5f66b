//! Training in batches: a step of Adam for the windows of some nodes, over any encoder.
//!
//! # Derivation
//!
//! A batch takes the walks of some start nodes. Its loss is the mean over its near pairs plus w
//! times the mean over its far ones,
//!
//! ```text
//! −(1/N) Σ log σ(z_i·z_j) − (w/F) Σ log σ(−z_i·z_k)
//! ```
//!
//! A pair that comes c times weighs c/N, or w c/F: walks from few nodes repeat themselves, and
//! equal terms have equal gradients, so each is computed once, by [`gradient`].

mod gradient;
mod pairs;
mod radix;
mod sampling;

use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::prelude::*;

use super::config::{Model, TrainConfig};
use super::{Done, Run, State, small_vectors};
use crate::encode::{Adam, Encoder, Network, NetworkKind};
use crate::error::Result;
use crate::graph::{Graph, Node};
use crate::memory::Aligned;
use crate::rng::{Purpose, Rng};
use crate::simd::InstructionSet;
use gradient::Slopes;
use pairs::Batch;
pub(super) use sampling::Draws;
use sampling::{Group, Near, STREAM, STREAMS};

/// Of the batches that are drawn together, those that are put together side by side. How many makes
/// no difference.
const READY: usize = 16;
/// What may be drawn together, in bytes, if that is more than one stream.
const ROOM: u64 = 256_000_000;

/// The trainer.
pub(super) struct Batches<'a> {
    config: &'a TrainConfig,
    draws: Draws<'a>,
    learner: Learner,
    slopes: Slopes,
    nodes: usize,
}

/// What learns, and what it needs to.
enum Learner {
    /// A vector for each node: the parameters are the vectors.
    Table { vectors: Aligned, adam: Adam },
    /// A network, and room for the gradient at its vectors.
    Network { encoder: Box<dyn Encoder>, gradient: Vec<f32> },
}

impl Learner {
    fn vectors(&self) -> &[f32] {
        match self {
            Self::Table { vectors, .. } => vectors,
            Self::Network { encoder, .. } => encoder.vectors(),
        }
    }
}

impl<'a> Batches<'a> {
    pub(super) fn new(
        kernel: InstructionSet,
        graph: &Arc<Graph>,
        draws: Draws<'a>,
        config: &'a TrainConfig,
    ) -> Self {
        let (nodes, dim) = (graph.nodes(), config.dim);
        let network = |kind| Learner::Network {
            encoder: Box::new(Network::new(kind, graph, dim, config.seed)),
            gradient: vec![0.0; nodes * dim],
        };
        let learner = match config.model {
            Model::Deepwalk | Model::Node2vec | Model::Line => {
                Learner::Table { vectors: start(nodes, config), adam: Adam::new(nodes * dim) }
            }
            Model::Gae | Model::Gcn => network(NetworkKind::Gcn),
            Model::Vgae => network(NetworkKind::Variational),
            Model::Sage => network(NetworkKind::Sage),
        };
        Self { config, draws, learner, slopes: Slopes::new(kernel, nodes, dim), nodes }
    }

    /// Takes a step for a batch, whose number is `name`, and returns its loss.
    fn step(&mut self, batch: &Batch, name: u64) -> f64 {
        let (config, slopes) = (self.config, &mut self.slopes);
        match &mut self.learner {
            Learner::Table { vectors, adam } => {
                let loss = slopes.find(batch, vectors);
                slopes.step(batch, adam, config.lr(), vectors);
                loss
            }
            Learner::Network { encoder, gradient } => {
                encoder.forward(Some(&mut Rng::new(config.seed, Purpose::Noise, name, 0)));
                let loss = slopes.find(batch, encoder.vectors());
                slopes.gradient(batch, gradient);
                encoder.backward(gradient);
                encoder.step(config.lr());
                loss
            }
        }
    }
}

impl Run for Batches<'_> {
    fn epoch(
        &mut self,
        epoch: usize,
        keep_going: &mut dyn FnMut(f64) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<(), Done>> {
        let (config, n) = (self.config, self.nodes);
        let size = config.batch(n);
        let mut order: Vec<Node> = (0..n as Node).collect();
        Rng::new(config.seed, Purpose::Order, epoch as u64, 0).shuffle(&mut order);
        let batches: Vec<&[Node]> = order.chunks(size).collect();
        let (mut loss, mut pairs) = (0.0, 0);
        let mut group = Group::default();
        let mut room: Vec<Batch> = (0..READY).map(|_| Batch::default()).collect();
        let together = together(&self.draws.graph, config);
        for (at, some) in batches.chunks(together).enumerate() {
            let first = at * together;
            self.draws.group(epoch, first, some, &mut group);
            for ready in (0..group.len()).step_by(READY) {
                if keep_going((first + ready) as f64 / batches.len() as f64)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                let range = ready..(ready + READY).min(group.len());
                room.par_iter_mut().zip(range.clone()).with_max_len(1).for_each(|(batch, at)| {
                    self.draws.batch(&group, at, batch);
                });
                for (at, batch) in range.zip(&room) {
                    loss += self.step(batch, (epoch * batches.len() + first + at) as u64);
                    pairs += batch.pairs;
                }
            }
        }
        if let Learner::Network { encoder, .. } = &mut self.learner {
            encoder.forward(None);
        }
        let loss = loss / batches.len().max(1) as f64 / (1.0 + config.negative_weight);
        Ok(ControlFlow::Continue(Done { pairs, loss, l2: 0.0, effective_rank: None }))
    }

    fn state(&self, epoch: usize) -> State<'_> {
        State::of_vectors(epoch, self.learner.vectors())
    }

    fn into_vectors(self: Box<Self>) -> Vec<f32> {
        self.learner.vectors().to_vec()
    }
}

/// The memory of the encoder, and of the batches that are drawn together.
pub(super) fn bytes(graph: &Graph, config: &TrainConfig) -> u64 {
    let (n, dim) = (graph.nodes(), config.dim);
    let encoder = match config.model {
        Model::Deepwalk | Model::Node2vec | Model::Line => {
            ((2 + Adam::MOMENTS) * n * dim * size_of::<f32>()) as u64
        }
        Model::Gae | Model::Gcn => Network::bytes(NetworkKind::Gcn, n, dim),
        Model::Vgae => Network::bytes(NetworkKind::Variational, n, dim),
        Model::Sage => Network::bytes(NetworkKind::Sage, n, dim),
    };
    let all = n.div_ceil(config.batch(n));
    let batches = |most: usize| all.min(most) as u64;
    let drawn = batches(together(graph, config)) * drawn_bytes(graph, config)
        + (n * (STREAMS * size_of::<u32>() + size_of::<usize>())) as u64;
    let (near, far) = most_pairs(graph, config);
    let ready = batches(READY) * ((near + far) * 4 * NODE + n as u64 * 2 * NODE);
    encoder + 2 * (n * dim * size_of::<f32>()) as u64 + drawn + ready
}

const NODE: u64 = size_of::<Node>() as u64;

/// How many batches are drawn together.
fn together(graph: &Graph, config: &TrainConfig) -> usize {
    let streams = ROOM / (STREAM as u64 * drawn_bytes(graph, config)).max(1);
    STREAM * (streams as usize).clamp(1, STREAMS)
}

/// What is drawn for a batch takes so many bytes at most.
fn drawn_bytes(graph: &Graph, config: &TrainConfig) -> u64 {
    let (near, far) = most_pairs(graph, config);
    near * size_of::<Near>() as u64 + far * NODE
}

/// The near and the far pairs of a batch at most.
fn most_pairs(graph: &Graph, config: &TrainConfig) -> (u64, u64) {
    let n = graph.nodes();
    let size = config.batch(n) as u64;
    let near = if config.model.by_edges() {
        graph.arcs() as u64 * size / n.max(1) as u64
    } else {
        size * (config.walks(graph) * config.windows() * (config.window() - 1)) as u64
    };
    (near, near / (config.window() - 1) as u64 * config.k() as u64)
}

/// The vectors that a table starts with: normal ones in the paper's protocol, small ones else.
fn start(nodes: usize, config: &TrainConfig) -> Aligned {
    let mut vectors = Aligned::zeroed(nodes * config.dim);
    if config.protocol.is_none() {
        small_vectors(config, config.dim, &mut vectors);
        return vectors;
    }
    vectors.par_chunks_exact_mut(config.dim).enumerate().for_each(|(node, row)| {
        let mut rng = Rng::new(config.seed, Purpose::Start, 0, node as u64);
        for value in row {
            *value = rng.normal() as f32;
        }
    });
    vectors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some_batch(n: usize, dim: usize) -> (Batch, Vec<f32>, [(Node, Node, f32); 6]) {
        let pairs =
            [(1, 0, 0.5), (1, 4, -0.25), (1, 1, 0.3), (4, 1, 0.2), (4, 0, -0.75), (4, 2, -0.1)];
        let mut rng = Rng::new(0, Purpose::Start, 0, 0);
        let z = (0..n * dim).map(|_| rng.normal() as f32 * 0.5).collect();
        let mut batch = Batch::default();
        batch.clear(n);
        for of_centre in pairs.chunk_by(|a, b| a.0 == b.0) {
            batch.begin(of_centre[0].0);
            for &(_, other, weight) in of_centre {
                batch.add(other, weight);
            }
        }
        batch.sort();
        (batch, z, pairs)
    }

    /// Rows without any pair move on by their means, as in steps of libraries.
    #[test]
    fn a_table_takes_dense_steps_of_adam() {
        for dim in [5, 16, 128] {
            let (batch, z, _) = some_batch(5, dim);
            let (mut table, mut dense) = (z.clone(), z);
            let (mut adam, mut oracle) = (Adam::new(5 * dim), Adam::new(5 * dim));
            let mut slopes = Slopes::new(InstructionSet::detect(), 5, dim);
            for _ in 0..3 {
                let mut gradient = vec![0.0; 5 * dim];
                slopes.find(&batch, &dense);
                slopes.gradient(&batch, &mut gradient);
                oracle.step(0.01, &mut dense, &gradient);
                slopes.find(&batch, &table);
                slopes.step(&batch, &mut adam, 0.01, &mut table);
            }
            assert!(table == dense && adam == oracle, "{dim}");
        }
    }

    #[test]
    fn the_gradient_is_that_of_the_loss() {
        let (n, dim) = (5, 19);
        let (batch, z, pairs) = some_batch(n, dim);
        let loss = |z: &[f32]| -> f64 {
            let row = |node: u32| z[node as usize * dim..][..dim].iter().map(|&x| f64::from(x));
            let cost = |&(i, j, weight): &(u32, u32, f32)| {
                let s: f64 = row(i).zip(row(j)).map(|(a, b)| a * b).sum();
                f64::from(weight.abs()) * (if weight > 0.0 { -s } else { s }).exp().ln_1p()
            };
            pairs.iter().map(cost).sum()
        };
        let mut found = vec![f32::NAN; n * dim];
        let mut slopes = Slopes::new(InstructionSet::detect(), n, dim);
        let sum = slopes.find(&batch, &z);
        slopes.gradient(&batch, &mut found);
        assert!((sum - loss(&z)).abs() < 1e-5);
        for at in 0..n * dim {
            let shifted = |by: f32| {
                let mut z = z.clone();
                z[at] += by;
                loss(&z)
            };
            let exact = (shifted(1e-2) - shifted(-1e-2)) / 2e-2;
            assert!((f64::from(found[at]) - exact).abs() < 1e-3, "{} {exact}", found[at]);
        }
    }
}
