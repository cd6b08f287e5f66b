//! Distances from some nodes to all, for whoever wants to look at them.

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::bfs::{LANES, MultiSourceBfs};
use super::levels::Levels;
use crate::graph::{Graph, Node};

/// From fewer sources than this, a search from each is faster than one from all at once.
const FEW: usize = 16;

/// A row of distances to all nodes for each source, row after row; −1 where there is no path.
///
/// ```
/// use nearfar::graph::{ReadOptions, read};
/// let graph = read("builtin:karate", &ReadOptions::default())?.graph;
/// let hops = nearfar::distance::hops(&graph, &[0, 33]);
/// assert_eq!((hops.len(), hops[33], hops[34 + 33]), (68, 2, 0));
/// # Ok::<(), nearfar::Error>(())
/// ```
pub fn hops(graph: &Graph, sources: &[Node]) -> Vec<i32> {
    let n = graph.nodes();
    let mut hops = vec![-1; sources.len() * n];
    if n == 0 {
        return hops;
    }
    if sources.len() < FEW {
        let rows = hops.par_chunks_mut(n).zip(sources);
        rows.for_each_init(Levels::default, |levels, (row, &source)| {
            levels.search(graph, &[source]);
            for (level, hops) in (0..levels.len()).zip(0..) {
                levels.level(level).iter().for_each(|&node| row[node as usize] = hops);
            }
        });
    } else {
        let tiles = hops.par_chunks_mut(LANES * n).zip(sources.par_chunks(LANES));
        tiles.for_each_init(
            || MultiSourceBfs::new(graph),
            |sweep, (rows, sources)| {
                // Stopping is not asked for.
                let _ = sweep.run(sources, |hops, node, lanes| {
                    lanes.for_each(|lane| rows[lane * n + node as usize] = hops.cast_signed());
                    ControlFlow::Continue(())
                });
            },
        );
    }
    hops
}
