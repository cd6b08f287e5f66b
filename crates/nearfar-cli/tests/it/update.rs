//! `nearfar update`, and `embed --init`.

use std::fs;
use std::path::Path;

use nearfar::graph::ReadOptions;

use crate::{failure, json, messages, nearfar, text};

/// Karate without node 33, karate, and vectors of the former.
fn prepared(folder: &Path, vectors: &str) -> [String; 3] {
    let graph = nearfar::graph::read("builtin:karate", &ReadOptions::default()).unwrap().graph;
    let edges: Vec<(u32, u32)> = graph.edges_once().map(|(a, b, _)| (a, b)).collect();
    let lines = |edges: &mut dyn Iterator<Item = &(u32, u32)>| {
        edges.map(|(a, b)| format!("{a}\t{b}\n")).collect::<Vec<_>>().concat()
    };
    let path = |name: &str| text(&folder.join(name)).to_owned();
    let [old, new, vectors] = [path("old.tsv"), path("new.tsv"), path(vectors)];
    fs::write(&old, lines(&mut edges.iter().filter(|(_, b)| *b != 33))).unwrap();
    fs::write(&new, lines(&mut edges.iter())).unwrap();
    let options = ["--dim", "16", "--context", "4", "-q"];
    nearfar(&[&["embed", &old, "-o", &vectors], &options[..]].concat()).assert().success();
    [old, new, vectors]
}

#[test]
fn new_nodes_get_vectors_and_others_keep_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let [_, new, vectors] = prepared(folder.path(), "v.parquet");
    let out = folder.path().join("new.parquet");
    let run = json(&["update", &vectors, "--graph", &new, "-o", text(&out), "--json", "-q"]);
    let degree = 17;
    let nodes = run["nodes"].as_u64().unwrap();
    assert_eq!((nodes, &run["updated"]["new"]), (34, &1.into()));
    assert_eq!(run["updated"]["moved"], degree);
    assert_eq!(run["updated"]["kept"], 34 - 1 - degree);
    // The settings are those of the record.
    assert_eq!(run["plan"]["context"], 4);
    assert_eq!(run["plan"]["updated"], run["updated"]);
    let found = json(&["neighbors", text(&out), "33", "--json"]);
    assert_eq!(found["neighbors"].as_array().unwrap().len(), 10);
}

#[test]
fn an_unchanged_graph_gives_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let [old, _, vectors] = prepared(folder.path(), "v.npy");
    let out = folder.path().join("same.npy");
    let arguments = ["update", &vectors, "--graph", &old, "-o", text(&out), "--old-graph", &old];
    let said = messages(&arguments);
    assert!(said.contains("0 new, 0 removed, 0 moved, 33 as before"), "{said}");
    assert!(fs::read(&vectors).unwrap() == fs::read(&out).unwrap());
}

#[test]
fn wrong_input_is_an_error_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let [_, new, vectors] = prepared(folder.path(), "v.npy");
    let out = text(&folder.path().join("out.npy")).to_owned();
    let update = |more: &[&str]| {
        failure(&[&["update", &vectors, "--graph", &new, "-o", &out, "-q"], more].concat())
    };
    let said = update(&["--dim", "64"]);
    assert!(
        said.contains("--dim 64: the given vectors have 16 dimensions; use --dim 16"),
        "{said}"
    );
    let said = update(&["--order", "2"]);
    assert!(said.contains("context vectors"), "{said}");
    let said = failure(&["update", &vectors, "--graph", &new, "-o", &vectors, "-q"]);
    assert!(said.contains("v.npy"), "an input is not replaced: {said}");
    fs::write(folder.path().join("other.tsv"), "x y\ny z\n").unwrap();
    let other = text(&folder.path().join("other.tsv")).to_owned();
    let said = failure(&["update", &vectors, "--graph", &other, "-o", &out, "-q"]);
    assert!(said.contains("no node of the graph has a given vector"), "{said}");
}

#[test]
fn training_starts_from_given_vectors_and_checkpoints_know_them() {
    let folder = tempfile::tempdir().unwrap();
    let [_, new, vectors] = prepared(folder.path(), "v.npy");
    let path = |name: &str| text(&folder.path().join(name)).to_owned();
    let [out, log, checkpoint] = ["out.npy", "log.jsonl", "checkpoint"].map(path);
    let base = ["embed", &new, "-o", &out, "--dim", "16", "--epochs", "2", "-q"];
    let init = ["--init", &vectors, "--checkpoint", &checkpoint];
    nearfar(&[&base[..], &init, &["--log", &log]].concat()).assert().success();
    let first = fs::read_to_string(&log).unwrap();
    let first: serde_json::Value = serde_json::from_str(first.lines().next().unwrap()).unwrap();
    assert!(first["settings"]["init"].is_string(), "{first}");
    let resume = ["--checkpoint", &checkpoint, "--resume"];
    let said = failure(&[&base[..], &resume].concat());
    assert!(said.contains("the checkpoint has init "), "{said}");
    nearfar(&[&base[..], &resume, &["--init", &vectors]].concat()).assert().success();
    let said = failure(&["embed", &new, "-o", &out, "-q", "--init", &vectors]);
    assert!(said.contains("--dim 128: the given vectors have 16 dimensions"), "{said}");
}
