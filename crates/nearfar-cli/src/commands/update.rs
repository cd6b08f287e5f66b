//! `nearfar update`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use nearfar::Budget;
use nearfar::embedding::{Embedding, Format, check_output, check_writable};
use nearfar::graph::{ReadOptions, ReadSummary};
use nearfar::train::{Recorder, Settings, Updated};

use super::embed::Options;
use super::observer::Observer;
use crate::print;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The vectors to update
    embedding: PathBuf,
    /// The graph as it is now
    #[arg(long, value_name = "GRAPH", help_heading = "Input")]
    graph: String,
    /// The graph that the vectors were trained on. Without it, new edges are those of new nodes
    #[arg(long, value_name = "GRAPH", help_heading = "Input")]
    old_graph: Option<String>,
    #[command(flatten)]
    read: ReadOptions,
    #[command(flatten)]
    options: Options,
    /// File to write the vectors to; its extension is the format: .npy, .w2v or .txt, .parquet,
    /// .safetensors, .tsv
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: PathBuf,
    /// Format of the file [default: by its extension]
    #[arg(long, value_enum, help_heading = "Output")]
    format: Option<Format>,
    /// Print what was read, the resolved settings, what changed and times as one JSON object
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// What `--json` prints.
#[derive(serde::Serialize)]
struct Run<'a> {
    read: &'a ReadSummary,
    plan: &'a serde_json::Map<String, serde_json::Value>,
    nodes: usize,
    dim: usize,
    updated: Updated,
    pairs: u64,
    seconds: Seconds,
    output: String,
}

#[derive(serde::Serialize)]
struct Seconds {
    read: f64,
    prepare: f64,
    train: f64,
    total: f64,
}

pub(crate) fn run(args: &mut Args, given: &clap::ArgMatches, quiet: bool) -> anyhow::Result<()> {
    let start = Instant::now();
    let mut files = super::graph_files(&args.graph, &args.read);
    files.extend(args.old_graph.iter().flat_map(|graph| super::graph_files(graph, &args.read)));
    files.push(args.embedding.clone());
    check_output(&args.output, args.format, &files)?;
    let old = Embedding::load(&args.embedding)?;
    args.options.complete_from(&Settings::recorded(&old), given)?;
    let (now, read) = super::read(&args.graph, &args.read, quiet)?;
    let before = args.old_graph.as_ref().map(|graph| super::read(graph, &args.read, quiet));
    let before = before.transpose()?.map(|(dataset, _)| dataset.graph);
    let graph = Arc::new(now.graph);
    check_writable(&args.output, args.format, graph.ids())?;
    let mut observer = Observer::new(Recorder::default(), quiet)?;
    let budget = Budget {
        memory: args.options.max_memory,
        reserved: before.as_ref().map_or(0, nearfar::graph::Graph::bytes),
        so_far: now.read_bytes,
        ..Default::default()
    };
    let settings = &args.options.settings;
    let (new, updated) =
        nearfar::update(&old, &graph, before.as_ref(), settings, &budget, &mut observer)?;
    let run = observer.finish()?;
    new.save(&args.output, args.format)?;
    let total = start.elapsed().as_secs_f64();
    if args.json {
        let (prepare, train) = (run.preparation, run.training);
        print::json(&Run {
            read: &read,
            plan: new.provenance(),
            nodes: new.nodes(),
            dim: new.dim(),
            updated,
            pairs: run.pairs,
            seconds: Seconds { read: read.seconds, prepare, train, total },
            output: args.output.display().to_string(),
        })?;
    }
    if !quiet {
        let [nodes, added, removed, moved, kept] =
            [new.nodes(), updated.new, updated.removed, updated.moved, updated.kept]
                .map(|count| print::grouped(count as u64));
        print::message(&format!(
            "{}: {nodes} × {} vectors in {total:.2} s: {added} new, {removed} removed, {moved} moved, \
             {kept} as before",
            args.output.display(),
            new.dim(),
        ));
    }
    Ok(())
}
