//! Sampling the pairs of a pass, sorted so that they can be trained in parallel.
//!
//! For every node walks and negatives are drawn, and the pairs are put into buckets by the blocks of
//! their two nodes. The result does not depend on the number of threads: walks and negatives come
//! from streams named by pass and node.

use std::ops::{ControlFlow, Range};

use rayon::prelude::*;

use super::blocks::BlockIndex;
use super::buckets::Buckets;
use super::kernel::Pair;
use super::negatives_ahead::NegativesAhead;
use super::windows::Windows;
use crate::error::Result;
use crate::graph::Node;
use crate::negative::NegativeSampler;
use crate::positive::PositiveSource;
use crate::rng::{Purpose, Rng};

/// What a pass samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Walks per node.
    pub walks: usize,
    /// Nodes in a walk, at least as many as in a window.
    pub length: usize,
    /// Nodes in a window: a centre and its contexts.
    pub context: usize,
    /// Negatives per window.
    pub negatives: usize,
    /// For how many passes negatives are drawn at a time.
    pub ahead: usize,
    /// The random seed.
    pub seed: u64,
}

/// What pairs are sampled from, and how nodes are cut into blocks.
#[derive(Clone, Copy)]
pub struct PairSources<'a> {
    /// Walks.
    pub positives: &'a dyn PositiveSource,
    /// The law of negatives.
    pub negatives: &'a dyn NegativeSampler,
    /// Nodes of the graph.
    pub nodes: usize,
    /// Rows in a block.
    pub rows: usize,
}

/// The pairs of one pass. Its buffers are reused by all passes.
#[derive(Default)]
pub struct EpochPairs {
    /// List q of `buckets[p]` holds the pairs with centres in block p and other nodes in block q.
    pub buckets: Vec<Buckets>,
    /// The number of pairs.
    pub count: u64,
    ahead: NegativesAhead,
}

impl Sampling {
    /// The stream of a centre's negatives.
    pub(super) fn negatives_stream(self, centre: Node, epoch: u64) -> Rng {
        Rng::new(self.seed, Purpose::Negative, epoch, u64::from(centre))
    }
}

impl EpochPairs {
    /// The pairs with centres in block p and other nodes in block q, in contiguous parts.
    pub fn list(&self, p: usize, q: usize) -> impl Iterator<Item = &[Pair]> {
        self.buckets[p].list(q)
    }

    /// Samples the pairs of a pass. `keep_going` is asked with the completed fraction of the pass,
    /// which exceeds 1 where negatives are drawn for later passes; if it says `Break`, the pairs are
    /// not complete.
    pub fn sample(
        &mut self,
        sources: PairSources<'_>,
        sampling: Sampling,
        epoch: u64,
        keep_going: impl FnMut(f64) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        // Some at a time, so that the run can be stopped; the number does not change the result.
        let group = 4 * rayon::current_num_threads();
        let blocks = 0..sources.blocks();
        self.fill(sources, sampling, epoch, (blocks, group, true), |_, _| Ok(()), keep_going)
    }

    /// The same for some blocks of centres, of which a few at a time are in memory: `take` receives the
    /// pairs of each.
    pub(super) fn sample_some(
        &mut self,
        sources: PairSources<'_>,
        sampling: Sampling,
        epoch: u64,
        blocks: Range<usize>,
        take: impl FnMut(usize, &Buckets) -> Result<()>,
        keep_going: impl FnMut(f64) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        self.fill(sources, sampling, epoch, (blocks, at_a_time(), false), take, keep_going)
    }

    /// Samples blocks, so many at a time, each into its own bucket or into the same few.
    fn fill(
        &mut self,
        sources: PairSources<'_>,
        sampling: Sampling,
        epoch: u64,
        (blocks, group, keeps_all): (Range<usize>, usize, bool),
        mut take: impl FnMut(usize, &Buckets) -> Result<()>,
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
        let (from, to) = fractions(ahead, epoch);
        let sample = |(block, buckets): (usize, &mut Buckets)| {
            let index = BlockIndex::new(sources.rows);
            let drawn = is_ahead.then(|| ahead.of(block, epoch));
            let buffer = Vec::new();
            let mut sampler =
                BlockSampler { sources, sampling, epoch, index, buckets, drawn, buffer };
            match &windows {
                None => sampler.walks(block),
                Some(windows) => sampler.windows(block, windows),
            }
        };
        buckets.resize_with(if keeps_all { blocks.len() } else { group }, Buckets::default);
        *count = 0;
        for first in blocks.clone().step_by(group) {
            let some = first..blocks.end.min(first + group);
            let part = (first - blocks.start) as f64 / blocks.len() as f64;
            if keep_going(from + (to - from) * part)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            let at = if keeps_all { first - blocks.start } else { 0 };
            let buckets = &mut buckets[at..][..some.len()];
            some.clone().into_par_iter().zip(&mut *buckets).for_each(sample);
            for (block, buckets) in some.zip(&*buckets) {
                *count += buckets.len() as u64;
                take(block, buckets)?;
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// About which fraction of a pass is complete when its pairs are sampled, and when they are
    /// trained.
    pub(super) fn fractions(&self, epoch: u64) -> (f64, f64) {
        let (drawn, sampled) = fractions(&self.ahead, epoch);
        (sampled, 1.0 + (drawn - DRAWING).max(0.0))
    }
}

/// How many blocks are sampled at a time where their pairs do not stay in memory.
pub(super) fn at_a_time() -> usize {
    2 * rayon::current_num_threads()
}

/// About which fraction of the time of a pass goes to drawing negatives where that is done ahead, to
/// the rest of sampling then, and to all of sampling elsewhere. Measured on some graphs; only the
/// progress bar depends on it.
const DRAWING: f64 = 0.36;
const WALKING: f64 = 0.16;
const SAMPLING: f64 = 0.33;

/// About which fraction of a pass is complete when its negatives are drawn, if that is done ahead,
/// and when its pairs are sampled.
fn fractions(ahead: &NegativesAhead, epoch: u64) -> (f64, f64) {
    match ahead.left(epoch) {
        0 => (0.0, SAMPLING),
        left => (DRAWING * left as f64, DRAWING * left as f64 + WALKING),
    }
}

impl PairSources<'_> {
    /// The number of blocks.
    pub(super) fn blocks(self) -> usize {
        self.nodes.div_ceil(self.rows)
    }

    /// The nodes of a block.
    pub(super) fn block(self, block: usize) -> Range<Node> {
        let end = ((block + 1) * self.rows).min(self.nodes);
        (block * self.rows) as Node..end as Node
    }

    /// The number of negatives of each window of a centre.
    pub(super) fn negatives_of(self, centre: Node, sampling: Sampling) -> usize {
        if self.negatives.has_negatives(centre) { sampling.negatives } else { 0 }
    }

    /// The number of walks that start at a node, and their stream.
    pub(super) fn walks_of(self, node: Node, sampling: Sampling, epoch: u64) -> (usize, Rng) {
        let mut rng = Rng::new(sampling.seed, Purpose::Walk, epoch, u64::from(node));
        (self.positives.walks_from(node, sampling.walks, &mut rng), rng)
    }

    /// The number of walks that start at `nodes`: of windows, if each walk is one.
    pub(super) fn windows_of(self, nodes: Range<Node>, sampling: Sampling, epoch: u64) -> usize {
        nodes.map(|node| self.walks_of(node, sampling, epoch).0).sum()
    }

    /// Samples all walks from `nodes`, some nodes at a time, and passes them on: for each node the
    /// number of its walks, and step by step the nodes of all of them.
    pub fn walks(
        self,
        sampling: Sampling,
        epoch: u64,
        nodes: Range<Node>,
        mut pass_on: impl FnMut(&[(Node, usize)], &[Node]),
    ) {
        /// Walks whose memory accesses overlap.
        const GROUP: usize = 64;
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
            if starts.len() >= GROUP || node == last {
                out.resize(starts.len() * length, 0);
                self.positives.walks(&starts, &mut rngs, &mut out);
                pass_on(&counts, &out);
                counts.clear();
                starts.clear();
                rngs.clear();
            }
        }
    }
}

/// Samples the pairs of one block of centres.
struct BlockSampler<'a> {
    sources: PairSources<'a>,
    sampling: Sampling,
    epoch: u64,
    index: BlockIndex,
    buckets: &'a mut Buckets,
    /// Negatives that were drawn ahead and are not used yet.
    drawn: Option<&'a [Node]>,
    /// A buffer for the negatives of a centre, where none were drawn ahead.
    buffer: Vec<Node>,
}

impl BlockSampler<'_> {
    /// Samples walks that are one window each.
    fn walks(&mut self, block: usize) {
        let length = self.sampling.length;
        let sources = self.sources;
        self.reserve(sources.windows_of(sources.block(block), self.sampling, self.epoch));
        sources.walks(self.sampling, self.epoch, sources.block(block), |counts, nodes| {
            let walks = nodes.len() / length;
            let mut first = 0;
            for &(centre, count) in counts {
                let windows = first..first + count;
                let contexts = |walk: usize| nodes[walk..].iter().step_by(walks).skip(1);
                self.centre(centre, windows.map(contexts));
                first += count;
            }
        });
    }

    /// Takes windows that slid along walks from any start.
    fn windows(&mut self, block: usize, windows: &Windows) {
        let of_block = windows.by_centre(block, self.sources);
        self.reserve(of_block.len());
        for centre in self.sources.block(block) {
            self.centre(centre, of_block.of(centre));
        }
    }

    /// Empties the buckets, and makes space for the pairs of so many windows.
    fn reserve(&mut self, windows: usize) {
        let Sampling { context, negatives, .. } = self.sampling;
        self.buckets.clear(self.sources.blocks(), windows * (context - 1 + negatives));
    }

    /// Puts the pairs of one centre into buckets: the contexts of each window, then its negatives.
    /// They alternate, as many positive steps of a centre before the first negative one would move it
    /// too far.
    fn centre<'b, W>(&mut self, centre: Node, windows: impl ExactSizeIterator<Item = W>)
    where
        W: Iterator<Item = &'b Node>,
    {
        let Self { sources, sampling, epoch, index, buckets, drawn, buffer } = self;
        let count = sources.negatives_of(centre, *sampling);
        let all = windows.len() * count;
        let negatives = if let Some(drawn) = drawn {
            let (negatives, later) = drawn.split_at(all);
            *drawn = later;
            negatives
        } else {
            buffer.resize(all, 0);
            let mut rng = sampling.negatives_stream(centre, *epoch);
            sources.negatives.fill(centre, &mut rng, buffer);
            &*buffer
        };
        let (_, row) = index.locate(centre);
        let mut push = |node: Node, positive: bool| {
            let (block, other) = index.locate(node);
            buckets.push(block, Pair::new(row, other, positive));
        };
        for (window, contexts) in windows.enumerate() {
            // A pair of a node with itself carries no information, and a walk that stays has ended.
            let mut before = centre;
            for &node in contexts {
                if node != centre && node != before {
                    push(node, true);
                }
                before = node;
            }
            for &node in &negatives[window * count..(window + 1) * count] {
                push(node, false);
            }
        }
    }
}
