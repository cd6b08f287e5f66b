//! Held-out edges, and the non-edges that they are compared with.
//!
//! Edges are shuffled. To keep the rest connected, the edges of a random spanning forest (Kruskal's
//! algorithm in shuffled order) are never held out. Of the others, the first ones are.
//!
//! In a directed graph edges are arcs, and so are non-edges: ordered pairs without an arc from the first
//! node to the second. The graph stays connected if its arcs connect it in whatever direction.

use std::sync::Arc;

use hashbrown::HashSet;

use crate::error::{Error, Problem, Result};
use crate::graph::{EdgeList, Graph, Node, Origin};
use crate::rng::{Purpose, Rng};

/// A graph without some of its edges.
#[derive(Clone, Debug)]
pub struct HeldOut {
    /// The remaining graph, with all nodes.
    pub rest: Arc<Graph>,
    /// The held-out edges.
    pub edges: Vec<(Node, Node)>,
    /// Number of edges requested.
    pub asked: usize,
    /// The held-out arcs whose reverse is no arc, reversed; none in an undirected graph.
    pub reversed: Vec<(Node, Node)>,
    /// As many node pairs without an edge in the whole graph.
    pub non_edges: Vec<(Node, Node)>,
    /// Edges of `rest` to train a classifier on, at most 20 000.
    pub train_edges: Vec<(Node, Node)>,
    /// As many node pairs without an edge in the whole graph, disjoint from `non_edges`.
    pub train_non_edges: Vec<(Node, Node)>,
}

/// Most training edges of a classifier: over a hundred for each of its weights, of which it has one
/// per dimension.
const MAX_TRAIN_EDGES: usize = 20_000;

/// Holds out a fraction of the edges, at least one, and draws non-edges to compare them with.
pub fn hold_out(graph: &Graph, ratio: f64, keep_connected: bool, seed: u64) -> Result<HeldOut> {
    let mut edges: Vec<(Node, Node, f32)> =
        graph.edges_once().map(|(a, b, weight)| (a, b, weight.unwrap_or(1.0))).collect();
    let requested = ((ratio * edges.len() as f64).round() as usize).max(1);
    Rng::new(seed, Purpose::HoldOut, 0, 0).shuffle(&mut edges);
    let mut components = DisjointSets::new(if keep_connected { graph.nodes() } else { 0 });
    let mut held = Vec::new();
    let mut kept = Vec::new();
    for (a, b, weight) in edges {
        if held.len() < requested && !(keep_connected && components.join(a, b)) {
            held.push((a, b));
        } else {
            kept.push((a, b, weight));
        }
    }
    if held.is_empty() {
        let problem = Problem::from("the graph has no cycle: removing any edge disconnects it");
        return Err(Error::graph(problem.set("keep-connected", false)));
    }
    if kept.is_empty() {
        let message = "no edge is left to train on; expected a smaller fraction";
        return Err(Error::option("test-ratio", ratio, message));
    }
    let train_edges: Vec<(Node, Node)> =
        kept.iter().take(MAX_TRAIN_EDGES).map(|&(a, b, _)| (a, b)).collect();
    let mut non_edges = non_edges(graph, held.len() + train_edges.len(), seed)?;
    let train_non_edges = non_edges.split_off(held.len());
    let list = EdgeList {
        pairs: kept.iter().map(|&(a, b, _)| (a, b)).collect(),
        weights: graph.is_weighted().then(|| kept.iter().map(|edge| edge.2).collect()),
        ids: graph.ids().clone(),
    };
    let origin = Origin { directed: graph.is_directed(), ..Origin::default() };
    let rest = list.dataset(origin)?.graph;
    let rest = Arc::new(if graph.has_lengths() { rest.with_lengths_of(graph)? } else { rest });
    let reversed = held.iter().map(|&(a, b)| (b, a)).filter(|&(b, a)| !graph.has_edge(b, a));
    let reversed = reversed.filter(|_| graph.is_directed()).collect();
    let (edges, asked) = (held, requested);
    Ok(HeldOut { rest, edges, asked, reversed, non_edges, train_edges, train_non_edges })
}

/// Draws `count` distinct non-edges uniformly.
fn non_edges(graph: &Graph, count: usize, seed: u64) -> Result<Vec<(Node, Node)>> {
    let n = graph.nodes() as u64;
    let directed = graph.is_directed();
    let pairs = if directed { n * (n - 1) } else { n * (n - 1) / 2 };
    let all = pairs - graph.edges() as u64;
    if all < count as u64 {
        return Err(Error::graph(format!(
            "the evaluation needs {count} node pairs without an edge, and the graph has only {all}; \
             link prediction needs a sparser graph"
        )));
    }
    let mut rng = Rng::new(seed, Purpose::NonEdge, 0, 0);
    if all < 4 * count as u64 {
        // Rejection would be slow; the graph is small or dense, so list all non-edges.
        let nodes = 0..graph.nodes() as Node;
        let mut pairs: Vec<(Node, Node)> = nodes
            .clone()
            .flat_map(|a| nodes.clone().map(move |b| (a, b)))
            .filter(|&(a, b)| (a < b || (directed && b < a)) && !graph.has_edge(a, b))
            .collect();
        rng.shuffle(&mut pairs);
        pairs.truncate(count);
        return Ok(pairs);
    }
    let mut seen = HashSet::with_capacity_and_hasher(count, foldhash::fast::FixedState::default());
    let mut pairs = Vec::with_capacity(count);
    while pairs.len() < count {
        let [a, b] = [(); 2].map(|()| rng.below(graph.nodes()) as Node);
        let pair = if directed { (a, b) } else { (a.min(b), a.max(b)) };
        if a != b && !graph.has_edge(a, b) && seen.insert(pair) {
            pairs.push(pair);
        }
    }
    Ok(pairs)
}

/// Union-find over nodes.
struct DisjointSets(Vec<Node>);

impl DisjointSets {
    fn new(nodes: usize) -> Self {
        Self((0..nodes as Node).collect())
    }

    /// Joins the sets of two nodes; returns whether they were different.
    fn join(&mut self, a: Node, b: Node) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b) as usize] = a.min(b);
        a != b
    }

    fn root(&mut self, mut node: Node) -> Node {
        while self.0[node as usize] != node {
            // Path halving.
            let above = self.0[self.0[node as usize] as usize];
            self.0[node as usize] = above;
            node = above;
        }
        node
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::{Components, NodeIds};

    fn graph(n: usize, pairs: &[(Node, Node)], weights: Option<Vec<f32>>) -> Graph {
        let ids = NodeIds::Range { start: 0, len: n };
        EdgeList { pairs: pairs.to_vec(), weights, ids }.build().unwrap().0
    }

    proptest! {
        #[test]
        fn held_out_and_remaining_edges_make_the_graph(
            pairs in prop::collection::vec((0_u32..40, 0_u32..40), 30..120),
            ratio in 0.05_f64..0.6,
            keep_connected: bool,
            seed in 0_u64..9,
        ) {
            let weights = (0..pairs.len()).map(|at| at as f32 + 1.0).collect();
            let whole = graph(40, &pairs, Some(weights));
            let cycles = whole.edges() + Components::new(&whole).len() - 40;
            let held = hold_out(&whole, ratio, keep_connected, seed);
            if cycles == 0 && keep_connected {
                let error = held.err().map(|error| error.to_string()).unwrap_or_default();
                prop_assert!(error.contains("no cycle"), "a forest: {}", error);
                return Ok(());
            }
            let held = held.unwrap();
            prop_assert_eq!(held.rest.nodes(), 40);
            prop_assert_eq!(held.rest.edges() + held.edges.len(), whole.edges());
            for &(a, b) in &held.edges {
                prop_assert!(whole.has_edge(a, b) && !held.rest.has_edge(a, b));
            }
            for node in 0..40 {
                for (at, &other) in held.rest.neighbours(node).iter().enumerate() {
                    let before = whole.neighbours(node).binary_search(&other).unwrap();
                    let weight = |graph: &Graph, at: usize| graph.weights(node).unwrap()[at].to_bits();
                    prop_assert_eq!(weight(&held.rest, at), weight(&whole, before));
                }
            }
            let components = |graph: &Graph| Components::new(graph).len();
            if keep_connected {
                prop_assert_eq!(components(&held.rest), components(&whole));
                // As many as requested, or all that are not in the spanning forest.
                prop_assert_eq!(held.edges.len(), held.asked.min(cycles));
            } else {
                prop_assert_eq!(held.edges.len(), held.asked);
            }
            let mut non_edges = [&held.non_edges[..], &held.train_non_edges].concat();
            prop_assert_eq!(held.non_edges.len(), held.edges.len());
            prop_assert_eq!(held.train_non_edges.len(), held.train_edges.len());
            prop_assert!(non_edges.iter().all(|&(a, b)| a < b && !whole.has_edge(a, b)));
            let count = non_edges.len();
            non_edges.sort_unstable();
            non_edges.dedup();
            prop_assert_eq!(non_edges.len(), count, "pairs are distinct");
        }
    }

    /// A path on 8 nodes has 21 non-edges; 5 are drawn by rejection, 20 from the list.
    #[test]
    fn non_edges_are_uniform() {
        let path: Vec<(Node, Node)> = (1..8).map(|node| (node - 1, node)).collect();
        let path = graph(8, &path, None);
        for count in [5, 20] {
            let mut times = [[0_u32; 8]; 8];
            for seed in 0..2100 {
                for (a, b) in non_edges(&path, count, seed).unwrap() {
                    times[a as usize][b as usize] += 1;
                }
            }
            let expected = 100 * count as u32;
            for (a, b) in (0..8).flat_map(|b: usize| (0..b).map(move |a| (a, b))) {
                let found = times[a][b];
                let edge = b - a == 1;
                assert!(
                    if edge { found == 0 } else { found.abs_diff(expected) < 110 },
                    "{a} {b} {found}"
                );
            }
        }
    }

    #[test]
    fn graphs_without_enough_edges_or_non_edges_are_rejected() {
        let tree = graph(4, &[(0, 1), (1, 2), (1, 3)], None);
        assert!(
            hold_out(&tree, 0.3, true, 0)
                .unwrap_err()
                .to_string()
                .contains("use --keep-connected false")
        );
        assert_eq!(hold_out(&tree, 0.3, false, 0).unwrap().edges.len(), 1);
        assert!(
            hold_out(&tree, 0.99, false, 0)
                .unwrap_err()
                .to_string()
                .contains("--test-ratio 0.99: no edge is left")
        );
        let full = graph(4, &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], None);
        assert!(
            hold_out(&full, 0.3, true, 0).unwrap_err().to_string().contains("the graph has only 0")
        );
    }
}
