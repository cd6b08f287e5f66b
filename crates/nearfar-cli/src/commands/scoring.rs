//! Scoring while `embed` trains.

use std::path::PathBuf;

use anyhow::Context;
use nearfar::embedding::Embedding;
use nearfar::evaluate::{BestEpoch, PeriodicScores};
use nearfar::graph::{Graph, Labels, Split, Splits};

use super::observer::Observer;
use crate::print;

#[derive(clap::Args)]
#[command(next_help_heading = "Evaluation")]
pub(super) struct ScoringArgs {
    /// Score the vectors every N epochs and after the last one, as `evaluate` does, on the labels and
    /// splits of the dataset folder or of --labels and --splits; --log records the scores
    #[arg(long, value_name = "N")]
    score_every: Option<usize>,
    /// Stop when F1-macro on the validation nodes has not improved for so many scorings, and write
    /// the vectors with the best score there, even if training was not stopped; test scores are not
    /// used
    #[arg(long, value_name = "PATIENCE", requires = "score_every", conflicts_with = "resume")]
    stop_early: Option<usize>,
    /// Labels for --score-every: `node<TAB>label`, several labels separated by commas
    #[arg(long, value_name = "FILE", requires = "score_every")]
    labels: Option<PathBuf>,
    /// Splits for --score-every: `node<TAB>train|val|test`
    #[arg(long, value_name = "FILE", requires = "score_every")]
    splits: Option<PathBuf>,
}

/// The labels and splits of periodic scores, and their interval.
pub(super) struct Scoring {
    every: usize,
    stop_early: Option<usize>,
    labels: Labels,
    splits: Splits,
}

impl ScoringArgs {
    /// The files that are given.
    pub(super) fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.labels.iter().chain(&self.splits).cloned()
    }

    /// The scoring that was asked for, with labels and splits of the dataset unless files are given.
    pub(super) fn scoring(
        &self,
        graph: &Graph,
        labels: Option<Labels>,
        splits: Option<Splits>,
        quiet: bool,
    ) -> anyhow::Result<Option<Scoring>> {
        let Some(every) = self.score_every else { return Ok(None) };
        let missing = |what: &str, lines: &str| {
            format!(
                "--score-every needs {what}; give a file of lines '{lines}' with --{what}, or a dataset \
                 folder with {what}.tsv"
            )
        };
        let labels = match &self.labels {
            Some(path) => {
                let (labels, notes) = Labels::read(path, graph)?;
                super::print_notes(&notes, quiet);
                labels
            }
            None => labels.with_context(|| missing("labels", "node<TAB>label"))?,
        };
        let splits = match &self.splits {
            Some(path) => {
                let (splits, notes) = Split::read(path, graph)?;
                super::print_notes(&notes, quiet);
                splits
            }
            None => splits.with_context(|| missing("splits", "node<TAB>train|val|test"))?,
        };
        Ok(Some(Scoring { every, stop_early: self.stop_early, labels, splits }))
    }
}

impl Scoring {
    /// A sink that scores and forwards everything to the observer.
    pub(super) fn sink<'a>(
        &'a self,
        graph: &'a Graph,
        observer: &'a mut Observer,
    ) -> nearfar::Result<PeriodicScores<'a>> {
        let every = PeriodicScores::new(self.every, graph, &self.labels, &self.splits, observer)?;
        match self.stop_early {
            Some(patience) => every.stop_early(patience),
            None => Ok(every),
        }
    }

    /// Bytes of the vectors that are scored, and of the best ones.
    pub(super) fn memory(&self, nodes: usize, dim: usize) -> u64 {
        (nodes * dim * size_of::<f32>()) as u64 * if self.stop_early.is_some() { 2 } else { 1 }
    }
}

/// The vectors to write: the best on the validation nodes with --stop-early, else the last.
pub(super) fn chosen(
    best: Option<BestEpoch>,
    last: Embedding,
    quiet: bool,
) -> nearfar::Result<Embedding> {
    let Some(best) = best else { return Ok(last) };
    if !quiet {
        print::message(&format!(
            "{}vectors of epoch {}, the best on the validation nodes: F1-macro {:.4}",
            if best.stopped { "stopped early; " } else { "" },
            best.epoch,
            best.f1_macro
        ));
    }
    let provenance = last.provenance().clone();
    let embedding = Embedding::new(last.ids().clone(), last.dim(), best.vectors)?;
    Ok(embedding.with_provenance(provenance))
}
