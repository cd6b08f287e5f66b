//! `nearfar stats`.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::bail;
use nearfar::distance::{Diameter, DistanceHistogram};
use nearfar::graph::{Components, Graph, GraphStats, Labels, ReadOptions};
use serde_json::{Map, Value};

use crate::print::{self, grouped};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The graph
    graph: String,
    #[command(flatten)]
    read: ReadOptions,
    /// Labels, `node<TAB>label`, if the graph is not a folder that holds them
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Count distances from `all` nodes or from this many random ones [default: all, or 1024 in
    /// graphs where that would take minutes]
    #[arg(long, value_name = "N|all")]
    sources: Option<String>,
    /// Seed for choosing the sources
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(serde::Serialize)]
struct Stats {
    #[serde(flatten)]
    graph: GraphStats,
    weighted: bool,
    classes: Option<usize>,
    diameter: u32,
    /// Whether the diameter is exact, or only the largest distance that was met.
    diameter_exact: bool,
    mean_distance: f64,
    /// Ordered pairs of different nodes by their distance.
    distance_histogram: Map<String, Value>,
    unreachable_pairs: u64,
    /// How many nodes were searched from; all, if the histogram is exact.
    distance_sources: usize,
}

pub(crate) fn run(args: &Args, quiet: bool) -> anyhow::Result<()> {
    let dataset = super::read(&args.graph, &args.read, quiet)?;
    let labels = match &args.labels {
        Some(path) => Some(Labels::read(path, &dataset.graph)?),
        None => dataset.labels,
    };
    let graph = &dataset.graph;
    let components = Components::new(graph);
    let histogram = histogram(graph, args)?;
    let exact = histogram.sources == graph.nodes();
    let (diameter, diameter_exact) = if exact {
        (histogram.largest(), true)
    } else {
        // A few dozen searches settle the diameter of most real graphs.
        let diameter = Diameter::new(graph, &components, 64);
        (diameter.at_least.max(histogram.largest()), diameter.is_exact())
    };
    let by_distance = histogram.pairs.iter().enumerate().skip(1);
    let stats = Stats {
        graph: GraphStats::new(graph, &components),
        weighted: graph.is_weighted(),
        classes: labels.map(|labels| labels.classes()),
        diameter,
        diameter_exact,
        mean_distance: histogram.mean(),
        distance_histogram: by_distance.map(|(d, &pairs)| (d.to_string(), pairs.into())).collect(),
        unreachable_pairs: histogram.unreachable,
        distance_sources: histogram.sources,
    };
    if args.json { print::json(&stats) } else { print::result(&table(&args.graph, &stats)) }
}

fn histogram(graph: &Graph, args: &Args) -> anyhow::Result<DistanceHistogram> {
    /// Nodes × edges up to which all distances are counted: a minute or two on two cores.
    const PATIENCE: u64 = 400_000_000_000;
    const SAMPLE: usize = 1024;
    let count = match args.sources.as_deref() {
        Some("all") => graph.nodes(),
        Some(text) => match text.parse() {
            Ok(count) if count > 0 => count,
            _ => bail!("--sources '{text}'; it takes 'all' or a number from 1 on"),
        },
        None if graph.nodes() as u64 * graph.arcs() as u64 <= PATIENCE => graph.nodes(),
        None => SAMPLE,
    };
    Ok(if count >= graph.nodes() {
        DistanceHistogram::exact(graph)
    } else {
        DistanceHistogram::sampled(graph, count, args.seed)
    })
}

fn table(name: &str, stats: &Stats) -> String {
    let mut text = format!("{name}\n");
    let mut line = |label: &str, value: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {label:<18} {value}");
    };
    let graph = &stats.graph;
    let count = |number: usize| grouped(number as u64);
    line("nodes", count(graph.nodes));
    line(
        "edges",
        format!("{} ({} directed)", count(graph.edges_undirected), count(graph.edges_directed)),
    );
    line("weights", if stats.weighted { "yes" } else { "no" }.to_owned());
    if let Some(classes) = stats.classes {
        line("classes", count(classes));
    }
    line("mean degree", format!("{:.2}", graph.mean_degree));
    line("largest degree", count(graph.max_degree));
    line("components", count(graph.components));
    line("largest component", format!("{} nodes", count(graph.largest_component)));
    line("isolated nodes", count(graph.isolated));
    let at_least = if stats.diameter_exact { "" } else { "at least " };
    line("diameter", format!("{at_least}{}", stats.diameter));
    line("mean distance", format!("{:.3}", stats.mean_distance));
    let exact = stats.distance_sources == graph.nodes;
    let sampled = format!(", estimated from {} sources", count(stats.distance_sources));
    let _ = writeln!(text, "\npairs by distance{}", if exact { "" } else { &sampled });
    let pairs = stats.distance_histogram.iter();
    let mut pairs: Vec<(String, u64)> =
        pairs.map(|(d, pairs)| (d.clone(), pairs.as_u64().unwrap_or(0))).collect();
    if stats.unreachable_pairs > 0 {
        pairs.push(("none".to_owned(), stats.unreachable_pairs));
    }
    text + &print::distance_bars(&pairs)
}
