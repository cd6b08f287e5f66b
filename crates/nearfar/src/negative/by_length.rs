//! Plans of laws where distances are lengths: which are supported, how, and in how much memory.

use std::sync::Arc;

use super::NegativeSampler;
use super::config::{NegativeConfig, Negatives, Strategy};
use super::costs::Costs;
use super::law::DistanceLaw;
use super::length_search::LengthSearch;
use super::length_table::{LengthTable, kept_bytes};
use super::plan::{Demand, NegativePlan};
use super::rejection::CUTOFF;
use crate::budget::{Budget, product, sum};
use crate::distance::{Along, Far, LengthRows, ShortestPaths};
use crate::error::{Error, Problem, Result};
use crate::graph::{Graph, Node};

impl NegativePlan {
    /// The faster of table and searches that fits; the error says why neither does.
    pub(super) fn exact_by_length(
        graph: &Graph,
        config: &NegativeConfig,
        budget: &Budget,
        demand: &Demand,
        law: Negatives,
    ) -> std::result::Result<Self, String> {
        let (n, arcs) = (graph.nodes(), graph.arcs());
        let search = ShortestPaths::bytes(graph).saturating_add(product([n, 8]));
        let both_ways = match config.far {
            Far::Undirected => graph.undirected_bytes(),
            _ => 0,
        };
        let kept = kept_bytes(n);
        let listed = if kept <= budget.memory { listed_bytes(graph, config, law) } else { 0 };
        let kept = kept.saturating_add(listed);
        let table = |searches: u64| sum([kept, both_ways, searches.saturating_mul(search)]);
        // Nanoseconds of one core: of a search for each node and arc, of a cell, and of a weight.
        let (nodes, searched) = (n as f64, (n + arcs) as f64 * SEARCH_SECONDS);
        let costs = Costs {
            what: "an exact table of lengths",
            kept,
            least: table(super::plan::NOMINAL_SEARCHES),
            table_seconds: nodes * (searched + nodes * 50e-9),
            levels_seconds: demand.fills.map(|fills| fills as f64 * (searched + nodes * 50e-9)),
        };
        let strategy = costs.strategy(config, budget, demand)?;
        let threads = product([rayon::current_num_threads()]);
        let (building, kept) = if strategy == Strategy::Levels {
            let bytes = threads.saturating_mul(LengthSearch::bytes(graph));
            (bytes, bytes)
        } else {
            (table(threads), kept)
        };
        let (strategy, lengths) = (Some(strategy), true);
        Ok(Self { law, strategy, lengths, ..Self::without_distances(config, (building, kept)) })
    }

    pub(super) fn build_by_length(
        &self,
        graph: &Arc<Graph>,
        law: DistanceLaw,
    ) -> Box<dyn NegativeSampler> {
        let far = self.config.far;
        if self.strategy == Some(Strategy::Levels) {
            return Box::new(LengthSearch::new(graph, law, far.length(graph)));
        }
        let mut lengths = LengthRows::new(graph);
        if far == Far::Undirected {
            lengths.fill_missing(&graph.to_undirected());
        }
        let far = match far {
            Far::Auto | Far::Undirected => lengths.largest() + graph.length_range().1,
            Far::Hops(_) | Far::Length(_) => far.length(graph),
        };
        lengths.set_missing(far);
        Box::new(LengthTable::new(lengths, law, graph.nodes()))
    }
}

/// Seconds that a search takes for each node and arc, in graphs of a hundred thousand nodes.
const SEARCH_SECONDS: f64 = 60e-9;

/// Fails if a law, or the distance of nodes without a path, does not go with the unit of distances.
pub(super) fn check_unit(graph: &Graph, config: &NegativeConfig) -> Result<()> {
    if !graph.has_lengths() {
        return match config.far {
            Far::Length(far) => {
                let problem = "distances are numbers of hops, which are whole";
                let problem = Problem::from(problem).set("far", far.ceil());
                Err(Error::conflict(problem.set("distance", "length")))
            }
            _ => Ok(()),
        };
    }
    if config.negatives == Negatives::Landmark {
        let problem = Problem::from("landmark is a law of distances in hops");
        let problem = problem.set("negatives", "landmark-approx").set("distance", "hops");
        return Err(Error::conflict(problem));
    }
    let (shortest, longest) = graph.length_range();
    // No path has more edges than there are nodes; cells are 32-bit numbers.
    let most = longest * graph.nodes() as f64;
    if most > f64::from(f32::MAX) / 4.0 || shortest < f64::from(f32::MIN_POSITIVE) {
        let problem =
            format!("lengths from {shortest:e} to {longest:e} are too large or too small");
        return Err(Error::graph(format!(
            "{problem} for sums of 32-bit numbers; scale the lengths"
        )));
    }
    Ok(())
}

/// The memory of the lists of heavy nodes beside a table: those of some centres, found by a search
/// from each. Mostly there are none.
fn listed_bytes(graph: &Graph, config: &NegativeConfig, law: Negatives) -> u64 {
    const SAMPLE: usize = 32;
    /// An item, its cell of an alias table, and what lists are longer than their content.
    const BYTES: f64 = 16.0;
    /// For rows that differ from those of the sample.
    const MARGIN: f64 = 1.25;
    let n = graph.nodes();
    let law = DistanceLaw { gamma: config.gamma, bound: law.bound() };
    let mut paths = ShortestPaths::default();
    let (mut listed, mut rows) = (0.0, 0.0);
    for centre in (0..n as Node).step_by(n.div_ceil(SAMPLE).max(1)) {
        paths.search(graph, &[centre], Along::Arcs);
        let far = paths.farthest() + graph.length_range().1;
        let distance = |k| Some(paths.distance(k)).filter(|d| d.is_finite()).unwrap_or(far);
        let mut weights: Vec<f64> = (0..n as Node).map(distance).collect();
        law.to_powers(&mut weights, centre as usize);
        let mass: f64 = weights.iter().sum();
        let (low, high) = law.limits(mass, n);
        let clamped = weights.iter().map(|weight| weight.max(low).min(high));
        let mean = clamped.clone().sum::<f64>() / n as f64;
        listed += clamped.filter(|&weight| weight > CUTOFF * mean).count() as f64;
        rows += 1.0;
    }
    (listed / f64::max(rows, 1.0) * n as f64 * BYTES * MARGIN) as u64
}
