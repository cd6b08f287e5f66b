//! Shortest paths from one or several nodes, along the arcs or against them.
//!
//! The distance is the number of hops, found by breadth-first search, or the sum of the lengths of the
//! arcs, found by Dijkstra's algorithm.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::levels::Levels;
use crate::cancel;
use crate::graph::{Graph, Node};

/// Along the arcs, or against them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// Distances d(source, k).
    Arcs,
    /// Distances d(k, source).
    Reverse,
}

/// The nodes in the order of their distance, with buffers that are reused by the next search.
#[derive(Clone, Debug, Default)]
pub struct ShortestPaths {
    order: Vec<Node>,
    /// By node; infinite where there is no path.
    distance: Vec<f64>,
    levels: Levels,
    queue: BinaryHeap<Reverse<(u64, Node)>>,
}

impl ShortestPaths {
    /// The memory of a search in a graph of so many nodes and arcs.
    pub fn bytes(graph: &Graph) -> u64 {
        let queue = if graph.has_lengths() { 16 * graph.arcs() as u64 } else { 0 };
        Levels::bytes(graph.nodes()) + 12 * graph.nodes() as u64 + queue
    }

    /// Finds the distances from the nearest of `sources`, or to it.
    pub fn search(&mut self, graph: &Graph, sources: &[Node], along: Along) {
        self.distance.clear();
        self.distance.resize(graph.nodes(), f64::INFINITY);
        self.order.clear();
        if graph.has_lengths() {
            self.by_length(graph, sources, along);
        } else {
            match along {
                Along::Arcs => self.levels.search(graph, sources),
                Along::Reverse => self.levels.search_back(graph, sources),
            }
            for hops in 0..self.levels.len() {
                for &node in self.levels.level(hops) {
                    self.distance[node as usize] = hops as f64;
                    self.order.push(node);
                }
            }
        }
    }

    /// Dijkstra's algorithm. The bits of numbers ≥ 0 are in the order of the numbers.
    fn by_length(&mut self, graph: &Graph, sources: &[Node], along: Along) {
        cancel::check();
        let Self { order, distance, queue, .. } = self;
        for &source in sources {
            distance[source as usize] = 0.0;
            queue.push(Reverse((0, source)));
        }
        while let Some(Reverse((bits, node))) = queue.pop() {
            let here = f64::from_bits(bits);
            if here > distance[node as usize] || order.last() == Some(&node) {
                continue;
            }
            order.push(node);
            for (next, length) in arcs(graph, node, along) {
                let there = here + length;
                if there < distance[next as usize] {
                    distance[next as usize] = there;
                    queue.push(Reverse((there.to_bits(), next)));
                }
            }
        }
    }

    /// The nodes that the search reached, nearest first.
    pub fn order(&self) -> &[Node] {
        &self.order
    }

    /// The distance of a node; infinite if there is no path.
    #[inline]
    pub fn distance(&self, node: Node) -> f64 {
        self.distance[node as usize]
    }

    /// The largest finite distance.
    pub fn farthest(&self) -> f64 {
        self.order.last().map_or(0.0, |&node| self.distance(node))
    }
}

/// The arcs of a node with their lengths: to the nodes it points to, or to those that point to it.
pub(super) fn arcs(graph: &Graph, node: Node, along: Along) -> impl Iterator<Item = (Node, f64)> {
    let others = match along {
        Along::Arcs => graph.neighbours(node),
        Along::Reverse => graph.incoming(node),
    };
    others.iter().enumerate().map(move |(at, &other)| {
        let length = match along {
            Along::Arcs => graph.length_at(node, at),
            Along::Reverse => graph.length(other, node),
        };
        (other, length)
    })
}
