//! `nearfar embed`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::Context;
use clap::parser::ValueSource;
use nearfar::embedding::{Embedding, Format, check_output, check_writable};
use nearfar::encode::Features;
use nearfar::error::{Error, Problem};
use nearfar::file::{check_not_input, commit_all};
use nearfar::graph::{Dataset, Graph, ReadOptions, ReadSummary};
use nearfar::report::{Log, ReportConfig, Subject};
use nearfar::train::{Checkpoints, Event, Recorder, RunLog, Settings, Sink};
use nearfar::{Budget, BuildBackend, Parts, format_bytes};

use super::observer::{Completed, Observer};
use super::scoring::{self, Scoring, ScoringArgs};
use crate::{ClusterRun, Interrupted, TrainOnCluster, print, signals};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The graph
    graph: String,
    #[command(flatten)]
    read: ReadOptions,
    #[command(flatten)]
    options: Options,
    /// File of vectors to start from, matched by id; a node without one starts at the mean of its
    /// neighbours' vectors
    #[arg(long, value_name = "FILE", help_heading = "Training")]
    init: Option<PathBuf>,
    /// File of node features, which gcn, sage, gae and vgae read in place of the nodes themselves: a row
    /// for each node, matched by id, in any format of vectors or as a sparse matrix, .npz
    #[arg(long, value_name = "FILE", help_heading = "Training")]
    features: Option<PathBuf>,
    /// Train on a Ray cluster: its address, such as ray://host:10001, auto, or local for one of this
    /// machine; --threads are then the processors of a task
    #[arg(
        long,
        value_name = "ADDRESS",
        help_heading = "Training",
        conflicts_with_all = ["init", "features", "score_every"]
    )]
    cluster: Option<String>,
    #[command(flatten)]
    scoring: ScoringArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Output")]
struct OutputArgs {
    /// File to write the vectors to; its extension is the format: .npy, .w2v or .txt, .parquet,
    /// .safetensors, .tsv
    #[arg(short, long, value_name = "FILE", default_value = "embedding.npy")]
    output: PathBuf,
    /// File to write the context vectors of --order 2 to: in a directed graph, those of nodes as targets
    #[arg(long, value_name = "FILE", conflicts_with = "stop_early")]
    contexts: Option<PathBuf>,
    /// File to write the network to that was trained on --features, for `nearfar apply`; .safetensors
    #[arg(long, value_name = "FILE", conflicts_with = "stop_early")]
    save_model: Option<PathBuf>,
    /// Format of the file [default: by its extension]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Folder for a checkpoint of the run, so that it can be resumed
    #[arg(long, value_name = "DIR")]
    checkpoint: Option<PathBuf>,
    /// Continue from the checkpoint in the --checkpoint folder, to the result of an uninterrupted run
    #[arg(long, requires = "checkpoint")]
    resume: bool,
    /// With --resume, continue also from a checkpoint of a kernel that this machine does not have; the
    /// result is then not that of an uninterrupted run
    #[arg(long, requires = "resume")]
    resume_anyway: bool,
    /// File for the log: a JSON object per epoch; a resumed run adds to it
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// File for an HTML report of the vectors: map, similarity by distance, scores
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print what was read, the resolved settings, sizes, times and loss as one JSON object
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(serde::Serialize)]
struct Run<'a> {
    read: &'a ReadSummary,
    /// Every setting as it was resolved for this graph.
    plan: &'a serde_json::Map<String, serde_json::Value>,
    nodes: usize,
    dim: usize,
    /// Pairs that this process trained on.
    pairs: u64,
    /// The loss of the last epoch; none if the run was complete when it was resumed.
    loss: Option<f64>,
    seconds: Seconds,
    /// Bytes, where the system tells.
    peak_memory: Option<u64>,
    output: String,
}

/// Seconds of each stage.
#[derive(serde::Serialize)]
struct Seconds {
    read: f64,
    prepare: f64,
    train: f64,
    save: f64,
    total: f64,
}

/// The options of every command that trains.
#[derive(Clone, clap::Args)]
pub(super) struct Options {
    #[command(flatten)]
    pub(super) settings: Settings,
    /// TOML file of settings, named like the options; options that are given take precedence
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    config: Option<PathBuf>,
    /// Memory limit, such as 800MB or 8GB
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "8GB",
        value_parser = nearfar::parse_bytes,
        help_heading = "Training"
    )]
    pub(super) max_memory: u64,
    /// Limit of the GPU's memory, such as 20GB; larger tables of vectors stream through it in parts
    /// [default: what is free]
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = nearfar::parse_bytes,
        help_heading = "Training"
    )]
    device_memory: Option<u64>,
}

pub(crate) fn run(
    args: &mut Args,
    given: &clap::ArgMatches,
    quiet: bool,
    cluster: Option<TrainOnCluster<'_>>,
) -> anyhow::Result<()> {
    let start = Instant::now();
    args.options.complete(given)?;
    args.check_outputs()?;
    args.check_extras()?;
    let cluster = args.cluster(cluster)?;
    let (dataset, read) = super::read(&args.graph, &args.read, quiet)?;
    let Dataset { graph, labels, splits, read_bytes, .. } = dataset;
    let graph = Arc::new(graph);
    let scoring = args.scoring.scoring(&graph, labels.clone(), splits.clone(), quiet)?;
    let OutputArgs { output, format, log, report, json, .. } = &args.output;
    check_writable(output, *format, graph.ids())?;
    let observer = Observer::new(args.output.recorder()?, quiet)?;
    let mut model = None;
    let (embedding, mut run) = if let Some(cluster) = cluster {
        args.on_cluster(cluster, &graph, observer, given)?
    } else {
        let init = args.init.as_deref().map(Embedding::load).transpose()?;
        let features = args.features.as_deref().map(|file| Features::read(file, &graph));
        let parts = Parts {
            init: init.as_ref(),
            backend: args.options.backend(),
            features: features.transpose()?.map(Arc::new),
            model: args.output.save_model.as_ref().map(|_| &mut model),
            ..Default::default()
        };
        let observed = (observer, scoring.as_ref());
        args.options.embed(&graph, read_bytes, parts, observed, quiet)?
    };
    let save = Instant::now();
    let mut written = vec![embedding.write(output, *format)?];
    // They are copied only for a file.
    if let Some(file) = &args.output.contexts
        && let Some(contexts) = embedding.contexts()
    {
        written.push(contexts.write(file, *format)?);
    }
    if let (Some(file), Some(model)) = (&args.output.save_model, &model) {
        written.push(model.write(file)?);
    }
    commit_all(written)?;
    let save = save.elapsed().as_secs_f64();
    let peak_memory = peak_memory();
    let (prepare, train) = (run.preparation, run.training);
    run.recorder.event(&Event::Times { read: read.seconds, prepare, train, save })?;
    run.recorder.event(&Event::Finished { peak_memory })?;
    let lines = run.recorder.finish()?;
    if *json {
        print::json(&Run {
            read: &read,
            plan: embedding.provenance(),
            nodes: embedding.nodes(),
            dim: embedding.dim(),
            pairs: run.pairs,
            loss: run.loss,
            seconds: Seconds {
                read: read.seconds,
                prepare: run.preparation,
                train: run.training,
                save,
                total: start.elapsed().as_secs_f64(),
            },
            peak_memory,
            output: output.display().to_string(),
        })?;
    }
    if !quiet {
        let (nodes, dim) = (print::grouped(embedding.nodes() as u64), embedding.dim());
        let seconds = start.elapsed().as_secs_f64();
        let memory = peak_memory
            .map_or(String::new(), |bytes| format!(", peak memory {}", format_bytes(bytes)));
        let output = output.display();
        print::message(&format!("{output}: {nodes} × {dim} vectors in {seconds:.2} s{memory}"));
    }
    let Some(page) = report else { return Ok(()) };
    let name = super::report::name(output);
    let subject = Subject {
        graph: Some(&graph),
        labels: labels.as_ref(),
        splits: splits.as_ref(),
        log: log.as_deref().map(Log::File).or(lines.as_deref().map(Log::Lines)),
        ..Subject::new(&name, &embedding)
    };
    let config = ReportConfig { seed: args.options.settings.train.seed, ..Default::default() };
    super::report::write(page, &subject, &config, quiet)
}

impl Args {
    /// Fails if a file could not be written, or would replace one that is read or another one.
    fn check_outputs(&self) -> anyhow::Result<()> {
        let OutputArgs { output, format, log, report, .. } = &self.output;
        let mut others = super::graph_files(&self.graph, &self.read);
        let inputs = self.options.config.iter().chain(&self.init).chain(&self.features);
        others.extend(inputs.cloned());
        others.extend(self.scoring.files());
        others.extend(self.output.checkpoint.iter().map(|folder| Checkpoints::file_in(folder)));
        for file in std::iter::once(output).chain(&self.output.contexts) {
            let files = check_output(file, *format, &others)?;
            others.extend(files);
        }
        for file in report.iter().chain(&self.output.save_model) {
            nearfar::file::check_writable(file)?;
        }
        for file in log.iter().chain(report).chain(&self.output.save_model) {
            check_not_input(file, &others)?;
            others.push(file.clone());
        }
        Ok(())
    }
}

impl Args {
    /// The cluster that is named, with what trains there.
    fn cluster<'a>(
        &'a self,
        train: Option<TrainOnCluster<'a>>,
    ) -> anyhow::Result<Option<(TrainOnCluster<'a>, &'a str)>> {
        let Some(address) = &self.cluster else { return Ok(None) };
        let train = train.context(
            "--cluster needs the Python package: pip install 'nearfar[ray]', then the same command",
        )?;
        Ok(Some((train, address)))
    }

    /// Trains on a cluster. Returns the vectors with the record of the run, which the caller completes.
    fn on_cluster(
        &self,
        (train, address): (TrainOnCluster<'_>, &str),
        graph: &Arc<Graph>,
        observer: Observer,
        given: &clap::ArgMatches,
    ) -> anyhow::Result<(Embedding, Completed)> {
        let observer = Arc::new(Mutex::new(observer));
        let trained = train(ClusterRun {
            address: address.to_owned(),
            graph: Arc::clone(graph),
            file: (self.read == ReadOptions::default()).then(|| PathBuf::from(&self.graph)),
            settings: self.options.settings.clone(),
            max_memory: self.options.max_memory,
            threads: given.get_one("threads").copied(),
            sink: Arc::<Mutex<Observer>>::clone(&observer),
            keeps_checkpoints: self.output.checkpoint.is_some(),
        });
        if signals::keep_going().is_break() {
            return Err(Interrupted.into());
        }
        let embedding = trained?;
        let observer = Arc::into_inner(observer).context("the run has ended, and is recorded")?;
        let observer = observer.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok((embedding, observer.finish()?))
    }

    /// Fails unless the training has the context vectors and the model that are to be saved.
    fn check_extras(&self) -> anyhow::Result<()> {
        let train = &self.options.settings.train;
        if self.output.save_model.is_some() && self.features.is_none() {
            let problem = Problem::from("a network without features knows its own nodes alone");
            return Err(Error::conflict(problem.give("features").omit("save-model")).into());
        }
        if self.output.contexts.is_none() {
            return Ok(());
        }
        let problem = if train.order != 2 {
            Problem::from("only models of order 2 have context vectors").set("order", 2)
        } else if train.smoothing != Some(0) && !(self.read.directed && train.smoothing.is_none()) {
            Problem::from("smoothing would change the vectors without the context vectors")
                .set("smoothing", 0)
        } else {
            return Ok(());
        };
        Err(Error::conflict(problem.omit("contexts")).into())
    }
}

impl OutputArgs {
    /// What keeps the log and the checkpoints.
    fn recorder(&self) -> nearfar::Result<Recorder> {
        let checkpoints = |folder: &PathBuf| -> nearfar::Result<Checkpoints> {
            Ok(Checkpoints::new(folder, self.resume)?.on_any_kernel(self.resume_anyway))
        };
        let checkpoints = self.checkpoint.as_ref().map(checkpoints).transpose()?;
        let open = if self.resume { RunLog::append } else { RunLog::create };
        let log = match &self.log {
            Some(file) => Some(open(file)?),
            // The report shows the loss by epoch.
            None => self.report.is_some().then(RunLog::in_memory),
        };
        Ok(Recorder::new(log, checkpoints))
    }
}

impl Options {
    /// Takes what the --config file says, and checks what can be checked without a graph.
    pub(super) fn complete(&mut self, given: &clap::ArgMatches) -> anyhow::Result<()> {
        if let Some(file) = &self.config {
            self.settings.merge(file, |key| is_given(given, key))?;
        }
        self.settings.train.device.check_memory(self.device_memory)?;
        Ok(self.settings.validate()?)
    }

    /// What builds the trainer of the device; `None` for the CPU.
    pub(super) fn backend(&self) -> Option<BuildBackend<'static>> {
        nearfar_cuda::backend(self.settings.train.device, self.device_memory)
    }

    /// The same, with other defaults.
    pub(super) fn complete_from(
        &mut self,
        defaults: &Settings,
        given: &clap::ArgMatches,
    ) -> anyhow::Result<()> {
        self.settings.fill(defaults, |key| is_given(given, key));
        self.complete(given)
    }

    /// Trains vectors of a graph, whose reading took so much memory, with parts of the caller's.
    /// Returns them with the record of the run, which the caller completes.
    pub(super) fn embed(
        &self,
        graph: &Arc<Graph>,
        so_far: u64,
        parts: Parts<'_>,
        (mut observer, scoring): (Observer, Option<&Scoring>),
        quiet: bool,
    ) -> anyhow::Result<(Embedding, Completed)> {
        let reserved = scoring.map_or(0, |s| s.memory(graph.nodes(), self.settings.train.dim));
        let budget = Budget { memory: self.max_memory, reserved, so_far, ..Default::default() };
        let embed =
            |sink: &mut dyn Sink| nearfar::embed_with(graph, &self.settings, &budget, parts, sink);
        let embedding = match scoring {
            None => embed(&mut observer)?,
            Some(scoring) => {
                let mut scores = scoring.sink(graph, &mut observer)?;
                let last = embed(&mut scores)?;
                scoring::chosen(scores.best(), last, quiet)?
            }
        };
        Ok((embedding, observer.finish()?))
    }
}

/// Whether a setting was given on the command line.
fn is_given(given: &clap::ArgMatches, setting: &str) -> bool {
    let id = setting.replace('-', "_");
    given.value_source(&id) == Some(ValueSource::CommandLine)
}

/// The most memory that this process had, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}
