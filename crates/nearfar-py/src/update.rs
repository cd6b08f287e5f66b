//! Vectors of graphs that changed, and of unseen nodes.

use std::sync::Arc;

use nearfar::Budget;
use nearfar::train::{Recorder, Settings};
use pyo3::prelude::*;

use crate::embedding::{Embedding, Observer, record_text_ids};
use crate::graph::Graph;
use crate::options::{Memory, Options, Threads};
use crate::work;

/// Updates vectors to a graph. Returns them with what changed, as JSON. Keywords that are not given
/// are those that the vectors were trained with, where that is recorded.
#[pyfunction]
#[pyo3(signature = (embedding, graph, before, options, callback=None, text_ids=false))]
pub(crate) fn update(
    py: Python<'_>,
    embedding: &Embedding,
    graph: &Graph,
    before: Option<&Graph>,
    options: &str,
    callback: Option<Py<PyAny>>,
    text_ids: bool,
) -> PyResult<(Embedding, String)> {
    let old = Arc::clone(&embedding.0);
    let mut options = Options::parse(options)?;
    let settings = options.settings_from(Settings::recorded(&old))?;
    let Threads { threads } = options.put(Threads::default())?;
    let memory = options.put(Memory::default())?.bytes()?;
    options.end()?;
    let (graph, before) = (Arc::clone(&graph.shared), before.map(|it| Arc::clone(&it.shared)));
    let (new, updated) = work::run(py, threads, callback, move |caller| {
        let mut observer = Observer { caller, recorder: Recorder::default() };
        let budget = Budget { memory, ..Default::default() };
        let before = before.as_deref();
        let (new, updated) =
            nearfar::update(&old, &graph, before, &settings, &budget, &mut observer)?;
        let new = if text_ids { record_text_ids(new) } else { new };
        Ok((new, serde_json::to_string(&updated).unwrap_or_default()))
    })?;
    Ok((Embedding::of(new), updated))
}

/// Vectors of the nodes of a graph that have none, and their rows in the graph.
#[pyfunction]
pub(crate) fn transform(
    py: Python<'_>,
    embedding: &Embedding,
    graph: &Graph,
) -> PyResult<(Embedding, Vec<usize>)> {
    let (old, graph) = (Arc::clone(&embedding.0), Arc::clone(&graph.shared));
    let (unseen, rows) = work::run(py, None, None, move |_| {
        let unseen = old.transform(&graph)?;
        let row = |node| graph.ids().find(&unseen.ids().get(node)).map(|row| row as usize);
        let rows = (0..unseen.nodes() as u32).filter_map(row).collect();
        Ok((unseen, rows))
    })?;
    Ok((Embedding::of(unseen), rows))
}
