//! Going through the pairs: sources in chunks, each chunk against all nodes.
//!
//! A chunk of up to 512 sources is searched from at once and leaves a table of distances. Then the
//! sources are taken in groups; the products of a group's vectors with those of some hundred nodes
//! are one product of matrices, whose numbers are binned with the distances beside them.
//!
//! Products and distances do not depend on the order of a pair. If all nodes are sources, each
//! looks only at the nodes behind it, and every pair counts twice.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use super::part::{Part, Sums};
use super::similarity::{Bins, Counts, Tally};
use crate::distance::{MultiSourceBfs, SOURCES};
use crate::error::{Error, Result};
use crate::graph::{Graph, Node};
use crate::memory;
use crate::positive::{Cooccurrence, CooccurrenceRow, PositiveSource, Walk};
use crate::rng::{Purpose, Rng};

/// What pairs are measured by.
pub(super) struct Pairs<'a> {
    pub(super) graph: &'a Arc<Graph>,
    /// A row for every node.
    pub(super) vectors: ArrayView2<'a, f32>,
    pub(super) bins: Bins,
    /// Whether all nodes are sources.
    pub(super) all: bool,
    pub(super) met: Met<'a>,
    pub(super) gamma: f64,
    /// The distance of nodes without a path.
    pub(super) far: u32,
}

/// Whom walks meet.
pub(super) enum Met<'a> {
    /// Computed.
    Exactly(Cooccurrence<'a>),
    /// Counted in so many walks of so many nodes.
    ByWalks { walk: Walk, walks: usize, context: usize, seed: u64 },
}

/// The distances from the sources of a chunk.
struct Hops {
    /// The first node that the table knows.
    first: usize,
    width: usize,
    /// For every node from the first on, its distances from all sources; 0 for none.
    table: Vec<u16>,
    /// For every distance, how many nodes are that far from each source.
    levels: Vec<u32>,
}

impl Pairs<'_> {
    /// Goes through the pairs of all sources; `group` of them make one part. Also returns how
    /// many pairs are in which bin.
    pub(super) fn parts(&self, sources: &[Node], group: usize) -> Result<(Vec<Part>, Counts)> {
        /// Memory for the chunks that are worked on side by side.
        const MEMORY: u64 = 1 << 30;
        let n = self.graph.nodes();
        let table = |width: usize| (n * width * size_of::<u16>()) as u64;
        let groups =
            (1..=SOURCES / group).rev().find(|&groups| table(groups * group) <= MEMORY / 4);
        let width = groups.unwrap_or(1) * group;
        let chunks: Vec<&[Node]> = sources.chunks(width).collect();
        let at_once = (MEMORY / (table(width) + MultiSourceBfs::bytes(n)).max(1)).max(1) as usize;
        let counts = Mutex::new(Counts::new(self.bins));
        let mut parts = Vec::new();
        for chunks in chunks.chunks(at_once) {
            let done: Result<Vec<Vec<Part>>> =
                chunks.par_iter().map(|chunk| self.chunk(chunk, group, &counts)).collect();
            parts.extend(done?.into_iter().flatten());
        }
        Ok((parts, counts.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }

    fn chunk(&self, sources: &[Node], group: usize, counts: &Mutex<Counts>) -> Result<Vec<Part>> {
        // Walks go anywhere; what they meet has to be in the table.
        let behind = self.all && matches!(self.met, Met::Exactly(_));
        let first = if behind { sources[0] as usize } else { 0 };
        let hops = Hops::new(self.graph, sources, first)?;
        let groups: Vec<(usize, &[Node])> =
            sources.chunks(group).enumerate().map(|(at, nodes)| (at * group, nodes)).collect();
        let parts = groups.into_par_iter().map(|(lane, nodes)| {
            let mut part = Part {
                sources: nodes.len(),
                sums: vec![Sums::default(); hops.distances()],
                total_distance: 0.0,
            };
            self.similarities(&hops, lane, nodes, &mut part, counts);
            let mut row = CooccurrenceRow::default();
            for (lane, &node) in (lane..).zip(nodes) {
                self.levels(&hops, lane, &mut part);
                self.met.by(node, lane, &hops, &mut row, &mut part);
            }
            part
        });
        Ok(parts.collect())
    }

    /// Adds how similar the pairs of a group are.
    fn similarities(
        &self,
        hops: &Hops,
        lane: usize,
        nodes: &[Node],
        part: &mut Part,
        counts: &Mutex<Counts>,
    ) {
        /// Nodes that are compared with the group at once.
        const ROWS: usize = 128;
        let (n, dim) = self.vectors.dim();
        let own = Array2::from_shape_fn((nodes.len(), dim), |(at, k)| {
            self.vectors[[nodes[at] as usize, k]]
        });
        let mut products = Array2::zeros((ROWS, nodes.len()));
        let mut tally = Tally::new(self.bins, hops.distances());
        let weight = if self.all { 2 } else { 1 };
        let mut empty = |tally: &mut Tally| {
            let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
            tally.empty(weight, &mut part.sums, &mut counts);
        };
        let start = if self.all { nodes[0] as usize } else { 0 };
        for start in (start..n).step_by(ROWS) {
            let end = n.min(start + ROWS);
            let others = self.vectors.slice(ndarray::s![start..end, ..]);
            let mut products = products.slice_mut(ndarray::s![..end - start, ..]);
            general_mat_mul(1.0, &others, &own.t(), 0.0, &mut products);
            if !tally.has_room((end - start) * nodes.len()) {
                empty(&mut tally);
            }
            for (node, products) in (start..end).zip(products.rows()) {
                let hops = hops.of(node, lane, nodes.len());
                let products = products.to_slice().unwrap_or_default();
                // Groups are sorted: first the sources before this node, then those behind it.
                let before = nodes.partition_point(|&source| (source as usize) < node);
                tally.add(&hops[..before], &products[..before]);
                if !self.all {
                    let own = nodes.get(before).is_some_and(|&source| source as usize == node);
                    let behind = before + usize::from(own);
                    tally.add(&hops[behind..], &products[behind..]);
                }
            }
        }
        empty(&mut tally);
    }

    /// Adds how many nodes are how far from a source, and what its negatives are:
    /// P(j|i) = d(i,j)^γ / Σ_k d(i,k)^γ.
    fn levels(&self, hops: &Hops, lane: usize, part: &mut Part) {
        let counts = hops.levels[lane..].iter().step_by(hops.width).skip(1);
        let reached: u32 = counts.clone().sum();
        let apart = self.graph.nodes() - 1 - reached as usize;
        let by_distance = (1..).zip(counts).map(|(d, &count)| (d, f64::from(count)));
        let levels: Vec<(u32, usize, f64)> = std::iter::once((self.far, 0, apart as f64))
            .chain(by_distance.map(|(d, count)| (d, d as usize, count)))
            .filter(|(_, _, count)| *count > 0.0)
            .collect();
        // Relative to the heaviest weight, so that no γ overflows.
        let distances = levels.iter().map(|(d, ..)| *d);
        let reference = if self.gamma > 0.0 { distances.max() } else { distances.min() };
        let reference = f64::from(reference.unwrap_or(1));
        let weight = |d: u32| (f64::from(d) / reference).powf(self.gamma);
        let mass: f64 = levels.iter().map(|&(d, _, count)| weight(d) * count).sum();
        for &(d, at, count) in &levels {
            part.sums[at].pairs += count;
            part.sums[at].negative += weight(d) * count / mass;
            part.total_distance += f64::from(d) * count;
        }
    }
}

impl Met<'_> {
    /// Adds whom walks from a source meet.
    fn by(
        &self,
        source: Node,
        lane: usize,
        hops: &Hops,
        row: &mut CooccurrenceRow,
        part: &mut Part,
    ) {
        match self {
            Self::Exactly(cooccurrence) => {
                cooccurrence.fill(source, row);
                for (sums, met) in part.sums[1..].iter_mut().zip(row.by_distance()) {
                    sums.met += met;
                }
            }
            Self::ByWalks { walk, walks, context, seed } => {
                let mut rng = Rng::new(*seed, Purpose::Walk, 0, u64::from(source));
                let mut nodes = vec![0; *context];
                let share = 1.0 / (walks * (context - 1)) as f64;
                for _ in 0..*walks {
                    let length = walk.walk(source, &mut rng, &mut nodes);
                    for &node in nodes[1..length].iter().filter(|&&node| node != source) {
                        let [hops] = hops.of(node as usize, lane, 1) else { continue };
                        part.sums[usize::from(*hops)].met += share;
                    }
                }
            }
        }
    }
}

impl Hops {
    fn new(graph: &Graph, sources: &[Node], first: usize) -> Result<Self> {
        let width = sources.len();
        let mut table: Vec<u16> = memory::zeroed((graph.nodes() - first) * width);
        let mut levels: Vec<u32> = Vec::new();
        let end = MultiSourceBfs::new(graph).run(sources, |hops, node, reached_by| {
            let Ok(cell) = u16::try_from(hops) else { return ControlFlow::Break(()) };
            if levels.len() <= hops as usize * width {
                levels.resize((hops as usize + 1) * width, 0);
            }
            let level = &mut levels[hops as usize * width..];
            reached_by.for_each(|source| level[source] += 1);
            if let Some(row) = (node as usize).checked_sub(first) {
                let row = &mut table[row * width..][..width];
                reached_by.for_each(|source| row[source] = cell);
            }
            ControlFlow::Continue(())
        });
        match end {
            ControlFlow::Continue(()) => Ok(Self { first, width, table, levels }),
            ControlFlow::Break(()) => Err(Error::Budget(format!(
                "some nodes are more than {} hops apart; measures are not made for that",
                u16::MAX
            ))),
        }
    }

    /// One more than the largest distance.
    fn distances(&self) -> usize {
        self.levels.len() / self.width
    }

    /// The distances of a node from some sources.
    fn of(&self, node: usize, lane: usize, sources: usize) -> &[u16] {
        &self.table[(node - self.first) * self.width + lane..][..sources]
    }
}
