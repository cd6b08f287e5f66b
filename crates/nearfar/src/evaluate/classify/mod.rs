//! Node classification: a linear classifier learns the labels of some nodes from their vectors,
//! and is scored on others.

mod input;
mod run;
mod split;

use rayon::prelude::*;

use super::MeanStd;
use super::decisions::Outcomes;
use crate::embedding::Embedding;
use crate::error::{Error, Result};
use crate::graph::{Labels, Splits};
pub use input::{read_labels, read_splits, splits_in};
use run::{Run, Scores, Tally};
use split::Parts;

/// How nodes are classified.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct ClassifyConfig {
    /// Share of the labelled nodes to train on; the others are for testing [default: 0.1]
    #[cfg_attr(feature = "clap", arg(long, value_name = "R"))]
    pub train_ratio: Option<f64>,
    /// Random divisions into train and test
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = Self::default().repeats))]
    pub repeats: usize,
    /// Take the same share of every class to train on
    #[cfg_attr(feature = "clap", arg(long))]
    pub stratified: bool,
    /// How much the classifier trusts its examples: the inverse of the pull to zero
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().c))]
    pub c: f64,
    /// Seed of the random divisions
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().seed))]
    pub seed: u64,
    /// Also show precision, recall and F1 of every class, of all runs together
    #[cfg_attr(feature = "clap", arg(long))]
    pub per_class: bool,
    /// Also show how often each class was taken for which, of all runs together
    #[cfg_attr(feature = "clap", arg(long))]
    pub confusion: bool,
}

impl Default for ClassifyConfig {
    fn default() -> Self {
        Self {
            train_ratio: None,
            repeats: 10,
            stratified: false,
            c: 1.0,
            seed: 0,
            per_class: false,
            confusion: false,
        }
    }
}

/// How well nodes could be classified.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Classification {
    /// Nodes with a vector.
    pub nodes: usize,
    /// Numbers in a vector.
    pub dim: usize,
    /// Different labels.
    pub classes: usize,
    /// Whether a node may have several.
    pub multi_label: bool,
    /// Where the parts come from.
    pub protocol: SplitMethod,
    /// The classifier's trust in its examples.
    pub c: f64,
    /// Nodes to train on, in one run.
    pub train: usize,
    /// The scores on test.
    #[serde(flatten)]
    pub test: Part,
    /// The scores on validation, where there is such a part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub val: Option<Part>,
    /// Every class of the test parts, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_class: Option<Vec<ClassScores>>,
    /// Which class was taken for which in the test parts, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confusion: Option<ConfusionTable>,
}

/// Where train and test parts come from.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "splits", rename_all = "snake_case")]
pub enum SplitMethod {
    /// From a file.
    Fixed,
    /// By chance.
    Random {
        /// The share of nodes to train on.
        train_ratio: f64,
        /// How many times.
        repeats: usize,
        /// Whether every class has its share.
        stratified: bool,
        /// The seed.
        seed: u64,
    },
}

/// The scores on one part of the nodes. Where nodes have several labels, the first three are
/// over all yes-or-no decisions in one list, as in `ravelled`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Part {
    /// Nodes in it, in one run.
    #[serde(rename = "scored")]
    pub nodes: usize,
    /// The mean of F1 over classes.
    pub f1_macro: MeanStd,
    /// F1 of all classes together.
    pub f1_micro: MeanStd,
    /// The share of right decisions.
    pub accuracy: MeanStd,
    /// Several labels: the paper's way, all yes-or-no decisions in one list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ravelled: Option<F1>,
    /// Several labels: the usual way, the most probable labels, as many as the node has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<F1>,
}

/// F1 in both means.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct F1 {
    /// The mean of F1 over classes.
    pub f1_macro: MeanStd,
    /// F1 of all classes together.
    pub f1_micro: MeanStd,
}

/// The scores of one class, of all runs together.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ClassScores {
    /// The label.
    pub label: String,
    /// The share of what was given to the class that belongs to it.
    pub precision: f64,
    /// The share of what belongs to the class that was given to it.
    pub recall: f64,
    /// The harmonic mean of the two.
    pub f1: f64,
    /// Nodes that belong to it.
    pub support: u64,
}

/// Which class was taken for which, of all runs together.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ConfusionTable {
    /// The labels of rows and columns.
    pub labels: Vec<String>,
    /// For every true class, how many of its nodes were given to each.
    pub counts: Vec<Vec<u64>>,
}

/// Trains a logistic regression on the vectors of some nodes and scores it on others: those that
/// `splits` say, or else random ones, several times.
///
/// ```
/// use nearfar::embedding::Embedding;
/// use nearfar::evaluate::{ClassifyConfig, classify};
/// use nearfar::graph::{Labels, NodeIds};
/// let names = NodeIds::Range { start: 0, len: 40 };
/// let embedding = Embedding::new(names, 1, (0..40).map(|row| (row % 2) as f32).collect())?;
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
        let message = "nodes have several labels: none is taken for another; ask for --per-class";
        return Err(Error::conflict(message.to_owned()));
    }
    let (protocol, parts) = match splits {
        Some(splits) => {
            (SplitMethod::Fixed, vec![Parts::fixed(embedding, labels, splits, multi_label)?])
        }
        None => random(embedding, labels, config, multi_label)?,
    };
    let runs: Vec<Result<Run>> = parts
        .par_iter()
        .map(|parts| Run::new(embedding, labels, parts, config.c, multi_label))
        .collect();
    // The first failure counts, not the fastest.
    let runs = runs.into_iter().collect::<Result<Vec<Run>>>()?;
    let test: Vec<&Scores> = runs.iter().map(|run| &run.test).collect();
    let val: Vec<&Scores> = runs.iter().filter_map(|run| run.val.as_ref()).collect();
    Ok(Classification {
        nodes: embedding.nodes(),
        dim: embedding.dim(),
        classes: labels.classes(),
        multi_label,
        protocol,
        c: config.c,
        train: parts[0].train.len(),
        test: Part::of(&test, parts[0].test.len()),
        val: (!val.is_empty()).then(|| Part::of(&val, parts[0].val.len())),
        per_class: config.per_class.then(|| per_class(labels, &runs)),
        confusion: if config.confusion { confusion(labels, &runs) } else { None },
    })
}

impl ClassifyConfig {
    /// Checks what can be checked without vectors.
    pub fn validate(&self) -> Result<()> {
        let refuse = |message: String| Err(Error::conflict(message));
        match *self {
            Self { train_ratio: Some(ratio), .. } if !(ratio > 0.0 && ratio < 1.0) => {
                refuse(format!("train-ratio is {ratio}; it takes a share between 0 and 1"))
            }
            Self { repeats: 0, .. } => refuse("repeats is 0; it takes at least 1".to_owned()),
            Self { c, .. } if !(c.is_finite() && c > 0.0) => {
                refuse(format!("c is {c}; it takes a number above 0"))
            }
            _ => Ok(()),
        }
    }
}

fn random(
    embedding: &Embedding,
    labels: &Labels,
    config: &ClassifyConfig,
    multi_label: bool,
) -> Result<(SplitMethod, Vec<Parts>)> {
    let &ClassifyConfig { repeats, stratified, seed, .. } = config;
    let train_ratio = config.train_ratio.unwrap_or(0.1);
    if multi_label && stratified {
        let message = "nodes have several labels: no division gives each label its share; leave \
                       --stratified out";
        return Err(Error::conflict(message.to_owned()));
    }
    input::check_members(embedding, labels)?;
    let parts = (0..repeats as u64)
        .map(|repeat| Parts::random(labels, train_ratio, stratified, seed, repeat))
        .collect::<Result<_>>()?;
    Ok((SplitMethod::Random { train_ratio, repeats, stratified, seed }, parts))
}

impl Part {
    fn of(runs: &[&Scores], nodes: usize) -> Self {
        let over =
            |score: fn(&Scores) -> f64| -> MeanStd { runs.iter().map(|run| score(run)).collect() };
        let several = runs.iter().all(|run| run.top_k.is_some());
        let top_k = |score: fn((f64, f64)) -> f64| -> MeanStd {
            runs.iter().filter_map(|run| run.top_k).map(score).collect()
        };
        let (f1_macro, f1_micro) = (over(|run| run.f1_macro), over(|run| run.f1_micro));
        Self {
            nodes,
            ravelled: several
                .then(|| F1 { f1_macro: f1_macro.clone(), f1_micro: f1_micro.clone() }),
            top_k: several
                .then(|| F1 { f1_macro: top_k(|both| both.0), f1_micro: top_k(|both| both.1) }),
            f1_macro,
            f1_micro,
            accuracy: over(|run| run.accuracy),
        }
    }
}

fn per_class(labels: &Labels, runs: &[Run]) -> Vec<ClassScores> {
    let mut all = vec![Outcomes::default(); labels.names.len()];
    for run in runs {
        let outcomes = match &run.tally {
            Tally::Classes(confusion) => &confusion.outcomes(),
            Tally::Labels(outcomes) => outcomes,
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

fn confusion(labels: &Labels, runs: &[Run]) -> Option<ConfusionTable> {
    let mut tables = runs.iter().filter_map(|run| match &run.tally {
        Tally::Classes(confusion) => Some(confusion.clone()),
        Tally::Labels(_) => None,
    });
    let mut all = tables.next()?;
    for table in tables {
        all.merge(&table);
    }
    let counts = all.rows().map(<[u64]>::to_vec).collect();
    Some(ConfusionTable { labels: labels.names.clone(), counts })
}
