//! The nodes on the map: all, or a sample chosen for coverage.
//!
//! In random order, a node is taken unless it or a neighbour of it was; so every node of the graph is
//! on the map or next to a node that is, as far as the number suffices, hubs do not use it up, and
//! every component is there. What is left of the number is filled in the same order.

use super::Subject;
use crate::graph::{Graph, Node};
use crate::rng::{Purpose, Rng};

pub(super) struct Shown {
    /// In ascending order.
    pub(super) nodes: Vec<Node>,
    /// The share of nodes on the map or next to one that is; `None` without a graph, or if all are.
    pub(super) covered: Option<f64>,
}

impl Shown {
    /// At most so many nodes.
    pub(super) fn new(subject: &Subject, most: usize, seed: u64) -> Self {
        let n = subject.embedding.nodes();
        let mut order: Vec<Node> = (0..n as Node).collect();
        if n <= most {
            return Self { nodes: order, covered: None };
        }
        Rng::new(seed, Purpose::Projection, 3, 0).shuffle(&mut order);
        let Some(graph) = subject.graph else {
            order.truncate(most);
            order.sort_unstable();
            return Self { nodes: order, covered: None };
        };
        let (taken, near) = cover(graph, &order, most);
        let covered = near.iter().filter(|&&near| near).count() as f64 / n as f64;
        let nodes = (0..n as Node).filter(|&node| taken[node as usize]).collect();
        Self { nodes, covered: Some(covered) }
    }
}

/// Which nodes are taken, and which are taken or next to one.
fn cover(graph: &Graph, order: &[Node], most: usize) -> (Vec<bool>, Vec<bool>) {
    let (mut taken, mut near) = (vec![false; order.len()], vec![false; order.len()]);
    let mut left = most;
    for only_uncovered in [true, false] {
        for &node in order {
            let at = node as usize;
            if left == 0 || taken[at] || (only_uncovered && near[at]) {
                continue;
            }
            left -= 1;
            taken[at] = true;
            near[at] = true;
            graph.neighbours(node).iter().for_each(|&other| near[other as usize] = true);
        }
    }
    (taken, near)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{ReadOptions, read};

    #[test]
    fn every_node_is_on_the_map_or_next_to_one() {
        let graph = read("builtin:sparse", &ReadOptions::default()).unwrap().graph;
        let mut order: Vec<Node> = (0..2000).collect();
        Rng::new(1, Purpose::Projection, 3, 0).shuffle(&mut order);
        let (taken, near) = cover(&graph, &order, 1500);
        assert_eq!(taken.iter().filter(|&&taken| taken).count(), 1500);
        assert!(near.iter().all(|&near| near));
        // Too few for all: as many as there may be, and no two of them adjacent.
        let (taken, near) = cover(&graph, &order, 200);
        assert_eq!(taken.iter().filter(|&&taken| taken).count(), 200);
        for node in 0..2000 {
            let beside = graph.neighbours(node).iter().any(|&other| taken[other as usize]);
            assert!(!(taken[node as usize] && beside));
            assert_eq!(near[node as usize], taken[node as usize] || beside);
        }
    }
}
