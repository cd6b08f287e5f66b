//! Reading graphs: one file per format. `detect` decides which one it is.
//!
//! Matrix formats state the number of nodes in a header, which nothing in the file has to bear
//! out. A matrix of more than 1 000 000 nodes is refused if it also has more than 1000 nodes per
//! entry (`check_node_count`).

mod adjacency;
#[cfg(feature = "parquet")]
mod arrow;
mod attributes;
mod columns;
mod declared;
mod detect;
mod dialect;
mod dot;
mod fields;
mod gexf;
mod gml;
mod graphml;
mod ids;
mod json;
mod lengths;
mod matrix_market;
mod metis;
mod networkx;
mod node_list;
mod node_table;
mod numpy;
mod options;
mod pajek;
#[cfg(feature = "parquet")]
mod parquet;
mod scipy;
pub(super) mod text;
mod xml;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::build::Built;
use super::builtin::builtin;
use super::pack::read_packed;
use super::{Dataset, Distance, EdgeList, Node, Origin};
use crate::error::{Error, Problem, Result};
use crate::file::{check_input, spool};
use crate::memory;

pub use columns::{known_ends, known_weight};
pub use detect::InputFormat;
pub(super) use detect::format_of;
pub(super) use dialect::Detected;
pub(crate) use fields::Fields;
pub(crate) use node_table::{Known, NodeTable};
pub use options::{Column, Header, ReadOptions, Separator};
pub(crate) use scipy::{SparseRows, read_sparse};

/// Reads a graph: a file in any supported format, a dataset folder, `builtin:NAME`, or `-` for
/// standard input.
///
/// ```
/// use nearfar::graph::{ReadOptions, read};
/// let karate = read("builtin:karate", &ReadOptions::default())?;
/// assert_eq!((karate.graph.nodes(), karate.graph.edges()), (34, 78));
/// # Ok::<(), nearfar::Error>(())
/// ```
pub fn read(source: &str, options: &ReadOptions) -> Result<Dataset> {
    let path = Path::new(source);
    let dataset = if let Some(name) = source.strip_prefix("builtin:") {
        without_columns(path, options)?;
        if options.directed {
            let problem = Problem::from("built-in graphs are undirected");
            return Err(Error::file(path, problem.omit("directed")));
        }
        if options.distance() != Distance::Hops {
            let problem = Problem::from("built-in graphs have no lengths and no weights");
            return Err(Error::file(path, problem.set("distance", "hops")));
        }
        builtin(name)?
    } else if source == "-" {
        read_once("standard input".as_ref(), &mut std::io::stdin().lock(), options)?
    } else if path.is_dir() {
        Dataset::read_folder(path, options)?
    } else if is_pipe(path) {
        check_input(path)?;
        let mut pipe = File::open(path).map_err(|error| Error::read(path, error))?;
        read_once(path, &mut pipe, options)?
    } else {
        edge_file(path, options)?
    };
    if dataset.graph.nodes() < 2 {
        return Err(Error::file(path, "the graph needs at least two nodes"));
    }
    let dataset = if options.largest_component { dataset.largest_component() } else { dataset };
    memory::give_back();
    Ok(dataset)
}

/// Whether this is a pipe, such as `<(command)` of a shell, or anything else that is no file.
fn is_pipe(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| !data.is_file() && !data.is_dir())
}

/// Reads what can be read only once, by way of a temporary file.
fn read_once(name: &Path, source: &mut dyn Read, options: &ReadOptions) -> Result<Dataset> {
    let copy = spool(name, source)?;
    edge_file(copy.path(), options).map_err(|error| error.renamed(copy.path(), name))
}

/// What a reader found in a file. A reader obeys the options that concern its format:
/// `no_weights` in all of them, `nodes` unless the file lists its nodes, and `source`, `target`,
/// `weight` where columns have names.
struct EdgeFile {
    list: EdgeList,
    /// How the file states its edges. `storage` and `repeats` are set after reading.
    origin: Origin,
    /// How ambiguous input was interpreted.
    notes: Vec<Problem>,
    /// Memory that the reader held at its peak besides the edge list, in bytes.
    buffers: u64,
}

impl EdgeFile {
    /// A list of edges of which nothing else is known.
    fn of(list: EdgeList, buffers: u64) -> Self {
        Self { list, origin: Origin::default(), notes: Vec::new(), buffers }
    }
}

/// Reads one file of edges. Where the nodes are listed, it may have none.
pub(super) fn edge_file(path: &Path, options: &ReadOptions) -> Result<Dataset> {
    match options.distance() {
        Distance::Hops => edges_of_file(path, options),
        Distance::Length => lengths::read(path, options),
        Distance::InverseWeight => lengths::of_weights(path, options),
    }
}

/// The graph of a file, of which the third value of an edge is its weight, or its length.
fn edges_of_file(path: &Path, options: &ReadOptions) -> Result<Dataset> {
    let format = format_of(path, options)?;
    if format == InputFormat::Packed {
        let graph = read_packed(path, without_table_options(path, options)?)?;
        let distance = if graph.has_lengths() { Distance::Length } else { Distance::Hops };
        let origin = Origin { format: Some("packed"), distance, ..Origin::default() };
        return Ok(Dataset { origin, ..Dataset::of(graph) });
    }
    let EdgeFile { mut list, origin, notes, buffers } = edges(format, path, options)?;
    if list.pairs.is_empty() && options.nodes.is_none() {
        return Err(Error::file(path, "no edges found"));
    }
    if options.reads_lengths() {
        lengths::check(path, &list)?;
    }
    let zeros = if options.no_weights { drop_weights(&mut list) } else { 0 };
    // What the reader freed would otherwise stay with the allocator while the rows are built.
    memory::give_back();
    let build = if options.directed { list.directed_bytes() } else { list.build_bytes() };
    let peak = list.bytes().saturating_add(buffers).max(build);
    let read_bytes = resident(peak);
    let built = if options.directed {
        list.build_directed(origin.direction, options.repeats)
    } else {
        list.build_as(origin.direction, options.repeats)
    };
    let built = built.map_err(|error| match error {
        Error::Graph(problem) => Error::file(path, *problem),
        other => other,
    })?;
    let Built { graph, mut dropped, storage } = built;
    dropped.zero_weights += zeros;
    let directed = options.directed;
    let origin = Origin { directed, storage, repeats: options.repeats, ..origin };
    Ok(Dataset { dropped, origin, notes, read_bytes, ..Dataset::of(graph) })
}

/// Forgets the weights. An entry 0 of a matrix is no edge; returns how many there were.
fn drop_weights(list: &mut EdgeList) -> usize {
    let Some(weights) = list.weights.take() else { return 0 };
    let before = list.pairs.len();
    let mut weights = weights.into_iter();
    list.pairs.retain(|_| weights.next() != Some(0.0));
    before - list.pairs.len()
}

/// The edges of a file, by the reader of its format.
fn edges(format: InputFormat, path: &Path, options: &ReadOptions) -> Result<EdgeFile> {
    match format {
        InputFormat::Edges => text::read(path, options),
        InputFormat::NetworkxEdges => networkx::read(path, options),
        InputFormat::Adjacency => adjacency::read(path, options),
        InputFormat::Graphml => graphml::read(path, options),
        InputFormat::Gexf => gexf::read(path, options),
        InputFormat::Gml => gml::read(path, options),
        InputFormat::Pajek => pajek::read(path, options),
        InputFormat::Dot => dot::read(path, options),
        InputFormat::Json => json::read(path, options),
        InputFormat::Jsonl => json::read_lines(path, options),
        InputFormat::Metis => metis::read(path, without_table_options(path, options)?),
        InputFormat::Mtx => matrix_market::read(path, without_table_options(path, options)?),
        InputFormat::Npy => numpy::read(path, options),
        InputFormat::Npz => scipy::read(path, without_table_options(path, options)?),
        #[cfg(feature = "parquet")]
        InputFormat::Parquet => parquet::read(path, options),
        #[cfg(feature = "parquet")]
        InputFormat::Arrow => arrow::read(path, options),
        #[cfg(not(feature = "parquet"))]
        InputFormat::Parquet | InputFormat::Arrow => {
            let message = "this build has no Parquet or Arrow support; build with --features \
                           parquet";
            Err(Error::file(path, message))
        }
        InputFormat::Packed => Err(Error::file(path, "a packed graph holds no list of edges")),
    }
}

/// The resident memory for this many bytes of data: an eighth more for fragmentation, and what
/// decoders, stacks and the allocator take.
pub(super) fn resident(bytes: u64) -> u64 {
    const OVERHEAD: u64 = 8 << 20;
    bytes.saturating_add(bytes / 8).saturating_add(OVERHEAD)
}

/// The options for a matrix or METIS graph, which has all its nodes, and no columns to choose from.
fn without_table_options<'a>(path: &Path, options: &'a ReadOptions) -> Result<&'a ReadOptions> {
    if options.nodes.is_some() {
        let problem = Problem::from("the file already has all its nodes");
        return Err(Error::file(path, problem.omit("nodes")));
    }
    without_columns(path, options)
}

/// The options for a format that has no columns to choose from.
fn without_columns<'a>(path: &Path, options: &'a ReadOptions) -> Result<&'a ReadOptions> {
    match options.chooses_columns() {
        None => Ok(options),
        Some(name) => {
            let problem = Problem::from("this format has no columns to choose from");
            Err(Error::file(path, problem.omit(name)))
        }
    }
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
