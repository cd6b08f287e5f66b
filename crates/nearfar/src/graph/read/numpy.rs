//! NumPy edge arrays, `.npy`.
//!
//! Integers of shape (m, 2), one edge a row, or (2, m), sources above targets, as in PyTorch
//! Geometric. Shape (2, 2) counts as the former. A third column, in shape (m, 3), holds weights;
//! then all three may be floats, as long as the ids are whole numbers. Integers of shape (2, 3)
//! are three edges.

use std::path::Path;

use super::super::EdgeList;
use super::ids::{Id, Ids};
use super::{open, read_error};
use crate::error::{Error, Result};
use crate::file::npy::Array;

/// Reads an edge array; also how it was understood, where there is a choice.
pub(super) fn read(path: &Path, nodes: Option<&Path>) -> Result<(EdgeList, Vec<String>)> {
    let array = Array::read(open(path)?).map_err(|e| read_error(path, &e))?;
    let layout = Layout::of(&array).map_err(|message| Error::file(path, message))?;
    let mut ids = Ids::with_node_file(nodes)?;
    let mut weights = layout.weighted.then(Vec::new);
    for edge in 0..layout.edges {
        let id = |column| {
            let id = array.whole(layout.place(edge, column));
            let fail = |m| Error::file(path, format!("edge {}: {m}; ids are such", edge + 1));
            id.map(Id::Integer).map_err(fail)
        };
        ids.push(id(0)?, id(1)?);
        if let Some(weights) = &mut weights {
            weights.push(array.number(layout.place(edge, 2)));
        }
    }
    let note = (array.shape == [2, 3] && !layout.weighted)
        .then(|| "shape (2, 3) was taken as three edges, sources above targets".to_owned());
    Ok((ids.finish(weights), note.into_iter().collect()))
}

/// Where the ends of an edge stand in the array.
struct Layout {
    edges: usize,
    weighted: bool,
    edge_step: usize,
    column_step: usize,
}

impl Layout {
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
        // A row lies in one piece unless exactly one of the two is turned round.
        let (edge_step, column_step) =
            if edges_first == array.fortran { (1, edges) } else { (columns, 1) };
        Ok(Self { edges, weighted: columns == 3, edge_step, column_step })
    }

    fn place(&self, edge: usize, column: usize) -> usize {
        edge * self.edge_step + column * self.column_step
    }
}
