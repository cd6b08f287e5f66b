//! `nearfar embed`.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nearfar::embedding::{Embedding, Format, check_writable};
use nearfar::graph::{Graph, ReadOptions};
use nearfar::negative::{Budget, NegativeConfig, NegativePlan};
use nearfar::train::{Event, Sink, TrainConfig, embed, memory};

use crate::{Interrupted, print};

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
    /// File to write one JSON object for every epoch to
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

/// What is trained, and how: the options of every command that trains.
#[derive(Clone, clap::Args)]
pub(super) struct Options {
    /// What is trained: node2vec reads --p and --q, for deepwalk both are 1
    #[arg(long, value_enum, default_value = "deepwalk")]
    model: Model,
    #[command(flatten)]
    negatives: NegativeConfig,
    #[command(flatten)]
    pub(super) train: TrainConfig,
    /// Memory that may be used, as 800MB or 8GB
    #[arg(long, value_name = "SIZE", default_value = "8GB", value_parser = super::memory)]
    max_memory: u64,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Model {
    /// Walks that go to any neighbour
    Deepwalk,
    /// Walks with a return parameter p and an in-out parameter q
    Node2vec,
}

pub(crate) fn run(args: &Args, quiet: bool) -> anyhow::Result<()> {
    let start = Instant::now();
    args.options.validate()?;
    let graph = Arc::new(super::read(&args.graph, &args.read, quiet)?.graph);
    check_writable(&args.output, args.format, graph.names())?;
    catch_ctrl_c()?;
    let vectors = args.options.vectors(&graph, args.log.as_deref(), quiet)?;
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
    /// Checks what can be checked without a graph.
    pub(super) fn validate(&self) -> anyhow::Result<()> {
        self.train.validate()?;
        let plain = |value: f64| (value - 1.0).abs() < f64::EPSILON;
        anyhow::ensure!(
            self.model == Model::Node2vec || (plain(self.train.p) && plain(self.train.q)),
            "--p and --q belong to node2vec; add --model node2vec"
        );
        Ok(())
    }

    /// Trains vectors; tells the plan and the progress, and stops on Ctrl-C if it is caught.
    pub(super) fn vectors(
        &self,
        graph: &Arc<Graph>,
        log: Option<&Path>,
        quiet: bool,
    ) -> anyhow::Result<Vec<f32>> {
        let needed = memory(graph, &self.train);
        let left = self.max_memory.checked_sub(needed).with_context(|| {
            format!(
                "vectors and pairs take {} MB, more than --max-memory; use fewer --walks or a \
                 smaller --dim, or allow more",
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
        let mut listener = Listener::new(self.train.epochs, log, quiet)?;
        let vectors = embed(graph, &*sampler, &self.train, &mut listener)?;
        listener.finish()?;
        Ok(vectors)
    }
}

/// Shows progress, writes the log, and notices Ctrl-C.
struct Listener {
    start: Instant,
    pairs: u64,
    bar: ProgressBar,
    log: Option<(PathBuf, BufWriter<File>)>,
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C ends training after the epoch, and a second one at once.
pub(super) fn catch_ctrl_c() -> anyhow::Result<()> {
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Relaxed) {
            std::process::exit(130);
        }
    })?;
    Ok(())
}

impl Listener {
    fn new(epochs: usize, log: Option<&Path>, quiet: bool) -> anyhow::Result<Self> {
        let shown = !quiet && std::io::stderr().is_terminal();
        let target =
            if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(epochs as u64), target);
        bar.set_style(ProgressStyle::with_template(
            "{bar:30} epoch {pos}/{len}  {msg}  {eta} left",
        )?);
        let open = |path: &Path| -> anyhow::Result<(PathBuf, BufWriter<File>)> {
            let file = File::create(path).with_context(|| format!("--log {}", path.display()))?;
            Ok((path.to_owned(), BufWriter::new(file)))
        };
        let log = log.map(open).transpose()?;
        Ok(Self { start: Instant::now(), pairs: 0, bar, log })
    }

    fn write_log(&mut self, event: &Event) -> anyhow::Result<()> {
        let Some((path, log)) = &mut self.log else { return Ok(()) };
        let mut line = serde_json::to_value(event)?;
        line["seconds"] = self.start.elapsed().as_secs_f64().into();
        writeln!(log, "{line}").with_context(|| format!("--log {}", path.display()))
    }

    fn finish(mut self) -> anyhow::Result<()> {
        self.bar.finish_and_clear();
        if let Some((path, log)) = &mut self.log {
            log.flush().with_context(|| format!("--log {}", path.display()))?;
        }
        if INTERRUPTED.load(Relaxed) { Err(Interrupted.into()) } else { Ok(()) }
    }
}

impl Sink for Listener {
    fn event(&mut self, event: &Event) -> nearfar::Result<ControlFlow<()>> {
        if let Event::Epoch { pairs, loss, .. } = event {
            self.pairs += pairs;
            let rate = self.pairs as f64 / self.start.elapsed().as_secs_f64() / 1e6;
            self.bar.set_message(format!("loss {loss:.4}  {rate:.1} M pairs/s"));
            self.bar.inc(1);
        }
        self.write_log(event).map_err(|error| nearfar::Error::Option(format!("{error:#}")))?;
        let stop = INTERRUPTED.load(Relaxed);
        Ok(if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}
