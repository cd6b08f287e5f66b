//! Nodes by their distance from one centre.

use crate::cancel;
use crate::graph::{Graph, Node};

/// The nodes in the order in which a breadth-first search from a centre visits them, level by
/// level. The queue of the search *is* the list of levels.
#[derive(Clone, Debug, Default)]
pub struct Levels {
    order: Vec<Node>,
    /// The start of each level in `order`, and the end of the last one.
    starts: Vec<usize>,
    seen: Vec<bool>,
}

impl Levels {
    /// The memory of the levels in a graph of n nodes.
    pub fn bytes(nodes: usize) -> u64 {
        nodes as u64 * 5
    }

    /// The levels around a centre.
    pub fn new(graph: &Graph, centre: Node) -> Self {
        let mut levels = Self::default();
        levels.search(graph, &[centre]);
        levels
    }

    /// Finds the levels around the set `centres`, reusing the buffers of an earlier search. In a
    /// directed graph, level d holds the nodes to which the shortest path has d arcs.
    pub fn search(&mut self, graph: &Graph, centres: &[Node]) {
        self.search_along(centres, graph.nodes(), |node| graph.neighbours(node));
    }

    /// The same against the arcs: level d holds the nodes from which the shortest path has d arcs.
    pub fn search_back(&mut self, graph: &Graph, centres: &[Node]) {
        self.search_along(centres, graph.nodes(), |node| graph.incoming(node));
    }

    fn search_along<'g>(
        &mut self,
        centres: &[Node],
        nodes: usize,
        next: impl Fn(Node) -> &'g [Node],
    ) {
        self.forget(nodes);
        self.starts.clear();
        self.starts.push(0);
        for &centre in centres {
            if !std::mem::replace(&mut self.seen[centre as usize], true) {
                self.order.push(centre);
            }
        }
        let mut start = 0;
        while start < self.order.len() {
            cancel::check();
            let end = self.order.len();
            self.starts.push(end);
            for at in start..end {
                for &next in next(self.order[at]) {
                    if !std::mem::replace(&mut self.seen[next as usize], true) {
                        self.order.push(next);
                    }
                }
            }
            start = end;
        }
    }

    /// Marks all nodes as not seen. After a search of a small component, only its nodes.
    fn forget(&mut self, nodes: usize) {
        const SMALL: usize = 16;
        if self.seen.len() == nodes && self.order.len() < nodes / SMALL {
            self.order.iter().for_each(|&node| self.seen[node as usize] = false);
        } else {
            self.seen.clear();
            self.seen.resize(nodes, false);
        }
        self.order.clear();
    }

    /// Appends the nodes that the search did not reach as one more level. Returns their number.
    pub fn append_unreached(&mut self) -> usize {
        let reached = self.order.len();
        if reached < self.seen.len() {
            let unseen = self.seen.iter().enumerate().filter(|(_, seen)| !**seen);
            self.order.extend(unseen.map(|(node, _)| node as Node));
            self.starts.push(self.order.len());
        }
        self.order.len() - reached
    }

    /// The number of levels; level 0 holds the centre.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there is no level.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The nodes at a distance.
    pub fn level(&self, hops: usize) -> &[Node] {
        &self.order[self.starts[hops]..self.starts[hops + 1]]
    }

    /// The largest distance.
    pub fn eccentricity(&self) -> u32 {
        self.len().saturating_sub(1) as u32
    }

    /// The distance of every node by row; `None` where there is no path.
    pub fn hops(&self) -> Vec<Option<u32>> {
        let mut hops = vec![None; self.seen.len()];
        for level in 0..self.len() {
            for &node in self.level(level) {
                hops[node as usize] = Some(level as u32);
            }
        }
        hops
    }
}
