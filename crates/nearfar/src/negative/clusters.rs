//! The clusters of nodes around landmarks, and draws by landmark-to-landmark distance.

use rayon::prelude::*;

use super::other_components::{OtherComponents, index_outside};
use super::rejection::RejectionSampler;
use crate::budget::{product, sum};
use crate::distance::{HopCell, Landmarks};
use crate::graph::Node;
use crate::rng::Rng;

/// The nodes grouped by nearest landmark, and for every landmark P a distribution over the
/// clusters q: ∝ weight(P2P(P, q)).
pub(super) struct Clusters<T> {
    pub(super) landmarks: Landmarks<T>,
    /// Nodes in the order of their landmarks.
    members: Vec<Node>,
    /// The offset in `members` of each landmark's first node, and the end.
    starts: Vec<u32>,
    /// The weight of each number of hops, and of `far`.
    weights: Vec<f64>,
    far_weight: f64,
    rows: Vec<RejectionSampler>,
}

impl<T: HopCell> Clusters<T> {
    /// The memory in addition to that of [`Landmarks`], without lists of heavy items.
    pub(super) fn bytes(nodes: usize, landmarks: usize) -> u64 {
        let of_a_landmark = size_of::<RejectionSampler>() + 4;
        sum([product([nodes, 4]), product([landmarks, of_a_landmark])])
    }

    /// `weight` maps hops to a weight; `far_weight` is the weight between components.
    pub(super) fn new(
        landmarks: Landmarks<T>,
        weight: impl Fn(u32) -> f64,
        far_weight: f64,
    ) -> Self {
        let p = landmarks.len();
        let mut starts = vec![0_u32; p + 1];
        for &nearest in &landmarks.nearest {
            starts[nearest as usize + 1] += 1;
        }
        for landmark in 0..p {
            starts[landmark + 1] += starts[landmark];
        }
        let mut next = starts.clone();
        let mut members = vec![0; landmarks.nearest.len()];
        for (node, &nearest) in landmarks.nearest.iter().enumerate() {
            let next = &mut next[nearest as usize];
            members[*next as usize] = node as Node;
            *next += 1;
        }
        let weights = (0..=landmarks.largest()).map(weight).collect();
        let rows = Vec::new();
        let mut clusters = Self { landmarks, members, starts, weights, far_weight, rows };
        clusters.rows =
            (0..p).into_par_iter().map(|landmark| clusters.row_sampler(landmark)).collect();
        clusters
    }

    fn row_sampler(&self, landmark: usize) -> RejectionSampler {
        let hops = self.landmarks.row(landmark);
        let start = self.landmarks.component[landmark].0;
        let outside = self.landmarks.len() - hops.len();
        let inside = || (start..).zip(hops).map(|(q, cell)| (q, self.weights[cell.index()]));
        let far = (outside as f64, self.far_weight);
        let groups = inside().map(|(_, weight)| (1.0, weight)).chain([far]);
        RejectionSampler::new(groups, |cutoff| {
            let mut heavy: Vec<_> = inside().filter(|&(_, weight)| weight > cutoff).collect();
            if outside > 0 && far.1 > cutoff {
                heavy.push((OtherComponents::ITEM, far.0 * far.1));
            }
            heavy
        })
    }

    /// The hops from one landmark to another; `None` between components.
    #[inline]
    pub(super) fn hops(&self, from: usize, to: u32) -> Option<u32> {
        let column = to.wrapping_sub(self.landmarks.component[from].0) as usize;
        self.landmarks.row(from).get(column).map(|cell| cell.index() as u32)
    }

    /// The weight of the hops from one landmark to another.
    #[inline]
    pub(super) fn weight(&self, from: usize, to: u32) -> f64 {
        self.hops(from, to).map_or(self.far_weight, |hops| self.weights[hops as usize])
    }

    /// The nodes whose nearest landmark this is.
    #[inline]
    pub(super) fn members(&self, landmark: u32) -> &[Node] {
        let (start, end) = (self.starts[landmark as usize], self.starts[landmark as usize + 1]);
        &self.members[start as usize..end as usize]
    }

    /// Fills `out` with nodes drawn by a landmark's row: a landmark q ∝ weight(P2P(P, q)), and then
    /// one of its nodes uniformly.
    #[inline]
    pub(super) fn fill(&self, landmark: usize, rng: &mut Rng, out: &mut [Node]) {
        let (start, end) = self.landmarks.component[landmark];
        self.rows[landmark].fill(
            rng,
            out,
            |rng| {
                let (q, unit) = rng.index_and_unit(self.landmarks.len());
                (q as u32, unit)
            },
            |q| self.weight(landmark, q),
            |rng, item| match item {
                OtherComponents::ITEM => {
                    index_outside(rng, start, end, self.landmarks.len()) as u32
                }
                q => q,
            },
        );
        for slot in out {
            let members = self.members(*slot);
            *slot = members[rng.below(members.len())];
        }
    }
}
