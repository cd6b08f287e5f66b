//! Exact co-occurrence probabilities of random walks.
//!
//! # Derivation
//!
//! A window holds a start i and the C − 1 nodes after it. With P the transition matrix, the node t
//! steps later is j with probability (Pᵗ)_ij, and a uniform node of the window is j with probability
//!
//! ```text
//! π_ij = 1/(C−1) Σ_{t=1..C−1} (Pᵗ)_ij
//! ```
//!
//! Row i takes C − 1 products of a sparse vector with P, and memory for one row rather than n².
//! Node j first has a non-zero probability in step d(i,j), so the row lists the nodes in the order
//! of their distance, level by level.
//!
//! Walks return: π_ii > 0. Training skips the pairs (i, i) without replacing them. So they are
//! omitted here too, and a row sums to 1 − π_ii < 1. The row of a node without neighbours is empty.

use crate::distance::Levels;
use crate::graph::{Graph, Node};

/// The rows of π for first-order walks, with steps by edge weight, or uniform in an unweighted
/// graph.
///
/// ```
/// use nearfar::graph::{ReadOptions, read};
/// use nearfar::positive::{CooccurrenceRow, Cooccurrence};
///
/// let graph = read("builtin:karate", &ReadOptions::default())?.graph;
/// let cooccurrence = Cooccurrence::new(&graph, 2);
/// let mut row = CooccurrenceRow::default();
/// cooccurrence.fill(11, &mut row);
/// // Node 11 has one neighbour, so that is the second node of every window.
/// assert_eq!(row.iter().collect::<Vec<_>>(), [(0, 1.0)]);
/// # Ok::<(), nearfar::Error>(())
/// ```
pub struct Cooccurrence<'g> {
    graph: &'g Graph,
    steps: usize,
    /// Σ w over the neighbours of each node, in a weighted graph.
    totals: Option<Vec<f64>>,
}

/// One row of π, with buffers that are reused for the next.
#[derive(Clone, Debug, Default)]
pub struct CooccurrenceRow {
    /// The start, then the nodes that walks reach, in the order of their distance.
    nodes: Vec<Node>,
    /// The end of each level in `nodes`.
    ends: Vec<usize>,
    /// By node: the row, and the distribution of the walk in this step and in the next. Zero for
    /// nodes not in `nodes`.
    row: Vec<f64>,
    current: Vec<f64>,
    next: Vec<f64>,
    seen: Vec<bool>,
}

impl<'g> Cooccurrence<'g> {
    /// Prepares rows for windows of `context` nodes, including the start.
    pub fn new(graph: &'g Graph, context: usize) -> Self {
        let sums = || (0..graph.nodes() as Node).map(|node| graph.weighted_degree(node)).collect();
        let totals = graph.is_weighted().then(sums);
        Self { graph, steps: context.saturating_sub(1), totals }
    }

    /// About how many nodes a window of `context` nodes can hold beside its start: the mean over
    /// searches from some nodes, and a tenth more, as it is an estimate.
    pub fn reach(graph: &Graph, context: usize) -> f64 {
        const SAMPLES: usize = 64;
        let n = graph.nodes();
        let count = SAMPLES.min(n);
        let mut levels = Levels::default();
        let mut reached = 0;
        for at in 0..count {
            levels.search(graph, &[(at * n / count) as Node]);
            let within = context.min(levels.len());
            reached += (1..within).map(|hops| levels.level(hops).len()).sum::<usize>();
        }
        (1.1 * reached as f64 / count.max(1) as f64).min(n as f64)
    }

    /// The expected visits of each node per position, over the first `length` positions of walks, so
    /// many of which start at each node. A walk at a node without neighbours stays there.
    pub fn visits(&self, starts: Vec<f64>, length: usize) -> Vec<f64> {
        let n = self.graph.nodes();
        let mut current = starts;
        let mut sum = current.clone();
        for _ in 1..length {
            let mut next = vec![0.0; n];
            for (node, &mass) in current.iter().enumerate() {
                if self.graph.degree(node as Node) == 0 {
                    next[node] += mass;
                }
                self.steps_from(node as Node, mass, |to, mass| next[to as usize] += mass);
            }
            current = next;
            sum.iter_mut().zip(&current).for_each(|(sum, mass)| *sum += mass);
        }
        let scale = 1.0 / length.max(1) as f64;
        sum.into_iter().map(|sum| sum * scale).collect()
    }

    /// Computes the row of a node into the caller's buffer.
    pub fn fill(&self, start: Node, out: &mut CooccurrenceRow) {
        out.begin(start, self.graph.nodes());
        let scale = 1.0 / self.steps.max(1) as f64;
        for _ in 0..self.steps {
            // Only the nodes of earlier steps: those that this step reaches are appended.
            for i in 0..out.nodes.len() {
                let node = out.nodes[i];
                let mass = std::mem::take(&mut out.current[node as usize]);
                if mass > 0.0 {
                    self.spread(node, mass, out);
                }
            }
            out.ends.push(out.nodes.len());
            std::mem::swap(&mut out.current, &mut out.next);
            for &node in &out.nodes {
                out.row[node as usize] += scale * out.current[node as usize];
            }
        }
    }

    /// Moves the probability mass at a node to its neighbours in `out.next`.
    fn spread(&self, node: Node, mass: f64, out: &mut CooccurrenceRow) {
        self.steps_from(node, mass, |to, mass| {
            out.next[to as usize] += mass;
            if !std::mem::replace(&mut out.seen[to as usize], true) {
                out.nodes.push(to);
            }
        });
    }

    /// Divides the probability mass at a node among its neighbours.
    fn steps_from(&self, node: Node, mass: f64, mut add: impl FnMut(Node, f64)) {
        let neighbours = self.graph.neighbours(node);
        if let (Some(totals), Some(weights)) = (&self.totals, self.graph.weights(node)) {
            let unit = mass / totals[node as usize];
            for (&to, &weight) in neighbours.iter().zip(weights) {
                add(to, unit * f64::from(weight));
            }
        } else {
            let mass = mass / neighbours.len() as f64;
            for &to in neighbours {
                add(to, mass);
            }
        }
    }
}

impl CooccurrenceRow {
    /// The nodes with π_ij > 0, without the start, nearest first, with their probabilities.
    pub fn iter(&self) -> impl Iterator<Item = (Node, f64)> {
        let reached = self.nodes.get(1..).unwrap_or_default();
        reached.iter().map(|&node| (node, self.row[node as usize]))
    }

    /// The sum of π_ij over the nodes at each distance: 1, 2, and so on.
    pub fn by_distance(&self) -> impl Iterator<Item = f64> {
        self.ends.windows(2).map(|ends| {
            self.nodes[ends[0]..ends[1]].iter().map(|&node| self.row[node as usize]).sum()
        })
    }

    /// Clears the previous row and sets the distribution to the start.
    fn begin(&mut self, start: Node, nodes: usize) {
        for &node in &self.nodes {
            self.row[node as usize] = 0.0;
            self.current[node as usize] = 0.0;
            self.seen[node as usize] = false;
        }
        for list in [&mut self.row, &mut self.current, &mut self.next] {
            list.resize(nodes, 0.0);
        }
        self.seen.resize(nodes, false);
        self.nodes.clear();
        self.nodes.push(start);
        self.ends.clear();
        self.ends.push(1);
        self.current[start as usize] = 1.0;
        self.seen[start as usize] = true;
    }
}
