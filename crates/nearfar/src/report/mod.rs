//! Stage 10, show: one page that opens in any browser, offline, and tells whether vectors are any
//! good and what they know about their graph.
//!
//! The page is a file of its own: its text, its style, its program and its data. It asks nothing of
//! any network, and its policy forbids it to. Everything that comes from a file, such as ids and
//! labels, is data to it, and never becomes part of its text or program.

mod numbers;
mod page;
mod points;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::embedding::Embedding;
use crate::error::{Error, Result};
use crate::file::write_whole;
use crate::graph::{Graph, Labels, Node, Splits};
use crate::project::{Method, Metric, ProjectConfig, project};
use crate::rng::{Purpose, Rng};
use crate::train::Settings;
use points::Points;

/// How a report is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct ReportConfig {
    /// Title of the page [default: the name of the vectors' file]
    #[cfg_attr(feature = "clap", arg(long))]
    pub title: Option<String>,
    /// About how many neighbours of a node the map keeps beside it
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().perplexity))]
    pub perplexity: f64,
    /// Which vectors are neighbours on the map: those of about the same direction, or those of the
    /// same direction and length
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t = Self::default().metric))]
    pub metric: Metric,
    /// How many nodes t-SNE places; in larger graphs the others are put among those that are most
    /// like them
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = Self::default().points))]
    pub points: usize,
    /// Seed of all that is sampled
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().seed))]
    pub seed: u64,
}

impl Default for ReportConfig {
    fn default() -> Self {
        let ProjectConfig { perplexity, metric, points, seed, .. } = ProjectConfig::default();
        Self { title: None, perplexity, metric, points, seed }
    }
}

/// What a report is about. Rows of the embedding, the labels and the splits are those of the graph,
/// if there is one: [`Embedding::in_order_of`] puts vectors in its order.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// What it is called.
    pub name: &'a str,
    /// The vectors.
    pub embedding: &'a Embedding,
    /// The graph that they were made from.
    pub graph: Option<&'a Arc<Graph>>,
    /// The labels of nodes.
    pub labels: Option<&'a Labels>,
    /// Which nodes a classifier learns from, and which it is scored on.
    pub splits: Option<&'a Splits>,
    /// The log of the training.
    pub log: Option<&'a Path>,
    /// Scores of links, as `nearfar links --json` prints them.
    pub links: Option<&'a Path>,
    /// The settings of the training.
    pub settings: Option<&'a Settings>,
}

impl<'a> Subject<'a> {
    /// Vectors of which nothing else is known.
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

    /// Fails unless all that is given is about the same nodes.
    fn check(&self) -> Result<()> {
        let n = self.embedding.nodes();
        let names = self.embedding.ids();
        let strangers = self.graph.is_some_and(|graph| {
            graph.nodes() != n
                || (0..n as Node).any(|node| graph.ids().get(node) != names.get(node))
        });
        if strangers {
            let message = "vectors and graph are not in the same order; sort the vectors first";
            return Err(Error::Option(message.to_owned()));
        }
        for (what, found) in [
            ("labels", self.labels.map(|labels| labels.of.len())),
            ("splits", self.splits.map(Vec::len)),
        ] {
            if let Some(found) = found.filter(|found| *found != n) {
                let message = format!("{what} of {found} nodes for {n} vectors; it takes one each");
                return Err(Error::Option(message));
            }
        }
        self.embedding.check_finite()
    }
}

/// Makes the page and writes it to a file, whole or not at all.
pub fn write_report(path: &Path, subject: &Subject, config: &ReportConfig) -> Result<()> {
    let page = report(subject, config)?;
    write_whole(path, |out| out.write_all(page.as_bytes()))
}

/// Fails where [`write_report`] would fail for want of a folder or of permission.
pub fn check_writable(path: &Path) -> Result<()> {
    crate::file::check_writable(path)
}

/// Makes the page.
///
/// ```
/// use nearfar::embedding::Embedding;
/// use nearfar::graph::NodeIds;
/// use nearfar::report::{ReportConfig, Subject, report};
/// let names = NodeIds::StringIds(["<blink>", "bob", "eve"].into_iter().collect());
/// let embedding = Embedding::new(names, 2, vec![1.0, 0.0, 2.0, 0.0, 0.0, 1.0])?;
/// let page = report(&Subject::new("friends", &embedding), &ReportConfig::default())?;
/// assert!(page.starts_with("<!doctype html>") && !page.contains("<blink>"));
/// # Ok::<(), nearfar::Error>(())
/// ```
pub fn report(subject: &Subject, config: &ReportConfig) -> Result<String> {
    /// More nodes than this are neither told apart on a map nor do they fit the page.
    const SHOWN: usize = 100_000;
    subject.check()?;
    let base = ProjectConfig {
        perplexity: config.perplexity,
        metric: config.metric,
        points: config.points,
        seed: config.seed,
        ..Default::default()
    };
    base.validate()?;
    let mut notes = Vec::new();
    let numbers = numbers::numbers(subject, config.seed, &mut notes)?;
    let n = subject.embedding.nodes();
    let mut nodes: Vec<Node> = (0..n as Node).collect();
    if n > SHOWN {
        Rng::new(config.seed, Purpose::Projection, 3, 0).shuffle(&mut nodes);
        nodes.truncate(SHOWN);
        nodes.sort_unstable();
        notes.push(format!(
            "The map shows {SHOWN} random nodes of {n}, without hops: the graph is too large for a \
             page. The numbers are those of the whole graph."
        ));
    }
    let shown = if n > SHOWN { &subject.embedding.select(&nodes)? } else { subject.embedding };
    let map = |method: Method| project(shown, &ProjectConfig { method, ..base.clone() });
    let (tsne, pca) = (map(Method::Tsne)?, map(Method::Pca)?);
    let mut points = Points::default();
    points.places("tsne", &tsne.places);
    points.places("pca", &pca.places);
    points.names(shown.ids());
    points.labels(subject.labels, &nodes);
    if let Some(graph) = subject.graph.filter(|_| n <= SHOWN)
        && !points.edges(graph)
    {
        notes.push(
            "The graph has too many edges for a page: hops of single nodes are not shown."
                .to_owned(),
        );
    }
    let similarity = points.vectors(shown, config.seed);
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
