//! Splits of the nodes into train, validation and test.

use crate::embedding::Embedding;
use crate::error::{Error, Problem, Result};
use crate::graph::{Labels, Node, Split, Splits};
use crate::rng::{Purpose, Rng};

/// The nodes of each split, disjoint and in increasing order.
#[derive(Debug, PartialEq)]
pub(super) struct NodeSplit {
    pub(super) train: Vec<Node>,
    pub(super) val: Vec<Node>,
    pub(super) test: Vec<Node>,
}

impl NodeSplit {
    /// The given splits. In single-label data every node of a split needs a label; in multi-label
    /// data a node without labels is a negative example of every label.
    pub(super) fn fixed(
        embedding: &Embedding,
        labels: &Labels,
        splits: &Splits,
        multi_label: bool,
    ) -> Result<Self> {
        let nodes_of = |wanted: Split| -> Vec<Node> {
            let rows = (0..).zip(splits).filter(|(_, split)| **split == Some(wanted));
            rows.map(|(row, _)| row).collect()
        };
        let split = Self {
            train: nodes_of(Split::Train),
            val: nodes_of(Split::Val),
            test: nodes_of(Split::Test),
        };
        for (rows, name) in [(&split.train, Split::Train), (&split.test, Split::Test)] {
            if rows.is_empty() {
                let name = name.name();
                let problem = Problem::from(format!("no node is in the {name} split"));
                let problem = problem.act(format!("add lines 'node<TAB>{name}'")).omit("splits");
                return Err(Error::conflict(problem));
            }
        }
        let is_unlabelled = |row: &&Node| labels.of[**row as usize].is_empty();
        let unlabelled =
            [&split.train, &split.val, &split.test].into_iter().flatten().find(is_unlabelled);
        match unlabelled.filter(|_| !multi_label) {
            None => Ok(split),
            Some(&row) => Err(Error::conflict(format!(
                "node '{}' is in the splits and has no label; add its label or remove it from the \
                 splits",
                embedding.ids().get(row)
            ))),
        }
    }

    /// A random fraction of the labelled nodes for training, the others for testing.
    pub(super) fn random(
        labels: &Labels,
        ratio: f64,
        stratified: bool,
        seed: u64,
        repeat: u64,
    ) -> Result<Self> {
        let mut rows: Vec<Node> =
            (0..).zip(&labels.of).filter(|(_, of)| !of.is_empty()).map(|(row, _)| row).collect();
        // The addend absorbs rounding: 0.7 × 10 must not become 6.
        let fraction = |count: usize| ratio * count as f64 + 1e-9;
        let count = fraction(rows.len()) as usize;
        if count == 0 || count == rows.len() {
            let (split, size) = if count == 0 { ("train", "larger") } else { ("test", "smaller") };
            let message = format!(
                "the {split} split of {} labelled nodes is empty; expected a {size} fraction",
                rows.len()
            );
            return Err(Error::option("train-ratio", ratio, message));
        }
        Rng::new(seed, Purpose::Repeat, repeat, 0).shuffle(&mut rows);
        if stratified {
            // Nodes of each class keep their random order; the first ones are for training.
            let mut classes = vec![Vec::new(); labels.names.len()];
            for row in rows.drain(..) {
                classes[labels.of[row as usize][0] as usize].push(row);
            }
            let sizes: Vec<usize> = classes.iter().map(Vec::len).collect();
            if sizes.iter().all(|&size| size <= 1) {
                let problem =
                    "stratified splits need two nodes of some class, and every class has one";
                return Err(Error::conflict(Problem::from(problem).omit("stratified")));
            }
            let quotas = quotas(&sizes, fraction, count);
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

/// Training nodes of each class: its fraction, rounded so that the sum is `total`. Every class with
/// two nodes or more has at least one on either side. The node of a class with a single one is for
/// training: in test it could not be predicted.
fn quotas(sizes: &[usize], fraction: impl Fn(usize) -> f64, total: usize) -> Vec<usize> {
    let most = |size: usize| if size < 2 { size } else { size - 1 };
    let mut quotas: Vec<usize> =
        sizes.iter().map(|&size| (fraction(size) as usize).max(1).min(most(size))).collect();
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    // Largest remainder first.
    let remainder = |class: usize| fraction(sizes[class]) - quotas[class] as f64;
    order.sort_by(|&a, &b| remainder(b).total_cmp(&remainder(a)));
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
        fn every_labelled_node_is_in_one_split(
            unlabelled in prop::collection::vec(any::<bool>(), 10..200),
            ratio in 0.1_f64..0.9,
            repeat in 0_u64..5,
        ) {
            let mut labels = labels(&vec![0; unlabelled.len()]);
            for (_, of) in unlabelled.iter().zip(&mut labels.of).filter(|(clear, _)| **clear) {
                of.clear();
            }
            let labelled = unlabelled.iter().filter(|unlabelled| !**unlabelled).count();
            prop_assume!(labelled >= 10);
            let split = NodeSplit::random(&labels, ratio, false, 3, repeat).unwrap();
            prop_assert_eq!(split.train.len(), (ratio * labelled as f64) as usize);
            let mut all = [split.train, split.test].concat();
            all.sort_unstable();
            let rows = (0..).zip(&unlabelled).filter(|(_, unlabelled)| !**unlabelled);
            let expected: Vec<Node> = rows.map(|(row, _)| row).collect();
            prop_assert_eq!(all, expected);
        }

        #[test]
        fn every_class_has_its_fraction(
            sizes in prop::collection::vec(2_usize..60, 2..8),
            ratio in 0.2_f64..0.8,
        ) {
            let of: Vec<u32> =
                (0..).zip(&sizes).flat_map(|(class, &size)| vec![class; size]).collect();
            let split = NodeSplit::random(&labels(&of), ratio, true, 9, 0).unwrap();
            for (class, &size) in (0..).zip(&sizes) {
                let count = split.train.iter().filter(|row| of[**row as usize] == class).count();
                prop_assert!((count as f64 - ratio * size as f64).abs() <= 1.0 + 1e-6);
                prop_assert!(count > 0 && count < size);
            }
            let total = split.train.len() as f64;
            prop_assert!((total - ratio * of.len() as f64).abs() <= sizes.len() as f64);
        }
    }

    #[test]
    fn repeats_and_seeds_differ() {
        let labels = labels(&[0; 100]);
        let draw = |seed, repeat| NodeSplit::random(&labels, 0.3, false, seed, repeat).unwrap();
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
    }
}
