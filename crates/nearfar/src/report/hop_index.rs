//! Distances from some nodes to all on the map, from which the page estimates those between any two,
//! where the edges do not fit the page.
//!
//! For nodes a and b and a chosen node p, |d(a,p) − d(p,b)| ≤ d(a,b) ≤ d(a,p) + d(p,b). The estimate
//! is the least upper bound, or the middle between it and the largest lower bound, whichever was
//! closer in a sample. Half of the nodes are those of the highest degrees, no two adjacent: many
//! shortest paths lead through them (Potamias et al., *Fast shortest path distance estimation in large
//! networks*, 2009). The others are random.

use std::cmp::Reverse;

use serde_json::{Value, json};

use super::points::compressed_size;
use crate::distance::hops;
use crate::graph::{Graph, Node};
use crate::rng::{Purpose, Rng};

/// Most chosen nodes.
const MOST: usize = 256;
/// Searches at a time.
const GROUP: usize = 32;
/// Stored where there is no path.
const NONE: u16 = u16::MAX;

pub(super) struct HopIndex {
    /// For each chosen node, the distances to the nodes on the map.
    rows: Vec<Vec<u16>>,
    wide: bool,
    /// Whether the estimate is the middle of the bounds.
    middle: bool,
    /// Of pairs of connected nodes: the share of exact estimates, of those within one hop, and the
    /// mean absolute error.
    exact: f64,
    within_one: f64,
    mean_error: f64,
}

impl HopIndex {
    /// An index of at most so many bytes, compressed.
    pub(super) fn new(graph: &Graph, shown: &[Node], most_bytes: usize, seed: u64) -> Self {
        let chosen = choose(graph, seed);
        let (mut rows, mut wide, mut bytes) = (Vec::new(), false, 0);
        'groups: for group in chosen.chunks(GROUP) {
            let distances = hops(graph, group);
            for row in distances.chunks(graph.nodes()) {
                let row: Vec<u16> = shown.iter().map(|&node| cell(row[node as usize])).collect();
                let is_wide = row.iter().any(|&hops| hops >= 255 && hops != NONE);
                bytes += compressed_size(&encode(&row, wide | is_wide));
                if bytes > most_bytes && !rows.is_empty() {
                    break 'groups;
                }
                wide |= is_wide;
                rows.push(row);
            }
        }
        let index =
            Self { rows, wide, middle: false, exact: 0.0, within_one: 0.0, mean_error: 0.0 };
        index.with_error(graph, shown, seed)
    }

    /// Measures the error of both estimates on random pairs, and takes the better.
    fn with_error(self, graph: &Graph, shown: &[Node], seed: u64) -> Self {
        const SOURCES: usize = 32;
        const TARGETS: usize = 250;
        let mut rng = Rng::new(seed, Purpose::Projection, 6, 0);
        let sources: Vec<usize> = (0..SOURCES).map(|_| rng.below(shown.len())).collect();
        let nodes: Vec<Node> = sources.iter().map(|&at| shown[at]).collect();
        let distances = hops(graph, &nodes);
        let mut errors = [const { Vec::new() }; 2];
        for (&source, row) in sources.iter().zip(distances.chunks(graph.nodes())) {
            for _ in 0..TARGETS {
                let target = rng.below(shown.len());
                let exact = row[shown[target] as usize];
                if exact < 1 {
                    continue;
                }
                for (middle, errors) in errors.iter_mut().enumerate() {
                    // Without an estimate, the error is the distance.
                    let estimate = self.estimate(source, target, middle == 1).unwrap_or(0);
                    errors.push((i64::from(estimate) - i64::from(exact)).unsigned_abs());
                }
            }
        }
        let mean = |errors: &[u64]| errors.iter().sum::<u64>() as f64 / errors.len().max(1) as f64;
        let middle = mean(&errors[1]) < mean(&errors[0]);
        let errors = &errors[usize::from(middle)];
        let share = |most: u64| {
            errors.iter().filter(|&&error| error <= most).count() as f64
                / errors.len().max(1) as f64
        };
        Self { middle, exact: share(0), within_one: share(1), mean_error: mean(errors), ..self }
    }

    /// The estimated distance of two nodes on the map, as the page computes it.
    fn estimate(&self, a: usize, b: usize, middle: bool) -> Option<u32> {
        let known = self.rows.iter().filter(|row| row[a] != NONE && row[b] != NONE);
        let bounds =
            known.map(|row| (row[a].abs_diff(row[b]), u32::from(row[a]) + u32::from(row[b])));
        let (low, high) = bounds.reduce(|x, y| (x.0.max(y.0), x.1.min(y.1)))?;
        Some(if middle { (u32::from(low) + high).div_ceil(2) } else { high })
    }

    /// What the page needs to know.
    pub(super) fn about(&self) -> Value {
        json!({
            "chosen": self.rows.len(),
            "bytes": if self.wide { 2 } else { 1 },
            "middle": self.middle,
            "exact": self.exact,
            "within_one": self.within_one,
            "mean_error": self.mean_error,
        })
    }

    /// Row after row.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.rows.iter().flat_map(|row| encode(row, self.wide)).collect()
    }
}

/// Nodes of high degree and random ones in turn.
fn choose(graph: &Graph, seed: u64) -> Vec<Node> {
    let mut by_degree: Vec<Node> = (0..graph.nodes() as Node).collect();
    let mut random = by_degree.clone();
    by_degree.sort_by_key(|&node| (Reverse(graph.degree(node)), node));
    let mut near = vec![false; graph.nodes()];
    let mut apart = by_degree.into_iter().filter(|&node| {
        let free = !near[node as usize];
        if free {
            near[node as usize] = true;
            graph.neighbours(node).iter().for_each(|&other| near[other as usize] = true);
        }
        free
    });
    Rng::new(seed, Purpose::Projection, 7, 0).shuffle(&mut random);
    let mut random = random.into_iter();
    let mut chosen = Vec::new();
    while chosen.len() < MOST.min(graph.nodes()) {
        let next = if chosen.len() % 2 == 0 { apart.next() } else { None };
        let Some(next) = next.or_else(|| random.next()) else { break };
        if !chosen.contains(&next) {
            chosen.push(next);
        }
    }
    chosen
}

fn cell(hops: i32) -> u16 {
    u16::try_from(hops).map_or(NONE, |hops| hops.min(NONE - 1))
}

fn encode(row: &[u16], wide: bool) -> Vec<u8> {
    if wide {
        return row.iter().flat_map(|hops| hops.to_le_bytes()).collect();
    }
    row.iter().map(|&hops| hops.min(255) as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{ReadOptions, read};

    #[test]
    fn estimates_are_bounds_and_their_error_is_stated() {
        let graph = read("builtin:moderate", &ReadOptions::default()).unwrap().graph;
        let shown: Vec<Node> = (0..graph.nodes() as Node).collect();
        let index = HopIndex::new(&graph, &shown, usize::MAX, 0);
        assert_eq!(index.rows.len(), MOST);
        let exact = hops(&graph, &[5]);
        let (mut same, mut all) = (0.0, 0.0);
        for (target, &exact) in exact.iter().enumerate().filter(|(_, hops)| **hops > 0) {
            assert!(index.estimate(5, target, false).unwrap() >= exact as u32);
            same += f64::from(index.estimate(5, target, index.middle) == Some(exact as u32));
            all += 1.0;
        }
        assert!(
            index.exact > 0.5 && index.within_one > 0.9,
            "{} {}",
            index.exact,
            index.within_one
        );
        assert!((same / all - index.exact).abs() < 0.25, "{} {}", same / all, index.exact);
    }

    #[test]
    fn an_index_keeps_to_its_budget() {
        let graph = read("builtin:moderate", &ReadOptions::default()).unwrap().graph;
        let index = HopIndex::new(&graph, &[0, 5, 9], 100, 0);
        assert!((1..20).contains(&index.rows.len()));
        assert_eq!(index.bytes().len(), 3 * index.rows.len());
    }
}
