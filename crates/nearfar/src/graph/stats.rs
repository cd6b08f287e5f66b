//! Statistics of a graph that need no distances.

use super::{Components, Graph, Node};

/// Sizes, degrees and components of a graph.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct GraphStats {
    /// The number of nodes.
    pub nodes: usize,
    /// Whether edges have a direction.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub directed: bool,
    /// The number of pairs of nodes with an edge, whatever its direction.
    pub edges_undirected: usize,
    /// The number of edges as the paper counts them, once in each direction.
    pub edges_directed: usize,
    /// Directed edges divided by nodes.
    pub mean_degree: f64,
    /// The largest degree; of arcs from a node, in a directed graph.
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
        let nodes = || 0..graph.nodes() as Node;
        let degrees = || nodes().map(|node| graph.degree(node));
        let is_first = |a: &Node, b: &Node| a < b || !graph.has_edge(*b, *a);
        let edges_undirected = if graph.is_directed() {
            nodes().map(|a| graph.neighbours(a).iter().filter(|b| is_first(&a, b)).count()).sum()
        } else {
            graph.edges()
        };
        Self {
            nodes: graph.nodes(),
            directed: graph.is_directed(),
            edges_undirected,
            edges_directed: graph.arcs(),
            mean_degree: graph.arcs() as f64 / graph.nodes() as f64,
            max_degree: degrees().max().unwrap_or(0),
            components: components.len(),
            largest_component: components.sizes().iter().copied().max().unwrap_or(0),
            isolated: nodes()
                .filter(|&node| graph.degree(node) == 0 && graph.incoming(node).is_empty())
                .count(),
        }
    }
}
