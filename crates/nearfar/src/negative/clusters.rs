//! The clusters of nodes around landmarks, and draws by landmark-to-landmark distance. Shared by
//! [`Landmark`](super::landmark) and [`LandmarkApprox`](super::landmark_approx).

use rayon::prelude::*;

use super::other_components::{OtherComponents, index_outside};
use super::rejection::RejectionSampler;
use crate::distance::{HopCell, Landmarks};
use crate::graph::Node;
use crate::rng::Rng;

/// The nodes grouped by nearest landmark, and for every landmark P a distribution over the
/// clusters q: ∝ count(q) · weight(P2P(P, q)).
pub(super) struct Clusters<T> {
    pub(super) landmarks: Landmarks<T>,
    /// Nodes in the order of their landmarks.
    members: Vec<Node>,
    /// The offset in `members` of each landmark's first node, and the end.
    starts: Vec<u32>,
    counting: Counting,
    /// The weight of each number of hops, and of `far`.
    weights: Vec<f64>,
    far_weight: f64,
    rows: Vec<RejectionSampler>,
}

/// What is drawn with equal weight at equal distance, and so count(q).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Counting {
    /// Nodes: count(q) is the size of the cluster.
    Nodes,
    /// Landmarks: count(q) is 1.
    Landmarks,
}

impl<T: HopCell> Clusters<T> {
    /// The memory in addition to that of [`Landmarks`].
    pub(super) fn bytes(nodes: usize, landmarks: usize) -> u64 {
        nodes as u64 * 4 + landmarks as u64 * (size_of::<RejectionSampler>() as u64 + 4)
    }

    /// `weight` maps hops to a weight; `far_weight` is the weight between components.
    pub(super) fn new(
        landmarks: Landmarks<T>,
        weight: impl Fn(u32) -> f64,
        far_weight: f64,
        counting: Counting,
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
        let mut clusters = Self { landmarks, members, starts, counting, weights, far_weight, rows };
        clusters.rows =
            (0..p).into_par_iter().map(|landmark| clusters.row_sampler(landmark)).collect();
        clusters
    }

    fn row_sampler(&self, landmark: usize) -> RejectionSampler {
        let hops = self.landmarks.row(landmark);
        let (start, end) = self.landmarks.component[landmark];
        let count = |from: u32, to: u32| match self.counting {
            Counting::Nodes => self.starts[to as usize] - self.starts[from as usize],
            Counting::Landmarks => to - from,
        };
        let outside = count(0, self.landmarks.len() as u32) - count(start, end);
        let inside = || {
            (start..end).map(|q| {
                let weight = self.weights[hops[(q - start) as usize].index()];
                (q, f64::from(count(q, q + 1)), weight)
            })
        };
        let far = (f64::from(outside), self.far_weight);
        let groups = inside().map(|(_, count, weight)| (count, weight)).chain([far]);
        RejectionSampler::new(groups, |cutoff| {
            let heavy = inside().filter(|&(_, _, weight)| weight > cutoff);
            let mut heavy: Vec<_> = heavy.map(|(q, count, weight)| (q, count * weight)).collect();
            if outside > 0 && far.1 > cutoff {
                heavy.push((OtherComponents::ITEM, far.0 * far.1));
            }
            heavy
        })
    }

    /// The sum of the weights in a landmark's row. If it is 0 there is nothing to draw.
    pub(super) fn mass(&self, landmark: usize) -> f64 {
        self.rows[landmark].mass
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

    /// Fills `out` with nodes drawn by a landmark's row: with [`Counting::Nodes`] a node k
    /// ∝ weight(P2P(P, q_k)), with [`Counting::Landmarks`] a landmark q ∝ weight(P2P(P, q)) and then
    /// one of its nodes uniformly.
    #[inline]
    pub(super) fn fill(&self, landmark: usize, rng: &mut Rng, out: &mut [Node]) {
        let (start, end) = self.landmarks.component[landmark];
        let weight = |q: u32| self.weight(landmark, q);
        let propose = |rng: &mut Rng, n: usize| {
            let (item, unit) = rng.index_and_unit(n);
            (item as u32, unit)
        };
        let row = &self.rows[landmark];
        match self.counting {
            Counting::Nodes => row.fill(
                rng,
                out,
                |rng| propose(rng, self.members.len()),
                |k| weight(self.landmarks.nearest[k as usize]),
                |rng, item| match item {
                    OtherComponents::ITEM => {
                        let (start, end) = (self.starts[start as usize], self.starts[end as usize]);
                        self.members[index_outside(rng, start, end, self.members.len())]
                    }
                    q => self.member(q, rng),
                },
            ),
            Counting::Landmarks => {
                row.fill(
                    rng,
                    out,
                    |rng| propose(rng, self.landmarks.len()),
                    weight,
                    |rng, item| match item {
                        OtherComponents::ITEM => {
                            index_outside(rng, start, end, self.landmarks.len()) as u32
                        }
                        q => q,
                    },
                );
                for slot in out {
                    *slot = self.member(*slot, rng);
                }
            }
        }
    }

    /// Draws one node by a landmark's row.
    #[inline]
    pub(super) fn draw(&self, landmark: usize, rng: &mut Rng) -> Node {
        let mut one = [0];
        self.fill(landmark, rng, &mut one);
        one[0]
    }

    #[inline]
    fn member(&self, landmark: u32, rng: &mut Rng) -> Node {
        let members = self.members(landmark);
        members[rng.below(members.len())]
    }
}
