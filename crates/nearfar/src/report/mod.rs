//! Stage 10, report: one HTML page that shows an embedding, its measures and its scores, offline in
//! any browser.
//!
//! The page contains its markup, style, script and data. Its Content-Security-Policy forbids network
//! requests. Whatever comes from a file, such as ids and labels, is data, and is never interpreted as
//! markup or script.

mod against;
mod columns;
mod hop_index;
mod numbers;
mod page;
mod points;
mod record;
mod shown;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::distance::has_long_distances;
use crate::embedding::Embedding;
use crate::error::{Error, Result};
use crate::evaluate::{ClassifyConfig, InverseL2};
use crate::file::write_whole;
use crate::graph::{Components, Graph, Labels, Node, Splits};
use crate::project::{Method, Metric, ProjectConfig, pivot_layout, project, project_from};
use against::Kept;
pub use columns::Columns;
use hop_index::HopIndex;
use points::Points;
pub use record::record;
use shown::Shown;

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
    /// Largest number of nodes on the map; of larger graphs, a sample chosen for coverage
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = Self::default().map_nodes))]
    pub map_nodes: usize,
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
        let (map_nodes, c) = (1_000_000, InverseL2::default());
        Self { title: None, perplexity, metric, points, map_nodes, c, seed }
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
    pub log: Option<Log<'a>>,
    /// Link prediction scores, as `nearfar links --json` prints them.
    pub links: Option<&'a Path>,
    /// Columns of the user's own, by row.
    pub columns: Option<&'a Columns>,
    /// Another embedding of the same nodes, in the same order, to compare with, and its name.
    pub against: Option<(&'a str, &'a Embedding)>,
    /// The resolved settings of the run; by default those that the vectors or the log record.
    pub settings: Option<&'a Map<String, Value>>,
}

/// Where the log of a run is.
#[derive(Clone, Copy)]
pub enum Log<'a> {
    /// In this file.
    File(&'a Path),
    /// Its lines, in memory.
    Lines(&'a str),
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
            columns: None,
            against: None,
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
        if let Some((name, other)) = self.against {
            let same = |node: Node| other.ids().get(node) == ids.get(node);
            if other.nodes() != n || !(0..n as Node).all(same) {
                let message = format!(
                    "'{name}' has not the same nodes in the same order; sort its vectors first"
                );
                return Err(Error::conflict(message));
            }
            other.check_finite()?;
        }
        for (what, found) in [
            ("labels", self.labels.map(|labels| labels.of.len())),
            ("columns", self.columns.and_then(Columns::rows)),
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
    subject.check()?;
    let base = config.projection()?;
    let classify = config.classification(subject)?;
    let mut notes = Vec::new();
    let numbers = numbers::numbers(subject, &classify, &mut notes)?;
    // The page searches the graph itself, by hops. These follow directions; layouts and columns do not.
    let by_hops = subject.graph.filter(|graph| graph.has_lengths());
    let by_hops = by_hops.map(|graph| Arc::new(graph.without_lengths()));
    let searched = by_hops.as_ref().or(subject.graph);
    let undirected = searched.map(super::graph::Graph::to_undirected);
    let drawn = &Subject { graph: undirected.as_ref(), ..*subject };
    let n = subject.embedding.nodes();
    let shown = Shown::new(drawn, config.map_nodes, config.seed);
    let is_sample = shown.nodes.len() < n;
    let select = |embedding: &Embedding| embedding.select(&shown.nodes);
    let selected = is_sample.then(|| select(subject.embedding)).transpose()?;
    let embedding = selected.as_ref().unwrap_or(subject.embedding);
    let mut points = Points::new(shown.nodes.len());
    let (layouts, fitted) = add_layouts(&mut points, drawn, embedding, &shown.nodes, &base)?;
    notes.extend(points.add_ids(subject.embedding.ids(), &shown.nodes));
    let mut columns = columns::columns(drawn);
    let kept = subject.against.map(|(_, other)| Kept::new(subject.embedding, other, config.seed));
    columns.extend(kept.as_ref().and_then(Kept::column));
    if is_sample {
        for column in &mut columns {
            *column = column.select(&shown.nodes);
        }
    }
    points.add_columns(&columns);
    let mut distances = Value::Null;
    if let (Some(graph), Some(drawn)) = (searched, drawn.graph)
        && (is_sample || !points.add_edges(graph))
    {
        let index = HopIndex::new(drawn, &shown.nodes, points.most_edge_bytes(), config.seed);
        distances = index.about();
        points.add("distances", index.bytes());
    }
    if let Some(graph) = subject.graph {
        notes.extend(numbers::notes_of_distances(graph, !distances.is_null()));
    }
    let share = if subject.against.is_some() { 0.5 } else { 1.0 };
    let similarity = points.add_vectors("", share, embedding, config.seed);
    let mut against = Value::Null;
    if let (Some((name, other)), Some(kept)) = (subject.against, kept) {
        let other = if is_sample { &select(other)? } else { other };
        let mut about = numbers::against(subject, &classify)?;
        about.insert("name".to_owned(), name.into());
        about.insert("kept".to_owned(), kept.about());
        let first = layouts.first_positions;
        against = against::add(&mut points, other, &first, &base, about)?.into();
    }
    let about = [
        ("title", json!(config.title.as_deref().unwrap_or(subject.name))),
        ("name", json!(subject.name)),
        ("version", json!(env!("CARGO_PKG_VERSION"))),
        ("nodes", json!(n)),
        ("shown", json!(shown.nodes.len())),
        ("covered", json!(shown.covered)),
        ("dim", json!(subject.embedding.dim())),
        (
            "map",
            json!({
                "layouts": layouts.about,
                "metric": base.metric,
                "fitted": fitted,
                "seed": base.seed,
            }),
        ),
        ("directed", json!(subject.graph.is_some_and(|graph| graph.is_directed()))),
        ("distances", distances),
        ("similarity", similarity),
        (
            "several_labels",
            json!(subject.labels.is_some_and(|labels| labels.of.iter().any(|of| of.len() > 1))),
        ),
        ("against", against),
        ("notes", json!(notes)),
    ];
    let head = about.map(|(name, value)| (name.to_owned(), value)).into_iter().chain(numbers);
    Ok(page::page(&points.pack(head)))
}

impl ReportConfig {
    fn projection(&self) -> Result<ProjectConfig> {
        let projection = ProjectConfig {
            perplexity: self.perplexity,
            metric: self.metric,
            points: self.points,
            seed: self.seed,
            ..Default::default()
        };
        projection.validate()?;
        if self.map_nodes == 0 {
            return Err(Error::option("map-nodes", 0, "expected at least 1"));
        }
        Ok(projection)
    }

    fn classification(&self, subject: &Subject) -> Result<ClassifyConfig> {
        let classify = ClassifyConfig {
            c: self.c,
            seed: self.seed,
            stratified: subject.splits.is_none(),
            per_class: true,
            ..Default::default()
        };
        classify.validate()?;
        Ok(classify)
    }
}

/// What the page says of its layouts, and the positions of the t-SNE.
struct Layouts {
    about: Vec<Value>,
    first_positions: Vec<[f32; 2]>,
}

/// Adds the layouts, the best to begin with first, and returns the number of nodes that t-SNE ran on.
/// Of a graph with more nodes than that and long distances, as road networks have, t-SNE of a sample
/// shows little, since the vectors of sampled nodes have nothing in common; the layout of its
/// distances comes first.
fn add_layouts(
    points: &mut Points,
    subject: &Subject,
    embedding: &Embedding,
    shown: &[Node],
    base: &ProjectConfig,
) -> Result<(Layouts, usize)> {
    /// From so many nodes on, the layouts after the first are stored with fewer bits, and PCA is left
    /// out if there is a graph.
    const LARGE: usize = 200_000;
    let n = shown.len();
    let pivots: Option<Vec<[f32; 2]>> = subject.graph.map(|graph| {
        let all = pivot_layout(graph, base.seed);
        shown.iter().map(|&node| all[node as usize]).collect()
    });
    let tsne = project_from(embedding, base, pivots.as_deref())?;
    let fitted = tsne.fitted;
    let by_graph = subject
        .graph
        .is_some_and(|graph| n > fitted && has_long_distances(graph, &Components::new(graph)));
    let start = if n > fitted && pivots.is_some() { "the layout of distances" } else { "PCA" };
    let ran = if n > fitted {
        format!("on {fitted} random nodes; others beside their most similar of these")
    } else {
        "on all nodes".to_owned()
    };
    let tsne_detail =
        format!("of the vectors, perplexity {}, {ran}; begun from {start}", base.perplexity);
    let mut all = vec![("tsne", "t-SNE", tsne_detail, tsne.positions.clone())];
    if n < LARGE || pivots.is_none() {
        let pca = project(embedding, &ProjectConfig { method: Method::Pca, ..base.clone() })?;
        let detail = "of the vectors: the two directions of largest variance".to_owned();
        all.push(("pca", "PCA", detail, pca.positions));
    }
    if let Some(positions) = pivots {
        let detail = "of the graph: pivot MDS, distances in the plane approximate hops".to_owned();
        let at = if by_graph { 0 } else { all.len() };
        all.insert(at, ("hops", "graph distances", detail, positions));
    }
    let mut about = Vec::new();
    for (at, (name, title, detail, positions)) in all.into_iter().enumerate() {
        points.add_positions(name, &positions, at > 0 && n > LARGE);
        about.push(json!({ "name": name, "title": title, "detail": detail }));
    }
    Ok((Layouts { about, first_positions: tsne.positions }, fitted))
}
