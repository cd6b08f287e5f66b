//! Distances from the sources of a chunk where distances are lengths: bins take the place of hops, and
//! what depends on exact lengths is summed while they are known.

use rayon::prelude::*;

use super::pairs::Hops;
use super::sums::GroupSums;
use crate::distance::{Along, LengthBins, ShortestPaths};
use crate::graph::{Graph, Node};
use crate::memory;

/// How lengths are binned and weighed.
#[derive(Clone, Copy)]
pub(super) struct Lengths {
    pub(super) bins: LengthBins,
    pub(super) gamma: f64,
    /// The distance of unconnected nodes.
    pub(super) far: f64,
}

/// Sums over the nodes around each source.
pub(super) struct BinSums {
    /// For each bin and source, the probability of its nodes as negatives; bin 0 holds the unconnected.
    pub(super) negative: Vec<f64>,
    /// For each source, the sum of all distances.
    pub(super) total: Vec<f64>,
}

/// The nodes around one source.
struct Row {
    bins: Vec<u16>,
    negative: Vec<f64>,
    total: f64,
}

impl Lengths {
    pub(super) fn hops(&self, graph: &Graph, sources: &[Node]) -> (Hops, BinSums) {
        let (n, width) = (graph.nodes(), sources.len());
        let rows: Vec<Row> = sources.par_iter().map(|&source| self.row(graph, source)).collect();
        let bins = rows.iter().map(|row| row.negative.len()).max().unwrap_or(1);
        let mut table: Vec<u16> = memory::zeroed(n * width);
        let mut levels = vec![0; bins * width];
        let mut negative = vec![0.0; bins * width];
        for (at, (row, &source)) in rows.iter().zip(sources).enumerate() {
            for (node, &bin) in row.bins.iter().enumerate() {
                table[node * width + at] = bin;
                if bin > 0 {
                    levels[usize::from(bin) * width + at] += 1;
                }
            }
            debug_assert_eq!(row.bins[source as usize], 0);
            levels[at] = 1;
            for (bin, mass) in row.negative.iter().enumerate() {
                negative[bin * width + at] = *mass;
            }
        }
        let total = rows.iter().map(|row| row.total).collect();
        (Hops { first: 0, width, table, levels }, BinSums { negative, total })
    }

    fn row(&self, graph: &Graph, source: Node) -> Row {
        let mut paths = ShortestPaths::default();
        paths.search(graph, &[source], Along::Arcs);
        let distance = |k: Node| Some(paths.distance(k)).filter(|d| d.is_finite());
        let others = || (0..graph.nodes() as Node).filter(|&k| k != source);
        let exact = |k: Node| distance(k).unwrap_or(self.far);
        // Relative to the largest weight, so that no γ overflows.
        let reference = if self.gamma > 0.0 {
            others().map(exact).fold(0.0, f64::max)
        } else {
            others().map(exact).fold(f64::INFINITY, f64::min)
        };
        let mut bins = vec![0; graph.nodes()];
        let mut negative = vec![0.0; 1 + usize::from(self.bins.of(paths.farthest()))];
        let (mut mass, mut total) = (0.0, 0.0);
        for k in others() {
            let weight = (exact(k) / reference).powf(self.gamma);
            let bin = distance(k).map_or(0, |d| self.bins.of(d));
            bins[k as usize] = bin;
            negative[usize::from(bin)] += weight;
            mass += weight;
            total += exact(k);
        }
        for sum in &mut negative {
            *sum /= mass;
        }
        Row { bins, negative, total }
    }
}

/// Removes the bins that hold no pair, so that lists have an entry for each that does. Returns the bins
/// that are left.
pub(super) fn remove_empty_bins(groups: &mut [GroupSums]) -> Vec<u32> {
    let bins = groups.iter().map(|group| group.by_distance.len()).max().unwrap_or(0);
    let occupied = |bin: &usize| {
        groups.iter().any(|group| group.by_distance.get(*bin).is_some_and(|it| it.pairs > 0.0))
    };
    let left: Vec<usize> = (1..bins).filter(occupied).collect();
    for group in groups {
        let at = |bin: &usize| group.by_distance.get(*bin).copied().unwrap_or_default();
        group.by_distance = [0].iter().chain(&left).map(at).collect();
    }
    left.into_iter().map(|bin| bin as u32).collect()
}
