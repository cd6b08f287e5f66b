//! Settings of the measures.

use serde::{Deserialize, Serialize};

use super::ObjectiveConfig;
use crate::error::{Error, Problem, Result};
use crate::graph::Graph;
use crate::negative::NegativeConfig;
use crate::train::TrainConfig;

/// The walks and negatives that define α, β and the objective, and the pairs to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::Args), command(next_help_heading = "Evaluation"))]
pub struct MeasureConfig {
    /// Window size in nodes: α is the co-occurrence probability within it
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().context))]
    pub context: usize,
    /// Negatives per positive, a factor of β
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().k))]
    pub k: usize,
    /// Source nodes to compare with all others: `all`, or the size of a random sample [default: all,
    /// or 1024 in graphs where that would take minutes]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N|all", value_parser = sources))]
    pub sources: Option<usize>,
    /// Estimate α from this many walks per source [default: computed exactly, or 1000 walks in graphs
    /// where that would take minutes]
    #[cfg_attr(feature = "clap", arg(long))]
    pub walks: Option<usize>,
    /// Seed of the sample and the walks
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().seed))]
    pub seed: u64,
    /// Also compute the training objective, with --context and the options and negatives below
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Objective"))]
    pub objective: bool,
    /// L2 regularisation λ: a number
    #[cfg_attr(feature = "clap", arg(long, value_name = "λ", help_heading = "Objective", default_value_t = Self::default().l2))]
    pub l2: f64,
    /// Weight of the negatives of a window relative to its positives
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Objective", default_value_t = Self::default().negative_weight))]
    pub negative_weight: f64,
    /// Nodes are centres ∝ their degree to this power
    #[cfg_attr(feature = "clap", arg(long, value_name = "POWER", help_heading = "Objective", default_value_t = Self::default().centre_power))]
    pub centre_power: f64,
    /// The negatives of the objective; the distances of β are those of its γ and `far`.
    #[cfg_attr(feature = "clap", command(flatten))]
    #[serde(flatten)]
    pub negatives: NegativeConfig,
}

impl Default for MeasureConfig {
    fn default() -> Self {
        let objective = ObjectiveConfig::default();
        Self {
            context: objective.context,
            k: TrainConfig::default().defaults().k,
            sources: None,
            walks: None,
            seed: objective.seed,
            objective: false,
            l2: objective.l2,
            negative_weight: objective.negative_weight,
            centre_power: objective.centre_power,
            negatives: objective.negatives,
        }
    }
}

impl MeasureConfig {
    /// Checks the ranges of the settings.
    pub fn validate(&self) -> Result<()> {
        let Self { context, k, walks, .. } = *self;
        TrainConfig { context: Some(context), walks, k: Some(k), ..Default::default() }
            .validate()?;
        ObjectiveConfig::from(self).validate()?;
        if self.sources == Some(0) {
            return Err(Error::option("sources", 0, "expected 'all' or at least 1"));
        }
        match self.first_of_objective() {
            Some(option) if !self.objective => {
                let problem = Problem::from("only the objective has this option");
                let problem = problem.give("objective").omit(option.0);
                Err(Error::conflict(Problem { option: Some(option), ..problem }))
            }
            _ => Ok(()),
        }
    }

    /// An option that only the objective depends on, if one differs from its default.
    fn first_of_objective(&self) -> Option<(&'static str, String)> {
        let default = Self::default();
        let (law, usual) = (&self.negatives, &default.negatives);
        let number = |name, value: f64, usual: f64| {
            value.total_cmp(&usual).is_ne().then(|| (name, value.to_string()))
        };
        let strategy = || format!("{:?}", law.strategy).to_lowercase();
        number("l2", self.l2, default.l2)
            .or(number("negative-weight", self.negative_weight, default.negative_weight))
            .or(number("centre-power", self.centre_power, default.centre_power))
            .or((law.negatives != usual.negatives)
                .then(|| ("negatives", law.negatives.name().to_owned())))
            .or(number("degree-power", law.degree_power, usual.degree_power))
            .or(law.landmarks.map(|landmarks| ("landmarks", landmarks.to_string())))
            .or((law.strategy != usual.strategy).then(|| ("strategy", strategy())))
    }

    /// The number of source nodes: as configured, or all nodes where that takes about a minute on two
    /// cores.
    pub fn sources(&self, graph: &Graph, dim: usize) -> usize {
        const SAMPLE: usize = 1024;
        /// Nodes × nodes × dimensions, and nodes × directed edges.
        const PRODUCTS: f64 = 2e12;
        const SEARCHES: f64 = 4e11;
        const BY_LENGTH: f64 = 1e9;
        let n = graph.nodes();
        let work = |per_node: usize| n as f64 * per_node as f64;
        let searches = if graph.has_lengths() { BY_LENGTH } else { SEARCHES };
        let affordable = work(n) * dim as f64 <= PRODUCTS && work(graph.arcs()) <= searches;
        self.sources.unwrap_or(if affordable { n } else { SAMPLE }).min(n)
    }

    /// The number of walks to estimate α from; `None` if it is computed exactly, as by default where
    /// that takes about a minute.
    pub(super) fn walks(&self, graph: &Graph, sources: usize) -> Option<usize> {
        const STEPS: f64 = 4e10;
        const WALKS: usize = 1000;
        let steps = sources as f64 * graph.arcs() as f64 * (self.context - 1) as f64;
        self.walks.or((steps > STEPS).then_some(WALKS))
    }
}

#[cfg(feature = "clap")]
fn sources(text: &str) -> Result<usize, String> {
    match text.parse() {
        _ if text == "all" => Ok(usize::MAX),
        Ok(count) if count > 0 => Ok(count),
        _ => Err("expected 'all' or a number of at least 1".to_owned()),
    }
}
