//! Node classification: logistic regression is trained on the vectors and labels of some nodes and
//! scored on others.

mod cross_validation;
mod input;
mod inverse_l2;
mod model;
mod notes;
mod run;
mod split;

use rayon::prelude::*;

use super::MeanStd;
use super::decisions::Outcomes;
use crate::embedding::Embedding;
use crate::error::{Error, Problem, Result};
use crate::graph::{Labels, Splits};
pub use input::{read_labels, read_splits, splits_in};
pub use inverse_l2::InverseL2;
use model::LabelledVectors;
use run::{ClassifyRun, RunScores, TestOutcomes};
use split::NodeSplit;

/// Settings of node classification.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args), command(next_help_heading = "Evaluation"))]
pub struct ClassifyConfig {
    /// Fraction of the labelled nodes to train on; the others are tested [default: 0.1]
    #[cfg_attr(feature = "clap", arg(long, value_name = "R"))]
    pub train_ratio: Option<f64>,
    /// Number of random train/test splits
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = Self::default().repeats))]
    pub repeats: usize,
    /// Train on the same fraction of every class
    #[cfg_attr(feature = "clap", arg(long))]
    pub stratified: bool,
    /// Inverse L2 strength (scikit-learn's `C`): a number, or `auto`, which chooses 0.01, 0.1, … or
    /// 1000 by cross-validation on the training nodes of each run
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().c))]
    pub c: InverseL2,
    /// Seed of the random splits and of cross-validation
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().seed))]
    pub seed: u64,
    /// Also report precision, recall and F1 of every class, summed over all runs
    #[cfg_attr(feature = "clap", arg(long))]
    pub per_class: bool,
    /// Also report the confusion matrix, summed over all runs
    #[cfg_attr(feature = "clap", arg(long))]
    pub confusion: bool,
}

impl Default for ClassifyConfig {
    fn default() -> Self {
        Self {
            train_ratio: None,
            repeats: 10,
            stratified: false,
            c: InverseL2::default(),
            seed: 0,
            per_class: false,
            confusion: false,
        }
    }
}

/// The result of node classification.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Classification {
    /// Nodes with a vector.
    pub nodes: usize,
    /// Dimensions of a vector.
    pub dim: usize,
    /// Number of different labels.
    pub classes: usize,
    /// Whether some node has several labels.
    pub multi_label: bool,
    /// How nodes were split.
    pub protocol: SplitMethod,
    /// Inverse L2 strength of the classifier, as in the settings.
    pub c: InverseL2,
    /// With `auto`, the C that was chosen in every run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen_c: Option<Vec<f64>>,
    /// Training nodes of one run.
    pub train: usize,
    /// Scores on test.
    #[serde(flatten)]
    pub test: SplitScores,
    /// Scores on validation, if the splits have such nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub val: Option<SplitScores>,
    /// Scores of every class on test, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_class: Option<Vec<ClassScores>>,
    /// Confusion matrix on test, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confusion: Option<ConfusionTable>,
    /// Classes that cannot be predicted or tested, and why; empty in most cases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How nodes are split into train, validation and test.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "splits", rename_all = "snake_case")]
pub enum SplitMethod {
    /// Splits given by the caller.
    Fixed,
    /// Random train/test splits.
    Random {
        /// Fraction of the labelled nodes to train on.
        train_ratio: f64,
        /// Number of splits.
        repeats: usize,
        /// Whether the fraction holds for every class.
        stratified: bool,
        /// The seed.
        seed: u64,
    },
}

/// The scores on one split of the nodes. Where nodes have several labels, `f1_macro`, `f1_micro` and
/// `accuracy` are over all binary decisions, as in `ravelled`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SplitScores {
    /// Nodes scored in one run.
    #[serde(rename = "scored")]
    pub nodes: usize,
    /// Unweighted mean of F1 over classes.
    pub f1_macro: MeanStd,
    /// F1 of the counts summed over classes.
    pub f1_micro: MeanStd,
    /// Fraction of correct decisions.
    pub accuracy: MeanStd,
    /// Several labels per node: F1 over all binary decisions (node, label), as in the paper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ravelled: Option<F1>,
    /// Several labels per node: F1 of the k most probable labels, where k is the node's number of
    /// labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<F1>,
}

/// F1-macro and F1-micro.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct F1 {
    /// Unweighted mean of F1 over classes.
    pub f1_macro: MeanStd,
    /// F1 of the counts summed over classes.
    pub f1_micro: MeanStd,
}

/// The scores of one class, summed over all runs.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ClassScores {
    /// The label.
    pub label: String,
    /// TP / (TP + FP).
    pub precision: f64,
    /// TP / (TP + FN).
    pub recall: f64,
    /// Harmonic mean of precision and recall.
    pub f1: f64,
    /// Test nodes with this label.
    pub support: u64,
}

/// Confusion matrix, summed over all runs.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ConfusionTable {
    /// The labels of rows and columns.
    pub labels: Vec<String>,
    /// Counts by true class (row) and predicted class (column).
    pub counts: Vec<Vec<u64>>,
}

/// Trains logistic regression on the vectors of some nodes and scores it on others: as `splits` say,
/// or on `config.repeats` random splits.
///
/// ```
/// use nearfar::embedding::Embedding;
/// use nearfar::evaluate::{ClassifyConfig, classify};
/// use nearfar::graph::{Labels, NodeIds};
/// let ids = NodeIds::Range { start: 0, len: 40 };
/// let embedding = Embedding::new(ids, 1, (0..40).map(|row| (row % 2) as f32).collect())?;
/// let labels =
///     Labels { names: vec!["even".into(), "odd".into()], of: (0..40).map(|row| vec![row % 2]).collect() };
/// let config = ClassifyConfig { train_ratio: Some(0.5), ..Default::default() };
/// let scores = classify(&embedding, &labels, None, &config)?.test;
/// assert_eq!(scores.f1_macro.runs, [1.0; 10]);
/// # Ok::<(), nearfar::Error>(())
/// ```
pub fn classify(
    embedding: &Embedding,
    labels: &Labels,
    splits: Option<&Splits>,
    config: &ClassifyConfig,
) -> Result<Classification> {
    config.validate()?;
    input::check(embedding, labels, splits)?;
    let multi_label = labels.of.iter().any(|labels| labels.len() > 1);
    if multi_label && config.confusion {
        let problem = "a confusion matrix needs one label per node, and some nodes have several";
        return Err(Error::conflict(Problem::from(problem).omit("confusion")));
    }
    let (protocol, splits) = match splits {
        Some(splits) => {
            (SplitMethod::Fixed, vec![NodeSplit::fixed(embedding, labels, splits, multi_label)?])
        }
        None => random_splits(labels, config, multi_label)?,
    };
    let data = LabelledVectors { embedding, labels, multi_label };
    let runs: Vec<Result<ClassifyRun>> = splits
        .par_iter()
        .enumerate()
        .map(|(run, split)| ClassifyRun::new(data, split, config.c, (config.seed, run as u64)))
        .collect();
    // Report the error of the first run, whichever thread failed first.
    let runs = runs.into_iter().collect::<Result<Vec<ClassifyRun>>>()?;
    let test: Vec<&RunScores> = runs.iter().map(|run| &run.test).collect();
    let val: Vec<&RunScores> = runs.iter().filter_map(|run| run.val.as_ref()).collect();
    Ok(Classification {
        nodes: embedding.nodes(),
        dim: embedding.dim(),
        classes: labels.classes(),
        multi_label,
        c: config.c,
        chosen_c: (config.c == InverseL2::Auto).then(|| runs.iter().map(|run| run.c).collect()),
        train: splits[0].train.len(),
        test: SplitScores::of(&test, splits[0].test.len()),
        val: (!val.is_empty()).then(|| SplitScores::of(&val, splits[0].val.len())),
        per_class: config.per_class.then(|| per_class(labels, &runs)),
        confusion: if config.confusion { confusion(labels, &runs) } else { None },
        notes: notes::notes(data, &splits, &runs, &protocol),
        protocol,
    })
}

impl ClassifyConfig {
    /// Checks the ranges of the settings.
    pub fn validate(&self) -> Result<()> {
        if let Some(expected) = self.c.problem() {
            return Err(Error::option("c", self.c, expected));
        }
        match *self {
            Self { train_ratio: Some(ratio), .. } if !(ratio > 0.0 && ratio < 1.0) => {
                Err(Error::option("train-ratio", ratio, "expected a fraction between 0 and 1"))
            }
            Self { repeats: 0, .. } => Err(Error::option("repeats", 0, "expected at least 1")),
            _ => Ok(()),
        }
    }
}

fn random_splits(
    labels: &Labels,
    config: &ClassifyConfig,
    multi_label: bool,
) -> Result<(SplitMethod, Vec<NodeSplit>)> {
    let &ClassifyConfig { repeats, stratified, seed, .. } = config;
    let train_ratio = config.train_ratio.unwrap_or(0.1);
    if multi_label && stratified {
        let problem = "stratified splits need one label per node, and some nodes have several";
        return Err(Error::conflict(Problem::from(problem).omit("stratified")));
    }
    if labels.of.iter().all(Vec::is_empty) {
        return Err(Error::conflict("no node has a label; give a file with labels"));
    }
    let splits = (0..repeats as u64)
        .map(|repeat| NodeSplit::random(labels, train_ratio, stratified, seed, repeat))
        .collect::<Result<_>>()?;
    Ok((SplitMethod::Random { train_ratio, repeats, stratified, seed }, splits))
}

impl SplitScores {
    fn of(runs: &[&RunScores], nodes: usize) -> Self {
        let over = |score: fn(&RunScores) -> f64| -> MeanStd {
            runs.iter().map(|run| score(run)).collect()
        };
        let multi_label = runs.iter().all(|run| run.top_k.is_some());
        let top_k = |score: fn((f64, f64)) -> f64| -> MeanStd {
            runs.iter().filter_map(|run| run.top_k).map(score).collect()
        };
        let (f1_macro, f1_micro) = (over(|run| run.f1_macro), over(|run| run.f1_micro));
        Self {
            nodes,
            ravelled: multi_label
                .then(|| F1 { f1_macro: f1_macro.clone(), f1_micro: f1_micro.clone() }),
            top_k: multi_label
                .then(|| F1 { f1_macro: top_k(|both| both.0), f1_micro: top_k(|both| both.1) }),
            f1_macro,
            f1_micro,
            accuracy: over(|run| run.accuracy),
        }
    }
}

fn per_class(labels: &Labels, runs: &[ClassifyRun]) -> Vec<ClassScores> {
    let mut all = vec![Outcomes::default(); labels.names.len()];
    for run in runs {
        let outcomes = match &run.outcomes {
            TestOutcomes::Classes(confusion) => &confusion.outcomes(),
            TestOutcomes::Labels(outcomes) => outcomes,
        };
        for (all, one) in all.iter_mut().zip(outcomes) {
            all.merge(one);
        }
    }
    let scored = labels.names.iter().zip(all).map(|(label, outcomes)| ClassScores {
        label: label.clone(),
        precision: outcomes.precision(),
        recall: outcomes.recall(),
        f1: outcomes.f1(),
        support: outcomes.support(),
    });
    scored.collect()
}

fn confusion(labels: &Labels, runs: &[ClassifyRun]) -> Option<ConfusionTable> {
    let mut tables = runs.iter().filter_map(|run| match &run.outcomes {
        TestOutcomes::Classes(confusion) => Some(confusion.clone()),
        TestOutcomes::Labels(_) => None,
    });
    let mut all = tables.next()?;
    for table in tables {
        all.merge(&table);
    }
    let counts = all.rows().map(<[u64]>::to_vec).collect();
    Some(ConfusionTable { labels: labels.names.clone(), counts })
}
