//! From vectors and a graph that changed to vectors of the new graph.

use std::sync::Arc;

use crate::budget::Budget;
use crate::embedding::Embedding;
use crate::error::{Error, Problem, Result};
use crate::graph::Graph;
use crate::pipeline::{Parts, embed_changes};
use crate::train::update::Changes;
use crate::train::{Settings, Sink, Trainer, Updated};

/// Vectors of a graph that changed since `old` was trained. New nodes get vectors, those of removed
/// nodes go; the vectors of nodes of whose edges none changed are the same as before, and others move
/// as far as their changed edges ask. The cost is in proportion to what changed. Lengths of edges change
/// the distances that negatives are drawn by, and move no node by themselves.
///
/// `before` is the graph of the old vectors. Without it, an edge counts as new if one of its ends is a
/// new node; edges that are new or gone between old nodes are not noticed.
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
/// let old = nearfar::embed(&graph, &settings, &Budget::default(), &mut ())?;
/// let settings = Settings::recorded(&old);
/// let (same, updated) =
///     nearfar::update(&old, &graph, None, &settings, &Budget::default(), &mut ())?;
/// assert_eq!((updated.new, updated.moved, updated.kept), (0, 0, 34));
/// assert_eq!(same.vectors(), old.vectors());
/// # Ok::<(), nearfar::Error>(())
/// ```
///
/// The settings should be those of the old vectors: [`Settings::recorded`].
pub fn update(
    old: &Embedding,
    graph: &Arc<Graph>,
    before: Option<&Graph>,
    settings: &Settings,
    budget: &Budget,
    sink: &mut dyn Sink,
) -> Result<(Embedding, Updated)> {
    check(old, settings)?;
    check_direction(old, graph)?;
    old.check_known(graph)?;
    if let Some(before) = before {
        if before.is_directed() != graph.is_directed() {
            let message = "of the old graph and the new one, only one is directed";
            return Err(Error::conflict(message));
        }
        old.check_known(before)?;
    }
    let changes = Changes::new(graph, old, before);
    let parts = Parts { init: Some(old), ..Default::default() };
    let updated = changes.count(old);
    let embedding = embed_changes(graph, settings, budget, parts, Some(&changes), sink)?;
    embedding.check_finite()?;
    let mut record = embedding.provenance().clone();
    record.insert("updated".to_owned(), serde_json::to_value(updated).unwrap_or_default());
    Ok((embedding.with_provenance(record), updated))
}

/// Fails if the vectors are recorded to be of a directed graph, and this one is not, or the other way round.
fn check_direction(old: &Embedding, graph: &Graph) -> Result<()> {
    let record = old.provenance();
    let was_directed = record.contains_key("directed");
    if record.is_empty() || was_directed == graph.is_directed() {
        return Ok(());
    }
    let problem = if was_directed {
        Problem::from("the vectors are those of a directed graph").give("directed")
    } else {
        Problem::from("the vectors are those of an undirected graph").omit("directed")
    };
    Err(Error::conflict(problem))
}

/// Fails if such vectors cannot be updated.
fn check(old: &Embedding, settings: &Settings) -> Result<()> {
    let train = &settings.train;
    let recorded = |key: &str| old.provenance().get(key).and_then(serde_json::Value::as_u64);
    if train.order == 2 || recorded("order") == Some(2) {
        let message =
            "an update needs the context vectors of second-order models, which no file has";
        return Err(Error::conflict(Problem::from(message).act("train with one vector per node")));
    }
    if train.model.has_network() {
        let problem = Problem::from("networks compute their vectors from features");
        return Err(Error::conflict(problem.act("apply the trained network (nearfar apply)")));
    }
    if train.resolved_trainer() != Trainer::Stream {
        let problem = Problem::from("only the stream trainer updates vectors");
        return Err(Error::conflict(problem.set("trainer", "stream").omit("protocol")));
    }
    Ok(())
}
