//! Naive references of routes through landmarks and of laws of given distances.

use nearfar::graph::{Graph, Node};

use crate::naive::{Distances, law};

/// Routes through landmarks by definition: the nearest landmark that each node reaches, and the nearest
/// one that reaches it.
pub(crate) struct Routes {
    to: Vec<Option<usize>>,
    from: Vec<Option<usize>>,
}

impl Routes {
    pub(crate) fn new(graph: &Graph, distances: &Distances, count: usize) -> Self {
        let n = graph.nodes();
        let arcs = |node: usize| {
            let node = node as Node;
            let back = if graph.is_directed() { graph.incoming(node).len() } else { 0 };
            graph.degree(node) + back
        };
        let mut landmarks: Vec<usize> = (0..n).collect();
        landmarks.sort_by_key(|&node| (2 * n - arcs(node), node));
        landmarks.truncate(count);
        let nearest = |distance: &dyn Fn(usize) -> Option<f64>| {
            let reached = landmarks.iter().filter_map(|&l| Some((distance(l)?, l)));
            reached.min_by(|a, b| a.partial_cmp(b).unwrap()).map(|(_, l)| l)
        };
        let path = |a: usize, b: usize| distances.connected[a][b].then(|| distances.d[a][b]);
        Self {
            to: (0..n).map(|i| nearest(&|l| path(i, l))).collect(),
            from: (0..n).map(|k| nearest(&|l| path(l, k))).collect(),
        }
    }

    /// Routes of a centre to all nodes, `far` where there is none.
    pub(crate) fn from(&self, distances: &Distances, centre: usize, far: f64) -> Vec<f64> {
        let route = |k: usize| {
            let (p, q) = (self.to[centre]?, self.from[k]?);
            let d = &distances.d;
            distances.connected[p][q].then(|| d[centre][p] + d[p][q] + d[q][k])
        };
        (0..self.to.len()).map(|k| route(k).unwrap_or(far)).collect()
    }
}

/// Weights d^γ of these distances, to probabilities.
pub(crate) fn powers(centre: usize, distances: &[f64], gamma: f64) -> Vec<f64> {
    let others = || distances.iter().enumerate().filter(|(k, _)| *k != centre).map(|(_, d)| *d);
    let (least, most) = (others().fold(f64::INFINITY, f64::min), others().fold(0.0, f64::max));
    let reference = if gamma < 0.0 { least } else { most };
    law(centre, distances.iter().map(|d| (d / reference).powf(gamma)).collect())
}
