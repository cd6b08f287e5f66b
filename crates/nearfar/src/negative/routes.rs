//! Distance-aware negatives by routes through landmarks: `landmark-approx` where there and back differ,
//! or where distances are lengths.
//!
//! # Derivation
//!
//! The distribution is P(k|i) ∝ d̂^γ with d̂ = a + t, where a = to(i) is the way from i to its landmark
//! p, and t = between(p, q) + from(k) the way on to k; d̂ is `far` where there is no route. Each
//! landmark knows how many nodes are in each *band* of t: all t at most a factor of 2^(1/|γ|) apart,
//! within which the weight (a + t)^γ changes by at most a factor of two, whatever a is. A draw takes a
//! band ∝ its number of nodes × its largest weight, then one of its nodes uniformly: by proposals from
//! all nodes, if 1/32 of them or more are in the band, else by going through the landmarks. It is
//! accepted with the ratio of its weight to the largest, at least ½.

use rayon::prelude::*;

use super::NegativeSampler;
use crate::budget::{product, sum};
use crate::distance::Routes;
use crate::graph::Node;
use crate::rng::Rng;

/// P(k|i) ∝ (to(i) + between(p, q) + from(k))^γ.
pub(super) struct ByRoutes {
    routes: Routes,
    gamma: f64,
    far: f64,
    /// The nodes by the landmark that reaches them, nearest first; at the end those that none reaches.
    members: Vec<Node>,
    /// The start of each landmark's nodes in `members`, the start of the others, and the end.
    starts: Vec<u32>,
    /// The largest t of each band, and the smallest. Band 0 is t = 0.
    last: Vec<f64>,
    first: Vec<f64>,
    /// For each landmark the nodes in each band.
    counts: Vec<Vec<u32>>,
}

/// The nodes of one weight, or almost.
struct Group {
    /// The band; `None` for the nodes without a route.
    band: Option<usize>,
    /// The nodes in it, with the centre and without.
    all: usize,
    others: usize,
    /// The distance of the largest weight.
    heaviest: f64,
}

/// From a group with less than one of so many nodes, draws go through the landmarks.
const RARE: usize = 32;

impl ByRoutes {
    /// The memory besides the routes, for n nodes and p landmarks, where distances are at most so many
    /// times the shortest arc.
    pub(super) fn bytes(nodes: usize, landmarks: usize, range: f64, gamma: f64) -> u64 {
        let bands = (range.max(2.0).log2() * gamma.abs()) as usize + 4;
        let lists = size_of::<Vec<u32>>() + 4 * bands;
        sum([product([nodes, 4]), product([landmarks, lists])])
    }

    /// `shortest` is the length of the shortest arc; γ is not 0.
    pub(super) fn new(routes: Routes, gamma: f64, far: f64, shortest: f64) -> Self {
        let (n, p) = (routes.from.len(), routes.len());
        let cluster = |node: Node| routes.from[node as usize].0.min(p as u32);
        let mut members: Vec<Node> = (0..n as Node).collect();
        members.sort_by(|&a, &b| {
            let depth = |node: Node| routes.from[node as usize].1;
            cluster(a).cmp(&cluster(b)).then(depth(a).total_cmp(&depth(b)))
        });
        let start = |landmark: u32| members.partition_point(|&k| cluster(k) < landmark) as u32;
        let starts: Vec<u32> = (0..=p as u32 + 1).map(start).collect();
        let finite = |largest: f32, &x: &f32| if x.is_finite() { largest.max(x) } else { largest };
        let between = (0..p as u32).flat_map(|q| routes.row(q)).fold(0.0, finite);
        let depth = routes.from.iter().map(|(_, h)| h).fold(0.0, finite);
        let most = f64::from(between) + f64::from(depth);
        let ratio = 2_f64.powf(1.0 / gamma.abs());
        let (mut first, mut last) = (vec![0.0, shortest], vec![0.0, shortest]);
        while last[last.len() - 1] < most {
            first.push(last[last.len() - 1]);
            last.push((last[last.len() - 1] * ratio).min(most));
        }
        let counts = Vec::new();
        let mut sampler = Self { routes, gamma, far, members, starts, last, first, counts };
        sampler.counts = (0..p as u32).into_par_iter().map(|own| sampler.count(own)).collect();
        sampler
    }

    /// The nodes in each band of a landmark.
    fn count(&self, own: u32) -> Vec<u32> {
        let mut counts = vec![0; self.last.len()];
        for (q, &between) in self.routes.row(own).iter().enumerate() {
            if between.is_infinite() {
                continue;
            }
            let mut nodes = self.cluster(q);
            while let Some(&nearest) = nodes.first() {
                let band = self.band(self.beyond(between, nearest));
                let here = nodes.partition_point(|&k| self.beyond(between, k) <= self.last[band]);
                counts[band] += here as u32;
                nodes = &nodes[here..];
            }
        }
        counts
    }

    /// The nodes that a landmark reaches first; for p, those that none reaches.
    fn cluster(&self, landmark: usize) -> &[Node] {
        &self.members[self.starts[landmark] as usize..self.starts[landmark + 1] as usize]
    }

    /// t of a node whose landmark is so far away.
    #[inline]
    fn beyond(&self, between: f32, k: Node) -> f64 {
        f64::from(between) + f64::from(self.routes.from[k as usize].1)
    }

    /// t of a node, seen from a landmark; `None` without a route.
    #[inline]
    fn t(&self, own: u32, k: Node) -> Option<f64> {
        let between = *self.routes.row(own).get(self.routes.from[k as usize].0 as usize)?;
        between.is_finite().then(|| self.beyond(between, k))
    }

    fn band(&self, t: f64) -> usize {
        self.last.partition_point(|&last| last < t).min(self.last.len() - 1)
    }

    /// The band of a node, seen from a landmark; `None` without a route.
    fn band_of(&self, own: u32, k: Node) -> Option<usize> {
        self.t(own, k).map(|t| self.band(t))
    }

    /// The groups around a centre that have other nodes, and the way to its landmark.
    fn groups(&self, centre: Node) -> (u32, f64, Vec<Group>) {
        let n = self.members.len();
        let (own, a) = self.routes.to[centre as usize];
        if own == Routes::NONE {
            let group = Group { band: None, all: n, others: n - 1, heaviest: self.far };
            return (own, 0.0, vec![group]);
        }
        let a = f64::from(a);
        let centre_band = self.band_of(own, centre);
        let counts = &self.counts[own as usize];
        let reached: usize = counts.iter().map(|&count| count as usize).sum();
        let bands = counts.iter().enumerate().map(|(band, &count)| {
            let t = if self.gamma < 0.0 { self.first[band] } else { self.last[band] };
            (Some(band), count as usize, a + t)
        });
        let groups = bands.chain([(None, n - reached, self.far)]);
        let groups = groups.map(|(band, all, heaviest)| {
            let others = all - usize::from(all > 0 && band == centre_band);
            Group { band, all, others, heaviest }
        });
        (own, a, groups.filter(|group| group.others > 0).collect())
    }

    /// A uniform node of a group.
    fn draw(&self, centre: Node, own: u32, group: &Group, rng: &mut Rng) -> Node {
        let n = self.members.len();
        if group.others >= n / RARE {
            loop {
                let k = rng.below(n) as Node;
                let inside = own == Routes::NONE || self.band_of(own, k) == group.band;
                if inside && k != centre {
                    return k;
                }
            }
        }
        loop {
            let mut left = rng.below(group.all);
            let found = (0..=self.routes.len()).find_map(|q| {
                let between = self.routes.row(own).get(q).copied().unwrap_or(f32::INFINITY);
                let nodes = self.cluster(q);
                let nodes = match group.band {
                    None if between.is_infinite() => nodes,
                    Some(band) if between.is_finite() => {
                        let to = |t: f64| nodes.partition_point(|&k| self.beyond(between, k) <= t);
                        let before = if band == 0 { 0 } else { to(self.last[band - 1]) };
                        let end = if band + 1 == self.last.len() {
                            nodes.len()
                        } else {
                            to(self.last[band])
                        };
                        &nodes[before..end]
                    }
                    _ => &[],
                };
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

impl NegativeSampler for ByRoutes {
    fn fill(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) {
        let (own, a, groups) = self.groups(centre);
        // Weights relative to the largest: no γ makes all of them vanish.
        let heaviest = groups.iter().map(|group| group.heaviest);
        let heaviest = heaviest.reduce(|a, b| if self.gamma < 0.0 { a.min(b) } else { a.max(b) });
        let Some(heaviest) = heaviest else { return };
        let mut total = 0.0;
        let masses = groups.iter().map(|group| {
            total += group.others as f64 * (group.heaviest / heaviest).powf(self.gamma);
            total
        });
        let masses: Vec<f64> = masses.collect();
        for negative in out {
            *negative = loop {
                let mass = rng.unit() * total;
                let Some(group) = groups.get(masses.partition_point(|&end| end <= mass)) else {
                    continue;
                };
                let k = self.draw(centre, own, group, rng);
                if group.band.is_none() {
                    break k;
                }
                let distance = a + self.t(own, k).unwrap_or(self.far);
                if rng.unit() < (distance / group.heaviest).powf(self.gamma) {
                    break k;
                }
            };
        }
    }

    fn weights(&self, centre: Node, out: &mut [f64]) {
        for (k, weight) in out.iter_mut().enumerate() {
            *weight = self.routes.route(centre, k as Node).unwrap_or(self.far);
        }
        let others = || out.iter().enumerate().filter(|(k, _)| *k != centre as usize);
        let largest = others().map(|(_, &d)| d).fold(0.0, f64::max);
        let smallest = others().map(|(_, &d)| d).fold(f64::INFINITY, f64::min);
        let reference = if self.gamma < 0.0 { smallest } else { largest };
        for d in out.iter_mut() {
            *d = (*d / reference).powf(self.gamma);
        }
        out[centre as usize] = 0.0;
    }
}
