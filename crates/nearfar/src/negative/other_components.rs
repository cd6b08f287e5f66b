//! Nodes in other components than the centre's, uniformly.

use crate::graph::{Components, Node};
use crate::rng::Rng;

/// All nodes, component by component: those outside of one are all but a contiguous run.
pub(super) struct Outside {
    members: Vec<Node>,
    /// For each node where its component begins and ends in `members`. Empty if the graph is
    /// connected: nothing is outside then.
    run: Vec<(u32, u32)>,
}

impl Outside {
    /// Stands for all nodes outside of the centre's component in a list of items.
    pub(super) const ITEM: u32 = u32::MAX;

    pub(super) fn new(components: &Components, nodes: usize) -> Self {
        if components.len() <= 1 {
            return Self { members: vec![], run: vec![] };
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
        let run = (0..nodes as Node).map(|node| components.of(node)).map(|c| (starts[c], next[c]));
        Self { run: run.collect(), members }
    }

    /// A node outside of the centre's component. There must be one.
    pub(super) fn draw(&self, centre: Node, rng: &mut Rng) -> Node {
        let (start, end) = self.run[centre as usize];
        let run = (end - start) as usize;
        let at = rng.below(self.members.len() - run);
        self.members[if at >= start as usize { at + run } else { at }]
    }
}
