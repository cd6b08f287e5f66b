//! Scores: what `nearfar evaluate`, `links` and `measure` print with `--json`.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use nearfar::Error;
use nearfar::evaluate::measure::MeasureConfig;
use nearfar::evaluate::{ClassifyConfig, LinksConfig, read_labels, read_splits, splits_in};
use nearfar::graph::{Labels, Split, Splits};
use nearfar::train::{self, Event, Sink};
use pyo3::prelude::*;
use serde::Serialize;

use crate::embedding::{Embedding, sampler};
use crate::graph::Graph;
use crate::options::{Memory, Options, Threads, check};
use crate::work::{self, Caller};

/// Labels: those of each row, or a file of them.
#[derive(FromPyObject)]
pub(crate) enum LabelsOf {
    Rows(Vec<Vec<String>>),
    File(PathBuf),
}

/// Parts: that of each row, or a file of them.
#[derive(FromPyObject)]
pub(crate) enum SplitsOf {
    Rows(Vec<Option<String>>),
    File(PathBuf),
}

/// Scores vectors by how well labels are learnt from them.
#[pyfunction]
#[pyo3(signature = (embedding, labels, splits, options))]
pub(crate) fn classify(
    py: Python<'_>,
    embedding: &Embedding,
    labels: LabelsOf,
    splits: Option<SplitsOf>,
    options: &str,
) -> PyResult<String> {
    let mut options = Options::parse(options)?;
    let config = options.put(ClassifyConfig::default())?;
    let Threads { threads } = options.put(Threads::default())?;
    options.end()?;
    check(config.validate())?;
    let splits = match (splits, &labels) {
        (None, LabelsOf::File(folder)) if config.train_ratio.is_none() => {
            splits_in(folder).map(SplitsOf::File)
        }
        (splits, _) => splits,
    };
    let embedding = Arc::clone(&embedding.0);
    work::run(py, threads, None, move |_| {
        let labels = match labels {
            LabelsOf::Rows(rows) => Labels::new(&rows),
            LabelsOf::File(path) => read_labels(&path, &embedding)?,
        };
        let splits = match splits {
            Some(SplitsOf::Rows(rows)) => Some(parts(&rows)?),
            Some(SplitsOf::File(path)) => Some(read_splits(&path, &embedding)?),
            None => None,
        };
        nearfar::evaluate::classify(&embedding, &labels, splits.as_ref(), &config)
    })
    .map(|scores| json(&scores))
}

/// Holds out edges, embeds the rest, and scores how well the vectors predict them.
#[pyfunction]
#[pyo3(signature = (graph, options, callback=None))]
pub(crate) fn links(
    py: Python<'_>,
    graph: &Graph,
    options: &str,
    callback: Option<Py<PyAny>>,
) -> PyResult<String> {
    let mut options = Options::parse(options)?;
    let config = options.put(LinksConfig::default())?;
    let settings = options.settings()?;
    let Threads { threads } = options.put(Threads::default())?;
    let memory = options.put(Memory::default())?.bytes()?;
    options.end()?;
    check(config.validate())?;
    let graph = Arc::clone(&graph.shared);
    work::run(py, threads, callback, move |caller| {
        let mut run = 0;
        nearfar::evaluate::links(&graph, &config, settings.train.seed, |rest, seed| {
            let mut settings = settings.clone();
            settings.train.seed = seed;
            let sampler = sampler(rest, &settings, memory, caller)?;
            let mut share = Share { caller, run, runs: config.seeds };
            let vectors = train::embed(rest, &*sampler, &settings.train, &mut share)?;
            run += 1;
            if caller.answer().is_break() {
                let message = "links was stopped before there were vectors to score";
                return Err(Error::Option(message.to_owned()));
            }
            Ok(vectors)
        })
    })
    .map(|scores| json(&scores))
}

/// Measures how the similarity of vectors goes with the distance of their nodes.
#[pyfunction]
pub(crate) fn measure(
    py: Python<'_>,
    embedding: &Embedding,
    graph: &Graph,
    options: &str,
) -> PyResult<String> {
    let mut options = Options::parse(options)?;
    let config = options.put(MeasureConfig::default())?;
    let Threads { threads } = options.put(Threads::default())?;
    options.end()?;
    check(config.validate())?;
    let (embedding, graph) = (Arc::clone(&embedding.0), Arc::clone(&graph.shared));
    work::run(py, threads, None, move |_| {
        nearfar::evaluate::measure::measure(&embedding, &graph, &config)
    })
    .map(|measures| json(&measures))
}

/// One of several runs: its progress is a share of that of all.
struct Share<'a> {
    caller: &'a mut Caller,
    run: usize,
    runs: usize,
}

impl Sink for Share<'_> {
    fn event(&mut self, event: &Event) -> nearfar::Result<ControlFlow<()>> {
        match event {
            Event::Progress { done } => {
                let done = (self.run as f64 + done) / self.runs as f64;
                self.caller.event(&Event::Progress { done })
            }
            other => self.caller.event(other),
        }
    }
}

fn parts(rows: &[Option<String>]) -> nearfar::Result<Splits> {
    let part = |(row, part): (usize, &Option<String>)| {
        let parsed: Option<Result<Split, String>> = part.as_deref().map(str::parse);
        parsed.transpose().map_err(|wrong| Error::Option(format!("splits, row {row}: {wrong}")))
    };
    rows.iter().enumerate().map(part).collect()
}

fn json(scores: &impl Serialize) -> String {
    serde_json::to_string(scores).unwrap_or_default()
}
