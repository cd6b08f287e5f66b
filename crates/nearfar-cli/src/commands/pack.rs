//! `nearfar pack`.

use std::path::PathBuf;

use nearfar::graph::{PackConfig, Packed, ReadOptions, pack};

use crate::print::{self, grouped};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The graph
    graph: String,
    #[command(flatten)]
    read: ReadOptions,
    /// Memory limit, such as 800MB or 8GB; an edge list is sorted in parts that fit
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "1GB",
        value_parser = nearfar::parse_bytes,
        help_heading = "Packing"
    )]
    max_memory: u64,
    /// Folder for temporary files, which take 24 bytes for an edge, or 36 with weights [default: that of
    /// the packed file]
    #[arg(long, value_name = "DIR", help_heading = "Packing")]
    scratch: Option<PathBuf>,
    /// File to write the packed graph to; .nfg
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: PathBuf,
}

pub(crate) fn run(args: &Args, quiet: bool) -> anyhow::Result<()> {
    let config = PackConfig { memory: args.max_memory, scratch: args.scratch.clone() };
    let Packed { graph, notes, .. } = pack(&args.graph, &args.read, &args.output, &config)?;
    super::print_notes(&notes, quiet);
    if !quiet {
        let (nodes, edges) = (grouped(graph.nodes() as u64), grouped(graph.edges() as u64));
        let output = args.output.display();
        print::message(&format!("wrote {output}: {nodes} nodes, {edges} edges"));
    }
    Ok(())
}
