//! `nearfar paper`, on a small graph with the name of one of the paper's.

use std::fs;
use std::path::Path;

use crate::{failure, nearfar, text};

/// Writes a small sparse graph with the name of one of the paper's.
fn data(folder: &Path) {
    let graph = folder.join("synthetic-sparse");
    let arguments = ["synth", "sparse", "--nodes", "150", "-q", "-o", text(&graph)];
    nearfar(&arguments).assert().success();
}

/// Standard error of an experiment.
fn run(experiment: &str, folder: &Path, options: &[&str]) -> String {
    let (data, out) = (folder.join("data"), folder.join("out"));
    let base = ["paper", experiment, "--quick", "--data", text(&data), "-o", text(&out)];
    let run = nearfar(&[&base[..], options].concat()).assert().success();
    String::from_utf8(run.get_output().stderr.clone()).unwrap()
}

#[test]
fn an_experiment_writes_a_page_data_and_a_figure() {
    let folder = tempfile::tempdir().unwrap();
    data(&folder.path().join("data"));
    let messages = run("ablation", folder.path(), &[]);
    assert!(messages.contains("not selected: synthetic-moderate, synthetic-dense"), "{messages}");
    let read = |file: &str| fs::read_to_string(folder.path().join("out").join(file)).unwrap();
    let page = read("ablation.md");
    assert!(page.contains("![Bounded distances](ablation.svg)"), "{page}");
    assert!(page.contains("left out: synthetic-moderate, synthetic-dense."), "{page}");
    // A header, and four samplers at two contexts.
    assert_eq!(read("ablation.csv").lines().count(), 1 + 4 * 2);
    let json: serde_json::Value = serde_json::from_str(&read("ablation.json")).unwrap();
    assert_eq!(json["rows"].as_array().unwrap().len(), 8);
    assert!(read("ablation.svg").contains("DeepWalk distance-max"));
    assert!(folder.path().join("out/ablation.png").exists());
}

#[test]
fn finished_runs_are_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    data(&folder.path().join("data"));
    let first = run("similarity", folder.path(), &[]);
    assert!(first.contains("[2/2] synthetic-sparse, DeepWalk"), "{first}");
    let runs = folder.path().join("out/quick-runs.jsonl");
    let whole = fs::read_to_string(&runs).unwrap();
    let page = || fs::read_to_string(folder.path().join("out/similarity.csv")).unwrap();
    let before = page();
    assert!(!run("similarity", folder.path(), &[]).contains("[1/"), "all runs are finished");
    // A process killed while writing leaves an incomplete line, whose run is repeated.
    fs::write(&runs, &whole[..whole.len() - 20]).unwrap();
    let messages = run("similarity", folder.path(), &[]);
    assert!(messages.contains("[1/1] synthetic-sparse"), "{messages}");
    assert_eq!(page(), before);
    assert_eq!(fs::read_to_string(&runs).unwrap().lines().count(), 2);
}

#[test]
fn only_selected_graphs_are_run() {
    let folder = tempfile::tempdir().unwrap();
    data(&folder.path().join("data"));
    let selected = ["--graphs", "synthetic-sparse,synthetic-dense"];
    let messages = run("ablation", folder.path(), &selected);
    assert!(messages.contains("not selected: synthetic-moderate, synthetic-dense"), "{messages}");
}

#[test]
fn a_folder_without_graphs_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    data(&folder.path().join("data"));
    let [data, empty, missing, out] =
        ["data", "empty", "missing", "out"].map(|name| folder.path().join(name));
    fs::create_dir(&empty).unwrap();
    for (data, options, expected) in [
        (&empty, &[][..], "none of the graphs is there; expected folders with edges.tsv: "),
        (&missing, &[], "no such folder"),
        (&data, &["--graphs", "cora"], "none of the graphs is there and selected by --graphs"),
    ] {
        let base = ["paper", "ablation", "--data", text(data), "-o", text(&out)];
        let message = failure(&[&base[..], options].concat());
        assert!(message.contains(expected), "{message}");
        assert!(!out.exists());
    }
}
