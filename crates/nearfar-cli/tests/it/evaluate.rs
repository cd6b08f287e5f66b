//! `nearfar evaluate`: what it prints, and what it says of wrong input.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::{failure, json, nearfar, output, text};

/// A folder with vectors of 30 nodes in three classes, of which the last two mix; their labels,
/// one or several a node; and splits.
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

    /// The arguments, with the names of files made paths.
    fn arguments(&self, arguments: &[&str]) -> Vec<String> {
        let full = |word: &&str| {
            let file = word.contains('.') && word.parse::<f64>().is_err();
            if file { text(&self.path(word)).to_owned() } else { (*word).to_owned() }
        };
        ["evaluate"].iter().chain(arguments).map(full).collect()
    }

    /// What is said, without the folder.
    fn said(&self, arguments: &[&str], run: fn(&[&str]) -> String) -> String {
        let arguments = self.arguments(arguments);
        let said = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        said.replace(&format!("{}/", text(self.0.path())), "")
    }
}

#[test]
fn a_table_for_people() {
    let files = Files::new();
    let fixed = ["vectors.tsv", "--labels", "labels.tsv", "--splits", "splits.tsv"];
    let asked = [&fixed[..], &["--per-class", "--confusion"]].concat();
    insta::assert_snapshot!(files.said(&asked, output), @"");
    let random = ["--train-ratio", "0.5", "--repeats", "4", "--stratified", "--seed", "3"];
    let random = [&["vectors.tsv", "--labels", "labels.tsv"][..], &random].concat();
    insta::assert_snapshot!(files.said(&random, output), @"");
    let several =
        ["vectors.tsv", "--labels", "several.tsv", "--splits", "splits.tsv", "--per-class"];
    insta::assert_snapshot!(files.said(&several, output), @"");
}

#[test]
fn json_for_programs() {
    let files = Files::new();
    let fixed = ["vectors.tsv", "--labels", "labels.tsv", "--splits", "splits.tsv", "--json"];
    insta::assert_snapshot!(files.said(&fixed, output), @"");
    let several = ["vectors.tsv", "--labels", "several.tsv", "--train-ratio", "0.5", "--json"];
    let scores: serde_json::Value = serde_json::from_str(&files.said(&several, output)).unwrap();
    for f1 in [&scores, &scores["ravelled"], &scores["top_k"]] {
        for mean in ["f1_macro", "f1_micro"] {
            assert_eq!(f1[mean]["runs"].as_array().unwrap().len(), 10, "{mean}");
            assert!(f1[mean]["mean"].is_number() && f1[mean]["std"].is_number(), "{mean}");
        }
    }
    assert_eq!(scores["f1_macro"], scores["ravelled"]["f1_macro"]);
}

/// A dataset folder serves as labels, and then its splits count; or as either of them.
#[test]
fn folders() {
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

#[test]
fn threads_do_not_matter_and_seeds_do() {
    let files = Files::new();
    let scores = |options: &[&str]| {
        let random = ["vectors.tsv", "--labels", "labels.tsv", "--train-ratio", "0.3", "--json"];
        files.said(&[&random[..], options].concat(), output)
    };
    let one = scores(&["--threads", "1"]);
    assert_eq!(one, scores(&["--threads", "4"]));
    assert_ne!(one, scores(&["--seed", "1"]));
}

#[test]
fn wrong_input() {
    let files = Files::new();
    files.write("unknown.tsv", "n0\tant\nn99\tbee\n");
    files.write("single.tsv", "n0\tant\nn1\tbee\nn2\tant\nn3\tant\n");
    files.write("none.tsv", "n0\t\nn1\t\n");
    files.write("no-test.tsv", "n0\ttrain\nn1\ttrain\nn2\tval\n");
    files.write("no-train.tsv", "n0\ttest\n");
    files.write("one-class.tsv", "n0\ttrain\nn3\ttrain\nn1\ttest\n");
    files.write("odd.tsv", "n0\ttraining\n");
    files.write("few.tsv", "n0\tant\nn1\tbee\nn3\tant\nn4\tbee\n");
    files.write("short.tsv", "n0\t1\t2\nn1\t3\t4\n");
    files.write("nan.tsv", "n0\t1\t2\nn1\tNaN\t4\n");
    files.write("two.tsv", "n0\tant\nn1\tbee\n");
    let fails = |arguments: &[&str]| files.said(arguments, failure);
    let messages = [
        fails(&["vectors.tsv", "--labels", "unknown.tsv"]),
        fails(&["short.tsv", "--labels", "labels.tsv"]),
        fails(&["nan.tsv", "--labels", "two.tsv"]),
        fails(&["vectors.tsv", "--labels", "single.tsv", "--train-ratio", "0.5"]),
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
    insta::assert_snapshot!(messages.concat(), @"");
    let both =
        ["vectors.tsv", "--labels", "labels.tsv", "--splits", "splits.tsv", "--repeats", "3"];
    let both = files.arguments(&both);
    nearfar(&both.iter().map(String::as_str).collect::<Vec<_>>()).assert().code(2);
}
