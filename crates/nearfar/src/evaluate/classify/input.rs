//! Labels and splits for the rows of an embedding: reading and validation.

use std::path::{Path, PathBuf};

use crate::embedding::Embedding;
use crate::error::{Error, Problem, Result};
use crate::graph::dataset::find;
use crate::graph::labels::read_splits as read_known_splits;
use crate::graph::read::Known;
use crate::graph::{Labels, Splits};

/// Reads the labels of nodes that have vectors, as [`Labels::read`] does, from a file or the dataset
/// folder that holds it; also returns what to tell the user.
pub fn read_labels(path: &Path, embedding: &Embedding) -> Result<(Labels, Vec<Problem>)> {
    let file = in_folder(path, "labels.tsv")?;
    let read = Labels::read_known(file.as_deref().unwrap_or(path), known(embedding))?;
    let (labels, notes, _) = read;
    Ok((labels, notes))
}

/// Reads the splits of nodes that have vectors, from a file or the dataset folder that holds it;
/// also returns what to tell the user.
pub fn read_splits(path: &Path, embedding: &Embedding) -> Result<(Splits, Vec<Problem>)> {
    let file = in_folder(path, "splits.tsv")?;
    read_known_splits(file.as_deref().unwrap_or(path), known(embedding))
}

/// The splits file of a dataset folder; `None` if the path is not a folder or has no such file.
pub fn splits_in(folder: &Path) -> Option<PathBuf> {
    find(folder, "splits.tsv")
}

/// Checks that vectors, labels and splits have the same number of rows and valid label indices.
pub(super) fn check(embedding: &Embedding, labels: &Labels, splits: Option<&Splits>) -> Result<()> {
    embedding.check_finite()?;
    let rows = embedding.nodes();
    for (name, found) in [("labels", Some(labels.of.len())), ("splits", splits.map(Vec::len))] {
        if let Some(found) = found.filter(|found| *found != rows) {
            let message =
                format!("{name} of {found} nodes for {rows} vectors; expected one for each");
            return Err(Error::conflict(message));
        }
    }
    if let Some(&label) =
        labels.of.iter().flatten().find(|label| **label as usize >= labels.names.len())
    {
        let last = labels.names.len().saturating_sub(1);
        let message = format!("label {label} is out of range; expected 0 to {last}");
        return Err(Error::conflict(message));
    }
    Ok(())
}

fn known(embedding: &Embedding) -> Known<'_> {
    Known { ids: embedding.ids(), otherwise: "is not among the vectors" }
}

/// The file in a dataset folder; `None` if the path is a file itself.
fn in_folder(path: &Path, name: &str) -> Result<Option<PathBuf>> {
    if !path.is_dir() {
        return Ok(None);
    }
    let missing = || Error::file(path, format!("no {name} in this folder; give a file"));
    find(path, name).map(Some).ok_or_else(missing)
}
