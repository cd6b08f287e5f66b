//! Stage 3, who is near: walks whose nodes are pulled together.

mod cooccurrence;
mod edge;
mod node2vec;
mod triangles;
mod walk;

pub use cooccurrence::{Cooccurrence, CooccurrenceRow};
pub use edge::Edges;
pub use node2vec::Node2Vec;
pub use walk::Walk;

use crate::graph::Node;
use crate::rng::Rng;

/// Walks from a start node, ready to be taken by many threads at once.
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
    /// Fills `out` with a walk that begins at `start`. Returns how many nodes it has: all that
    /// there is room for, or 1 if the start has no neighbours.
    fn walk(&self, start: Node, rng: &mut Rng, out: &mut [Node]) -> usize;

    /// Takes one walk from every start, each with its own stream. Node t of walk w is
    /// `out[t * starts.len() + w]`; a walk that cannot go on stays where it is.
    ///
    /// The result is that of [`walk`](Self::walk) for each; a source that can take steps of
    /// several walks side by side, so that they wait for memory together, does so here.
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

    /// How many walks begin at a node in an epoch that takes `walks` from each on average.
    fn walks_from(&self, _start: Node, walks: usize, _rng: &mut Rng) -> usize {
        walks
    }
}
