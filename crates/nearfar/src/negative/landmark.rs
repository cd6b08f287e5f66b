//! The paper's scalable heuristic, "DNS-scalable".

use super::NegativeSampler;
use super::clusters::Clusters;
use super::law::DistanceLaw;
use crate::distance::{HopCell, Landmarks};
use crate::error::{Error, Problem, Result};
use crate::graph::Node;
use crate::rng::Rng;

/// A landmark q with probability ∝ P2P(p_i, q)^γ, then any node whose nearest landmark is q.
///
/// This is not ∝ distance over nodes: it ignores how many nodes a cluster has and how far they are
/// from their landmark, and never draws from the centre's own cluster. It follows the paper's
/// definition.
pub(super) struct Landmark<T>(Clusters<T>);

impl<T: HopCell> Landmark<T> {
    pub(super) fn new(landmarks: Landmarks<T>, law: DistanceLaw, far: u32) -> Result<Self> {
        let scale = landmarks.largest().max(far);
        let weight = |hops| law.power(hops, scale);
        let far_weight = law.far_power(far, scale)?;
        let clusters = Clusters::new(landmarks, weight, far_weight);
        if clusters.landmarks.len() < 2 {
            let problem = Problem::from("the graph has one landmark, and a draw needs another");
            return Err(Error::conflict(problem.set("landmarks", 2)));
        }
        Ok(Self(clusters))
    }
}

impl<T: HopCell> NegativeSampler for Landmark<T> {
    fn fill(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) {
        let own = self.0.landmarks.nearest[centre as usize] as usize;
        self.0.fill(own, rng, out);
    }

    fn weights(&self, centre: Node, out: &mut [f64]) {
        let own = self.0.landmarks.nearest[centre as usize] as usize;
        for q in 0..self.0.landmarks.len() as u32 {
            let members = self.0.members(q);
            let weight = self.0.weight(own, q) / members.len() as f64;
            for &k in members {
                out[k as usize] = weight;
            }
        }
    }
}
