//! Which nodes are trained on, and which are scored.

use crate::embedding::Embedding;
use crate::error::{Error, Result};
use crate::graph::{Labels, Node, Split, Splits};
use crate::rng::{Purpose, Rng};

/// The nodes of each part, in increasing order; none is in two.
#[derive(Debug, PartialEq)]
pub(super) struct Parts {
    pub(super) train: Vec<Node>,
    pub(super) val: Vec<Node>,
    pub(super) test: Vec<Node>,
}

impl Parts {
    /// The parts that a file says. Where nodes have one label, those in a part need it; where they
    /// may have several, a node without any is one of which every label is false.
    pub(super) fn fixed(
        embedding: &Embedding,
        labels: &Labels,
        splits: &Splits,
        multi_label: bool,
    ) -> Result<Self> {
        let of = |part: Split| -> Vec<Node> {
            let rows = (0..).zip(splits).filter(|(_, split)| **split == Some(part));
            rows.map(|(row, _)| row).collect()
        };
        let parts = Self { train: of(Split::Train), val: of(Split::Val), test: of(Split::Test) };
        for (rows, part) in [(&parts.train, Split::Train), (&parts.test, Split::Test)] {
            if rows.is_empty() {
                return Err(Error::conflict(format!(
                    "no node is in the {} part of the splits; add lines 'node<TAB>{0}', or leave \
                     --splits out for random parts",
                    part.name()
                )));
            }
        }
        let bare = |row: &&Node| labels.of[**row as usize].is_empty();
        let without = [&parts.train, &parts.val, &parts.test].into_iter().flatten().find(bare);
        match without.filter(|_| !multi_label) {
            None => Ok(parts),
            Some(&row) => Err(Error::conflict(format!(
                "node '{}' is in the splits and has no label; add its label, or take it out of \
                 the splits",
                embedding.ids().get(row)
            ))),
        }
    }

    /// A random share of the nodes that have labels to train on, the others for testing.
    pub(super) fn random(
        labels: &Labels,
        ratio: f64,
        stratified: bool,
        seed: u64,
        repeat: u64,
    ) -> Result<Self> {
        let mut rows: Vec<Node> =
            (0..).zip(&labels.of).filter(|(_, of)| !of.is_empty()).map(|(row, _)| row).collect();
        // A hair more, lest 0.7 of 10 become 6.
        let share = |count: usize| ratio * count as f64 + 1e-9;
        let count = share(rows.len()) as usize;
        if count == 0 || count == rows.len() {
            return Err(Error::conflict(format!(
                "train-ratio is {ratio}, of {} labelled nodes: the {} part is empty; choose \
                 another share",
                rows.len(),
                if count == 0 { "train" } else { "test" }
            )));
        }
        Rng::new(seed, Purpose::Repeat, repeat, 0).shuffle(&mut rows);
        if stratified {
            // Every class in its own (random) order; its first ones are for training.
            let mut classes = vec![Vec::new(); labels.names.len()];
            for row in rows.drain(..) {
                classes[labels.of[row as usize][0] as usize].push(row);
            }
            let sizes: Vec<usize> = classes.iter().map(Vec::len).collect();
            let quotas = quotas(&sizes, share, count);
            for (class, &quota) in classes.iter().zip(&quotas) {
                rows.extend(&class[..quota]);
            }
            let train = rows.len();
            for (class, &quota) in classes.iter().zip(&quotas) {
                rows.extend(&class[quota..]);
            }
            return Ok(Self::cut(rows, train));
        }
        Ok(Self::cut(rows, count))
    }

    fn cut(mut train: Vec<Node>, count: usize) -> Self {
        let mut test = train.split_off(count);
        train.sort_unstable();
        test.sort_unstable();
        Self { train, val: Vec::new(), test }
    }
}

/// How many of each class to train on: its share, rounded such that the sum is `total`, but of
/// every class that has any at least one, and one is left for testing.
fn quotas(sizes: &[usize], share: impl Fn(usize) -> f64, total: usize) -> Vec<usize> {
    let most = |size: usize| size.saturating_sub(1);
    let mut quotas: Vec<usize> =
        sizes.iter().map(|&size| (share(size) as usize).max(1).min(most(size))).collect();
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    // Those that lost most by rounding down come first.
    let lost = |class: usize| share(sizes[class]) - quotas[class] as f64;
    order.sort_by(|&a, &b| lost(b).total_cmp(&lost(a)));
    let mut missing = total.saturating_sub(quotas.iter().sum());
    for &class in &order {
        if missing > 0 && quotas[class] < most(sizes[class]) {
            quotas[class] += 1;
            missing -= 1;
        }
    }
    quotas
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(classes: &[u32]) -> Labels {
        let most = classes.iter().max().unwrap() + 1;
        Labels {
            names: (0..most).map(|name| name.to_string()).collect(),
            of: classes.iter().map(|&class| vec![class]).collect(),
        }
    }

    proptest! {
        #[test]
        fn every_labelled_node_is_in_one_part(
            bare in prop::collection::vec(any::<bool>(), 10..200),
            ratio in 0.1_f64..0.9,
            repeat in 0_u64..5,
        ) {
            let mut labels = labels(&vec![0; bare.len()]);
            bare.iter().zip(&mut labels.of).filter(|(bare, _)| **bare).for_each(|(_, of)| of.clear());
            let labelled = bare.iter().filter(|bare| !**bare).count();
            prop_assume!(labelled >= 10);
            let parts = Parts::random(&labels, ratio, false, 3, repeat).unwrap();
            prop_assert_eq!(parts.train.len(), (ratio * labelled as f64) as usize);
            let mut all = [parts.train, parts.test].concat();
            all.sort_unstable();
            let expected: Vec<Node> = (0..).zip(&bare).filter(|(_, bare)| !**bare).map(|(row, _)| row).collect();
            prop_assert_eq!(all, expected);
        }

        #[test]
        fn every_class_has_its_share(
            sizes in prop::collection::vec(2_usize..60, 2..8),
            ratio in 0.2_f64..0.8,
        ) {
            let of: Vec<u32> =
                (0..).zip(&sizes).flat_map(|(class, &size)| vec![class; size]).collect();
            let parts = Parts::random(&labels(&of), ratio, true, 9, 0).unwrap();
            for (class, &size) in (0..).zip(&sizes) {
                let count = parts.train.iter().filter(|row| of[**row as usize] == class).count();
                prop_assert!((count as f64 - ratio * size as f64).abs() <= 1.0 + 1e-6);
                prop_assert!(count > 0 && count < size);
            }
            let total = parts.train.len() as f64;
            prop_assert!((total - ratio * of.len() as f64).abs() <= sizes.len() as f64);
        }
    }

    #[test]
    fn repeats_and_seeds_differ() {
        let labels = labels(&[0; 100]);
        let draw = |seed, repeat| Parts::random(&labels, 0.3, false, seed, repeat).unwrap();
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
    }
}
