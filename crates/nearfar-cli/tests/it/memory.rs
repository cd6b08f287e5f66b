//! The planned memory of `embed` against the memory that it takes.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::{nearfar, text};

/// A graph of the tests: a name of a built-in one, or edges.
enum Source {
    Builtin(&'static str),
    /// A file with this name and content.
    File(&'static str, &'static str),
    /// Every node has an edge to a random earlier one, and there are some more.
    Random(u32, u32),
    /// Edges between nodes at most so far apart in a row: a large diameter.
    Strip(u32, u32),
}

use Source::{Builtin, File, Random, Strip};

impl Source {
    /// The argument of `embed`, after writing a file if need be.
    fn write(&self, folder: &Path) -> String {
        let (name, nodes, reach, more) = match *self {
            Builtin(name) => return name.to_owned(),
            File(name, content) => {
                let path = folder.join(name);
                fs::write(&path, content).unwrap();
                return text(&path).to_owned();
            }
            Random(nodes, edges) => (format!("random-{nodes}"), nodes, nodes, edges - nodes),
            Strip(nodes, reach) => (format!("strip-{nodes}-{reach}"), nodes, reach, 2 * nodes),
        };
        let mut state = 1_u64;
        let mut below = |n: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) % u64::from(n)) as u32
        };
        let mut edges = String::new();
        for node in 1..nodes {
            let _ = writeln!(edges, "{node}\t{}", node - 1 - below(reach.min(node)));
        }
        for _ in 0..more {
            let node = 1 + below(nodes - 1);
            let _ = writeln!(edges, "{node}\t{}", node - 1 - below(reach.min(node)));
        }
        let path = folder.join(name + ".tsv");
        fs::write(&path, edges).unwrap();
        text(&path).to_owned()
    }
}

/// Graphs × trainers × laws × dimensions × models, chosen so that each part of a plan is the largest
/// one somewhere.
const CASES: &[(Source, &str)] = &[
    (Builtin("builtin:karate"), "--epochs 2"),
    (File("three.csv", "ann,bob\nbob,eve\neve,ann\n"), "--epochs 1"),
    (
        File("three.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 1\n"),
        "--epochs 1",
    ),
    (Builtin("builtin:karate"), "--epochs 1 --walks 100000"),
    (Builtin("builtin:dense"), "--epochs 2 --negatives uniform"),
    (Builtin("builtin:dense"), "--epochs 2 --negatives distance"),
    (Builtin("builtin:dense"), "--epochs 2 --negatives distance --dim 512"),
    (Builtin("builtin:dense"), "--epochs 1 --negatives landmark-approx --walk-length 20"),
    (Builtin("builtin:dense"), "--epochs 1 --trainer exact --negatives uniform"),
    (Builtin("builtin:dense"), "--epochs 1 --trainer exact --negatives distance --dim 32"),
    (Builtin("builtin:dense"), "--epochs 1 --trainer batch --walks 1 --negatives distance"),
    (Builtin("builtin:sparse"), "--epochs 1 --protocol paper --walks 5"),
    (Builtin("builtin:sparse"), "--epochs 1 --model gae"),
    (Builtin("builtin:sparse"), "--epochs 1 --model vgae"),
    (Builtin("builtin:sparse"), "--epochs 1 --model sage --dim 64"),
    (Random(10_000, 30_000), "--epochs 2 --negatives distance"),
    (Random(10_000, 30_000), "--epochs 2 --negatives landmark"),
    (Random(10_000, 30_000), "--epochs 1 --negatives edge --dim 16"),
    (Random(10_000, 30_000), "--epochs 1 --negatives distance --model line"),
    (Random(10_000, 30_000), "--epochs 1 --negatives distance --walk-length 20 --walks 2"),
    (Random(10_000, 30_000), "--epochs 1 --negatives distance --strategy levels --walks 1"),
    (Random(10_000, 30_000), "--epochs 1 --model node2vec --q 4 --negatives degree"),
    (Random(10_000, 30_000), "--epochs 1 --order 2 --negatives uniform --dim 256"),
    (Random(10_000, 30_000), "--epochs 1 --trainer batch --walks 1 --negatives landmark-approx"),
    (Strip(6000, 40), "--epochs 2 --negatives distance"),
    (Strip(6000, 40), "--epochs 1 --negatives landmark-approx --landmarks 0.5"),
    (Strip(6000, 40), "--epochs 1 --trainer exact --negatives distance"),
    (Random(200_000, 400_000), "--epochs 1 --walks 1 --negatives landmark-approx --dim 32"),
    (Random(200_000, 400_000), "--epochs 1 --walks 1 --negatives uniform --dim 4"),
    (
        Random(530_000, 1_000_000),
        "--epochs 1 --walks 1 --negatives uniform --start random --max-memory 330MB --scratch .",
    ),
];

/// The planned and the peak memory in the log of a run.
fn planned_and_peak(log: &Path) -> (f64, f64) {
    let log = fs::read_to_string(log).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<serde_json::Value> = lines.collect();
    let (first, last) = (&lines[0], &lines[lines.len() - 1]);
    assert_eq!((&first["event"], &last["event"]), (&"started".into(), &"finished".into()));
    (first["memory"].as_f64().unwrap(), last["peak_memory"].as_f64().unwrap())
}

/// A plan is never below the memory that is taken, nor far above it. Prints a row for each case:
/// `cargo test -p nearfar-cli --test it memory -- --nocapture`.
#[cfg(target_os = "linux")]
#[test]
#[expect(clippy::print_stdout, reason = "the table is copied to docs/performance.md")]
fn plans_are_between_once_and_one_and_a_half_times_the_peak() {
    let folder = tempfile::tempdir().unwrap();
    let [vectors, log] = ["vectors.npy", "log.jsonl"].map(|name| folder.path().join(name));
    let mut wrong = Vec::new();
    println!("| graph | options | planned MB | peak MB | planned / peak |\n|---|---|---|---|---|");
    for (source, options) in CASES {
        let graph = source.write(folder.path());
        let mut arguments = vec!["embed", &graph, "-q", "-o", text(&vectors), "--log", text(&log)];
        arguments.extend(options.split(' '));
        nearfar(&arguments).assert().success();
        let (planned, peak) = planned_and_peak(&log);
        let ratio = planned / peak;
        let name = graph.rsplit('/').next().unwrap();
        let (planned, peak) = (planned / 1e6, peak / 1e6);
        let row = format!("| {name} | `{options}` | {planned:.1} | {peak:.1} | {ratio:.2} |");
        println!("{row}");
        if !(1.0..=1.4).contains(&ratio) {
            wrong.push(row);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_plan_beyond_the_limit_is_refused_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let vectors = folder.path().join("v.npy");
    let refused = |options: &str| {
        let mut arguments = vec!["embed", "builtin:karate", "-q", "-o", text(&vectors)];
        arguments.extend(options.split(' '));
        crate::failure(&arguments)
    };
    let message = refused("--max-memory 10kB");
    assert!(message.ends_with("lower --walks, --dim or raise --max-memory\n"), "{message}");
    let message = refused("--walks 18446744073709551615");
    assert!(
        message.contains("--walks 18446744073709551615: expected 1 to 1000000000"),
        "{message}"
    );
    // No product wraps around to a plan that fits.
    let message = refused("--trainer batch --walks 1000000000");
    assert!(message.contains("too many; lower --batch, --walks or --k"), "{message}");
    // What is not drawn ahead is not counted: there is room for the table of 34 × 34 distances.
    let mut run = nearfar(&[
        "embed",
        "builtin:karate",
        "-o",
        text(&vectors),
        "--walks",
        "20000",
        "--epochs",
        "1",
        "--dim",
        "8",
    ]);
    let run = run.assert().success();
    let messages = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert!(messages.contains("negatives: distance (exact hop table,"), "{messages}");
}
