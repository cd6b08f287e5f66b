//! One run of node classification: train, predict, score.

use super::super::decisions::{Confusion, Outcomes, f1_macro, f1_micro};
use super::super::logistic::Training;
use super::cross_validation::choose_c;
use super::inverse_l2::InverseL2;
use super::model::{LabelledVectors, Model};
use super::split::NodeSplit;
use crate::error::Result;
use crate::graph::Node;

/// The scores of one run.
pub(super) struct ClassifyRun {
    /// The C that was used.
    pub(super) c: f64,
    /// Whether C was to be chosen, and the training nodes were too few.
    pub(super) too_few: bool,
    pub(super) val: Option<RunScores>,
    pub(super) test: RunScores,
    pub(super) outcomes: TestOutcomes,
}

/// The scores on one split.
pub(super) struct RunScores {
    pub(super) f1_macro: f64,
    pub(super) f1_micro: f64,
    pub(super) accuracy: f64,
    /// Several labels per node: F1-macro and F1-micro of the top k labels.
    pub(super) top_k: Option<(f64, f64)>,
}

/// Counts of the decisions on test, for per-class tables.
pub(super) enum TestOutcomes {
    /// One class per node.
    Classes(Confusion),
    /// Several labels per node: the top k labels are predicted.
    Labels(Vec<Outcomes>),
}

impl ClassifyRun {
    /// `seed` and `repeat` name the random folds of cross-validation.
    pub(super) fn new(
        data: LabelledVectors,
        split: &NodeSplit,
        c: InverseL2,
        (seed, repeat): (u64, u64),
    ) -> Result<Self> {
        let chosen = match c {
            InverseL2::Auto => choose_c(data, &split.train, seed, repeat)?,
            InverseL2::Value(c) => Some(c),
        };
        let c = chosen.unwrap_or(InverseL2::DEFAULT);
        // As with a given C, so that `auto` has the same scores as the C it chooses.
        let model = Model::train(data, &split.train, Training::new(c))?;
        let (test, outcomes) = score(&model, data, &split.test);
        let val = (!split.val.is_empty()).then(|| score(&model, data, &split.val).0);
        Ok(Self { c, too_few: chosen.is_none(), val, test, outcomes })
    }
}

fn score(model: &Model, data: LabelledVectors, rows: &[Node]) -> (RunScores, TestOutcomes) {
    let scores = model.scores(data, rows);
    let decisions = model.decisions(data, rows, &scores);
    let top_k = data.multi_label.then(|| data.label_outcomes(rows, &scores, top_k));
    let accuracy = decisions.accuracy();
    let scores = RunScores {
        f1_macro: decisions.f1_macro(),
        f1_micro: accuracy,
        accuracy,
        top_k: top_k.as_deref().map(|labels| (f1_macro(labels), f1_micro(labels))),
    };
    (scores, top_k.map_or(TestOutcomes::Classes(decisions), TestOutcomes::Labels))
}

/// The k labels with the highest scores, in increasing order.
fn top_k(scores: &[f64], k: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..scores.len() as u32).collect();
    // The sort is stable: ties keep the order of labels.
    order.sort_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]));
    order.truncate(k);
    order.sort_unstable();
    order
}
