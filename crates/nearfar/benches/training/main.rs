//! Speed of the stream trainer, compared with bare arithmetic, Hogwild and the machine's limits.
//!
//! For graphs of several sizes, samplers and numbers of threads: pairs per second with and without
//! sampling, and in the same run, on a table of the same size:
//!
//! - *bare*: only the arithmetic of the same number of pairs, on random rows, every thread in its
//!   own part of the table ([`bare`]);
//! - *Hogwild*: the same sampling, trained immediately by threads that share one table without
//!   locks, as is usual (`bare::racing`);
//! - the limits of memory bandwidth and arithmetic (`bare::ceilings`).
//!
//! Run with `cargo bench -p nearfar --bench training [-- SIZE|SAMPLER ...]`; without arguments,
//! everything is run. Values are medians of five interleaved runs, with minimum and maximum.

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

mod bare;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bare::Ceilings;
use nearfar::Budget;
use nearfar::graph::{EdgeList, Graph, NodeIds};
use nearfar::negative::{
    Demand, LandmarkCount, NegativeConfig, NegativePlan, NegativeSampler, Negatives,
};
use nearfar::positive::{PositiveSource, Walk};
use nearfar::rng::{Purpose, Rng};
use nearfar::simd::InstructionSet;
use nearfar::train::stream::blocks::Blocks;
use nearfar::train::stream::kernel::Step;
use nearfar::train::stream::sampling::{EpochPairs, PairSources, Sampling};
use nearfar::train::stream::{self, Tables};

const DIM: usize = 128;
const SIZES: [&str; 3] = ["2500", "20000", "1000000"];
const RUNS: usize = 5;
/// Operations of one pair: a dot product and two updates, each a multiplication and an addition per
/// dimension.
const FLOPS: f64 = 6.0 * DIM as f64;
/// Memory traffic of one pair if the row of its other node is read from and written to memory, and
/// its centre stays in registers. Rows that are used again while they are in a cache reduce it.
const BYTES: f64 = 2.0 * 4.0 * DIM as f64;
const STEP: Step = Step { positive: 0.01, negative: 0.01, shrink: 0.999 };

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    // Without an argument of this kind, all are selected.
    let selected = |name: &str, all: &[&str]| {
        arguments.iter().any(|argument| argument == name)
            || !arguments.iter().any(|argument| all.contains(&argument.as_str()))
    };
    let ceilings = bare::ceilings();
    println!(
        "two threads: {:.1} GB/s memory bandwidth, {:.0} GFlop/s; instruction set {}",
        ceilings.memory / 1e9,
        ceilings.arithmetic / 1e9,
        InstructionSet::detect().name()
    );
    for size in SIZES {
        let nodes = size.parse().expect("a number");
        if !selected(size, &SIZES) {
            continue;
        }
        let graph = Arc::new(power_law(nodes, 5 * nodes / 2));
        for negatives in [Negatives::Uniform, Negatives::Distance, Negatives::LandmarkApprox] {
            // Exact distances of a million nodes would take hours.
            let feasible = negatives != Negatives::Distance || nodes <= 20_000;
            if feasible && selected(negatives.name(), &["uniform", "distance", "landmark-approx"]) {
                compare(&graph, negatives, &ceilings);
            }
        }
    }
}

/// Measures all variants, interleaved, and prints their rates.
fn compare(graph: &Arc<Graph>, negatives: Negatives, ceilings: &Ceilings) {
    let landmarks = Some(LandmarkCount::Count((graph.nodes() / 10).min(1000)));
    let config = NegativeConfig { negatives, landmarks, ..Default::default() };
    let plan = NegativePlan::new(graph, &config, &Budget::default(), &Demand::default())
        .expect("a fitting plan");
    let sampler = plan.build(graph).expect("a sampler");
    let walk = Walk::new(graph);
    // One thread would take too long on large graphs.
    let threads: &[usize] = if graph.nodes() > 100_000 { &[2] } else { &[1, 2] };
    for &threads in threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let mut rates: [Vec<f64>; 4] = Default::default();
        pool.install(|| {
            for run in 0..RUNS {
                let measured = epochs(graph, &walk, &*sampler, run as u64);
                rates.iter_mut().zip(measured).for_each(|(rates, rate)| rates.push(rate));
            }
        });
        let [all, buckets, bare, racing] = rates.map(Spread::of);
        println!(
            "{:>8} nodes  {negatives:<14?}  {threads} threads  M pairs/s: {all} with sampling, \
             {buckets} without; bare {bare} ({:.0} %), Hogwild {racing} (speedup {:.2}); roofline: \
             {:.0} % of arithmetic, {:.0} % of memory",
            graph.nodes(),
            100.0 * all.median / bare.median,
            all.median / racing.median,
            100.0 * buckets.median * 1e6 * FLOPS / ceilings.arithmetic,
            100.0 * buckets.median * 1e6 * BYTES / ceilings.memory,
        );
    }
}

/// Million pairs per second over some epochs: the trainer with and without sampling, bare, Hogwild.
fn epochs(
    graph: &Graph,
    positives: &dyn PositiveSource,
    negatives: &dyn NegativeSampler,
    run: u64,
) -> [f64; 4] {
    let n = graph.nodes();
    // As many as a run has by default, but fewer on large graphs to limit the time.
    let epochs = if n > 100_000 { 2 } else { 12 };
    let ahead = if negatives.prefers_batches() { epochs as usize } else { 1 };
    let sampling = Sampling { walks: 5, length: 5, context: 5, negatives: 10, ahead, seed: run };
    let rate = |pairs: u64, time: Duration| pairs as f64 / time.as_secs_f64() / 1e6;
    let mut tables =
        Tables { centres: Blocks::new(n, Blocks::rows_for(n, DIM), DIM), contexts: None };
    bare::fill(tables.centres.values_mut());
    let keep_going = |_| Ok(ControlFlow::Continue(()));
    let sources = PairSources { positives, negatives, nodes: n, rows: tables.centres.rows };
    let start = Instant::now();
    let mut pairs = EpochPairs::default();
    let (mut count, mut training) = (0, Duration::ZERO);
    for epoch in 0..epochs {
        let sampled = pairs.sample(sources, sampling, epoch, keep_going);
        assert!(sampled.is_ok_and(|done| done.is_continue()), "no sink stops it");
        let sampled = Instant::now();
        let loss =
            stream::train(InstructionSet::detect(), &mut tables, 1, &pairs, |_| STEP, keep_going);
        assert!(loss.is_ok_and(|loss| loss.is_continue()), "no sink stops it");
        training += sampled.elapsed();
        count += pairs.count;
    }
    let ours = [rate(count, start.elapsed()), rate(count, training)];
    drop(pairs);
    let table = tables.centres.values_mut();
    bare::fill(table);
    let start = Instant::now();
    let trained = (0..epochs).map(|_| bare::train(table, n, sampling)).sum();
    let bare = rate(trained, start.elapsed());
    bare::fill(table);
    let start = Instant::now();
    let race = |epoch| bare::racing(table, positives, negatives, sampling, epoch);
    let trained = (0..epochs).map(race).sum();
    [ours[0], ours[1], bare, rate(trained, start.elapsed())]
}

/// A median with minimum and maximum.
struct Spread {
    median: f64,
    range: (f64, f64),
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self { median: values[values.len() / 2], range: (values[0], values[values.len() - 1]) }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} ({:.1}–{:.1})", self.median, self.range.0, self.range.1)
    }
}

/// A connected graph with heavy-tailed degrees.
fn power_law(nodes: usize, edges: usize) -> Graph {
    let mut rng = Rng::new(0, Purpose::Edge, 0, 0);
    let mut pairs = Vec::with_capacity(edges);
    for edge in 0..edges {
        let a = edge % nodes;
        let b = ((rng.unit().powi(2) * nodes as f64) as usize).min(nodes - 1);
        pairs.push((a as u32, if a == b { (a + 1) % nodes } else { b } as u32));
    }
    let ids = NodeIds::Range { start: 0, len: nodes };
    EdgeList { pairs, weights: None, ids }.build().expect("a graph").0
}
