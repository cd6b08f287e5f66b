//! `nearfar stats`.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::bail;
use nearfar::distance::DistanceSummary;
use nearfar::graph::{Labels, ReadOptions};

use crate::print::{self, grouped};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The graph
    graph: String,
    #[command(flatten)]
    read: ReadOptions,
    /// File of lines `node<TAB>label`, if the graph is not a dataset folder with labels.tsv
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    labels: Option<PathBuf>,
    /// Compute distances from this many random nodes, or from `all` [default: all, or 1024 in
    /// graphs where all would take minutes]
    #[arg(long, value_name = "N|all", help_heading = "Evaluation")]
    sources: Option<String>,
    /// Seed of the choice of --sources
    #[arg(long, default_value_t = 0, help_heading = "Evaluation")]
    seed: u64,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(crate) fn run(args: &Args, quiet: bool) -> anyhow::Result<()> {
    let (dataset, mut read) = super::read(&args.graph, &args.read, quiet)?;
    let labels = match &args.labels {
        Some(path) => {
            let (labels, notes) = Labels::read(path, &dataset.graph)?;
            super::print_notes(&notes, quiet);
            read.notes.extend(notes);
            Some(labels)
        }
        None => dataset.labels,
    };
    let sources = match args.sources.as_deref() {
        None => None,
        Some("all") => Some(usize::MAX),
        Some(text) => match text.parse() {
            Ok(count) if count > 0 => Some(count),
            _ => bail!("--sources {text}: expected 'all' or a number ≥ 1"),
        },
    };
    let stats = DistanceSummary {
        classes: labels.map(|labels| labels.classes()),
        ..DistanceSummary::new(&dataset.graph, sources, args.seed)
    };
    if args.json {
        print::json_with_read(&stats, &read)
    } else {
        print::result(&table(&args.graph, &stats))
    }
}

fn table(name: &str, stats: &DistanceSummary) -> String {
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
    let hops = if stats.lengths.is_some() { " hops" } else { "" };
    line("diameter", format!("{at_least}{}{hops}", stats.diameter));
    line("mean distance", format!("{:.3}{hops}", stats.mean_distance));
    if let Some(lengths) = &stats.lengths {
        let at_least = if lengths.diameter_exact { "" } else { "at least " };
        line("diameter by length", format!("{at_least}{}", print::number(lengths.diameter)));
        line("mean by length", print::number(lengths.mean_distance));
    }
    let mut pairs: Vec<(String, u64)> = match &stats.lengths {
        Some(by) => by.histogram.iter().map(|(d, pairs)| (d.to_string(), *pairs)).collect(),
        None => print::ranges(&stats.distance_histogram),
    };
    let by_hops = ("distance", stats.distance_sources);
    let by_length = stats.lengths.as_ref().map(|by| ("length of the path, up to", by.sources));
    let (by, sources) = by_length.unwrap_or(by_hops);
    let exact = sources == graph.nodes;
    let sampled = format!(", estimated from {} sources", count(sources));
    let _ = writeln!(text, "\npairs by {by}{}", if exact { "" } else { &sampled });
    if stats.unreachable_pairs > 0 {
        pairs.push(("none".to_owned(), stats.unreachable_pairs));
    }
    text + &print::distance_bars(&pairs)
}
