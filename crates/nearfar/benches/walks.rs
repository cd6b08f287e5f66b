//! Walk steps per second, of first and second order, on a graph in cache and on one in main memory.
//!
//! Walks are taken as in training, by threads that share the start nodes, and written to memory. The
//! graphs are PubMed, if `NEARFAR_DATA` names the folder that holds
//! `pubmed`, with ten walks of 80 nodes from each node, and a uniform random graph of a million
//! nodes and ten million edges, with one. Run with `cargo bench -p nearfar --bench walks [-- GRAPH]`;
//! GRAPH is `pubmed` or `uniform`. Prints one line of JSON for every case: the median, the minimum
//! and the maximum of five runs.

#![allow(clippy::print_stdout, reason = "benchmarks report to standard output")]

use std::sync::Arc;
use std::time::Instant;

use nearfar::Budget;
use nearfar::graph::{EdgeList, Graph, Node, NodeIds, ReadOptions, read};
use nearfar::negative::{Demand, NegativeConfig, NegativePlan, Negatives};
use nearfar::positive::{Node2Vec, PositiveSource, Walk};
use nearfar::rng::{Purpose, Rng};
use nearfar::train::stream::sampling::{PairSources, Sampling};
use rayon::prelude::*;

const LENGTH: usize = 80;
const RUNS: usize = 5;

fn main() {
    let names: Vec<String> = std::env::args().skip(1).filter(|name| name != "--bench").collect();
    let selected = |name: &str| names.is_empty() || names.iter().any(|other| other == name);
    let folder = std::env::var("NEARFAR_DATA").unwrap_or_default();
    let dataset = read(&format!("{folder}/pubmed"), &ReadOptions::default());
    if let (true, Ok(dataset)) = (selected("pubmed"), dataset) {
        measure("pubmed", &Arc::new(dataset.graph), 10);
    }
    if selected("uniform") {
        measure("uniform", &Arc::new(uniform(1_000_000, 10_000_000)), 1);
    }
}

fn uniform(nodes: usize, edges: usize) -> Graph {
    let mut rng = Rng::new(0, Purpose::Edge, 0, 0);
    let mut end = || rng.below(nodes) as Node;
    let pairs = (0..edges).map(|_| (end(), end())).collect();
    let ids = NodeIds::Range { start: 0, len: nodes };
    EdgeList { pairs, weights: None, ids }.build().expect("edges between nodes").0
}

fn measure(name: &str, graph: &Arc<Graph>, walks: usize) {
    let config = NegativeConfig { negatives: Negatives::Uniform, ..Default::default() };
    let plan = NegativePlan::new(graph, &config, &Budget::default(), &Demand::default())
        .expect("a plan within the budget");
    let negatives = plan.build(graph).expect("uniform negatives");
    let node2vec = |p, q| {
        let start = Instant::now();
        let source = Node2Vec::new(graph, p, q).expect("p and q above 0");
        (source, start.elapsed().as_secs_f64())
    };
    for threads in [2, 1] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| {
            let case = |order: &str, setup: f64, positives: &dyn PositiveSource| {
                let sampling =
                    Sampling { walks, length: LENGTH, context: LENGTH, negatives: 0, ahead: 1, seed: 0 };
                // 64 blocks of start nodes are enough to balance the threads.
                let rows = graph.nodes().div_ceil(64);
                let sources =
                    PairSources { positives, negatives: &*negatives, nodes: graph.nodes(), rows };
                let mut rates: Vec<f64> = (0..RUNS).map(|run| rate(sources, sampling, run)).collect();
                rates.sort_by(f64::total_cmp);
                println!(
                    "{{\"graph\": \"{name}\", \"nodes\": {}, \"edges\": {}, \"order\": {order}, \
                     \"threads\": {threads}, \"steps_per_second\": {:.0}, \"range\": [{:.0}, {:.0}], \
                     \"setup_seconds\": {setup:.3}}}",
                    graph.nodes(), graph.edges(), rates[RUNS / 2], rates[0], rates[RUNS - 1],
                );
            };
            case("1", 0.0, &Walk::new(graph));
            for (p, q) in [(1.0, 4.0), (0.25, 4.0)] {
                let (source, setup) = node2vec(p, q);
                case(&format!("2, \"p\": {p}, \"q\": {q}"), setup, &source);
            }
        });
    }
}

/// Takes all walks of an epoch; returns the steps per second.
fn rate(sources: PairSources<'_>, sampling: Sampling, epoch: usize) -> f64 {
    let start = Instant::now();
    let blocks = sources.nodes.div_ceil(sources.rows);
    let steps = |block: usize| {
        let end = ((block + 1) * sources.rows).min(sources.nodes);
        let nodes = (block * sources.rows) as Node..end as Node;
        let mut written = Vec::with_capacity(nodes.len() * sampling.walks * sampling.length);
        sources.walks(sampling, epoch as u64, nodes, |_, walks| written.extend_from_slice(walks));
        std::hint::black_box(&written);
        written.len() / sampling.length * (sampling.length - 1)
    };
    let steps: usize = (0..blocks).into_par_iter().map(steps).sum();
    steps as f64 / start.elapsed().as_secs_f64()
}
