//! The diameter of a graph, the largest finite distance, by few searches.
//!
//! # Derivation
//!
//! A search from v gives its eccentricity e(v), and bounds that of every other node w of the
//! component: max(e(v) − d(v,w), d(v,w)) ≤ e(w) ≤ e(v) + d(v,w). A node whose upper bound is not
//! above the largest eccentricity found so far needs no search. Alternating between the nodes
//! with the largest upper and the smallest lower bound takes a few dozen searches in real graphs
//! (Takes and Kosters, *Computing the eccentricity distribution of large graphs*, 2013). Regular
//! ones such as a ring need one per node: hence the limit.
//!
//! The bounds need d(v,w) = d(w,v). Of a directed graph the diameter is known only after a search from
//! every node; fewer give a lower bound.

use std::cmp::Reverse;
use std::ops::ControlFlow;

use super::bfs::{MultiSourceBfs, SOURCES};
use super::levels::Levels;
use crate::budget::product;
use crate::graph::{Components, Graph, Node};

/// Bounds on the diameter after some searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diameter {
    /// Some two nodes are this far apart.
    pub at_least: u32,
    /// No two nodes are farther apart than this.
    pub at_most: u32,
}

impl Diameter {
    /// Whether the bounds meet.
    pub fn is_exact(self) -> bool {
        self.at_least == self.at_most
    }

    /// Bounds the largest finite distance by at most `searches` searches of the whole graph; those
    /// of a component count by its nodes.
    pub fn new(graph: &Graph, components: &Components, searches: usize) -> Self {
        Self::until(graph, components, searches, |_| false)
    }

    /// The same, but no component is searched further once its bounds are known well `enough`.
    /// Mostly one search from a central node tells whether the diameter exceeds some number.
    pub fn until(
        graph: &Graph,
        components: &Components,
        searches: usize,
        enough: impl Fn(Self) -> bool,
    ) -> Self {
        let n = graph.nodes();
        if graph.is_directed() {
            return Self::of_directed(graph, searches, enough);
        }
        let mut found = Self { at_least: 0, at_most: 0 };
        let mut search = Search {
            left: product([searches, n]),
            levels: Levels::default(),
            lower: vec![0; n],
            upper: vec![0; n],
        };
        // Large components first: a component of k nodes has a diameter below k, so most small
        // ones need no search.
        for nodes in by_size(components, n) {
            if nodes.len() <= found.at_least as usize + 1 {
                break;
            }
            let one = search.component(graph, nodes, found.at_least, &enough);
            found.at_least = found.at_least.max(one.at_least);
            found.at_most = found.at_most.max(one.at_most);
        }
        Self { at_most: found.at_most.max(found.at_least), ..found }
    }

    /// Searches along the arcs and against them, from nodes that are spread over the rows; from all of
    /// them where that takes a second or two.
    fn of_directed(graph: &Graph, searches: usize, enough: impl Fn(Self) -> bool) -> Self {
        /// Nodes × (nodes + arcs).
        const VISITS: u64 = 4_000_000_000;
        let n = graph.nodes();
        let mut found = Self { at_least: 0, at_most: n.saturating_sub(1) as u32 };
        let mut levels = Levels::default();
        for node in (0..n as Node).step_by(n.div_ceil(searches.max(1)).max(1)) {
            levels.search(graph, &[node]);
            found.at_least = found.at_least.max(levels.eccentricity());
            levels.search_back(graph, &[node]);
            found.at_least = found.at_least.max(levels.eccentricity());
            if enough(found) {
                return found;
            }
        }
        let quick = product([n, n + graph.arcs()]) <= VISITS && found.at_least <= LONG;
        if searches >= n {
            found.at_most = found.at_least;
        } else if searches > 2 && quick {
            found.at_least = longest(graph);
            found.at_most = found.at_least;
        }
        found
    }
}

/// The largest finite distance, by searches from all nodes.
fn longest(graph: &Graph) -> u32 {
    let nodes: Vec<Node> = (0..graph.nodes() as Node).collect();
    let mut bfs = MultiSourceBfs::new(graph);
    let mut longest = 0;
    for sources in nodes.chunks(SOURCES) {
        // The closure never stops the search.
        let _ = bfs.run(sources, |hops, _, _| {
            longest = longest.max(hops);
            ControlFlow::Continue(())
        });
    }
    longest
}

/// Distances above this are long.
const LONG: u32 = 128;

/// Whether distances are so long that searches from many sources at once are not worth it: they
/// reach a node at different times, up to once for each source. Two searches tell.
pub(crate) fn has_long_distances(graph: &Graph, components: &Components) -> bool {
    Diameter::new(graph, components, 2).at_least > LONG
}

/// The nodes of each component, the largest first.
fn by_size(components: &Components, nodes: usize) -> impl Iterator<Item = Vec<Node>> {
    let mut members: Vec<Node> = (0..nodes as Node).collect();
    members.sort_by_key(|&node| {
        let component = components.of(node);
        (Reverse(components.sizes()[component]), component)
    });
    let mut start = 0;
    std::iter::from_fn(move || {
        let size = components.sizes()[components.of(*members.get(start)?)];
        start += size;
        Some(members[start - size..start].to_vec())
    })
}

/// Buffers that serve all components.
struct Search {
    /// How many nodes may still be visited.
    left: u64,
    levels: Levels,
    /// Bounds of the eccentricity of each node.
    lower: Vec<u32>,
    upper: Vec<u32>,
}

impl Search {
    fn component(
        &mut self,
        graph: &Graph,
        mut open: Vec<Node>,
        at_least: u32,
        enough: impl Fn(Diameter) -> bool,
    ) -> Diameter {
        let Self { left, levels, lower, upper } = self;
        let mut found = Diameter { at_least, at_most: open.len() as u32 - 1 };
        for &node in &open {
            (lower[node as usize], upper[node as usize]) = (0, found.at_most);
        }
        let mut from_upper = false;
        let size = open.len() as u64;
        while !open.is_empty() && *left > 0 && !enough(found) {
            *left = left.saturating_sub(size);
            // Ties go to the node of highest degree, which is likely to be central.
            let degree = |node: Node| graph.degree(node);
            let chosen = if from_upper {
                open.iter().copied().max_by_key(|&v| (upper[v as usize], degree(v)))
            } else {
                open.iter().copied().min_by_key(|&v| (lower[v as usize], Reverse(degree(v))))
            };
            from_upper = !from_upper;
            let Some(chosen) = chosen else { break };
            levels.search(graph, &[chosen]);
            let eccentricity = levels.eccentricity();
            found.at_least = found.at_least.max(eccentricity);
            for hops in 0..levels.len() {
                for &node in levels.level(hops) {
                    let (hops, node) = (hops as u32, node as usize);
                    lower[node] = lower[node].max(hops).max(eccentricity - hops);
                    upper[node] = upper[node].min(eccentricity + hops);
                }
            }
            open.retain(|&node| node != chosen && upper[node as usize] > found.at_least);
            let largest = open.iter().map(|&node| upper[node as usize]).max();
            found.at_most = largest.unwrap_or(0).max(found.at_least);
        }
        found
    }
}
