//! Choosing C by cross-validation on the training nodes.
//!
//! # Method
//!
//! The training nodes are cut into folds. For every C of [`GRID`] and every fold, a classifier is
//! trained on the other folds and predicts the nodes of this one. So each training node is predicted
//! once per C, by a classifier that has not seen it. The C with the best F1-macro of these predictions
//! is chosen; it is the score that `evaluate` reports first. Equal scores go to the smaller C, the
//! simpler classifier. All classes have the same C.
//!
//! The decisions of all folds are counted in one confusion matrix, and F1 is computed from that. The
//! mean of F1 over folds would be biased where classes are rare: F1 is not linear in the counts, and
//! undefined for a class that a fold lacks (Forman and Scholz, *Apples-to-apples in cross-validation
//! studies*, SIGKDD Explorations 12(1), 2010).
//!
//! # Folds
//!
//! Nodes in random order are sorted by class, stably, and dealt to the folds in turn: every class is
//! spread evenly, as in scikit-learn's `StratifiedKFold`. A node with several labels counts for its
//! rarest one, because common labels are spread evenly anyway. There are five folds, or as many as the
//! second largest class has training nodes: then two classes remain to train on, whichever fold is
//! left out. Below two folds nothing can be chosen.

use rayon::prelude::*;

use super::super::decisions::Confusion;
use super::super::logistic::Training;
use super::model::{LabelledVectors, Model};
use crate::error::Result;
use crate::graph::Node;
use crate::rng::{Purpose, Rng};

/// The values of C to choose from, in increasing order: each starts from the weights of the last.
pub(super) const GRID: [f64; 6] = [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0];
/// Largest number of folds.
const FOLDS: usize = 5;

/// The best C for these training nodes; `None` if they are too few. `seed` and `repeat` name the
/// random folds.
pub(super) fn choose_c(
    data: LabelledVectors,
    train: &[Node],
    seed: u64,
    repeat: u64,
) -> Result<Option<f64>> {
    let folds = folds(data, train, seed, repeat);
    if folds.len() < 2 {
        return Ok(None);
    }
    let scored = GRID.into_iter().zip(scores(data, &folds)?);
    let best = scored.reduce(|best, next| if next.1 > best.1 { next } else { best });
    Ok(best.map(|(c, _)| c))
}

/// F1-macro of every C, over the decisions about the nodes of all folds.
fn scores(data: LabelledVectors, folds: &[Vec<Node>]) -> Result<Vec<f64>> {
    let decisions: Vec<Result<Vec<Confusion>>> =
        (0..folds.len()).into_par_iter().map(|fold| decisions(data, folds, fold)).collect();
    let mut decisions = decisions.into_iter();
    let mut sums = decisions.next().unwrap_or(Ok(Vec::new()))?;
    for fold in decisions {
        for (sum, confusion) in sums.iter_mut().zip(fold?) {
            sum.merge(&confusion);
        }
    }
    Ok(sums.iter().map(Confusion::f1_macro).collect())
}

/// The decisions about the nodes of one fold, for every C, by classifiers trained on the others.
fn decisions(data: LabelledVectors, folds: &[Vec<Node>], fold: usize) -> Result<Vec<Confusion>> {
    let others = folds.iter().enumerate().filter(|(other, _)| *other != fold);
    let mut rest: Vec<Node> = others.flat_map(|(_, rows)| rows).copied().collect();
    rest.sort_unstable();
    let rows = &folds[fold];
    let mut previous: Option<Model> = None;
    let decide = |c: f64| {
        let start = previous.as_ref().map(|model| &model.logistic);
        let model = Model::train(data, &rest, Training { c, start })?;
        let decisions = model.decisions(data, rows, &model.scores(data, rows));
        previous = Some(model);
        Ok(decisions)
    };
    GRID.into_iter().map(decide).collect()
}

/// The nodes of each fold, in increasing order.
fn folds(data: LabelledVectors, train: &[Node], seed: u64, repeat: u64) -> Vec<Vec<Node>> {
    let of = |row: Node| data.labels.of[row as usize].iter().copied();
    let mut members = vec![0_usize; data.labels.names.len()];
    for label in train.iter().flat_map(|&row| of(row)) {
        members[label as usize] += 1;
    }
    let most = if data.multi_label {
        train.len()
    } else {
        let mut sizes = members.clone();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        sizes.get(1).copied().unwrap_or(0)
    };
    let mut order = train.to_vec();
    Rng::new(seed, Purpose::Fold, repeat, 0).shuffle(&mut order);
    order.sort_by_key(|&row| of(row).map(|label| (members[label as usize], label)).min());
    let mut folds = vec![Vec::new(); most.min(FOLDS)];
    for (fold, row) in (0..folds.len()).cycle().zip(order) {
        folds[fold].push(row);
    }
    for rows in &mut folds {
        rows.sort_unstable();
    }
    folds
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::embedding::Embedding;
    use crate::graph::{Labels, NodeIds};

    struct Golden {
        embedding: Embedding,
        labels: Labels,
        folds: Vec<Vec<Node>>,
        /// F1-macro of every C.
        scores: Vec<f64>,
    }

    impl Golden {
        /// A file of scripts/make-scores: scikit-learn's `f1_score(average="macro")` of
        /// `cross_val_predict`, on folds cut by scikit-learn.
        fn read(name: &str) -> Self {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scores").join(name);
            let text = std::fs::read_to_string(file).unwrap();
            let (comments, lines): (Vec<&str>, Vec<&str>) =
                text.lines().partition(|line| line.starts_with('#'));
            let number = |text: &str| text.parse::<f64>().unwrap();
            let score = |line: &&str| number(line.rsplit(' ').next().unwrap());
            let (mut folds, mut of, mut vectors) = (vec![Vec::new(); 5], Vec::new(), Vec::new());
            for (row, line) in (0..).zip(&lines) {
                let columns: Vec<&str> = line.split('\t').collect();
                folds[columns[0].parse::<usize>().unwrap()].push(row);
                let labels = columns[1].split(',').filter(|label| !label.is_empty());
                of.push(labels.map(|label| label.parse().unwrap()).collect::<Vec<u32>>());
                vectors.extend(columns[2..].iter().map(|x| number(x) as f32));
            }
            folds.retain(|rows| !rows.is_empty());
            let ids = NodeIds::Range { start: 0, len: lines.len() };
            let names = (0..=*of.iter().flatten().max().unwrap()).map(|l| l.to_string()).collect();
            Self {
                embedding: Embedding::new(ids, vectors.len() / lines.len(), vectors).unwrap(),
                labels: Labels { names, of },
                folds,
                scores: comments.iter().map(score).collect(),
            }
        }

        fn data(&self) -> LabelledVectors<'_> {
            let multi_label = self.labels.of.iter().any(|labels| labels.len() > 1);
            LabelledVectors { embedding: &self.embedding, labels: &self.labels, multi_label }
        }
    }

    #[test]
    fn scores_match_scikit_learn_on_its_folds() {
        for name in ["folds-one.tsv", "folds-two.tsv", "folds-several.tsv"] {
            let golden = Golden::read(name);
            let found = scores(golden.data(), &golden.folds).unwrap();
            assert_eq!(found.len(), GRID.len());
            for ((c, found), expected) in GRID.into_iter().zip(found).zip(&golden.scores) {
                assert!((found - expected).abs() < 1e-12, "{name}, C = {c}: {found}, {expected}");
            }
        }
    }

    #[test]
    fn equal_scores_go_to_the_smaller_c() {
        // No vector tells anything: every C predicts the most frequent class.
        let mut golden = Golden::read("folds-one.tsv");
        let nodes = golden.labels.of.len();
        golden.embedding =
            Embedding::new(golden.embedding.ids().clone(), 1, vec![0.0; nodes]).unwrap();
        let train: Vec<Node> = (0..nodes as Node).collect();
        assert_eq!(choose_c(golden.data(), &train, 0, 0).unwrap(), Some(GRID[0]));
    }

    #[test]
    fn the_choice_does_not_depend_on_the_number_of_threads() {
        for name in ["folds-one.tsv", "folds-several.tsv"] {
            let golden = Golden::read(name);
            let on = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| scores(golden.data(), &golden.folds).unwrap())
            };
            let one = on(1);
            assert!((2..5).all(|threads| on(threads) == one));
        }
    }

    proptest! {
        #[test]
        fn every_class_is_spread_evenly(
            of in prop::collection::vec(0_u32..4, 1..60),
            repeat in 0_u64..3,
        ) {
            let ids = NodeIds::Range { start: 0, len: of.len() };
            let embedding = Embedding::new(ids, 1, vec![0.0; of.len()]).unwrap();
            let names = (0..4).map(|class| class.to_string()).collect();
            let labels = Labels { names, of: of.iter().map(|&class| vec![class]).collect() };
            let data =
                LabelledVectors { embedding: &embedding, labels: &labels, multi_label: false };
            let train: Vec<Node> = (0..of.len() as Node).filter(|row| row % 7 != 3).collect();
            let folds = folds(data, &train, 5, repeat);
            let count = |class: u32, rows: &[Node]| {
                rows.iter().filter(|row| of[**row as usize] == class).count()
            };
            let mut sizes: Vec<usize> = (0..4).map(|class| count(class, &train)).collect();
            let even = |counts: Vec<usize>| {
                counts.iter().max().unwrap_or(&0) - counts.iter().min().unwrap_or(&0) <= 1
            };
            prop_assert!(even(folds.iter().map(Vec::len).collect()));
            for class in 0..4 {
                prop_assert!(even(folds.iter().map(|rows| count(class, rows)).collect()));
            }
            // Two classes remain without any fold.
            sizes.sort_unstable();
            prop_assert_eq!(folds.len(), sizes[2].min(FOLDS));
            if !folds.is_empty() {
                let mut all = folds.concat();
                all.sort_unstable();
                prop_assert_eq!(all, train);
            }
        }
    }
}
