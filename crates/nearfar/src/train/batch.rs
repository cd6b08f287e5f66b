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
//! A pair that comes c times counts c/N: walks from few nodes repeat themselves, and equal terms
//! have equal gradients, so each is computed once. The gradient at z_i is Σ g z_j over all pairs
//! of i, on either side, with g = (σ − 1) c/N for near pairs and σ w c/F for far ones. It is taken
//! in two passes: one over centres, which finds g and sums up their own side, and one over nodes,
//! which sums up the other. No two threads write to the same row, and the result does not depend
//! on how many there are.

use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::prelude::*;

use super::config::{Model, TrainConfig};
use super::draw::{Batch, Draws};
use super::kernel::wrong_and_loss;
use super::{Done, Run, State, small_vectors};
use crate::encode::{Adam, Encoder, Kind, Network, Table};
use crate::error::Result;
use crate::graph::{Graph, Node};
use crate::rng::{Purpose, Rng};

/// Batches that are drawn side by side.
const TOGETHER: u64 = 32;

/// The trainer.
pub(super) struct Batches<'a> {
    config: &'a TrainConfig,
    draws: Draws<'a>,
    encoder: Box<dyn Encoder>,
    gradient: Vec<f32>,
}

impl<'a> Batches<'a> {
    pub(super) fn new(graph: &Arc<Graph>, draws: Draws<'a>, config: &'a TrainConfig) -> Self {
        let network = |kind| Box::new(Network::new(kind, graph, config.dim, config.seed));
        let encoder: Box<dyn Encoder> = match config.model {
            Model::Deepwalk | Model::Node2vec | Model::Line => {
                Box::new(Table::new(start(graph.nodes(), config)))
            }
            Model::Gae | Model::Gcn => network(Kind::Gcn),
            Model::Vgae => network(Kind::Variational),
            Model::Sage => network(Kind::Sage),
        };
        let gradient = vec![0.0; graph.nodes() * config.dim];
        Self { config, draws, encoder, gradient }
    }
}

impl Run for Batches<'_> {
    fn epoch(
        &mut self,
        epoch: usize,
        go_on: &mut dyn FnMut(f64) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<(), Done>> {
        let (config, n) = (self.config, self.gradient.len() / self.config.dim);
        let size = config.batch(n);
        let mut order: Vec<Node> = (0..n as Node).collect();
        Rng::new(config.seed, Purpose::Order, epoch as u64, 0).shuffle(&mut order);
        let batches: Vec<&[Node]> = order.chunks(size).collect();
        let (mut loss, mut pairs) = (0.0, 0);
        // Some are drawn at a time; how many makes no difference to the result.
        let together = TOGETHER as usize;
        for (group, some) in batches.chunks(together).enumerate() {
            let first = group * together;
            if go_on(first as f64 / batches.len() as f64)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            let drawn: Vec<Batch> = some
                .par_iter()
                .enumerate()
                .map(|(at, starts)| self.draws.batch(epoch, first + at, starts))
                .collect();
            for (at, batch) in drawn.iter().enumerate() {
                let name = (epoch * batches.len() + first + at) as u64;
                self.encoder.forward(Some(&mut Rng::new(config.seed, Purpose::Noise, name, 0)));
                loss += gradient(batch, self.encoder.vectors(), config.dim, &mut self.gradient);
                self.encoder.backward(&mut self.gradient);
                self.encoder.step(config.lr());
                pairs += batch.pairs;
            }
        }
        self.encoder.forward(None);
        let loss = loss / batches.len().max(1) as f64 / (1.0 + config.negative_weight);
        Ok(ControlFlow::Continue(Done { pairs, loss, l2: 0.0, effective_rank: None }))
    }

    fn state(&self, epoch: usize) -> State<'_> {
        State::of_vectors(epoch, self.encoder.vectors())
    }

    fn into_vectors(self: Box<Self>) -> Vec<f32> {
        self.encoder.vectors().to_vec()
    }
}

/// The memory of the encoder, and of the batches that are drawn together.
pub(super) fn bytes(graph: &Graph, config: &TrainConfig) -> u64 {
    let (n, dim) = (graph.nodes(), config.dim);
    let encoder = match config.model {
        Model::Deepwalk | Model::Node2vec | Model::Line => {
            ((2 + Adam::NUMBERS) * n * dim * size_of::<f32>()) as u64
        }
        Model::Gae | Model::Gcn => Network::bytes(Kind::Gcn, n, dim),
        Model::Vgae => Network::bytes(Kind::Variational, n, dim),
        Model::Sage => Network::bytes(Kind::Sage, n, dim),
    };
    let size = config.batch(n) as u64;
    let together = (n as u64).div_ceil(size).min(TOGETHER);
    let near = if config.model.by_edges() {
        graph.arcs() as u64 * size / n as u64
    } else {
        size * (config.walks(graph) * config.windows() * (config.window() - 1)) as u64
    };
    let far = near / (config.window() - 1) as u64 * config.k() as u64;
    encoder + (n * dim * size_of::<f32>()) as u64 + together * (near * 48 + far * 32 + n as u64 * 8)
}

/// The vectors that a table starts with: normal ones in the paper's protocol, small ones else.
fn start(nodes: usize, config: &TrainConfig) -> Vec<f32> {
    let mut vectors = vec![0.0; nodes * config.dim];
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

/// Writes the gradient of a batch at all vectors to `out`, and returns its loss.
pub(super) fn gradient(batch: &Batch, vectors: &[f32], dim: usize, out: &mut [f32]) -> f64 {
    const CENTRES: usize = 16;
    let row = |node: Node| &vectors[node as usize * dim..][..dim];
    let mut own = vec![0.0; batch.centres.len() * dim];
    let slopes_of_some = |(own, (at, centres)): (&mut [f32], (usize, &[Node]))| {
        let mut slopes = Vec::new();
        let mut loss = 0.0;
        for (own, (at, &centre)) in own.chunks_exact_mut(dim).zip((at * CENTRES..).zip(centres)) {
            let z = row(centre);
            for &(other, weight) in batch.of(at) {
                let s = dot(z, row(other));
                let (wrong, cost) = wrong_and_loss(if weight > 0.0 { s } else { -s });
                loss += f64::from(weight.abs() * cost);
                let slope = -weight * wrong;
                add(own, slope, row(other));
                slopes.push(slope);
            }
        }
        (slopes, loss)
    };
    let (slopes, losses): (Vec<Vec<f32>>, Vec<f64>) = own
        .par_chunks_mut(CENTRES * dim)
        .zip(batch.centres.par_chunks(CENTRES).enumerate())
        .map(slopes_of_some)
        .unzip();
    let slopes: Vec<f32> = slopes.concat();
    out.par_chunks_exact_mut(dim).with_min_len(64).enumerate().for_each(|(node, out)| {
        out.fill(0.0);
        for &(centre, pair) in batch.towards(node) {
            add(out, slopes[pair as usize], row(batch.centres[centre as usize]));
        }
        if let Ok(at) = batch.centres.binary_search(&(node as Node)) {
            add(out, 1.0, &own[at * dim..][..dim]);
        }
    });
    losses.iter().sum()
}

/// The product of two vectors, in lanes that become vector registers.
#[inline]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 16;
    let (chunks_a, rest_a) = a.as_chunks::<LANES>();
    let (chunks_b, rest_b) = b.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (a, b) in chunks_a.iter().zip(chunks_b) {
        (0..LANES).for_each(|lane| sums[lane] += a[lane] * b[lane]);
    }
    let rest: f32 = rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

/// Adds a multiple of one vector to another.
#[inline]
fn add(out: &mut [f32], factor: f32, x: &[f32]) {
    out.iter_mut().zip(x).for_each(|(out, x)| *out += factor * x);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_is_that_of_the_loss() {
        let (n, dim) = (5, 19);
        let pairs =
            [(1, 0, 0.5), (1, 4, -0.25), (1, 1, 0.3), (4, 1, 0.2), (4, 0, -0.75), (4, 2, -0.1)];
        let batch = Batch::new(n, pairs.to_vec(), 6);
        let mut rng = Rng::new(0, Purpose::Start, 0, 0);
        let z: Vec<f32> = (0..n * dim).map(|_| rng.normal() as f32 * 0.5).collect();
        let loss = |z: &[f32]| -> f64 {
            let row = |node: u32| z[node as usize * dim..][..dim].iter().map(|&x| f64::from(x));
            let cost = |&(i, j, weight): &(u32, u32, f32)| {
                let s: f64 = row(i).zip(row(j)).map(|(a, b)| a * b).sum();
                f64::from(weight.abs()) * (if weight > 0.0 { -s } else { s }).exp().ln_1p()
            };
            pairs.iter().map(cost).sum()
        };
        let mut found = vec![f32::NAN; n * dim];
        let total = gradient(&batch, &z, dim, &mut found);
        assert!((total - loss(&z)).abs() < 1e-5);
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
