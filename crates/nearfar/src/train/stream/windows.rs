//! Windows that slide along walks longer than they are.
//!
//! A walk of L nodes has L − C + 1 windows of C: each begins one node later, and its first node is
//! the centre. Walks are kept as they are; a window is only a place in them. Places are sorted by
//! the block of the centre, and within a block by the centre.

use rayon::prelude::*;

use super::sampling::{Sampling, Sources};
use crate::graph::Node;

/// The walks of an epoch, and where windows begin in them.
pub(super) struct Windows {
    context: usize,
    /// By block of the start: the walks, one after the other.
    walks: Vec<Vec<Node>>,
    /// By block of the start and block of the centre: places in `walks`.
    places: Vec<Vec<Vec<u32>>>,
}

/// The windows whose centres are in one block.
pub(super) struct ByCentre<'a> {
    windows: &'a Windows,
    first: Node,
    /// `starts[centre - first]` is where its windows begin in `sorted`.
    starts: Vec<usize>,
    /// Block of the start, and place in its walks.
    sorted: Vec<(u32, u32)>,
}

impl Windows {
    /// Takes the walks of an epoch.
    pub(super) fn sample(sources: Sources<'_>, sampling: Sampling, epoch: u64) -> Self {
        let Sampling { length, context, .. } = sampling;
        let blocks = sources.blocks();
        let sample = |block: usize| {
            let mut walks: Vec<Node> = vec![];
            sources.walks(sampling, epoch, sources.block(block), |_, nodes| {
                let together = nodes.len() / length;
                for walk in 0..together {
                    walks.extend(nodes[walk..].iter().step_by(together));
                }
            });
            let mut places = vec![vec![]; blocks];
            for walk in 0..walks.len() / length {
                for at in walk * length..=(walk + 1) * length - context {
                    places[walks[at] as usize / sources.rows].push(at as u32);
                }
            }
            (walks, places)
        };
        let (walks, places) = (0..blocks).into_par_iter().map(sample).unzip();
        Self { context, walks, places }
    }

    /// The windows with centres in a block.
    pub(super) fn by_centre(&self, block: usize, sources: Sources<'_>) -> ByCentre<'_> {
        let nodes = sources.block(block);
        let centre =
            |start: usize, at: u32| (self.walks[start][at as usize] - nodes.start) as usize;
        let mut starts = vec![0; nodes.len() + 1];
        let places = || {
            let of_start = self.places.iter().enumerate();
            of_start.flat_map(|(start, places)| places[block].iter().map(move |&at| (start, at)))
        };
        for (start, at) in places() {
            starts[centre(start, at) + 1] += 1;
        }
        for row in 0..nodes.len() {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut sorted = vec![(0, 0); starts[nodes.len()]];
        for (start, at) in places() {
            let slot = &mut next[centre(start, at)];
            sorted[*slot] = (start as u32, at);
            *slot += 1;
        }
        ByCentre { windows: self, first: nodes.start, starts, sorted }
    }
}

impl ByCentre<'_> {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.sorted.len()
    }

    /// The windows of a centre, without itself.
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
