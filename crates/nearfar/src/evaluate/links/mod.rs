//! Link prediction: some edges are held out, vectors are trained on the rest, and the held-out
//! edges should score higher than pairs without an edge.

mod hold_out;
mod operator;

use std::sync::Arc;

pub use hold_out::{HeldOut, hold_out};
pub use operator::Operator;

use super::MeanStd;
use super::logistic::{Examples, Logistic};
use super::ranking::{average_precision, hits_at, mean_reciprocal_rank, roc_auc};
use crate::embedding::Embedding;
use crate::error::{Error, Result};
use crate::graph::{Graph, Node};

/// How links are predicted.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct LinksConfig {
    /// Share of the edges to hold out
    #[cfg_attr(feature = "clap", arg(long, value_name = "R", default_value_t = Self::default().test_ratio))]
    pub test_ratio: f64,
    /// Hold out no edge without which its ends have no path
    #[cfg_attr(feature = "clap", arg(
        long,
        value_name = "true|false",
        default_value_t = Self::default().keep_connected,
        action = clap::ArgAction::Set
    ))]
    pub keep_connected: bool,
    /// How many times, each with a seed of its own
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = Self::default().seeds))]
    pub seeds: usize,
    /// How much the classifiers of the edge operators trust their examples
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().c))]
    pub c: f64,
}

impl Default for LinksConfig {
    fn default() -> Self {
        Self { test_ratio: 0.1, keep_connected: true, seeds: 3, c: 1.0 }
    }
}

/// How well links could be predicted.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LinkScores {
    /// Nodes of the graph.
    pub nodes: usize,
    /// Edges of the graph.
    pub edges: usize,
    /// Edges that should have been held out.
    pub asked: usize,
    /// Edges that were, in one run: fewer if the rest had to stay connected.
    pub held_out: usize,
    /// Whether the rest stayed connected.
    pub keep_connected: bool,
    /// The scores of the dot product, which nothing is trained for.
    #[serde(flatten)]
    pub dot: Ranking,
    /// The scores of a classifier, by what it sees of two vectors.
    pub operators: Operators,
}

/// The scores of one way to rank pairs.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Ranking {
    /// The area under the ROC curve.
    pub auc: MeanStd,
    /// Average precision.
    pub average_precision: MeanStd,
    /// Mean reciprocal rank.
    pub mrr: MeanStd,
    /// The share of held-out edges above all but nine non-edges.
    #[serde(rename = "hits@10")]
    pub hits_at_10: MeanStd,
    /// The same for 49 non-edges.
    #[serde(rename = "hits@50")]
    pub hits_at_50: MeanStd,
    /// The same for 99 non-edges.
    #[serde(rename = "hits@100")]
    pub hits_at_100: MeanStd,
}

/// The scores for every operator.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Operators {
    /// Products of coordinates.
    pub hadamard: Ranking,
    /// Means of coordinates.
    pub average: Ranking,
    /// Absolute differences of coordinates.
    pub l1: Ranking,
    /// Squared differences of coordinates.
    pub l2: Ranking,
}

/// Holds out edges, lets `embed(rest of the graph, seed)` make vectors, and scores them; once for
/// each of the seeds from `seed` on.
///
/// ```
/// use nearfar::evaluate::{LinksConfig, links};
/// use nearfar::graph::{ReadOptions, read};
/// use nearfar::negative::{Budget, NegativeConfig, NegativePlan};
/// use nearfar::train::{TrainConfig, embed};
///
/// let graph = read("builtin:karate", &ReadOptions::default())?.graph;
/// let scores = links(&graph, &LinksConfig::default(), 7, |rest, seed| {
///     let plan = NegativePlan::new(rest, &NegativeConfig::default(), &Budget::default())?;
///     let config = TrainConfig { dim: 8, seed, ..Default::default() };
///     embed(rest, &*plan.build(rest)?, &config, &mut ())
/// })?;
/// assert_eq!((scores.held_out, scores.dot.auc.runs.len()), (8, 3));
/// # Ok::<(), nearfar::Error>(())
/// ```
pub fn links<E: From<Error>>(
    graph: &Graph,
    config: &LinksConfig,
    seed: u64,
    mut embed: impl FnMut(&Arc<Graph>, u64) -> Result<Vec<f32>, E>,
) -> Result<LinkScores, E> {
    config.validate()?;
    let mut runs = Vec::new();
    let (mut asked, mut held_out) = (0, 0);
    for seed in (0..config.seeds as u64).map(|run| seed.wrapping_add(run)) {
        let held = hold_out(graph, config.test_ratio, config.keep_connected, seed)?;
        let vectors = embed(&held.rest, seed)?;
        let dim = vectors.len() / graph.nodes().max(1);
        let embedding = Embedding::new(graph.ids().clone(), dim, vectors)?;
        embedding.check_finite()?;
        (asked, held_out) = (held.asked, held.edges.len());
        runs.push(Run::new(&embedding, &held, config.c));
    }
    let ranking = |of: fn(&Run) -> &Scores| Ranking::of(&runs.iter().map(of).collect::<Vec<_>>());
    Ok(LinkScores {
        nodes: graph.nodes(),
        edges: graph.edges(),
        asked,
        held_out,
        keep_connected: config.keep_connected,
        dot: ranking(|run| &run.dot),
        operators: Operators {
            hadamard: ranking(|run| &run.operators[0]),
            average: ranking(|run| &run.operators[1]),
            l1: ranking(|run| &run.operators[2]),
            l2: ranking(|run| &run.operators[3]),
        },
    })
}

impl LinksConfig {
    /// Checks what can be checked without a graph.
    pub fn validate(&self) -> Result<()> {
        let refuse = |message: String| Err(Error::Option(message));
        match *self {
            Self { test_ratio, .. } if !(test_ratio > 0.0 && test_ratio < 1.0) => {
                refuse(format!("test-ratio is {test_ratio}; it takes a share between 0 and 1"))
            }
            Self { seeds: 0, .. } => refuse("seeds is 0; it takes at least 1".to_owned()),
            Self { c, .. } if !(c.is_finite() && c > 0.0) => {
                refuse(format!("c is {c}; it takes a number above 0"))
            }
            _ => Ok(()),
        }
    }
}

/// What came out of one seed.
struct Run {
    dot: Scores,
    /// In the order of [`Operator::ALL`].
    operators: [Scores; 4],
}

/// The scores of one ranking.
struct Scores {
    auc: f64,
    average_precision: f64,
    mrr: f64,
    hits: [f64; 3],
}

impl Run {
    fn new(embedding: &Embedding, held: &HeldOut, c: f64) -> Self {
        let dot = |pairs: &[(Node, Node)]| -> Vec<f64> {
            pairs
                .iter()
                .map(|&(a, b)| operator::dot(embedding.vector(a), embedding.vector(b)))
                .collect()
        };
        let classified = |operator: Operator| {
            let learn = [&held.train_edges[..], &held.train_non_edges].concat();
            let edge: &[u32] = &[0];
            let truth: Vec<&[u32]> = (0..learn.len())
                .map(|at| if at < held.train_edges.len() { edge } else { &[] })
                .collect();
            let model = Logistic::labels(&examples(embedding, operator, &learn), &truth, 1, c);
            let scores =
                |pairs: &[(Node, Node)]| model.scores(&examples(embedding, operator, pairs));
            Scores::new(&scores(&held.edges), &scores(&held.non_edges))
        };
        Self {
            dot: Scores::new(&dot(&held.edges), &dot(&held.non_edges)),
            operators: Operator::ALL.map(classified),
        }
    }
}

impl Scores {
    fn new(edges: &[f64], non_edges: &[f64]) -> Self {
        // Both sides hold some pairs, or nothing would have been held out.
        let score = |score: Option<f64>| score.unwrap_or(f64::NAN);
        Self {
            auc: score(roc_auc(edges, non_edges)),
            average_precision: score(average_precision(edges, non_edges)),
            mrr: score(mean_reciprocal_rank(edges, non_edges)),
            hits: [10, 50, 100].map(|k| score(hits_at(k, edges, non_edges))),
        }
    }
}

impl Ranking {
    fn of(runs: &[&Scores]) -> Self {
        let over =
            |score: fn(&Scores) -> f64| -> MeanStd { runs.iter().map(|run| score(run)).collect() };
        Self {
            auc: over(|run| run.auc),
            average_precision: over(|run| run.average_precision),
            mrr: over(|run| run.mrr),
            hits_at_10: over(|run| run.hits[0]),
            hits_at_50: over(|run| run.hits[1]),
            hits_at_100: over(|run| run.hits[2]),
        }
    }
}

fn examples<'a>(
    embedding: &'a Embedding,
    operator: Operator,
    pairs: &'a [(Node, Node)],
) -> Examples<impl Fn(usize, &mut [f32]) + Sync + 'a> {
    let fill = move |example: usize, out: &mut [f32]| {
        let (a, b) = pairs[example];
        operator.fill(embedding.vector(a), embedding.vector(b), out);
    };
    Examples { count: pairs.len(), dim: embedding.dim(), fill }
}
