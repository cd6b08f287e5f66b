//! The page that `nearfar report` writes.

use std::path::PathBuf;
use std::sync::Arc;

use nearfar::report::{ReportConfig, Subject, check_writable, write_report};
use pyo3::prelude::*;

use crate::embedding::Embedding;
use crate::evaluate::{LabelsOf, SplitsOf};
use crate::graph::Graph;
use crate::options::{Options, Threads, check};
use crate::work;

/// Files that belong to the vectors: the log of their training, scores of links.
type Files = (Option<PathBuf>, Option<PathBuf>);

/// Writes a page about vectors, whose rows are those of the graph.
#[pyfunction]
#[pyo3(signature = (embedding, path, name, graph, labels, splits, files, options))]
#[expect(clippy::too_many_arguments, reason = "one for each thing that a report may be about")]
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
        let splits = splits.map(|splits| splits.read(&embedding)).transpose()?;
        let subject = Subject {
            graph: graph.as_ref(),
            labels: labels.as_ref(),
            splits: splits.as_ref(),
            log: files.0.as_deref(),
            links: files.1.as_deref(),
            ..Subject::new(&name, &embedding)
        };
        write_report(&path, &subject, &config)
    })
}
