//! Distance-aware negatives by distances through landmarks, the paper's "DNS-approx".
//!
//! # Derivation
//!
//! The distribution is P(k|i) ∝ d̂^γ with d̂ = a + b + h, where a = N2P(i) and h = N2P(k) are the
//! hops to the nearest landmarks and b = P2P(p_i, p_k) those between them. The paper rebuilds a row
//! of n distances for every centre. Here a draw takes a bounded number of proposals, whatever γ is.
//!
//! Where distances are similar, proposals are uniform nodes: k is accepted with probability
//! (d̂ / D)^γ, D being the largest d̂ of the row. If r is the mean of d̂ / D, at least r^max(γ, 1) of
//! the proposals are accepted (Jensen's inequality). For γ < 0 no weight outside the centre's
//! cluster exceeds (a + b)^γ, b being the hops to the nearest other landmark. Inside it weights are
//! up to r times as large, so its nodes are proposed r times as often, and accepted with 1/r of the
//! probability. Both are used if they accept 1/8 of the proposals or more.
//!
//! Else a draw has two steps. With t = b + h, the distance is a + t, and each landmark knows how many
//! nodes N(t) are at each t from it. So t is drawn ∝ N(t) (a + t)^γ, and then one of the N(t) nodes
//! uniformly: by proposals from all nodes of the component, if 1/32 of them or more are at t, else
//! by going through the landmarks. Long graphs have many t; they are joined to *bands*, within which
//! the weight changes by at most a factor of two, so that half of the draws from a band are accepted.
//! Nodes of other components, whose distance is a + `far` + h, have bands of their own.

mod arrays;

use rayon::prelude::*;

use super::bands::Bands;
use super::cells::Cells;
use super::landmark_index::LandmarkIndex;
use super::law::DistanceLaw;
use super::other_components::index_outside;
use super::rejection::reject;
use super::{LawArrays, NegativeSampler};
use crate::budget::{product, sum};
use crate::distance::{HopCell, Landmarks};
use crate::error::Result;
use crate::graph::Node;
use crate::rng::Rng;

/// P(k|i) ∝ (N2P(i) + P2P(p_i, p_k) + N2P(k))^γ.
pub(super) struct LandmarkApprox<T> {
    landmarks: Landmarks<T>,
    cells: Cells,
    /// The nearest landmark of every node and the hops to it in one entry: testing a proposal
    /// takes one cache miss, not two.
    index: LandmarkIndex,
    gamma: f64,
    far: u32,
    /// d^γ for every d̂ within a component, on the same scale as all other weights here.
    powers: Vec<f64>,
    /// (far + a + h)^γ by a + h.
    far_powers: Vec<f64>,
    /// One for each landmark.
    ranges: Vec<RowRange>,
    /// Bands of t within a component.
    inside: Bands,
    /// For each landmark the nodes in each of them; empty where proposals are always uniform.
    counts: Vec<Vec<u32>>,
    outside: Outside,
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

/// A band of one centre.
struct Group {
    /// The nodes in it, without the centre.
    count: usize,
    /// The distance of largest weight.
    heaviest: f64,
    nodes: GroupNodes,
}

/// Where the nodes of a group are.
enum GroupNodes {
    /// In this band of the centre's component.
    Inside(usize),
    /// In this range of [`Outside::members`], without the nodes of the centre's component.
    Outside { all: (usize, usize), own: (u32, u32) },
}

/// The nodes by band of `far` + depth: how draws from other components find theirs.
struct Outside {
    bands: Bands,
    /// Nodes in the order of their bands, and by landmark within a band. Empty if the graph is
    /// connected.
    members: Vec<Node>,
    /// The offset in `members` of each band, and the end.
    starts: Vec<usize>,
}

/// The fraction of uniform proposals that has to be accepted.
const ACCEPTANCE: f64 = 0.125;

/// From a band with less than one of so many nodes, draws go through the landmarks.
const RARE: usize = 32;

impl<T: HopCell> LandmarkApprox<T> {
    /// The memory besides the landmarks, for n nodes and p landmarks, at most `diameter` hops apart:
    /// the index of landmarks, mostly of two bytes a node where there are few, the nodes by cell and
    /// by depth, and the counts of nodes by band.
    pub(super) fn bytes(nodes: usize, landmarks: usize, diameter: u32, gamma: f64) -> u64 {
        let index = if landmarks < 1 << 10 { 2 } else { 8 };
        let bands = Bands::most(diameter.saturating_mul(2), gamma);
        let of_a_landmark = size_of::<RowRange>() + size_of::<Vec<u32>>() + 4 * bands;
        sum([
            product([nodes, index + 4]),
            product([landmarks, of_a_landmark]),
            Cells::bytes(nodes, landmarks),
        ])
    }

    pub(super) fn new(landmarks: Landmarks<T>, law: DistanceLaw, far: u32) -> Result<Self> {
        let deepest = landmarks.depth.iter().copied().max().unwrap_or(0);
        let largest = landmarks.largest();
        let scale = largest.max(far).saturating_add(2 * deepest);
        law.far_power(far, scale)?;
        let power = |d: u32| law.power(d, scale);
        // Two nodes without an edge have no distance, but 1 hop has a weight.
        let powers: Vec<f64> = (0..=(largest + 2 * deepest).max(1)).map(power).collect();
        let far_powers =
            (0..=2 * deepest).map(|depths| power(far.saturating_add(depths))).collect();
        let index = LandmarkIndex::new(&landmarks.nearest, &landmarks.depth);
        let cells = Cells::new(&landmarks);
        let ranges = row_ranges(&landmarks, &cells, far);
        let outside = Outside::new(&landmarks, far, deepest, law.gamma);
        let inside = Bands::new(0, u64::from(largest + deepest), law.gamma);
        let mut sampler = Self {
            landmarks,
            cells,
            index,
            gamma: law.gamma,
            far,
            powers,
            far_powers,
            ranges,
            inside,
            counts: Vec::new(),
            outside,
        };
        let band_of: Vec<u32> =
            (0..=u64::from(largest + deepest)).map(|t| sampler.inside.of(t) as u32).collect();
        sampler.counts = (0..sampler.landmarks.len())
            .into_par_iter()
            .map(|landmark| {
                let depths = 0..=sampler.cells.deepest(landmark);
                let uniform = |a: u32| sampler.uniform_proposal(landmark as u32, a).is_some();
                let always = depths.into_iter().all(uniform);
                if always { Vec::new() } else { sampler.count(landmark, &band_of) }
            })
            .collect();
        Ok(sampler)
    }

    /// The nodes of a component in each band around a landmark.
    fn count(&self, landmark: usize, band_of: &[u32]) -> Vec<u32> {
        let mut counts = vec![0; self.inside.len()];
        let first = self.landmarks.component[landmark].0 as usize;
        for (q, cell) in (first..).zip(self.landmarks.row(landmark)) {
            for h in 0..=self.cells.deepest(q) {
                counts[band_of[cell.index() + h as usize] as usize] += self.cells.count(q, h);
            }
        }
        counts
    }

    /// How uniform proposals are accepted for centres of a landmark at depth a; `None` if too few
    /// of them would be.
    #[inline]
    fn uniform_proposal(&self, own: u32, a: u32) -> Option<UniformProposal> {
        let range = &self.ranges[own as usize];
        let mut proposal = if self.gamma < 0.0 {
            self.decreasing_proposal(a, range)
        } else {
            self.increasing_proposal(a, range)
        };
        let n = self.index.len() as f64;
        let same_cluster = self.cells.of((own, own + 1)).len();
        let total = n + (proposal.cluster_factor - 1.0) * same_cluster as f64;
        proposal.acceptance *= n / total;
        // If there is no other cluster, the bound is 0 and the rate is not a number.
        let enough = proposal.bound.is_normal() && proposal.acceptance >= ACCEPTANCE;
        enough.then_some(proposal)
    }

    /// Fills `out` from uniform proposals.
    #[inline]
    fn fill_from_uniform(
        &self,
        centre: Node,
        proposal: &UniformProposal,
        rng: &mut Rng,
        out: &mut [Node],
    ) {
        let n = self.index.len();
        let (own, a) = self.index.get(centre);
        let same_cluster = self.cells.of((own, own + 1));
        let &UniformProposal { bound, cluster_factor, acceptance } = proposal;
        let total = n as f64 + (cluster_factor - 1.0) * same_cluster.len() as f64;
        let propose = |rng: &mut Rng| {
            let (i, unit) = rng.index_and_unit(total as usize);
            let node = if i < n { i as Node } else { same_cluster[(i - n) % same_cluster.len()] };
            self.index.prefetch(node);
            (node, unit)
        };
        reject::<64>(rng, out, bound, acceptance, propose, |k| {
            let (landmark, h) = self.index.get(k);
            let weight = self.power(a + h, self.between(own, landmark));
            match landmark {
                _ if k == centre => 0.0,
                _ if landmark == own => weight / cluster_factor,
                _ => weight,
            }
        });
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
        // By Jensen's inequality the mean weight is at least that of the mean distance.
        let typical = (f64::from(a) + mean).powf(self.gamma);
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

    /// The hops from one landmark to another; `None` between components.
    #[inline]
    fn between(&self, from: u32, to: u32) -> Option<u32> {
        let column = to.wrapping_sub(self.landmarks.component[from as usize].0) as usize;
        self.landmarks.row(from as usize).get(column).map(|cell| cell.index() as u32)
    }

    /// d̂ between a centre and a node, given their landmarks and depths.
    #[inline]
    fn distance(&self, (own, a): (u32, u32), (landmark, h): (u32, u32)) -> f64 {
        let between = self.between(own, landmark).unwrap_or(self.far);
        f64::from(a) + f64::from(between) + f64::from(h)
    }

    /// Fills `out` with draws from the bands around a centre.
    fn fill_by_bands(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) {
        let own = self.index.get(centre);
        let groups = self.groups(own);
        // Weights relative to the largest: no γ makes all of them vanish.
        let heaviest = groups
            .iter()
            .map(|group| group.heaviest)
            .reduce(|a, b| if self.gamma < 0.0 { a.min(b) } else { a.max(b) });
        let Some(heaviest) = heaviest else { return };
        let mut total = 0.0;
        let masses = groups.iter().map(|group| {
            total += group.count as f64 * (group.heaviest / heaviest).powf(self.gamma);
            total
        });
        let masses: Vec<f64> = masses.collect();
        for negative in out {
            *negative = loop {
                let mass = rng.unit() * total;
                let Some(group) = groups.get(masses.partition_point(|&end| end <= mass)) else {
                    continue;
                };
                let k = match group.nodes {
                    GroupNodes::Inside(band) => self.draw_inside(centre, own, band, group, rng),
                    GroupNodes::Outside { all, own } => {
                        let at = index_outside(rng, own.0, own.1, all.1 - all.0);
                        self.outside.members[all.0 + at]
                    }
                };
                let distance = self.distance(own, self.index.get(k));
                if rng.unit() < (distance / group.heaviest).powf(self.gamma) {
                    break k;
                }
            };
        }
    }

    /// The bands around a centre that have nodes.
    fn groups(&self, (own, a): (u32, u32)) -> Vec<Group> {
        let heaviest = |(low, high): (u64, u64)| {
            f64::from(a) + if self.gamma < 0.0 { low as f64 } else { high as f64 }
        };
        let centre_band = self.inside.of(a.into());
        let mut groups = Vec::new();
        for (band, &count) in self.counts[own as usize].iter().enumerate() {
            let count = count as usize - usize::from(band == centre_band);
            if count > 0 {
                let nodes = GroupNodes::Inside(band);
                // Distance 0 is the centre's own.
                let heaviest = heaviest(self.inside.range(band)).max(1.0);
                groups.push(Group { count, heaviest, nodes });
            }
        }
        let component = self.landmarks.component[own as usize];
        for band in 0..self.outside.starts.len().saturating_sub(1) {
            let all = (self.outside.starts[band], self.outside.starts[band + 1]);
            let members = &self.outside.members[all.0..all.1];
            let before =
                |landmark: u32| members.partition_point(|&k| self.index.get(k).0 < landmark) as u32;
            let own = (before(component.0), before(component.1));
            let count = members.len() - (own.1 - own.0) as usize;
            if count > 0 {
                let heaviest = heaviest(self.outside.bands.range(band));
                groups.push(Group { count, heaviest, nodes: GroupNodes::Outside { all, own } });
            }
        }
        groups
    }

    /// A uniform node of a band of the centre's component.
    fn draw_inside(
        &self,
        centre: Node,
        (own, _): (u32, u32),
        band: usize,
        group: &Group,
        rng: &mut Rng,
    ) -> Node {
        let component = self.landmarks.component[own as usize];
        let all = self.cells.of(component);
        let (low, high) = self.inside.range(band);
        let (low, high) = (low as u32, high as u32);
        if group.count >= all.len() / RARE {
            loop {
                let k = all[rng.below(all.len())];
                let (landmark, h) = self.index.get(k);
                let t = self.between(own, landmark).map(|b| b + h);
                if t.is_some_and(|t| (low..=high).contains(&t)) && k != centre {
                    return k;
                }
            }
        }
        let in_band = |q: usize, cell: &T| {
            let b = cell.index() as u32;
            if b > high { &[] } else { self.cells.between(q, low.saturating_sub(b), high - b) }
        };
        loop {
            let mut left = rng.below(self.counts[own as usize][band] as usize);
            let row = (component.0 as usize..).zip(self.landmarks.row(own as usize));
            let found = row.map(|(q, cell)| in_band(q, cell)).find_map(|nodes| {
                let found = nodes.get(left);
                left = left.wrapping_sub(nodes.len());
                found
            });
            if let Some(&k) = found
                && k != centre
            {
                return k;
            }
        }
    }
}

impl Outside {
    fn new<T: HopCell>(landmarks: &Landmarks<T>, far: u32, deepest: u32, gamma: f64) -> Self {
        let bands = Bands::new(far.into(), u64::from(far) + u64::from(deepest), gamma);
        let connected = landmarks.component.iter().all(|&(first, _)| first == 0);
        if connected {
            return Self { bands, members: Vec::new(), starts: Vec::new() };
        }
        let band = |k: Node| bands.of(u64::from(far) + u64::from(landmarks.depth[k as usize]));
        let mut members: Vec<Node> = (0..landmarks.nearest.len() as Node).collect();
        members.sort_by_key(|&k| (band(k), landmarks.nearest[k as usize]));
        let ends = (0..=bands.len()).map(|at| members.partition_point(|&k| band(k) < at));
        Self { starts: ends.collect(), members, bands }
    }
}

impl<T: HopCell> NegativeSampler for LandmarkApprox<T> {
    fn fill(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) {
        let (own, a) = self.index.get(centre);
        match self.uniform_proposal(own, a) {
            Some(proposal) => self.fill_from_uniform(centre, &proposal, rng, out),
            None => self.fill_by_bands(centre, rng, out),
        }
    }

    fn arrays(&self) -> Option<LawArrays<'_>> {
        Some(LawArrays::Landmarks(self.as_arrays()))
    }

    fn weights(&self, centre: Node, out: &mut [f64]) {
        const SMALL: f64 = 1e-250;
        let own = self.index.get(centre);
        for (k, weight) in out.iter_mut().enumerate() {
            let (landmark, h) = self.index.get(k as Node);
            *weight = self.power(own.1 + h, self.between(own.0, landmark));
        }
        out[centre as usize] = 0.0;
        // All nodes can be so far away that every weight vanishes beside that of one hop.
        if out.iter().all(|&weight| weight < SMALL) {
            let distance = |k: Node| self.distance(own, self.index.get(k));
            let others = (0..out.len() as Node).filter(|&k| k != centre);
            let least = others.clone().map(distance).fold(f64::INFINITY, f64::min);
            others.for_each(|k| out[k as usize] = (distance(k) / least).powf(self.gamma));
        }
    }
}

fn row_ranges<T: HopCell>(landmarks: &Landmarks<T>, cells: &Cells, far: u32) -> Vec<RowRange> {
    let n = landmarks.nearest.len() as f64;
    let deepest = landmarks.depth.iter().copied().max().unwrap_or(0);
    let mean_depth = landmarks.depth.iter().map(|&h| f64::from(h)).sum::<f64>() / n;
    let range = |landmark: usize| {
        let (start, end) = landmarks.component[landmark];
        let (mut inside, mut sum, mut nearest) = (0, 0.0, None);
        for (q, cell) in (start..).zip(landmarks.row(landmark)) {
            let (hops, size) = (cell.index() as u32, cells.of((q, q + 1)).len());
            inside = inside.max(hops + cells.deepest(q as usize));
            sum += f64::from(hops) * size as f64;
            if q as usize != landmark {
                nearest = Some(nearest.map_or(hops, |nearest: u32| nearest.min(hops)));
            }
        }
        let others = n - cells.of((start, end)).len() as f64;
        let mean = (sum + f64::from(far) * others) / n + mean_depth;
        let outside = (others > 0.0).then_some(far.saturating_add(deepest));
        RowRange { mean, inside, outside, nearest }
    };
    (0..landmarks.len()).into_par_iter().map(range).collect()
}
