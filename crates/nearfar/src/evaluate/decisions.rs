//! Classification scores: agreement of predicted and true classes.
//!
//! For one class with TP true positives, FP false positives and FN false negatives,
//!
//!   precision = TP / (TP + FP),   recall = TP / (TP + FN),   F1 = 2 TP / (2 TP + FP + FN),
//!
//! the last being the harmonic mean of the first two; a score is 0 where its denominator is 0.
//! **F1-macro** is the unweighted mean of F1 over classes; **F1-micro** is F1 of the counts summed
//! over classes. With one class per node F1-micro is the accuracy.

/// A confusion matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confusion {
    classes: usize,
    /// By true class, then by predicted class.
    counts: Vec<u64>,
}

/// Counts of the decisions about one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Nodes of the class, predicted as such.
    pub true_positives: u64,
    /// Nodes of other classes, predicted as this one.
    pub false_positives: u64,
    /// Nodes of the class, predicted as another.
    pub false_negatives: u64,
}

impl Confusion {
    /// A matrix of zeros.
    pub fn new(classes: usize) -> Self {
        Self { classes, counts: vec![0; classes * classes] }
    }

    /// Counts a node.
    ///
    /// # Panics
    /// If a class is not in 0 to classes − 1.
    pub fn add(&mut self, truth: u32, predicted: u32) {
        let (truth, predicted) = (truth as usize, predicted as usize);
        assert!(truth < self.classes && predicted < self.classes);
        self.counts[truth * self.classes + predicted] += 1;
    }

    /// Adds the counts of another matrix.
    pub fn merge(&mut self, other: &Self) {
        for (count, other) in self.counts.iter_mut().zip(&other.counts) {
            *count += other;
        }
    }

    /// The rows of the matrix: for each true class, its nodes by predicted class.
    pub fn rows(&self) -> impl Iterator<Item = &[u64]> {
        self.counts.chunks(self.classes.max(1))
    }

    /// Fraction of nodes predicted correctly.
    pub fn accuracy(&self) -> f64 {
        let correct: u64 = self.counts.iter().step_by(self.classes + 1).sum();
        ratio(correct, self.counts.iter().sum())
    }

    /// The counts of every class.
    pub fn outcomes(&self) -> Vec<Outcomes> {
        let mut outcomes = vec![Outcomes::default(); self.classes];
        for (truth, row) in self.rows().enumerate() {
            for (predicted, &count) in row.iter().enumerate() {
                if truth == predicted {
                    outcomes[truth].true_positives += count;
                } else {
                    outcomes[truth].false_negatives += count;
                    outcomes[predicted].false_positives += count;
                }
            }
        }
        outcomes
    }

    /// The mean of F1 over the classes that are true or predicted for some node, as in scikit-learn.
    pub fn f1_macro(&self) -> f64 {
        let mut outcomes = self.outcomes();
        outcomes.retain(|class| *class != Outcomes::default());
        f1_macro(&outcomes)
    }
}

impl Outcomes {
    /// TP / (TP + FP).
    pub fn precision(&self) -> f64 {
        ratio(self.true_positives, self.true_positives + self.false_positives)
    }

    /// TP / (TP + FN).
    pub fn recall(&self) -> f64 {
        ratio(self.true_positives, self.support())
    }

    /// The harmonic mean of precision and recall.
    pub fn f1(&self) -> f64 {
        let twice = 2 * self.true_positives;
        ratio(twice, twice + self.false_positives + self.false_negatives)
    }

    /// Nodes of the class: TP + FN.
    pub fn support(&self) -> u64 {
        self.true_positives + self.false_negatives
    }

    /// Adds the counts of another matrix.
    pub fn merge(&mut self, other: &Self) {
        self.true_positives += other.true_positives;
        self.false_positives += other.false_positives;
        self.false_negatives += other.false_negatives;
    }
}

/// The mean of F1 over classes.
pub fn f1_macro(classes: &[Outcomes]) -> f64 {
    classes.iter().map(Outcomes::f1).sum::<f64>() / classes.len().max(1) as f64
}

/// F1 of the counts summed over classes.
pub fn f1_micro(classes: &[Outcomes]) -> f64 {
    let mut all = Outcomes::default();
    for class in classes {
        all.merge(class);
    }
    all.f1()
}

/// The counts of every label, where a node may have several. Each element holds the true and the
/// predicted labels of a node, both in increasing order.
pub fn label_outcomes<'a>(
    labels: usize,
    nodes: impl IntoIterator<Item = (&'a [u32], &'a [u32])>,
) -> Vec<Outcomes> {
    let mut outcomes = vec![Outcomes::default(); labels];
    for (truth, predicted) in nodes {
        for &label in truth {
            let found = predicted.binary_search(&label).is_ok();
            let outcome = &mut outcomes[label as usize];
            if found { outcome.true_positives += 1 } else { outcome.false_negatives += 1 }
        }
        for &label in predicted {
            if truth.binary_search(&label).is_err() {
                outcomes[label as usize].false_positives += 1;
            }
        }
    }
    outcomes
}

/// The confusion matrix of all binary decisions (node, label), as the paper scores multi-label data:
/// class 1 if the node has the label, class 0 if not.
pub fn ravel(outcomes: &[Outcomes], nodes: usize) -> Confusion {
    let mut all = Outcomes::default();
    for label in outcomes {
        all.merge(label);
    }
    let decisions = (nodes * outcomes.len()) as u64;
    let Outcomes { true_positives, false_positives, false_negatives } = all;
    let true_negatives = decisions - true_positives - false_positives - false_negatives;
    let counts = vec![true_negatives, false_positives, false_negatives, true_positives];
    Confusion { classes: 2, counts }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// F1 by its definition as the harmonic mean, from lists of binary decisions.
    fn naive_f1(truth: &[bool], predicted: &[bool]) -> f64 {
        let both = truth.iter().zip(predicted).filter(|(t, p)| **t && **p).count() as f64;
        let count = |list: &[bool]| list.iter().filter(|yes| **yes).count() as f64;
        if both == 0.0 {
            return 0.0;
        }
        let (precision, recall) = (both / count(predicted), both / count(truth));
        2.0 * precision * recall / (precision + recall)
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    proptest! {
        #[test]
        fn one_class_per_node(nodes in prop::collection::vec((0_u32..5, 0_u32..5), 1..60)) {
            let mut confusion = Confusion::new(6);
            for &(truth, predicted) in &nodes {
                confusion.add(truth, predicted);
            }
            let correct = nodes.iter().filter(|(truth, predicted)| truth == predicted).count();
            prop_assert!(close(confusion.accuracy(), correct as f64 / nodes.len() as f64));
            prop_assert!(close(f1_micro(&confusion.outcomes()), confusion.accuracy()));
            let is = |class: u32| -> (Vec<bool>, Vec<bool>) {
                nodes.iter().map(|&(t, p)| (t == class, p == class)).unzip()
            };
            let seen = |class: &u32| nodes.iter().any(|(t, p)| t == class || p == class);
            let classes: Vec<u32> = (0..6).filter(seen).collect();
            let sum: f64 = classes.iter().map(|&c| is(c)).map(|(t, p)| naive_f1(&t, &p)).sum();
            prop_assert!(close(confusion.f1_macro(), sum / classes.len() as f64));
            for (class, outcomes) in (0..6).zip(confusion.outcomes()) {
                let (truth, predicted) = is(class);
                prop_assert!(close(outcomes.f1(), naive_f1(&truth, &predicted)));
                prop_assert_eq!(outcomes.support(), truth.iter().filter(|t| **t).count() as u64);
            }
        }

        #[test]
        fn several_labels_per_node(
            bits in prop::collection::vec((0_u8..16, 0_u8..16), 1..40),
        ) {
            let set = |bits: u8| -> Vec<u32> { (0..4).filter(|at| bits >> at & 1 == 1).collect() };
            let nodes: Vec<(Vec<u32>, Vec<u32>)> =
                bits.iter().map(|&(t, p)| (set(t), set(p))).collect();
            let pairs = nodes.iter().map(|(t, p)| (t.as_slice(), p.as_slice()));
            let outcomes = label_outcomes(4, pairs);
            let column = |at: u32, flip: bool| -> (Vec<bool>, Vec<bool>) {
                bits.iter().map(|&(t, p)| (t >> at & 1 == 1, p >> at & 1 == 1))
                    .map(|(t, p)| (t != flip, p != flip)).unzip()
            };
            let all = |flip: bool| -> f64 {
                let columns: Vec<_> = (0..4).map(|at| column(at, flip)).collect();
                let truth: Vec<bool> = columns.iter().flat_map(|c| c.0.clone()).collect();
                let predicted: Vec<bool> = columns.iter().flat_map(|c| c.1.clone()).collect();
                naive_f1(&truth, &predicted)
            };
            let each = |at| { let (t, p) = column(at, false); naive_f1(&t, &p) };
            prop_assert!(close(f1_macro(&outcomes), (0..4).map(each).sum::<f64>() / 4.0));
            prop_assert!(close(f1_micro(&outcomes), all(false)));
            let ravelled = ravel(&outcomes, nodes.len());
            // A class that is neither true nor predicted anywhere is not averaged.
            let yes = bits.iter().any(|&(t, p)| t | p != 0);
            let no = bits.iter().any(|&(t, p)| t & p != 15);
            let mean = match (yes, no) {
                (true, true) => f64::midpoint(all(false), all(true)),
                (true, false) => all(false),
                _ => all(true),
            };
            prop_assert!(close(ravelled.f1_macro(), mean));
        }
    }
}
