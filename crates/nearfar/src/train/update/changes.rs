//! What changed between the graph of given vectors and another one.

use crate::embedding::Embedding;
use crate::graph::{Graph, Node};

/// For each node of the new graph, how much of its neighbourhood is new.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Changes {
    /// The row of the old vector; `None` for a new node.
    pub(crate) known: Vec<Option<Node>>,
    /// The fraction of its edges, by weight, that changed: 1 for a new node.
    pub(crate) share: Vec<f32>,
}

/// How many vectors an update changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Updated {
    /// Nodes that had no vector.
    pub new: usize,
    /// Nodes with a vector that are not in the graph any more.
    pub removed: usize,
    /// Nodes whose vector changed, as some of their edges did.
    pub moved: usize,
    /// Nodes whose vector is the same as before.
    pub kept: usize,
}

impl Changes {
    /// Compares a graph with that of the old vectors, `before`. Without it, edges are taken as new if
    /// one of their ends is.
    pub(crate) fn new(graph: &Graph, old: &Embedding, before: Option<&Graph>) -> Self {
        let known = old.rows_of(graph);
        let (to, from) = match before {
            None => (vec![], vec![]),
            Some(before) => (rows(before, graph), rows(graph, before)),
        };
        let share = |node: Node| match (known[node as usize], before) {
            (None, _) => 1.0,
            (Some(_), None) => share_of_new(graph, node, &known),
            (Some(_), Some(before)) => match from[node as usize] {
                Some(old) => share_of_changed((graph, node), (before, old), &to),
                None if edges(graph, node).next().is_none() => 0.0,
                None => 1.0,
            },
        };
        let share = (0..graph.nodes() as Node).map(share).collect();
        Self { known, share }
    }

    /// The nodes of which something changed.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = Node> {
        let changed = self.share.iter().enumerate().filter(|(_, share)| **share > 0.0);
        changed.map(|(node, _)| node as Node)
    }

    pub(crate) fn count(&self, old: &Embedding) -> Updated {
        let known = self.known.iter().filter(|row| row.is_some()).count();
        let new = self.known.len() - known;
        let moved = self.nodes().count() - new;
        Updated { new, removed: old.nodes() - known, moved, kept: known - moved }
    }
}

/// For each node of a graph the row of the same id in another one.
fn rows(of: &Graph, other: &Graph) -> Vec<Option<Node>> {
    let find = |node: Node| other.ids().find(&of.ids().get(node));
    (0..of.nodes() as Node).map(find).collect()
}

/// The fraction of a node's edges that lead to new nodes.
fn share_of_new(graph: &Graph, node: Node, known: &[Option<Node>]) -> f32 {
    let (mut new, mut total) = (0.0, 0.0);
    for ((other, _), weight) in edges(graph, node) {
        total += weight;
        new += if known[other as usize].is_none() { weight } else { 0.0 };
    }
    if new > 0.0 { (new / total) as f32 } else { 0.0 }
}

/// Σ|w − w'| / Σ max(w, w') over the edges that a node has or had; `to` leads from old rows to new ones.
fn share_of_changed(
    (graph, node): (&Graph, Node),
    (before, old): (&Graph, Node),
    to: &[Option<Node>],
) -> f32 {
    // In the rows of now; edges to nodes that are gone come first.
    let mut had: Vec<((Option<Node>, bool), f64)> = edges(before, old)
        .map(|((other, into), weight)| ((to[other as usize], into), weight))
        .collect();
    had.sort_unstable_by_key(|&(end, _)| end);
    let (mut changed, mut total) = (0.0, 0.0);
    for ((other, into), weight) in edges(graph, node) {
        let found = had.binary_search_by_key(&(Some(other), into), |&(end, _)| end);
        let earlier = found.map_or(0.0, |at| std::mem::take(&mut had[at].1));
        changed += (weight - earlier).abs();
        total += weight.max(earlier);
    }
    // What was not found is gone.
    let gone: f64 = had.iter().map(|(_, weight)| weight).sum();
    (changed, total) = (changed + gone, total + gone);
    if changed > 0.0 { (changed / total) as f32 } else { 0.0 }
}

/// The edges of a node: the node at the other end, whether the edge is an arc from there, and its weight.
fn edges(graph: &Graph, node: Node) -> impl Iterator<Item = ((Node, bool), f64)> {
    let weights = graph.weights(node);
    let out = graph.neighbours(node).iter().enumerate();
    let out = out
        .map(move |(at, &other)| ((other, false), weights.map_or(1.0, |all| f64::from(all[at]))));
    let sources = if graph.is_directed() { graph.incoming(node) } else { &[] };
    let into = move |&other| ((other, true), f64::from(graph.arc_weight(other, node)));
    out.chain(sources.iter().map(into))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{EdgeList, NodeIds};

    fn graph(pairs: &[(Node, Node)], ids: &[&str], weights: Option<Vec<f32>>) -> Graph {
        let ids = NodeIds::StringIds(ids.iter().copied().collect());
        EdgeList { pairs: pairs.to_vec(), weights, ids }.build().unwrap().0
    }

    fn vectors(ids: &[&str]) -> Embedding {
        let ids = NodeIds::StringIds(ids.iter().copied().collect());
        let values = vec![1.0; ids.len()];
        Embedding::new(ids, 1, values).unwrap()
    }

    fn close(found: &[f32], exact: &[f32]) {
        assert_eq!(found.len(), exact.len());
        found.iter().zip(exact).for_each(|(a, b)| assert!((a - b).abs() < 1e-6, "{found:?}"));
    }

    /// The new node n joins a and b, in another order of rows; d is gone.
    #[test]
    fn without_the_old_graph_edges_of_new_nodes_are_new() {
        let new = graph(&[(0, 1), (1, 2), (2, 3)], &["n", "b", "a", "c"], None);
        let old = vectors(&["a", "b", "c", "d"]);
        let changes = Changes::new(&new, &old, None);
        assert_eq!(changes.known, [None, Some(1), Some(0), Some(2)]);
        close(&changes.share, &[1.0, 0.5, 0.0, 0.0]);
        assert_eq!(changes.count(&old), Updated { new: 1, removed: 1, moved: 1, kept: 2 });
    }

    /// a–b gets weight 3 instead of 1; c–d goes; a–c stays, with weight 2.
    #[test]
    fn with_the_old_graph_every_changed_weight_counts() {
        let ids = ["a", "b", "c", "d"];
        let before = graph(&[(0, 1), (0, 2), (2, 3)], &ids, Some(vec![1.0, 2.0, 4.0]));
        let now = graph(&[(2, 1), (2, 0)], &["c", "b", "a"], Some(vec![3.0, 2.0]));
        let changes = Changes::new(&now, &vectors(&ids), Some(&before));
        close(&changes.share, &[4.0 / 6.0, 2.0 / 3.0, 2.0 / 5.0]);
        let same = Changes::new(&before, &vectors(&ids), Some(&before));
        close(&same.share, &[0.0; 4]);
    }
}
