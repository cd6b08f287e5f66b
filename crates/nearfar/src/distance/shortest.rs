//! Shortest paths from one or several nodes, along the arcs or against them.
//!
//! The distance is the number of hops, found by breadth-first search, or the sum of the lengths of the
//! arcs, found by Dijkstra's algorithm.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::levels::Levels;
use super::table::Buffers;
use crate::budget::product;
use crate::cancel;
use crate::graph::{Graph, Node};
use crate::memory;

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
            Along::Reverse if graph.is_directed() => graph.length(other, node),
            Along::Arcs | Along::Reverse => graph.length_at(node, at),
        };
        (other, length)
    })
}

/// For each source, a row of distances to all nodes; infinite where there is no path.
///
/// ```
/// use nearfar::distance::lengths;
/// use nearfar::graph::{EdgeList, NodeIds};
/// let ids = NodeIds::Range { start: 0, len: 4 };
/// let weights = Some(vec![0.5, 2.0, 4.0]);
/// let list = EdgeList { pairs: vec![(0, 1), (1, 2), (0, 2)], weights, ids };
/// let graph = list.build()?.0.with_weights_as_lengths();
/// assert_eq!(lengths(&graph, &[0]), [0.0, 0.5, 2.5, f64::INFINITY]);
/// # Ok::<(), nearfar::Error>(())
/// ```
pub fn lengths(graph: &Graph, sources: &[Node]) -> Vec<f64> {
    let n = graph.nodes();
    let mut lengths = vec![f64::INFINITY; sources.len() * n];
    let buffers = Buffers::default();
    lengths.par_chunks_mut(n.max(1)).zip(sources).for_each(|(row, &source)| {
        let mut paths = buffers.take(ShortestPaths::default);
        paths.search(graph, &[source], Along::Arcs);
        paths.order().iter().for_each(|&node| row[node as usize] = paths.distance(node));
        buffers.put(paths);
    });
    lengths
}

/// The distances between all pairs of nodes as 32-bit floating point numbers, which have a relative
/// error of 2⁻²⁴; infinite where there is no path.
pub struct LengthRows {
    columns: usize,
    cells: Vec<f32>,
}

impl LengthRows {
    /// The memory for n nodes.
    pub(crate) fn bytes(nodes: usize) -> u64 {
        product([nodes, nodes, size_of::<f32>()])
    }

    /// Searches from every node.
    pub fn new(graph: &Graph) -> Self {
        let n = graph.nodes();
        let mut rows = Self { columns: n, cells: memory::filled(n * n, f32::INFINITY) };
        rows.fill_missing(graph);
        rows
    }

    /// Replaces "no path" by the distance in another graph of the same nodes.
    pub(crate) fn fill_missing(&mut self, graph: &Graph) {
        let buffers = Buffers::default();
        let rows = self.cells.par_chunks_mut(self.columns.max(1)).zip(0..graph.nodes() as Node);
        rows.for_each(|(row, source)| {
            let mut paths = buffers.take(ShortestPaths::default);
            paths.search(graph, &[source], Along::Arcs);
            for &node in paths.order() {
                let cell = &mut row[node as usize];
                if cell.is_infinite() {
                    *cell = paths.distance(node) as f32;
                }
            }
            buffers.put(paths);
        });
    }

    /// The distances from a node to all nodes.
    #[inline]
    pub fn row(&self, source: usize) -> &[f32] {
        &self.cells[source * self.columns..][..self.columns]
    }

    /// Replaces "no path" by a distance.
    pub(crate) fn set_missing(&mut self, far: f64) {
        let missing = self.cells.par_iter_mut().filter(|cell| cell.is_infinite());
        missing.for_each(|cell| *cell = far as f32);
    }

    /// The largest finite distance.
    pub fn largest(&self) -> f64 {
        let finite = self.cells.par_iter().filter(|cell| cell.is_finite());
        f64::from(finite.copied().reduce(|| 0.0, f32::max))
    }
}

/// The largest finite distance: of all, where searches from every node take a second or two, else of
/// those from nodes that are spread over the rows, and from the ends of the longest paths found.
pub(crate) fn longest_distance(graph: &Graph) -> f64 {
    /// Nodes × (nodes + arcs).
    const VISITS: u64 = 50_000_000;
    const SPREAD: usize = 32;
    const SWEEPS: usize = 16;
    let n = graph.nodes();
    let few = product([n, n + graph.arcs()]) > VISITS;
    let step = if few { n.div_ceil(SPREAD) } else { 1 };
    let starts: Vec<Node> = (0..n as Node).step_by(step.max(1)).collect();
    let buffers = Buffers::default();
    let farthest = |start: Node, along: Along| {
        let mut paths = buffers.take(ShortestPaths::default);
        paths.search(graph, &[start], along);
        let end = paths.order().last().copied().unwrap_or(start);
        let found = (paths.farthest(), end);
        buffers.put(paths);
        found
    };
    let found = starts.par_iter().map(|&start| farthest(start, Along::Arcs));
    let longer = |a: (f64, Node), b: (f64, Node)| {
        if (b.0, Reverse(b.1)) > (a.0, Reverse(a.1)) { b } else { a }
    };
    let (mut longest, mut end) = found.reduce(|| (0.0, 0), longer);
    // From the end of the longest path back, as long as it grows.
    for sweep in 0..if few { SWEEPS } else { 0 } {
        let along = if sweep % 2 == 0 { Along::Reverse } else { Along::Arcs };
        let (length, next) = farthest(end, along);
        if length <= longest {
            break;
        }
        (longest, end) = (length, next);
    }
    longest
}
