//! First-order walks: DeepWalk.

use std::sync::Arc;

use rayon::prelude::*;

use super::PositiveSource;
use crate::graph::{Graph, Node};
use crate::rng::{Alias, Rng};

/// Every step goes to a neighbour, each with the same probability, or by the weights of the edges
/// if the graph has any.
pub struct Walk {
    graph: Arc<Graph>,
    steps: Steps,
}

/// How a neighbour is chosen.
enum Steps {
    Uniform,
    /// A table for each node; 8 bytes an edge and direction.
    Weighted(Vec<Option<Alias>>),
}

impl Walk {
    /// The memory of walks on a graph, the graph aside.
    pub fn bytes(graph: &Graph) -> u64 {
        if graph.is_weighted() { graph.arcs() as u64 * 8 + graph.nodes() as u64 * 24 } else { 0 }
    }

    /// Prepares the steps.
    pub fn new(graph: &Arc<Graph>) -> Self {
        let steps = if graph.is_weighted() {
            let table = |node: Node| {
                let weights: Vec<f64> =
                    graph.weights(node)?.iter().map(|&weight| f64::from(weight)).collect();
                Alias::new(&weights)
            };
            Steps::Weighted((0..graph.nodes() as Node).into_par_iter().map(table).collect())
        } else {
            Steps::Uniform
        };
        Self { graph: Arc::clone(graph), steps }
    }

    pub(super) fn graph(&self) -> &Graph {
        &self.graph
    }

    /// A neighbour of a node; `None` if it has none.
    #[inline]
    pub(super) fn step(&self, node: Node, rng: &mut Rng) -> Option<Node> {
        let neighbours = self.graph.neighbours(node);
        if neighbours.is_empty() {
            return None;
        }
        let at = match &self.steps {
            Steps::Uniform => rng.below(neighbours.len()),
            Steps::Weighted(tables) => tables[node as usize].as_ref()?.draw(rng),
        };
        Some(neighbours[at])
    }
}

impl PositiveSource for Walk {
    fn walk(&self, start: Node, rng: &mut Rng, out: &mut [Node]) -> usize {
        let mut node = start;
        for (at, slot) in out.iter_mut().enumerate() {
            if at > 0 {
                let Some(next) = self.step(node, rng) else { return at };
                node = next;
            }
            *slot = node;
        }
        out.len()
    }

    fn walks(&self, starts: &[Node], rngs: &mut [Rng], out: &mut [Node]) {
        let mut nodes = out.chunks_exact_mut(starts.len().max(1));
        let Some(mut before) = nodes.next() else { return };
        before.copy_from_slice(starts);
        for after in nodes {
            // No step waits for another: the processor has many under way.
            for ((next, &node), rng) in after.iter_mut().zip(&*before).zip(&mut *rngs) {
                *next = self.step(node, rng).unwrap_or(node);
            }
            before = after;
        }
    }
}
