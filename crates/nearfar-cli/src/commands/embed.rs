//! `nearfar embed`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use nearfar::embedding::{Embedding, Format, check_writable};
use nearfar::graph::{Graph, ReadOptions};
use nearfar::negative::{Budget, NegativeConfig, NegativePlan};
use nearfar::train::{Checkpoint, Start, TrainConfig, embed_from, memory};

use super::listener::Listener;
use super::settings;
use crate::print;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The graph
    graph: String,
    /// File to write the vectors to; its ending says the format: .npy, .w2v or .txt, .parquet,
    /// .safetensors, .tsv
    #[arg(short, long, value_name = "FILE", default_value = "embedding.npy")]
    output: PathBuf,
    /// Format of the file, if its ending does not say it
    #[arg(long, value_enum)]
    format: Option<Format>,
    #[command(flatten)]
    read: ReadOptions,
    #[command(flatten)]
    negatives: NegativeConfig,
    #[command(flatten)]
    train: TrainConfig,
    /// TOML file with settings, named as the options are; options given here go before it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Memory that may be used, as 800MB or 8GB
    #[arg(long, value_name = "SIZE", default_value = "8GB", value_parser = super::memory)]
    max_memory: u64,
    /// Folder to keep the state of the run in, so that it can be resumed
    #[arg(long, value_name = "DIR")]
    checkpoint: Option<PathBuf>,
    /// Go on from the state in the --checkpoint folder; the result is that of an unbroken run
    #[arg(long, requires = "checkpoint")]
    resume: bool,
    /// File to write one JSON object for every epoch to
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

pub(crate) fn run(args: &mut Args, given: &clap::ArgMatches, quiet: bool) -> anyhow::Result<()> {
    let start = Instant::now();
    if let Some(file) = &args.config {
        settings::merge(file, given, &mut args.negatives, &mut args.train)?;
    }
    args.train.validate()?;
    let graph = Arc::new(super::read(&args.graph, &args.read, quiet)?.graph);
    check_writable(&args.output, args.format, graph.names())?;
    let checkpoint = args.checkpoint.as_deref().map(|folder| checkpoint(folder, args, &graph));
    let (saving, resumed) = checkpoint.transpose()?.unzip();
    let needed = memory(&graph, &args.train);
    let left = args.max_memory.checked_sub(needed).with_context(|| {
        format!(
            "vectors and pairs take {} MB, more than --max-memory; use fewer --walks or a smaller \
             --dim, or allow more",
            needed.div_ceil(1_000_000)
        )
    })?;
    let budget = Budget { memory: left, ..Default::default() };
    let plan = NegativePlan::new(&graph, &args.negatives, &budget)?;
    if !quiet {
        print::message(&plan.summary());
        let total = (needed + plan.bytes).div_ceil(1_000_000);
        print::message(&format!("memory: about {total} MB"));
    }
    let sampler = plan.build(&graph)?;
    let mut listener = Listener::new(&args.train, args.log.as_deref(), saving, quiet)?;
    let start_at = Start { checkpoint: resumed.flatten(), ..Default::default() };
    if let (Some(checkpoint), false) = (&start_at.checkpoint, quiet) {
        print::message(&format!("going on after epoch {}", checkpoint.epoch));
    }
    let vectors = embed_from(start_at, &graph, &*sampler, &args.train, &mut listener)?;
    listener.finish()?;
    let embedding = Embedding::new(graph.names().clone(), args.train.dim, vectors)?;
    embedding.save(&args.output, args.format)?;
    if !quiet {
        let (nodes, dim) = (embedding.nodes() as u64, embedding.dim());
        let seconds = start.elapsed().as_secs_f64();
        let (output, nodes) = (args.output.display(), print::grouped(nodes));
        print::message(&format!("{output}: {nodes} vectors of {dim} numbers in {seconds:.2} s"));
    }
    Ok(())
}

/// Where the state is kept with what the run is made with, and the state to resume.
fn checkpoint(
    folder: &Path,
    args: &Args,
    graph: &Graph,
) -> anyhow::Result<((PathBuf, String), Option<Checkpoint>)> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("--checkpoint {}", folder.display()))?;
    let file = folder.join("checkpoint.safetensors");
    let settings = settings::describe(graph, &args.negatives, &args.train)?;
    if !args.resume {
        anyhow::ensure!(
            !file.exists(),
            "{}: there is a run already; add --resume to go on with it, or remove it",
            file.display()
        );
        return Ok(((file, settings), None));
    }
    if !file.exists() {
        print::message(&format!("{}: nothing there yet; starting anew", file.display()));
        return Ok(((file, settings), None));
    }
    let saved = Checkpoint::load(&file)?;
    settings::check_same(&file, &saved.settings, &settings)?;
    Ok(((file, settings), Some(saved)))
}
