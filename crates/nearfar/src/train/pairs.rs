//! The pairs of an epoch, sorted so that they can be trained side by side.
//!
//! Every node takes its walks and draws its negatives, and the pairs are put into buckets by the
//! blocks of their two ends. This runs on all threads and does not depend on how many there are:
//! walks and negatives come from streams named by epoch and node.

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::kernel::Pair;
use super::windows::Windows;
use crate::error::Result;
use crate::graph::Node;
use crate::negative::NegativeSampler;
use crate::positive::PositiveSource;
use crate::rng::{Purpose, Rng};

/// What an epoch samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Walks from every node.
    pub walks: usize,
    /// Nodes in a walk, at least as many as in a window.
    pub length: usize,
    /// Nodes in a window: a centre and those after it.
    pub context: usize,
    /// Negatives for every window.
    pub negatives: usize,
    /// The seed.
    pub seed: u64,
}

/// Who is near and who is far, and the rows that they have.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// Who is near.
    pub positives: &'a dyn PositiveSource,
    /// Who is far.
    pub negatives: &'a dyn NegativeSampler,
    /// Nodes of the graph.
    pub nodes: usize,
    /// Rows in a block, a power of two.
    pub rows: usize,
}

/// The pairs of one epoch.
pub struct Pairs {
    /// `buckets[p][q]` has those with their centres in block p and their other ends in block q.
    pub buckets: Vec<Vec<Vec<Pair>>>,
    /// How many pairs there are.
    pub count: u64,
}

impl Pairs {
    /// Samples the pairs of an epoch. `go_on(part)` is asked when this part is done; if it says
    /// `Break`, there are none.
    pub fn sample(
        sources: Sources<'_>,
        sampling: Sampling,
        epoch: u64,
        mut go_on: impl FnMut(f64) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<(), Self>> {
        let windows =
            (sampling.length > sampling.context).then(|| Windows::sample(sources, sampling, epoch));
        let sample = |block: usize| {
            let mut sampler = Sampler::new(sources, sampling, epoch);
            match &windows {
                None => sampler.walks(block),
                Some(windows) => sampler.windows(block, windows),
            }
            sampler.buckets
        };
        let blocks = sources.nodes.div_ceil(sources.rows);
        let mut buckets: Vec<Vec<Vec<Pair>>> = Vec::with_capacity(blocks);
        // Some at a time; how many makes no difference to the result.
        let together = 4 * rayon::current_num_threads();
        while buckets.len() < blocks {
            if go_on(buckets.len() as f64 / blocks as f64)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            let some = buckets.len()..(buckets.len() + together).min(blocks);
            buckets.par_extend(some.into_par_iter().map(sample));
        }
        let count = buckets.iter().flatten().map(|bucket| bucket.len() as u64).sum();
        Ok(ControlFlow::Continue(Self { buckets, count }))
    }
}

impl Sources<'_> {
    /// The nodes of a block.
    pub(super) fn block(self, block: usize) -> std::ops::Range<Node> {
        let end = ((block + 1) * self.rows).min(self.nodes);
        (block * self.rows) as Node..end as Node
    }

    /// Takes all walks from `nodes`, some nodes at a time, and hands them over: for each node how
    /// many walks it has, and step by step the nodes of all of them.
    pub(super) fn walks(
        self,
        sampling: Sampling,
        epoch: u64,
        nodes: std::ops::Range<Node>,
        mut hand_over: impl FnMut(&[(Node, usize)], &[Node]),
    ) {
        /// So many walks wait for memory together.
        const TOGETHER: usize = 64;
        let Sampling { walks, length, seed, .. } = sampling;
        let (mut counts, mut starts, mut rngs, mut out) = (vec![], vec![], vec![], vec![]);
        let last = nodes.end.saturating_sub(1);
        for node in nodes {
            let mut rng = Rng::new(seed, Purpose::Walk, epoch, u64::from(node));
            let count = self.positives.walks_from(node, walks, &mut rng);
            counts.push((node, count));
            for _ in 0..count {
                starts.push(node);
                rngs.push(rng.split());
            }
            if starts.len() >= TOGETHER || node == last {
                out.resize(starts.len() * length, 0);
                self.positives.walks(&starts, &mut rngs, &mut out);
                hand_over(&counts, &out);
                counts.clear();
                starts.clear();
                rngs.clear();
            }
        }
    }
}

/// Samples the pairs of one block's centres.
struct Sampler<'a> {
    sources: Sources<'a>,
    sampling: Sampling,
    epoch: u64,
    buckets: Vec<Vec<Pair>>,
    far: Vec<Node>,
}

impl<'a> Sampler<'a> {
    fn new(sources: Sources<'a>, sampling: Sampling, epoch: u64) -> Self {
        let blocks = sources.nodes.div_ceil(sources.rows);
        Self { sources, sampling, epoch, buckets: vec![Vec::new(); blocks], far: Vec::new() }
    }

    /// Walks that are one window each.
    fn walks(&mut self, block: usize) {
        let Sampling { length, .. } = self.sampling;
        let sources = self.sources;
        sources.walks(self.sampling, self.epoch, sources.block(block), |counts, nodes| {
            let together = nodes.len() / length;
            let mut first = 0;
            for &(centre, count) in counts {
                let windows = first..first + count;
                let near = |walk: usize| nodes[walk..].iter().step_by(together).skip(1);
                self.centre(centre, windows.map(near));
                first += count;
            }
        });
    }

    /// Windows that slid along walks from anywhere.
    fn windows(&mut self, block: usize, windows: &Windows) {
        let of_block = windows.by_centre(block, self.sources);
        for centre in self.sources.block(block) {
            self.centre(centre, of_block.of(centre));
        }
    }

    /// Puts the pairs of one centre into buckets: the near nodes of each of its windows, and the
    /// negatives that go with it. They take turns, as pulling a centre many times before pushing
    /// it once would throw it far out.
    fn centre<'b, W>(&mut self, centre: Node, windows: impl ExactSizeIterator<Item = W>)
    where
        W: Iterator<Item = &'b Node>,
    {
        let Self { sources, sampling, epoch, buckets, far } = self;
        let Sources { negatives, rows, .. } = *sources;
        let count = if negatives.has_negatives(centre) { sampling.negatives } else { 0 };
        far.resize(windows.len() * count, 0);
        let mut rng = Rng::new(sampling.seed, Purpose::Negative, *epoch, u64::from(centre));
        negatives.fill(centre, &mut rng, far);
        // Blocks have a power of two of rows.
        let (shift, mask) = (rows.ilog2(), rows as Node - 1);
        let mut put = |node: Node, near: bool| {
            buckets[(node >> shift) as usize].push(Pair::new(centre & mask, node & mask, near));
        };
        for (window, near) in windows.enumerate() {
            // A walk that comes back to its start says nothing about it.
            near.filter(|&&node| node != centre).for_each(|&node| put(node, true));
            far[window * count..(window + 1) * count].iter().for_each(|&node| put(node, false));
        }
    }
}
