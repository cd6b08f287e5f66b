//! `nearfar sample`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use anyhow::{Context, ensure};
use nearfar::Budget;
use nearfar::distance::{Far, LengthBins, Levels, lengths};
use nearfar::graph::{Components, Graph, Node, ReadOptions};
use nearfar::negative::{Demand, NegativeConfig, NegativePlan, Negatives};
use nearfar::rng::{Purpose, Rng};
use serde_json::{Map, Value};

use crate::print::{self, grouped};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The graph
    graph: String,
    /// Id of the centre, the node whose negatives are drawn
    #[arg(long, value_name = "ID", allow_hyphen_values = true, help_heading = "Input")]
    node: String,
    #[command(flatten)]
    read: ReadOptions,
    /// Number of negatives to draw
    #[arg(short, long, value_name = "N", default_value_t = 1000, help_heading = "Negatives")]
    n: usize,
    #[command(flatten)]
    negatives: NegativeConfig,
    /// Memory limit, such as 800MB or 8GB
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "8GB",
        value_parser = nearfar::parse_bytes,
        help_heading = "Negatives"
    )]
    max_memory: u64,
    /// Seed: the same seed draws the same negatives
    #[arg(long, default_value_t = 0, help_heading = "Negatives")]
    seed: u64,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    json: bool,
}

#[derive(serde::Serialize)]
struct Sample {
    node: String,
    draws: usize,
    negatives: &'static str,
    strategy: Option<nearfar::negative::Strategy>,
    landmarks: Option<usize>,
    /// Distance assigned to nodes without a path; `None` in a connected undirected graph.
    far: Option<u32>,
    seed: u64,
    /// Draws by node id, without nodes that were never drawn.
    counts: Map<String, Value>,
    /// Draws by hop distance from the centre; nodes without a path count under `far`.
    by_distance: BTreeMap<u32, u64>,
    /// Where edges have lengths, (the largest length of a bin, draws) by length of the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_length: Option<Vec<(f64, u64)>>,
}

pub(crate) fn run(args: &Args, quiet: bool) -> anyhow::Result<()> {
    let (dataset, read) = super::read(&args.graph, &args.read, quiet)?;
    let graph = Arc::new(dataset.graph);
    let centre = graph.ids().find(&args.node).with_context(|| {
        let first = graph.ids().get(0);
        format!("--node {}: no such node in {}; the first id is '{first}'", args.node, args.graph)
    })?;
    ensure!((1..=4_294_967_295).contains(&args.n), "-n {}: expected 1 to 4 294 967 295", args.n);
    let budget = Budget { memory: args.max_memory, ..Default::default() };
    let demand = Demand { fills: Some(1), ..Default::default() };
    let plan = NegativePlan::new(&graph, &args.negatives, &budget, &demand)?;
    if !quiet {
        print::message(&format!("negatives: {}", plan.summary()));
    }
    let sampler = plan.build(&graph)?;
    ensure!(
        sampler.has_negatives(centre),
        "--node {}: the node has an edge to every other node; choose another node or other --negatives",
        args.node
    );
    let mut counts = vec![0_u64; graph.nodes()];
    let mut rng = Rng::new(args.seed, Purpose::Negative, 0, u64::from(centre));
    let mut negatives = vec![0; args.n.min(1 << 16)];
    let mut left = args.n;
    while left > 0 {
        let count = left.min(negatives.len());
        sampler.fill(centre, &mut rng, &mut negatives[..count]);
        for &negative in &negatives[..count] {
            counts[negative as usize] += 1;
        }
        left -= count;
    }
    let (far, by_distance) = by_distance(&graph, centre, &counts, args);
    let by_length = graph.has_lengths().then(|| by_length(&graph, centre, &counts, args));
    if args.json {
        let drawn = (0..).zip(&counts).filter(|(_, count)| **count > 0);
        let drawn = drawn.map(|(row, &count)| (graph.ids().get(row).into_owned(), count.into()));
        let sample = Sample {
            node: args.node.clone(),
            draws: args.n,
            negatives: plan.law.name(),
            strategy: plan.strategy,
            landmarks: plan.landmarks,
            far,
            seed: args.seed,
            counts: drawn.collect(),
            by_distance,
            by_length,
        };
        return print::json_with_read(&sample, &read);
    }
    let by_hops = || {
        let mut by_hops = by_distance.clone();
        let unreached = far.and_then(|far| by_hops.remove(&far));
        let mut rows = print::ranges(&by_hops);
        rows.extend(unreached.map(|count| ("far".to_owned(), count)));
        rows
    };
    let by_length = by_length.map(|rows| {
        rows.iter().map(|(upper, count)| (upper.to_string(), *count)).collect::<Vec<_>>()
    });
    let by_distance = by_length.unwrap_or_else(by_hops);
    print::result(&table(&graph, args, plan.law, &counts, &by_distance))
}

/// `far` if some pairs may have no path, and draws by exact distance, which samplers by landmarks
/// only approximate.
fn by_distance(
    graph: &Arc<Graph>,
    centre: Node,
    counts: &[u64],
    args: &Args,
) -> (Option<u32>, BTreeMap<u32, u64>) {
    let components = Components::new(graph);
    let far = (components.len() > 1 || graph.is_directed())
        .then(|| args.negatives.far.hops(graph, &components));
    let along = Levels::new(graph, centre).hops();
    let both_ways = match args.negatives.far {
        Far::Undirected => Levels::new(&graph.to_undirected(), centre).hops(),
        Far::Auto | Far::Hops(_) | Far::Length(_) => vec![None; along.len()],
    };
    let mut by_distance = BTreeMap::new();
    for ((hops, undirected), &count) in along.into_iter().zip(both_ways).zip(counts) {
        if count > 0 {
            *by_distance.entry(hops.or(undirected).or(far).unwrap_or(0)).or_insert(0) += count;
        }
    }
    (far, by_distance)
}

/// Draws by length of the path, in bins; nodes without one count under their distance.
fn by_length(graph: &Arc<Graph>, centre: Node, counts: &[u64], args: &Args) -> Vec<(f64, u64)> {
    let bins = LengthBins::new(graph);
    let mut found = lengths(graph, &[centre]);
    if args.negatives.far == Far::Undirected {
        let both_ways = lengths(&graph.to_undirected(), &[centre]);
        for (length, other) in found.iter_mut().zip(both_ways).filter(|(l, _)| l.is_infinite()) {
            *length = other;
        }
    }
    let far = args.negatives.far.length(graph);
    let mut by_bin: BTreeMap<u16, u64> = BTreeMap::new();
    for (&length, &count) in found.iter().zip(counts).filter(|(_, count)| **count > 0) {
        *by_bin.entry(bins.of(if length.is_finite() { length } else { far })).or_default() += count;
    }
    by_bin.into_iter().map(|(bin, count)| (bins.upper(bin.into()), count)).collect()
}

fn table(
    graph: &Graph,
    args: &Args,
    negatives: Negatives,
    counts: &[u64],
    by_distance: &[(String, u64)],
) -> String {
    let draws = grouped(args.n as u64);
    let mut text =
        format!("{draws} negatives of node {}, sampled by {}\n", args.node, negatives.name());
    text.push_str(if graph.has_lengths() { "\nby length, up to\n" } else { "\nby distance\n" });
    text.push_str(&print::distance_bars(by_distance));
    let mut order: Vec<Node> = (0..graph.nodes() as Node).collect();
    order.retain(|&node| counts[node as usize] > 0);
    order.sort_by_key(|&node| std::cmp::Reverse(counts[node as usize]));
    // Writing to a String cannot fail.
    let _ = writeln!(text, "\nmost frequent of {} nodes drawn", grouped(order.len() as u64));
    for &node in order.iter().take(10) {
        let count = counts[node as usize];
        let percentage = 100.0 * count as f64 / args.n as f64;
        let (id, count) = (graph.ids().get(node), grouped(count));
        let _ = writeln!(text, "  {id:<20} {count:>10}  {percentage:6.3} %");
    }
    text
}
