//! `nearfar synth`.

use std::path::PathBuf;

use nearfar::graph::{Join, Preset, SynthConfig, synth};

use crate::print;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// One of the paper's graphs
    #[arg(value_enum, required_unless_present = "exponent", conflicts_with = "exponent")]
    preset: Option<Preset>,
    /// Exponent of the power law that expected degrees follow, above 1
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    exponent: Option<f64>,
    /// Number of nodes [default: 2000]
    #[arg(long, value_name = "N")]
    nodes: Option<usize>,
    /// Number of classes [default: that of the preset, or 5]
    #[arg(long, value_name = "K")]
    classes: Option<usize>,
    /// How components are joined [default: that of the preset, or pairs]
    #[arg(long, value_enum)]
    join: Option<Join>,
    /// Folder to write edges.tsv, nodes.tsv, labels.tsv and splits.tsv to
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Seed: the same seed makes the same graph
    #[arg(long, default_value_t = 0)]
    seed: u64,
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
    let dataset = synth(&config)?;
    dataset.write_folder(&args.output)?;
    if !quiet {
        let (nodes, edges) = (dataset.graph.nodes() as u64, dataset.graph.edges() as u64);
        print::message(&format!(
            "{}: {} nodes, {} edges, {} classes",
            args.output.display(),
            print::grouped(nodes),
            print::grouped(edges),
            config.classes,
        ));
    }
    Ok(())
}
