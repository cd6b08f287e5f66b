//! Embeddings as NumPy arrays, `.npy`: floats of shape (nodes, dimensions). The ids are in a second
//! file, one per line in row order: `x.nodes.tsv` for `x.npy`. Without that file they are 0, 1, 2, ….
//! The two are replaced together: there are never ids of one embedding beside vectors of another.

use std::io::Write;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::{Embedding, Ids};
use crate::error::{Error, Result};
use crate::file::npy::{Array, header};
use crate::file::{FileSet, open, read_error, read_set, read_text};
use crate::graph::{Node, NodeIds};

pub(super) fn write(path: &Path, embedding: &Embedding) -> Result<FileSet> {
    let mut set = FileSet::default();
    set.add(path, |out| {
        out.write_all(&header(embedding.nodes(), embedding.dim()))?;
        embedding.write_vectors(out)
    })?;
    set.add(&node_file(path), |out| {
        (0..embedding.nodes() as Node)
            .try_for_each(|node| writeln!(out, "{}", embedding.ids().get(node)))
    })?;
    Ok(set)
}

pub(super) fn read(path: &Path) -> Result<Embedding> {
    read_set(path, || read_both(path))
}

fn read_both(path: &Path) -> Result<Embedding> {
    let array = Array::read(open(path)?).map_err(|e| read_error(path, e))?;
    let (nodes, dim) = match array.shape[..] {
        [nodes, dim] if array.is_float() => (nodes, dim),
        _ => {
            let message = format!(
                "an array of {} of shape {:?}; expected floats of shape (nodes, dimensions)",
                array.kind(),
                array.shape
            );
            return Err(Error::file(path, message));
        }
    };
    let vectors = if array.fortran {
        let place = |at: usize| (at % dim) * nodes + at / dim;
        (0..nodes * dim).into_par_iter().map(|at| array.number(place(at))).collect()
    } else {
        array.numbers()
    };
    drop(array);
    let names = ids_beside(path, nodes)?;
    Embedding::from_file(path, names, dim, vectors)
}

/// The ids of the rows of an array: those in the file beside it or, without that, 0, 1, 2, …
pub(crate) fn ids_beside(path: &Path, rows: usize) -> Result<NodeIds> {
    let node_file = node_file(path);
    if node_file.exists() {
        read_nodes(&node_file, path, rows)
    } else {
        Ok(NodeIds::Range { start: 0, len: rows })
    }
}

/// The file of ids beside an array, which may be packed.
pub(super) fn node_file(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let lower = name.to_lowercase();
    let end = [".npy", ".npy.gz", ".npy.zst", ".npz"].iter().find(|end| lower.ends_with(**end));
    // Endings are plain ASCII; where lower case has another length, there is none to cut.
    let stem = name.get(..name.len() - end.map_or(0, |end| end.len())).unwrap_or(&name);
    path.with_file_name(format!("{stem}.nodes.tsv"))
}

fn read_nodes(path: &Path, array: &Path, nodes: usize) -> Result<NodeIds> {
    let text = read_text(path)?;
    let mut ids = Ids::default();
    for (line, id) in (1..).zip(text.lines()) {
        let id = id.split('\t').next().unwrap_or(id);
        if id.is_empty() {
            return Err(Error::line(path, line, "an empty id; expected one id per line"));
        }
        ids.push(id).map_err(|row| {
            let first = row + 1;
            Error::line(path, line, format!("duplicate node '{id}', first in line {first}"))
        })?;
    }
    if ids.len() != nodes {
        let message = format!(
            "{} ids for the {nodes} vectors of {}; expected one per line in row order",
            ids.len(),
            array.display()
        );
        return Err(Error::file(path, message));
    }
    Ok(ids.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_in_the_same_folder() {
        let beside = |name: &str| node_file(Path::new(name)).to_str().unwrap().to_owned();
        assert_eq!(beside("a/x.npy"), "a/x.nodes.tsv");
        assert_eq!(beside("x.y.NPY"), "x.y.nodes.tsv");
        assert_eq!(beside("x.npy.gz"), "x.nodes.tsv");
        assert_eq!(beside("x.dat"), "x.dat.nodes.tsv");
    }
}
