//! All-pairs distances: seconds to build a hop table, and to count the distances.
//!
//! The graph is PubMed if `NEARFAR_DATA` names the folder that holds `pubmed`, else a synthetic
//! one of the same size. Run with `cargo bench -p nearfar --bench distances`. Prints one line of JSON.

#![allow(clippy::print_stdout, reason = "benchmarks report to standard output")]

use std::time::Instant;

use nearfar::distance::{DistanceHistogram, HopTable};
use nearfar::graph::{Preset, ReadOptions, SynthConfig, read, synth};

fn main() {
    let folder = std::env::var("NEARFAR_DATA").unwrap_or_default();
    let config = SynthConfig { nodes: 20_000, ..SynthConfig::preset(Preset::Moderate) };
    let graph = read(&format!("{folder}/pubmed"), &ReadOptions::default())
        .or_else(|_| synth(&config))
        .expect("a valid preset")
        .graph;
    let start = Instant::now();
    let table = HopTable::new(&graph).expect("distances of at most 65 535 hops");
    let table_seconds = start.elapsed().as_secs_f64();
    let row: u32 = (0..graph.nodes() as u32).filter_map(|node| table.hops(0, node)).sum();
    let start = Instant::now();
    let histogram = DistanceHistogram::exact(&graph);
    let count_seconds = start.elapsed().as_secs_f64();
    println!(
        "{{\"nodes\": {}, \"table_seconds\": {table_seconds:.3}, \"count_seconds\": \
         {count_seconds:.3}, \"first_row\": {row}, \"largest\": {}}}",
        graph.nodes(),
        histogram.largest(),
    );
}
