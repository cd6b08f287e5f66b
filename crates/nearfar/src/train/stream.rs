//! Training by sampled pairs: the fast trainer.
//!
//! An epoch has two halves. First its pairs are sampled and sorted into buckets ([`Pairs`]). Then
//! the buckets are trained, round by round ([`rounds`]): the tasks of a round share no row, so
//! they run side by side, and the result does not depend on how many threads there are.

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::blocks::{Blocks, rounds};
use super::kernel::{Kernel, Rows, Step};
use super::pairs::Pairs;
use crate::error::Result;

/// What is trained: a vector for every node and, in models of second order, another one for the
/// node as the other end of a pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables {
    /// The vectors.
    pub centres: Blocks,
    /// The vectors of other ends; `None` if nodes have one vector for both.
    pub others: Option<Blocks>,
}

/// The rows of one block, of both tables.
#[derive(Default)]
struct Share<'a> {
    centres: &'a mut [f32],
    others: Option<&'a mut [f32]>,
}

/// Trains all pairs of an epoch. `step(part)` is the size of the steps when this part of the epoch
/// is done. `go_on(part)` is asked between rounds; if it says `Break`, the epoch ends there.
/// Returns the sum of losses.
pub fn train(
    kernel: Kernel,
    tables: &mut Tables,
    pairs: &Pairs,
    step: impl Fn(f64) -> Step + Sync,
    mut go_on: impl FnMut(f64) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<(), f64>> {
    let dim = tables.centres.dim;
    let rounds = rounds(tables.centres.count());
    let mut shares: Vec<Share> =
        tables.centres.blocks().map(|centres| Share { centres, others: None }).collect();
    if let Some(others) = &mut tables.others {
        shares
            .iter_mut()
            .zip(others.blocks())
            .for_each(|(share, block)| share.others = Some(block));
    }
    let mut loss = 0.0;
    for (at, round) in rounds.iter().enumerate() {
        let part = at as f64 / rounds.len() as f64;
        if go_on(part)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let step = step(part);
        // Every task owns its blocks while it runs: threads cannot meet.
        let mut tasks: Vec<_> = round
            .iter()
            .map(|&(p, q)| {
                let left = std::mem::take(&mut shares[p]);
                (p, q, left, std::mem::take(&mut shares[q]))
            })
            .collect();
        let train = |(p, q, left, right): &mut (usize, usize, Share, Share)| {
            let [there, back] = [&pairs.buckets[*p][*q], &pairs.buckets[*q][*p]];
            if p == q {
                kernel.train(left.alone(dim), there, step)
            } else {
                kernel.train(left.with(right, dim), there, step)
                    + kernel.train(right.with(left, dim), back, step)
            }
        };
        let losses: Vec<f64> = tasks.par_iter_mut().map(train).collect();
        loss += losses.iter().sum::<f64>();
        for (p, q, left, right) in tasks {
            shares[q] = right;
            shares[p] = left;
        }
    }
    Ok(ControlFlow::Continue(loss))
}

impl Share<'_> {
    /// Centres and other ends both here.
    fn alone(&mut self, dim: usize) -> Rows<'_> {
        Rows { dim, centres: self.centres, others: self.others.as_deref_mut() }
    }

    /// Centres here, other ends there.
    fn with<'a>(&'a mut self, there: &'a mut Share<'_>, dim: usize) -> Rows<'a> {
        let others = there.others.as_deref_mut().unwrap_or(there.centres);
        Rows { dim, centres: self.centres, others: Some(others) }
    }
}
