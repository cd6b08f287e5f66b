//! Distance-aware negatives from one search by lengths per centre, without a table.

use std::sync::{Arc, Mutex, PoisonError};

use super::NegativeSampler;
use super::law::DistanceLaw;
use crate::budget::{product, sum};
use crate::distance::{Along, ShortestPaths};
use crate::graph::{Graph, Node};
use crate::rng::{Alias, Rng};

/// P(k|i) ∝ d(i,k)^γ. Dijkstra's algorithm finds the distance of every node, and negatives are drawn
/// from an alias table of their weights. Each call runs one search, so callers should draw many
/// negatives of a centre at a time.
pub(super) struct LengthSearch {
    graph: Arc<Graph>,
    law: DistanceLaw,
    far: f64,
    /// A pool of search buffers; it grows to one for each thread that searches at the same time.
    room: Mutex<Vec<ShortestPaths>>,
}

impl LengthSearch {
    /// The memory of one search: the paths, a weight for each node, and its cell of the alias table
    /// while that is built.
    pub(super) fn bytes(graph: &Graph) -> u64 {
        sum([ShortestPaths::bytes(graph), product([graph.nodes(), 40])])
    }

    pub(super) fn new(graph: &Arc<Graph>, law: DistanceLaw, far: f64) -> Self {
        Self { graph: Arc::clone(graph), law, far, room: Mutex::default() }
    }

    /// Fills `weights`, which are infinite, with those of all nodes.
    fn search(&self, centre: Node, weights: &mut [f64]) {
        // The lock is held only for a push or a pop, so a poisoned pool is still consistent.
        let room = || self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let mut paths = room().pop().unwrap_or_default();
        paths.search(&self.graph, &[centre], Along::Arcs);
        for (k, weight) in (0..).zip(weights.iter_mut()) {
            let distance = paths.distance(k);
            *weight = if distance.is_finite() { distance } else { self.far };
        }
        room().push(paths);
        self.law.to_powers(weights, centre as usize);
        let (low, high) = self.law.limits(weights.iter().sum(), weights.len());
        for weight in weights.iter_mut() {
            *weight = weight.max(low).min(high);
        }
        weights[centre as usize] = 0.0;
    }
}

impl NegativeSampler for LengthSearch {
    fn prefers_batches(&self) -> bool {
        true
    }

    fn fill(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) {
        let mut list = [(rng.clone(), out)];
        self.fill_each(centre, &mut list);
        *rng = list[0].0.clone();
    }

    fn fill_each(&self, centre: Node, lists: &mut [(Rng, &mut [Node])]) {
        let mut weights = vec![0.0; self.graph.nodes()];
        self.search(centre, &mut weights);
        let Some(alias) = Alias::new(&weights) else { return };
        for (rng, out) in lists {
            for negative in out.iter_mut() {
                *negative = alias.draw(rng) as Node;
            }
        }
    }

    fn weights(&self, centre: Node, out: &mut [f64]) {
        self.search(centre, out);
    }
}
