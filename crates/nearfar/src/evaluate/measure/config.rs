//! Settings of the measures.

use serde::{Deserialize, Serialize};

use crate::distance::Far;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::negative::NegativeConfig;
use crate::train::TrainConfig;

/// The walks and negatives that define α and β, and the pairs to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args), command(next_help_heading = "Evaluation"))]
pub struct MeasureConfig {
    /// Window size in nodes: α is the co-occurrence probability within it
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().context))]
    pub context: usize,
    /// Negatives per positive, a factor of β
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().k))]
    pub k: usize,
    /// Exponent of the distance in β
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().gamma, allow_negative_numbers = true))]
    pub gamma: f64,
    /// Distance of unconnected nodes: a number of hops, or `auto`, one more than the diameter
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().far))]
    pub far: Far,
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
}

impl Default for MeasureConfig {
    fn default() -> Self {
        let (train, negatives) = (TrainConfig::default().defaults(), NegativeConfig::default());
        Self {
            context: train.context,
            k: train.k,
            gamma: negatives.gamma,
            far: negatives.far,
            sources: None,
            walks: None,
            seed: 0,
        }
    }
}

impl MeasureConfig {
    /// Checks the ranges of the settings.
    pub fn validate(&self) -> Result<()> {
        let Self { context, k, walks, .. } = *self;
        TrainConfig { context: Some(context), walks, k: Some(k), ..Default::default() }
            .validate()?;
        NegativeConfig { gamma: self.gamma, ..Default::default() }.validate()?;
        if self.sources == Some(0) {
            return Err(Error::option("sources", 0, "expected 'all' or at least 1"));
        }
        Ok(())
    }

    /// The number of source nodes: as configured, or all nodes where that takes about a minute on two
    /// cores.
    pub fn sources(&self, graph: &Graph, dim: usize) -> usize {
        const SAMPLE: usize = 1024;
        /// Nodes × nodes × dimensions, and nodes × directed edges.
        const PRODUCTS: f64 = 2e12;
        const SEARCHES: f64 = 4e11;
        let n = graph.nodes();
        let work = |per_node: usize| n as f64 * per_node as f64;
        let affordable = work(n) * dim as f64 <= PRODUCTS && work(graph.arcs()) <= SEARCHES;
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
