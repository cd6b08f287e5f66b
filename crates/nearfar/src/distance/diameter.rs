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

use std::cmp::Reverse;

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
        let mut found = Self { at_least: 0, at_most: 0 };
        let n = graph.nodes();
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
}

/// Whether distances are so long that searches from many sources at once are not worth it: they
/// reach a node at different times, up to once for each source. Two searches tell.
pub(crate) fn has_long_distances(graph: &Graph, components: &Components) -> bool {
    const LONG: u32 = 128;
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
