//! Vectors of nodes that have none, from those of their neighbours.
//!
//! # Derivation
//!
//! The vectors of neighbours are near each other, so the best guess at the vector of a node, from its
//! edges alone, is the weighted mean of its neighbours' vectors. Nodes that are joined to known ones
//! only by other unknown ones follow outwards, hop by hop; then all unknown ones are averaged
//! [`SWEEPS`] times more, so that those of later hops count for earlier ones too. Means are shorter
//! than what they are taken of, so each is made as long as the known vectors are on average. (On
//! cora and pubmed, with 5 % of the nodes hidden, this classified as well as any other rule for the
//! length and the weights that was tried; `docs/update.md`.)
//!
//! Known vectors never change. Nodes without a path to a known one get none. Arcs of a directed graph
//! count in both directions: a sink has neighbours too.

use rayon::prelude::*;

use super::Embedding;
use crate::error::{Error, Problem, Result};
use crate::graph::{Graph, Node};

/// How often all means are taken again.
const SWEEPS: usize = 4;

/// Rows over which sums are taken, then added in order.
const CHUNK: usize = 4096;

impl Embedding {
    /// Vectors of nodes that have none here, from their edges: `graph` holds the edges between them,
    /// and to nodes with vectors. No vector changes; edges between nodes with vectors do not matter.
    /// The result has the unseen nodes of the graph in its order.
    ///
    /// ```
    /// use nearfar::embedding::Embedding;
    /// use nearfar::graph::{EdgeList, NodeIds};
    /// let ids = NodeIds::StringIds(["ann", "bob"].into_iter().collect());
    /// let embedding = Embedding::new(ids, 2, vec![1.0, 0.0, 0.0, 1.0])?;
    /// let ids = NodeIds::StringIds(["eve", "ann"].into_iter().collect());
    /// let edges = EdgeList { pairs: vec![(0, 1)], weights: None, ids };
    /// let unseen = embedding.transform(&edges.build()?.0)?;
    /// assert_eq!(unseen.ids().get(0), "eve");
    /// assert_eq!(unseen.vector(0), [1.0, 0.0]);
    /// # Ok::<(), nearfar::Error>(())
    /// ```
    pub fn transform(&self, graph: &Graph) -> Result<Self> {
        self.check_known(graph)?;
        let known = self.rows_of(graph);
        let unseen: Vec<Node> =
            (0..graph.nodes() as Node).filter(|&node| known[node as usize].is_none()).collect();
        if unseen.is_empty() {
            return Err(Error::graph("every node of the graph has a vector already"));
        }
        let mut rows = vec![0.0; graph.nodes() * self.dim];
        if let Some(&node) = self.extend(graph, &known, self.dim, &mut rows).first() {
            let id = graph.ids().get(node);
            let problem = Problem::from(format!("node '{id}' has no path to a node with a vector"));
            return Err(Error::graph(problem.act("leave it out, or add its edges")));
        }
        let vectors = unseen.iter().flat_map(|&node| &rows[node as usize * self.dim..][..self.dim]);
        let vectors = vectors.copied().collect();
        let unseen = Self::new(graph.ids().select(&unseen), self.dim, vectors)?;
        Ok(unseen.with_provenance(self.provenance.clone()))
    }

    /// Fails if no node of the graph has a vector, or if some value is not finite.
    pub(crate) fn check_known(&self, graph: &Graph) -> Result<()> {
        if let Some(at) = self.vectors.par_iter().position_first(|value| !value.is_finite()) {
            let (row, dimension) = (at / self.dim, at % self.dim);
            return Err(Error::conflict(format!(
                "the given vector of node '{}' (row {row}) has {} in dimension {dimension}",
                self.ids.get(row as Node),
                self.vectors[at]
            )));
        }
        let ids = graph.ids();
        if (0..graph.nodes() as Node).any(|node| self.ids.find(&ids.get(node)).is_some()) {
            return Ok(());
        }
        Err(Error::graph(format!(
            "no node of the graph has a given vector: they are of nodes such as '{}', the graph has \
             nodes such as '{}'",
            self.ids.get(0),
            if ids.is_empty() { "".into() } else { ids.get(0) }
        )))
    }

    /// For each node of a graph the row of its vector, by id.
    pub(crate) fn rows_of(&self, graph: &Graph) -> Vec<Option<Node>> {
        let find = |node: Node| self.ids.find(&graph.ids().get(node));
        (0..graph.nodes() as Node).into_par_iter().map(find).collect()
    }

    /// Fills rows of `stride` numbers with the `known` vectors, and the rows of other nodes from
    /// those. Returns the nodes, in increasing order, that have no path to a known one; their rows
    /// stay as they are.
    pub(crate) fn extend(
        &self,
        graph: &Graph,
        known: &[Option<Node>],
        stride: usize,
        rows: &mut [f32],
    ) -> Vec<Node> {
        let dim = self.dim;
        let both_ways = graph.is_directed().then(|| graph.without_directions());
        let graph = both_ways.as_ref().unwrap_or(graph);
        rows.par_chunks_exact_mut(stride).zip(known).for_each(|(row, known)| {
            if let Some(known) = known {
                row[..dim].copy_from_slice(self.vector(*known));
            }
        });
        let mut means =
            Means { graph, stride, dim, has: known.iter().map(Option::is_some).collect() };
        let length = mean_length(rows, stride, &means.has);
        let filled = means.outwards(rows);
        for _ in 0..SWEEPS {
            means.write(&filled, rows);
        }
        for &node in &filled {
            let row = &mut rows[node as usize * stride..][..dim];
            let factor = (length / norm(row)) as f32;
            if factor.is_finite() {
                for x in row {
                    *x *= factor;
                }
            }
        }
        (0..graph.nodes() as Node).filter(|&node| !means.has[node as usize]).collect()
    }
}

/// Means over the neighbours that have vectors.
struct Means<'a> {
    graph: &'a Graph,
    stride: usize,
    dim: usize,
    has: Vec<bool>,
}

impl Means<'_> {
    /// Gives vectors to all nodes with a path to one that has one, hop by hop. Returns them.
    fn outwards(&mut self, rows: &mut [f32]) -> Vec<Node> {
        let touches = |node: Node, has: &[bool]| {
            self.graph.neighbours(node).iter().any(|&other| has[other as usize])
        };
        let nodes = 0..self.graph.nodes() as Node;
        let mut hop: Vec<Node> =
            nodes.filter(|&node| !self.has[node as usize] && touches(node, &self.has)).collect();
        let mut filled = vec![];
        while !hop.is_empty() {
            self.write(&hop, rows);
            for &node in &hop {
                self.has[node as usize] = true;
            }
            let others = hop.iter().flat_map(|&node| self.graph.neighbours(node)).copied();
            let mut next: Vec<Node> = others.filter(|&node| !self.has[node as usize]).collect();
            next.sort_unstable();
            next.dedup();
            filled.append(&mut hop);
            hop = next;
        }
        filled
    }

    /// Writes the means of some nodes, all taken before any is written.
    fn write(&self, nodes: &[Node], rows: &mut [f32]) {
        let means: Vec<Vec<f32>> = nodes.par_iter().map(|&node| self.mean(node, rows)).collect();
        for (&node, mean) in nodes.iter().zip(means) {
            rows[node as usize * self.stride..][..self.dim].copy_from_slice(&mean);
        }
    }

    fn mean(&self, node: Node, rows: &[f32]) -> Vec<f32> {
        let weights = self.graph.weights(node);
        let (mut sum, mut total) = (vec![0.0; self.dim], 0.0);
        for (at, &other) in self.graph.neighbours(node).iter().enumerate() {
            if self.has[other as usize] {
                let weight = weights.map_or(1.0, |weights| weights[at]);
                let row = &rows[other as usize * self.stride..][..self.dim];
                sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += weight * x);
                total += weight;
            }
        }
        for sum in &mut sum {
            *sum /= total;
        }
        sum
    }
}

/// The mean length of the rows that are known.
fn mean_length(rows: &[f32], stride: usize, known: &[bool]) -> f64 {
    let of_chunk = |(rows, known): (&[f32], &[bool])| -> f64 {
        let rows = rows.chunks_exact(stride).zip(known).filter(|(_, known)| **known);
        rows.map(|(row, _)| norm(row)).sum()
    };
    let chunks = (rows.par_chunks(CHUNK * stride), known.par_chunks(CHUNK)).into_par_iter();
    let sums: Vec<f64> = chunks.map(of_chunk).collect();
    sums.iter().sum::<f64>() / known.iter().filter(|known| **known).count() as f64
}

fn norm(row: &[f32]) -> f64 {
    row.iter().map(|x| f64::from(x * x)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{EdgeList, NodeIds};

    fn graph(pairs: &[(Node, Node)], ids: &[&str], weights: Option<Vec<f32>>) -> Graph {
        let ids = NodeIds::StringIds(ids.iter().copied().collect());
        EdgeList { pairs: pairs.to_vec(), weights, ids }.build().unwrap().0
    }

    fn known() -> Embedding {
        let ids = NodeIds::StringIds(["a", "b"].into_iter().collect());
        Embedding::new(ids, 2, vec![3.0, 0.0, 0.0, 5.0]).unwrap()
    }

    /// Of two known vectors of lengths 3 and 5: the mean by weight, with length 4.
    #[test]
    fn a_node_gets_the_weighted_mean_of_its_neighbours_at_the_mean_length() {
        let graph = graph(&[(0, 1), (0, 2)], &["x", "a", "b"], Some(vec![3.0, 1.0]));
        let unseen = known().transform(&graph).unwrap();
        let (x, y) = (3.0 * 3.0, 1.0 * 5.0);
        let scale = 4.0 / f32::hypot(x, y);
        for (found, exact) in unseen.vector(0).iter().zip([x * scale, y * scale]) {
            assert!((found - exact).abs() < 1e-5, "{found} for {exact}");
        }
    }

    /// A path from a to b: in the limit, vectors between are harmonic.
    #[test]
    fn nodes_without_known_neighbours_follow_hop_by_hop() {
        let path = [(0, 1), (1, 2), (2, 3), (3, 4)];
        let unseen = known().transform(&graph(&path, &["a", "x", "y", "z", "b"], None)).unwrap();
        let angle = |row| f32::atan2(unseen.vector(row)[1], unseen.vector(row)[0]);
        assert!(angle(0) < angle(1) && angle(1) < angle(2), "ordered along the path");
        assert!((0..3).all(|row| (norm(unseen.vector(row)) - 4.0).abs() < 1e-5));
    }

    #[test]
    fn what_cannot_be_extended_is_an_error() {
        let transform = |pairs: &[_], ids: &[&str]| {
            known().transform(&graph(pairs, ids, None)).unwrap_err().to_string()
        };
        let far = transform(&[(0, 1), (2, 3)], &["a", "x", "y", "z"]);
        assert!(far.starts_with("node 'y' has no path to a node with a vector"), "{far}");
        let other = transform(&[(0, 1)], &["x", "y"]);
        assert!(other.starts_with("no node of the graph has a given vector"), "{other}");
        let all = transform(&[(0, 1)], &["a", "b"]);
        assert!(all.starts_with("every node of the graph has a vector"), "{all}");
    }

    #[test]
    fn the_same_bytes_on_any_number_of_threads() {
        let n = 3 * CHUNK as Node;
        let ids = NodeIds::Range { start: 0, len: n as usize };
        let pairs = (0..n).flat_map(|a| [(a, (a * 7 + 1) % n), (a, (a + 1) % n)]).collect();
        let graph = EdgeList { pairs, weights: None, ids }.build().unwrap().0;
        let some = NodeIds::StringIds((0..n).step_by(3).map(|id| id.to_string()).collect());
        let vectors = (0..some.len() * 3).map(|at| (at % 17) as f32 - 7.0).collect();
        let embedding = Embedding::new(some, 3, vectors).unwrap();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| embedding.transform(&graph).unwrap().into_vectors())
        };
        assert_eq!(on(1), on(3));
    }
}
