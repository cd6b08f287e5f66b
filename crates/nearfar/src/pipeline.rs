//! The whole pipeline in one call: plan, sampler, trainer, vectors.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::budget::Budget;
use crate::embedding::Embedding;
use crate::encode::{Encoder, Features, NetworkModel};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::memory::Array;
use crate::negative::{NegativeSampler, Negatives};
use crate::positive::PositiveSource;
use crate::simd::InstructionSet;
use crate::train::backend::{self, Backend, Task, Trained};
use crate::train::network_kind;
use crate::train::update::{Changes, Update};
use crate::train::{Device, Event, From, Settings, Sink, TrainPlan, given};

/// Trains a vector for every node of a graph.
///
/// ```
/// use std::sync::Arc;
/// use nearfar::Budget;
/// use nearfar::graph::{ReadOptions, read};
/// use nearfar::train::{Settings, TrainConfig};
///
/// let graph = Arc::new(read("builtin:karate", &ReadOptions::default())?.graph);
/// let train = TrainConfig { dim: 16, ..Default::default() };
/// let settings = Settings { train, ..Default::default() };
/// let embedding = nearfar::embed(&graph, &settings, &Budget::default(), &mut ())?;
/// assert_eq!(embedding.vectors().len(), 34 * 16);
/// # Ok::<(), nearfar::Error>(())
/// ```
///
/// The [`Sink`] receives the plan before any work is done, then events and states. A run that it
/// stops returns the vectors as they are then.
pub fn embed(
    graph: &Arc<Graph>,
    settings: &Settings,
    budget: &Budget,
    sink: &mut dyn Sink,
) -> Result<Embedding> {
    embed_with(graph, settings, budget, Parts::default(), sink)
}

/// Parts of the pipeline that replace the built-in ones.
#[derive(Default)]
pub struct Parts<'a> {
    /// Walks that positive pairs come from.
    pub positives: Option<Box<dyn PositiveSource>>,
    /// The law of negatives. Its memory is not part of the plan.
    pub negatives: Option<Box<dyn NegativeSampler>>,
    /// The encoder, for the batch trainer.
    pub encoder: Option<Box<dyn Encoder>>,
    /// Builds the backend that trains.
    pub backend: Option<BuildBackend<'a>>,
    /// The instruction set, in place of that of the settings.
    pub instruction_set: Option<InstructionSet>,
    /// Vectors to start from, matched by id; nodes without one start at the mean of their neighbours'.
    pub init: Option<&'a Embedding>,
    /// Features of the nodes, for models with a network.
    pub features: Option<Arc<Features>>,
    /// Where the trained network is put that read the features.
    pub model: Option<&'a mut Option<NetworkModel>>,
}

/// Builds a backend.
pub type BuildBackend<'a> = Box<dyn for<'t> FnOnce(Task<'t>) -> Result<Box<dyn Backend + 't>> + 'a>;

/// [`embed`] with parts of one's own.
pub fn embed_with(
    graph: &Arc<Graph>,
    settings: &Settings,
    budget: &Budget,
    parts: Parts<'_>,
    sink: &mut dyn Sink,
) -> Result<Embedding> {
    embed_changes(graph, settings, budget, parts, None, sink)
}

/// [`embed_with`]; where there are changes since the vectors to start from were trained, only they are
/// trained.
pub(crate) fn embed_changes(
    graph: &Arc<Graph>,
    settings: &Settings,
    budget: &Budget,
    parts: Parts<'_>,
    changes: Option<&Changes>,
    sink: &mut dyn Sink,
) -> Result<Embedding> {
    let mut settings = settings.clone();
    if parts.negatives.is_some() {
        settings.negatives.negatives = Negatives::Uniform;
    }
    let from = From {
        init: parts.init.map(Embedding::fingerprint),
        updated: changes.map(|it| it.nodes().count()),
        features: parts.features.as_ref().map(|features| features.shape()),
    };
    if let Some(features) = parts.features.as_ref().filter(|it| it.nodes() != graph.nodes()) {
        let (rows, nodes) = (features.nodes(), graph.nodes());
        let message = format!("there are {rows} rows of features for {nodes} nodes");
        return Err(Error::conflict(message));
    }
    let given = parts.init.map_or(0, |init| 4 * init.vectors().len() as u64);
    let budget = Budget { reserved: budget.reserved.saturating_add(given), ..*budget };
    let mut plan = TrainPlan::starting_from(from, &settings, graph, &budget)?;
    parts.init.map_or(Ok(()), |init| given::check(init, &plan, graph))?;
    plan.kernel = parts.instruction_set.unwrap_or(plan.kernel);
    if let Some(negatives) = &parts.negatives {
        plan = plan.with_sampler(&**negatives, graph);
    }
    let embedding = |vectors, contexts: Option<Array<f32>>| {
        let embedding = Embedding::from_array(graph.ids().clone(), plan.dim, vectors)?;
        let embedding = embedding.with_provenance(plan.provenance());
        Ok(match contexts {
            Some(contexts) => embedding.with_contexts(contexts),
            None => embedding,
        })
    };
    let ControlFlow::Continue(checkpoint) = sink.plan(&plan)? else {
        let mut vectors = vec![0.0; graph.nodes() * plan.dim];
        given::initial(&plan, graph, parts.init, plan.dim, &mut vectors);
        return embedding(vectors.into(), None);
    };
    let negatives = parts.negatives.map_or_else(|| plan.negatives.build(graph), Ok)?;
    // An update walks without directions, so that a new sink has positives, too.
    let walked = if changes.is_some() { &graph.to_undirected() } else { graph };
    let positives = parts.positives.map_or_else(|| backend::positives(&plan, walked), Ok)?;
    let started = Event::Started {
        nodes: graph.nodes(),
        epochs: plan.epochs,
        walks: plan.walks,
        kernel: plan.kernel.name(),
        memory: plan.memory,
        settings: plan.provenance(),
    };
    let encoder = parts.encoder;
    let negatives = &*negatives;
    let (instruction_set, init) = (plan.kernel, parts.init);
    let features = parts.features;
    let task = Task {
        plan: &plan,
        graph: walked,
        positives,
        negatives,
        encoder,
        instruction_set,
        init,
        features,
    };
    let backend = match (parts.backend, parts.init.zip(changes)) {
        (Some(build), _) => build(task)?,
        (None, _) if plan.device != Device::Cpu => {
            let message = "this program was built without support for GPUs";
            return Err(Error::option("device", plan.device, message));
        }
        (None, Some((old, changes))) => Box::new(Update::new(task, old, changes)),
        (None, None) => task.backend()?,
    };
    let Trained { vectors, contexts, parameters } =
        backend::run(backend, &plan, graph, &started, checkpoint, sink)?;
    if let (Some(out), Some(parameters)) = (parts.model, parameters)
        && let (Some(shape), Some(kind)) = (plan.features, network_kind(plan.model))
    {
        let (features, dim, provenance) = (shape.width, plan.dim, plan.provenance());
        *out = Some(NetworkModel { kind, features, dim, parameters, provenance });
    }
    embedding(vectors, contexts)
}
