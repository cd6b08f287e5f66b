//! Rejection sampling from weights that are looked up rather than listed.
//!
//! # Derivation
//!
//! A hop table gives the weight of one item at once, but no list to build an alias table from.
//! Rejection needs no list: propose an item uniformly and accept it with probability
//! w_k / max w. The expected number of proposals is max w / mean w, which is small if distances
//! are similar and large if a few items are far away from all others. So weights are divided at
//! the cutoff c = 8 × mean:
//!
//! - *light* items, w ≤ c, are drawn by rejection against c;
//! - *heavy* items are listed. By Markov's inequality they are less than an eighth of all items,
//!   and mostly there are none.
//!
//! A draw is light with probability L / (L + H), where L and H are the total weights of light and
//! heavy items, and then takes n c / L proposals: n c / (L + H) = c / mean = 8 proposals at most
//! on average, for any weights.

use crate::rng::{Alias, Rng};

/// Items of more than so many times the mean weight are listed.
pub(super) const CUTOFF: f64 = 8.0;

/// Draws from one row of weights.
#[derive(Clone, Debug)]
pub(super) struct RejectionSampler {
    /// The mean weight of an item.
    mean: f64,
    /// The largest weight of a light item, or a bound on it.
    cutoff: f64,
    /// The probability that a draw is light.
    light: f64,
    heavy: Option<Box<HeavyItems>>,
}

#[derive(Clone, Debug)]
struct HeavyItems {
    items: Vec<u32>,
    alias: Alias,
}

impl RejectionSampler {
    /// Prepares draws from weights that come in groups, given as (members of the group, weight of
    /// each). `heavy(cutoff)` lists the items or groups with a weight above `cutoff`, as (item, sum
    /// of its weights). If all weights are 0 there is nothing to draw.
    pub(super) fn new(
        groups: impl Iterator<Item = (f64, f64)>,
        heavy: impl FnOnce(f64) -> Vec<(u32, f64)>,
    ) -> Self {
        let (mut count, mut mass, mut largest) = (0.0, 0.0, 0.0_f64);
        for (members, weight) in groups.filter(|(members, _)| *members > 0.0) {
            count += members;
            mass += members * weight;
            largest = largest.max(weight);
        }
        let mean = if count > 0.0 { mass / count } else { 0.0 };
        let cutoff = CUTOFF * mean;
        let heavy = if largest > cutoff { heavy(cutoff) } else { vec![] };
        let (items, weights): (Vec<u32>, Vec<f64>) = heavy.into_iter().unzip();
        match Alias::new(&weights) {
            None => Self { mean, cutoff: largest, light: 1.0, heavy: None },
            Some(alias) => {
                let light = (1.0 - weights.iter().sum::<f64>() / mass).max(0.0);
                let heavy = Some(Box::new(HeavyItems { items, alias }));
                Self { mean, cutoff, light, heavy }
            }
        }
    }

    /// The bound that proposals are accepted by; `None` where some items are drawn from a list.
    pub(super) fn bound(&self) -> Option<f64> {
        self.heavy.is_none().then_some(self.cutoff)
    }

    /// Fills `out` with draws. `propose` returns an item and a uniform number in [0, 1), `weight`
    /// looks up the weight of an item, and `heavy` maps an entry of the heavy list to an item.
    #[inline]
    pub(super) fn fill(
        &self,
        rng: &mut Rng,
        out: &mut [u32],
        propose: impl Fn(&mut Rng) -> (u32, f64),
        weight: impl Fn(u32) -> f64,
        heavy: impl Fn(&mut Rng, u32) -> u32,
    ) {
        if self.heavy.is_none() {
            return reject::<1>(rng, out, self.cutoff, self.mean / self.cutoff, propose, weight);
        }
        for slot in out {
            *slot = self.draw(rng, &propose, &weight, &heavy);
        }
    }

    /// One draw; the arguments are those of [`fill`](Self::fill).
    #[inline]
    pub(super) fn draw(
        &self,
        rng: &mut Rng,
        propose: impl Fn(&mut Rng) -> (u32, f64),
        weight: impl Fn(u32) -> f64,
        heavy: impl Fn(&mut Rng, u32) -> u32,
    ) -> u32 {
        if let Some(list) = &self.heavy
            && rng.unit() >= self.light
        {
            let item = list.items[list.alias.draw(rng)];
            return heavy(rng, item);
        }
        loop {
            let (item, unit) = propose(rng);
            let weight = weight(item);
            if unit * self.cutoff < weight && weight <= self.cutoff {
                return item;
            }
        }
    }
}

/// Fills `out` by rejection: an item that `propose` returns, with a uniform number in [0, 1), is
/// accepted with probability `weight` / `bound`. `acceptance` is the expected acceptance rate, or
/// an estimate of it.
///
/// `GROUP_SIZE` proposals are made before the first of them is tested. Where weights are in main
/// memory, and `propose` prefetches them, this overlaps the cache misses; where they are in cache,
/// a group size of 1 is faster. The draws are the same for any group size.
#[inline]
pub(super) fn reject<const GROUP_SIZE: usize>(
    rng: &mut Rng,
    out: &mut [u32],
    bound: f64,
    acceptance: f64,
    propose: impl Fn(&mut Rng) -> (u32, f64),
    weight: impl Fn(u32) -> f64,
) {
    const MAX_ROUND: usize = 64;
    let mut proposals = [(0, 0.0); GROUP_SIZE];
    let mut filled = 0;
    while filled < out.len() {
        // A round makes about as many proposals as the rest of `out` is expected to need.
        let mut left = (((out.len() - filled) as f64 / acceptance) as usize + 1).min(MAX_ROUND);
        while left > 0 {
            let group = left.min(GROUP_SIZE);
            left -= group;
            proposals[..group].fill_with(|| propose(rng));
            for &(item, unit) in &proposals[..group] {
                // Every proposal is written, and only an accepted one advances: acceptance, which
                // is unpredictable, is not a branch.
                if let Some(slot) = out.get_mut(filled) {
                    *slot = item;
                    filled += usize::from(unit * bound < weight(item));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;

    #[test]
    fn draws_do_not_depend_on_the_group_size() {
        fn draw<const GROUP_SIZE: usize>(count: usize) -> (Vec<u32>, u64) {
            let mut rng = Rng::new(3, Purpose::Negative, 0, 0);
            let mut out = vec![0; count];
            let propose = |rng: &mut Rng| {
                let (k, unit) = rng.index_and_unit(10);
                (k as u32, unit)
            };
            reject::<GROUP_SIZE>(&mut rng, &mut out, 10.0, 0.45, propose, f64::from);
            (out, rng.bits())
        }
        for count in [0, 1, 7, 64, 1000] {
            let single = draw::<1>(count);
            assert!(single.0.iter().all(|&k| k > 0), "item 0 has weight 0");
            assert_eq!(single, draw::<5>(count));
            assert_eq!(single, draw::<64>(count));
        }
    }
}
