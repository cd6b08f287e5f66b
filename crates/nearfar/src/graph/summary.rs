//! What was read, for the user: one line, or an entry of JSON.

use std::fmt::{self, Display, Write as _};

use serde::{Serialize, Serializer};

use super::{Components, Dataset, Direction, Distance, Dropped, Repeats, Storage};
use crate::budget::grouped;
use crate::error::Problem;

/// How a file states its edges, and how it was understood.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// The format, where it is not plain columns: `GraphML`, `Matrix Market`, …
    pub format: Option<&'static str>,
    /// What the file says about direction.
    pub direction: Direction,
    /// Whether the edges were read as directed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub directed: bool,
    /// How often the file holds each edge.
    pub storage: Storage,
    /// The line that names the columns, counted from 1.
    pub header: Option<u64>,
    /// The columns that were read, where they are not the first ones.
    pub columns: Option<UsedColumns>,
    /// How the weights of repeated edges were merged.
    pub repeats: Repeats,
    /// What the distance of two nodes is.
    #[serde(skip_serializing_if = "Distance::is_hops")]
    pub distance: Distance,
}

/// The columns of a table that were read, by name, or by number where they have no names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UsedColumns {
    /// The column of the sources.
    pub source: String,
    /// The column of the targets.
    pub target: String,
    /// The column of the weights.
    pub weight: Option<String>,
    /// The column of the lengths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<String>,
}

impl Origin {
    /// That of a graph with lengths, which were read as if they were weights, and maybe with weights from
    /// another pass.
    #[must_use]
    pub fn with_lengths(lengths: Self, weights: Option<Self>) -> Self {
        let length = lengths.columns.as_ref().and_then(|columns| columns.weight.clone());
        let weight = weights.as_ref().and_then(|it| it.columns.as_ref()?.weight.clone());
        let origin = weights.unwrap_or_else(|| lengths.clone());
        let columns = origin.columns.or(lengths.columns);
        let columns = columns.map(|columns| UsedColumns { weight, length, ..columns });
        Self { columns, distance: Distance::Length, ..origin }
    }
}

/// What was read: the first line of every command, as text or as JSON.
///
/// ```
/// use nearfar::graph::{ReadOptions, ReadSummary, read};
/// let karate = read("builtin:karate", &ReadOptions::default())?;
/// let summary = ReadSummary::new("builtin:karate", &karate, 0.0).to_string();
/// let expected = "34 nodes, 78 edges, undirected, unweighted, 1 component (0.00 s)";
/// assert_eq!(summary, format!("read builtin:karate: {expected}"));
/// # Ok::<(), nearfar::Error>(())
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct ReadSummary {
    /// The file, folder or built-in graph.
    pub source: String,
    /// The number of nodes.
    pub nodes: usize,
    /// The number of edges; of arcs, if they are directed.
    pub edges: usize,
    /// Whether edges have weights.
    pub weighted: bool,
    /// The number of connected components.
    pub components: usize,
    /// How the file states its edges.
    #[serde(flatten)]
    pub origin: Origin,
    /// The edges that are not in the graph, by reason.
    pub dropped: Dropped,
    /// How ambiguous input was interpreted.
    #[serde(serialize_with = "as_text")]
    pub notes: Vec<Problem>,
    /// The time that reading took. Not serialised: the same run gives the same JSON.
    #[serde(skip)]
    pub seconds: f64,
}

impl ReadSummary {
    /// Describes a dataset that was read from `source` in so many seconds.
    pub fn new(source: &str, dataset: &Dataset, seconds: f64) -> Self {
        let graph = &dataset.graph;
        Self {
            source: source.to_owned(),
            nodes: graph.nodes(),
            edges: graph.edges(),
            weighted: graph.is_weighted(),
            components: Components::new(graph).len(),
            origin: dataset.origin.clone(),
            dropped: dataset.dropped,
            notes: dataset.notes.clone(),
            seconds,
        }
    }

    /// The line without the time, which is the same in every run.
    pub fn text(&self) -> String {
        let Self { origin, dropped, .. } = self;
        let mut text = format!("read {}: ", self.source);
        // Writing to a String cannot fail.
        if let Some(format) = origin.format {
            let _ = write!(text, "{format}, ");
        }
        let _ = write!(
            text,
            "{}, {}, {}, {}",
            counted(self.nodes, "node"),
            counted(self.edges, "edge"),
            self.direction(),
            if self.weighted { "weighted" } else { "unweighted" },
        );
        match origin.distance {
            Distance::Hops => {}
            Distance::Length => text.push_str(", with lengths"),
            Distance::InverseWeight => text.push_str(", lengths 1/weight"),
        }
        let _ = write!(text, ", {}", counted(self.components, "component"));
        if let Some(line) = origin.header {
            let _ = write!(text, ", header in line {line}");
        }
        if let Some(UsedColumns { source, target, weight, length }) = &origin.columns {
            let _ = write!(text, ", columns {source} and {target}");
            for (what, column) in [("weights", weight), ("lengths", length)] {
                if let Some(column) = column {
                    let _ = write!(text, ", {what} from {column}");
                }
            }
        }
        if dropped.repeats > 0 {
            let _ = write!(text, ", merged {}", counted(dropped.repeats, "repeated edge"));
            text.push_str(match (self.weighted, origin.repeats) {
                (false, _) => "",
                (true, Repeats::Sum) => " (weights added)",
                (true, Repeats::Max) => " (largest weights)",
                (true, Repeats::Min) => " (smallest weights)",
                (true, Repeats::First) => " (first weights)",
            });
        }
        let dropped: Vec<String> =
            [(dropped.self_loops, "self-loop"), (dropped.zero_weights, "zero-weight edge")]
                .into_iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, noun)| counted(count, noun))
                .collect();
        if !dropped.is_empty() {
            let _ = write!(text, ", dropped {}", dropped.join(" and "));
        }
        text
    }

    /// The direction of the edges, as stated and as read.
    fn direction(&self) -> String {
        let merged = match (self.weighted, self.origin.repeats) {
            (false, _) => "",
            (true, Repeats::Sum) => ", weights w(i,j) + w(j,i)",
            (true, Repeats::Max) => ", weights max(w(i,j), w(j,i))",
            (true, Repeats::Min) => ", weights min(w(i,j), w(j,i))",
            (true, Repeats::First) => ", the first of w(i,j) and w(j,i)",
        };
        match (self.origin.direction, self.origin.storage) {
            _ if self.origin.directed => "directed".to_owned(),
            (Direction::Directed, _) => "directed edges read as undirected".to_owned(),
            (Direction::Entries, Storage::Asymmetric) => {
                format!("asymmetric matrix read as undirected{merged}")
            }
            (Direction::Unstated, Storage::Both) => {
                "undirected (listed in both directions)".to_owned()
            }
            _ => "undirected".to_owned(),
        }
    }
}

impl Display for ReadSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:.2} s)", self.text(), self.seconds)
    }
}

/// A count with its noun: `1 edge`, `2 000 edges`.
fn counted(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number as u64), if number == 1 { "" } else { "s" })
}

fn as_text<S: Serializer>(notes: &[Problem], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(notes.iter().map(Problem::to_string))
}
