//! Lengths of paths in bins of one width, to list them as hops are listed.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::Serialize;

use super::shortest::{Along, ShortestPaths, longest_distance};
use super::table::Buffers;
use crate::budget::product;
use crate::graph::{Graph, Node};
use crate::rng::{Purpose, Rng};

/// Bins of lengths: bin b ≥ 1 holds those above (b − 1) widths, and at most b.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LengthBins {
    width: f64,
}

impl LengthBins {
    /// Some 12 to 30 bins between 0 and the largest distance of a graph, of a round width.
    pub fn new(graph: &Graph) -> Self {
        const MOST: f64 = 30.0;
        let least = (longest_distance(graph) / MOST).max(f64::MIN_POSITIVE);
        let power = 10_f64.powi(least.log10().floor() as i32);
        let steps = [1.0, 2.0, 2.5, 5.0].into_iter();
        let round = steps.map(|step| step * power).find(|&width| width >= least);
        Self { width: round.unwrap_or(10.0 * power) }
    }

    /// The bin of a length above 0.
    #[inline]
    pub fn of(self, length: f64) -> u16 {
        (length / self.width).ceil().clamp(1.0, f64::from(u16::MAX)) as u16
    }

    /// The largest length of a bin.
    pub fn upper(self, bin: u32) -> f64 {
        // Rounded to what a multiple of the width has: 0.30000000000000004 is 0.3.
        format!("{:.12e}", f64::from(bin) * self.width).parse().unwrap_or(f64::NAN)
    }
}

/// The distances of a graph whose edges have lengths.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LengthSummary {
    /// The largest finite distance found.
    pub diameter: f64,
    /// Whether `diameter` is exact, or only a lower bound.
    pub diameter_exact: bool,
    /// The mean distance of connected pairs.
    pub mean_distance: f64,
    /// (the largest length of a bin, ordered pairs of distinct nodes in it), for bins with pairs.
    pub histogram: Vec<(f64, u64)>,
    /// The number of nodes searched from; all of them if the numbers are exact.
    pub sources: usize,
}

impl LengthSummary {
    /// Measures distances from `sources` random nodes; `None` means all nodes, or 256 in graphs where
    /// that would take minutes.
    pub fn new(graph: &Graph, sources: Option<usize>, seed: u64) -> Self {
        /// Nodes × (nodes + arcs), about a minute.
        const QUICK: u64 = 1_000_000_000;
        const SAMPLE: usize = 256;
        let n = graph.nodes();
        let all = product([n, n + graph.arcs()]) <= QUICK;
        let count = sources.unwrap_or(if all { n } else { SAMPLE }).min(n);
        let mut nodes: Vec<Node> = (0..n as Node).collect();
        if count < n {
            Rng::new(seed, Purpose::Source, 0, 0).shuffle(&mut nodes);
            nodes.truncate(count);
        }
        let bins = LengthBins::new(graph);
        let buffers = Buffers::default();
        let from = |&source: &Node| {
            let mut paths = buffers.take(ShortestPaths::default);
            paths.search(graph, &[source], Along::Arcs);
            let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
            let mut total = 0.0;
            for &node in paths.order().iter().filter(|&&node| node != source) {
                *counts.entry(bins.of(paths.distance(node))).or_default() += 1;
                total += paths.distance(node);
            }
            let found = (paths.farthest(), total, counts);
            buffers.put(paths);
            found
        };
        let found: Vec<_> = nodes.par_iter().map(from).collect();
        let (mut diameter, mut total) = (0.0_f64, 0.0);
        let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
        for (farthest, sum, of) in found {
            (diameter, total) = (diameter.max(farthest), total + sum);
            for (bin, count) in of {
                *counts.entry(bin).or_default() += count;
            }
        }
        if count < n {
            diameter = diameter.max(longest_distance(graph));
        }
        let pairs: u64 = counts.values().sum();
        let scale = n as f64 / count.max(1) as f64;
        let scaled = |count: u64| (count as f64 * scale).round() as u64;
        let upper = |bin: u16| bins.upper(bin.into());
        Self {
            diameter,
            diameter_exact: count == n,
            mean_distance: if pairs == 0 { 0.0 } else { total / pairs as f64 },
            histogram: counts.iter().map(|(&bin, &count)| (upper(bin), scaled(count))).collect(),
            sources: count,
        }
    }
}
