//! Link prediction: some edges are held out, vectors are trained on the rest, and held-out edges are
//! ranked against non-edges.

mod hold_out;
mod operator;

use std::sync::Arc;

pub use hold_out::{HeldOut, hold_out};
pub use operator::Operator;

use super::MeanStd;
use super::logistic::{Examples, Logistic, Training};
use super::ranking::{average_precision, hits_at, mean_reciprocal_rank, roc_auc};
use crate::embedding::Embedding;
use crate::error::{Error, Result};
use crate::graph::{Graph, Node};

/// Settings of link prediction.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args), command(next_help_heading = "Evaluation"))]
pub struct LinksConfig {
    /// Fraction of the edges to hold out
    #[cfg_attr(feature = "clap", arg(long, value_name = "R", default_value_t = Self::default().test_ratio))]
    pub test_ratio: f64,
    /// Hold out only edges whose ends stay connected without them
    #[cfg_attr(feature = "clap", arg(
        long,
        value_name = "true|false",
        default_value_t = Self::default().keep_connected,
        action = clap::ArgAction::Set
    ))]
    pub keep_connected: bool,
    /// Number of runs, each with its own seed
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = Self::default().seeds))]
    pub seeds: usize,
    /// Inverse L2 strength of the edge classifiers (scikit-learn's `C`)
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().c))]
    pub c: f64,
}

impl Default for LinksConfig {
    fn default() -> Self {
        Self { test_ratio: 0.1, keep_connected: true, seeds: 3, c: 1.0 }
    }
}

/// The result of link prediction.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LinkScores {
    /// Nodes of the graph.
    pub nodes: usize,
    /// Edges of the graph.
    pub edges: usize,
    /// Edges to hold out in one run.
    pub asked: usize,
    /// Edges held out in one run: fewer than `asked` if the rest could not stay connected
    /// otherwise.
    pub held_out: usize,
    /// Whether held-out edges leave their ends connected.
    pub keep_connected: bool,
    /// Scores of the dot product; in a directed graph, of the vector of the source and, with --order
    /// 2, the context vector of the target.
    #[serde(flatten)]
    pub dot: Ranking,
    /// Scores of the dot product of held-out arcs against their own reverses, in a directed graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reversed: Option<Ranking>,
    /// Scores of logistic regression, by edge operator.
    pub operators: Operators,
}

/// The scores of one ranking of node pairs.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Ranking {
    /// The area under the ROC curve.
    pub auc: MeanStd,
    /// Average precision.
    pub average_precision: MeanStd,
    /// Mean reciprocal rank.
    pub mrr: MeanStd,
    /// Fraction of held-out edges above the 10th best non-edge.
    #[serde(rename = "hits@10")]
    pub hits_at_10: MeanStd,
    /// Fraction of held-out edges above the 50th best non-edge.
    #[serde(rename = "hits@50")]
    pub hits_at_50: MeanStd,
    /// Fraction of held-out edges above the 100th best non-edge.
    #[serde(rename = "hits@100")]
    pub hits_at_100: MeanStd,
}

/// The scores of every edge operator.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Operators {
    /// Element-wise product.
    pub hadamard: Ranking,
    /// Element-wise mean.
    pub average: Ranking,
    /// Element-wise absolute difference.
    pub l1: Ranking,
    /// Element-wise squared difference.
    pub l2: Ranking,
}

/// Holds out edges, trains vectors with `embed(remaining graph, seed)`, and scores them; once for each
/// of `config.seeds` seeds from `seed` on.
///
/// ```
/// use nearfar::evaluate::{LinksConfig, links};
/// use nearfar::graph::{ReadOptions, read};
/// use nearfar::train::{Settings, TrainConfig};
/// use nearfar::{Budget, embed};
///
/// let graph = read("builtin:karate", &ReadOptions::default())?.graph;
/// let scores = links(&graph, &LinksConfig::default(), 7, |rest, seed| -> nearfar::Result<_> {
///     let train = TrainConfig { dim: 8, seed, ..Default::default() };
///     let settings = Settings { train, ..Default::default() };
///     embed(rest, &settings, &Budget::default(), &mut ())
/// })?;
/// assert_eq!((scores.held_out, scores.dot.auc.runs.len()), (8, 3));
/// # Ok::<(), nearfar::Error>(())
/// ```
pub fn links<E: From<Error>>(
    graph: &Graph,
    config: &LinksConfig,
    seed: u64,
    mut embed: impl FnMut(&Arc<Graph>, u64) -> Result<Embedding, E>,
) -> Result<LinkScores, E> {
    config.validate()?;
    let mut runs = Vec::new();
    let (mut asked, mut held_out) = (0, 0);
    for seed in (0..config.seeds as u64).map(|run| seed.wrapping_add(run)) {
        let held = hold_out(graph, config.test_ratio, config.keep_connected, seed)?;
        let sources = embed(&held.rest, seed)?;
        sources.check_finite()?;
        // In an undirected graph either end may be the target.
        let targets = sources.contexts().filter(|_| graph.is_directed());
        (asked, held_out) = (held.asked, held.edges.len());
        let ends = Ends { sources: &sources, targets: targets.as_ref().unwrap_or(&sources) };
        runs.push(LinkRun::new(ends, &held, config.c));
    }
    let ranking =
        |of: fn(&LinkRun) -> &RankingScores| Ranking::of(&runs.iter().map(of).collect::<Vec<_>>());
    Ok(LinkScores {
        nodes: graph.nodes(),
        edges: graph.edges(),
        asked,
        held_out,
        keep_connected: config.keep_connected,
        dot: ranking(|run| &run.dot),
        reversed: graph.is_directed().then(|| ranking(|run| &run.reversed)),
        operators: Operators {
            hadamard: ranking(|run| &run.operators[0]),
            average: ranking(|run| &run.operators[1]),
            l1: ranking(|run| &run.operators[2]),
            l2: ranking(|run| &run.operators[3]),
        },
    })
}

impl LinksConfig {
    /// Checks the ranges of the settings.
    pub fn validate(&self) -> Result<()> {
        match *self {
            Self { test_ratio, .. } if !(test_ratio > 0.0 && test_ratio < 1.0) => {
                Err(Error::option("test-ratio", test_ratio, "expected a fraction between 0 and 1"))
            }
            Self { seeds: 0, .. } => Err(Error::option("seeds", 0, "expected at least 1")),
            Self { c, .. } if !(c.is_finite() && c > 0.0) => {
                Err(Error::option("c", c, "expected a number above 0"))
            }
            _ => Ok(()),
        }
    }
}

/// The vectors of the two ends of an edge.
#[derive(Clone, Copy)]
struct Ends<'a> {
    sources: &'a Embedding,
    targets: &'a Embedding,
}

/// The scores of one seed.
struct LinkRun {
    dot: RankingScores,
    reversed: RankingScores,
    /// In the order of [`Operator::ALL`].
    operators: [RankingScores; 4],
}

/// The scores of one ranking in one run.
struct RankingScores {
    auc: f64,
    average_precision: f64,
    mrr: f64,
    hits: [f64; 3],
}

impl LinkRun {
    fn new(ends: Ends<'_>, held: &HeldOut, c: f64) -> Self {
        let dot = |pairs: &[(Node, Node)]| -> Vec<f64> {
            pairs
                .iter()
                .map(|&(a, b)| operator::dot(ends.sources.vector(a), ends.targets.vector(b)))
                .collect()
        };
        let classified = |operator: Operator| {
            let train = [&held.train_edges[..], &held.train_non_edges].concat();
            let edge: &[u32] = &[0];
            let truth: Vec<&[u32]> = (0..train.len())
                .map(|at| if at < held.train_edges.len() { edge } else { &[] })
                .collect();
            let model =
                Logistic::labels(&examples(ends, operator, &train), &truth, 1, Training::new(c));
            let scores = |pairs: &[(Node, Node)]| model.scores(&examples(ends, operator, pairs));
            RankingScores::new(&scores(&held.edges), &scores(&held.non_edges))
        };
        Self {
            dot: RankingScores::new(&dot(&held.edges), &dot(&held.non_edges)),
            reversed: {
                let back: Vec<_> = held.reversed.iter().map(|&(b, a)| (a, b)).collect();
                RankingScores::new(&dot(&back), &dot(&held.reversed))
            },
            operators: Operator::ALL.map(classified),
        }
    }
}

impl RankingScores {
    fn new(edges: &[f64], non_edges: &[f64]) -> Self {
        // `hold_out` fails unless there are both edges and non-edges.
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
    fn of(runs: &[&RankingScores]) -> Self {
        let over = |score: fn(&RankingScores) -> f64| -> MeanStd {
            runs.iter().map(|run| score(run)).collect()
        };
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
    ends: Ends<'a>,
    operator: Operator,
    pairs: &'a [(Node, Node)],
) -> Examples<impl Fn(usize, &mut [f32]) + Sync + 'a> {
    let fill = move |example: usize, out: &mut [f32]| {
        let (a, b) = pairs[example];
        operator.fill(ends.sources.vector(a), ends.targets.vector(b), out);
    };
    Examples { count: pairs.len(), dim: ends.sources.dim(), fill }
}
