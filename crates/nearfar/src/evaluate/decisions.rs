//! Scores of decisions: how well predicted classes agree with true ones.
//!
//! For one class, with TP nodes rightly and FP wrongly given to it and FN wrongly not,
//!
//!   precision = TP / (TP + FP),   recall = TP / (TP + FN),   F1 = 2 TP / (2 TP + FP + FN),
//!
//! the last being the harmonic mean of the first two; 0 where a denominator is. **F1-macro** is
//! the mean of F1 over classes, so that small classes count as much as large ones; **F1-micro** is
//! F1 of the counts summed over classes. With one class a node F1-micro is the accuracy.

/// How often nodes of one class were given to another, for all pairs of classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confusion {
    classes: usize,
    /// By true class, then by predicted class.
    counts: Vec<u64>,
}

/// What was decided about one class: nodes rightly given to it, wrongly, and wrongly not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// True and predicted.
    pub right: u64,
    /// Predicted, not true.
    pub wrong: u64,
    /// True, not predicted.
    pub missed: u64,
}

impl Confusion {
    /// No nodes yet.
    pub fn new(classes: usize) -> Self {
        Self { classes, counts: vec![0; classes * classes] }
    }

    /// Counts a node.
    ///
    /// # Panics
    /// If one of the classes is none of 0 to classes − 1.
    pub fn add(&mut self, truth: u32, predicted: u32) {
        let (truth, predicted) = (truth as usize, predicted as usize);
        assert!(truth < self.classes && predicted < self.classes);
        self.counts[truth * self.classes + predicted] += 1;
    }

    /// Counts what another one counted.
    pub fn merge(&mut self, other: &Self) {
        for (count, other) in self.counts.iter_mut().zip(&other.counts) {
            *count += other;
        }
    }

    /// For every true class, how many of its nodes were given to each.
    pub fn rows(&self) -> impl Iterator<Item = &[u64]> {
        self.counts.chunks(self.classes.max(1))
    }

    /// The share of nodes that were given to their class.
    pub fn accuracy(&self) -> f64 {
        let right: u64 = self.counts.iter().step_by(self.classes + 1).sum();
        ratio(right, self.counts.iter().sum())
    }

    /// What was decided about every class.
    pub fn outcomes(&self) -> Vec<Outcomes> {
        let mut outcomes = vec![Outcomes::default(); self.classes];
        for (truth, row) in self.rows().enumerate() {
            for (predicted, &count) in row.iter().enumerate() {
                if truth == predicted {
                    outcomes[truth].right += count;
                } else {
                    outcomes[truth].missed += count;
                    outcomes[predicted].wrong += count;
                }
            }
        }
        outcomes
    }

    /// The mean of F1 over the classes that some node has or was given, as in scikit-learn.
    pub fn f1_macro(&self) -> f64 {
        let mut outcomes = self.outcomes();
        outcomes.retain(|class| *class != Outcomes::default());
        f1_macro(&outcomes)
    }
}

impl Outcomes {
    /// The share of what was given to the class that belongs to it.
    pub fn precision(&self) -> f64 {
        ratio(self.right, self.right + self.wrong)
    }

    /// The share of what belongs to the class that was given to it.
    pub fn recall(&self) -> f64 {
        ratio(self.right, self.support())
    }

    /// The harmonic mean of precision and recall.
    pub fn f1(&self) -> f64 {
        ratio(2 * self.right, 2 * self.right + self.wrong + self.missed)
    }

    /// Nodes that belong to the class.
    pub fn support(&self) -> u64 {
        self.right + self.missed
    }

    /// Counts what another one counted.
    pub fn merge(&mut self, other: &Self) {
        self.right += other.right;
        self.wrong += other.wrong;
        self.missed += other.missed;
    }
}

/// The mean of F1 over classes.
pub fn f1_macro(classes: &[Outcomes]) -> f64 {
    classes.iter().map(Outcomes::f1).sum::<f64>() / classes.len().max(1) as f64
}

/// F1 of the counts of all classes together.
pub fn f1_micro(classes: &[Outcomes]) -> f64 {
    let mut all = Outcomes::default();
    for class in classes {
        all.merge(class);
    }
    all.f1()
}

/// What was decided about every label, where a node may have several.
/// Each element holds the true labels of a node and the predicted ones, both increasing.
pub fn label_outcomes<'a>(
    labels: usize,
    nodes: impl IntoIterator<Item = (&'a [u32], &'a [u32])>,
) -> Vec<Outcomes> {
    let mut outcomes = vec![Outcomes::default(); labels];
    for (truth, predicted) in nodes {
        for &label in truth {
            let right = predicted.binary_search(&label).is_ok();
            let outcome = &mut outcomes[label as usize];
            if right { outcome.right += 1 } else { outcome.missed += 1 }
        }
        for &label in predicted {
            if truth.binary_search(&label).is_err() {
                outcomes[label as usize].wrong += 1;
            }
        }
    }
    outcomes
}

/// The yes-or-no decisions about all labels of all nodes in one long list, as the paper scores
/// several labels: class 0 are the labels that a node has not, class 1 those that it has.
pub fn ravel(outcomes: &[Outcomes], nodes: usize) -> Confusion {
    let mut all = Outcomes::default();
    for label in outcomes {
        all.merge(label);
    }
    let decisions = (nodes * outcomes.len()) as u64;
    let neither = decisions - all.right - all.wrong - all.missed;
    Confusion { classes: 2, counts: vec![neither, all.wrong, all.missed, all.right] }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// F1 by its definition as the harmonic mean, from yes-or-no lists.
    fn naive_f1(truth: &[bool], predicted: &[bool]) -> f64 {
        let both = truth.iter().zip(predicted).filter(|(t, p)| **t && **p).count() as f64;
        let count = |list: &[bool]| list.iter().filter(|yes| **yes).count() as f64;
        if both == 0.0 {
            return 0.0;
        }
        let (precision, recall) = (both / count(predicted), both / count(truth));
        2.0 * precision * recall / (precision + recall)
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    proptest! {
        #[test]
        fn one_class_a_node(nodes in prop::collection::vec((0_u32..5, 0_u32..5), 1..60)) {
            let mut confusion = Confusion::new(6);
            for &(truth, predicted) in &nodes {
                confusion.add(truth, predicted);
            }
            let right = nodes.iter().filter(|(truth, predicted)| truth == predicted).count();
            prop_assert!(near(confusion.accuracy(), right as f64 / nodes.len() as f64));
            prop_assert!(near(f1_micro(&confusion.outcomes()), confusion.accuracy()));
            let is = |class: u32| -> (Vec<bool>, Vec<bool>) {
                nodes.iter().map(|&(t, p)| (t == class, p == class)).unzip()
            };
            let seen = |class: &u32| nodes.iter().any(|(t, p)| t == class || p == class);
            let classes: Vec<u32> = (0..6).filter(seen).collect();
            let sum: f64 = classes.iter().map(|&c| is(c)).map(|(t, p)| naive_f1(&t, &p)).sum();
            prop_assert!(near(confusion.f1_macro(), sum / classes.len() as f64));
            for (class, outcomes) in (0..6).zip(confusion.outcomes()) {
                let (truth, predicted) = is(class);
                prop_assert!(near(outcomes.f1(), naive_f1(&truth, &predicted)));
                prop_assert_eq!(outcomes.support(), truth.iter().filter(|t| **t).count() as u64);
            }
        }

        #[test]
        fn several_labels_a_node(
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
            prop_assert!(near(f1_macro(&outcomes), (0..4).map(each).sum::<f64>() / 4.0));
            prop_assert!(near(f1_micro(&outcomes), all(false)));
            let ravelled = ravel(&outcomes, nodes.len());
            // A class that is neither true nor predicted anywhere is left out.
            let yes = bits.iter().any(|&(t, p)| t | p != 0);
            let no = bits.iter().any(|&(t, p)| t & p != 15);
            let mean = match (yes, no) {
                (true, true) => f64::midpoint(all(false), all(true)),
                (true, false) => all(false),
                _ => all(true),
            };
            prop_assert!(near(ravelled.f1_macro(), mean));
        }
    }
}
