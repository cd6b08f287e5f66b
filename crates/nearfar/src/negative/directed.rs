//! Plans of laws where distances there and back differ, or are lengths through landmarks: what they support, and in how much memory.

use super::NegativeSampler;
use super::config::{NegativeConfig, Negatives, Strategy};
use super::plan::{NegativePlan, SEARCHED_LONG, most_landmarks};
use super::routes::ByRoutes;
use super::uniform::Uniform;
use crate::budget::{Budget, format_bytes, product, sum};
use crate::distance::{Far, Routes, ShortestPaths};
use crate::error::{Error, Problem, Result};
use crate::graph::{Components, Graph};

/// So many nodes and arcs are searched by length, which takes as long as ten times as many by hops.
const SEARCHED_BY_LENGTH: f64 = 2e8;

impl NegativePlan {
    /// Landmarks whose distances there and back differ, or are lengths.
    pub(super) fn routes(
        graph: &Graph,
        config: &NegativeConfig,
        budget: &Budget,
        law: Negatives,
    ) -> Result<Self> {
        let n = graph.nodes();
        let count = match config.landmarks {
            None => {
                let searched = if graph.has_lengths() { SEARCHED_BY_LENGTH } else { SEARCHED_LONG };
                let quick = (searched / (n + graph.arcs()) as f64).max(100.0);
                (n / 10).max(2).min(most_landmarks(4)).min(quick as usize)
            }
            Some(asked) => asked.of(n)?,
        };
        let chosen = Routes::choose(graph, &Components::new(graph), count).len();
        let routes = Routes::bytes(n, chosen);
        if chosen > count && routes > budget.memory {
            let problem = format!(
                "{chosen} landmarks, one in every component, need {}",
                format_bytes(routes)
            );
            let problem = Problem::from(problem).give("largest-component");
            return Err(Error::budget(problem.raise("max-memory")));
        }
        // No distance is longer than all nodes in a row.
        let (shortest, longest) = graph.length_range();
        let range = n as f64 * longest / shortest;
        let sampler = ByRoutes::bytes(n, chosen, range, config.gamma);
        let search = product([rayon::current_num_threads()]);
        let search = search.saturating_mul(ShortestPaths::bytes(graph));
        let kept = routes.saturating_add(sampler);
        Ok(Self {
            law,
            landmarks: Some(count),
            lengths: graph.has_lengths(),
            building: sum([routes, search, product([n, 8])]).max(kept),
            kept,
            ..Self::without_distances(config, (0, 0))
        })
    }

    pub(super) fn build_routes(
        &self,
        graph: &Graph,
        components: &Components,
        far: f64,
    ) -> Box<dyn NegativeSampler> {
        let gamma = self.config.gamma;
        if gamma == 0.0 {
            return Box::new(Uniform { nodes: graph.nodes() });
        }
        let landmarks = Routes::choose(graph, components, self.landmarks.unwrap_or(1));
        let routes = Routes::new(graph, landmarks);
        Box::new(ByRoutes::new(routes, gamma, far, graph.length_range().0))
    }
}

/// Fails if pairs without a path cannot have the distance that was asked for.
pub(super) fn check_far(graph: &Graph, config: &NegativeConfig) -> Result<()> {
    if config.far != Far::Undirected {
        return Ok(());
    }
    let problem = match (config.negatives, config.strategy) {
        _ if !graph.is_directed() => {
            Problem::from("the graph is undirected already").set("far", "auto")
        }
        (Negatives::LandmarkApprox, _) => return Err(far_of_landmarks()),
        (_, Strategy::Levels) => {
            let problem = Problem::from("undirected distances between some pairs need the table");
            problem.set("strategy", "table").set("far", "auto")
        }
        _ => return Ok(()),
    };
    Err(Error::conflict(problem))
}

pub(super) fn far_of_landmarks() -> Error {
    let problem = Problem::from("undirected distances between some pairs need exact distances");
    Error::conflict(problem.set("negatives", "distance").set("far", "auto"))
}
