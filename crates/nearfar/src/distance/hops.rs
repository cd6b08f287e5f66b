//! Hop distances from given nodes to all nodes.

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::bfs::{MultiSourceBfs, SOURCES};
use super::levels::Levels;
use crate::graph::{Graph, Node};

/// From fewer sources than this, single-source searches are faster than one multi-source search.
const FEW: usize = 16;

/// For each source, a row of distances to all nodes, row after row; −1 where there is no path.
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
        let tiles = hops.par_chunks_mut(SOURCES * n).zip(sources.par_chunks(SOURCES));
        tiles.for_each_init(
            || MultiSourceBfs::new(graph),
            |bfs, (rows, sources)| {
                // The closure never stops the search.
                let _ = bfs.run(sources, |hops, node, reached_by| {
                    reached_by.for_each(|at| rows[at * n + node as usize] = hops.cast_signed());
                    ControlFlow::Continue(())
                });
            },
        );
    }
    hops
}
