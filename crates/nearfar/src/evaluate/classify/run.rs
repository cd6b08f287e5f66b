//! One run of node classification: train, predict, score.

use super::super::decisions::{Confusion, Outcomes, f1_macro, f1_micro, label_outcomes, ravel};
use super::super::logistic::{Examples, Logistic};
use super::split::NodeSplit;
use crate::embedding::Embedding;
use crate::error::{Error, Problem, Result};
use crate::graph::{Labels, Node};

/// The scores of one run.
pub(super) struct ClassifyRun {
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
    pub(super) fn new(
        embedding: &Embedding,
        labels: &Labels,
        split: &NodeSplit,
        c: f64,
        multi_label: bool,
    ) -> Result<Self> {
        let model = if multi_label {
            Model::several_labels(embedding, labels, &split.train, c)
        } else {
            Model::one_class(embedding, labels, &split.train, c)?
        };
        let score = |rows: &[Node]| model.score(embedding, labels, rows);
        let (test, outcomes) = score(&split.test);
        let val = (!split.val.is_empty()).then(|| score(&split.val).0);
        Ok(Self { val, test, outcomes })
    }
}

/// A trained classifier.
enum Model {
    /// One class per node. `classes` are those in the training set, in increasing order.
    OneClass { classes: Vec<u32>, model: Logistic },
    /// Several labels per node.
    SeveralLabels(Logistic),
}

impl Model {
    fn several_labels(embedding: &Embedding, labels: &Labels, rows: &[Node], c: f64) -> Self {
        let of: Vec<&[u32]> = labels_of(labels, rows).collect();
        let columns = labels.names.len();
        Self::SeveralLabels(Logistic::labels(&examples(embedding, rows), &of, columns, c))
    }

    fn one_class(embedding: &Embedding, labels: &Labels, rows: &[Node], c: f64) -> Result<Self> {
        let of: Vec<u32> = labels_of(labels, rows).map(|of| of[0]).collect();
        let mut classes = of.clone();
        classes.sort_unstable();
        classes.dedup();
        let column = |class: &u32| classes.partition_point(|other| other < class) as u32;
        let columns: Vec<u32> = of.iter().map(column).collect();
        let examples = examples(embedding, rows);
        let model = match classes.len() {
            0 | 1 => {
                let problem = Problem::from(format!(
                    "all {} training nodes have class '{}', and a classifier needs at least two \
                     classes",
                    rows.len(),
                    labels.names[classes[0] as usize]
                ));
                return Err(Error::conflict(problem.act("train on more nodes").give("stratified")));
            }
            // Two classes are one binary decision.
            2 => {
                let second: Vec<&[u32]> = columns
                    .iter()
                    .map(|&column| if column == 1 { &[0][..] } else { &[] })
                    .collect();
                Logistic::labels(&examples, &second, 1, c)
            }
            count => Logistic::softmax(&examples, &columns, count, c),
        };
        Ok(Self::OneClass { classes, model })
    }

    fn score(
        &self,
        embedding: &Embedding,
        labels: &Labels,
        rows: &[Node],
    ) -> (RunScores, TestOutcomes) {
        let examples = examples(embedding, rows);
        match self {
            Self::OneClass { classes, model } => {
                score_classes(&model.scores(&examples), classes, labels, rows)
            }
            Self::SeveralLabels(model) => score_labels(&model.scores(&examples), labels, rows),
        }
    }
}

fn score_classes(
    scores: &[f64],
    classes: &[u32],
    labels: &Labels,
    rows: &[Node],
) -> (RunScores, TestOutcomes) {
    let columns = scores.len() / rows.len().max(1);
    let mut confusion = Confusion::new(labels.names.len());
    for (truth, scores) in labels_of(labels, rows).zip(scores.chunks(columns.max(1))) {
        let best = match scores {
            [score] => usize::from(*score > 0.0),
            // Ties go to the first class.
            scores => {
                (1..columns).fold(0, |best, at| if scores[at] > scores[best] { at } else { best })
            }
        };
        confusion.add(truth[0], classes[best]);
    }
    let accuracy = confusion.accuracy();
    let scores =
        RunScores { f1_macro: confusion.f1_macro(), f1_micro: accuracy, accuracy, top_k: None };
    (scores, TestOutcomes::Classes(confusion))
}

fn score_labels(scores: &[f64], labels: &Labels, rows: &[Node]) -> (RunScores, TestOutcomes) {
    let columns = labels.names.len();
    let above_half = |scores: &[f64]| -> Vec<u32> {
        (0..).zip(scores).filter(|(_, score)| **score > 0.0).map(|(label, _)| label).collect()
    };
    let top_k = |scores: &[f64], k: usize| -> Vec<u32> {
        let mut order: Vec<u32> = (0..columns as u32).collect();
        // The sort is stable: ties keep the order of labels.
        order.sort_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]));
        order.truncate(k);
        order.sort_unstable();
        order
    };
    let outcomes = |decide: &dyn Fn(&[f64], usize) -> Vec<u32>| {
        let truths = labels_of(labels, rows);
        let decided: Vec<Vec<u32>> = truths
            .clone()
            .zip(scores.chunks(columns))
            .map(|(truth, scores)| decide(scores, truth.len()))
            .collect();
        label_outcomes(columns, truths.zip(decided.iter().map(Vec::as_slice)))
    };
    let ravelled = ravel(&outcomes(&|scores, _| above_half(scores)), rows.len());
    let top_k = outcomes(&top_k);
    let accuracy = ravelled.accuracy();
    let scores = RunScores {
        f1_macro: ravelled.f1_macro(),
        f1_micro: accuracy,
        accuracy,
        top_k: Some((f1_macro(&top_k), f1_micro(&top_k))),
    };
    (scores, TestOutcomes::Labels(top_k))
}

fn labels_of<'a>(labels: &'a Labels, rows: &'a [Node]) -> impl Iterator<Item = &'a [u32]> + Clone {
    rows.iter().map(|&row| labels.of[row as usize].as_slice())
}

fn examples<'a>(
    embedding: &'a Embedding,
    rows: &'a [Node],
) -> Examples<impl Fn(usize, &mut [f32]) + Sync + 'a> {
    let fill = |example: usize, out: &mut [f32]| {
        out.copy_from_slice(embedding.vector(rows[example]));
    };
    Examples { count: rows.len(), dim: embedding.dim(), fill }
}
