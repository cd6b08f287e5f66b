//! How much memory lists of heavy items will take, estimated before distances are known.

use super::law::DistanceLaw;
use super::rejection::CUTOFF;
use crate::distance::Levels;
use crate::graph::{Graph, Node};

/// An estimate of the bytes that rejection samplers of all `items` list their heavy items in: those
/// of some, found by a search from each. Mostly there are none.
pub(super) fn listed_bytes(graph: &Graph, items: &[Node], law: DistanceLaw) -> u64 {
    /// Searches, which take far less than the table or the rows that they are made for.
    const SAMPLE: usize = 32;
    /// An item, its cell of an alias table, and what lists are longer than their content.
    const BYTES: f64 = 16.0;
    /// For rows that differ from those of the sample.
    const MARGIN: f64 = 1.25;
    let mut is_item = vec![false; graph.nodes()];
    for &node in items {
        is_item[node as usize] = true;
    }
    let mut levels = Levels::default();
    let (mut listed, mut rows) = (0.0, 0.0);
    for &centre in items.iter().step_by(items.len().div_ceil(SAMPLE).max(1)) {
        levels.search(graph, &[centre]);
        let count = |hops| levels.level(hops).iter().filter(|&&k| is_item[k as usize]).count();
        let counts: Vec<f64> = (0..levels.len()).map(|hops| count(hops) as f64).collect();
        let reached: f64 = counts.iter().sum();
        // Nodes without a path are one item, with the weight of about the largest distance.
        let last = levels.len() as u32;
        let unreached = items.len() as f64 - reached;
        let power = |hops: usize| law.power(hops as u32, last);
        let inside: f64 = counts.iter().enumerate().map(|(hops, count)| count * power(hops)).sum();
        let mass = inside + unreached * law.power(last, last);
        let (low, high) = law.limits(mass, items.len());
        let weight = |hops: usize| power(hops).max(low).min(high);
        let mean = mass / items.len() as f64;
        let heavy = (1..counts.len()).filter(|&hops| weight(hops) > CUTOFF * mean);
        listed += heavy.map(|hops| counts[hops]).sum::<f64>();
        // Without arcs back, nodes without a path are listed one by one.
        if graph.is_directed() && law.power(last, last) > CUTOFF * mean {
            listed += unreached;
        }
        rows += 1.0;
    }
    (listed / f64::max(rows, 1.0) * items.len() as f64 * BYTES * MARGIN) as u64
}
