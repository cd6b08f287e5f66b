//! Distance-aware negatives from a search around each centre, without a table.

use std::sync::{Arc, Mutex, PoisonError};

use super::NegativeSampler;
use super::law::DistanceLaw;
use crate::distance::Levels;
use crate::error::Result;
use crate::graph::{Graph, Node};
use crate::rng::{Alias, Rng};

/// P(k|i) ∝ d(i,k)^γ: one breadth-first search gives the nodes of every level; a draw picks a
/// level by its size times its weight, and then any of its nodes. Each call searches once, so it
/// pays to ask for many negatives of a centre at a time.
pub(super) struct ByLevel {
    graph: Arc<Graph>,
    law: DistanceLaw,
    far: u32,
    /// Room for searches, one for each thread that has ever needed one.
    room: Mutex<Vec<Levels>>,
}

impl ByLevel {
    pub(super) fn new(graph: &Arc<Graph>, law: DistanceLaw, far: u32) -> Result<Self> {
        law.far_power(far, far)?;
        Ok(Self { graph: Arc::clone(graph), law, far, room: Mutex::default() })
    }

    /// The weight of each level as a whole.
    fn masses(&self, levels: &Levels, unreached: usize) -> Vec<f64> {
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
        (0..=last).map(|level| size(level) * weight(level)).collect()
    }
}

impl NegativeSampler for ByLevel {
    fn visits_are_slow(&self) -> bool {
        true
    }

    fn fill(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) {
        let mut list = [(rng.clone(), out)];
        self.fill_each(centre, &mut list);
        *rng = list[0].0.clone();
    }

    fn fill_each(&self, centre: Node, lists: &mut [(Rng, &mut [Node])]) {
        // A thread that panicked while holding the lock left nothing half done in the list.
        let room = || self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let mut levels = room().pop().unwrap_or_default();
        levels.search(&self.graph, &[centre]);
        let unreached = levels.append_unreached();
        if let Some(alias) = Alias::new(&self.masses(&levels, unreached)) {
            for (rng, out) in lists {
                for negative in out.iter_mut() {
                    let level = levels.level(alias.draw(rng));
                    *negative = level[rng.below(level.len())];
                }
            }
        }
        room().push(levels);
    }
}
