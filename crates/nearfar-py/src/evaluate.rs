//! Scores: what `nearfar evaluate`, `links` and `measure` print with `--json`.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use nearfar::error::Problem;
use nearfar::evaluate::measure::MeasureConfig;
use nearfar::evaluate::{ClassifyConfig, LinksConfig, read_labels, read_splits, splits_in};
use nearfar::graph::{Labels, Split, Splits};
use nearfar::train::{Checkpoint, Event, Sink, TrainPlan};
use nearfar::{Budget, Error, Parts};
use pyo3::prelude::*;
use serde::Serialize;

use crate::embedding::{Embedding, planned};
use crate::error::keyword;
use crate::graph::Graph;
use crate::options::{DeviceMemory, Memory, Options, Threads, check};
use crate::work::{self, Caller};

/// Labels: those of each row, or a file of them.
#[derive(FromPyObject)]
pub(crate) enum LabelsOf {
    Rows(Vec<Vec<String>>),
    File(PathBuf),
}

/// Splits: that of each row, or a file of them.
#[derive(FromPyObject)]
pub(crate) enum SplitsOf {
    Rows(Vec<Option<String>>),
    File(PathBuf),
}

impl LabelsOf {
    /// The labels of each row.
    pub(crate) fn read(
        &self,
        embedding: &nearfar::embedding::Embedding,
    ) -> nearfar::Result<(Labels, Vec<Problem>)> {
        match self {
            Self::Rows(rows) => Ok((Labels::new(rows), Vec::new())),
            Self::File(path) => read_labels(path, embedding),
        }
    }
}

impl SplitsOf {
    /// The split of each row.
    pub(crate) fn read(
        &self,
        embedding: &nearfar::embedding::Embedding,
    ) -> nearfar::Result<(Splits, Vec<Problem>)> {
        match self {
            Self::Rows(rows) => Ok((parse_splits(rows)?, Vec::new())),
            Self::File(path) => read_splits(path, embedding),
        }
    }
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
        let (labels, mut notes) = labels.read(&embedding)?;
        let splits = match splits {
            Some(splits) => {
                let (splits, of_splits) = splits.read(&embedding)?;
                notes.extend(of_splits);
                Some(splits)
            }
            None => None,
        };
        let mut scores =
            nearfar::evaluate::classify(&embedding, &labels, splits.as_ref(), &config)?;
        scores.notes.splice(..0, notes.iter().map(|note| note.describe(&keyword)));
        Ok(scores)
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
    let device_memory = options.put(DeviceMemory::default())?.bytes(settings.train.device)?;
    options.end()?;
    check(config.validate())?;
    let graph = Arc::clone(&graph.shared);
    work::run(py, threads, callback, move |caller| {
        let mut run = 0;
        nearfar::evaluate::links(&graph, &config, settings.train.seed, |rest, seed| {
            let mut settings = settings.clone();
            settings.train.seed = seed;
            let mut observer = RunObserver { caller, run, runs: config.seeds };
            let budget = Budget { memory, ..Default::default() };
            let backend = nearfar_cuda::backend(settings.train.device, device_memory);
            let parts = Parts { backend, ..Default::default() };
            let embedding = nearfar::embed_with(rest, &settings, &budget, parts, &mut observer)?;
            run += 1;
            if caller.last_reply().is_break() {
                return Err(Error::conflict("the callback stopped links before training ended"));
            }
            Ok(embedding)
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

/// Observes one of several runs: its progress is a part of that of all.
struct RunObserver<'a> {
    caller: &'a mut Caller,
    run: usize,
    runs: usize,
}

impl Sink for RunObserver<'_> {
    fn plan(&mut self, plan: &TrainPlan) -> nearfar::Result<ControlFlow<(), Option<Checkpoint>>> {
        Ok(match planned(plan, self.caller) {
            ControlFlow::Break(()) => ControlFlow::Break(()),
            ControlFlow::Continue(()) => ControlFlow::Continue(None),
        })
    }

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

fn parse_splits(rows: &[Option<String>]) -> nearfar::Result<Splits> {
    let parse = |(row, split): (usize, &Option<String>)| {
        let parsed: Option<Result<Split, String>> = split.as_deref().map(str::parse);
        parsed.transpose().map_err(|wrong| Error::conflict(format!("splits, row {row}: {wrong}")))
    };
    rows.iter().enumerate().map(parse).collect()
}

fn json(scores: &impl Serialize) -> String {
    serde_json::to_string(scores).unwrap_or_default()
}
