//! Whom walks meet, exactly: the law that sampled walks only approach.
//!
//! # Derivation
//!
//! A window holds a start i and the C − 1 nodes after it. With P the matrix of steps, the node t
//! steps later is j with probability (Pᵗ)_ij, and a node picked from the window at random with
//!
//! ```text
//! π_ij = 1/(C−1) Σ_{t=1..C−1} (Pᵗ)_ij
//! ```
//!
//! Row i takes C − 1 products of a sparse vector with P: memory for one row, never for n². A node
//! gets its first share in step d(i,j) and in none before, so the row finds the nodes level by
//! level, and their distances come with it.
//!
//! Walks come back: π_ii > 0. Training skips such pairs, which say nothing about i, and does not
//! make up for them. So they are left out here too, and a row sums to 1 − π_ii: to less than one.
//! A node without neighbours meets nobody; its row is empty.

use crate::graph::{Graph, Node};

/// The rows of π for walks that step by the weights of the edges, or to any neighbour alike if
/// there are none.
///
/// ```
/// use nearfar::graph::{ReadOptions, read};
/// use nearfar::positive::{CooccurrenceRow, Cooccurrence};
///
/// let graph = read("builtin:karate", &ReadOptions::default())?.graph;
/// let meetings = Cooccurrence::new(&graph, 2);
/// let mut row = CooccurrenceRow::default();
/// meetings.fill(11, &mut row);
/// // Node 11 has one neighbour, and a window of two nodes holds nobody else.
/// assert_eq!(row.iter().collect::<Vec<_>>(), [(0, 1.0)]);
/// # Ok::<(), nearfar::Error>(())
/// ```
pub struct Cooccurrence<'g> {
    graph: &'g Graph,
    steps: usize,
    /// Σ w over the neighbours of each node, in a weighted graph.
    totals: Option<Vec<f64>>,
}

/// One row of π, and room to compute others in.
#[derive(Clone, Debug, Default)]
pub struct CooccurrenceRow {
    /// The start, then the nodes that were met, in the order of their distance.
    nodes: Vec<Node>,
    /// Where each level ends in `nodes`.
    ends: Vec<usize>,
    /// By node: the row, and where the walk is in this step and in the next. Zero elsewhere.
    row: Vec<f64>,
    now: Vec<f64>,
    next: Vec<f64>,
    seen: Vec<bool>,
}

impl<'g> Cooccurrence<'g> {
    /// Prepares rows for windows of `context` nodes, the start among them.
    pub fn new(graph: &'g Graph, context: usize) -> Self {
        let sums = || (0..graph.nodes() as Node).map(|node| graph.weighted_degree(node)).collect();
        let totals = graph.is_weighted().then(sums);
        Self { graph, steps: context.saturating_sub(1), totals }
    }

    /// How often each node is among the first `places` nodes of a walk, if one begins at every
    /// node; 1 on average. A walk that cannot go on stays where it is.
    pub fn visits(&self, places: usize) -> Vec<f64> {
        let n = self.graph.nodes();
        let mut now = vec![1.0; n];
        let mut sum = now.clone();
        for _ in 1..places {
            let mut next = vec![0.0; n];
            for (node, &mass) in now.iter().enumerate() {
                if self.graph.degree(node as Node) == 0 {
                    next[node] += mass;
                }
                self.steps_from(node as Node, mass, |to, part| next[to as usize] += part);
            }
            now = next;
            sum.iter_mut().zip(&now).for_each(|(sum, now)| *sum += now);
        }
        let share = 1.0 / places.max(1) as f64;
        sum.into_iter().map(|sum| sum * share).collect()
    }

    /// Computes the row of a node into the caller's room.
    pub fn fill(&self, start: Node, out: &mut CooccurrenceRow) {
        out.begin(start, self.graph.nodes());
        let share = 1.0 / self.steps.max(1) as f64;
        for _ in 0..self.steps {
            // Nodes that this step finds are appended; the walk is not there yet.
            for at in 0..out.nodes.len() {
                let node = out.nodes[at];
                let mass = std::mem::take(&mut out.now[node as usize]);
                if mass > 0.0 {
                    self.spread(node, mass, out);
                }
            }
            out.ends.push(out.nodes.len());
            std::mem::swap(&mut out.now, &mut out.next);
            for &node in &out.nodes {
                out.row[node as usize] += share * out.now[node as usize];
            }
        }
    }

    /// Sends what the walk has at a node on to its neighbours.
    fn spread(&self, node: Node, mass: f64, out: &mut CooccurrenceRow) {
        self.steps_from(node, mass, |to, part| {
            out.next[to as usize] += part;
            if !std::mem::replace(&mut out.seen[to as usize], true) {
                out.nodes.push(to);
            }
        });
    }

    /// Divides what the walk has at a node among its neighbours.
    fn steps_from(&self, node: Node, mass: f64, mut send: impl FnMut(Node, f64)) {
        let neighbours = self.graph.neighbours(node);
        if let (Some(totals), Some(weights)) = (&self.totals, self.graph.weights(node)) {
            let unit = mass / totals[node as usize];
            for (&to, &weight) in neighbours.iter().zip(weights) {
                send(to, unit * f64::from(weight));
            }
        } else {
            let part = mass / neighbours.len() as f64;
            for &to in neighbours {
                send(to, part);
            }
        }
    }
}

impl CooccurrenceRow {
    /// The nodes that walks meet, the start aside, nearest first, with their probabilities.
    pub fn iter(&self) -> impl Iterator<Item = (Node, f64)> {
        let met = self.nodes.get(1..).unwrap_or_default();
        met.iter().map(|&node| (node, self.row[node as usize]))
    }

    /// The probability to meet some node at each distance: 1, 2, and so on.
    pub fn by_distance(&self) -> impl Iterator<Item = f64> {
        self.ends.windows(2).map(|ends| {
            self.nodes[ends[0]..ends[1]].iter().map(|&node| self.row[node as usize]).sum()
        })
    }

    /// Clears what an earlier row left behind, and puts the walk at its start.
    fn begin(&mut self, start: Node, nodes: usize) {
        for &node in &self.nodes {
            self.row[node as usize] = 0.0;
            self.now[node as usize] = 0.0;
            self.seen[node as usize] = false;
        }
        for list in [&mut self.row, &mut self.now, &mut self.next] {
            list.resize(nodes, 0.0);
        }
        self.seen.resize(nodes, false);
        self.nodes.clear();
        self.nodes.push(start);
        self.ends.clear();
        self.ends.push(1);
        self.now[start as usize] = 1.0;
        self.seen[start as usize] = true;
    }
}
