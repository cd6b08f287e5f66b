//! Statistics of a graph that need no distances.

use super::{Components, Graph, Node};

/// Sizes, degrees and components of a graph.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct GraphStats {
    /// The number of nodes.
    pub nodes: usize,
    /// The number of edges, each counted once.
    pub edges_undirected: usize,
    /// The number of edges as the paper counts them, once in each direction.
    pub edges_directed: usize,
    /// Directed edges divided by nodes.
    pub mean_degree: f64,
    /// The largest degree.
    pub max_degree: usize,
    /// The number of connected components.
    pub components: usize,
    /// The number of nodes in the largest component.
    pub largest_component: usize,
    /// The number of nodes without neighbours.
    pub isolated: usize,
}

impl GraphStats {
    /// Computes the statistics.
    pub fn new(graph: &Graph, components: &Components) -> Self {
        let degrees = || (0..graph.nodes() as Node).map(|node| graph.degree(node));
        Self {
            nodes: graph.nodes(),
            edges_undirected: graph.edges(),
            edges_directed: graph.arcs(),
            mean_degree: graph.arcs() as f64 / graph.nodes() as f64,
            max_degree: degrees().max().unwrap_or(0),
            components: components.len(),
            largest_component: components.sizes().iter().copied().max().unwrap_or(0),
            isolated: degrees().filter(|&degree| degree == 0).count(),
        }
    }
}
