//! `nearfar report`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use nearfar::embedding::Embedding;
use nearfar::evaluate::{read_labels, read_splits, splits_in};
use nearfar::file::check_not_input;
use nearfar::graph::ReadOptions;
use nearfar::report::{Columns, Log, ReportConfig, Subject, check_writable, write_report};

use crate::print;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// File of vectors: .npy, .w2v, .txt, .bin, .parquet, .safetensors or .tsv
    #[arg(value_name = "EMB")]
    embedding: PathBuf,
    /// The embedded graph; labels and splits of a dataset folder are used too
    #[arg(long, help_heading = "Input")]
    graph: Option<String>,
    /// File of lines `node<TAB>label`, several labels separated by commas; or a dataset folder
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    labels: Option<PathBuf>,
    /// File of lines `node<TAB>train|val|test`, or a dataset folder [default: random splits]
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    splits: Option<PathBuf>,
    /// Training log written by `nearfar embed --log`
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    log: Option<PathBuf>,
    /// Link prediction scores printed by `nearfar links --json`
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    links: Option<PathBuf>,
    /// Table with a header and a line for each node, separated by tabs, commas or semicolons: columns to
    /// colour, filter and show by
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    columns: Option<PathBuf>,
    /// File of other vectors of the same nodes, to compare with
    #[arg(long, value_name = "EMB", help_heading = "Input")]
    against: Option<PathBuf>,
    #[command(flatten)]
    read: ReadOptions,
    /// HTML file to write
    #[arg(
        short,
        long,
        value_name = "FILE",
        default_value = "report.html",
        help_heading = "Output"
    )]
    output: PathBuf,
    #[command(flatten)]
    report: ReportConfig,
}

pub(crate) fn run(args: &Args, quiet: bool) -> anyhow::Result<()> {
    check_writable(&args.output)?;
    let mut inputs = vec![args.embedding.clone()];
    if let Some(graph) = &args.graph {
        inputs.extend(super::graph_files(graph, &args.read));
    }
    inputs.extend(
        [&args.labels, &args.splits, &args.log, &args.links, &args.columns, &args.against]
            .into_iter()
            .flatten()
            .cloned(),
    );
    check_not_input(&args.output, &inputs)?;
    let mut embedding = Embedding::load(&args.embedding)?;
    let (mut graph, mut labels, mut splits) = (None, None, None);
    if let Some(source) = &args.graph {
        let (dataset, _) = super::read(source, &args.read, quiet)?;
        let file = || args.embedding.display().to_string();
        embedding = embedding.in_order_of(&dataset.graph).with_context(file)?;
        (labels, splits) = (dataset.labels, dataset.splits);
        graph = Some(Arc::new(dataset.graph));
    }
    if let Some(path) = &args.labels {
        let (of_nodes, notes) = read_labels(path, &embedding)?;
        super::print_notes(&notes, quiet);
        labels = Some(of_nodes);
    }
    let splits_file = match (&args.splits, &args.labels) {
        (Some(path), _) => Some(path.clone()),
        (None, Some(folder)) => {
            splits = None;
            splits_in(folder)
        }
        (None, None) => None,
    };
    if let Some(path) = splits_file {
        let (of_nodes, notes) = read_splits(&path, &embedding)?;
        super::print_notes(&notes, quiet);
        splits = Some(of_nodes);
    }
    let columns = match &args.columns {
        Some(path) => {
            let (columns, notes) = Columns::read(path, &embedding)?;
            super::print_notes(&notes, quiet);
            Some(columns)
        }
        None => None,
    };
    let against = args.against.as_deref().map(|path| other(path, &embedding)).transpose()?;
    let (name, other_name) = (name(&args.embedding), args.against.as_deref().map(name));
    let subject = Subject {
        graph: graph.as_ref(),
        labels: labels.as_ref(),
        splits: splits.as_ref(),
        log: args.log.as_deref().map(Log::File),
        links: args.links.as_deref(),
        columns: columns.as_ref(),
        against: other_name.as_deref().zip(against.as_ref()),
        ..Subject::new(&name, &embedding)
    };
    write(&args.output, &subject, &args.report, quiet)
}

/// The vectors to compare with, in the order of the first ones.
fn other(path: &Path, first: &Embedding) -> anyhow::Result<Embedding> {
    let file = || path.display().to_string();
    Embedding::load(path)?.in_order_of_nodes(first.ids()).with_context(file)
}

/// Writes the report, and prints its size.
pub(super) fn write(
    output: &Path,
    subject: &Subject,
    config: &ReportConfig,
    quiet: bool,
) -> anyhow::Result<()> {
    let start = Instant::now();
    write_report(output, subject, config)?;
    if !quiet {
        let bytes = std::fs::metadata(output)?.len() as f64;
        let seconds = start.elapsed().as_secs_f64();
        let output = output.display();
        print::message(&format!("wrote {output}: {:.1} MB ({seconds:.2} s)", bytes / 1e6));
    }
    Ok(())
}

/// The name of a file without its folder and extension.
pub(super) fn name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
