//! `nearfar embed`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::parser::ValueSource;
use nearfar::embedding::{Embedding, Format, check_writable};
use nearfar::graph::{Dataset, Graph, ReadOptions};
use nearfar::report::{ReportConfig, Subject};
use nearfar::train::{Records, Saving, Settings, Start, embed_from};

use super::listener::Listener;
use super::scoring::{self, Scoring, ScoringArgs};
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
    /// File to write a page to that shows the vectors: a map, who is near and far, the numbers
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    scoring: ScoringArgs,
}

/// What is trained, and how: the options of every command that trains.
#[derive(Clone, clap::Args)]
pub(super) struct Options {
    #[command(flatten)]
    pub(super) settings: Settings,
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
    let Dataset { graph, labels, splits, .. } = super::read(&args.graph, &args.read, quiet)?;
    let graph = Arc::new(graph);
    let scoring = args.scoring.scoring(&graph, labels.clone(), splits.clone())?;
    check_writable(&args.output, args.format, graph.ids())?;
    args.report.as_deref().map_or(Ok(()), nearfar::report::check_writable)?;
    let settings = &args.options.settings;
    let (mut saving, mut checkpoint) = (None, None);
    if let Some(folder) = &args.checkpoint {
        let (state, found) = Saving::open(folder, args.resume, &graph, settings)?;
        match &found {
            Some(found) if !quiet => {
                print::message(&format!("going on after epoch {}", found.epoch));
            }
            None if args.resume => {
                let folder = folder.display();
                print::message(&format!("{folder}: nothing there yet; starting anew"));
            }
            _ => {}
        }
        (saving, checkpoint) = (Some(state), found);
    }
    let start_at = Start { checkpoint, ..Default::default() };
    let records = Records::new(args.log.as_deref(), saving)?.with_settings(settings);
    let listener = Listener::new(settings.train.epochs(), records, quiet)?;
    let vectors = args.options.vectors(&graph, start_at, listener, scoring.as_ref(), quiet)?;
    let embedding = Embedding::new(graph.ids().clone(), settings.train.dim, vectors)?;
    embedding.save(&args.output, args.format)?;
    if !quiet {
        let (nodes, dim) = (embedding.nodes() as u64, embedding.dim());
        let seconds = start.elapsed().as_secs_f64();
        let (output, nodes) = (args.output.display(), print::grouped(nodes));
        print::message(&format!("{output}: {nodes} vectors of {dim} numbers in {seconds:.2} s"));
    }
    let Some(page) = &args.report else { return Ok(()) };
    let name = super::report::name(&args.output);
    let subject = Subject {
        graph: Some(&graph),
        labels: labels.as_ref(),
        splits: splits.as_ref(),
        log: args.log.as_deref(),
        settings: Some(settings),
        ..Subject::new(&name, &embedding)
    };
    let config = ReportConfig { seed: settings.train.seed, ..Default::default() };
    super::report::write(page, &subject, &config, quiet)
}

impl Options {
    /// Takes what the --config file says, and checks what can be checked without a graph.
    pub(super) fn complete(&mut self, given: &clap::ArgMatches) -> anyhow::Result<()> {
        if let Some(file) = &self.config {
            self.settings.merge(file, |key| {
                let id = key.replace('-', "_");
                given.value_source(&id) == Some(ValueSource::CommandLine)
            })?;
        }
        Ok(self.settings.validate()?)
    }

    /// Trains vectors and tells the plan.
    pub(super) fn vectors(
        &self,
        graph: &Arc<Graph>,
        start: Start,
        mut listener: Listener,
        scoring: Option<&Scoring>,
        quiet: bool,
    ) -> anyhow::Result<Vec<f32>> {
        let train = &self.settings.train;
        let every = scoring.map(|scoring| scoring.sink(graph, &mut listener)).transpose()?;
        let of_scoring = scoring.map_or(0, |s| s.memory(graph.nodes(), train.dim));
        let left = self.max_memory.saturating_sub(of_scoring);
        let (plan, memory) = self.settings.plan(graph, left)?;
        let memory = memory + of_scoring;
        if !quiet {
            print::message(&plan.summary());
            print::message(&format!("memory: about {} MB", memory.div_ceil(1_000_000)));
        }
        let sampler = plan.build(graph)?;
        let vectors = match every {
            None => embed_from(start, graph, &*sampler, train, &mut listener)?,
            Some(mut every) => {
                let last = embed_from(start, graph, &*sampler, train, &mut every)?;
                scoring::chosen(every.best(), last, quiet)
            }
        };
        listener.finish()?;
        Ok(vectors)
    }
}
