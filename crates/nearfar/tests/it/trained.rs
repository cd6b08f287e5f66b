//! Short ways to train in tests.

use std::sync::Arc;

use nearfar::embedding::Embedding;
use nearfar::graph::Graph;
use nearfar::negative::{Demand, NegativeConfig, NegativePlan, NegativeSampler, Negatives};
use nearfar::train::{Settings, Sink, TrainConfig, TrainPlan};
use nearfar::{Budget, Parts, Result, embed_with};

fn settings(law: Negatives, train: &TrainConfig) -> Settings {
    let negatives = NegativeConfig { negatives: law, ..Default::default() };
    Settings { train: train.clone(), negatives }
}

/// The plan for a graph, with 8 GB.
pub(crate) fn plan(graph: &Graph, law: Negatives, train: &TrainConfig) -> TrainPlan {
    TrainPlan::new(&settings(law, train), graph, &Budget::default()).unwrap()
}

/// The vectors of a graph, row by row.
pub(crate) fn embed(
    graph: &Arc<Graph>,
    law: Negatives,
    train: &TrainConfig,
    sink: &mut dyn Sink,
) -> Result<Vec<f32>> {
    let settings = settings(law, train);
    nearfar::embed(graph, &settings, &Budget::default(), sink).map(Embedding::into_vectors)
}

/// The same with parts of one's own.
pub(crate) fn embed_parts(
    graph: &Arc<Graph>,
    parts: Parts<'_>,
    train: &TrainConfig,
    sink: &mut dyn Sink,
) -> Result<Vec<f32>> {
    let settings = settings(Negatives::Distance, train);
    embed_with(graph, &settings, &Budget::default(), parts, sink).map(Embedding::into_vectors)
}

/// A sampler with default options.
pub(crate) fn sampler(graph: &Arc<Graph>, negatives: Negatives) -> Box<dyn NegativeSampler> {
    let config = NegativeConfig { negatives, ..Default::default() };
    let plan = NegativePlan::new(graph, &config, &Budget::default(), &Demand::default());
    plan.unwrap().build(graph).unwrap()
}
