//! `nearfar apply`.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use nearfar::embedding::{Format, check_output, check_writable};
use nearfar::encode::{Features, NetworkModel};
use nearfar::graph::{ReadOptions, ReadSummary};

use crate::print;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The network: a file of `nearfar embed --features FILE --save-model MODEL`
    model: PathBuf,
    /// The graph, which may have other nodes than that of the training
    graph: String,
    #[command(flatten)]
    read: ReadOptions,
    /// File of node features, as in `nearfar embed`
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    features: PathBuf,
    /// File to write the vectors to; its extension is the format: .npy, .w2v or .txt, .parquet,
    /// .safetensors, .tsv
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: PathBuf,
    /// Format of the file [default: by its extension]
    #[arg(long, value_enum, help_heading = "Output")]
    format: Option<Format>,
    /// Print what was read and written as one JSON object
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// What `--json` prints.
#[derive(serde::Serialize)]
struct Run<'a> {
    read: &'a ReadSummary,
    nodes: usize,
    dim: usize,
    features: usize,
    output: String,
}

pub(crate) fn run(args: &Args, quiet: bool) -> anyhow::Result<()> {
    let mut files = super::graph_files(&args.graph, &args.read);
    files.extend([args.model.clone(), args.features.clone()]);
    check_output(&args.output, args.format, &files)?;
    let model = NetworkModel::load(&args.model)?;
    let (dataset, read) = super::read(&args.graph, &args.read, quiet)?;
    let graph = Arc::new(dataset.graph);
    check_writable(&args.output, args.format, graph.ids())?;
    let features = Arc::new(Features::read(&args.features, &graph)?);
    let vectors = model.apply(&graph, &features);
    let vectors = vectors.with_context(|| args.features.display().to_string())?;
    vectors.save(&args.output, args.format)?;
    if args.json {
        print::json(&Run {
            read: &read,
            nodes: vectors.nodes(),
            dim: vectors.dim(),
            features: features.width(),
            output: args.output.display().to_string(),
        })?;
    }
    if !quiet {
        let nodes = print::grouped(vectors.nodes() as u64);
        let (output, dim) = (args.output.display(), vectors.dim());
        print::message(&format!("{output}: {nodes} × {dim} vectors"));
    }
    Ok(())
}
