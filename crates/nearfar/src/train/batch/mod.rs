//! The batch trainer: Adam on minibatches, over any encoder.
//!
//! # Derivation
//!
//! A batch holds the windows of walks from some start nodes. Its loss is the mean over its positive
//! pairs plus w times the mean over its negative ones,
//!
//! ```text
//! −(1/N) Σ log σ(z_i·z_j) − (w/F) Σ log σ(−z_i·z_k)
//! ```
//!
//! A pair that occurs c times weighs c/N, or w c/F: walks from few nodes repeat their pairs, and equal
//! terms have equal gradients, so each is computed once, by [`gradient`].

mod gradient;
mod memory;
mod pairs;
mod radix;
mod sampling;

use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::prelude::*;

use super::backend::{Backend, EpochStats, KeepGoing, Task, VectorView, cannot_be_of_this_run};
use super::config::Model;
use super::given::initial;
use super::plan::TrainPlan;
use super::start::{SPREAD, small_vectors};
use crate::encode::{Adam, Encoder, Network, NetworkKind};
use crate::error::Result;
use crate::graph::Node;
use crate::memory::{Aligned, Array};
use crate::rng::{Purpose, Rng};
use gradient::PairGradients;
use memory::group_size;
pub(super) use memory::{bytes, check};
use pairs::Batch;
use sampling::{BatchGroup, BatchSampler};

/// Of the batches that are sampled together, so many are assembled in parallel. The number does not
/// change the result.
const READY: usize = 16;

/// The trainer.
pub(super) struct Batches<'a> {
    plan: &'a TrainPlan,
    sampler: BatchSampler<'a>,
    learner: Learner,
    gradients: PairGradients,
    nodes: usize,
}

/// What is trained, and what that needs.
enum Learner {
    /// A vector for each node: the parameters are the vectors.
    Table { vectors: Aligned, adam: Adam },
    /// A network, and a buffer for the gradient at its vectors.
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
    pub(super) fn new(task: Task<'a>) -> Self {
        let Task { plan, graph, positives, negatives, encoder, instruction_set, init, features } =
            task;
        let (nodes, dim) = (graph.nodes(), plan.dim);
        let network = |encoder| Learner::Network { encoder, gradient: vec![0.0; nodes * dim] };
        let learner = match (encoder, network_kind(plan.model)) {
            (Some(encoder), _) => network(encoder),
            (None, Some(kind)) => {
                network(Box::new(Network::with_inputs(kind, graph, features, dim, plan.seed)))
            }
            (None, None) => {
                let mut vectors = start(nodes, plan);
                if init.is_some() {
                    initial(plan, graph, init, dim, &mut vectors);
                }
                Learner::Table { vectors, adam: Adam::new(nodes * dim) }
            }
        };
        let sampler = BatchSampler {
            plan,
            graph: Arc::clone(graph),
            positives: (!plan.model.by_edges()).then_some(positives),
            negatives,
            shared_negatives: plan.shared_negatives,
        };
        Self {
            plan,
            sampler,
            learner,
            gradients: PairGradients::new(instruction_set, nodes, dim),
            nodes,
        }
    }

    /// Takes a step for the batch with this number, and returns its loss.
    fn step(&mut self, batch: &Batch, number: u64) -> f64 {
        let (plan, gradients) = (self.plan, &mut self.gradients);
        match &mut self.learner {
            Learner::Table { vectors, adam } => {
                let loss = gradients.compute(batch, vectors);
                gradients.step(batch, adam, plan.lr, vectors);
                loss
            }
            Learner::Network { encoder, gradient } => {
                encoder.forward(Some(&mut Rng::new(plan.seed, Purpose::Noise, number, 0)));
                let loss = gradients.compute(batch, encoder.vectors());
                gradients.write(batch, gradient);
                encoder.backward(gradient);
                encoder.step(plan.lr);
                loss
            }
        }
    }
}

impl Backend for Batches<'_> {
    fn epoch(
        &mut self,
        epoch: usize,
        keep_going: &mut KeepGoing<'_>,
    ) -> Result<ControlFlow<(), EpochStats>> {
        let (plan, n) = (self.plan, self.nodes);
        let mut order: Vec<Node> = (0..n as Node).collect();
        Rng::new(plan.seed, Purpose::Order, epoch as u64, 0).shuffle(&mut order);
        let batches: Vec<&[Node]> = order.chunks(plan.batch).collect();
        let (mut loss, mut pairs) = (0.0, 0);
        let mut group = BatchGroup::default();
        let mut buffers: Vec<Batch> = (0..READY).map(|_| Batch::default()).collect();
        let group_size = group_size(&self.sampler.graph, plan);
        for (at, some) in batches.chunks(group_size).enumerate() {
            let first = at * group_size;
            self.sampler.group(epoch, first, some, &mut group);
            for ready in (0..group.len()).step_by(READY) {
                if keep_going((first + ready) as f64 / batches.len() as f64)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                let range = ready..(ready + READY).min(group.len());
                buffers.par_iter_mut().zip(range.clone()).with_max_len(1).for_each(
                    |(batch, at)| {
                        self.sampler.batch(&group, at, batch);
                    },
                );
                for (at, batch) in range.zip(&buffers) {
                    loss += self.step(batch, (epoch * batches.len() + first + at) as u64);
                    pairs += batch.pairs;
                }
            }
        }
        if let Learner::Network { encoder, .. } = &mut self.learner {
            encoder.forward(None);
        }
        let loss = loss / batches.len().max(1) as f64 / (1.0 + plan.negative_weight);
        Ok(ControlFlow::Continue(EpochStats { pairs, loss, l2: 0.0, effective_rank: None }))
    }

    fn vectors(&self) -> VectorView<'_> {
        VectorView { values: self.learner.vectors(), dim: self.plan.dim, stride: self.plan.dim }
    }

    fn parameters(&self) -> Option<&[f32]> {
        match &self.learner {
            Learner::Table { .. } => None,
            Learner::Network { encoder, .. } => encoder.parameters(),
        }
    }

    /// The moments of Adam, or what the encoder says.
    fn state(&self) -> Option<Vec<u8>> {
        match &self.learner {
            Learner::Table { adam, .. } => {
                let mut state = Vec::new();
                adam.append(&mut state);
                Some(state)
            }
            Learner::Network { encoder, .. } => encoder.state(),
        }
    }

    fn restore(&mut self, vectors: &Array<f32>, state: &Array<u8>) -> Result<()> {
        let mut state = &**state;
        let restored = match &mut self.learner {
            Learner::Table { vectors: table, adam } => {
                let finite = vectors.iter().all(|value| value.is_finite());
                let fits = finite && vectors.len() == table.len();
                fits.then(|| table.copy_from_slice(vectors))
                    .and_then(|()| adam.take(&mut state))
                    .filter(|()| state.is_empty())
            }
            Learner::Network { encoder, .. } => encoder.restore(state).filter(|()| {
                encoder
                    .vectors()
                    .iter()
                    .map(|x| x.to_bits())
                    .eq(vectors.iter().map(|x| x.to_bits()))
            }),
        };
        restored.ok_or_else(cannot_be_of_this_run)
    }

    fn into_vectors(self: Box<Self>) -> Vec<f32> {
        match self.learner {
            Learner::Table { vectors, .. } => {
                let len = vectors.len();
                vectors.into_vec(len)
            }
            Learner::Network { encoder, .. } => encoder.vectors().to_vec(),
        }
    }
}

/// The network of a model; `None` if its vectors are a table.
pub(crate) fn network_kind(model: Model) -> Option<NetworkKind> {
    match model {
        Model::Deepwalk | Model::Node2vec | Model::Line => None,
        Model::Gae | Model::Gcn => Some(NetworkKind::Gcn),
        Model::Vgae => Some(NetworkKind::Variational),
        Model::Sage => Some(NetworkKind::Sage),
    }
}

/// The vectors that a table starts with: N(0, 1) in the paper's protocol, small ones else.
fn start(nodes: usize, plan: &TrainPlan) -> Aligned {
    let mut vectors = Aligned::zeroed(nodes * plan.dim);
    if plan.protocol.is_none() {
        small_vectors(plan, plan.dim, &mut vectors, SPREAD);
        return vectors;
    }
    vectors.par_chunks_exact_mut(plan.dim).enumerate().for_each(|(node, row)| {
        let mut rng = Rng::new(plan.seed, Purpose::Start, 0, node as u64);
        for value in row {
            *value = rng.normal() as f32;
        }
    });
    vectors
}

#[cfg(test)]
mod tests {
    use super::super::config::{TrainConfig, Trainer};
    use super::super::settings::Settings;
    use super::sampling::STREAM;
    use super::*;
    use crate::budget::Budget;
    use crate::graph::{EdgeList, NodeIds};
    use crate::positive::Walk;
    use crate::simd::InstructionSet;

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
            let mut gradients = PairGradients::new(InstructionSet::detect(), 5, dim);
            for _ in 0..3 {
                let mut gradient = vec![0.0; 5 * dim];
                gradients.compute(&batch, &dense);
                gradients.write(&batch, &mut gradient);
                oracle.step(0.01, &mut dense, &gradient);
                gradients.compute(&batch, &table);
                gradients.step(&batch, &mut adam, 0.01, &mut table);
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
        let mut gradients = PairGradients::new(InstructionSet::detect(), n, dim);
        let sum = gradients.compute(&batch, &z);
        gradients.write(&batch, &mut found);
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

    /// Batches are sampled 256 at a time, the negatives of 64 together, and assembled in parallel. They
    /// are trained as if each was sampled, assembled and trained by itself.
    #[test]
    fn an_epoch_is_a_step_for_each_batch() {
        const NODES: u32 = 300;
        let edges = (0..NODES).map(|a| (a, (a + 1) % NODES)).collect();
        let ids = NodeIds::Range { start: 0, len: NODES as usize };
        let graph = Arc::new(EdgeList { pairs: edges, weights: None, ids }.build().unwrap().0);
        for model in [Model::Deepwalk, Model::Vgae] {
            let train = TrainConfig {
                model,
                trainer: Some(Trainer::Batch),
                batch: Some(1),
                walks: Some(2),
                dim: 6,
                epochs: Some(2),
                negative_weight: 1.5,
                ..Default::default()
            };
            let settings = Settings { train, ..Default::default() };
            let plan = TrainPlan::new(&settings, &graph, &Budget::default()).unwrap();
            let negatives = plan.negatives.build(&graph).unwrap();
            let batches = || {
                Batches::new(Task {
                    plan: &plan,
                    graph: &graph,
                    positives: Box::new(Walk::new(&graph)),
                    negatives: &*negatives,
                    encoder: None,
                    instruction_set: InstructionSet::detect(),
                    init: None,
                    features: None,
                })
            };
            let (mut whole, mut single) = (batches(), batches());
            for epoch in 0..2 {
                let mut progress = vec![];
                let mut keep_going = |done: f64| {
                    progress.push((done * 300.0).round() as usize);
                    Ok(ControlFlow::Continue(()))
                };
                let found = whole.epoch(epoch, &mut keep_going).unwrap();
                let found = found.continue_value().unwrap();
                assert_eq!(progress, (0..300).step_by(READY).collect::<Vec<_>>());

                let mut order: Vec<Node> = (0..NODES).collect();
                Rng::new(plan.seed, Purpose::Order, epoch as u64, 0).shuffle(&mut order);
                let starts: Vec<&[Node]> = order.chunks(1).collect();
                let (mut group, mut batch) = (BatchGroup::default(), Batch::default());
                let (mut loss, mut pairs) = (0.0, 0);
                for at in 0..300 {
                    let first = at / STREAM * STREAM;
                    let stream = &starts[first..(first + STREAM).min(300)];
                    single.sampler.group(epoch, first, stream, &mut group);
                    single.sampler.batch(&group, at - first, &mut batch);
                    loss += single.step(&batch, (300 * epoch + at) as u64);
                    pairs += batch.pairs;
                }
                if let Learner::Network { encoder, .. } = &mut single.learner {
                    encoder.forward(None);
                }
                assert_eq!(whole.vectors().values, single.vectors().values, "{model:?}");
                // Of a walk four contexts and ten negatives; of an edge, in each direction, one.
                let expected = if model == Model::Vgae { 2 * 300 * 2 } else { 300 * 2 * 14 };
                assert_eq!((found.pairs, pairs), (expected, expected), "{model:?}");
                assert!((found.loss - loss / 300.0 / 2.5).abs() < 1e-9, "{model:?}");
            }
        }
    }
}
