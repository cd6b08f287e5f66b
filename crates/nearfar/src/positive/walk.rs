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

/// The place of a neighbour that there is not.
pub(super) const NOWHERE: usize = usize::MAX;

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

    /// The place of a neighbour of a node; [`NOWHERE`] if it has none.
    #[inline]
    fn step(&self, node: Node, rng: &mut Rng) -> usize {
        let places = self.graph.places(node);
        match &self.steps {
            _ if places.is_empty() => NOWHERE,
            Steps::Uniform => places.start + rng.below(places.len()),
            Steps::Weighted(tables) => tables[node as usize]
                .as_ref()
                .map_or(NOWHERE, |table| places.start + table.draw(rng)),
        }
    }

    /// The same, and an independent number in [0, 1).
    #[inline]
    pub(super) fn step_and_unit(&self, node: Node, rng: &mut Rng) -> (usize, f64) {
        let places = self.graph.places(node);
        match &self.steps {
            Steps::Uniform if !places.is_empty() => {
                let (at, unit) = rng.index_and_unit(places.len());
                (places.start + at, unit)
            }
            _ => (self.step(node, rng), rng.unit()),
        }
    }
}

impl PositiveSource for Walk {
    fn walk(&self, start: Node, rng: &mut Rng, out: &mut [Node]) -> usize {
        let mut node = start;
        for (at, slot) in out.iter_mut().enumerate() {
            if at > 0 {
                let Some(&next) = self.graph.targets().get(self.step(node, rng)) else { return at };
                node = next;
            }
            *slot = node;
        }
        out.len()
    }

    fn walks(&self, starts: &[Node], rngs: &mut [Rng], out: &mut [Node]) {
        let (graph, targets) = (&self.graph, self.graph.targets());
        let mut nodes = out.chunks_exact_mut(starts.len().max(1));
        let Some(mut before) = nodes.next() else { return };
        before.copy_from_slice(starts);
        let mut places = vec![NOWHERE; starts.len()];
        for after in nodes {
            // A step looks at two places far apart. All walks ask for the second while others still
            // look at the first, and for the next step's first while others look at the second.
            for ((place, &node), rng) in places.iter_mut().zip(&*before).zip(&mut *rngs) {
                *place = self.step(node, rng);
                graph.prefetch_target(*place);
            }
            for ((next, &place), &node) in after.iter_mut().zip(&places).zip(&*before) {
                *next = targets.get(place).copied().unwrap_or(node);
                graph.prefetch_places(*next);
            }
            before = after;
        }
    }
}
