//! The classifier of nodes: training on some nodes, decisions about others.

use super::super::decisions::{Confusion, Outcomes, label_outcomes, ravel};
use super::super::logistic::{Examples, Logistic, Training};
use crate::embedding::Embedding;
use crate::error::{Error, Problem, Result};
use crate::graph::{Labels, Node};

/// Vectors and labels by row.
#[derive(Clone, Copy)]
pub(super) struct LabelledVectors<'a> {
    pub(super) embedding: &'a Embedding,
    pub(super) labels: &'a Labels,
    /// Whether some node has several labels.
    pub(super) multi_label: bool,
}

/// A trained classifier.
pub(super) struct Model {
    pub(super) logistic: Logistic,
    /// One class per node: those in the training set, in increasing order.
    classes: Vec<u32>,
}

impl Model {
    /// Trains on the nodes `rows`.
    pub(super) fn train(data: LabelledVectors, rows: &[Node], training: Training) -> Result<Self> {
        let examples = data.examples(rows);
        if data.multi_label {
            let of: Vec<&[u32]> = data.labels_of(rows).collect();
            let logistic = Logistic::labels(&examples, &of, data.labels.names.len(), training);
            return Ok(Self { logistic, classes: Vec::new() });
        }
        let of: Vec<u32> = data.labels_of(rows).map(|of| of[0]).collect();
        let mut classes = of.clone();
        classes.sort_unstable();
        classes.dedup();
        let column = |class: &u32| classes.partition_point(|other| other < class) as u32;
        let columns: Vec<u32> = of.iter().map(column).collect();
        let logistic = match classes.len() {
            0 | 1 => {
                let problem = Problem::from(format!(
                    "all {} training nodes have class '{}', and a classifier needs at least two \
                     classes",
                    rows.len(),
                    data.labels.names[classes[0] as usize]
                ));
                return Err(Error::conflict(problem.act("train on more nodes").give("stratified")));
            }
            // Two classes are one binary decision.
            2 => {
                let second: Vec<&[u32]> = columns
                    .iter()
                    .map(|&column| if column == 1 { &[0][..] } else { &[] })
                    .collect();
                Logistic::labels(&examples, &second, 1, training)
            }
            count => Logistic::softmax(&examples, &columns, count, training),
        };
        Ok(Self { logistic, classes })
    }

    /// The scores of the nodes `rows`, one row of the result per node.
    pub(super) fn scores(&self, data: LabelledVectors, rows: &[Node]) -> Vec<f64> {
        self.logistic.scores(&data.examples(rows))
    }

    /// All decisions that these scores imply: true and predicted class of each node, or with several
    /// labels per node, whether it has each label.
    pub(super) fn decisions(
        &self,
        data: LabelledVectors,
        rows: &[Node],
        scores: &[f64],
    ) -> Confusion {
        if data.multi_label {
            let outcomes = data.label_outcomes(rows, scores, |scores, _| {
                let above_half = (0..).zip(scores).filter(|(_, score)| **score > 0.0);
                above_half.map(|(label, _)| label).collect()
            });
            return ravel(&outcomes, rows.len());
        }
        let columns = scores.len() / rows.len().max(1);
        let mut confusion = Confusion::new(data.labels.names.len());
        for (truth, scores) in data.labels_of(rows).zip(scores.chunks(columns.max(1))) {
            let best = match scores {
                [score] => usize::from(*score > 0.0),
                // Ties go to the first class.
                scores => (1..columns)
                    .fold(0, |best, at| if scores[at] > scores[best] { at } else { best }),
            };
            confusion.add(truth[0], self.classes[best]);
        }
        confusion
    }
}

impl<'a> LabelledVectors<'a> {
    /// Several labels per node: the outcomes of every label, where `decide` returns the labels of a
    /// node in increasing order from its scores and its true number of labels.
    pub(super) fn label_outcomes(
        self,
        rows: &[Node],
        scores: &[f64],
        decide: impl Fn(&[f64], usize) -> Vec<u32>,
    ) -> Vec<Outcomes> {
        let columns = self.labels.names.len();
        let decided: Vec<Vec<u32>> = self
            .labels_of(rows)
            .zip(scores.chunks(columns))
            .map(|(truth, scores)| decide(scores, truth.len()))
            .collect();
        label_outcomes(columns, self.labels_of(rows).zip(decided.iter().map(Vec::as_slice)))
    }

    fn labels_of<'b>(self, rows: &'b [Node]) -> impl Iterator<Item = &'a [u32]> + use<'a, 'b> {
        rows.iter().map(move |&row| self.labels.of[row as usize].as_slice())
    }

    fn examples<'b>(
        self,
        rows: &'b [Node],
    ) -> Examples<impl Fn(usize, &mut [f32]) + Sync + use<'a, 'b>> {
        let fill = move |example: usize, out: &mut [f32]| {
            out.copy_from_slice(self.embedding.vector(rows[example]));
        };
        Examples { count: rows.len(), dim: self.embedding.dim(), fill }
    }
}
