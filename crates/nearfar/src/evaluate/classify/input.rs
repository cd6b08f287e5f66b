//! Labels and splits for the rows of an embedding: reading them, and what can be wrong with them.

use std::path::{Path, PathBuf};

use crate::embedding::Embedding;
use crate::error::{Error, Result};
use crate::graph::dataset::{Known, find, read_splits as read_known_splits};
use crate::graph::{Labels, Splits};

/// Reads the labels of nodes that have vectors: a file of lines `node<TAB>label`, or the dataset
/// folder that holds it.
pub fn read_labels(path: &Path, embedding: &Embedding) -> Result<Labels> {
    let file = in_folder(path, "labels.tsv")?;
    Labels::read_known(file.as_deref().unwrap_or(path), known(embedding))
}

/// Reads the splits of nodes that have vectors: a file of lines `node<TAB>train|val|test`, or the
/// dataset folder that holds it.
pub fn read_splits(path: &Path, embedding: &Embedding) -> Result<Splits> {
    let file = in_folder(path, "splits.tsv")?;
    read_known_splits(file.as_deref().unwrap_or(path), known(embedding))
}

/// The splits of a dataset folder, if it is one and has any.
pub fn splits_in(folder: &Path) -> Option<PathBuf> {
    find(folder, "splits.tsv")
}

/// Checks that vectors, labels and splits belong together.
pub(super) fn check(embedding: &Embedding, labels: &Labels, splits: Option<&Splits>) -> Result<()> {
    embedding.check_finite()?;
    let rows = embedding.nodes();
    for (name, found) in [("labels", Some(labels.of.len())), ("splits", splits.map(Vec::len))] {
        if let Some(found) = found.filter(|found| *found != rows) {
            let message = format!("{name} of {found} nodes for {rows} vectors; it takes one each");
            return Err(Error::Option(message));
        }
    }
    if let Some(&label) =
        labels.of.iter().flatten().find(|label| **label as usize >= labels.names.len())
    {
        let message = format!("label {label} of {}; labels are counted from 0", labels.names.len());
        return Err(Error::Option(message));
    }
    Ok(())
}

/// Random parts need two nodes of every class: one to learn from and one to score.
pub(super) fn check_members(embedding: &Embedding, labels: &Labels) -> Result<()> {
    let mut members = vec![(0_usize, 0); labels.names.len()];
    for (row, of) in (0..).zip(&labels.of) {
        for &label in of {
            members[label as usize].0 += 1;
            members[label as usize].1 = row;
        }
    }
    if labels.of.iter().all(Vec::is_empty) {
        return Err(Error::Option("no node has a label; give a file that has some".to_owned()));
    }
    match members.iter().position(|(count, _)| *count == 1) {
        None => Ok(()),
        Some(alone) => Err(Error::Option(format!(
            "class '{}' has one member, node '{}', which cannot be trained on and tested; remove \
             its label, or give the parts by --splits",
            labels.names[alone],
            embedding.ids().get(members[alone].1)
        ))),
    }
}

fn known(embedding: &Embedding) -> Known<'_> {
    let otherwise = "has no vector; remove the line, or embed a graph that has the node";
    Known { ids: embedding.ids(), otherwise }
}

/// The file in a dataset folder; nothing if the path is a file itself.
fn in_folder(path: &Path, name: &str) -> Result<Option<PathBuf>> {
    if !path.is_dir() {
        return Ok(None);
    }
    let missing = || Error::file(path, format!("there is no {name} in this folder; give a file"));
    find(path, name).map(Some).ok_or_else(missing)
}
