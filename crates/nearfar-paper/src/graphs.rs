//! The graphs at hand.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use nearfar::distance::{OutlierConfig, outliers};
use nearfar::graph::{Dataset, Graph, Labels, ReadOptions, Splits, read};

/// A graph with labels and parts.
pub(crate) struct Labelled {
    pub(crate) graph: Arc<Graph>,
    pub(crate) labels: Labels,
    pub(crate) splits: Splits,
}

/// Graphs by name and number of outliers, read when they are asked for.
pub(crate) struct Graphs {
    folder: PathBuf,
    /// Those that may be used; all if there are none.
    only: Vec<String>,
    read: Mutex<HashMap<(String, usize), Arc<Labelled>>>,
}

impl Graphs {
    pub(crate) fn new(folder: PathBuf, only: Vec<String>) -> Self {
        Self { folder, only, read: Mutex::default() }
    }

    /// Whether a graph is there, and wanted.
    pub(crate) fn has(&self, name: &str) -> bool {
        let wanted = self.only.is_empty() || self.only.iter().any(|only| only == name);
        wanted
            && ["edges.tsv", "edges.tsv.gz"]
                .iter()
                .any(|file| self.folder.join(name).join(file).exists())
    }

    /// A graph, with so many outliers added to it.
    pub(crate) fn get(&self, name: &str, count: usize) -> anyhow::Result<Arc<Labelled>> {
        let mut graphs = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = graphs.get(&(name.to_owned(), count)) {
            return Ok(Arc::clone(found));
        }
        let folder = self.folder.join(name);
        let place = || folder.display().to_string();
        let source = folder.to_str().with_context(place)?;
        let mut dataset = read(source, &ReadOptions::default())?;
        if count > 0 {
            dataset = outliers(&dataset, &OutlierConfig { count, seed: 0 })?;
        }
        let Dataset { graph, labels, splits, .. } = dataset;
        let missing = |what: &str| format!("{}: there is no {what}.tsv", place());
        let labelled = Arc::new(Labelled {
            graph: Arc::new(graph),
            labels: labels.with_context(|| missing("labels"))?,
            splits: splits.with_context(|| missing("splits"))?,
        });
        graphs.insert((name.to_owned(), count), Arc::clone(&labelled));
        Ok(labelled)
    }
}
