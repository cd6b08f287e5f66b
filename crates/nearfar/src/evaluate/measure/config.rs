//! What can be asked of the measures.

use serde::{Deserialize, Serialize};

use crate::distance::Far;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::negative::NegativeConfig;
use crate::train::TrainConfig;

/// Which walks and negatives to measure by, and how many pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct MeasureConfig {
    /// Nodes in a walk: α counts whom its first one meets
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().context))]
    pub context: usize,
    /// Negatives for every positive, a factor of β
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().k))]
    pub k: usize,
    /// Exponent of the distance in β
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().gamma, allow_negative_numbers = true))]
    pub gamma: f64,
    /// Distance of nodes without a path: a number of hops, or `auto`, one more than the largest
    /// distance in the graph
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().far))]
    pub far: Far,
    /// Compare `all` nodes with all others, or only this many random ones [default: all, or 1024
    /// in graphs where that would take minutes]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N|all", value_parser = sources))]
    pub sources: Option<usize>,
    /// Find α by this many walks from each of them [default: it is computed, or 1000 walks in
    /// graphs where that would take minutes]
    #[cfg_attr(feature = "clap", arg(long))]
    pub walks: Option<usize>,
    /// Seed for choosing nodes and for walks
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().seed))]
    pub seed: u64,
}

impl Default for MeasureConfig {
    fn default() -> Self {
        let (train, negatives) = (TrainConfig::default(), NegativeConfig::default());
        Self {
            context: train.window(),
            k: train.k(),
            gamma: negatives.gamma,
            far: negatives.far,
            sources: None,
            walks: None,
            seed: 0,
        }
    }
}

impl MeasureConfig {
    /// Checks what can be checked without a graph.
    pub fn validate(&self) -> Result<()> {
        let Self { context, k, walks, .. } = *self;
        TrainConfig { context: Some(context), walks, k: Some(k), ..Default::default() }
            .validate()?;
        NegativeConfig { gamma: self.gamma, ..Default::default() }.validate()?;
        if self.sources == Some(0) {
            let message = "sources is 0; it takes 'all' or a number from 1 on";
            return Err(Error::Option(message.to_owned()));
        }
        Ok(())
    }

    /// How many nodes are compared with all others: what was asked for, or all while that takes
    /// about a minute on two cores.
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

    /// From how many walks α is found; `None` if it is computed, as it is while that takes about
    /// a minute.
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
        _ => Err("'all' or a number from 1 on".to_owned()),
    }
}
