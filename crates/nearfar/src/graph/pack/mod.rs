//! Packed graphs, `.nfg`: the arrays of a [`Graph`] in a file that is mapped into memory, so that it
//! opens at once, whatever its size, and processes share it.
//!
//! The file is a [container](format) of these sections:
//!
//! | section | type | |
//! |---|---|---|
//! | `offsets` | u64 | n + 1: where the row of each node begins in `targets`, and the end |
//! | `targets` | u32 | the neighbours of node 0 in increasing order, those of node 1, … |
//! | `weights` | f32 | one for each of `targets`; missing in a graph without weights |
//! | `lengths` | f32 | likewise; missing where distances are numbers of hops |
//! | `incoming.offsets` | u64 | in a directed graph: where the sources of each node begin |
//! | `incoming.sources` | u32 | the sources of the arcs into node 0 in increasing order, … |
//! | `ids.start` | u32 | one number: row r has the id start + r; or else |
//! | `ids.text` | u8 | the ids, one after the other, in UTF-8 |
//! | `ids.ends` | u64 | the end of each id in `ids.text` |
//! | `ids.slots` | u32 | the hash index of ids (`mapped_ids`) |
//! | `record` | u8 | how the file was made, as JSON: see [`packed_record`] |

mod check;
mod edges;
mod format;
mod rows;

use std::fs::File;
use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::directed::Incoming;
use super::mapped_ids::{MappedIds, slots};
use super::read::{InputFormat, format_of};
use super::{
    Dataset, Distance, Dropped, Graph, Node, NodeIds, Origin, ReadOptions, StringIds, read,
};
use crate::error::{Error, Problem, Result};
use crate::file::{check_not_input, check_writable, write_whole};
use crate::memory::{Array, Mapped};
use format::{Container, Writer, check_machine};

pub(super) use format::MAGIC;

/// The section that says how the file was made.
const RECORD: &str = "record";

/// What packing may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackConfig {
    /// Bytes of memory. An edge list is sorted in parts that fit; the ids of its nodes have to fit as
    /// well: 8 bytes for a node, and texts with a hash index unless ids are 0..n−1. Other formats are
    /// read whole.
    pub memory: u64,
    /// The folder of temporary files, which take 24 bytes for an edge, or 36 with weights; `None` for
    /// that of the packed file.
    pub scratch: Option<std::path::PathBuf>,
}

impl Default for PackConfig {
    fn default() -> Self {
        Self { memory: 1_000_000_000, scratch: None }
    }
}

/// What was packed.
#[derive(Clone, Debug)]
pub struct Packed {
    /// The graph, mapped.
    pub graph: Graph,
    /// The edges that were dropped.
    pub dropped: Dropped,
    /// How the file states its edges.
    pub origin: Origin,
    /// How ambiguous input was interpreted.
    pub notes: Vec<Problem>,
}

/// Reads a graph as [`read`](super::read()) does, and writes it to a packed file. Edge lists may be
/// larger than memory.
///
/// ```
/// use nearfar::graph::{PackConfig, ReadOptions, open_packed, pack};
/// let folder = tempfile::tempdir().unwrap();
/// let file = folder.path().join("karate.nfg");
/// pack("builtin:karate", &ReadOptions::default(), &file, &PackConfig::default())?;
/// assert_eq!(open_packed(&file)?.edges(), 78);
/// # Ok::<(), nearfar::Error>(())
/// ```
pub fn pack(
    source: &str,
    options: &ReadOptions,
    output: &Path,
    config: &PackConfig,
) -> Result<Packed> {
    check_machine().map_err(|reason| Error::unwritable(output, reason))?;
    check_writable(output)?;
    let path = Path::new(source);
    let whole = options.nodes.is_some()
        || options.largest_component
        || options.directed
        || options.distance() != Distance::Hops;
    let streams = path.is_file() && !whole;
    if streams && format_of(path, options)? == InputFormat::Edges {
        let edges::Found { dropped, origin, notes } = edges::pack(path, options, output, config)?;
        return Ok(Packed { graph: open_packed(output)?, dropped, origin, notes });
    }
    check_not_input(output, &[path.to_owned()])?;
    let Dataset { graph, dropped, origin, notes, .. } = read(source, options)?;
    graph.write_with(output, options)?;
    Ok(Packed { graph: open_packed(output)?, dropped, origin, notes })
}

/// Opens a packed graph in some milliseconds: the header, the table of sections and the length of the
/// file are checked, the sections are not read. [`read`](super::read()) checks all of it. Use this
/// one where many processes share a file that was checked: rows of a file that was damaged since may
/// be out of bounds.
pub fn open_packed(path: &Path) -> Result<Graph> {
    let container = container(path)?;
    graph(&container).map_err(|reason| Error::file(path, reason))
}

/// How a packed graph was made: the `version` of the program, and under `read` the options of reading
/// that differ from their defaults. Empty for files of programs that kept no record.
pub fn packed_record(path: &Path) -> Result<Map<String, Value>> {
    let record: Option<Array<u8>> =
        container(path)?.optional(RECORD).map_err(|reason| Error::file(path, reason))?;
    // A record that this version does not understand says nothing.
    Ok(record.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default())
}

/// Reads a packed graph: every byte of it, at the speed of memory, so that no damage goes unnoticed.
pub(super) fn read_packed(path: &Path, options: &ReadOptions) -> Result<Graph> {
    let container = container(path)?;
    let fail = |reason| Error::file(path, reason);
    container.check().map_err(fail)?;
    let mut graph = graph(&container).map_err(fail)?;
    check::check(&graph).map_err(fail)?;
    if options.no_weights {
        graph.weights = None;
    }
    if options.distance == Some(Distance::Hops) {
        graph.lengths = None;
    }
    Ok(graph)
}

fn container(path: &Path) -> Result<Container> {
    let fail = |reason| Error::file(path, reason);
    check_machine().map_err(fail)?;
    let file = File::open(path).map_err(|error| Error::read(path, error))?;
    let length = file.metadata().map_err(|error| Error::read(path, error))?.len();
    if length == 0 {
        return Err(Error::file(path, "the file is empty"));
    }
    let mapped = Mapped::new(&file).map_err(|error| Error::read(path, error))?;
    Container::open(mapped).map_err(fail)
}

fn graph(container: &Container) -> Result<Graph, String> {
    let offsets: Array<usize> = container.array("offsets")?;
    let targets: Array<Node> = container.array("targets")?;
    let weights: Option<Array<f32>> = container.optional("weights")?;
    let lengths: Option<Array<f32>> = container.optional("lengths")?;
    let incoming = match container.optional("incoming.offsets")? {
        Some(offsets) => Some(Incoming { offsets, sources: container.array("incoming.sources")? }),
        None => None,
    };
    let Some(n) = offsets.len().checked_sub(1).filter(|&n| n < Node::MAX as usize) else {
        return Err(format!("{} offsets; expected one more than nodes", offsets.len()));
    };
    let ids = match container.optional("ids.start")? {
        Some(start) => match *start {
            [start] => NodeIds::Range { start, len: n },
            _ => return Err(format!("{} first ids; expected one", start.len())),
        },
        None => NodeIds::StringIds(StringIds::mapped(MappedIds {
            text: container.array("ids.text")?,
            ends: container.array("ids.ends")?,
            slots: container.array("ids.slots")?,
        })),
    };
    let one_an_arc = |all: &Array<f32>| all.len() == targets.len();
    let counts = ids.len() == n
        && weights.as_ref().is_none_or(one_an_arc)
        && lengths.as_ref().is_none_or(one_an_arc)
        && incoming.as_ref().is_none_or(|incoming| {
            incoming.offsets.len() == n + 1 && incoming.sources.len() == targets.len()
        });
    if !counts || offsets[0] != 0 || offsets[n] != targets.len() {
        return Err("the lengths of its sections do not agree; pack the graph again".to_owned());
    }
    Ok(Graph { offsets, targets, weights, lengths, ids, incoming })
}

impl Graph {
    /// Writes the graph to a packed file, which [`read`](super::read()) reads like any other format.
    pub fn write_packed(&self, path: &Path) -> Result<()> {
        self.write_with(path, &ReadOptions::default())
    }

    fn write_with(&self, path: &Path, options: &ReadOptions) -> Result<()> {
        check_machine().map_err(|reason| Error::unwritable(path, reason))?;
        write_whole(path, |out| {
            let mut out = Writer::new(out)?;
            write_ids(&mut out, &self.ids)?;
            out.section("targets", &self.targets)?;
            if let Some(weights) = &self.weights {
                out.section("weights", weights)?;
            }
            if let Some(lengths) = &self.lengths {
                out.section("lengths", lengths)?;
            }
            if let Some(Incoming { offsets, sources }) = &self.incoming {
                out.section("incoming.sources", sources)?;
                out.section("incoming.offsets", offsets)?;
            }
            out.section("offsets", &self.offsets)?;
            write_record(&mut out, options)?;
            out.finish()
        })
    }
}

fn write_record(out: &mut Writer, options: &ReadOptions) -> io::Result<()> {
    let fields = |options: &ReadOptions| match serde_json::to_value(options) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let (mut given, defaults) = (fields(options), fields(&ReadOptions::default()));
    given.retain(|name, value| defaults.get(name) != Some(value));
    let record = json!({ "version": env!("CARGO_PKG_VERSION"), "read": given });
    out.section(RECORD, record.to_string().as_bytes())
}

fn write_ids(out: &mut Writer, ids: &NodeIds) -> io::Result<()> {
    let ids = match ids {
        NodeIds::Range { start, .. } => return out.section("ids.start", &[*start]),
        NodeIds::StringIds(ids) => ids,
    };
    let texts = || (0..ids.len() as Node).map(|row| ids.get(row));
    out.begin::<u8>("ids.text")?;
    texts().try_for_each(|text| out.write(text.as_bytes()))?;
    out.begin::<usize>("ids.ends")?;
    let mut end = 0;
    texts().try_for_each(|text| {
        end += text.len();
        out.write(&[end])
    })?;
    out.section("ids.slots", &slots(texts()))
}
