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

use rayon::prelude::*;

use super::diameter::has_long_distances;
use super::levels::Levels;
use super::table::{Buffers, CellArray, HopCell, measure};
use crate::budget::product;
use crate::graph::{Components, Graph, Node};
use crate::memory;

/// Up to so many searches of the whole graph, searches one by one take no longer than searches from
/// many sources, whose buffers are large.
const ALONE: usize = 16;

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
    /// without one of them; ties go to the lower row.
    pub fn choose(graph: &Graph, components: &Components, count: usize) -> Vec<Node> {
        let key = |node: Node| {
            let degree = Node::MAX - graph.degree(node) as Node;
            (u64::from(degree) << 32) | u64::from(node)
        };
        let mut keys: Vec<u64> = (0..graph.nodes() as Node).map(key).collect();
        let last = count.clamp(1, keys.len().max(1)) - 1;
        let cutoff = match keys.get(last) {
            Some(_) => *keys.select_nth_unstable(last).1,
            None => return Vec::new(),
        };
        let mut first = vec![u64::MAX; components.len()];
        for node in 0..graph.nodes() as Node {
            let first = &mut first[components.of(node)];
            *first = key(node).min(*first);
        }
        let chosen = |&node: &Node| key(node) <= cutoff.max(first[components.of(node)]);
        let mut chosen: Vec<Node> = (0..graph.nodes() as Node).filter(chosen).collect();
        chosen.sort_by_key(|&node| (components.of(node), node));
        chosen
    }

    /// The number of cells of P2P for landmarks in the order of [`choose`](Self::choose).
    pub fn cells(components: &Components, chosen: &[Node]) -> u64 {
        Self::blocks(components, chosen).map(|block| (block.len() as u64).pow(2)).sum()
    }

    /// The landmarks of each component in the order of [`choose`](Self::choose).
    pub(crate) fn blocks<'a>(
        components: &'a Components,
        chosen: &'a [Node],
    ) -> impl Iterator<Item = &'a [Node]> {
        chosen.chunk_by(|a, b| components.of(*a) == components.of(*b))
    }

    /// The most landmarks of a component that are searched from together; 0 if none are.
    pub(crate) fn together(graph: &Graph, components: &Components, chosen: &[Node]) -> usize {
        if has_long_distances(graph, components) {
            return 0;
        }
        let blocks = Self::blocks(components, chosen);
        let large = blocks.filter(|block| is_large(graph, components, block));
        large.map(<[Node]>::len).max().unwrap_or(0)
    }

    /// Computes the distances, by at most `searches` searches at a time. `None` if one of them does
    /// not fit a cell.
    pub fn new(
        graph: &Graph,
        components: &Components,
        chosen: Vec<Node>,
        searches: usize,
    ) -> Option<Self> {
        let together = !has_long_distances(graph, components);
        let (nearest, depth) = nearest(graph, &chosen);
        let mut component = Vec::with_capacity(chosen.len());
        let mut row_starts = Vec::with_capacity(chosen.len());
        let mut p2p: Vec<T> = memory::zeroed(Self::cells(components, &chosen) as usize);
        let mut single = Vec::new();
        let (mut start, mut rest) = (0, &mut p2p[..]);
        for block in Self::blocks(components, &chosen) {
            let size = block.len();
            let (cells, later) = std::mem::take(&mut rest).split_at_mut(size * size);
            rest = later;
            let first = component.len();
            component.extend(std::iter::repeat_n((first as u32, (first + size) as u32), size));
            row_starts.extend((0..size).map(|row| start + row * size));
            start += size * size;
            // The only landmark of a component needs no search.
            if size > 1 {
                if together && is_large(graph, components, block) {
                    if !measure(graph, block, Some(block), searches, cells) {
                        return None;
                    }
                } else {
                    let rows = block.iter().zip(cells.chunks_exact_mut(size));
                    single.extend(rows.map(|(&node, row)| (node, first, row)));
                }
            }
        }
        let buffers = Buffers::default();
        let fits = single.into_par_iter().all(|(node, first, row)| {
            let mut levels = buffers.take(Levels::default);
            levels.search(graph, &[node]);
            let fits = levels.eccentricity() <= T::MOST || reaches(&levels, &depth) <= T::MOST;
            if fits {
                fill(row, &levels, first, &nearest, &depth);
            }
            buffers.put(levels);
            fits
        });
        fits.then_some(Self { nodes: chosen, nearest, depth, component, p2p, row_starts })
    }

    /// The number of landmarks.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no landmarks.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The distances between landmarks, row by row.
    pub fn cells_by_row(&self) -> CellArray<'_> {
        T::array(&self.p2p)
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

/// Whether the landmarks of a component take so many searches that those from many sources at once
/// are worth it.
fn is_large(graph: &Graph, components: &Components, block: &[Node]) -> bool {
    let nodes = components.sizes()[components.of(block[0])];
    product([block.len(), nodes]) > product([ALONE, graph.nodes()])
}

/// The most hops from the centre of the search to a landmark: a node of depth 0.
fn reaches(levels: &Levels, depth: &[u32]) -> u32 {
    let has_landmark = |hops: &usize| levels.level(*hops).iter().any(|&k| depth[k as usize] == 0);
    (0..levels.len()).rev().find(has_landmark).unwrap_or(0) as u32
}

/// Copies the hops to the landmarks of a component, of which `first` is the first.
fn fill<T: HopCell>(row: &mut [T], levels: &Levels, first: usize, nearest: &[u32], depth: &[u32]) {
    for hops in 0..levels.len() {
        for &node in levels.level(hops) {
            if depth[node as usize] == 0 {
                row[nearest[node as usize] as usize - first] = T::from_hops(hops as u32);
            }
        }
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
