//! Windows that slide along walks.
//!
//! A walk of L nodes has L − C + 1 windows of C: each begins one node later, and its first node is
//! the centre. Walks are stored once; a window is a position in them. Positions are sorted by the
//! block of the centre, and within a block by the centre.

use rayon::prelude::*;

use super::sampling::{PairSources, Sampling};
use crate::graph::Node;

/// The walks of a pass, and where windows begin in them.
pub(super) struct Windows {
    context: usize,
    /// By block of the start node: the walks, one after the other.
    walks: Vec<Vec<Node>>,
    /// By block of the start node and block of the centre: positions in `walks`.
    positions: Vec<Vec<Vec<u32>>>,
}

/// The windows with centres in one block.
pub(super) struct ByCentre<'a> {
    windows: &'a Windows,
    first: Node,
    /// `starts[centre - first]` is where its windows begin in `sorted`.
    starts: Vec<usize>,
    /// Block of the start node, and position in its walks.
    sorted: Vec<(u32, u32)>,
}

impl Windows {
    /// Samples the walks of a pass.
    pub(super) fn sample(sources: PairSources<'_>, sampling: Sampling, pass: u64) -> Self {
        let Sampling { length, context, .. } = sampling;
        let blocks = sources.blocks();
        let sample = |block: usize| {
            let mut walks: Vec<Node> = vec![];
            sources.walks(sampling, pass, sources.block(block), |_, nodes| {
                let count = nodes.len() / length;
                for walk in 0..count {
                    walks.extend(nodes[walk..].iter().step_by(count));
                }
            });
            let mut positions = vec![vec![]; blocks];
            for walk in 0..walks.len() / length {
                for at in walk * length..=(walk + 1) * length - context {
                    positions[walks[at] as usize / sources.rows].push(at as u32);
                }
            }
            (walks, positions)
        };
        let (walks, positions) = (0..blocks).into_par_iter().map(sample).unzip();
        Self { context, walks, positions }
    }

    /// The windows with centres in a block.
    pub(super) fn by_centre(&self, block: usize, sources: PairSources<'_>) -> ByCentre<'_> {
        let nodes = sources.block(block);
        let centre =
            |start: usize, at: u32| (self.walks[start][at as usize] - nodes.start) as usize;
        let mut starts = vec![0; nodes.len() + 1];
        let positions = || {
            let by_start = self.positions.iter().enumerate();
            by_start.flat_map(|(start, list)| list[block].iter().map(move |&at| (start, at)))
        };
        for (start, at) in positions() {
            starts[centre(start, at) + 1] += 1;
        }
        for row in 0..nodes.len() {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut sorted = vec![(0, 0); starts[nodes.len()]];
        for (start, at) in positions() {
            let slot = &mut next[centre(start, at)];
            sorted[*slot] = (start as u32, at);
            *slot += 1;
        }
        ByCentre { windows: self, first: nodes.start, starts, sorted }
    }
}

impl ByCentre<'_> {
    /// The number of windows.
    pub(super) fn len(&self) -> usize {
        self.sorted.len()
    }

    /// The windows of a centre, without the centre.
    pub(super) fn of(
        &self,
        centre: Node,
    ) -> impl ExactSizeIterator<Item = std::slice::Iter<'_, Node>> {
        let row = (centre - self.first) as usize;
        let windows = &self.sorted[self.starts[row]..self.starts[row + 1]];
        windows.iter().map(|&(start, at)| {
            let at = at as usize;
            self.windows.walks[start as usize][at + 1..at + self.windows.context].iter()
        })
    }
}
