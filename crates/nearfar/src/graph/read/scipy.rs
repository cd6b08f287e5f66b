//! SciPy sparse matrices, `.npz`, as `scipy.sparse.save_npz` writes them.
//!
//! A zip archive with one array per member: `format`, a string; `shape`; the values, `data`; and
//! their positions. In `csr`, the columns of row r are `indices[indptr[r]..indptr[r + 1]]`; in
//! `csc`, rows and columns are swapped; `coo` has a `row` and a `col` for each value. Every row is
//! a node, isolated ones included. Values are weights, unless all are 1.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use zip::ZipArchive;
use zip::result::ZipError;

use super::super::{Direction, EdgeList, Node, NodeIds, Origin};
use super::{EdgeFile, ReadOptions, check_node_count, square};
use crate::error::{Error, Result};
use crate::file::npy::Array;
use crate::file::{open_seekable, read_error};

/// Reads a matrix as a graph.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<EdgeFile> {
    let mut archive = Archive::open(path)?;
    let fail = |message: String| Error::file(path, message);
    let format = archive.get("format")?.text().unwrap_or_default();
    let shape = archive.get("shape")?;
    if shape.len() != Some(2) || !shape.is_integer() {
        return Err(fail("'shape' is not two integers; save a matrix".into()));
    }
    let n = square(shape.whole(0).map_err(fail)?, shape.whole(1).map_err(fail)?).map_err(fail)?;
    let ends = match format.as_str() {
        "csr" | "csc" => ["indptr", "indices"],
        "coo" => ["row", "col"],
        _ => return Err(fail(format!("a matrix in '{format}' format; save matrix.tocsr()"))),
    };
    let [first, second] = [archive.integers(ends[0])?, archive.integers(ends[1])?];
    let pairs = match format.as_str() {
        "coo" => coordinates(n, &first, &second),
        _ => compressed(n, n, &first, &second),
    };
    let pairs = pairs.map_err(fail)?;
    check_node_count(n, pairs.len()).map_err(fail)?;
    let positions = first.bytes() + second.bytes();
    drop([first, second]);
    let data = archive.get("data")?;
    match data.len() {
        Some(len) if len >= pairs.len() && data.is_numeric() => {}
        _ => return Err(fail(format!("'data' is not {} numbers", pairs.len()))),
    }
    let weight = |at| match data.weight(at) {
        Ok(weight) if options.no_weights => Ok(f32::from(u8::from(weight != 0.0))),
        Err(_) if options.no_weights => Ok(1.0),
        weight => weight.map_err(|message| fail(format!("entry {at}: {message}"))),
    };
    let weights = (0..pairs.len()).map(weight).collect::<Result<Vec<f32>>>()?;
    // The ones of an adjacency matrix are not weights.
    let buffers = positions.max(data.bytes() + 4 * weights.len() as u64);
    let is_one = |weight: &f32| weight.to_bits() == 1_f32.to_bits();
    let unweighted = !options.reads_lengths() && weights.iter().all(is_one);
    let weights = (!unweighted).then_some(weights);
    let list = EdgeList { pairs, weights, ids: NodeIds::Range { start: 0, len: n } };
    let origin = Origin { direction: Direction::Entries, ..Origin::default() };
    Ok(EdgeFile { origin, ..EdgeFile::of(list, buffers) })
}

/// A sparse matrix: the entries of row r are those from `starts[r]` to `starts[r + 1]`.
pub(crate) struct SparseRows {
    pub(crate) shape: (usize, usize),
    pub(crate) starts: Vec<usize>,
    pub(crate) columns: Vec<u32>,
    pub(crate) values: Vec<f32>,
}

/// Reads a matrix of any shape in `csr` format.
pub(crate) fn read_sparse(path: &Path) -> Result<SparseRows> {
    let mut archive = Archive::open(path)?;
    let fail = |message: String| Error::file(path, message);
    let format = archive.get("format")?.text().unwrap_or_default();
    if format != "csr" {
        return Err(fail(format!("a matrix in '{format}' format; save matrix.tocsr()")));
    }
    let shape = archive.get("shape")?;
    if shape.len() != Some(2) || !shape.is_integer() {
        return Err(fail("'shape' is not two integers; save a matrix".into()));
    }
    let side = |at| shape.whole(at).map_err(fail).map(|side| side as usize);
    let (rows, columns) = (side(0)?, side(1)?);
    let [indptr, indices] = [archive.integers("indptr")?, archive.integers("indices")?];
    if indptr.len() != rows.checked_add(1) {
        return Err(fail("'indptr' has not one entry more than rows".to_owned()));
    }
    check_columns(columns, indices.len()).map_err(fail)?;
    let entries = compressed(rows, columns, &indptr, &indices).map_err(fail)?;
    let data = archive.get("data")?;
    if data.len().is_none_or(|len| len < entries.len()) || !data.is_numeric() {
        return Err(fail(format!("'data' is not {} numbers", entries.len())));
    }
    let starts = (0..=rows).map(|row| indptr.whole(row).map_err(fail).map(|at| at as usize));
    Ok(SparseRows {
        shape: (rows, columns),
        starts: starts.collect::<Result<_>>()?,
        values: (0..entries.len()).map(|at| data.number(at)).collect(),
        columns: entries.into_iter().map(|(_, column)| column).collect(),
    })
}

/// Refuses a matrix that claims many more columns than its entries bear out: each takes some bytes.
fn check_columns(columns: usize, entries: Option<usize>) -> Result<(), String> {
    /// Fewer columns are never refused: they take some 10 MB.
    const COLUMNS: usize = 1_000_000;
    let largest = entries.unwrap_or(0).saturating_mul(1000).clamp(COLUMNS, Node::MAX as usize);
    if columns <= largest {
        return Ok(());
    }
    Err(format!("the shape claims {columns} columns; expected at most {largest} for its entries"))
}

fn compressed(
    n: usize,
    columns: usize,
    indptr: &Array,
    indices: &Array,
) -> Result<Vec<(Node, Node)>, String> {
    let len = indices.len().unwrap_or(0);
    if indptr.len() != Some(n + 1) {
        return Err(format!("'indptr' has not {} entries, one more than rows", n + 1));
    }
    let mut pairs = Vec::new();
    let mut start = indptr.whole(0)?;
    if start != 0 {
        return Err("'indptr' does not start at 0".to_owned());
    }
    for row in 0..n {
        let end = indptr.whole(row + 1)?;
        if end < start || end > len as u64 {
            return Err(format!("'indptr' gives row {row} the entries {start} to {end} of {len}"));
        }
        for at in start..end {
            pairs.push((row as Node, index(columns, indices, at as usize)?));
        }
        start = end;
    }
    Ok(pairs)
}

fn coordinates(n: usize, rows: &Array, columns: &Array) -> Result<Vec<(Node, Node)>, String> {
    let (Some(len), true) = (rows.len(), rows.len() == columns.len()) else {
        return Err("'row' and 'col' differ in length".to_owned());
    };
    (0..len).map(|at| Ok((index(n, rows, at)?, index(n, columns, at)?))).collect()
}

fn index(n: usize, indices: &Array, at: usize) -> Result<Node, String> {
    match indices.whole(at)? {
        index if index < n as u64 => Ok(index as Node),
        index => Err(format!("entry {at} has index {index}; expected less than {n}")),
    }
}

struct Archive<'a> {
    path: &'a Path,
    zip: ZipArchive<BufReader<File>>,
}

impl<'a> Archive<'a> {
    fn open(path: &'a Path) -> Result<Self> {
        let zip = ZipArchive::new(BufReader::new(open_seekable(path)?));
        Ok(Self { path, zip: zip.map_err(|error| zip_error(path, error))? })
    }

    /// The array of this name.
    fn get(&mut self, name: &str) -> Result<Array> {
        let path = self.path;
        let Some(at) = self.zip.index_for_name(&format!("{name}.npy")) else {
            return Err(self.no_matrix(name));
        };
        let member = self.zip.by_index(at).map_err(|error| zip_error(path, error))?;
        Array::read(member).map_err(|error| match read_error(path, error) {
            Error::Read { path, mut problem, source } => {
                problem.message = format!("'{name}': {}", problem.message);
                Error::Read { path, problem, source }
            }
            other => other,
        })
    }

    fn integers(&mut self, name: &str) -> Result<Array> {
        let array = self.get(name)?;
        if array.is_integer() && array.len().is_some() {
            return Ok(array);
        }
        Err(Error::file(self.path, format!("'{name}' is not a 1-dimensional array of integers")))
    }

    fn no_matrix(&self, missing: &str) -> Error {
        let names = self.zip.file_names().flatten();
        let mut names: Vec<String> =
            names.map(|name| name.strip_suffix(".npy").unwrap_or(&name).to_owned()).collect();
        names.sort_unstable();
        let message = format!(
            "not a SciPy sparse matrix: '{missing}' is missing, found {}; write it with \
             scipy.sparse.save_npz, or an edge array with numpy.save",
            names.join(", ")
        );
        Error::file(self.path, message)
    }
}

fn zip_error(path: &Path, error: ZipError) -> Error {
    match error {
        ZipError::Io(error) => read_error(path, error),
        error => {
            let reason = format!("{error}; write it again with scipy.sparse.save_npz");
            Error::unreadable(path, reason)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check_columns;

    #[test]
    fn columns_are_bounded_by_entries() {
        for (columns, entries) in [(1_000_000, 0), (2_000_000, 2000)] {
            assert!(check_columns(columns, Some(entries)).is_ok(), "{columns} {entries}");
        }
        for (columns, entries) in [(1_000_001, 0), (1 << 40, usize::MAX)] {
            assert!(check_columns(columns, Some(entries)).is_err(), "{columns} {entries}");
        }
    }
}
