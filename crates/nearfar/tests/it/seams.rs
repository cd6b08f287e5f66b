//! Parts of the pipeline that are implemented outside of the crate.

use std::ops::ControlFlow;
use std::sync::Arc;

use nearfar::encode::{Adam, Encoder};
use nearfar::graph::{Graph, Node, ReadOptions, read};
use nearfar::negative::{NegativeSampler, Negatives};
use nearfar::positive::{PositiveSource, Walk};
use nearfar::rng::{Purpose, Rng};
use nearfar::train::{
    Backend, Checkpoint, EpochStats, Event, KeepGoing, Protocol, Sink, TrainConfig, TrainPlan,
    Trainer, VectorView,
};
use nearfar::{Parts, Result};

use crate::trained::{embed, embed_parts, sampler};

fn karate() -> Arc<Graph> {
    Arc::new(read("builtin:karate", &ReadOptions::default()).unwrap().graph)
}

fn short() -> TrainConfig {
    TrainConfig { dim: 12, epochs: Some(3), ..Default::default() }
}

/// The walks of another source.
struct Walks(Walk);

impl PositiveSource for Walks {
    fn walk(&self, start: Node, rng: &mut Rng, out: &mut [Node]) -> usize {
        self.0.walk(start, rng, out)
    }
}

/// The negatives of another sampler.
struct Law(Box<dyn NegativeSampler>);

impl NegativeSampler for Law {
    fn fill(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) {
        self.0.fill(centre, rng, out);
    }

    fn weights(&self, centre: Node, out: &mut [f64]) {
        self.0.weights(centre, out);
    }
}

/// Keeps the plan.
#[derive(Default)]
struct Planned(Option<TrainPlan>);

impl Sink for Planned {
    fn plan(&mut self, plan: &TrainPlan) -> Result<ControlFlow<(), Option<Checkpoint>>> {
        self.0 = Some(plan.clone());
        Ok(ControlFlow::Continue(None))
    }

    fn event(&mut self, _: &Event) -> Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }
}

#[test]
fn walks_and_negatives_of_ones_own_train_as_the_built_in_ones() {
    let graph = karate();
    let protocol = Some(Protocol::Paper);
    let batch = TrainConfig { trainer: Some(Trainer::Batch), ..short() };
    let exact = TrainConfig { trainer: Some(Trainer::Exact), ..short() };
    // A source of one's own takes as many walks from every node.
    let stream = TrainConfig { centre_power: Some(0.0), ..short() };
    let exact = TrainConfig { centre_power: Some(0.0), ..exact };
    for config in [stream, batch, exact, TrainConfig { protocol, ..short() }] {
        let built_in = embed(&graph, Negatives::Distance, &config, &mut ()).unwrap();
        let parts = Parts {
            positives: Some(Box::new(Walks(Walk::new(&graph)))),
            negatives: Some(Box::new(Law(sampler(&graph, Negatives::Distance)))),
            ..Default::default()
        };
        let mut planned = Planned::default();
        let own = embed_parts(&graph, parts, &config, &mut planned).unwrap();
        assert_eq!(own, built_in, "{config:?}");
        let plan = planned.0.unwrap();
        assert_eq!(plan.provenance()["negatives"], "custom");
        assert!(plan.summary().starts_with("negatives: custom · memory "), "{}", plan.summary());
    }
}

/// A table of vectors as an encoder.
struct Table {
    vectors: Vec<f32>,
    gradient: Vec<f32>,
    adam: Adam,
}

impl Encoder for Table {
    fn forward(&mut self, _: Option<&mut Rng>) {}

    fn vectors(&self) -> &[f32] {
        &self.vectors
    }

    fn backward(&mut self, gradient: &mut Vec<f32>) {
        self.gradient.copy_from_slice(gradient);
    }

    fn step(&mut self, rate: f64) {
        self.adam.step(rate, &mut self.vectors, &self.gradient);
    }
}

/// A table that takes its steps as an encoder learns what the table of the batch trainer learns.
#[test]
fn an_encoder_of_ones_own_learns() {
    let graph = karate();
    let size = graph.nodes() * 12;
    let mut rng = Rng::new(4, Purpose::Start, 0, 0);
    let table = Table {
        vectors: (0..size).map(|_| (rng.unit() - 0.5) as f32 * 0.2).collect(),
        gradient: vec![0.0; size],
        adam: Adam::new(size),
    };
    let encoder: Option<Box<dyn Encoder>> = Some(Box::new(table));
    let config = TrainConfig {
        trainer: Some(Trainer::Batch),
        batch: Some(34),
        epochs: Some(80),
        lr: Some(0.05),
        ..short()
    };
    let parts = Parts { encoder, ..Default::default() };
    let vectors = embed_parts(&graph, parts, &config, &mut ()).unwrap();
    let row = |node: Node| &vectors[node as usize * 12..][..12];
    let dot = |a, b| -> f32 { row(a).iter().zip(row(b)).map(|(x, y)| x * y).sum() };
    let mean = |adjacent: bool| {
        let pairs = (0..34).flat_map(|a| (0..a).map(move |b| (a, b)));
        let pairs = pairs.filter(|&(a, b)| graph.has_edge(a, b) == adjacent);
        let products: Vec<f32> = pairs.map(|(a, b)| dot(a, b)).collect();
        products.iter().sum::<f32>() / products.len() as f32
    };
    assert!(mean(true) > mean(false) + 0.5, "{} {}", mean(true), mean(false));

    let encoder: Box<dyn Encoder> =
        Box::new(Table { vectors: vec![], gradient: vec![], adam: Adam::new(0) });
    let parts = Parts { encoder: Some(encoder), ..Default::default() };
    let error = embed_parts(&graph, parts, &short(), &mut ()).unwrap_err().to_string();
    assert_eq!(error, "an encoder needs the batch trainer; use --trainer batch");
}

/// Counts epochs in place of training.
struct Counter {
    epochs: usize,
    dim: usize,
    values: Vec<f32>,
}

impl Backend for Counter {
    fn epoch(
        &mut self,
        epoch: usize,
        keep_going: &mut KeepGoing<'_>,
    ) -> Result<ControlFlow<(), EpochStats>> {
        assert_eq!(epoch, self.epochs);
        if keep_going(0.5)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        self.epochs += 1;
        self.values.fill(self.epochs as f32);
        let stats = EpochStats { pairs: 1, loss: 0.5, l2: 0.0, effective_rank: None };
        Ok(ControlFlow::Continue(stats))
    }

    fn vectors(&self) -> VectorView<'_> {
        VectorView { values: &self.values, dim: self.dim, stride: self.dim }
    }

    fn into_vectors(self: Box<Self>) -> Vec<f32> {
        self.values
    }
}

#[test]
fn a_backend_of_ones_own_runs_in_the_epoch_loop() {
    let graph = karate();
    let parts = Parts {
        backend: Some(Box::new(|task| {
            let (nodes, dim) = (task.graph.nodes(), task.plan.dim);
            Ok(Box::new(Counter { epochs: 0, dim, values: vec![0.0; nodes * dim] }))
        })),
        ..Default::default()
    };
    let config = TrainConfig { smoothing: Some(0), ..short() };
    let vectors = embed_parts(&graph, parts, &config, &mut ()).unwrap();
    assert_eq!(vectors, vec![3.0; 34 * 12]);
}
