//! Large graphs: reading ten million edges, and building landmark samplers on them.
//!
//! Writes a power-law graph of a million nodes to a temporary folder, with integer and with
//! string ids, and reports the edges read per second, the peak memory of the process, and the time
//! to build the landmark samplers. Every measurement runs in a process of its own, so that its peak
//! memory is its own. Run with `cargo bench -p nearfar --bench large`.

#![allow(clippy::print_stdout, reason = "benchmarks report to standard output")]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use nearfar::Budget;
use nearfar::graph::{ReadOptions, read};
use nearfar::negative::{Demand, LandmarkCount, NegativeConfig, NegativePlan, Negatives};
use nearfar::rng::{Purpose, Rng};

const NODES: usize = 1_000_000;
const EDGES: usize = 10_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, task, file] = &arguments[..] {
        return measure(task, file);
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let integers = folder.path().join("integers.tsv");
    let strings = folder.path().join("strings.tsv");
    write(&integers, |id| format!("{id}"));
    write(&strings, |id| format!("user-{:x}", id.wrapping_mul(2_654_435_761) % 1_000_000_007));
    let program = std::env::current_exe().expect("the path of this program");
    for (task, file) in [
        ("read", &integers),
        ("read", &strings),
        ("landmark", &integers),
        ("landmark-approx", &integers),
    ] {
        for _ in 0..3 {
            let status = Command::new(&program).arg(task).arg(file).status();
            assert!(status.is_ok_and(|status| status.success()), "{task} failed");
        }
    }
}

fn measure(task: &str, file: &str) {
    let start = Instant::now();
    let graph = Arc::new(read(file, &ReadOptions::default()).expect("a valid edge list").graph);
    let reading = start.elapsed().as_secs_f64();
    let name = Path::new(file).file_stem().unwrap_or_default().to_string_lossy();
    if task == "read" {
        let (rate, peak) = (EDGES as f64 / reading / 1e6, peak_bytes() as f64);
        println!(
            "read {name}: {reading:.3} s, {rate:.2} M edges/s, peak {:.0} bytes per edge",
            peak / EDGES as f64
        );
        return;
    }
    let config = NegativeConfig {
        negatives: if task == "landmark" { Negatives::Landmark } else { Negatives::LandmarkApprox },
        landmarks: Some(LandmarkCount::Count(1000)),
        ..Default::default()
    };
    let start = Instant::now();
    let plan = NegativePlan::new(&graph, &config, &Budget::default(), &Demand::default())
        .expect("a plan within the budget");
    let sampler = plan.build(&graph).expect("a sampler");
    let building = start.elapsed().as_secs_f64();
    let mut negatives = vec![0; 1000];
    let start = Instant::now();
    for centre in 0..1000 {
        sampler.fill(centre, &mut Rng::new(0, Purpose::Negative, 0, 0), &mut negatives);
    }
    let rate = 1.0 / start.elapsed().as_secs_f64();
    println!(
        "build {task}, 1000 landmarks, {} nodes, {} edges: {building:.1} s, peak {:.2} GB; {rate:.0} \
         M draws/s",
        graph.nodes(),
        graph.edges(),
        peak_bytes() as f64 / 1e9,
    );
}

/// Writes random edges with power-law degrees: one end is node ⌊n u²⌋ for a uniform u.
fn write(path: &Path, id: impl Fn(usize) -> String) {
    let mut rng = Rng::new(0, Purpose::Edge, 0, 0);
    let mut out = BufWriter::new(File::create(path).expect("a file"));
    for edge in 0..EDGES {
        // The other end runs over all nodes, so that none is missing.
        let a = edge % NODES;
        let b = ((rng.unit().powi(2) * NODES as f64) as usize).min(NODES - 1);
        let (a, b) = if a == b { (a, (a + 1) % NODES) } else { (a, b) };
        writeln!(out, "{}\t{}", id(a), id(b)).expect("disk space");
    }
}

/// The peak resident memory of this process, from `/proc`; 0 where there is none.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
