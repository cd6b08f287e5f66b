//! Training the vectors of what changed, among others that stay as they are.
//!
//! # Derivation
//!
//! The vectors of a graph are known, and the graph changed. A new node has the share 1; any other node
//! the fraction of its edges, by weight, that changed ([`Changes`]). A node whose share is 0 keeps its
//! vector, bit for bit. So no vector is rotated or rescaled: the unchanged ones hold the others in
//! place. Three steps give the vectors of nodes with a share s > 0.
//!
//! 1. *Start.* An old node starts from its vector; a new one from the mean of its neighbours'
//!    ([`Embedding::extend`]). Vectors in files are smoothed, and longer than trained ones; what
//!    evened their lengths is undone first ([`Evening`]).
//! 2. *Training.* SGD on the pairs of the stream trainer whose centre has a share: its windows, each
//!    kept with probability s, and their negatives. A pair moves its centre only, against the other
//!    vectors as they were at the beginning of the pass; so centres are trained in parallel, and the
//!    result does not depend on the number of threads. As a node is not moved by the windows of others,
//!    it has twice the walks, and half the L2 regularisation.
//! 3. *Smoothing*, of these nodes only ([`mod@filter`]). An old node then takes the fraction s of the
//!    way from its old vector to its new one, and lengths are evened again.
//!
//! Of a directed graph, arcs count in both directions: walks and smoothing are those of the graph
//! without directions, so that a new sink has positives, too. Distances follow the arcs.
//!
//! The cost is that of the walks and negatives of the changed nodes, in proportion to Σ s, and a few
//! passes over the table of vectors. Distances are searched from changed nodes only where that is
//! cheaper than a table of all.

mod changes;
mod filter;

use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::prelude::*;

pub(crate) use changes::Changes;
pub use changes::Updated;

use super::backend::{Backend, EpochStats, KeepGoing, Task, VectorView};
use super::config::L2;
use super::plan::TrainPlan;
use super::smooth::Evening;
use super::start::{SPREAD, small_vectors};
use super::stream::kernel::{Pair, PairRows, Step, train_pairs};
use crate::budget::{product, sum};
use crate::embedding::Embedding;
use crate::error::Result;
use crate::graph::{Graph, Node};
use crate::memory::Aligned;
use crate::negative::NegativeSampler;
use crate::positive::{Node2Vec, PositiveSource, Walk};
use crate::rng::{Purpose, Rng};
use crate::simd::{InstructionSet, LANES};
use filter::filtered;

/// Walks of a centre, in multiples of those of a whole run.
const WALKS: usize = 2;

/// With λ = `auto`, λ times the mean degree: about what whole runs end with (cora 0.5, pubmed 0.7,
/// blogcatalog 0.7).
const L2_BY_DEGREE: f64 = 0.6;

/// Negatives that are drawn ahead where changing the centre is slow.
const AHEAD: u64 = 64_000_000;

/// Pairs that are trained at a time: their rows are copied.
const PAIRS: usize = 512;

/// The trainer.
pub(crate) struct Update<'a> {
    plan: &'a TrainPlan,
    graph: &'a Arc<Graph>,
    old: &'a Embedding,
    changes: &'a Changes,
    set: InstructionSet,
    positives: Box<dyn PositiveSource>,
    negatives: &'a dyn NegativeSampler,
    evening: Option<Evening>,
    /// Length of a row: the dimensions, padded.
    stride: usize,
    table: Aligned,
    centres: Vec<Node>,
    /// The next rows of the centres.
    next: Aligned,
    ahead: Ahead,
    l2: f64,
}

/// Negatives of each centre for some passes.
#[derive(Default)]
struct Ahead {
    first: u64,
    passes: u64,
    draws: Vec<Vec<Node>>,
}

/// The buffers of a thread.
#[derive(Default)]
struct Scratch {
    starts: Vec<Node>,
    rngs: Vec<Rng>,
    walks: Vec<Node>,
    negatives: Vec<Node>,
    pairs: Vec<Pair>,
    rows: Vec<f32>,
}

/// The memory of an update of so many nodes, the old vectors excluded.
pub(super) fn bytes(plan: &TrainPlan, graph: &Graph, centres: usize) -> u64 {
    let (n, stride) = (graph.nodes(), plan.dim.next_multiple_of(LANES));
    let positives = match plan.model {
        super::Model::Node2vec => Node2Vec::bytes(graph),
        _ => Walk::bytes(graph),
    };
    // Smoothing holds up to three lists of rows, of at most all nodes, and the result.
    let smoothing = match plan.smoothing {
        0 => 0,
        _ => sum([product([n, 2, plan.dim, 4]), graph.undirected_bytes()]),
    };
    sum([
        product([n, stride, 4]),
        product([centres, stride, 4]).max(smoothing),
        product([n, plan.dim, 4]),
        product([n, 32]),
        graph.undirected_bytes(),
        positives,
    ])
}

/// Bytes of negatives that are drawn ahead, where that is done.
pub(super) fn bytes_ahead(plan: &TrainPlan, centres: usize) -> u64 {
    let of_a_pass = product([centres, plan.walks.div_ceil(plan.passes), plan.k, 4]);
    of_a_pass.saturating_mul(passes_ahead(plan, centres)).max(of_a_pass)
}

/// How often negatives of a centre are drawn, where they are drawn ahead.
pub(super) fn fills(plan: &TrainPlan, centres: usize) -> u64 {
    let passes = product([plan.epochs, plan.passes]);
    passes.div_ceil(passes_ahead(plan, centres)).saturating_mul(centres as u64)
}

/// For how many passes negatives are drawn at a time.
fn passes_ahead(plan: &TrainPlan, centres: usize) -> u64 {
    let of_a_pass = product([centres, plan.walks.div_ceil(plan.passes), plan.k, 4]).max(1);
    (AHEAD / of_a_pass).clamp(1, product([plan.epochs, plan.passes]))
}

/// The walks of an update: of one window each, and as many windows for a centre as in a whole run; in half
/// the epochs, unless so many are asked for. Its vectors start close to where they end.
pub(super) fn resolve(plan: &mut TrainPlan, asked: Option<usize>) {
    plan.epochs = asked.unwrap_or(plan.epochs.div_ceil(2));
    plan.walks = plan.walks.saturating_mul(plan.windows() * WALKS);
    plan.passes = plan.passes.saturating_mul(plan.windows());
    plan.length = plan.window;
}

impl<'a> Update<'a> {
    pub(crate) fn new(task: Task<'a>, old: &'a Embedding, changes: &'a Changes) -> Self {
        let Task { plan, graph, positives, negatives, instruction_set: set, .. } = task;
        let (n, dim) = (graph.nodes(), plan.dim);
        let stride = dim.next_multiple_of(LANES);
        let mut table = Aligned::zeroed(n * stride);
        small_vectors(plan, stride, &mut table, SPREAD);
        let evening = (plan.smoothing > 0).then(|| Evening::of(old.vectors(), dim));
        let unreached = old.extend(graph, &changes.known, stride, &mut table);
        if let Some(evening) = evening {
            let rows = table.par_chunks_exact_mut(stride).enumerate();
            rows.filter(|(node, _)| unreached.binary_search(&(*node as Node)).is_err())
                .for_each(|(_, row)| evening.undo(&mut row[..dim]));
        }
        let centres: Vec<Node> = changes.nodes().filter(|&node| graph.degree(node) > 0).collect();
        let next = Aligned::zeroed(centres.len() * stride);
        let degree = graph.arcs() as f64 / n.max(1) as f64;
        let l2 = match plan.l2 {
            L2::Auto => (L2_BY_DEGREE / degree).min(0.2),
            L2::Value(l2) => l2,
        };
        let ahead = Ahead::default();
        Self {
            plan,
            graph,
            old,
            changes,
            set,
            positives,
            negatives,
            evening,
            stride,
            table,
            centres,
            next,
            ahead,
            l2,
        }
    }

    /// The walks from a centre in a pass, and their stream.
    fn walks_of(&self, centre: Node, pass: u64) -> (usize, Rng) {
        let (plan, share) = (self.plan, f64::from(self.changes.share[centre as usize]));
        let mut rng = Rng::new(plan.seed, Purpose::Walk, pass, u64::from(centre));
        let (of_epoch, within) = (plan.passes as u64, pass % plan.passes as u64);
        let more = usize::from(within < plan.walks as u64 % of_epoch);
        let all = self.positives.walks_from(centre, plan.walks / plan.passes + more, &mut rng);
        let kept = (0..all).filter(|_| share >= 1.0 || rng.unit() < share).count();
        (kept, rng)
    }

    /// Negatives of a window of this centre.
    fn negatives_of(&self, centre: Node) -> usize {
        if self.negatives.has_negatives(centre) { self.plan.k } else { 0 }
    }

    /// Draws the negatives of the next passes, where changing the centre is slow.
    fn draw_ahead(&mut self, pass: u64) {
        let done = self.ahead.first + self.ahead.passes;
        if !self.negatives.prefers_batches() || pass < done {
            return;
        }
        let all = product([self.plan.epochs, self.plan.passes]);
        let passes = passes_ahead(self.plan, self.centres.len()).min(all.saturating_sub(pass));
        let draw = |&centre: &Node| {
            let count = self.negatives_of(centre);
            let of_pass = |pass| self.walks_of(centre, pass).0 * count;
            let mut draws = vec![0; (pass..pass + passes).map(of_pass).sum()];
            let (mut lists, mut rest) = (vec![], &mut draws[..]);
            for pass in pass..pass + passes {
                let (list, later) = rest.split_at_mut(of_pass(pass));
                rest = later;
                if !list.is_empty() {
                    let seed = self.plan.seed;
                    let rng = Rng::new(seed, Purpose::Negative, pass, u64::from(centre));
                    lists.push((rng, list));
                }
            }
            if !lists.is_empty() {
                self.negatives.fill_each(centre, &mut lists);
            }
            draws
        };
        let draws = self.centres.par_iter().map(draw).collect();
        self.ahead = Ahead { first: pass, passes, draws };
    }

    /// Trains the pairs of a centre in a pass; `row` is its vector. Returns the sum of losses and the
    /// number of pairs.
    fn train(
        &self,
        (at, centre): (usize, Node),
        pass: u64,
        step: Step,
        scratch: &mut Scratch,
        row: &mut [f32],
    ) -> (f64, u64) {
        let Scratch { starts, rngs, walks, negatives, pairs, rows } = scratch;
        let (count, mut rng) = self.walks_of(centre, pass);
        if count == 0 {
            return (0.0, 0);
        }
        let (length, k) = (self.plan.window, self.negatives_of(centre));
        starts.clear();
        starts.resize(count, centre);
        rngs.clear();
        rngs.extend((0..count).map(|_| rng.split()));
        walks.resize(count * length, 0);
        self.positives.walks(starts, rngs, walks);
        let negatives = if self.ahead.passes > 0 {
            let before = (self.ahead.first..pass).map(|pass| self.walks_of(centre, pass).0);
            let first = before.sum::<usize>() * k;
            &self.ahead.draws[at][first..first + count * k]
        } else {
            negatives.resize(count * k, 0);
            let mut rng = Rng::new(self.plan.seed, Purpose::Negative, pass, u64::from(centre));
            self.negatives.fill(centre, &mut rng, negatives);
            &negatives[..]
        };
        let (mut loss, mut total) = (0.0, 0);
        let windows = (PAIRS / (length - 1 + k)).max(1);
        for first in (0..count).step_by(windows) {
            pairs.clear();
            rows.clear();
            let mut push = |node: Node, positive: bool| {
                pairs.push(Pair::new(0, pairs.len() as u32, positive));
                rows.extend_from_slice(&self.table[node as usize * self.stride..][..self.stride]);
            };
            for window in first..(first + windows).min(count) {
                let contexts = walks[window..].iter().step_by(count).skip(1);
                // A pair of a node with itself carries no information.
                for &node in contexts.filter(|&&node| node != centre) {
                    push(node, true);
                }
                negatives[window * k..][..k].iter().for_each(|&node| push(node, false));
            }
            let rows = PairRows { dim: self.stride, centres: row, others: Some(rows) };
            loss += train_pairs(self.set, rows, pairs, step);
            total += pairs.len() as u64;
        }
        (loss, total)
    }

    /// Trains all centres for a pass. Returns the sum of losses and the number of pairs.
    fn pass(&mut self, pass: u64, step: Step) -> (f64, u64) {
        let mut next = std::mem::replace(&mut self.next, Aligned::zeroed(0));
        let centres = self.centres.par_iter().enumerate();
        let train = |scratch: &mut Scratch, ((at, &centre), row): ((usize, &Node), &mut [f32])| {
            row.copy_from_slice(&self.table[centre as usize * self.stride..][..self.stride]);
            self.train((at, centre), pass, step, scratch, row)
        };
        let rows = next.par_chunks_exact_mut(self.stride);
        let sums: Vec<(f64, u64)> = centres.zip(rows).map_init(Scratch::default, train).collect();
        for (&centre, row) in self.centres.iter().zip(next.chunks_exact(self.stride)) {
            self.table[centre as usize * self.stride..][..self.stride].copy_from_slice(row);
        }
        self.next = next;
        sums.into_iter().fold((0.0, 0), |(loss, pairs), sum| (loss + sum.0, pairs + sum.1))
    }
}

impl Backend for Update<'_> {
    fn epoch(
        &mut self,
        epoch: usize,
        keep_going: &mut KeepGoing<'_>,
    ) -> Result<ControlFlow<(), EpochStats>> {
        let passes = self.plan.passes;
        let (mut loss, mut pairs) = (0.0, 0);
        for pass in 0..passes {
            let done = pass as f64 / passes as f64;
            if keep_going(done)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            let number = (epoch * passes + pass) as u64;
            self.draw_ahead(number);
            let done = (epoch as f64 + done) / self.plan.epochs as f64;
            let trained = self.pass(number, self.plan.step(self.l2 / WALKS as f64, done));
            (loss, pairs) = (loss + trained.0, pairs + trained.1);
        }
        let loss = loss / (pairs as f64).max(1.0);
        Ok(ControlFlow::Continue(EpochStats { pairs, loss, l2: self.l2, effective_rank: None }))
    }

    fn vectors(&self) -> VectorView<'_> {
        VectorView { values: &self.table, dim: self.plan.dim, stride: self.stride }
    }

    /// The old vectors of nodes that did not change, and the smoothed ones of those that did.
    fn into_vectors(mut self: Box<Self>) -> Vec<f32> {
        self.next = Aligned::zeroed(0);
        self.ahead = Ahead::default();
        let (dim, stride, changes) = (self.plan.dim, self.stride, self.changes);
        let changed: Vec<Node> = changes.nodes().collect();
        let times = self.plan.smoothing;
        // Without directions, as at the end of a whole run.
        let both_ways = self.graph.to_undirected();
        let smooth = filtered(&both_ways, &self.table, (dim, stride), &changed, times);
        let mut vectors = vec![0.0; self.graph.nodes() * dim];
        for (row, known) in vectors.chunks_exact_mut(dim).zip(&changes.known) {
            if let Some(known) = *known {
                row.copy_from_slice(self.old.vector(known));
            }
        }
        for (&node, new) in changed.iter().zip(smooth.chunks_exact(dim)) {
            let share = changes.share[node as usize];
            let row = &mut vectors[node as usize * dim..][..dim];
            if let (Some(evening), Some(_)) = (self.evening, changes.known[node as usize]) {
                evening.undo(row);
            }
            row.iter_mut().zip(new).for_each(|(x, new)| *x += share * (new - *x));
            if let Some(evening) = self.evening {
                evening.redo(row);
            }
        }
        vectors
    }
}
