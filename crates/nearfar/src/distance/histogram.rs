//! Numbers of node pairs by distance.

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::bfs::{MultiSourceBfs, SOURCES};
use super::diameter::has_long_distances;
use super::levels::Levels;
use crate::graph::{Components, Graph, Node};
use crate::rng::{Purpose, Rng};

/// Pairs by distance. Pairs are ordered: (i, j) and (j, i) count as two; (i, i) does not count.
#[derive(Clone, Debug, PartialEq)]
pub struct DistanceHistogram {
    /// `pairs[d]` ordered pairs are d hops apart; `pairs[0]` is 0. With sampled sources, scaled up
    /// to all nodes.
    pub pairs: Vec<u64>,
    /// Ordered pairs without a path.
    pub unreachable: u64,
    /// The number of nodes searched from; all of them if the histogram is exact.
    pub sources: usize,
}

impl DistanceHistogram {
    /// Searches from every node.
    pub fn exact(graph: &Graph) -> Self {
        let sources: Vec<Node> = (0..graph.nodes() as Node).collect();
        Self::from_sources(graph, &sources)
    }

    /// Searches from `count` random nodes.
    pub fn sampled(graph: &Graph, count: usize, seed: u64) -> Self {
        let mut nodes: Vec<Node> = (0..graph.nodes() as Node).collect();
        Rng::new(seed, Purpose::Source, 0, 0).shuffle(&mut nodes);
        nodes.truncate(count);
        Self::from_sources(graph, &nodes)
    }

    fn from_sources(graph: &Graph, sources: &[Node]) -> Self {
        let count = |bfs: &mut MultiSourceBfs<'_>, sources: &[Node]| {
            let mut pairs = vec![0_u64];
            // The closure never stops the search.
            let _ = bfs.run(sources, |hops, _, reached_by| {
                if hops as usize == pairs.len() {
                    pairs.push(0);
                }
                if hops > 0 {
                    pairs[hops as usize] += reached_by.count();
                }
                ControlFlow::Continue(())
            });
            pairs
        };
        let count_alone = |levels: &mut Levels, source: Node| {
            levels.search(graph, &[source]);
            let size = |hops| if hops == 0 { 0 } else { levels.level(hops).len() as u64 };
            (0..levels.len()).map(size).collect()
        };
        let mut pairs = if has_long_distances(graph, &Components::new(graph)) {
            sources
                .par_iter()
                .map_init(Levels::default, |levels, &source| count_alone(levels, source))
                .reduce(|| vec![0], add)
        } else {
            sources
                .par_chunks(SOURCES)
                .map_init(|| MultiSourceBfs::new(graph), |bfs, sources| count(bfs, sources))
                .reduce(|| vec![0], add)
        };
        let n = graph.nodes();
        let all = (sources.len() * n.saturating_sub(1)) as u64;
        let mut unreachable = all - pairs.iter().sum::<u64>();
        if sources.len() < n {
            let scale = n as f64 / sources.len() as f64;
            let scale_up = |count: u64| (count as f64 * scale).round() as u64;
            pairs = pairs.into_iter().map(scale_up).collect();
            unreachable = scale_up(unreachable);
        }
        Self { pairs, unreachable, sources: sources.len() }
    }

    /// The largest distance found.
    pub fn largest(&self) -> u32 {
        (self.pairs.len() - 1) as u32
    }

    /// The mean distance of connected pairs; 0 if there are none.
    pub fn mean(&self) -> f64 {
        let total: u64 = self.pairs.iter().sum();
        let sum: f64 = self.pairs.iter().enumerate().map(|(d, &c)| d as f64 * c as f64).sum();
        if total == 0 { 0.0 } else { sum / total as f64 }
    }
}

fn add(mut a: Vec<u64>, mut b: Vec<u64>) -> Vec<u64> {
    if a.len() < b.len() {
        std::mem::swap(&mut a, &mut b);
    }
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
    a
}
