//! Plans of laws where the distances there and back differ: what they support, and in how much memory.

use super::NegativeSampler;
use super::config::{NegativeConfig, Negatives, Strategy};
use super::plan::{NegativePlan, SEARCHED_LONG, most_landmarks};
use super::routes::ByRoutes;
use super::uniform::Uniform;
use crate::budget::{product, sum};
use crate::distance::{Far, Routes, ShortestPaths};
use crate::error::{Error, Problem, Result};
use crate::graph::Graph;

impl NegativePlan {
    /// Landmarks whose distances there and back differ.
    pub(super) fn routes(graph: &Graph, config: &NegativeConfig, law: Negatives) -> Result<Self> {
        let n = graph.nodes();
        let count = match config.landmarks {
            None => {
                let quick = (SEARCHED_LONG / (n + graph.arcs()) as f64).max(100.0);
                (n / 10).max(2).min(most_landmarks(4)).min(quick as usize)
            }
            Some(asked) => asked.of(n)?,
        };
        let routes = Routes::bytes(n, count);
        // No distance is longer than all nodes in a row.
        let sampler = ByRoutes::bytes(n, count, n as f64, config.gamma);
        let search = product([rayon::current_num_threads()]);
        let search = search.saturating_mul(ShortestPaths::bytes(graph));
        let kept = routes.saturating_add(sampler);
        Ok(Self {
            law,
            landmarks: Some(count),
            building: sum([routes, search, product([n, 8])]).max(kept),
            kept,
            ..Self::without_distances(config, (0, 0))
        })
    }

    pub(super) fn build_routes(&self, graph: &Graph, far: f64) -> Box<dyn NegativeSampler> {
        let gamma = self.config.gamma;
        if gamma == 0.0 {
            return Box::new(Uniform { nodes: graph.nodes() });
        }
        let routes = Routes::new(graph, self.landmarks.unwrap_or(1));
        Box::new(ByRoutes::new(routes, gamma, far, 1.0))
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
