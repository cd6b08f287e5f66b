//! `nearfar neighbors`: output and error messages.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::{failure, nearfar, output, text};

/// A folder with one file of vectors.
fn vectors(name: &str, content: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    (folder, path)
}

const PEOPLE: &str = "ann\t1\t0\nbob\t0.8\t0.6\ncarl the 2nd\t-3\t0\ndörte\t0\t0\n-5\t2\t2\n";

#[test]
fn table_output() {
    let (_folder, path) = vectors("people.tsv", PEOPLE);
    insta::assert_snapshot!(output(&["neighbors", text(&path), "ann"]), @"
    nearest neighbours of node ann by cosine similarity
         1  bob             0.8000
         2  -5              0.7071
         3  dörte           0.0000
         4  carl the 2nd   -1.0000
    ");
    insta::assert_snapshot!(output(&["neighbors", text(&path), "-5", "-k", "2", "--dot"]), @"
    nearest neighbours of node -5 by dot product
         1  bob    2.8000
         2  ann    2.0000
    ");
}

#[test]
fn wide_long_and_hostile_ids() {
    let long = "x".repeat(70);
    let content = format!("ann\t1\t0\n名前\t0.8\t0.6\nbob\t3\t4\n\u{1b}[2J\t0\t1\n{long}\t-1\t0\n");
    let (_folder, path) = vectors("people.tsv", &content);
    insta::assert_snapshot!(output(&["neighbors", text(&path), "ann"]), @r"
    nearest neighbours of node ann by cosine similarity
         1  名前         0.8000
         2  bob          0.6000
         3  \u{1b}[2J    0.0000
         4  xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx   -1.0000
    ");
    let message = failure(&["neighbors", text(&path), "\u{1b}[2J!"]);
    assert!(message.contains("no node '\\u{1b}[2J!'"), "{message}");
}

#[test]
fn json_output() {
    let (_folder, path) = vectors("people.tsv", PEOPLE);
    let found = output(&["neighbors", text(&path), "carl the 2nd", "-k", "3", "--json"]);
    insta::assert_snapshot!(found, @r#"{"node":"carl the 2nd","neighbors":[{"node":"dörte","similarity":0.0},{"node":"-5","similarity":-0.7071068},{"node":"bob","similarity":-0.8}]}"#);
    let found = output(&["neighbors", text(&path), "ann", "-k", "1", "--dot", "--json"]);
    insta::assert_snapshot!(found, @r#"{"node":"ann","neighbors":[{"node":"-5","similarity":2.0}]}"#);
}

#[test]
fn wrong_input() {
    let error = |name: &str, content: &str, node: &str| {
        let (folder, path) = vectors(name, content);
        let message = failure(&["neighbors", text(&path), node]);
        message.replace(&format!("{}/", text(folder.path())), "")
    };
    let messages = [
        error("people.tsv", PEOPLE, "eve"),
        error("people.csv", PEOPLE, "ann"),
        error("ragged.tsv", "ann\t1\t0\nbob\t1\n", "ann"),
        error("short.w2v", "3 2\nann 1 0\nbob 0 1\n", "ann"),
        error("nan.tsv", "ann\t1\t0\nbob\tNaN\t1\n", "ann"),
        error("empty.npy", "", "ann"),
        error("text.parquet", PEOPLE, "ann"),
        error("text.safetensors", PEOPLE, "ann"),
    ];
    insta::assert_snapshot!(messages.concat(), @"
    error: people.tsv: no node 'eve'; the first id is 'ann'
    error: people.csv:1: no value after the id; expected an id and its vector, separated by commas
    error: ragged.tsv:2: expected 2 values as in line 1, found 1
    error: short.w2v:1: the header says 3 vectors, found 2
    error: nan.tsv: the vector of node 'bob' (row 1) has NaN in dimension 0; training diverged: lower the learning rate
    error: empty.npy: cannot read: the file is truncated; download or write it again
    error: text.parquet: cannot read: Parquet error: the file does not end with the magic bytes PAR1; the file is truncated or not Parquet: download or write it again
    error: text.safetensors: cannot read: header too large; the file is truncated or not safetensors: write it again
    ");
    nearfar(&["neighbors", "no/such.npy", "ann"]).assert().code(1);
}
