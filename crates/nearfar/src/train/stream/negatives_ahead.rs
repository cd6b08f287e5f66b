//! Negatives drawn some epochs ahead.
//!
//! Where the distances of a centre come from a row of a large table or from a search, coming to
//! the centre takes longer than drawing from it. So one visit draws the negatives of several
//! epochs. Their streams are named by epoch and node: what is drawn is the same as if each epoch
//! drew its own.

use std::ops::{ControlFlow, Range};

use rayon::prelude::*;

use super::sampling::{Sampling, Sources};
use crate::error::Result;
use crate::graph::Node;
use crate::rng::Rng;

/// The negatives of some epochs.
#[derive(Default)]
pub(super) struct Ahead {
    epochs: Range<u64>,
    /// By block and epoch: those of all its windows, centre after centre.
    draws: Vec<Vec<Vec<Node>>>,
}

/// How many of so many epochs are drawn for at a time, if each has so many bytes of negatives.
pub(in crate::train) fn epochs_ahead(epochs: usize, bytes: u64) -> usize {
    /// What may be kept.
    const BYTES: u64 = 64_000_000;
    ((BYTES / bytes.max(1)) as usize).clamp(1, epochs.max(1))
}

impl Ahead {
    /// Draws from this epoch on, unless that was done before. `keep_going(part)` is asked when this part
    /// is done.
    pub(super) fn draw(
        &mut self,
        sources: Sources<'_>,
        sampling: Sampling,
        epoch: u64,
        mut keep_going: impl FnMut(f64) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        if self.left(epoch) > 0 {
            return Ok(ControlFlow::Continue(()));
        }
        // Not complete until all is drawn.
        self.epochs = 0..0;
        let epochs = epoch..epoch + sampling.ahead as u64;
        let blocks = sources.blocks();
        self.draws.resize_with(blocks, || vec![Vec::new(); sampling.ahead]);
        let together = 2 * rayon::current_num_threads();
        for (turn, some) in self.draws.chunks_mut(together).enumerate() {
            let first = turn * together;
            if keep_going(first as f64 / blocks as f64)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            some.par_iter_mut().enumerate().for_each(|(at, draws)| {
                draws.iter_mut().for_each(Vec::clear);
                for centre in sources.block(first + at) {
                    visit(sources, sampling, &epochs, centre, draws);
                }
            });
        }
        self.epochs = epochs;
        Ok(ControlFlow::Continue(()))
    }

    /// From this epoch on, how many are drawn for.
    pub(super) fn left(&self, epoch: u64) -> u64 {
        if self.epochs.contains(&epoch) { self.epochs.end - epoch } else { 0 }
    }

    /// The negatives of the centres of a block in an epoch that was drawn for.
    pub(super) fn of(&self, block: usize, epoch: u64) -> &[Node] {
        &self.draws[block][(epoch - self.epochs.start) as usize]
    }
}

/// Draws for all epochs.
fn visit(
    sources: Sources<'_>,
    sampling: Sampling,
    epochs: &Range<u64>,
    centre: Node,
    draws: &mut [Vec<Node>],
) {
    let count = sources.negatives_of(centre, sampling);
    let list = |(epoch, draws): (u64, &'_ mut Vec<Node>)| {
        let (windows, _) = sources.walks_of(centre, sampling, epoch);
        let from = draws.len();
        draws.resize(from + windows * count, 0);
        from
    };
    let starts: Vec<usize> = epochs.clone().zip(&mut *draws).map(list).collect();
    let streams = epochs.clone().map(|epoch| sampling.negatives_stream(centre, epoch));
    let lists = draws.iter_mut().zip(starts).map(|(draws, from)| &mut draws[from..]);
    let mut lists: Vec<(Rng, &mut [Node])> = streams.zip(lists).collect();
    sources.negatives.fill_each(centre, &mut lists);
}
