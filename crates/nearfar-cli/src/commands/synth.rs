//! `nearfar synth`.

use std::path::PathBuf;

use nearfar::graph::{Dataset, Join, Preset, SynthConfig, synth};

use crate::print;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// One of the paper's synthetic graphs
    #[arg(value_enum, required_unless_present = "exponent", conflicts_with = "exponent")]
    preset: Option<Preset>,
    /// Exponent of the power law of the expected degrees, above 1
    #[arg(long, value_name = "X", allow_negative_numbers = true, help_heading = "Graph")]
    exponent: Option<f64>,
    /// Number of nodes [default: 2000]
    #[arg(long, value_name = "N", help_heading = "Graph")]
    nodes: Option<usize>,
    /// Number of classes [default: as in the paper's graph, or 5]
    #[arg(long, value_name = "K", help_heading = "Graph")]
    classes: Option<usize>,
    /// How to connect the components [default: as in the paper's graph, or pairs]
    #[arg(long, value_enum, help_heading = "Graph")]
    join: Option<Join>,
    /// Seed: the same seed generates the same graph
    #[arg(long, default_value_t = 0, help_heading = "Graph")]
    seed: u64,
    /// Folder to write edges.tsv, nodes.tsv, labels.tsv and splits.tsv to
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: PathBuf,
}

pub(crate) fn run(args: &Args, quiet: bool) -> anyhow::Result<()> {
    let mut config = SynthConfig::preset(args.preset.unwrap_or(Preset::Moderate));
    if let Some(exponent) = args.exponent {
        config.exponent = exponent;
        config.mean_degree = None;
    }
    config.nodes = args.nodes.unwrap_or(config.nodes);
    config.classes = args.classes.unwrap_or(config.classes);
    config.join = args.join.unwrap_or(config.join);
    config.seed = args.seed;
    Dataset::check_folder(&args.output, &[])?;
    let dataset = synth(&config)?;
    dataset.write_folder(&args.output)?;
    if !quiet {
        let (nodes, edges) = (dataset.graph.nodes() as u64, dataset.graph.edges() as u64);
        print::message(&format!(
            "wrote {}: {} nodes, {} edges, {} classes",
            args.output.display(),
            print::grouped(nodes),
            print::grouped(edges),
            config.classes,
        ));
    }
    Ok(())
}
