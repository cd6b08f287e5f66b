//! What stands where a result is to be written: named before any work, and never lost.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use crate::{failure, nearfar, output, text};

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The graph does not exist: that another error comes first shows that nothing was read.
#[test]
fn only_regular_files_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    assert!(Command::new("mkfifo").arg(path("fifo.npy")).status().unwrap().success());
    let _socket = UnixListener::bind(path("socket.npy")).unwrap();
    fs::create_dir(path("folder.npy")).unwrap();
    fs::create_dir(path("ids.nodes.tsv")).unwrap();
    symlink("nowhere", path("broken.npy")).unwrap();
    let before = names(folder.path());
    let mut messages = String::new();
    for name in ["fifo.npy", "socket.npy", "folder.npy", "ids.npy", "broken.npy", "no/x.npy"] {
        messages += &failure(&["embed", "no-graph.tsv", "-o", text(&path(name))]);
    }
    for name in ["/dev/null", "/dev/stdout", "-"] {
        messages += &failure(&["embed", "no-graph.tsv", "--format", "tsv", "-o", name]);
        messages += &failure(&["report", "no-vectors.npy", "-o", name]);
    }
    fs::create_dir_all(path("dataset/labels.tsv")).unwrap();
    messages += &failure(&["synth", "sparse", "-o", text(&path("dataset"))]);
    insta::assert_snapshot!(messages.replace(text(folder.path()), "FOLDER"), @"
    error: FOLDER/fifo.npy: cannot write: this is a named pipe; only regular files are replaced: give another name
    error: FOLDER/socket.npy: cannot write: this is a socket; only regular files are replaced: give another name
    error: FOLDER/folder.npy: cannot write: this is a folder; add a file name
    error: FOLDER/ids.nodes.tsv: cannot write: this is a folder; add a file name
    error: FOLDER/broken.npy: cannot write: a symbolic link to a file that does not exist; remove the link
    error: FOLDER/no/x.npy: cannot write: folder FOLDER/no does not exist; create it or choose another
    error: /dev/null: cannot write: this is a device; only regular files are replaced: give another name
    error: /dev/null: cannot write: this is a device; only regular files are replaced: give another name
    error: /dev/stdout: cannot write: this is a named pipe; only regular files are replaced: give another name
    error: /dev/stdout: cannot write: this is a named pipe; only regular files are replaced: give another name
    error: -: cannot write: standard output is no file that can be replaced; give the name of a file
    error: -: cannot write: standard output is no file that can be replaced; give the name of a file
    error: FOLDER/dataset/labels.tsv: cannot write: this is a folder; add a file name
    ");
    assert_eq!(names(&path("dataset")), ["labels.tsv"]);
    fs::remove_dir_all(path("dataset")).unwrap();
    assert_eq!(names(folder.path()), before);
}

#[test]
fn inputs_are_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("graph.tsv"), "a\tb\nb\tc\n").unwrap();
    fs::write(path("x.nodes.tsv"), "a\nb\nc\nd\n").unwrap();
    fs::write(path("settings.txt"), "dim = 4\n").unwrap();
    fs::hard_link(path("graph.tsv"), path("hard.tsv")).unwrap();
    symlink("graph.tsv", path("soft.tsv")).unwrap();
    nearfar(&["synth", "sparse", "-q", "-o", text(&path("data"))]).assert().success();
    let state = |folder: &Path| -> Vec<Vec<u8>> {
        names(folder).iter().filter_map(|name| fs::read(folder.join(name)).ok()).collect()
    };
    let before = (names(folder.path()), state(folder.path()), state(&path("data")));
    let run = |arguments: &[&str]| {
        let file = |word: &&str| match word.strip_prefix('@') {
            Some(name) => text(&path(name)).to_owned(),
            None => (*word).to_owned(),
        };
        let arguments: Vec<String> = arguments.iter().map(file).collect();
        failure(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let messages = [
        run(&["embed", "@graph.tsv", "-o", "@graph.tsv"]),
        run(&["embed", "@graph.tsv", "-o", "@hard.tsv"]),
        run(&["embed", "@soft.tsv", "-o", "@graph.tsv"]),
        run(&["embed", "@graph.tsv", "-o", "@soft.tsv"]),
        run(&["embed", "@graph.tsv", "--nodes", "@x.nodes.tsv", "-o", "@x.npy"]),
        run(&["embed", "@graph.tsv", "--config", "@settings.txt", "-o", "@settings.txt"]),
        run(&["embed", "@graph.tsv", "-o", "@x.npy", "--log", "@graph.tsv"]),
        run(&["embed", "@graph.tsv", "-o", "@y.npy", "--report", "@y.npy"]),
        run(&["embed", "@data", "-o", "@data/labels.tsv"]),
        run(&["outliers", "@data", "--count", "3", "-o", "@data"]),
    ];
    let messages = messages.concat().replace(text(folder.path()), "FOLDER");
    insta::assert_snapshot!(messages, @"
    error: FOLDER/graph.tsv: cannot write: FOLDER/graph.tsv is the same file, and the run needs it; give another name
    error: FOLDER/hard.tsv: cannot write: FOLDER/graph.tsv is the same file, and the run needs it; give another name
    error: FOLDER/graph.tsv: cannot write: FOLDER/soft.tsv is the same file, and the run needs it; give another name
    error: FOLDER/soft.tsv: cannot write: FOLDER/graph.tsv is the same file, and the run needs it; give another name
    error: FOLDER/x.nodes.tsv: cannot write: FOLDER/x.nodes.tsv is the same file, and the run needs it; give another name
    error: FOLDER/settings.txt: cannot write: FOLDER/settings.txt is the same file, and the run needs it; give another name
    error: FOLDER/graph.tsv: cannot write: FOLDER/graph.tsv is the same file, and the run needs it; give another name
    error: FOLDER/y.npy: cannot write: FOLDER/y.npy is the same file, and the run needs it; give another name
    error: FOLDER/data/labels.tsv: cannot write: FOLDER/data/labels.tsv is the same file, and the run needs it; give another name
    error: FOLDER/data/edges.tsv: cannot write: FOLDER/data/edges.tsv is the same file, and the run needs it; give another name
    ");
    assert!((names(folder.path()), state(folder.path()), state(&path("data"))) == before);
}

#[test]
fn no_output_replaces_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| text(&folder.path().join(name)).to_owned();
    let order = ["--order", "2", "--smoothing", "0"];
    let run = |options: &[&str], option: &str, file: &str| {
        let given = [option, &path(file), "-o", &path("x.npy")].map(str::to_owned);
        let arguments: Vec<&str> = given.iter().map(String::as_str).collect();
        failure(&[&["embed", "no-graph.tsv"], options, &arguments[..]].concat())
    };
    let messages = [
        run(&[], "--log", "x.nodes.tsv"),
        run(&[], "--report", "./x.npy"),
        run(&["--log", &path("log")], "--report", "log"),
        run(&order, "--contexts", "./x.npy"),
        run(&order, "--contexts", "x.nodes.tsv"),
        run(&["--features", "f.csv"], "--save-model", "x.nodes.tsv"),
        run(&["--features", "f.csv"], "--save-model", "no/model"),
        run(&["--checkpoint", &path("")], "--log", "checkpoint.safetensors"),
    ];
    insta::assert_snapshot!(messages.concat().replace(text(folder.path()), "FOLDER"), @"
    error: FOLDER/x.nodes.tsv: cannot write: FOLDER/x.nodes.tsv is the same file, and the run needs it; give another name
    error: FOLDER/./x.npy: cannot write: FOLDER/x.npy is the same file, and the run needs it; give another name
    error: FOLDER/log: cannot write: FOLDER/log is the same file, and the run needs it; give another name
    error: FOLDER/./x.npy: cannot write: FOLDER/x.npy is the same file, and the run needs it; give another name
    error: FOLDER/x.nodes.tsv: cannot write: FOLDER/x.nodes.tsv is the same file, and the run needs it; give another name
    error: FOLDER/x.nodes.tsv: cannot write: FOLDER/x.nodes.tsv is the same file, and the run needs it; give another name
    error: FOLDER/no/model: cannot write: folder FOLDER/no does not exist; create it or choose another
    error: FOLDER/checkpoint.safetensors: cannot write: FOLDER/checkpoint.safetensors is the same file, and the run needs it; give another name
    ");
    assert!(names(folder.path()).is_empty());
}

#[test]
fn a_link_to_a_file_is_written_through() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("elsewhere")).unwrap();
    fs::write(path("elsewhere/real.parquet"), "old").unwrap();
    symlink("elsewhere/real.parquet", path("x.parquet")).unwrap();
    let target = path("x.parquet");
    nearfar(&["embed", "builtin:karate", "-q", "--dim", "4", "-o", text(&target)])
        .assert()
        .success();
    assert!(path("x.parquet").is_symlink());
    let real = path("elsewhere/real.parquet");
    assert!(
        output(&["neighbors", text(&real), "33"]) == output(&["neighbors", text(&target), "33"])
    );
    assert_eq!(names(&path("elsewhere")), ["real.parquet"]);
}

/// A dataset without splits does not keep those of the one that it replaces.
#[test]
fn a_replaced_dataset_keeps_nothing_of_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let [old, new] = ["old", "new"].map(|name| folder.path().join(name));
    for folder in [&old, &new] {
        nearfar(&["synth", "sparse", "-q", "-o", text(folder)]).assert().success();
    }
    fs::remove_file(old.join("splits.tsv")).unwrap();
    let outliers = ["outliers", text(&old), "-q", "--count", "2", "-o", text(&new)];
    nearfar(&outliers).assert().success();
    assert_eq!(names(&new), ["edges.tsv", "labels.tsv", "nodes.tsv"]);
}

#[test]
fn a_resumed_run_continues_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let run = |more: &[&str]| {
        let state = path("state");
        let (vectors, log) = (path("x.npy"), path("log.jsonl"));
        let common = ["embed", "builtin:karate", "-q", "--epochs", "3", "--dim", "4"];
        let files = ["-o", text(&vectors), "--log", text(&log), "--checkpoint", text(&state)];
        nearfar(&[&common[..], &files, more].concat()).assert().success();
        fs::read_to_string(log).unwrap()
    };
    let first = run(&[]);
    fs::write(path("log.jsonl"), format!("{first}{{\"event\":\"epo")).unwrap();
    let both = run(&["--resume"]);
    let second = both.strip_prefix(&first).expect("the first log is kept");
    let events: Vec<serde_json::Value> =
        second.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["started", "resumed", "times", "finished"]);
    assert_eq!(events[1]["epoch"], 3);
}
