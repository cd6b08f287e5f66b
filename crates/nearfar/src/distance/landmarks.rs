//! Distances through landmarks: the paper's compressed distance matrix.
//!
//! Landmarks are a few nodes of high degree. N2P holds for every node i its nearest landmark p_i
//! and the hops to it; P2P holds the exact distances between landmarks. Together they take
//! O(p² + n) memory and bound the distance of any two nodes from above:
//!
//! ```text
//! d(i, k) ≤ N2P(i) + P2P(p_i, p_k) + N2P(k)
//! ```
//!
//! Every component has a landmark, its node of highest degree. Landmarks of different components
//! have no distance, so P2P is stored in blocks, one per component: a thousand isolated nodes cost
//! a thousand cells, not a million.

use super::levels::Levels;
use super::table::{HopCell, HopRows};
use crate::graph::{Components, Graph, Node};

/// Landmarks, the node-to-landmark distances and the blocks of landmark-to-landmark distances.
///
/// Landmarks are numbered 0..p, component by component, and by row within a component.
pub struct Landmarks<T> {
    /// The node that each landmark is.
    pub nodes: Vec<Node>,
    /// For each node the number of its nearest landmark; ties go to the lower row.
    pub nearest: Vec<u32>,
    /// N2P: the hops from each node to its nearest landmark.
    pub depth: Vec<u32>,
    /// For each landmark, the first and the end of the landmarks of its component.
    pub component: Vec<(u32, u32)>,
    p2p: Vec<T>,
    /// For each landmark, the start of its row in `p2p`.
    row_starts: Vec<usize>,
}

impl<T: HopCell> Landmarks<T> {
    /// The `count` nodes of highest degree, and the node of highest degree of every component
    /// without one of them. Ties go to the lower row.
    pub fn choose(graph: &Graph, components: &Components, count: usize) -> Vec<Node> {
        let mut order: Vec<Node> = (0..graph.nodes() as Node).collect();
        order.sort_by_key(|&node| std::cmp::Reverse(graph.degree(node)));
        let mut has_one = vec![false; components.len()];
        let mut chosen = Vec::new();
        for (rank, &node) in order.iter().enumerate() {
            let first = !std::mem::replace(&mut has_one[components.of(node)], true);
            if rank < count || first {
                chosen.push(node);
            }
        }
        chosen.sort_by_key(|&node| (components.of(node), node));
        chosen
    }

    /// The number of cells of P2P for landmarks in the order of [`choose`](Self::choose).
    pub fn cells(components: &Components, chosen: &[Node]) -> u64 {
        let same = |a: &Node, b: &Node| components.of(*a) == components.of(*b);
        chosen.chunk_by(same).map(|block| (block.len() as u64).pow(2)).sum()
    }

    /// Computes the distances, by at most `searches` searches at a time. `None` if one of them does
    /// not fit a cell.
    pub fn new(
        graph: &Graph,
        components: &Components,
        chosen: Vec<Node>,
        searches: usize,
    ) -> Option<Self> {
        let mut component = Vec::with_capacity(chosen.len());
        let mut row_starts = Vec::with_capacity(chosen.len());
        let mut p2p = Vec::new();
        for block in chosen.chunk_by(|a, b| components.of(*a) == components.of(*b)) {
            let start = component.len() as u32;
            for row in 0..block.len() {
                component.push((start, start + block.len() as u32));
                row_starts.push(p2p.len() + row * block.len());
            }
            if block.len() == 1 {
                // The only landmark of a component needs no search.
                p2p.push(T::default());
            } else {
                let cells = HopRows::<T>::new(graph, block, Some(block), searches)?.into_cells();
                // Usually there is one large block, which is not copied.
                if p2p.is_empty() {
                    p2p = cells;
                } else {
                    p2p.extend(cells);
                }
            }
        }
        let (nearest, depth) = nearest(graph, &chosen);
        Some(Self { nodes: chosen, nearest, depth, component, p2p, row_starts })
    }

    /// The number of landmarks.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no landmarks.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The largest distance between two landmarks of a component.
    pub fn largest(&self) -> u32 {
        self.p2p.iter().map(|cell| cell.index() as u32).max().unwrap_or(0)
    }

    /// P2P: the hops from a landmark to the landmarks of its component, in order.
    #[inline]
    pub fn row(&self, landmark: usize) -> &[T] {
        let (start, end) = self.component[landmark];
        let at = self.row_starts[landmark];
        &self.p2p[at..at + (end - start) as usize]
    }
}

/// The nearest landmark of every node and the hops to it. Level by level, a node takes the landmark
/// of lowest row among those of its neighbours in the previous level: every shortest path to a
/// nearest landmark goes through one of them.
fn nearest(graph: &Graph, landmarks: &[Node]) -> (Vec<u32>, Vec<u32>) {
    let mut levels = Levels::default();
    levels.search(graph, landmarks);
    let mut nearest = vec![u32::MAX; graph.nodes()];
    let mut depth = vec![u32::MAX; graph.nodes()];
    for (number, &node) in landmarks.iter().enumerate() {
        nearest[node as usize] = number as u32;
    }
    for hops in 0..levels.len() {
        for &node in levels.level(hops) {
            depth[node as usize] = hops as u32;
            if hops > 0 {
                // Within a component, landmarks are numbered by row.
                let previous = graph.neighbours(node).iter().map(|&other| other as usize);
                let previous = previous.filter(|&other| depth[other] == hops as u32 - 1);
                let landmarks = previous.map(|other| nearest[other]);
                nearest[node as usize] = landmarks.min().unwrap_or(u32::MAX);
            }
        }
    }
    (nearest, depth)
}
