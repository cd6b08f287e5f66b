//! Small graphs for tests, each a difficult case for some algorithm.

use nearfar::graph::{EdgeList, Graph, Node, NodeIds, Origin};
use nearfar::rng::{Purpose, Rng};

pub(crate) fn graph(nodes: usize, pairs: &[(Node, Node)]) -> Graph {
    let ids = NodeIds::Range { start: 0, len: nodes };
    EdgeList { pairs: pairs.to_vec(), weights: None, ids }.build().unwrap().0
}

pub(crate) fn directed(nodes: usize, pairs: &[(Node, Node)]) -> Graph {
    let ids = NodeIds::Range { start: 0, len: nodes };
    let origin = Origin { directed: true, ..Origin::default() };
    EdgeList { pairs: pairs.to_vec(), weights: None, ids }.dataset(origin).unwrap().graph
}

pub(crate) fn path(nodes: usize) -> Graph {
    let pairs: Vec<_> = (1..nodes as Node).map(|b| (b - 1, b)).collect();
    graph(nodes, &pairs)
}

/// A hub and its leaves, which are two hops apart.
pub(crate) fn star(nodes: usize) -> Graph {
    let pairs: Vec<_> = (1..nodes as Node).map(|leaf| (0, leaf)).collect();
    graph(nodes, &pairs)
}

/// A star with a long path attached, whose last nodes are far from all others.
pub(crate) fn comet(leaves: usize, tail: usize) -> Graph {
    let n = 1 + leaves + tail;
    let mut pairs: Vec<_> = (1..=leaves as Node).map(|leaf| (0, leaf)).collect();
    pairs.extend((leaves as Node..n as Node - 1).map(|a| (a, a + 1)));
    graph(n, &pairs)
}

/// Components of sizes 12 (random), 5 (path), 2, and three isolated nodes.
pub(crate) fn islands() -> Graph {
    let mut pairs: Vec<_> = random_pairs(12, 16, 3);
    pairs.extend([(12, 13), (13, 14), (14, 15), (15, 16), (17, 18)]);
    graph(22, &pairs)
}

pub(crate) fn random(nodes: usize, edges: usize, seed: u64) -> Graph {
    graph(nodes, &random_pairs(nodes, edges, seed))
}

pub(crate) fn random_pairs(nodes: usize, edges: usize, seed: u64) -> Vec<(Node, Node)> {
    let mut rng = Rng::new(seed, Purpose::Edge, 0, 0);
    let mut node = || rng.below(nodes) as Node;
    (0..edges).map(|_| (node(), node())).collect()
}
