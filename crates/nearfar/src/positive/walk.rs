//! First-order walks: DeepWalk.

use std::sync::Arc;

use rayon::prelude::*;

use super::{CentreWeights, PositiveSource, WalkArrays};
use crate::graph::{Graph, Node};
use crate::rng::{Alias, Rng};

/// Walks whose steps go to a uniform neighbour, or to one ∝ edge weight in a weighted graph.
pub struct Walk {
    graph: Arc<Graph>,
    steps: StepSampler,
    centres: CentreWeights,
}

/// In place of an arc (an index into [`Graph::targets`]) where there is none.
pub(super) const NO_ARC: usize = usize::MAX;

/// How the next neighbour is drawn.
enum StepSampler {
    Uniform,
    /// An alias table for each node; 8 bytes per arc.
    Weighted(Vec<Option<Alias>>),
}

impl Walk {
    /// The memory in addition to the graph.
    pub fn bytes(graph: &Graph) -> u64 {
        if graph.is_weighted() { graph.arcs() as u64 * 8 + graph.nodes() as u64 * 24 } else { 0 }
    }

    /// Prepares the steps of walks on a graph, as many from each node.
    pub fn new(graph: &Arc<Graph>) -> Self {
        Self::with_centre_power(graph, 0.0)
    }

    /// The same, with the number of walks from a node ∝ its (weighted) degree^power.
    pub fn with_centre_power(graph: &Arc<Graph>, power: f64) -> Self {
        let steps = if graph.is_weighted() {
            let table = |node: Node| {
                let weights: Vec<f64> =
                    graph.weights(node)?.iter().map(|&weight| f64::from(weight)).collect();
                Alias::new(&weights)
            };
            StepSampler::Weighted((0..graph.nodes() as Node).into_par_iter().map(table).collect())
        } else {
            StepSampler::Uniform
        };
        let centres = CentreWeights::new(graph, power);
        Self { graph: Arc::clone(graph), steps, centres }
    }

    pub(super) fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Draws an arc to a neighbour of a node; [`NO_ARC`] if it has none.
    #[inline]
    fn step(&self, node: Node, rng: &mut Rng) -> usize {
        let arcs = self.graph.places(node);
        match &self.steps {
            _ if arcs.is_empty() => NO_ARC,
            StepSampler::Uniform => arcs.start + rng.below(arcs.len()),
            StepSampler::Weighted(tables) => {
                tables[node as usize].as_ref().map_or(NO_ARC, |table| arcs.start + table.draw(rng))
            }
        }
    }

    /// The same, with an independent uniform number in [0, 1).
    #[inline]
    pub(super) fn step_and_unit(&self, node: Node, rng: &mut Rng) -> (usize, f64) {
        let arcs = self.graph.places(node);
        match &self.steps {
            StepSampler::Uniform if !arcs.is_empty() => {
                let (i, unit) = rng.index_and_unit(arcs.len());
                (arcs.start + i, unit)
            }
            _ => (self.step(node, rng), rng.unit()),
        }
    }
}

impl PositiveSource for Walk {
    fn walks_from(&self, start: Node, walks: usize, rng: &mut Rng) -> usize {
        self.centres.walks(&self.graph, start, walks, rng)
    }

    fn walk(&self, start: Node, rng: &mut Rng, out: &mut [Node]) -> usize {
        let mut node = start;
        for (t, slot) in out.iter_mut().enumerate() {
            if t > 0 {
                let Some(&next) = self.graph.targets().get(self.step(node, rng)) else { return t };
                node = next;
            }
            *slot = node;
        }
        out.len()
    }

    /// `None` if a node's weights are all zero, so that walks end there.
    fn arrays(&self) -> Option<WalkArrays<'_>> {
        let tables = match &self.steps {
            StepSampler::Uniform => None,
            StepSampler::Weighted(tables) => {
                let cells = tables.iter().flatten().flat_map(Alias::cells);
                let cells: Vec<_> = cells.copied().collect();
                (cells.len() == self.graph.arcs()).then_some(())?;
                Some(cells)
            }
        };
        let (offsets, targets) = (self.graph.offsets(), self.graph.targets());
        let centres = self.centres.all(&self.graph);
        Some(WalkArrays { offsets, targets, tables, centres })
    }

    fn walks(&self, starts: &[Node], rngs: &mut [Rng], out: &mut [Node]) {
        let (graph, targets) = (&self.graph, self.graph.targets());
        let mut positions = out.chunks_exact_mut(starts.len().max(1));
        let Some(mut before) = positions.next() else { return };
        before.copy_from_slice(starts);
        let mut arcs = vec![NO_ARC; starts.len()];
        for after in positions {
            // A step reads an offset and then a target. The targets of all walks are prefetched
            // while their offsets are read, and the next offsets while the targets are read.
            for ((arc, &node), rng) in arcs.iter_mut().zip(&*before).zip(&mut *rngs) {
                *arc = self.step(node, rng);
                graph.prefetch_target(*arc);
            }
            for ((next, &arc), &node) in after.iter_mut().zip(&arcs).zip(&*before) {
                *next = targets.get(arc).copied().unwrap_or(node);
                graph.prefetch_places(*next);
            }
            before = after;
        }
    }
}
