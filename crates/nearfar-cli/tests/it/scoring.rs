//! `nearfar embed --score-every` and `--stop-early`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::{failure, nearfar, text};

/// A temporary folder.
struct Work(TempDir);

impl Work {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The bytes of the vectors, and the events of the log.
    fn train(&self, graph: &str, options: &[&str]) -> (Vec<u8>, Vec<Value>) {
        let [vectors, log] = ["v.npy", "log.jsonl"].map(|name| self.path(name));
        let base = ["embed", graph, "-q", "--dim", "12", "--walks", "1"];
        let files = ["-o", text(&vectors), "--log", text(&log)];
        nearfar(&[&base[..], &files, options].concat()).assert().success().stderr("");
        let lines = fs::read_to_string(&log).unwrap();
        let events = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (fs::read(&vectors).unwrap(), events)
    }

    /// The dataset builtin:sparse with the labels of its test nodes exchanged.
    fn with_wrong_test_labels(&self, dataset: &Path) -> PathBuf {
        let read = |name: &str| fs::read_to_string(dataset.join(name)).unwrap();
        let splits = read("splits.tsv");
        let is_test = |node: &str| splits.lines().any(|line| line == format!("{node}\ttest"));
        let swap = |line: &str| {
            let (node, label) = line.split_once('\t').unwrap();
            let label = if is_test(node) { "0" } else { label };
            format!("{node}\t{label}\n")
        };
        let file = self.path("wrong.tsv");
        fs::write(&file, read("labels.tsv").lines().map(swap).collect::<String>()).unwrap();
        file
    }
}

fn scores(events: &[Value]) -> Vec<&Value> {
    events.iter().filter(|event| event["event"] == "scores").collect()
}

fn epochs(scores: &[&Value]) -> Vec<u64> {
    scores.iter().map(|event| event["epoch"].as_u64().unwrap()).collect()
}

#[test]
fn scores_are_logged_and_do_not_change_the_vectors() {
    let work = Work::new();
    let (plain, without) = work.train("builtin:sparse", &["--epochs", "7"]);
    assert!(scores(&without).is_empty());
    for threads in ["1", "3"] {
        let options = ["--epochs", "7", "--score-every", "3", "--threads", threads];
        let (scored, events) = work.train("builtin:sparse", &options);
        assert!(scored == plain, "the same bytes");
        let scores = scores(&events);
        // Every third, and the last.
        assert_eq!(epochs(&scores), [3, 6, 7]);
        for part in ["val", "test"] {
            for score in ["f1_macro", "f1_micro", "accuracy"] {
                let value = scores[2][part][score].as_f64().unwrap();
                assert!((0.0..=1.0).contains(&value), "{part} {score} {value}");
            }
        }
        // Scores follow the event of their epoch.
        let index = events.iter().position(|event| event["event"] == "scores").unwrap();
        assert_eq!(
            (&events[index - 1]["event"], &events[index - 1]["epoch"]),
            (&"epoch".into(), &3.into())
        );
    }
}

#[test]
fn the_last_scores_equal_those_of_evaluate() {
    let work = Work::new();
    let dataset = work.path("data");
    nearfar(&["synth", "sparse", "-o", text(&dataset), "-q"]).assert().success();
    let (_, events) = work.train(text(&dataset), &["--epochs", "7", "--score-every", "100"]);
    let vectors = work.path("v.npy");
    let found = crate::json(&["evaluate", text(&vectors), "--labels", text(&dataset), "--json"]);
    let scores = scores(&events);
    assert_eq!(epochs(&scores), [7]);
    for score in ["f1_macro", "f1_micro", "accuracy"] {
        assert_eq!(scores[0]["test"][score], found[score]["mean"], "{score}");
        assert_eq!(scores[0]["val"][score], found["val"][score]["mean"], "{score}");
    }
}

#[test]
fn early_stopping_depends_on_validation_only() {
    let work = Work::new();
    let dataset = work.path("data");
    nearfar(&["synth", "sparse", "-o", text(&dataset), "-q"]).assert().success();
    let stop = ["--epochs", "40", "--score-every", "1", "--stop-early", "2"];
    let (vectors, events) = work.train(text(&dataset), &stop);
    let curve = scores(&events);
    let val: Vec<f64> =
        curve.iter().map(|event| event["val"]["f1_macro"].as_f64().unwrap()).collect();
    let best = (0..val.len()).rev().max_by(|&a, &b| val[a].total_cmp(&val[b])).unwrap();
    assert!(val.len() < 40, "it stops early: {val:?}");
    assert_eq!(best + 1 + 2, val.len(), "two scorings after the best: {val:?}");
    // The vectors are those of the best epoch.
    let found =
        crate::json(&["evaluate", text(&work.path("v.npy")), "--labels", text(&dataset), "--json"]);
    assert_eq!(found["val"]["f1_macro"]["mean"], val[best]);
    // Other labels of test nodes change the scores on test, and nothing else.
    let wrong = work.with_wrong_test_labels(&dataset);
    let options = [&stop[..], &["--labels", text(&wrong)]].concat();
    let (same, other) = work.train(text(&dataset), &options);
    assert!(same == vectors);
    let other = scores(&other);
    assert_eq!(epochs(&other), epochs(&curve));
    assert!(other.iter().zip(&curve).all(|(a, b)| a["val"] == b["val"] && a["test"] != b["test"]));
}

#[test]
fn scores_are_printed_while_training() {
    let work = Work::new();
    let vectors = work.path("v.npy");
    let mut run = nearfar(&[
        "embed",
        "builtin:sparse",
        "-o",
        text(&vectors),
        "--epochs",
        "2",
        "--dim",
        "4",
        "--walks",
        "1",
        "--score-every",
        "1",
        "--stop-early",
        "1",
    ]);
    let messages = String::from_utf8(run.assert().success().get_output().stderr.clone()).unwrap();
    let lines: Vec<&str> = messages.lines().filter(|line| line.contains("F1-macro")).collect();
    assert_eq!(lines.len(), 3, "{messages}");
    assert!(lines[0].starts_with("epoch 1: F1-macro val 0."), "{messages}");
    assert!(lines[2].contains("vectors of epoch "), "{messages}");
}

#[test]
fn missing_labels_and_splits() {
    let work = Work::new();
    let [labels, splits, target] =
        ["labels.tsv", "splits.tsv", "v.npy"].map(|name| work.path(name));
    let lines = |value: fn(u32) -> &'static str| -> String {
        (0..34).map(|node| [node.to_string().as_str(), "\t", value(node), "\n"].concat()).collect()
    };
    fs::write(&labels, lines(|node| if node % 2 == 0 { "a" } else { "b" })).unwrap();
    fs::write(&splits, lines(|node| if node < 10 { "train" } else { "test" })).unwrap();
    fs::write(work.path("edges.tsv"), "0\t1\n").unwrap();
    let edges = work.path("edges.tsv");
    let fails = |graph: &str, options: &[&str]| {
        let base = ["embed", graph, "-q", "-o", text(&target), "--score-every"];
        failure(&[&base[..], options].concat()).replace(text(work.0.path()), "FOLDER")
    };
    let both = ["--labels", text(&labels), "--splits", text(&splits)];
    let messages = [
        fails(text(&edges), &["1"]),
        fails("builtin:karate", &["1", both[0], both[1]]),
        fails("builtin:karate", &[&["0"][..], &both].concat()),
        fails("builtin:karate", &[&["1", "--stop-early", "0"][..], &both].concat()),
        fails("builtin:karate", &[&["1", "--stop-early", "3"][..], &both].concat()),
    ];
    insta::assert_snapshot!(messages.concat(), @"
    error: --score-every needs labels; give a file of lines 'node<TAB>label' with --labels, or a dataset folder with labels.tsv
    error: --score-every needs splits; give a file of lines 'node<TAB>train|val|test' with --splits, or a dataset folder with splits.tsv
    error: --score-every 0: expected at least 1
    error: --stop-early 0: expected at least 1
    error: early stopping needs validation nodes, and no node is in the val split; add lines 'node<TAB>val' or omit --stop-early
    ");
    assert!(!target.exists());
    nearfar(&["embed", "builtin:karate", "--stop-early", "2"]).assert().code(2);
    nearfar(&["embed", "builtin:karate", "--labels", "x.tsv"]).assert().code(2);
}
