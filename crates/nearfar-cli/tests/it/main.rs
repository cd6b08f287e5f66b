//! Tests of the `nearfar` program.

#[path = "../../../nearfar/tests/it/chi_square.rs"]
mod chi_square;
mod commands;
mod datasets;
mod embed;
mod evaluate;
#[cfg(unix)]
mod faults;
mod help;
mod links;
mod measure;
mod memory;
#[path = "../../../nearfar/tests/it/naive.rs"]
mod naive;
mod neighbors;
#[cfg(unix)]
mod outputs;
mod paper;
mod reading;
mod report;
mod scoring;
mod show;
#[cfg(unix)]
mod signals;
mod update;
mod wrong_input;

use std::path::Path;

use assert_cmd::Command;

fn nearfar(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("nearfar").expect("the program is built");
    command.args(arguments);
    command
}

/// Standard output of a run that succeeds.
fn output(arguments: &[&str]) -> String {
    let run = nearfar(arguments).assert().success();
    String::from_utf8(run.get_output().stdout.clone()).expect("UTF-8")
}

/// Standard error of a run that succeeds.
fn messages(arguments: &[&str]) -> String {
    let run = nearfar(arguments).assert().success();
    String::from_utf8(run.get_output().stderr.clone()).expect("UTF-8")
}

/// Standard error of a run that fails because of its input, without the line that says what was
/// read, which contains a time.
fn failure(arguments: &[&str]) -> String {
    let run = nearfar(arguments).assert().code(1);
    assert_eq!(run.get_output().stdout, b"", "no result after an error");
    let stderr = String::from_utf8(run.get_output().stderr.clone()).expect("UTF-8");
    stderr.split_inclusive('\n').filter(|line| !line.starts_with("read ")).collect()
}

fn json(arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&output(arguments)).expect("one JSON object")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}
