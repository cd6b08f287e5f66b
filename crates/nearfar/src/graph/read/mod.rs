//! Reading graphs. The file extension decides the format.
//!
//! Matrix formats state the number of nodes in a header, which nothing in the file has to bear
//! out. A matrix of more than 1 000 000 nodes is refused if it also has more than 1000 nodes per
//! entry (`check_node_count`).

mod ids;
mod matrix_market;
mod numpy;
#[cfg(feature = "parquet")]
mod parquet;
mod scipy;
mod text;

use std::path::{Path, PathBuf};

use super::builtin::builtin;
use super::{Dataset, EdgeList, Node};
use crate::error::{Error, Problem, Result};
use crate::file::{extension, read_text};
use crate::memory;

/// How to read a graph.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args), command(next_help_heading = "Input"))]
pub struct ReadOptions {
    /// Keep only the largest connected component
    #[cfg_attr(feature = "clap", arg(long))]
    pub largest_component: bool,
    /// File with one node id per line; isolated nodes listed there are kept
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
        return Err(Error::file(path, "the graph needs at least two nodes"));
    }
    let dataset = if options.largest_component { dataset.largest_component() } else { dataset };
    memory::give_back();
    Ok(dataset)
}

/// What a reader found in a file.
struct EdgeFile {
    list: EdgeList,
    /// How ambiguous input was interpreted.
    notes: Vec<String>,
    /// Memory that the reader held at its peak besides the edge list, in bytes.
    buffers: u64,
}

/// Reads one file of edges. Any unknown extension means text.
pub(super) fn edge_file(path: &Path, nodes: Option<&Path>) -> Result<Dataset> {
    let EdgeFile { list, notes, buffers } = match extension(path).as_str() {
        "mtx" => matrix_market::read(without_nodes(path, nodes)?)?,
        "npy" => numpy::read(path, nodes)?,
        "npz" => scipy::read(without_nodes(path, nodes)?)?,
        #[cfg(feature = "parquet")]
        "parquet" => parquet::read(path, nodes)?,
        #[cfg(not(feature = "parquet"))]
        "parquet" => {
            let message = "this build has no Parquet support; build with --features parquet";
            return Err(Error::file(path, message));
        }
        _ => text::read(path, nodes)?,
    };
    if list.pairs.is_empty() && nodes.is_none() {
        return Err(Error::file(path, "no edges found"));
    }
    // What the reader freed would otherwise stay with the allocator while the rows are built.
    memory::give_back();
    let peak = list.bytes().saturating_add(buffers).max(list.build_bytes());
    let read_bytes = resident(peak);
    let (graph, dropped) = list.build().map_err(|error| match error {
        Error::Graph(problem) => Error::file(path, *problem),
        other => other,
    })?;
    Ok(Dataset { dropped, notes, read_bytes, ..Dataset::of(graph) })
}

/// The resident memory for this many bytes of data: an eighth more for fragmentation, and what
/// decoders, stacks and the allocator take.
pub(super) fn resident(bytes: u64) -> u64 {
    const OVERHEAD: u64 = 8 << 20;
    bytes.saturating_add(bytes / 8).saturating_add(OVERHEAD)
}

/// The path of a matrix, for which no nodes file may be given.
fn without_nodes<'a>(path: &'a Path, nodes: Option<&Path>) -> Result<&'a Path> {
    if nodes.is_some() {
        let problem = Problem::from("a matrix already has all its nodes");
        return Err(Error::file(path, problem.omit("nodes")));
    }
    Ok(path)
}

/// The number of nodes of a matrix.
fn square(rows: u64, columns: u64) -> Result<usize, String> {
    if rows != columns {
        return Err(format!(
            "a matrix of {rows} rows and {columns} columns; an adjacency matrix is square"
        ));
    }
    match u32::try_from(rows) {
        Ok(n) if n < Node::MAX => Ok(n as usize),
        _ => Err(format!("a matrix of {rows} rows; expected at most 4294967294 nodes")),
    }
}

/// Refuses a matrix whose header claims many more nodes than its entries bear out. The graph takes
/// some bytes for every node, so a file of a few bytes could otherwise ask for gigabytes.
fn check_node_count(nodes: usize, entries: usize) -> Result<(), String> {
    /// Fewer nodes are never refused: they take some 10 MB.
    const NODES: usize = 1_000_000;
    const NODES_PER_ENTRY: usize = 1000;
    if nodes <= NODES || nodes <= entries.saturating_mul(NODES_PER_ENTRY) {
        return Ok(());
    }
    Err(format!(
        "the header claims {nodes} nodes, but the matrix has {entries} entries; above {NODES} nodes, \
         expected at most {NODES_PER_ENTRY} nodes per entry: store the edges as an edge list and the \
         isolated nodes in a nodes file"
    ))
}

/// A small text file as lines, without blank lines and comments.
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

    /// The size of the text.
    pub(super) fn bytes(&self) -> u64 {
        self.0.len() as u64
    }
}

/// The ids in the first column of a nodes file.
fn node_ids(path: &Path) -> Result<Vec<String>> {
    let ids: Vec<String> = TextLines::read(path)?
        .iter()
        .map(|(_, line)| line.split('\t').next().unwrap_or(line).trim().to_owned())
        .collect();
    if ids.is_empty() {
        return Err(Error::file(path, "no node ids found; expected one per line"));
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::check_node_count;

    #[test]
    fn node_counts_are_bounded_by_entries() {
        for (nodes, entries) in
            [(0, 0), (1_000_000, 0), (2_000_000, 2000), (usize::MAX, usize::MAX)]
        {
            assert!(check_node_count(nodes, entries).is_ok(), "{nodes}, {entries}");
        }
        for (nodes, entries) in [(1_000_001, 1000), (2_000_000, 1999), (usize::MAX, 0)] {
            assert!(check_node_count(nodes, entries).is_err(), "{nodes}, {entries}");
        }
    }
}
