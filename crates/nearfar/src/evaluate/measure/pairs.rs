//! Iteration over the pairs: sources in chunks, each chunk against all nodes.
//!
//! One multi-source search from a chunk of up to 512 sources fills a table of distances. Then the
//! sources are processed in groups: the dot products of a group's vectors with those of 128 nodes
//! are one matrix product, whose entries are binned by distance.
//!
//! Products and distances are symmetric. If all nodes are sources, each is compared only with the
//! nodes after it, and every pair counts twice.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use super::lengths::{BinSums, Lengths};
use super::similarity::{Bins, SimilarityHistogram, TaskBins};
use super::sums::{DistanceSums, GroupSums};
use crate::cancel;
use crate::distance::{MultiSourceBfs, SOURCES};
use crate::error::{Error, Result};
use crate::graph::{Graph, Node};
use crate::memory;
use crate::positive::{Cooccurrence, CooccurrenceRow, PositiveSource, Walk};
use crate::rng::{Purpose, Rng};

/// The inputs of the measurement.
pub(super) struct PairMeasurement<'a> {
    pub(super) graph: &'a Arc<Graph>,
    /// One row per node.
    pub(super) vectors: ArrayView2<'a, f32>,
    pub(super) bins: Bins,
    /// Whether all nodes are sources.
    pub(super) all: bool,
    pub(super) cooccurrence: WalkCooccurrence<'a>,
    pub(super) gamma: f64,
    /// The distance of unconnected nodes, in hops.
    pub(super) far: u32,
    /// Where distances are lengths.
    pub(super) lengths: Option<Lengths>,
}

/// How co-occurrence probabilities are found.
pub(super) enum WalkCooccurrence<'a> {
    /// Computed exactly.
    Exact(Cooccurrence<'a>),
    /// Estimated from `walks` walks of `context` nodes per source.
    Sampled { walk: Walk, walks: usize, context: usize, seed: u64 },
}

/// The distances from the sources of a chunk: hops, or bins of lengths.
pub(super) struct Hops {
    /// The first node in the table.
    pub(super) first: usize,
    /// Number of sources.
    pub(super) width: usize,
    /// For every node from the first on, its distances from all sources; 0 if unconnected.
    pub(super) table: Vec<u16>,
    /// For every distance, the number of nodes at that distance from each source.
    pub(super) levels: Vec<u32>,
}

impl PairMeasurement<'_> {
    /// Measures the pairs of all sources; returns the sums of every `group` sources, and the
    /// histogram of similarities.
    pub(super) fn measure(
        &self,
        sources: &[Node],
        group: usize,
    ) -> Result<(Vec<GroupSums>, SimilarityHistogram)> {
        /// Memory of the chunks processed in parallel.
        const MEMORY: u64 = 1 << 30;
        let n = self.graph.nodes();
        let table = |width: usize| (n * width * size_of::<u16>()) as u64;
        let groups =
            (1..=SOURCES / group).rev().find(|&groups| table(groups * group) <= MEMORY / 4);
        let width = groups.unwrap_or(1) * group;
        let chunks: Vec<&[Node]> = sources.chunks(width).collect();
        let at_once = (MEMORY / (table(width) + MultiSourceBfs::bytes(n)).max(1)).max(1) as usize;
        let histogram = Mutex::new(SimilarityHistogram::new(self.bins));
        let mut groups = Vec::new();
        for chunks in chunks.chunks(at_once) {
            let done: Result<Vec<Vec<GroupSums>>> =
                chunks.par_iter().map(|chunk| self.chunk(chunk, group, &histogram)).collect();
            groups.extend(done?.into_iter().flatten());
        }
        Ok((groups, histogram.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }

    fn chunk(
        &self,
        sources: &[Node],
        group: usize,
        histogram: &Mutex<SimilarityHistogram>,
    ) -> Result<Vec<GroupSums>> {
        // Sampled walks need the distances of all nodes, the others only of the nodes after.
        let after = self.all && matches!(self.cooccurrence, WalkCooccurrence::Exact(_));
        let (hops, lengths) = if let Some(lengths) = &self.lengths {
            let (hops, sums) = lengths.hops(self.graph, sources);
            (hops, Some(sums))
        } else {
            let first = if after { sources[0] as usize } else { 0 };
            (Hops::new(self.graph, sources, first)?, None)
        };
        let groups: Vec<(usize, &[Node])> =
            sources.chunks(group).enumerate().map(|(at, nodes)| (at * group, nodes)).collect();
        let groups = groups.into_par_iter().map(|(lane, nodes)| {
            cancel::check();
            let mut sums = GroupSums {
                sources: nodes.len(),
                by_distance: vec![DistanceSums::default(); hops.distances()],
                total_distance: 0.0,
            };
            self.add_similarities(&hops, lane, nodes, &mut sums, histogram);
            let mut row = CooccurrenceRow::default();
            for (lane, &node) in (lane..).zip(nodes) {
                match &lengths {
                    Some(lengths) => self.add_negatives_by_length(&hops, lengths, lane, &mut sums),
                    None => self.add_negatives(&hops, lane, &mut sums),
                }
                self.cooccurrence.add(node, lane, &hops, &mut row, &mut sums, lengths.is_some());
            }
            sums
        });
        Ok(groups.collect())
    }

    /// Adds the similarities of the pairs of a group.
    fn add_similarities(
        &self,
        hops: &Hops,
        lane: usize,
        nodes: &[Node],
        sums: &mut GroupSums,
        histogram: &Mutex<SimilarityHistogram>,
    ) {
        /// Nodes in one matrix product.
        const ROWS: usize = 128;
        let (n, dim) = self.vectors.dim();
        let own = Array2::from_shape_fn((nodes.len(), dim), |(at, k)| {
            self.vectors[[nodes[at] as usize, k]]
        });
        let mut products = Array2::zeros((ROWS, nodes.len()));
        let mut bins = TaskBins::new(self.bins, hops.distances());
        let weight = if self.all { 2 } else { 1 };
        let mut flush = |bins: &mut TaskBins| {
            let mut histogram = histogram.lock().unwrap_or_else(PoisonError::into_inner);
            bins.flush(weight, &mut sums.by_distance, &mut histogram);
        };
        let start = if self.all { nodes[0] as usize } else { 0 };
        for start in (start..n).step_by(ROWS) {
            let end = n.min(start + ROWS);
            let others = self.vectors.slice(ndarray::s![start..end, ..]);
            let mut products = products.slice_mut(ndarray::s![..end - start, ..]);
            general_mat_mul(1.0, &others, &own.t(), 0.0, &mut products);
            if !bins.has_capacity((end - start) * nodes.len()) {
                flush(&mut bins);
            }
            for (node, products) in (start..end).zip(products.rows()) {
                let hops = hops.of(node, lane, nodes.len());
                let products = products.to_slice().unwrap_or_default();
                // Groups are sorted: the sources before this node, then those after it.
                let before = nodes.partition_point(|&source| (source as usize) < node);
                bins.add(&hops[..before], &products[..before]);
                if !self.all {
                    let own = nodes.get(before).is_some_and(|&source| source as usize == node);
                    let after = before + usize::from(own);
                    bins.add(&hops[after..], &products[after..]);
                }
            }
        }
        flush(&mut bins);
    }

    /// Adds the number of nodes at each distance from a source, and their probability as negatives:
    /// P(j|i) = d(i,j)^γ / Σ_k d(i,k)^γ.
    fn add_negatives(&self, hops: &Hops, lane: usize, sums: &mut GroupSums) {
        let counts = hops.levels[lane..].iter().step_by(hops.width).skip(1);
        let reached: u32 = counts.clone().sum();
        let unconnected = self.graph.nodes() - 1 - reached as usize;
        let by_distance = (1..).zip(counts).map(|(d, &count)| (d, f64::from(count)));
        let levels: Vec<(u32, usize, f64)> = std::iter::once((self.far, 0, unconnected as f64))
            .chain(by_distance.map(|(d, count)| (d, d as usize, count)))
            .filter(|(_, _, count)| *count > 0.0)
            .collect();
        // Relative to the largest weight, so that no γ overflows.
        let distances = levels.iter().map(|(d, ..)| *d);
        let reference = if self.gamma > 0.0 { distances.max() } else { distances.min() };
        let reference = f64::from(reference.unwrap_or(1));
        let weight = |d: u32| (f64::from(d) / reference).powf(self.gamma);
        let mass: f64 = levels.iter().map(|&(d, _, count)| weight(d) * count).sum();
        for &(d, at, count) in &levels {
            sums.by_distance[at].pairs += count;
            sums.by_distance[at].negative += weight(d) * count / mass;
            sums.total_distance += f64::from(d) * count;
        }
    }
}

impl PairMeasurement<'_> {
    /// The same by lengths.
    fn add_negatives_by_length(
        &self,
        hops: &Hops,
        lengths: &BinSums,
        lane: usize,
        sums: &mut GroupSums,
    ) {
        let at = |bin: usize| bin * hops.width + lane;
        let reached: u32 = (1..hops.distances()).map(|bin| hops.levels[at(bin)]).sum();
        let unconnected = self.graph.nodes() - 1 - reached as usize;
        sums.by_distance[0].pairs += unconnected as f64;
        sums.by_distance[0].negative += lengths.negative[lane];
        for bin in 1..hops.distances() {
            sums.by_distance[bin].pairs += f64::from(hops.levels[at(bin)]);
            sums.by_distance[bin].negative += lengths.negative[at(bin)];
        }
        sums.total_distance += lengths.total[lane];
    }
}

impl WalkCooccurrence<'_> {
    /// Adds the co-occurrence probabilities of a source.
    fn add(
        &self,
        source: Node,
        lane: usize,
        hops: &Hops,
        row: &mut CooccurrenceRow,
        sums: &mut GroupSums,
        by_length: bool,
    ) {
        match self {
            Self::Exact(cooccurrence) if by_length => {
                cooccurrence.fill(source, row);
                row.iter().filter(|&(node, _)| node != source).for_each(|(node, probability)| {
                    let [bin] = hops.of(node as usize, lane, 1) else { return };
                    sums.by_distance[usize::from(*bin)].cooccurrence += probability;
                });
            }
            Self::Exact(cooccurrence) => {
                cooccurrence.fill(source, row);
                let by_distance = sums.by_distance[1..].iter_mut();
                for (sums, probability) in by_distance.zip(row.by_distance()) {
                    sums.cooccurrence += probability;
                }
            }
            Self::Sampled { walk, walks, context, seed } => {
                let mut rng = Rng::new(*seed, Purpose::Walk, 0, u64::from(source));
                let mut nodes = vec![0; *context];
                let weight = 1.0 / (walks * (context - 1)) as f64;
                for _ in 0..*walks {
                    let length = walk.walk(source, &mut rng, &mut nodes);
                    for &node in nodes[1..length].iter().filter(|&&node| node != source) {
                        let [hops] = hops.of(node as usize, lane, 1) else { continue };
                        sums.by_distance[usize::from(*hops)].cooccurrence += weight;
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
            ControlFlow::Break(()) => Err(Error::budget(format!(
                "some nodes are more than {} hops apart, which measures do not support",
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
