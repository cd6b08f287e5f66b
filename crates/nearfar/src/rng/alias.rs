//! Sampling from a fixed list of weights in constant time.

use super::Rng;

/// Walker's alias table, built by Vose's method. Every item has a cell. A draw picks a cell
/// uniformly, then the cell's own item or its alias. Probabilities are exact to 2⁻³² of the mean
/// probability; an item of weight zero is never drawn.
#[derive(Clone, Debug)]
pub(crate) struct Alias(Vec<AliasCell>);

/// A cell of an alias table: a draw takes a uniform cell, and then one of two items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct AliasCell {
    /// The cell's own item is drawn with probability `own` / 2³².
    pub own: u32,
    /// The other item.
    pub alias: u32,
}

impl Alias {
    /// A table for these weights; `None` unless their sum is positive and finite.
    pub(crate) fn new(weights: &[f64]) -> Option<Self> {
        let n = weights.len();
        let total: f64 = weights.iter().sum();
        if !(total.is_finite() && total > 0.0) {
            return None;
        }
        let mut scaled: Vec<f64> = weights.iter().map(|w| w / total * n as f64).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..n).partition(|&item| scaled[item] < 1.0);
        let mut cells: Vec<AliasCell> =
            (0..n).map(|item| AliasCell { own: u32::MAX, alias: item as u32 }).collect();
        // Every small item is filled up to 1 by a large one, which may become small by that.
        while let (Some(&from), Some(item)) = (large.last(), small.pop()) {
            let own = (scaled[item] * 4_294_967_296.0) as u32;
            cells[item] = AliasCell { own, alias: from as u32 };
            scaled[from] -= 1.0 - scaled[item];
            if scaled[from] < 1.0 {
                large.pop();
                small.push(from);
            }
        }
        // The remaining items are 1 up to rounding: each is its own alias.
        Some(Self(cells))
    }

    /// The cells, one for each item.
    pub(crate) fn cells(&self) -> &[AliasCell] {
        &self.0
    }

    /// Draws an item.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng) -> usize {
        let (item, unit) = rng.index_and_unit(self.0.len());
        let cell = self.0[item];
        if unit * 4_294_967_296.0 < f64::from(cell.own) { item } else { cell.alias as usize }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl Alias {
        /// The probability of each item, summed over the cells.
        fn probabilities(&self) -> Vec<f64> {
            let n = self.0.len();
            let mut p = vec![0.0; n];
            for (item, cell) in self.0.iter().enumerate() {
                let own = f64::from(cell.own) / 4_294_967_296.0;
                p[item] += own / n as f64;
                p[cell.alias as usize] += (1.0 - own) / n as f64;
            }
            p
        }
    }

    /// Zero in half of the cases.
    fn weight() -> impl Strategy<Value = f64> {
        prop_oneof![Just(0.0), 0.0..9.0_f64]
    }

    proptest! {
        #[test]
        fn cells_add_up_to_the_weights(weights in prop::collection::vec(weight(), 1..40)) {
            let total: f64 = weights.iter().sum();
            prop_assume!(total > 1e-9);
            let table = Alias::new(&weights).unwrap();
            for (p, w) in table.probabilities().iter().zip(&weights) {
                prop_assert!((p - w / total).abs() < 1e-8, "{} for {}", p, w / total);
                prop_assert!(*w > 0.0 || *p == 0.0);
            }
        }
    }

    #[test]
    fn weights_without_a_positive_finite_sum_are_refused() {
        assert!(Alias::new(&[]).is_none());
        assert!(Alias::new(&[0.0, 0.0]).is_none());
        assert!(Alias::new(&[f64::INFINITY]).is_none());
    }
}
