//! Stage 10, report: one HTML page that shows an embedding, its measures and its scores, offline in
//! any browser.
//!
//! The page contains its markup, style, script and data. Its Content-Security-Policy forbids network
//! requests. Whatever comes from a file, such as ids and labels, is data, and is never interpreted as
//! markup or script.

mod numbers;
mod page;
mod points;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::embedding::Embedding;
use crate::error::{Error, Result};
use crate::evaluate::{ClassifyConfig, InverseL2};
use crate::file::write_whole;
use crate::graph::{Graph, Labels, Node, Splits};
use crate::project::{Method, Metric, ProjectConfig, project};
use crate::rng::{Purpose, Rng};
use points::Points;

/// Settings of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args), command(next_help_heading = "Output"))]
pub struct ReportConfig {
    /// Title of the page [default: the file name of the vectors]
    #[cfg_attr(feature = "clap", arg(long))]
    pub title: Option<String>,
    /// Perplexity of t-SNE: its effective number of neighbours
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().perplexity))]
    pub perplexity: f64,
    /// Distance between vectors that t-SNE and PCA preserve
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t = Self::default().metric))]
    pub metric: Metric,
    /// Largest number of nodes to run t-SNE on; in larger graphs it runs on a random sample, and the
    /// other nodes are interpolated
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = Self::default().points))]
    pub points: usize,
    /// Inverse L2 strength of the classifier: a number, or `auto`, as in `evaluate`
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().c))]
    pub c: InverseL2,
    /// Seed of all random samples
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().seed))]
    pub seed: u64,
}

impl Default for ReportConfig {
    fn default() -> Self {
        let ProjectConfig { perplexity, metric, points, seed, .. } = ProjectConfig::default();
        Self { title: None, perplexity, metric, points, c: InverseL2::default(), seed }
    }
}

/// The input of a report. If there is a graph, the rows of the embedding, the labels and the splits
/// must be in its order; see [`Embedding::in_order_of`].
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The name of the embedding.
    pub name: &'a str,
    /// The vectors.
    pub embedding: &'a Embedding,
    /// The graph they were trained on.
    pub graph: Option<&'a Arc<Graph>>,
    /// The labels of nodes.
    pub labels: Option<&'a Labels>,
    /// The nodes to train a classifier on, and those to score it on.
    pub splits: Option<&'a Splits>,
    /// The training log, as `embed --log` writes it.
    pub log: Option<&'a Path>,
    /// Link prediction scores, as `nearfar links --json` prints them.
    pub links: Option<&'a Path>,
    /// The resolved settings of the run; by default those that the vectors or the log record.
    pub settings: Option<&'a Map<String, Value>>,
}

impl<'a> Subject<'a> {
    /// Vectors without further input.
    pub fn new(name: &'a str, embedding: &'a Embedding) -> Self {
        Self {
            name,
            embedding,
            graph: None,
            labels: None,
            splits: None,
            log: None,
            links: None,
            settings: None,
        }
    }

    /// Fails unless all inputs are about the same nodes.
    fn check(&self) -> Result<()> {
        let n = self.embedding.nodes();
        let ids = self.embedding.ids();
        let differs = self.graph.is_some_and(|graph| {
            graph.nodes() != n || (0..n as Node).any(|node| graph.ids().get(node) != ids.get(node))
        });
        if differs {
            let message = "vectors and graph are not in the same order; sort the vectors first";
            return Err(Error::conflict(message));
        }
        for (what, found) in [
            ("labels", self.labels.map(|labels| labels.of.len())),
            ("splits", self.splits.map(Vec::len)),
        ] {
            if let Some(found) = found.filter(|found| *found != n) {
                let message =
                    format!("{what} of {found} nodes for {n} vectors; expected one for each");
                return Err(Error::conflict(message));
            }
        }
        self.embedding.check_finite()
    }
}

/// Builds the page and writes it to a file, atomically.
pub fn write_report(path: &Path, subject: &Subject, config: &ReportConfig) -> Result<()> {
    let page = report(subject, config)?;
    write_whole(path, |out| out.write_all(page.as_bytes()))
}

/// Fails if the folder is missing or not writable. Call it before a long computation.
pub fn check_writable(path: &Path) -> Result<()> {
    crate::file::check_writable(path)
}

/// Builds the page.
///
/// ```
/// use nearfar::embedding::Embedding;
/// use nearfar::graph::NodeIds;
/// use nearfar::report::{ReportConfig, Subject, report};
/// let ids = NodeIds::StringIds(["<blink>", "bob", "eve"].into_iter().collect());
/// let embedding = Embedding::new(ids, 2, vec![1.0, 0.0, 2.0, 0.0, 0.0, 1.0])?;
/// let page = report(&Subject::new("friends", &embedding), &ReportConfig::default())?;
/// assert!(page.starts_with("<!doctype html>") && !page.contains("<blink>"));
/// # Ok::<(), nearfar::Error>(())
/// ```
pub fn report(subject: &Subject, config: &ReportConfig) -> Result<String> {
    /// Most nodes on the map: more are neither distinguishable nor fit the page.
    const MAX_SHOWN: usize = 100_000;
    subject.check()?;
    let base = ProjectConfig {
        perplexity: config.perplexity,
        metric: config.metric,
        points: config.points,
        seed: config.seed,
        ..Default::default()
    };
    base.validate()?;
    let stratified = subject.splits.is_none();
    let classify = ClassifyConfig {
        c: config.c,
        seed: config.seed,
        stratified,
        per_class: true,
        ..Default::default()
    };
    classify.validate()?;
    let mut notes = Vec::new();
    let numbers = numbers::numbers(subject, &classify, &mut notes)?;
    let n = subject.embedding.nodes();
    let mut nodes: Vec<Node> = (0..n as Node).collect();
    if n > MAX_SHOWN {
        Rng::new(config.seed, Purpose::Projection, 3, 0).shuffle(&mut nodes);
        nodes.truncate(MAX_SHOWN);
        nodes.sort_unstable();
        notes.push(format!(
            "The graph is too large for one page: the map shows a random sample of {MAX_SHOWN} of {n} \
             nodes, without hop distances. Statistics and scores are of the whole graph."
        ));
    }
    let shown = if n > MAX_SHOWN { &subject.embedding.select(&nodes)? } else { subject.embedding };
    let map = |method: Method| project(shown, &ProjectConfig { method, ..base.clone() });
    let (tsne, pca) = (map(Method::Tsne)?, map(Method::Pca)?);
    let mut points = Points::default();
    points.add_positions("tsne", &tsne.positions);
    points.add_positions("pca", &pca.positions);
    points.add_ids(shown.ids());
    points.add_labels(subject.labels, &nodes);
    if let Some(graph) = subject.graph.filter(|_| n <= MAX_SHOWN)
        && !points.add_edges(graph)
    {
        notes.push(
            "The graph has too many edges for one page: hop distances are not shown.".to_owned(),
        );
    }
    let similarity = points.add_vectors(shown, config.seed);
    let map = json!({
        "perplexity": base.perplexity,
        "metric": base.metric,
        "fitted": tsne.fitted,
        "seed": base.seed,
    });
    let about = [
        ("title", json!(config.title.as_deref().unwrap_or(subject.name))),
        ("version", json!(env!("CARGO_PKG_VERSION"))),
        ("nodes", json!(n)),
        ("shown", json!(shown.nodes())),
        ("dim", json!(subject.embedding.dim())),
        ("map", map),
        ("similarity", similarity),
        ("notes", json!(notes)),
    ];
    let head = about.map(|(name, value)| (name.to_owned(), value)).into_iter().chain(numbers);
    Ok(page::page(&points.pack(head)))
}
