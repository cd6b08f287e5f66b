//! Reading graphs: the format is recognised by the file, nothing has to be said.

pub(crate) mod ids;
mod matrix_market;
mod numpy;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
mod scipy;
mod text;

use std::path::{Path, PathBuf};

use super::builtin::builtin;
use super::{Dataset, EdgeList, Node};
use crate::error::{Error, Result};
use crate::file::{ending, open, open_seekable, read_error, read_text};

/// How to read a graph.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct ReadOptions {
    /// Keep only the largest connected component
    #[cfg_attr(feature = "clap", arg(long))]
    pub largest_component: bool,
    /// A file that lists every node, one a line, so that isolated ones are kept
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub nodes: Option<PathBuf>,
}

/// Reads a graph: a file in any supported format, a dataset folder, or `builtin:NAME`.
///
/// ```
/// use nearfar::graph::{ReadOptions, read};
/// let karate = read("builtin:karate", &ReadOptions::default())?;
/// assert_eq!((karate.graph.nodes(), karate.graph.edges()), (34, 78));
/// # Ok::<(), nearfar::Error>(())
/// ```
pub fn read(source: &str, options: &ReadOptions) -> Result<Dataset> {
    let nodes = options.nodes.as_deref();
    let path = Path::new(source);
    let dataset = if let Some(name) = source.strip_prefix("builtin:") {
        builtin(name)?
    } else if path.is_dir() {
        Dataset::read_folder(path, nodes)?
    } else {
        edge_file(path, nodes)?
    };
    if dataset.graph.nodes() < 2 {
        let message =
            "a graph of one node, which is near to nothing; give one with edges between nodes";
        return Err(Error::file(path, message));
    }
    Ok(if options.largest_component { dataset.largest_component() } else { dataset })
}

/// Reads one file of edges. Its ending says the format; any other ending is text.
pub(super) fn edge_file(path: &Path, nodes: Option<&Path>) -> Result<Dataset> {
    let (list, notes) = match ending(path).as_str() {
        "mtx" => (matrix_market::read(no_nodes(path, nodes)?)?, Vec::new()),
        "npy" => numpy::read(path, nodes)?,
        "npz" => (scipy::read(no_nodes(path, nodes)?)?, Vec::new()),
        #[cfg(feature = "parquet")]
        "parquet" => (parquet::read(path, nodes)?, Vec::new()),
        #[cfg(not(feature = "parquet"))]
        "parquet" => {
            let message = "this build reads no Parquet; build it with --features parquet";
            return Err(Error::file(path, message));
        }
        _ => text::read(path, nodes)?,
    };
    if list.pairs.is_empty() {
        return Err(Error::file(path, "no edge in it"));
    }
    let (graph, dropped) = build(path, list)?;
    Ok(Dataset { dropped, notes, ..Dataset::of(graph) })
}

/// Passes on the path of a matrix, for which no file of nodes may be given.
fn no_nodes<'a>(path: &'a Path, nodes: Option<&Path>) -> Result<&'a Path> {
    match nodes {
        None => Ok(path),
        Some(_) => Err(Error::file(path, "a matrix has all its nodes already: leave --nodes out")),
    }
}

/// The number of nodes of a matrix.
fn square(rows: u64, columns: u64) -> Result<usize, String> {
    if rows != columns {
        return Err(format!(
            "a matrix of {rows} rows and {columns} columns; a graph's is square, one row and one \
             column for each node"
        ));
    }
    match u32::try_from(rows) {
        Ok(n) if n < Node::MAX => Ok(n as usize),
        _ => Err(format!("a matrix of {rows} rows; at most 4 294 967 294 nodes can be read")),
    }
}

fn build(path: &Path, list: EdgeList) -> Result<(super::Graph, super::Dropped)> {
    list.build().map_err(|error| match error {
        Error::Graph(message) => Error::file(path, message),
        other => other,
    })
}

/// A small text file, line by line, without empty lines and comments.
pub(super) struct TextLines(String);

impl TextLines {
    pub(super) fn read(path: &Path) -> Result<Self> {
        Ok(Self(read_text(path)?))
    }

    /// Lines with their numbers, counted from 1.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &str)> {
        (1..)
            .zip(self.0.lines())
            .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with(['#', '%']))
    }
}

/// The ids in the first column of a file of nodes.
fn node_ids(path: &Path) -> Result<Vec<String>> {
    let ids: Vec<String> = TextLines::read(path)?
        .iter()
        .map(|(_, line)| line.split('\t').next().unwrap_or(line).trim().to_owned())
        .collect();
    if ids.is_empty() {
        return Err(Error::file(path, "no node in it; give one id a line, or leave it out"));
    }
    Ok(ids)
}
