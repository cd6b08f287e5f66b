//! Uniform draws from all components other than the centre's.

use crate::graph::{Components, Node};
use crate::rng::Rng;

/// All nodes ordered by component: the nodes of the other components are all but one contiguous
/// range.
pub(super) struct OtherComponents {
    members: Vec<Node>,
    /// For each node the range of its component in `members`, as (start, end). Empty if the graph
    /// is connected.
    range: Vec<(u32, u32)>,
}

impl OtherComponents {
    /// Stands for all nodes of the other components in a list of items.
    pub(super) const ITEM: u32 = u32::MAX;

    pub(super) fn new(components: &Components, nodes: usize) -> Self {
        if components.len() <= 1 {
            return Self { members: vec![], range: vec![] };
        }
        let mut starts = Vec::with_capacity(components.len());
        let mut total = 0;
        for size in components.sizes() {
            starts.push(total);
            total += *size as u32;
        }
        let mut next = starts.clone();
        let mut members = vec![0; nodes];
        for node in 0..nodes as Node {
            let next = &mut next[components.of(node)];
            members[*next as usize] = node;
            *next += 1;
        }
        let range =
            (0..nodes as Node).map(|node| components.of(node)).map(|c| (starts[c], next[c]));
        Self { range: range.collect(), members }
    }

    /// Draws a node of another component than the centre's. The graph must not be connected.
    pub(super) fn draw(&self, centre: Node, rng: &mut Rng) -> Node {
        let (start, end) = self.range[centre as usize];
        self.members[index_outside(rng, start, end, self.members.len())]
    }
}

/// Draws an index in 0..n that is not in start..end.
pub(super) fn index_outside(rng: &mut Rng, start: u32, end: u32, n: usize) -> usize {
    let excluded = (end - start) as usize;
    let index = rng.below(n - excluded);
    if index >= start as usize { index + excluded } else { index }
}
