//! Distances through landmarks where there and back differ, or where distances are lengths.
//!
//! A route from i to k goes to the nearest landmark p that i reaches, from there to the landmark q that
//! is nearest of those that reach k, and on to k:
//!
//! ```text
//! d(i, k) ≤ to(i) + between(p, q) + from(k)
//! ```
//!
//! Some pairs have no route: i reaches no landmark, k is reached from none, or q is not reached from p.
//! Where there and back are the same, the route is at most 2 to(i) + 2 from(k) longer than the
//! shortest path: between(p, q) ≤ to(i) + d(i, k) + from(k).
//!
//! Landmarks are nodes with many arcs, in either direction. Distances are stored as 32-bit floating
//! point numbers: hop counts up to 2²⁴ exactly, others to a relative error of 2⁻²⁴.

use rayon::prelude::*;

use super::shortest::{Along, ShortestPaths, arcs};
use super::table::Buffers;
use crate::budget::{product, sum};
use crate::graph::{Components, Graph, Node};
use crate::memory;

/// Landmarks, the distances to and from the nearest ones, and those between them.
pub struct Routes {
    /// The node that each landmark is, in increasing order.
    pub nodes: Vec<Node>,
    /// For each node the nearest landmark that it reaches, and the distance; [`Routes::NONE`] without.
    pub to: Vec<(u32, f32)>,
    /// For each node the nearest landmark that reaches it, and the distance.
    pub from: Vec<(u32, f32)>,
    between: Vec<f32>,
}

impl Routes {
    /// In place of a landmark where there is none.
    pub const NONE: u32 = u32::MAX;

    /// The memory for n nodes and p landmarks.
    pub(crate) fn bytes(nodes: usize, landmarks: usize) -> u64 {
        sum([product([nodes, 16]), product([landmarks, landmarks, 4]), product([landmarks, 4])])
    }

    /// The `count` nodes with most arcs, in either direction. Of nodes with equally many, the lower
    /// rows; where distances are lengths, rows at equal steps, as in road networks most nodes have three
    /// or four. There an undirected graph also gets the first such node of every component without one,
    /// except of isolated nodes, which no route leaves.
    pub fn choose(graph: &Graph, components: &Components, count: usize) -> Vec<Node> {
        let mut nodes: Vec<Node> = (0..graph.nodes() as Node).collect();
        let arcs = |node: Node| {
            if graph.is_directed() {
                graph.degree(node) + graph.incoming(node).len()
            } else {
                graph.degree(node)
            }
        };
        nodes.sort_by_key(|&node| (usize::MAX - arcs(node), node));
        if !graph.has_lengths() {
            nodes.truncate(count);
            nodes.sort_unstable();
            return nodes;
        }
        let fewest = nodes.get(count.wrapping_sub(1)).map_or(0, |&node| arcs(node));
        let above = nodes.partition_point(|&node| arcs(node) > fewest);
        let equal = nodes.partition_point(|&node| arcs(node) >= fewest) - above;
        let rest = count.min(nodes.len()) - above;
        let mut chosen = nodes[..above].to_vec();
        chosen.extend((0..rest).map(|at| nodes[above + at * equal / rest]));
        if !graph.is_directed() {
            let mut covered = vec![false; components.len()];
            for &node in &chosen {
                covered[components.of(node)] = true;
            }
            for &node in nodes.iter().take_while(|&&node| arcs(node) > 0) {
                if !std::mem::replace(&mut covered[components.of(node)], true) {
                    chosen.push(node);
                }
            }
        }
        chosen.sort_unstable();
        chosen
    }

    /// Measures the routes through these nodes, which are in increasing order.
    pub fn new(graph: &Graph, nodes: Vec<Node>) -> Self {
        let p = nodes.len();
        let mut between = memory::filled(p * p, f32::INFINITY);
        let buffers = Buffers::default();
        between.par_chunks_mut(p.max(1)).zip(&nodes).for_each(|(row, &node)| {
            let mut paths: ShortestPaths = buffers.take(ShortestPaths::default);
            paths.search(graph, &[node], Along::Arcs);
            for (cell, &other) in row.iter_mut().zip(&nodes) {
                *cell = paths.distance(other) as f32;
            }
            buffers.put(paths);
        });
        let to = nearest(graph, &nodes, Along::Reverse);
        let from = nearest(graph, &nodes, Along::Arcs);
        Self { nodes, to, from, between }
    }

    /// The number of landmarks.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no landmarks.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The distances from a landmark to all landmarks; infinite where there is no path.
    #[inline]
    pub fn row(&self, landmark: u32) -> &[f32] {
        &self.between[landmark as usize * self.len()..][..self.len()]
    }

    /// The length of the route between two nodes, if there is one.
    pub fn route(&self, i: Node, k: Node) -> Option<f64> {
        let ((p, there), (q, from)) = (self.to[i as usize], self.from[k as usize]);
        if p == Self::NONE || q == Self::NONE {
            return None;
        }
        let between = self.row(p)[q as usize];
        between.is_finite().then(|| f64::from(there) + f64::from(between) + f64::from(from))
    }
}

/// The nearest landmark of every node, and the distance from it along the arcs, or to it. Of landmarks
/// at the same distance, that of lowest row.
fn nearest(graph: &Graph, landmarks: &[Node], along: Along) -> Vec<(u32, f32)> {
    let mut paths = ShortestPaths::default();
    paths.search(graph, landmarks, along);
    let mut nearest = vec![(Routes::NONE, f32::INFINITY); graph.nodes()];
    for (number, &node) in (0..).zip(landmarks) {
        nearest[node as usize] = (number, 0.0);
    }
    let back = match along {
        Along::Arcs => Along::Reverse,
        Along::Reverse => Along::Arcs,
    };
    for &node in paths.order() {
        let distance = paths.distance(node);
        if distance > 0.0 {
            // Every shortest path comes from a node that was settled before.
            let before = arcs(graph, node, back)
                .filter(|&(other, length)| paths.distance(other) + length <= distance);
            let landmark = before.map(|(other, _)| nearest[other as usize].0).min();
            nearest[node as usize] = (landmark.unwrap_or(Routes::NONE), distance as f32);
        }
    }
    nearest
}
