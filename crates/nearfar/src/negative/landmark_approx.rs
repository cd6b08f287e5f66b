//! Distance-aware negatives by distances through landmarks, the paper's "DNS-approx".
//!
//! # Derivation
//!
//! The distribution is P(k|i) ∝ d̂^γ with d̂ = a + b + h, where a = N2P(i) and h = N2P(k) are the
//! hops to the nearest landmarks and b = P2P(p_i, p_k) those between them. The paper rebuilds a row
//! of n distances for every centre. But each term alone can be drawn from in constant time:
//!
//! - ∝ a^γ, the same for all k: a uniform node;
//! - ∝ b^γ: a node by the row of the landmark p_i ([`Clusters`]);
//! - ∝ h^γ, for any i: a depth from a short list, then a uniform node at that depth.
//!
//! For γ = 1 the distribution is the mixture of the three, each with its total weight. For other
//! γ > 0 the mixture serves as the proposal distribution:
//!
//! ```text
//! (a + b + h)^γ ≤ c (a^γ + b^γ + h^γ),   c = 1 for γ ≤ 1 (subadditivity), 3^(γ−1) above (Jensen)
//! ```
//!
//! so a proposal is accepted with probability (a + b + h)^γ / (c (a^γ + b^γ + h^γ)), which is never
//! below 3^−|γ−1|: the expected number of proposals does not depend on the graph. A proposal of i
//! itself is rejected.
//!
//! Where distances are similar, uniform proposals are faster: accept a node with probability
//! (d̂ / D)^γ, D being the largest d̂ of the row. If r is the mean of d̂ / D, at least r^max(γ, 1) of
//! the proposals are accepted (Jensen again). This is used if that rate is 1/8 or more.
//!
//! For γ < 0 the weight of k ≠ i is at most that of any one term alone, with 1 in place of 0:
//! max(a, 1)^γ, max(h, 1)^γ, and b^γ in clusters other than the centre's. Proposals come from the
//! bound with the smallest total weight, and are accepted with probability weight / bound. The
//! acceptance rate depends on the depth of nodes below their landmarks, not on the number of nodes.
//! Where distances are similar, proposals are uniform here too: outside the centre's cluster no
//! weight exceeds (a + b)^γ, b being the hops to the nearest other landmark. Inside it weights are
//! up to r times as large, so its nodes are proposed r times as often, and accepted with 1/r of the
//! probability.

use rayon::prelude::*;

use super::NegativeSampler;
use super::clusters::{Clusters, Counting};
use super::landmark_index::LandmarkIndex;
use super::law::DistanceLaw;
use super::rejection::reject;
use crate::budget::{product, sum};
use crate::distance::{HopCell, Landmarks};
use crate::error::Result;
use crate::graph::Node;
use crate::rng::{Alias, Rng};

/// P(k|i) ∝ (N2P(i) + P2P(p_i, p_k) + N2P(k))^γ.
pub(super) struct LandmarkApprox<T> {
    clusters: Clusters<T>,
    /// The nearest landmark of every node and the hops to it in one entry: testing a proposal
    /// takes one cache miss, not two.
    index: LandmarkIndex,
    gamma: f64,
    /// d^γ for every d̂ within a component, on the same scale as all other weights here.
    powers: Vec<f64>,
    /// (far + a + h)^γ by a + h.
    far_powers: Vec<f64>,
    depths: Depths,
    /// One for each landmark.
    ranges: Vec<RowRange>,
}

/// The range of b + h in a landmark's row.
struct RowRange {
    mean: f64,
    /// The largest within the component.
    inside: u32,
    /// The largest between components, if there are several.
    outside: Option<u32>,
    /// The smallest b to another landmark of the component.
    nearest: Option<u32>,
}

/// How uniform proposals are accepted.
struct UniformProposal {
    /// The largest weight outside the centre's cluster, or a bound on it.
    bound: f64,
    /// A bound on weight / `bound` inside the centre's cluster.
    cluster_factor: f64,
    /// The estimated acceptance rate, without the additional proposals from the centre's cluster.
    acceptance: f64,
}

impl<T: HopCell> LandmarkApprox<T> {
    /// The memory besides the clusters, for n nodes and p landmarks: the index of landmarks, mostly
    /// of two bytes a node where there are few, and the nodes by depth.
    pub(super) fn bytes(nodes: usize, landmarks: usize) -> u64 {
        let index = if landmarks < 1 << 10 { 2 } else { 8 };
        sum([product([nodes, index + 4]), product([landmarks, size_of::<RowRange>()])])
    }

    pub(super) fn new(landmarks: Landmarks<T>, law: DistanceLaw, far: u32) -> Result<Self> {
        let deepest = landmarks.depth.iter().copied().max().unwrap_or(0);
        let largest = landmarks.largest();
        let scale = largest.max(far).saturating_add(2 * deepest);
        let far_weight = law.far_power(far, scale)?;
        let power = |d: u32| law.power(d, scale);
        let powers: Vec<f64> = (0..=largest + 2 * deepest).map(power).collect();
        let far_powers =
            (0..=2 * deepest).map(|depths| power(far.saturating_add(depths))).collect();
        let least = u32::from(law.gamma < 0.0);
        let depths = Depths::new(&landmarks.depth, |h| power(h.max(least)));
        let index = LandmarkIndex::new(&landmarks.nearest, &landmarks.depth);
        let clusters = Clusters::new(landmarks, power, far_weight, Counting::Nodes);
        let ranges = row_ranges(&clusters, far);
        Ok(Self { clusters, index, gamma: law.gamma, powers, far_powers, depths, ranges })
    }

    /// Fills `out` from uniform proposals; returns false if too few of them would be accepted.
    #[inline]
    fn fill_from_uniform(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) -> bool {
        let n = self.index.len();
        let (own, a) = self.index.get(centre);
        let same_cluster = self.clusters.members(own);
        let range = &self.ranges[own as usize];
        let UniformProposal { bound, cluster_factor, acceptance } = if self.gamma < 0.0 {
            self.decreasing_proposal(a, range)
        } else {
            self.increasing_proposal(a, range)
        };
        let total = n as f64 + (cluster_factor - 1.0) * same_cluster.len() as f64;
        let acceptance = acceptance * n as f64 / total;
        // If there is no other cluster, the bound is 0 and the rate is not a number.
        if acceptance.is_nan() || acceptance < 0.125 {
            return false;
        }
        let propose = |rng: &mut Rng| {
            let (i, unit) = rng.index_and_unit(total as usize);
            let node = if i < n { i as Node } else { same_cluster[(i - n) % same_cluster.len()] };
            self.index.prefetch(node);
            (node, unit)
        };
        reject::<64>(rng, out, bound, acceptance, propose, |k| {
            let (landmark, h) = self.index.get(k);
            let weight = self.power(a + h, self.clusters.hops(own as usize, landmark));
            match landmark {
                _ if k == centre => 0.0,
                _ if landmark == own => weight / cluster_factor,
                _ => weight,
            }
        });
        true
    }

    /// For γ ≥ 0: the largest weight is that of the largest distance.
    #[inline]
    fn increasing_proposal(&self, a: u32, range: &RowRange) -> UniformProposal {
        let RowRange { mean, inside, outside, .. } = *range;
        let largest = outside.unwrap_or(0).max(inside).saturating_add(a);
        let ratio = (f64::from(a) + mean) / f64::from(largest);
        let acceptance = if self.gamma <= 1.0 { ratio } else { ratio.powf(self.gamma) };
        let far = outside.map_or(0.0, |_| self.far_powers[self.far_powers.len() - 1]);
        let bound = self.powers[(inside + a) as usize].max(far);
        UniformProposal { bound, cluster_factor: 1.0, acceptance }
    }

    /// For γ < 0: the largest weight is that of the smallest distance, which is that to the nearest
    /// other landmark outside the centre's cluster and max(a, 1) inside it.
    #[inline]
    fn decreasing_proposal(&self, a: u32, range: &RowRange) -> UniformProposal {
        let RowRange { mean, nearest, outside, .. } = *range;
        let inside = nearest.map_or(0.0, |b| self.powers[(a + b) as usize]);
        let bound = outside.map_or(0.0, |_| self.far_powers[a as usize]).max(inside);
        let cluster_factor = (self.powers[a.max(1) as usize] / bound).max(1.0).ceil();
        let typical = (f64::from(a) + mean).ceil() as usize;
        let typical = self.powers[typical.min(self.powers.len() - 1)];
        UniformProposal { bound, cluster_factor, acceptance: typical / bound }
    }

    /// (`depths` + b)^γ for b hops between landmarks, `None` between components.
    #[inline]
    fn power(&self, depths: u32, between: Option<u32>) -> f64 {
        match between {
            Some(hops) => self.powers[(depths + hops) as usize],
            None => self.far_powers[depths as usize],
        }
    }

    /// For γ ≥ 0: proposals from the mixture of the three terms.
    fn fill_increasing(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) {
        let landmarks = &self.clusters.landmarks;
        let own = landmarks.nearest[centre as usize] as usize;
        let a = landmarks.depth[centre as usize];
        let uniform_mass = self.powers[a as usize] * landmarks.nearest.len() as f64;
        let row_mass = self.clusters.mass(own);
        let total = uniform_mass + row_mass + self.depths.mass;
        let c = 3_f64.powf(self.gamma - 1.0).max(1.0);
        for negative in out {
            *negative = loop {
                let term = rng.unit() * total;
                let k = if term < uniform_mass {
                    rng.below(landmarks.nearest.len()) as Node
                } else if term < uniform_mass + row_mass {
                    self.clusters.draw(own, rng)
                } else {
                    self.depths.draw(rng)
                };
                if k == centre {
                    continue;
                }
                #[expect(clippy::float_cmp, reason = "for exactly 1 every proposal is accepted")]
                if self.gamma == 1.0 {
                    break k;
                }
                let h = landmarks.depth[k as usize];
                let b = self.clusters.hops(own, landmarks.nearest[k as usize]);
                let terms = self.power(a, Some(0)) + self.power(0, b) + self.power(h, Some(0));
                if rng.unit() * c * terms < self.power(a + h, b) {
                    break k;
                }
            };
        }
    }

    /// For γ < 0: proposals from the bound with the smallest total weight.
    fn fill_decreasing(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) {
        let landmarks = &self.clusters.landmarks;
        let n = landmarks.nearest.len();
        let own = landmarks.nearest[centre as usize];
        let a = landmarks.depth[centre as usize];
        let same_cluster = self.clusters.members(own);
        let constant = self.powers[a.max(1) as usize];
        let same_cluster_mass = constant * same_cluster.len() as f64;
        let row_mass = same_cluster_mass + self.clusters.mass(own as usize);
        let terms = [
            (BoundingTerm::Row, row_mass),
            (BoundingTerm::Depth, self.depths.mass),
            (BoundingTerm::Constant, constant * n as f64),
        ];
        let smallest = terms.into_iter().min_by(|(_, a), (_, b)| a.total_cmp(b));
        let term = smallest.map_or(BoundingTerm::Constant, |(term, _)| term);
        // Proposals are made in groups, so that their cache misses overlap.
        let mut proposals = [0; 64];
        let mut filled = 0;
        while filled < out.len() {
            let count = (out.len() - filled).min(proposals.len());
            let proposals = &mut proposals[..count];
            match term {
                BoundingTerm::Row => {
                    let same_cluster_fraction = same_cluster_mass / row_mass;
                    if same_cluster_fraction < 1.0 {
                        self.clusters.fill(own as usize, rng, proposals);
                    }
                    for k in &mut *proposals {
                        if rng.unit() < same_cluster_fraction {
                            *k = same_cluster[rng.below(same_cluster.len())];
                        }
                    }
                }
                BoundingTerm::Depth => proposals.fill_with(|| self.depths.draw(rng)),
                BoundingTerm::Constant => proposals.fill_with(|| rng.below(n) as Node),
            }
            for &mut k in proposals {
                let (landmark, h) = (landmarks.nearest[k as usize], landmarks.depth[k as usize]);
                let b = self.clusters.hops(own as usize, landmark);
                let bound = match term {
                    BoundingTerm::Row if landmark != own => self.power(0, b),
                    BoundingTerm::Depth => self.powers[h.max(1) as usize],
                    BoundingTerm::Row | BoundingTerm::Constant => constant,
                };
                out[filled] = k;
                let accepted = k != centre && rng.unit() * bound < self.power(a + h, b);
                filled += usize::from(accepted);
            }
        }
    }
}

impl<T: HopCell> NegativeSampler for LandmarkApprox<T> {
    fn fill(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) {
        if !self.fill_from_uniform(centre, rng, out) {
            if self.gamma < 0.0 {
                self.fill_decreasing(centre, rng, out);
            } else {
                self.fill_increasing(centre, rng, out);
            }
        }
    }

    fn weights(&self, centre: Node, out: &mut [f64]) {
        let landmarks = &self.clusters.landmarks;
        let own = landmarks.nearest[centre as usize] as usize;
        let a = landmarks.depth[centre as usize];
        for (k, weight) in out.iter_mut().enumerate() {
            *weight =
                self.power(a + landmarks.depth[k], self.clusters.hops(own, landmarks.nearest[k]));
        }
        out[centre as usize] = 0.0;
    }
}

fn row_ranges<T: HopCell>(clusters: &Clusters<T>, far: u32) -> Vec<RowRange> {
    let landmarks = &clusters.landmarks;
    let n = landmarks.nearest.len() as f64;
    let deepest = landmarks.depth.iter().copied().max().unwrap_or(0);
    let mean_depth = landmarks.depth.iter().map(|&h| f64::from(h)).sum::<f64>() / n;
    let cluster_depth: Vec<u32> = (0..landmarks.len() as u32)
        .map(|q| clusters.members(q).iter().map(|&k| landmarks.depth[k as usize]).max())
        .map(Option::unwrap_or_default)
        .collect();
    let range = |landmark: usize| {
        let start = landmarks.component[landmark].0;
        let (mut inside, mut sum, mut reached, mut nearest) = (0, 0.0, 0, None);
        for (q, cell) in (start..).zip(landmarks.row(landmark)) {
            let (hops, size) = (cell.index() as u32, clusters.members(q).len());
            inside = inside.max(hops + cluster_depth[q as usize]);
            sum += f64::from(hops) * size as f64;
            reached += size;
            if q as usize != landmark {
                nearest = Some(nearest.map_or(hops, |nearest: u32| nearest.min(hops)));
            }
        }
        let others = n - reached as f64;
        let mean = (sum + f64::from(far) * others) / n + mean_depth;
        let outside = (others > 0.0).then_some(far.saturating_add(deepest));
        RowRange { mean, inside, outside, nearest }
    };
    (0..landmarks.len()).into_par_iter().map(range).collect()
}

/// The term that bounds the weights for γ < 0.
#[derive(Clone, Copy)]
enum BoundingTerm {
    /// b^γ, and max(a, 1)^γ in the centre's own cluster.
    Row,
    /// max(h, 1)^γ.
    Depth,
    /// max(a, 1)^γ.
    Constant,
}

/// The nodes grouped by depth, the hops to their nearest landmark.
struct Depths {
    nodes: Vec<Node>,
    /// The offset in `nodes` of each depth, and the end.
    starts: Vec<usize>,
    /// Draws a depth by the total weight of its nodes; `None` if all weights are 0.
    alias: Option<Alias>,
    /// The sum of all weights.
    mass: f64,
}

impl Depths {
    /// `weight` maps a depth to the weight of a node at it.
    fn new(depth: &[u32], weight: impl Fn(u32) -> f64) -> Self {
        let mut nodes: Vec<Node> = (0..depth.len() as Node).collect();
        nodes.sort_by_key(|&node| depth[node as usize]);
        let mut starts = vec![0];
        let mut masses = Vec::new();
        for group in nodes.chunk_by(|&a, &b| depth[a as usize] == depth[b as usize]) {
            starts.push(starts[starts.len() - 1] + group.len());
            masses.push(group.len() as f64 * weight(depth[group[0] as usize]));
        }
        let mass = masses.iter().sum();
        Self { nodes, starts, alias: Alias::new(&masses), mass }
    }

    #[inline]
    fn draw(&self, rng: &mut Rng) -> Node {
        let depth = self.alias.as_ref().map_or(0, |alias| alias.draw(rng));
        let (start, end) = (self.starts[depth], self.starts[depth + 1]);
        self.nodes[start + rng.below(end - start)]
    }
}
