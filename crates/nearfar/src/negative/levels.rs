//! Distance-aware negatives from one breadth-first search per centre, without a hop table.

use std::sync::{Arc, Mutex, PoisonError};

use super::NegativeSampler;
use super::law::DistanceLaw;
use crate::distance::Levels;
use crate::error::Result;
use crate::graph::{Graph, Node};
use crate::rng::{Alias, Rng};

/// P(k|i) ∝ d(i,k)^γ. A breadth-first search lists the nodes of every level; a draw picks a level
/// with probability ∝ size × weight, then one of its nodes uniformly. Each call runs one search, so
/// callers should draw many negatives of a centre at a time.
pub(super) struct ByLevel {
    graph: Arc<Graph>,
    law: DistanceLaw,
    far: u32,
    /// A pool of search buffers; it grows to one for each thread that searches at the same time.
    room: Mutex<Vec<Levels>>,
}

impl ByLevel {
    pub(super) fn new(graph: &Arc<Graph>, law: DistanceLaw, far: u32) -> Result<Self> {
        law.far_power(far, far)?;
        Ok(Self { graph: Arc::clone(graph), law, far, room: Mutex::default() })
    }

    /// Searches from a centre and calls `then` with the levels and the weight of a node in each.
    fn search<T>(&self, centre: Node, then: impl FnOnce(&Levels, &[f64]) -> T) -> T {
        // The lock is held only for a push or a pop, so a poisoned pool is still consistent.
        let room = || self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let mut levels = room().pop().unwrap_or_default();
        levels.search(&self.graph, &[centre]);
        let unreached = levels.append_unreached();
        let result = then(&levels, &self.level_weights(&levels, unreached));
        room().push(levels);
        result
    }

    /// The weight of a node in each level.
    fn level_weights(&self, levels: &Levels, unreached: usize) -> Vec<f64> {
        let last = levels.len() - 1;
        let far = (unreached > 0).then_some(last);
        let hops = |level| if Some(level) == far { self.far } else { level as u32 };
        let largest = (0..=last).map(hops).max().unwrap_or(1);
        let power = |level| self.law.power(hops(level), largest);
        let size = |level| levels.level(level).len() as f64;
        let mass = (0..=last).map(|level| size(level) * power(level)).sum();
        let (low, high) = self.law.limits(mass, self.graph.nodes());
        // Level 0 is the centre itself.
        let weight = |level| if level == 0 { 0.0 } else { power(level).max(low).min(high) };
        (0..=last).map(weight).collect()
    }
}

impl NegativeSampler for ByLevel {
    fn prefers_batches(&self) -> bool {
        true
    }

    fn fill(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) {
        let mut list = [(rng.clone(), out)];
        self.fill_each(centre, &mut list);
        *rng = list[0].0.clone();
    }

    fn fill_each(&self, centre: Node, lists: &mut [(Rng, &mut [Node])]) {
        self.search(centre, |levels, weights| {
            let mass = |(level, weight): (usize, &f64)| levels.level(level).len() as f64 * weight;
            let masses: Vec<f64> = weights.iter().enumerate().map(mass).collect();
            let Some(alias) = Alias::new(&masses) else { return };
            for (rng, out) in lists {
                for negative in out.iter_mut() {
                    let level = levels.level(alias.draw(rng));
                    *negative = level[rng.below(level.len())];
                }
            }
        });
    }

    fn weights(&self, centre: Node, out: &mut [f64]) {
        self.search(centre, |levels, weights| {
            for (level, &weight) in weights.iter().enumerate() {
                levels.level(level).iter().for_each(|&k| out[k as usize] = weight);
            }
        });
    }
}
