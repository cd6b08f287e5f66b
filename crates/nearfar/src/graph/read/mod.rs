//! Reading graphs: the format is recognised by the file, nothing has to be said.

mod array;
mod ids;
mod lines;
mod matrix_market;
mod numpy;
#[cfg(feature = "parquet")]
mod parquet;
mod scipy;
mod text;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use super::builtin::builtin;
use super::{Dataset, EdgeList, Node};
use crate::error::{Error, Result};

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

/// The ending of a file's name in lower case, that of a packed file without `.gz` or `.zst`.
fn ending(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    name.rsplit_once('.').map_or("", |(_, ending)| ending).to_owned()
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

/// Opens a file, unpacking gzip and zstd, which are recognised by their first bytes.
pub(super) fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    let fail = |e: std::io::Error| Error::read(path, &e);
    if path.is_dir() {
        return Err(Error::file(path, "a folder where a file should be"));
    }
    let mut file = BufReader::with_capacity(1 << 16, File::open(path).map_err(fail)?);
    let magic = file.fill_buf().map_err(fail)?;
    Ok(if magic.starts_with(&[0x1f, 0x8b]) {
        Box::new(flate2::bufread::MultiGzDecoder::new(file))
    } else if magic.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        Box::new(zstd::Decoder::with_buffer(file).map_err(fail)?)
    } else {
        Box::new(file)
    })
}

/// Opens a file that is not read from start to end; a packed one is unpacked to disk first.
fn open_seekable(path: &Path) -> Result<File> {
    let fail = |e: std::io::Error| read_error(path, &e);
    let ending = path.extension().unwrap_or_default();
    if !ending.eq_ignore_ascii_case("gz") && !ending.eq_ignore_ascii_case("zst") {
        return File::open(path).map_err(fail);
    }
    let mut unpacked = tempfile::tempfile().map_err(fail)?;
    std::io::copy(&mut open(path)?, &mut unpacked).map_err(fail)?;
    unpacked.rewind().map_err(fail)?;
    Ok(unpacked)
}

/// What a failed read says: a stream that ends too early was cut off on its way here.
pub(super) fn read_error(path: &Path, source: &std::io::Error) -> Error {
    if source.kind() == std::io::ErrorKind::UnexpectedEof {
        let reason = "the file ends in the middle: it is cut off; fetch or pack it again";
        return Error::Read { path: path.to_owned(), reason: reason.to_owned() };
    }
    Error::read(path, source)
}

/// All bytes of a file, unpacked.
fn read_all(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes).map_err(|e| read_error(path, &e))?;
    Ok(bytes)
}

/// A small text file, line by line, without empty lines and comments.
pub(super) struct TextLines(String);

impl TextLines {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let bytes = read_all(path)?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Error::file(path, "this is not UTF-8 text; save it as UTF-8"))?;
        Ok(Self(text))
    }

    /// Lines with their numbers, counted from 1.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &str)> {
        let text = self.0.strip_prefix('\u{feff}').unwrap_or(&self.0);
        (1..)
            .zip(text.lines())
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
