//! The pairs of an epoch, sorted so that they can be trained side by side.
//!
//! PeriodicScores node takes its walks and draws its negatives, and the pairs are put into buckets by the
//! blocks of their two ends. This runs on all threads and does not depend on how many there are:
//! walks and negatives come from streams named by epoch and node.

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::blocks::Cut;
use super::buckets::Buckets;
use super::kernel::Pair;
use super::negatives_ahead::Ahead;
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
    /// For how many epochs a visit to a centre draws negatives.
    pub ahead: usize,
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
    /// Rows in a block.
    pub rows: usize,
}

/// The pairs of one epoch.
pub struct Pairs {
    /// List q of `buckets[p]` has those with their centres in block p and their other ends in
    /// block q.
    pub buckets: Vec<Buckets>,
    /// How many pairs there are.
    pub count: u64,
    ahead: Ahead,
}

impl Sampling {
    /// The stream of a centre's negatives.
    pub(super) fn negatives_stream(self, centre: Node, epoch: u64) -> Rng {
        Rng::new(self.seed, Purpose::Negative, epoch, u64::from(centre))
    }
}

impl Pairs {
    /// Room for the pairs of an epoch, to be used again for the next; blocks have so many rows.
    pub fn new(nodes: usize, rows: usize) -> Self {
        let mut buckets = Vec::new();
        buckets.resize_with(nodes.div_ceil(rows), Buckets::default);
        Self { buckets, count: 0, ahead: Ahead::default() }
    }

    /// Samples the pairs of an epoch. `keep_going(part)` is asked when about this part of the epoch's
    /// time is over, more than 1 where negatives are drawn for later epochs; if it says `Break`,
    /// they are not complete.
    pub fn sample(
        &mut self,
        sources: Sources<'_>,
        sampling: Sampling,
        epoch: u64,
        mut keep_going: impl FnMut(f64) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let windows =
            (sampling.length > sampling.context).then(|| Windows::sample(sources, sampling, epoch));
        let Self { buckets, ahead, count } = self;
        let is_ahead = windows.is_none() && (sampling.ahead > 1 || ahead.left(epoch) > 0);
        if is_ahead {
            let all = DRAWING * sampling.ahead as f64;
            if ahead.draw(sources, sampling, epoch, |part| keep_going(all * part))?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        let (from, to) = shares(ahead, epoch);
        let blocks = buckets.len();
        let sample = |(block, buckets): (usize, &mut Buckets)| {
            let cut = Cut::new(sources.rows);
            let drawn = is_ahead.then(|| ahead.of(block, epoch));
            let far = Vec::new();
            let mut sampler = Sampler { sources, sampling, epoch, cut, buckets, drawn, far };
            match &windows {
                None => sampler.walks(block),
                Some(windows) => sampler.windows(block, windows),
            }
        };
        // Some at a time; how many makes no difference to the result.
        let together = 4 * rayon::current_num_threads();
        for (turn, some) in buckets.chunks_mut(together).enumerate() {
            let first = turn * together;
            let part = first as f64 / blocks as f64;
            if keep_going(from + (to - from) * part)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            some.par_iter_mut().enumerate().map(|(at, row)| (first + at, row)).for_each(sample);
        }
        *count = buckets.iter().map(|buckets| buckets.len() as u64).sum();
        Ok(ControlFlow::Continue(()))
    }

    /// About which part of an epoch's time is over when its pairs are sampled, and when they are
    /// trained.
    pub(super) fn shares(&self, epoch: u64) -> (f64, f64) {
        let (drawn, sampled) = shares(&self.ahead, epoch);
        (sampled, 1.0 + (drawn - DRAWING).max(0.0))
    }
}

/// About how much of an epoch's time is spent on drawing negatives where that is done ahead, on the
/// rest of sampling then, and on all of it elsewhere. Measured on some graphs; progress depends on
/// it, and nothing else.
const DRAWING: f64 = 0.36;
const WALKING: f64 = 0.16;
const SAMPLING: f64 = 0.33;

/// About which part of an epoch's time is over when its negatives are drawn, if that is done ahead,
/// and when its pairs are sampled.
fn shares(ahead: &Ahead, epoch: u64) -> (f64, f64) {
    match ahead.left(epoch) {
        0 => (0.0, SAMPLING),
        left => (DRAWING * left as f64, DRAWING * left as f64 + WALKING),
    }
}

impl Sources<'_> {
    /// How many blocks there are.
    pub(super) fn blocks(self) -> usize {
        self.nodes.div_ceil(self.rows)
    }

    /// The nodes of a block.
    pub(super) fn block(self, block: usize) -> std::ops::Range<Node> {
        let end = ((block + 1) * self.rows).min(self.nodes);
        (block * self.rows) as Node..end as Node
    }

    /// How many negatives each window of a centre has.
    pub(super) fn negatives_of(self, centre: Node, sampling: Sampling) -> usize {
        if self.negatives.has_negatives(centre) { sampling.negatives } else { 0 }
    }

    /// How many walks start at a node, and the stream that they come from.
    pub(super) fn walks_of(self, node: Node, sampling: Sampling, epoch: u64) -> (usize, Rng) {
        let mut rng = Rng::new(sampling.seed, Purpose::Walk, epoch, u64::from(node));
        (self.positives.walks_from(node, sampling.walks, &mut rng), rng)
    }

    /// Takes all walks from `nodes`, some nodes at a time, and hands them over: for each node how
    /// many walks it has, and step by step the nodes of all of them.
    pub fn walks(
        self,
        sampling: Sampling,
        epoch: u64,
        nodes: std::ops::Range<Node>,
        mut hand_over: impl FnMut(&[(Node, usize)], &[Node]),
    ) {
        /// So many walks wait for memory together.
        const TOGETHER: usize = 64;
        let length = sampling.length;
        let (mut counts, mut starts, mut rngs, mut out) = (vec![], vec![], vec![], vec![]);
        let last = nodes.end.saturating_sub(1);
        for node in nodes {
            let (count, mut rng) = self.walks_of(node, sampling, epoch);
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
    cut: Cut,
    buckets: &'a mut Buckets,
    /// Negatives that were drawn ahead and not used yet.
    drawn: Option<&'a [Node]>,
    /// Room for those that were not.
    far: Vec<Node>,
}

impl Sampler<'_> {
    /// Walks that are one window each.
    fn walks(&mut self, block: usize) {
        let Sampling { length, walks, .. } = self.sampling;
        let sources = self.sources;
        self.expect(sources.block(block).len() * walks);
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
        self.expect(of_block.len());
        for centre in self.sources.block(block) {
            self.centre(centre, of_block.of(centre));
        }
    }

    /// Makes room for the pairs of so many windows.
    fn expect(&mut self, windows: usize) {
        let Sampling { context, negatives, .. } = self.sampling;
        self.buckets.clear(self.sources.blocks(), windows * (context - 1 + negatives));
    }

    /// Puts the pairs of one centre into buckets: the near nodes of each of its windows, and the
    /// negatives that go with it. They take turns, as pulling a centre many times before pushing
    /// it once would throw it far out.
    fn centre<'b, W>(&mut self, centre: Node, windows: impl ExactSizeIterator<Item = W>)
    where
        W: Iterator<Item = &'b Node>,
    {
        let Self { sources, sampling, epoch, cut, buckets, drawn, far } = self;
        let count = sources.negatives_of(centre, *sampling);
        let all = windows.len() * count;
        let far = if let Some(drawn) = drawn {
            let (far, later) = drawn.split_at(all);
            *drawn = later;
            far
        } else {
            far.resize(all, 0);
            let mut rng = sampling.negatives_stream(centre, *epoch);
            sources.negatives.fill(centre, &mut rng, far);
            &*far
        };
        let (_, row) = cut.place(centre);
        let mut put = |node: Node, near: bool| {
            let (block, other) = cut.place(node);
            buckets.put(block, Pair::new(row, other, near));
        };
        for (window, near) in windows.enumerate() {
            // A walk that comes back to its start says nothing about it.
            near.filter(|&&node| node != centre).for_each(|&node| put(node, true));
            far[window * count..(window + 1) * count].iter().for_each(|&node| put(node, false));
        }
    }
}
