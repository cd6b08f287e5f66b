//! Stage 3, positives: the random walks that positive pairs are taken from.

mod centres;
mod cooccurrence;
mod node2vec;
mod triangles;
mod walk;

pub use centres::CentreWeights;
pub use cooccurrence::{Cooccurrence, CooccurrenceRow};
pub use node2vec::Node2Vec;
pub use walk::Walk;

use crate::graph::Node;
use crate::rng::{AliasCell, Rng};

/// A source of walks, shared by all threads.
///
/// Walks on a directed graph follow the arcs. At a sink, a node without arcs from it, a walk ends.
///
/// ```
/// use std::sync::Arc;
/// use nearfar::graph::{ReadOptions, read};
/// use nearfar::positive::{PositiveSource, Walk};
/// use nearfar::rng::{Purpose, Rng};
///
/// let graph = Arc::new(read("builtin:karate", &ReadOptions::default())?.graph);
/// let mut walk = vec![0; 10];
/// let length = Walk::new(&graph).walk(5, &mut Rng::new(7, Purpose::Walk, 0, 5), &mut walk);
/// assert_eq!(length, 10);
/// assert!(walk.windows(2).all(|step| graph.has_edge(step[0], step[1])));
/// # Ok::<(), nearfar::Error>(())
/// ```
pub trait PositiveSource: Send + Sync {
    /// Fills `out` with a walk that begins at `start`. Returns its number of nodes: the length of
    /// `out`, or fewer if the walk ends at a node without neighbours.
    fn walk(&self, start: Node, rng: &mut Rng, out: &mut [Node]) -> usize;

    /// Takes one walk from every start, each with its own stream. Node t of walk w is
    /// `out[t * starts.len() + w]`; the last node of a walk that has ended is repeated. A node that
    /// follows itself makes no pair.
    ///
    /// The walks are those of [`walk`](Self::walk). Implementations can interleave the steps of
    /// several walks, so that their cache misses overlap.
    fn walks(&self, starts: &[Node], rngs: &mut [Rng], out: &mut [Node]) {
        let count = starts.len();
        let mut walk = vec![0; out.len() / count.max(1)];
        for (w, (&start, rng)) in starts.iter().zip(rngs).enumerate() {
            let length = self.walk(start, rng, &mut walk);
            let last = walk[length - 1];
            walk[length..].fill(last);
            walk.iter().enumerate().for_each(|(t, &node)| out[t * count + w] = node);
        }
    }

    /// The number of walks from a node in an epoch that takes `walks` per node on average.
    fn walks_from(&self, _start: Node, walks: usize, _rng: &mut Rng) -> usize {
        walks
    }

    /// What walks are made of, if backends on other devices can take them themselves.
    fn arrays(&self) -> Option<WalkArrays<'_>> {
        None
    }
}

/// What first-order walks are made of. A step from a node is to the target at one of the places between
/// its offsets: a uniform one, or by the alias table of the node.
#[derive(Debug)]
pub struct WalkArrays<'a> {
    /// Where the targets of each node begin, and the end.
    pub offsets: &'a [usize],
    /// The targets of all nodes.
    pub targets: &'a [Node],
    /// The alias tables of all nodes, in a weighted graph.
    pub tables: Option<Vec<AliasCell>>,
    /// How often each node is a centre, 1 on average, unless all are equally often. From a node of
    /// weight w come `walks * w + u` walks, rounded down, with the first number u of its stream.
    pub centres: Option<Vec<f64>>,
}
