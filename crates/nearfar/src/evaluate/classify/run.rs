//! One run: train, predict, score.

use super::super::decisions::{Confusion, Outcomes, f1_macro, f1_micro, label_outcomes, ravel};
use super::super::logistic::{Examples, Logistic};
use super::split::Parts;
use crate::embedding::Embedding;
use crate::error::{Error, Result};
use crate::graph::{Labels, Node};

/// What came out of one run.
pub(super) struct Run {
    pub(super) val: Option<Scores>,
    pub(super) test: Scores,
    /// The decisions on test.
    pub(super) tally: Tally,
}

/// The scores of one part.
pub(super) struct Scores {
    pub(super) f1_macro: f64,
    pub(super) f1_micro: f64,
    pub(super) accuracy: f64,
    /// Several labels: F1-macro and F1-micro with as many labels as each node has.
    pub(super) top_k: Option<(f64, f64)>,
}

/// The decisions that per-class tables are made of.
pub(super) enum Tally {
    /// One class a node.
    Classes(Confusion),
    /// Several labels a node, as many predicted as it has.
    Labels(Vec<Outcomes>),
}

impl Run {
    pub(super) fn new(
        embedding: &Embedding,
        labels: &Labels,
        parts: &Parts,
        c: f64,
        multi_label: bool,
    ) -> Result<Self> {
        let model = if multi_label {
            Model::several_labels(embedding, labels, &parts.train, c)
        } else {
            Model::one_class(embedding, labels, &parts.train, c)?
        };
        let score = |rows: &[Node]| model.score(embedding, labels, rows);
        let (test, tally) = score(&parts.test);
        let val = (!parts.val.is_empty()).then(|| score(&parts.val).0);
        Ok(Self { val, test, tally })
    }
}

/// A trained classifier.
enum Model {
    /// Where a node has one class. The classes are those among the examples, increasing.
    OneClass { classes: Vec<u32>, model: Logistic },
    /// Where it may have several labels.
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
                return Err(Error::Option(format!(
                    "the train part ({} nodes) has only class '{}': there is nothing to tell \
                     apart; train on more nodes, or use --stratified",
                    rows.len(),
                    labels.names[classes[0] as usize]
                )));
            }
            // Two classes are one question.
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

    fn score(&self, embedding: &Embedding, labels: &Labels, rows: &[Node]) -> (Scores, Tally) {
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
) -> (Scores, Tally) {
    let columns = scores.len() / rows.len().max(1);
    let mut confusion = Confusion::new(labels.names.len());
    for (truth, scores) in labels_of(labels, rows).zip(scores.chunks(columns.max(1))) {
        let best = match scores {
            [score] => usize::from(*score > 0.0),
            // The first one of equal ones.
            scores => {
                (1..columns).fold(0, |best, at| if scores[at] > scores[best] { at } else { best })
            }
        };
        confusion.add(truth[0], classes[best]);
    }
    let accuracy = confusion.accuracy();
    let scores =
        Scores { f1_macro: confusion.f1_macro(), f1_micro: accuracy, accuracy, top_k: None };
    (scores, Tally::Classes(confusion))
}

fn score_labels(scores: &[f64], labels: &Labels, rows: &[Node]) -> (Scores, Tally) {
    let columns = labels.names.len();
    let likely = |scores: &[f64]| -> Vec<u32> {
        (0..).zip(scores).filter(|(_, score)| **score > 0.0).map(|(label, _)| label).collect()
    };
    let best = |scores: &[f64], count: usize| -> Vec<u32> {
        let mut order: Vec<u32> = (0..columns as u32).collect();
        // The sort keeps the order of equal ones.
        order.sort_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]));
        order.truncate(count);
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
    let ravelled = ravel(&outcomes(&|scores, _| likely(scores)), rows.len());
    let top_k = outcomes(&best);
    let accuracy = ravelled.accuracy();
    let scores = Scores {
        f1_macro: ravelled.f1_macro(),
        f1_micro: accuracy,
        accuracy,
        top_k: Some((f1_macro(&top_k), f1_micro(&top_k))),
    };
    (scores, Tally::Labels(top_k))
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
