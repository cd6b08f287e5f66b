//! NumPy edge arrays, `.npy`.
//!
//! Integers of shape (m, 2), one edge per row, or (2, m), sources above targets, as in PyTorch
//! Geometric. Shape (2, 2) counts as the former. A third column, in shape (m, 3), holds weights;
//! then all three may be floats, as long as the ids are integers. Integers of shape (2, 3) are
//! three edges.

use std::path::Path;

use super::ids::EdgeCollector;
use super::{EdgeFile, ReadOptions, without_columns};
use crate::error::{Error, Result};
use crate::file::npy::Array;
use crate::file::{Id, open, read_error};

/// Reads an edge array.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<EdgeFile> {
    let options = without_columns(path, options)?;
    let array = Array::read(open(path)?).map_err(|e| read_error(path, e))?;
    let layout = EdgeLayout::of(&array).map_err(|message| Error::file(path, message))?;
    let mut edges = EdgeCollector::with_node_file(options.nodes.as_deref())?;
    let mut weights = (layout.weighted && !options.no_weights).then(Vec::new);
    for edge in 0..layout.edges {
        let id = |column| {
            let id = array.whole(layout.position(edge, column));
            let fail = |m| Error::file(path, format!("edge {}: node id {m}", edge + 1));
            id.map(Id::Integer).map_err(fail)
        };
        edges.push(id(0)?, id(1)?);
        if let Some(weights) = &mut weights {
            let weight = array.weight(layout.position(edge, 2));
            let fail = |m| Error::file(path, format!("edge {}: {m}", edge + 1));
            weights.push(weight.map_err(fail)?);
        }
    }
    let note = (array.shape == [2, 3] && !layout.weighted)
        .then(|| "shape (2, 3) was read as three edges, sources above targets".into());
    let array_bytes = array.bytes();
    drop(array);
    let file = edges.finish(weights, 0);
    // Ids are assigned after the array was dropped: the two were not in memory together.
    let buffers = array_bytes.saturating_sub(file.list.ids.bytes()).max(file.buffers);
    let mut file = EdgeFile { buffers, ..file };
    file.notes.extend(note);
    Ok(file)
}

/// Where the values of an edge are in the array.
struct EdgeLayout {
    edges: usize,
    weighted: bool,
    edge_step: usize,
    column_step: usize,
}

impl EdgeLayout {
    fn of(array: &Array) -> Result<Self, String> {
        let integer = array.is_integer();
        let (edges, columns, edges_first) = match array.shape[..] {
            [edges, 2] if integer => (edges, 2, true),
            [2, edges] if integer => (edges, 2, false),
            [edges, 3] if array.is_float() || integer => (edges, 3, true),
            _ => {
                return Err(format!(
                    "an array of {} of shape {:?}; expected integers of shape (m, 2) or (2, m), \
                     or numbers of shape (m, 3) with weights last",
                    array.kind(),
                    array.shape
                ));
            }
        };
        // An edge is contiguous if edges are rows in row-major or columns in column-major order.
        let (edge_step, column_step) =
            if edges_first == array.fortran { (1, edges) } else { (columns, 1) };
        Ok(Self { edges, weighted: columns == 3, edge_step, column_step })
    }

    fn position(&self, edge: usize, column: usize) -> usize {
        edge * self.edge_step + column * self.column_step
    }
}
