//! Ctrl-C and SIGTERM in every command: the program ends, and leaves nothing half done.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::{nearfar, text};

/// Starts the program.
fn start(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_nearfar"))
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Sends a signal to a program; returns its exit code.
fn end(mut child: Child, signal: &str) -> Option<i32> {
    let kill = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    child.wait().unwrap().code()
}

/// A graph on which every command takes many seconds, and vectors of its nodes.
fn large(folder: &Path) -> (PathBuf, PathBuf) {
    const NODES: u32 = 60_000;
    let (graph, vectors) = (folder.join("graph.tsv"), folder.join("vectors.tsv"));
    let edges = |node: u32| format!("{node}\t{}\n{node}\t{}\n", node * 7 / 8, node - 1);
    fs::write(&graph, (1..NODES).map(edges).collect::<String>()).unwrap();
    let digits = |node: u32| (1..9).map(move |at| node.wrapping_mul(at * 40_503) % 1000);
    let row = |node: u32| {
        let values: Vec<String> = digits(node).map(|it| format!("\t0.{it:03}")).collect();
        format!("{node}{}\n", values.concat())
    };
    fs::write(&vectors, (0..NODES).map(row).collect::<String>()).unwrap();
    (graph, vectors)
}

#[test]
fn every_command_ends_at_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, vectors) = large(folder.path());
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let (graph, vectors) = (text(&graph), text(&vectors));
    let (page, npy, data) = (out.join("page.html"), out.join("x.npy"), out.join("data"));
    let embed = ["embed", graph, "--epochs", "100000", "-o", text(&npy)];
    let commands: [&[&str]; 8] = [
        &embed,
        &[&embed[..], &["--negatives", "distance", "--max-memory", "100GB"]].concat(),
        &[&embed[..], &["--trainer", "batch"]].concat(),
        &["stats", graph, "--sources", "all"],
        &["measure", vectors, graph, "--sources", "60000"],
        &["links", graph, "--epochs", "100000"],
        &["report", vectors, "--graph", graph, "--points", "60000", "-o", text(&page)],
        &["synth", "--exponent", "2.1", "--nodes", "3000000", "-o", text(&data)],
    ];
    for command in commands {
        for (signal, code, wait) in [("-INT", 130, 100), ("-TERM", 143, 1000)] {
            let child = start(command);
            std::thread::sleep(Duration::from_millis(wait));
            assert_eq!(end(child, signal), Some(code), "{signal} after {wait} ms: {command:?}");
            assert_eq!(fs::read_dir(&out).unwrap().count(), 0, "{command:?}");
        }
    }
}

#[test]
fn a_run_that_was_told_to_end_is_resumed_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let options = ["embed", "builtin:moderate", "-q", "--epochs", "60", "--dim", "64"];
    let whole = path("whole.npy");
    nearfar(&[&options[..], &["-o", text(&whole)]].concat()).assert().success();
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let (state, broken) = (path(&format!("state{signal}")), path("broken.npy"));
        let run = [&options[..], &["-o", text(&broken), "--checkpoint", text(&state)]].concat();
        let child = start(&run);
        let checkpoint = state.join("checkpoint.safetensors");
        while !checkpoint.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(end(child, signal), Some(code));
        assert_eq!(fs::read_dir(&state).unwrap().count(), 1, "only the checkpoint");
        assert!(!broken.exists());
        nearfar(&[&run[..], &["--resume"]].concat()).assert().success();
        assert!(fs::read(&broken).unwrap() == fs::read(&whole).unwrap());
        fs::remove_file(&broken).unwrap();
    }
}
