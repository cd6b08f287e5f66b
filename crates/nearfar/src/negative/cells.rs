//! The nodes by nearest landmark and by the hops to it.

use crate::distance::{HopCell, Landmarks};
use crate::graph::Node;

/// A cell holds the nodes of one landmark at one depth, the hops to the landmark.
pub(super) struct Cells {
    /// Nodes in the order of their cells.
    members: Vec<Node>,
    /// The offset in `members` of each cell of each landmark, from depth 0 on, and the end.
    starts: Vec<u32>,
    /// The offset in `starts` of each landmark's first cell, and the end.
    first: Vec<u32>,
}

impl Cells {
    /// The memory for n nodes and p landmarks, while it is built and afterwards.
    pub(super) fn bytes(nodes: usize, landmarks: usize) -> u64 {
        12 * nodes as u64 + 4 * landmarks as u64
    }

    pub(super) fn new<T: HopCell>(landmarks: &Landmarks<T>) -> Self {
        let nodes = || landmarks.nearest.iter().zip(&landmarks.depth);
        // Every depth up to the largest of a landmark has a node: the one before it on a path.
        let mut first = vec![0_u32; landmarks.len() + 1];
        for (&landmark, &depth) in nodes() {
            let cells = &mut first[landmark as usize + 1];
            *cells = (*cells).max(depth + 1);
        }
        for landmark in 0..landmarks.len() {
            first[landmark + 1] += first[landmark];
        }
        let cell = |landmark: u32, depth: u32| (first[landmark as usize] + depth) as usize;
        let mut starts = vec![0_u32; *first.last().unwrap_or(&0) as usize + 1];
        for (&landmark, &depth) in nodes() {
            starts[cell(landmark, depth) + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut members = vec![0; landmarks.nearest.len()];
        for (node, (&landmark, &depth)) in nodes().enumerate() {
            let next = &mut next[cell(landmark, depth)];
            members[*next as usize] = node as Node;
            *next += 1;
        }
        Self { members, starts, first }
    }

    /// The largest depth of a landmark's nodes.
    #[inline]
    pub(super) fn deepest(&self, landmark: usize) -> u32 {
        self.first[landmark + 1] - self.first[landmark] - 1
    }

    /// How many nodes of a landmark have a depth.
    #[inline]
    pub(super) fn count(&self, landmark: usize, depth: u32) -> u32 {
        let cell = (self.first[landmark] + depth) as usize;
        self.starts[cell + 1] - self.starts[cell]
    }

    /// The nodes of the landmarks from one to another.
    #[inline]
    pub(super) fn of(&self, landmarks: (u32, u32)) -> &[Node] {
        let start = |landmark: u32| self.starts[self.first[landmark as usize] as usize] as usize;
        &self.members[start(landmarks.0)..start(landmarks.1)]
    }

    /// The nodes of a landmark with a depth from `low` to `high`; `low` is at most `high`.
    #[inline]
    pub(super) fn between(&self, landmark: usize, low: u32, high: u32) -> &[Node] {
        let (first, end) = (self.first[landmark], self.first[landmark + 1]);
        let cell = |depth: u32| self.starts[first.saturating_add(depth).min(end) as usize] as usize;
        &self.members[cell(low)..cell(high.saturating_add(1))]
    }
}
