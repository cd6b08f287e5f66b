//! Distance-aware negatives by distances through landmarks, the paper's "DNS-approx".
//!
//! # Derivation
//!
//! The law is P(k|i) ∝ d̂^γ with d̂ = a + b + h, where a = N2P(i) and h = N2P(k) are the hops to
//! the nearest landmarks and b = P2P(p_i, p_k) those between them. The paper rebuilds a row of n
//! distances for every centre. But each term alone is easily drawn by, in constant time:
//!
//! - ∝ a^γ, the same for all k: any node;
//! - ∝ b^γ: a node by the row of the landmark p_i ([`Clusters`]);
//! - ∝ h^γ, whatever i: a depth from a short list, then any node at that depth.
//!
//! For γ = 1 the law is the mixture of the three, each by its total weight. For other γ > 0 the
//! mixture is close enough to propose from:
//!
//! ```text
//! (a + b + h)^γ ≤ c (a^γ + b^γ + h^γ),   c = 1 for γ ≤ 1 (subadditivity), 3^(γ−1) above (Jensen)
//! ```
//!
//! so a proposal is kept with probability (a + b + h)^γ / (c (a^γ + b^γ + h^γ)), which is never
//! below 3^−|γ−1|: the number of tries does not depend on the graph. A proposal of i itself is
//! dropped.
//!
//! Where distances are alike there is a faster way: propose any node and keep it with probability
//! (d̂ / D)^γ, D the largest d̂ of the row. If r is the mean of d̂ / D, at least r^max(γ, 1) of the
//! proposals are kept (Jensen again), and if that is an eighth or more, so it is done.
//!
//! For γ < 0 the weight of k ≠ i is at most that of any one term alone, counted as 1 where it is
//! 0: max(a, 1)^γ, max(h, 1)^γ, and b^γ in other clusters than the centre's own. Proposals come
//! from the bound that weighs least in total, and are kept with probability weight / bound. How
//! many are kept depends on how deep nodes lie below their landmarks, not on how many there are.
//! Where distances are alike, here too any node is proposed: outside of the centre's own cluster no
//! weight is above (a + b)^γ, b the hops to the next landmark. Inside of it weights are up to r times
//! as large, so its nodes are proposed r times as often, and kept with a r-th of the probability.

use rayon::prelude::*;

use super::clusters::{Clusters, Counting};
use super::landmark_index::Places;
use super::law::DistanceLaw;
use super::rejection::reject;
use super::NegativeSampler;
use crate::budget::{product, sum};
use crate::distance::{HopCell, Landmarks};
use crate::error::Result;
use crate::graph::Node;
use crate::rng::{Alias, Rng};

/// P(k|i) ∝ (N2P(i) + P2P(p_i, p_k) + N2P(k))^γ.
pub(super) struct LandmarkApprox<T> {
    clusters: Clusters<T>,
    /// The nearest landmark of every node and the hops to it: the look-ups of a proposal are at
    /// one random place, not at two.
    places: Places,
    gamma: f64,
    /// d^γ for every d̂ within a component, on a common scale with everything else here.
    powers: Vec<f64>,
    /// (far + a + h)^γ by a + h.
    far_powers: Vec<f64>,
    depths: Depths,
    /// For each landmark, what is known of its row.
    reach: Vec<Reach>,
}

/// How far b + h goes in a landmark's row.
struct Reach {
    mean: f64,
    /// The largest within the component.
    inside: u32,
    /// The largest between components, if there are several.
    outside: Option<u32>,
    /// The smallest b to another landmark of the component.
    next: Option<u32>,
}

/// How any node can be proposed.
struct Alike {
    /// What no weight is above, outside of the centre's own cluster.
    bound: f64,
    /// How many times it may be above that within.
    times: f64,
    /// About how many proposals are kept, those of the own cluster aside.
    kept: f64,
}

impl<T: HopCell> LandmarkApprox<T> {
    /// The memory besides the clusters, for n nodes and p landmarks: the index of landmarks, mostly
    /// of two bytes a node where there are few, and the nodes by depth.
    pub(super) fn bytes(nodes: usize, landmarks: usize) -> u64 {
        let index = if landmarks < 1 << 10 { 2 } else { 8 };
        sum([product([nodes, index + 4]), product([landmarks, size_of::<Reach>()])])
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
        let places = Places::new(&landmarks.nearest, &landmarks.depth);
        let clusters = Clusters::new(landmarks, power, far_weight, Counting::Nodes);
        let reach = reach(&clusters, far);
        Ok(Self { clusters, places, gamma: law.gamma, powers, far_powers, depths, reach })
    }

    /// The way of alike distances; false if they are not.
    #[inline]
    fn fill_alike(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) -> bool {
        let n = self.places.len();
        let (own, a) = self.places.of(centre);
        let mates = self.clusters.members(own);
        let reach = &self.reach[own as usize];
        let Alike { bound, times, kept } =
            if self.gamma < 0.0 { self.falling(a, reach) } else { self.rising(a, reach) };
        let all = n as f64 + (times - 1.0) * mates.len() as f64;
        let kept = kept * n as f64 / all;
        // Without any other cluster there is no bound, and nothing is kept.
        if kept.is_nan() || kept < 0.125 {
            return false;
        }
        let propose = |rng: &mut Rng| {
            let (at, unit) = rng.index_and_unit(all as usize);
            let node = if at < n { at as Node } else { mates[(at - n) % mates.len()] };
            self.places.prefetch(node);
            (node, unit)
        };
        reject::<64>(rng, out, bound, kept, propose, |k| {
            let (near, h) = self.places.of(k);
            let weight = self.power(a + h, self.clusters.hops(own as usize, near));
            match near {
                _ if k == centre => 0.0,
                _ if near == own => weight / times,
                _ => weight,
            }
        });
        true
    }

    /// γ ≥ 0: the largest weight is that of the largest distance.
    #[inline]
    fn rising(&self, a: u32, reach: &Reach) -> Alike {
        let Reach { mean, inside, outside, .. } = *reach;
        let largest = outside.unwrap_or(0).max(inside).saturating_add(a);
        let ratio = (f64::from(a) + mean) / f64::from(largest);
        let kept = if self.gamma <= 1.0 { ratio } else { ratio.powf(self.gamma) };
        let far = outside.map_or(0.0, |_| self.far_powers[self.far_powers.len() - 1]);
        Alike { bound: self.powers[(inside + a) as usize].max(far), times: 1.0, kept }
    }

    /// γ < 0: that of the smallest, to the next landmark and in the centre's own cluster.
    #[inline]
    fn falling(&self, a: u32, reach: &Reach) -> Alike {
        let Reach { mean, next, outside, .. } = *reach;
        let inside = next.map_or(0.0, |b| self.powers[(a + b) as usize]);
        let bound = outside.map_or(0.0, |_| self.far_powers[a as usize]).max(inside);
        let times = (self.powers[a.max(1) as usize] / bound).max(1.0).ceil();
        let typical = (f64::from(a) + mean).ceil() as usize;
        let typical = self.powers[typical.min(self.powers.len() - 1)];
        Alike { bound, times, kept: typical / bound }
    }

    /// (depths + b)^γ for b hops between landmarks.
    #[inline]
    fn power(&self, depths: u32, between: Option<u32>) -> f64 {
        match between {
            Some(hops) => self.powers[(depths + hops) as usize],
            None => self.far_powers[depths as usize],
        }
    }

    fn fill_rising(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) {
        let landmarks = &self.clusters.landmarks;
        let own = landmarks.nearest[centre as usize] as usize;
        let a = landmarks.depth[centre as usize];
        let any = self.powers[a as usize] * landmarks.nearest.len() as f64;
        let row = self.clusters.mass(own);
        let total = any + row + self.depths.mass;
        let c = 3_f64.powf(self.gamma - 1.0).max(1.0);
        for negative in out {
            *negative = loop {
                let term = rng.unit() * total;
                let k = if term < any {
                    rng.below(landmarks.nearest.len()) as Node
                } else if term < any + row {
                    self.clusters.draw(own, rng)
                } else {
                    self.depths.draw(rng)
                };
                if k == centre {
                    continue;
                }
                #[expect(clippy::float_cmp, reason = "exactly one: the mixture is the law")]
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

    fn fill_falling(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) {
        let landmarks = &self.clusters.landmarks;
        let n = landmarks.nearest.len();
        let own = landmarks.nearest[centre as usize];
        let a = landmarks.depth[centre as usize];
        let mates = self.clusters.members(own);
        let flat = self.powers[a.max(1) as usize];
        let mates_mass = flat * mates.len() as f64;
        let row_mass = mates_mass + self.clusters.mass(own as usize);
        let bounds =
            [(Term::Row, row_mass), (Term::Depth, self.depths.mass), (Term::Flat, flat * n as f64)];
        let least = bounds.into_iter().min_by(|(_, a), (_, b)| a.total_cmp(b));
        let least = least.map_or(Term::Flat, |(term, _)| term);
        // Some at a time, so that they wait for memory together.
        let mut proposals = [0; 64];
        let mut filled = 0;
        while filled < out.len() {
            let count = (out.len() - filled).min(proposals.len());
            let proposals = &mut proposals[..count];
            match least {
                Term::Row => {
                    let of_mates = mates_mass / row_mass;
                    if of_mates < 1.0 {
                        self.clusters.fill(own as usize, rng, proposals);
                    }
                    for k in &mut *proposals {
                        if rng.unit() < of_mates {
                            *k = mates[rng.below(mates.len())];
                        }
                    }
                }
                Term::Depth => proposals.fill_with(|| self.depths.draw(rng)),
                Term::Flat => proposals.fill_with(|| rng.below(n) as Node),
            }
            for &mut k in proposals {
                let (near, h) = (landmarks.nearest[k as usize], landmarks.depth[k as usize]);
                let b = self.clusters.hops(own as usize, near);
                let bound = match least {
                    Term::Row if near != own => self.power(0, b),
                    Term::Depth => self.powers[h.max(1) as usize],
                    Term::Row | Term::Flat => flat,
                };
                out[filled] = k;
                let kept = k != centre && rng.unit() * bound < self.power(a + h, b);
                filled += usize::from(kept);
            }
        }
    }
}

impl<T: HopCell> NegativeSampler for LandmarkApprox<T> {
    fn fill(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) {
        if !self.fill_alike(centre, rng, out) {
            if self.gamma < 0.0 {
                self.fill_falling(centre, rng, out);
            } else {
                self.fill_rising(centre, rng, out);
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

fn reach<T: HopCell>(clusters: &Clusters<T>, far: u32) -> Vec<Reach> {
    let landmarks = &clusters.landmarks;
    let n = landmarks.nearest.len() as f64;
    let deepest = landmarks.depth.iter().copied().max().unwrap_or(0);
    let mean_depth = landmarks.depth.iter().map(|&h| f64::from(h)).sum::<f64>() / n;
    let cluster_depth: Vec<u32> = (0..landmarks.len() as u32)
        .map(|q| clusters.members(q).iter().map(|&k| landmarks.depth[k as usize]).max())
        .map(Option::unwrap_or_default)
        .collect();
    let of_row = |landmark: usize| {
        let start = landmarks.component[landmark].0;
        let (mut inside, mut sum, mut met, mut next) = (0, 0.0, 0, None);
        for (q, cell) in (start..).zip(landmarks.row(landmark)) {
            let (hops, size) = (cell.index() as u32, clusters.members(q).len());
            inside = inside.max(hops + cluster_depth[q as usize]);
            sum += f64::from(hops) * size as f64;
            met += size;
            if q as usize != landmark {
                next = Some(next.map_or(hops, |next: u32| next.min(hops)));
            }
        }
        let others = n - met as f64;
        let mean = (sum + f64::from(far) * others) / n + mean_depth;
        let outside = (others > 0.0).then_some(far.saturating_add(deepest));
        Reach { mean, inside, outside, next }
    };
    (0..landmarks.len()).into_par_iter().map(of_row).collect()
}

/// What bounds the weights for γ < 0.
#[derive(Clone, Copy)]
enum Term {
    /// b^γ, and max(a, 1)^γ in the centre's own cluster.
    Row,
    /// max(h, 1)^γ.
    Depth,
    /// max(a, 1)^γ.
    Flat,
}

/// The nodes by their depth.
struct Depths {
    nodes: Vec<Node>,
    /// Where each depth begins in `nodes`, and the end.
    starts: Vec<usize>,
    /// Depths by the sum of their nodes' weights; `None` if none has any.
    alias: Option<Alias>,
    /// The sum of all weights.
    mass: f64,
}

impl Depths {
    /// `weight` is that of a node at a depth.
    fn new(depth: &[u32], weight: impl Fn(u32) -> f64) -> Self {
        let mut nodes: Vec<Node> = (0..depth.len() as Node).collect();
        nodes.sort_by_key(|&node| depth[node as usize]);
        let mut starts = vec![0];
        let mut masses = Vec::new();
        for same in nodes.chunk_by(|&a, &b| depth[a as usize] == depth[b as usize]) {
            starts.push(starts[starts.len() - 1] + same.len());
            masses.push(same.len() as f64 * weight(depth[same[0] as usize]));
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
