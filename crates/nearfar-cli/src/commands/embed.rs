//! `nearfar embed`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use nearfar::embedding::{Embedding, Format, check_writable};
use nearfar::graph::{Graph, ReadOptions};
use nearfar::negative::{Budget, NegativeConfig, NegativePlan};
use nearfar::train::{Checkpoint, Start, TrainConfig, Trainer, embed_from, memory};

use super::listener::{Listener, Saving};
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
    options: Options,
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

/// What is trained, and how: the options of every command that trains.
#[derive(Clone, clap::Args)]
pub(super) struct Options {
    #[command(flatten)]
    pub(super) negatives: NegativeConfig,
    #[command(flatten)]
    pub(super) train: TrainConfig,
    /// TOML file with settings, named as the options are; options given here go before it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Memory that may be used, as 800MB or 8GB
    #[arg(long, value_name = "SIZE", default_value = "8GB", value_parser = super::memory)]
    max_memory: u64,
}

pub(crate) fn run(args: &mut Args, given: &clap::ArgMatches, quiet: bool) -> anyhow::Result<()> {
    let start = Instant::now();
    args.options.complete(given)?;
    let graph = Arc::new(super::read(&args.graph, &args.read, quiet)?.graph);
    check_writable(&args.output, args.format, graph.names())?;
    let (saving, checkpoint) = match &args.checkpoint {
        Some(_) if args.options.train.trainer() != Trainer::Stream => anyhow::bail!(
            "only runs of the stream trainer can be saved and resumed; leave --checkpoint out, or \
             use --trainer stream"
        ),
        Some(folder) => checkpoint(folder, args, &graph)?,
        None => (None, None),
    };
    if let (Some(checkpoint), false) = (&checkpoint, quiet) {
        print::message(&format!("going on after epoch {}", checkpoint.epoch));
    }
    let start_at = Start { checkpoint, ..Default::default() };
    let listener = Listener::new(args.options.train.epochs(), args.log.as_deref(), saving, quiet)?;
    let vectors = args.options.vectors(&graph, start_at, listener, quiet)?;
    let embedding = Embedding::new(graph.names().clone(), args.options.train.dim, vectors)?;
    embedding.save(&args.output, args.format)?;
    if !quiet {
        let (nodes, dim) = (embedding.nodes() as u64, embedding.dim());
        let seconds = start.elapsed().as_secs_f64();
        let (output, nodes) = (args.output.display(), print::grouped(nodes));
        print::message(&format!("{output}: {nodes} vectors of {dim} numbers in {seconds:.2} s"));
    }
    Ok(())
}

impl Options {
    /// Takes what the --config file says, and checks what can be checked without a graph.
    pub(super) fn complete(&mut self, given: &clap::ArgMatches) -> anyhow::Result<()> {
        if let Some(file) = &self.config {
            settings::merge(file, given, &mut self.negatives, &mut self.train)?;
        }
        Ok(self.train.validate()?)
    }

    /// Trains vectors and tells the plan.
    pub(super) fn vectors(
        &self,
        graph: &Arc<Graph>,
        start: Start,
        mut listener: Listener,
        quiet: bool,
    ) -> anyhow::Result<Vec<f32>> {
        let needed = memory(graph, &self.train);
        let left = self.max_memory.checked_sub(needed).with_context(|| {
            let way_out = match self.train.trainer() {
                Trainer::Stream => "use fewer --walks or a smaller --dim",
                Trainer::Batch => "use a smaller --batch or --dim",
                Trainer::Exact => "use --trainer stream",
            };
            format!(
                "vectors and pairs take {} MB, more than --max-memory; {way_out}, or allow more",
                needed.div_ceil(1_000_000)
            )
        })?;
        let budget = Budget { memory: left, ..Default::default() };
        let plan = NegativePlan::new(graph, &self.negatives, &budget)?;
        if !quiet {
            print::message(&plan.summary());
            let total = (needed + plan.bytes).div_ceil(1_000_000);
            print::message(&format!("memory: about {total} MB"));
        }
        let sampler = plan.build(graph)?;
        let vectors = embed_from(start, graph, &*sampler, &self.train, &mut listener)?;
        listener.finish()?;
        Ok(vectors)
    }
}

/// Where the state is kept with what the run is made with, and the state to resume.
fn checkpoint(
    folder: &Path,
    args: &Args,
    graph: &Graph,
) -> anyhow::Result<(Option<Saving>, Option<Checkpoint>)> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("--checkpoint {}", folder.display()))?;
    let file = folder.join("checkpoint.safetensors");
    let settings = settings::describe(graph, &args.options.negatives, &args.options.train)?;
    if !args.resume {
        anyhow::ensure!(
            !file.exists(),
            "{}: there is a run already; add --resume to go on with it, or remove it",
            file.display()
        );
        return Ok((Some(Saving::new(file, settings)), None));
    }
    if !file.exists() {
        print::message(&format!("{}: nothing there yet; starting anew", file.display()));
        return Ok((Some(Saving::new(file, settings)), None));
    }
    let saved = Checkpoint::load(&file)?;
    settings::check_same(&file, &saved.settings, &settings)?;
    Ok((Some(Saving::new(file, settings)), Some(saved)))
}
