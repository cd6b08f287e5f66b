//! The HTML report, as `nearfar report` writes it.

use std::path::PathBuf;
use std::sync::Arc;

use nearfar::report::{Log, ReportConfig, Subject, check_writable, write_report};
use pyo3::prelude::*;

use crate::embedding::Embedding;
use crate::evaluate::{LabelsOf, SplitsOf};
use crate::graph::Graph;
use crate::options::{Options, Threads, check};
use crate::work;

/// The training log, and the output of `nearfar links --json`.
type Files = (Option<PathBuf>, Option<PathBuf>);

/// Writes the report of an embedding, whose rows must be in the order of the graph's.
#[pyfunction]
#[pyo3(signature = (embedding, path, name, graph, labels, splits, files, options))]
#[expect(clippy::too_many_arguments, reason = "one argument per optional input of a report")]
pub(crate) fn report(
    py: Python<'_>,
    embedding: &Embedding,
    path: PathBuf,
    name: String,
    graph: Option<&Graph>,
    labels: Option<LabelsOf>,
    splits: Option<SplitsOf>,
    files: Files,
    options: &str,
) -> PyResult<()> {
    let mut options = Options::parse(options)?;
    let config = options.put(ReportConfig::default())?;
    let Threads { threads } = options.put(Threads::default())?;
    options.end()?;
    check(check_writable(&path))?;
    let embedding = Arc::clone(&embedding.0);
    let graph = graph.map(|graph| Arc::clone(&graph.shared));
    work::run(py, threads, None, move |_| {
        let labels = labels.map(|labels| labels.read(&embedding)).transpose()?;
        let labels = labels.map(|(labels, _)| labels);
        let splits = splits.map(|splits| splits.read(&embedding)).transpose()?;
        let splits = splits.map(|(splits, _)| splits);
        let subject = Subject {
            graph: graph.as_ref(),
            labels: labels.as_ref(),
            splits: splits.as_ref(),
            log: files.0.as_deref().map(Log::File),
            links: files.1.as_deref(),
            ..Subject::new(&name, &embedding)
        };
        write_report(&path, &subject, &config)
    })
}
