//! Negatives drawn some passes ahead.
//!
//! Where the distances of a centre come from a row of a large table or from a search, changing the
//! centre takes longer than drawing. So the negatives of several passes are drawn at a time. Their
//! streams are named by pass and node: the result is the same as if each pass drew its own.

use std::ops::{ControlFlow, Range};

use rayon::prelude::*;

use super::sampling::{PairSources, Sampling};
use crate::error::Result;
use crate::graph::Node;
use crate::rng::Rng;

/// The negatives of some passes.
#[derive(Default)]
pub(super) struct NegativesAhead {
    passes: Range<u64>,
    /// By block and pass: the negatives of all windows, by centre.
    draws: Vec<Vec<Vec<Node>>>,
}

/// For how many passes negatives are drawn at a time, if each has so many bytes of them.
pub(super) fn passes_ahead(passes: usize, bytes: u64) -> usize {
    /// Bytes that may be kept.
    const BYTES: u64 = 64_000_000;
    /// Beyond so many passes a visit of a centre takes no longer per draw.
    const MOST: usize = 100;
    ((BYTES / bytes.max(1)) as usize).min(MOST).clamp(1, passes.max(1))
}

impl NegativesAhead {
    /// Draws from this pass on, unless that was done before. `keep_going` is asked with the completed
    /// fraction.
    pub(super) fn draw(
        &mut self,
        sources: PairSources<'_>,
        sampling: Sampling,
        pass: u64,
        mut keep_going: impl FnMut(f64) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        if self.left(pass) > 0 {
            return Ok(ControlFlow::Continue(()));
        }
        // None are complete until all are drawn.
        self.passes = 0..0;
        let passes = pass..pass + sampling.ahead as u64;
        let blocks = sources.blocks();
        self.draws.resize_with(blocks, || vec![Vec::new(); sampling.ahead]);
        let group = 2 * rayon::current_num_threads();
        for (turn, some) in self.draws.chunks_mut(group).enumerate() {
            let first = turn * group;
            if keep_going(first as f64 / blocks as f64)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            some.par_iter_mut().enumerate().for_each(|(at, draws)| {
                let block = sources.block(first + at);
                for (pass, draws) in passes.clone().zip(&mut *draws) {
                    // As many as there will be: a list that doubles as it grows takes more.
                    let windows = sources.windows_of(block.clone(), sampling, pass);
                    draws.clear();
                    draws.reserve_exact(windows * sampling.negatives);
                }
                for centre in block {
                    draw(sources, sampling, &passes, centre, draws);
                }
            });
        }
        self.passes = passes;
        Ok(ControlFlow::Continue(()))
    }

    /// For how many passes negatives are drawn, from this one on.
    pub(super) fn left(&self, pass: u64) -> u64 {
        if self.passes.contains(&pass) { self.passes.end - pass } else { 0 }
    }

    /// The negatives of the centres of a block in a pass.
    pub(super) fn of(&self, block: usize, pass: u64) -> &[Node] {
        &self.draws[block][(pass - self.passes.start) as usize]
    }
}

/// Draws the negatives of a centre for all passes.
fn draw(
    sources: PairSources<'_>,
    sampling: Sampling,
    passes: &Range<u64>,
    centre: Node,
    draws: &mut [Vec<Node>],
) {
    let count = sources.negatives_of(centre, sampling);
    let list = |(pass, draws): (u64, &'_ mut Vec<Node>)| {
        let (windows, _) = sources.walks_of(centre, sampling, pass);
        let from = draws.len();
        draws.resize(from + windows * count, 0);
        from
    };
    let starts: Vec<usize> = passes.clone().zip(&mut *draws).map(list).collect();
    let streams = passes.clone().map(|pass| sampling.negatives_stream(centre, pass));
    let lists = draws.iter_mut().zip(starts).map(|(draws, from)| &mut draws[from..]);
    let mut lists: Vec<(Rng, &mut [Node])> = streams.zip(lists).collect();
    sources.negatives.fill_each(centre, &mut lists);
}
