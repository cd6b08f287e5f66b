//! Scores against scikit-learn: the files in tests/scores, written by scripts/make-scores.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use nearfar::embedding::Embedding;
use nearfar::evaluate::ranking::{average_precision, roc_auc};
use nearfar::evaluate::{Classification, ClassifyConfig, classify};
use nearfar::graph::{Labels, NodeIds, Split};

/// The expected scores in the comments of a file, and the columns of its other lines.
fn golden(name: &str) -> (HashMap<String, f64>, Vec<Vec<String>>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scores").join(name);
    let text = fs::read_to_string(path).unwrap();
    let (scores, rows): (Vec<&str>, Vec<&str>) = text.lines().partition(|l| l.starts_with('#'));
    let score = |line: &str| {
        let mut words = line.split(' ').skip(1);
        (words.next().unwrap().to_owned(), words.next().unwrap().parse().unwrap())
    };
    let columns = |line: &str| line.split('\t').map(str::to_owned).collect();
    (scores.into_iter().map(score).collect(), rows.into_iter().map(columns).collect())
}

fn classified(name: &str) -> (HashMap<String, f64>, Classification) {
    let (scores, rows) = golden(name);
    let numbers = |row: &Vec<String>| row[2..].iter().map(|x| x.parse::<f32>().unwrap()).collect();
    let vectors: Vec<Vec<f32>> = rows.iter().map(numbers).collect();
    let ids = NodeIds::Range { start: 0, len: rows.len() };
    let embedding = Embedding::new(ids, vectors[0].len(), vectors.concat()).unwrap();
    let labels = |row: &Vec<String>| {
        row[1].split(',').filter(|label| !label.is_empty()).map(|l| l.parse().unwrap()).collect()
    };
    let of: Vec<Vec<u32>> = rows.iter().map(labels).collect();
    let classes = of.iter().flatten().max().unwrap() + 1;
    let labels = Labels { names: (0..classes).map(|label| label.to_string()).collect(), of };
    let split =
        |row: &Vec<String>| Some(if row[0] == "train" { Split::Train } else { Split::Test });
    let splits = rows.iter().map(split).collect();
    let config = ClassifyConfig { per_class: true, ..Default::default() };
    (scores, classify(&embedding, &labels, Some(&splits), &config).unwrap())
}

#[test]
fn classification_scores_match_scikit_learn() {
    for name in ["classify-two.tsv", "classify-three.tsv", "classify-several.tsv"] {
        let (expected, found) = classified(name);
        let top_k = found.test.top_k.as_ref();
        for (score, expected) in expected {
            let found = match score.as_str() {
                "f1_macro" => &found.test.f1_macro,
                "f1_micro" => &found.test.f1_micro,
                "accuracy" => &found.test.accuracy,
                "top_k_f1_macro" => &top_k.unwrap().f1_macro,
                "top_k_f1_micro" => &top_k.unwrap().f1_micro,
                other => panic!("{other}"),
            };
            assert!((found.mean - expected).abs() < 1e-12, "{name}: {score} {found} {expected}");
        }
        // The scores per class have the same mean.
        let classes = found.per_class.unwrap();
        let mean = classes.iter().map(|class| class.f1).sum::<f64>() / classes.len() as f64;
        let f1_macro = found.test.top_k.map_or(found.test.f1_macro, |top_k| top_k.f1_macro);
        assert!((mean - f1_macro.mean).abs() < 1e-12, "{name}");
    }
}

/// Classes that are only in train or only in test, and classes of one node: `f1_score` with
/// `zero_division=0` over the classes that are true or predicted.
#[test]
fn single_nodes_are_scored_as_by_scikit_learn() {
    let (expected, found) = classified("single-nodes.tsv");
    assert!((found.test.f1_macro.mean - expected["f1_macro"]).abs() < 1e-12);
    assert!((found.test.f1_micro.mean - expected["f1_micro"]).abs() < 1e-12);
    assert!((found.test.accuracy.mean - expected["accuracy"]).abs() < 1e-12);
    let note =
        "2 classes have test nodes and no training node, and cannot be predicted there: '4', '6'";
    assert_eq!(found.notes, [note]);
}

#[test]
fn ranking_scores_match_scikit_learn() {
    for name in ["ranking-ties.tsv", "ranking-no-ties.tsv"] {
        let (expected, rows) = golden(name);
        let of = |side: &str| -> Vec<f64> {
            let rows = rows.iter().filter(|row| row[1] == side);
            rows.map(|row| row[0].parse().unwrap()).collect()
        };
        let (positives, negatives) = (of("1"), of("0"));
        let auc = roc_auc(&positives, &negatives).unwrap();
        let precision = average_precision(&positives, &negatives).unwrap();
        assert!((auc - expected["roc_auc"]).abs() < 1e-12, "{name}");
        assert!((precision - expected["average_precision"]).abs() < 1e-12, "{name}");
    }
}
