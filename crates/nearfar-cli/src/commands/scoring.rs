//! Scoring while `embed` trains.

use std::path::PathBuf;

use anyhow::Context;
use nearfar::evaluate::{BestEpoch, PeriodicScores};
use nearfar::graph::{Graph, Labels, Split, Splits};

use super::listener::Listener;
use crate::print;

#[derive(clap::Args)]
pub(super) struct ScoringArgs {
    /// Score the vectors after every N-th epoch and the last, as `evaluate` does, on the labels and
    /// splits of the dataset folder or of --labels and --splits; the scores also go to --log
    #[arg(long, value_name = "N")]
    score_every: Option<usize>,
    /// Stop when F1-macro on validation has not risen for so many scorings, and write the vectors
    /// that were best there, even if training came to its end; test is never looked at
    #[arg(long, value_name = "PATIENCE", requires = "score_every", conflicts_with = "resume")]
    stop_early: Option<usize>,
    /// Labels to score by, `node<TAB>label`, several separated by commas
    #[arg(long, value_name = "FILE", requires = "score_every")]
    labels: Option<PathBuf>,
    /// Parts to score by, `node<TAB>train|val|test`
    #[arg(long, value_name = "FILE", requires = "score_every")]
    splits: Option<PathBuf>,
}

/// What vectors are scored by, and how often.
pub(super) struct Scoring {
    every: usize,
    stop_early: Option<usize>,
    labels: Labels,
    splits: Splits,
}

impl ScoringArgs {
    /// What is asked for, with labels and splits of the dataset where no files are given.
    pub(super) fn scoring(
        &self,
        graph: &Graph,
        labels: Option<Labels>,
        splits: Option<Splits>,
    ) -> anyhow::Result<Option<Scoring>> {
        let Some(every) = self.score_every else { return Ok(None) };
        let missing = |what: &str, lines: &str| {
            format!(
                "--score-every takes {what}, and the graph comes without; give a file of lines \
                 '{lines}' with --{what}, or a dataset folder with {what}.tsv"
            )
        };
        let labels = match &self.labels {
            Some(path) => Labels::read(path, graph)?,
            None => labels.with_context(|| missing("labels", "node<TAB>label"))?,
        };
        let splits = match &self.splits {
            Some(path) => Split::read(path, graph)?,
            None => splits.with_context(|| missing("splits", "node<TAB>train|val|test"))?,
        };
        Ok(Some(Scoring { every, stop_early: self.stop_early, labels, splits }))
    }
}

impl Scoring {
    /// A sink that scores and passes all on to the listener.
    pub(super) fn sink<'a>(
        &'a self,
        graph: &'a Graph,
        listener: &'a mut Listener,
    ) -> nearfar::Result<PeriodicScores<'a>> {
        let every = PeriodicScores::new(self.every, graph, &self.labels, &self.splits, listener)?;
        match self.stop_early {
            Some(patience) => every.stop_early(patience),
            None => Ok(every),
        }
    }

    /// The memory that it takes: the vectors that are scored, and the best ones.
    pub(super) fn memory(&self, nodes: usize, dim: usize) -> u64 {
        (nodes * dim * size_of::<f32>()) as u64 * if self.stop_early.is_some() { 2 } else { 1 }
    }
}

/// The vectors to write: the best on validation if those are wanted, else the last.
pub(super) fn chosen(best: Option<BestEpoch>, last: Vec<f32>, quiet: bool) -> Vec<f32> {
    let Some(best) = best else { return last };
    if !quiet {
        print::message(&format!(
            "{}the vectors are those after epoch {}, the best on validation: F1-macro {:.4}",
            if best.stopped { "stopped early; " } else { "" },
            best.epoch,
            best.f1_macro
        ));
    }
    best.vectors
}
