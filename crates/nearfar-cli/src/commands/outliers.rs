//! `nearfar outliers`.

use std::path::PathBuf;

use nearfar::distance::{OutlierConfig, outliers};
use nearfar::graph::{Dataset, ReadOptions};

use crate::print;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A dataset folder with labels.tsv, or a built-in graph
    dataset: String,
    #[command(flatten)]
    read: ReadOptions,
    /// Number of outliers to add
    #[arg(long, value_name = "N", help_heading = "Output")]
    count: usize,
    /// Folder to write the new dataset to
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: PathBuf,
    /// Seed: the same seed adds the same outliers
    #[arg(long, default_value_t = 0, help_heading = "Output")]
    seed: u64,
}

pub(crate) fn run(args: &Args, quiet: bool) -> anyhow::Result<()> {
    let inputs = super::graph_files(&args.dataset, &args.read);
    Dataset::check_folder(&args.output, &inputs)?;
    let (dataset, _) = super::read(&args.dataset, &args.read, quiet)?;
    let config = OutlierConfig { count: args.count, seed: args.seed };
    let with_outliers = outliers(&dataset, &config)?;
    with_outliers.write_folder(&args.output)?;
    if !quiet {
        let message = format!(
            "wrote {}: {} nodes, {} of them outliers",
            args.output.display(),
            print::grouped(with_outliers.graph.nodes() as u64),
            args.count,
        );
        print::message(&message);
    }
    Ok(())
}
