//! The graphs of the data folder.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, ensure};
use nearfar::distance::{OutlierConfig, outliers};
use nearfar::graph::{Dataset, Graph, Labels, ReadOptions, Splits, read};

/// A graph with labels and splits.
pub(crate) struct LabelledGraph {
    pub(crate) graph: Arc<Graph>,
    pub(crate) labels: Labels,
    pub(crate) splits: Splits,
}

/// Graphs by name and number of outliers, read at first use.
pub(crate) struct Graphs {
    folder: PathBuf,
    /// Names of the graphs to use; empty for all.
    only: Vec<String>,
    loaded: Mutex<HashMap<(String, usize), Arc<LabelledGraph>>>,
}

impl Graphs {
    pub(crate) fn new(folder: PathBuf, only: Vec<String>) -> Self {
        Self { folder, only, loaded: Mutex::default() }
    }

    /// Fails if none of these graphs is in the folder and selected.
    pub(crate) fn check(&self, names: &[&str]) -> anyhow::Result<()> {
        let folder = self.folder.display();
        ensure!(self.folder.is_dir(), "--data {folder}: no such folder");
        ensure!(
            names.iter().any(|name| self.has(name)),
            "--data {folder}: none of the graphs is there{}; expected folders with edges.tsv: {}",
            if self.only.is_empty() { "" } else { " and selected by --graphs" },
            names.join(", ")
        );
        Ok(())
    }

    /// Whether a graph is in the folder and selected.
    pub(crate) fn has(&self, name: &str) -> bool {
        let selected = self.only.is_empty() || self.only.iter().any(|only| only == name);
        selected
            && ["edges.tsv", "edges.tsv.gz"]
                .iter()
                .any(|file| self.folder.join(name).join(file).exists())
    }

    /// A graph, with `count` outliers added to it.
    pub(crate) fn get(&self, name: &str, count: usize) -> anyhow::Result<Arc<LabelledGraph>> {
        let mut graphs = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = graphs.get(&(name.to_owned(), count)) {
            return Ok(Arc::clone(found));
        }
        let folder = self.folder.join(name);
        let path = || folder.display().to_string();
        let source = folder.to_str().with_context(path)?;
        let mut dataset = read(source, &ReadOptions::default())?;
        if count > 0 {
            dataset = outliers(&dataset, &OutlierConfig { count, seed: 0 })?;
        }
        let Dataset { graph, labels, splits, .. } = dataset;
        let missing = |what: &str| format!("{}: {what}.tsv is missing", path());
        let labelled = Arc::new(LabelledGraph {
            graph: Arc::new(graph),
            labels: labels.with_context(|| missing("labels"))?,
            splits: splits.with_context(|| missing("splits"))?,
        });
        graphs.insert((name.to_owned(), count), Arc::clone(&labelled));
        Ok(labelled)
    }
}
