//! Drawing from weights that are looked up, not listed.
//!
//! # Derivation
//!
//! A table of distances answers "what is the weight of item k" at once, but lists nothing to
//! draw from. Rejection needs no list: propose any item, keep it with probability w_k / max w. On
//! average that takes max w / mean w tries, few if distances are alike and many if a handful of
//! items is far away from all the rest. So weights are cut at c = 8 × mean:
//!
//! - *light* items, w ≤ c, are drawn by rejection against c;
//! - *heavy* items are listed. By Markov's inequality they are less than an eighth of all items,
//!   and mostly there is none.
//!
//! A draw is light with probability L / (L + H), where L and H are the weights of the two kinds,
//! and takes n c / L tries then: n c / (L + H) = c / mean = 8 tries at most on average, for any
//! weights.

use crate::rng::{Alias, Rng};

/// The law of one row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// The sum of all weights.
    pub(super) mass: f64,
    /// The mean weight of an item.
    mean: f64,
    /// Light weights are at most this.
    cut: f64,
    /// The probability that a draw is light.
    light: f64,
    heavy: Option<Box<Heavy>>,
}

#[derive(Clone, Debug)]
struct Heavy {
    items: Vec<u32>,
    alias: Alias,
}

impl Row {
    /// The law of weights that come in groups, given as (members of the group, weight of each).
    /// `heavy(cut)` lists the items or groups with a weight above `cut`, as (item, sum of its
    /// weights). If the mass is 0 there is nothing to draw.
    pub(super) fn new(
        groups: impl Iterator<Item = (f64, f64)>,
        heavy: impl FnOnce(f64) -> Vec<(u32, f64)>,
    ) -> Self {
        const CUT: f64 = 8.0;
        let (mut count, mut mass, mut largest) = (0.0, 0.0, 0.0_f64);
        for (members, weight) in groups.filter(|(members, _)| *members > 0.0) {
            count += members;
            mass += members * weight;
            largest = largest.max(weight);
        }
        let mean = if count > 0.0 { mass / count } else { 0.0 };
        let cut = CUT * mean;
        let heavy = if largest > cut { heavy(cut) } else { vec![] };
        let (items, weights): (Vec<u32>, Vec<f64>) = heavy.into_iter().unzip();
        match Alias::new(&weights) {
            None => Self { mass, mean, cut: largest, light: 1.0, heavy: None },
            Some(alias) => {
                let light = (1.0 - weights.iter().sum::<f64>() / mass).max(0.0);
                Self { mass, mean, cut, light, heavy: Some(Box::new(Heavy { items, alias })) }
            }
        }
    }

    /// Fills `out` with draws. `propose` gives an item with a number in [0, 1), `weight` looks an
    /// item's weight up, and `heavy` turns what was listed as heavy into an item.
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
            return reject::<1>(rng, out, self.cut, self.mean / self.cut, propose, weight);
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
            if unit * self.cut < weight && weight <= self.cut {
                return item;
            }
        }
    }
}

/// Fills `out` by rejection: an item that `propose` gives, with a number in [0, 1), is kept with
/// probability `weight` / `bound`. `kept` is the share that is kept on average, or a guess at it.
///
/// `TOGETHER` tries are proposed before the first of them is judged. Where weights come from far
/// memory, and `propose` asks for them, many look-ups wait at the same time; where they are near,
/// one after the other is faster. What is drawn is the same.
#[inline]
pub(super) fn reject<const TOGETHER: usize>(
    rng: &mut Rng,
    out: &mut [u32],
    bound: f64,
    kept: f64,
    propose: impl Fn(&mut Rng) -> (u32, f64),
    weight: impl Fn(u32) -> f64,
) {
    const MOST: usize = 64;
    let mut tries = [(0, 0.0); TOGETHER];
    let mut filled = 0;
    while filled < out.len() {
        // As many tries as will just about do.
        let mut left = (((out.len() - filled) as f64 / kept) as usize + 1).min(MOST);
        while left > 0 {
            let now = left.min(TOGETHER);
            left -= now;
            tries[..now].fill_with(|| propose(rng));
            for &(item, unit) in &tries[..now] {
                // Every try writes its item; only a kept one moves on. So there is no branch to
                // foresee but the end.
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
    fn what_is_drawn_does_not_depend_on_how_much_is_proposed_together() {
        fn draw<const TOGETHER: usize>(count: usize) -> (Vec<u32>, u64) {
            let mut rng = Rng::new(3, Purpose::Negative, 0, 0);
            let mut out = vec![0; count];
            let propose = |rng: &mut Rng| {
                let (k, unit) = rng.index_and_unit(10);
                (k as u32, unit)
            };
            reject::<TOGETHER>(&mut rng, &mut out, 10.0, 0.45, propose, f64::from);
            (out, rng.bits())
        }
        for count in [0, 1, 7, 64, 1000] {
            let alone = draw::<1>(count);
            assert!(alone.0.iter().all(|&k| k > 0), "0 weighs nothing");
            assert_eq!(alone, draw::<5>(count));
            assert_eq!(alone, draw::<64>(count));
        }
    }
}
