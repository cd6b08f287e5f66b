//! `nearfar evaluate`: output and error messages.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::{failure, json, messages, nearfar, output, text};

/// A folder with vectors of 30 nodes in three classes, the last two not separable; files of single
/// and of multiple labels; and splits.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        let names = ["ant", "bee", "cow"];
        let [mut vectors, mut labels, mut several, mut splits] = [const { String::new() }; 4];
        for node in 0..30 {
            let class = node % 3;
            let x = [0, 3, if node % 4 == 0 { 3 } else { 4 }][class];
            writeln!(vectors, "n{node}\t{x}\t{}", node % 5).unwrap();
            writeln!(labels, "n{node}\t{}", names[class]).unwrap();
            let second = if node % 2 == 0 { ",even" } else { "" };
            writeln!(several, "n{node}\t{}{second}", names[class]).unwrap();
            let part = ["train", "train", "test", "val"][node / 3 % 4];
            writeln!(splits, "n{node}\t{part}").unwrap();
        }
        files.write("vectors.tsv", &vectors);
        files.write("labels.tsv", &labels);
        files.write("several.tsv", &several);
        files.write("splits.tsv", &splits);
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
    }

    /// The arguments of `evaluate`, with the folder added to file names.
    fn arguments(&self, arguments: &[&str]) -> Vec<String> {
        let full = |word: &&str| {
            let file = word.contains('.') && word.parse::<f64>().is_err();
            if file { text(&self.path(word)).to_owned() } else { (*word).to_owned() }
        };
        ["evaluate"].iter().chain(arguments).map(full).collect()
    }

    /// The output, without the name of the folder.
    fn run(&self, arguments: &[&str], run: fn(&[&str]) -> String) -> String {
        let arguments = self.arguments(arguments);
        let printed = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        printed.replace(&format!("{}/", text(self.0.path())), "")
    }
}

#[test]
fn table_output() {
    let files = Files::new();
    let fixed = ["vectors.tsv", "--labels", "labels.tsv", "--splits", "splits.tsv"];
    let asked = [&fixed[..], &["--per-class", "--confusion"]].concat();
    insta::assert_snapshot!(files.run(&asked, output), @"
    vectors.tsv: 30 vectors of 2 dimensions, 3 classes
    logistic regression, C = 1; trained on 18 nodes; fixed splits

                                   test (6)            val (6)
      F1-macro                     0.5556              1.0000
      F1-micro                     0.6667              1.0000
      accuracy                     0.6667              1.0000

      class  precision  recall      F1  support
      ant       1.0000  1.0000  1.0000        2
      bee       0.5000  1.0000  0.6667        2
      cow       0.0000  0.0000  0.0000        2

                  predicted class
      true class         ant         bee         cow
      ant                  2           0           0
      bee                  0           2           0
      cow                  0           2           0
    ");
    let random = ["--train-ratio", "0.5", "--repeats", "4", "--stratified", "--seed", "3"];
    let random = [&["vectors.tsv", "--labels", "labels.tsv"][..], &random].concat();
    insta::assert_snapshot!(files.run(&random, output), @"
    vectors.tsv: 30 vectors of 2 dimensions, 3 classes
    logistic regression, C = 1; trained on 15 nodes; 4 random stratified splits, train ratio 0.5, seed 3

                                   test (15)
      F1-macro                     0.8811 ± 0.0562
      F1-micro                     0.8833 ± 0.0553
      accuracy                     0.8833 ± 0.0553
    ");
    let several =
        ["vectors.tsv", "--labels", "several.tsv", "--splits", "splits.tsv", "--per-class"];
    insta::assert_snapshot!(files.run(&several, output), @"
    vectors.tsv: 30 vectors of 2 dimensions, 4 labels (multi-label)
    logistic regression, C = 1; trained on 18 nodes; fixed splits

                                   test (6)            val (6)
      F1-macro, all decisions      0.6606              0.6975
      F1-micro, all decisions      0.7083              0.7500
      F1-macro, top-k labels       0.4500              1.0000
      F1-micro, top-k labels       0.6000              1.0000

      class  precision  recall      F1  support
      ant       1.0000  1.0000  1.0000        2
      bee       0.0000  0.0000  0.0000        2
      cow       0.0000  0.0000  0.0000        2
      even      0.6667  1.0000  0.8000        4
    ");
}

#[test]
fn json_output() {
    let files = Files::new();
    let fixed = ["vectors.tsv", "--labels", "labels.tsv", "--splits", "splits.tsv", "--json"];
    insta::assert_snapshot!(files.run(&fixed, output), @r#"{"nodes":30,"dim":2,"classes":3,"multi_label":false,"protocol":{"splits":"fixed"},"c":1.0,"train":18,"scored":6,"f1_macro":{"mean":0.5555555555555555,"std":0.0,"runs":[0.5555555555555555]},"f1_micro":{"mean":0.6666666666666666,"std":0.0,"runs":[0.6666666666666666]},"accuracy":{"mean":0.6666666666666666,"std":0.0,"runs":[0.6666666666666666]},"val":{"scored":6,"f1_macro":{"mean":1.0,"std":0.0,"runs":[1.0]},"f1_micro":{"mean":1.0,"std":0.0,"runs":[1.0]},"accuracy":{"mean":1.0,"std":0.0,"runs":[1.0]}}}"#);
    let several = ["vectors.tsv", "--labels", "several.tsv", "--train-ratio", "0.5", "--json"];
    let scores: serde_json::Value = serde_json::from_str(&files.run(&several, output)).unwrap();
    for f1 in [&scores, &scores["ravelled"], &scores["top_k"]] {
        for mean in ["f1_macro", "f1_micro"] {
            assert_eq!(f1[mean]["runs"].as_array().unwrap().len(), 10, "{mean}");
            assert!(f1[mean]["mean"].is_number() && f1[mean]["std"].is_number(), "{mean}");
        }
    }
    assert_eq!(scores["f1_macro"], scores["ravelled"]["f1_macro"]);
}

/// A dataset folder given as --labels also provides the splits.
#[test]
fn dataset_folders() {
    let files = Files::new();
    let scores = |options: &[&str]| {
        let vectors = files.path("vectors.tsv");
        json(&[&["evaluate", text(&vectors), "--json"][..], options].concat())
    };
    let folder = text(files.0.path()).to_owned();
    let splits = files.path("splits.tsv");
    let by_folder = scores(&["--labels", &folder]);
    assert_eq!(by_folder["protocol"]["splits"], "fixed");
    assert_eq!(by_folder, scores(&["--labels", &folder, "--splits", &folder]));
    assert_eq!(by_folder, scores(&["--labels", &folder, "--splits", text(&splits)]));
    let random = scores(&["--labels", &folder, "--train-ratio", "0.4", "--repeats", "2"]);
    assert_eq!(random["protocol"]["splits"], "random");
    assert_eq!((&random["train"], &random["scored"]), (&12.into(), &18.into()));
}

/// With `--c auto` the scores are those of the C that is chosen.
#[test]
fn c_auto() {
    let files = Files::new();
    let scores = |labels: &str, options: &[&str]| -> serde_json::Value {
        let fixed = ["vectors.tsv", "--labels", labels, "--splits", "splits.tsv", "--json"];
        serde_json::from_str(&files.run(&[&fixed[..], options].concat(), output)).unwrap()
    };
    for labels in ["labels.tsv", "several.tsv"] {
        let auto = scores(labels, &["--c", "auto"]);
        assert_eq!((&auto["c"], auto["chosen_c"].as_array().unwrap().len()), (&"auto".into(), 1));
        let chosen = &auto["chosen_c"][0];
        let given = scores(labels, &["--c", &chosen.to_string()]);
        assert!(given["chosen_c"].is_null() && given["c"] == *chosen);
        for key in ["f1_macro", "f1_micro", "accuracy", "val", "top_k"] {
            assert_eq!(auto[key], given[key], "{labels} {key}");
        }
    }
    let random = ["vectors.tsv", "--labels", "labels.tsv", "--train-ratio", "0.5", "--c", "auto"];
    let table = files.run(&random, output);
    assert!(table.contains("(chosen by cross-validation); trained on 15 nodes"), "{table}");
    let one = files.run(&[&random[..], &["--threads", "1"]].concat(), output);
    assert_eq!(one, files.run(&[&random[..], &["--threads", "4"]].concat(), output));
}

/// Classes that cannot be trained on or tested are scored, and noted on standard error.
#[test]
fn classes_of_one_node() {
    let files = Files::new();
    files.write("single.tsv", "n0\tant\nn1\tbee\nn2\tcow\nn3\tant\nn4\tbee\n");
    files.write("cow-test.tsv", "n0\ttrain\nn1\ttrain\nn2\ttest\nn3\ttest\nn4\ttest\n");
    let single = ["vectors.tsv", "--labels", "single.tsv"];
    let fixed = [&single[..], &["--splits", "cow-test.tsv", "--c", "auto"]].concat();
    let stratified =
        [&single[..], &["--train-ratio", "0.5", "--stratified", "--repeats", "4"]].concat();
    let notes = files.run(&fixed, messages) + &files.run(&stratified, messages);
    insta::assert_snapshot!(notes, @"
    note: 1 class has test nodes and no training node, and cannot be predicted there: 'cow'
    note: too few training nodes of each class to choose C: C = 1
    note: 1 class has a single node, which is always trained on and never tested: 'cow'
    ");
    let json = files.run(&[&fixed[..], &["--json"]].concat(), output);
    let scores: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(scores["notes"].as_array().unwrap().len(), 2);
    // Precision 1, ½ and 0, recall 1, 1 and 0.
    assert!((scores["f1_macro"]["mean"].as_f64().unwrap() - (1.0 + 2.0 / 3.0) / 3.0).abs() < 1e-12);
}

#[test]
fn scores_depend_on_the_seed_and_not_on_threads() {
    let files = Files::new();
    let scores = |options: &[&str]| {
        let random = ["vectors.tsv", "--labels", "labels.tsv", "--train-ratio", "0.3", "--json"];
        files.run(&[&random[..], options].concat(), output)
    };
    let one = scores(&["--threads", "1"]);
    assert_eq!(one, scores(&["--threads", "4"]));
    assert_ne!(one, scores(&["--seed", "1"]));
}

#[test]
fn wrong_input() {
    let files = Files::new();
    files.write("unknown.tsv", "n98\tant\nn99\tbee\n");
    files.write("one-each.tsv", "n0\tant\nn1\tbee\nn2\tcow\n");
    files.write("none.tsv", "n0\t\nn1\t\n");
    files.write("no-test.tsv", "n0\ttrain\nn1\ttrain\nn2\tval\n");
    files.write("no-train.tsv", "n0\ttest\n");
    files.write("one-class.tsv", "n0\ttrain\nn3\ttrain\nn1\ttest\n");
    files.write("odd.tsv", "n0\ttraining\n");
    files.write("few.tsv", "n0\tant\nn1\tbee\nn3\tant\nn4\tbee\n");
    files.write("nan.tsv", "n0\t1\t2\nn1\tNaN\t4\n");
    files.write("two.tsv", "n0\tant\nn1\tbee\n");
    let fails = |arguments: &[&str]| files.run(arguments, failure);
    let messages = [
        fails(&["vectors.tsv", "--labels", "unknown.tsv"]),
        fails(&["nan.tsv", "--labels", "two.tsv"]),
        fails(&["vectors.tsv", "--labels", "one-each.tsv", "--train-ratio", "0.5", "--stratified"]),
        fails(&["vectors.tsv", "--labels", "none.tsv"]),
        fails(&["vectors.tsv", "--labels", "no-such.tsv"]),
        fails(&["vectors.tsv", "--labels", "labels.tsv", "--splits", "no-test.tsv"]),
        fails(&["vectors.tsv", "--labels", "labels.tsv", "--splits", "no-train.tsv"]),
        fails(&["vectors.tsv", "--labels", "labels.tsv", "--splits", "one-class.tsv"]),
        fails(&["vectors.tsv", "--labels", "labels.tsv", "--splits", "odd.tsv"]),
        fails(&["vectors.tsv", "--labels", "few.tsv", "--splits", "splits.tsv"]),
        fails(&["vectors.tsv", "--labels", "few.tsv", "--train-ratio", "0.2"]),
        fails(&["vectors.tsv", "--labels", "few.tsv", "--train-ratio", "1"]),
        fails(&["vectors.tsv", "--labels", "few.tsv", "--repeats", "0"]),
        fails(&["vectors.tsv", "--labels", "few.tsv", "--c", "0"]),
        fails(&["vectors.tsv", "--labels", "several.tsv", "--confusion"]),
        fails(&["vectors.tsv", "--labels", "several.tsv", "--stratified"]),
    ];
    insta::assert_snapshot!(messages.concat(), @"
    error: unknown.tsv:1: node 'n98' is not among the vectors, nor is any other node of this file
    error: nan.tsv: the vector of node 'n1' (row 1) has NaN in dimension 0; training diverged: lower the learning rate
    error: stratified splits need two nodes of some class, and every class has one; omit --stratified
    error: no node has a label; give a file with labels
    error: no-such.tsv: cannot read: no such file; check the name
    error: no node is in the test split; add lines 'node<TAB>test' or omit --splits
    error: no node is in the train split; add lines 'node<TAB>train' or omit --splits
    error: all 2 training nodes have class 'ant', and a classifier needs at least two classes; train on more nodes or give --stratified
    error: odd.tsv:1: 'training' is not a split; expected train, val or test
    error: node 'n2' is in the splits and has no label; add its label or remove it from the splits
    error: --train-ratio 0.2: the train split of 4 labelled nodes is empty; expected a larger fraction
    error: --train-ratio 1: expected a fraction between 0 and 1
    error: --repeats 0: expected at least 1
    error: --c 0: expected 'auto' or a number above 0
    error: a confusion matrix needs one label per node, and some nodes have several; omit --confusion
    error: stratified splits need one label per node, and some nodes have several; omit --stratified
    ");
    let both =
        ["vectors.tsv", "--labels", "labels.tsv", "--splits", "splits.tsv", "--repeats", "3"];
    let both = files.arguments(&both);
    nearfar(&both.iter().map(String::as_str).collect::<Vec<_>>()).assert().code(2);
    let word = files.arguments(&["vectors.tsv", "--labels", "labels.tsv", "--c", "abc"]);
    let refused = nearfar(&word.iter().map(String::as_str).collect::<Vec<_>>()).assert().code(2);
    let message = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(
        message.contains("'abc' for '--c <C>': expected 'auto' or a number above 0"),
        "{message}"
    );
}
