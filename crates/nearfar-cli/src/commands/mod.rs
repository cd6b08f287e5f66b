//! One file per command.

mod apply;
mod completions;
mod embed;
mod evaluate;
mod links;
mod measure;
mod neighbors;
mod observer;
mod options;
mod outliers;
mod pack;
mod report;
mod sample;
mod scoring;
mod show;
mod stats;
mod synth;
mod update;

use std::path::{Path, PathBuf};
use std::time::Instant;

use nearfar::error::Problem;
use nearfar::graph::{Dataset, ReadOptions, ReadSummary};

use crate::{TrainOnCluster, print};

// The comments below are the help texts, shown with these line breaks.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Train an embedding: one vector per node of a graph
    ///
    /// Examples:
    ///   nearfar embed graph.tsv -o vectors.npy
    ///   nearfar embed builtin:karate --negatives distance --dim 64 --seed 1 -o karate.parquet
    #[command(verbatim_doc_comment)]
    Embed(Box<embed::Args>),
    /// Update vectors to a graph that changed: new nodes get vectors, unchanged ones keep theirs
    ///
    /// Example:
    ///   nearfar update vectors.npy --graph new.tsv -o new.npy
    #[command(verbatim_doc_comment)]
    Update(update::Args),
    /// Compute vectors of the nodes of another graph from their features, with a trained network
    ///
    /// Example:
    ///   nearfar embed old.tsv --model sage --features old.npy --save-model sage.safetensors
    ///   nearfar apply sage.safetensors new.tsv --features new.npy -o new-vectors.npy
    #[command(verbatim_doc_comment)]
    Apply(apply::Args),
    /// Score vectors by node classification with logistic regression
    ///
    /// Examples:
    ///   nearfar evaluate vectors.npy --labels labels.tsv --train-ratio 0.1 --repeats 10
    ///   nearfar evaluate vectors.npy --labels cora/ --json
    #[command(verbatim_doc_comment)]
    Evaluate(evaluate::Args),
    /// Score an embedding by link prediction on held-out edges
    ///
    /// Example:
    ///   nearfar links graph.tsv --test-ratio 0.1 --seeds 3
    #[command(verbatim_doc_comment)]
    Links(links::Args),
    /// Measure how the similarity of vectors depends on the distance of their nodes
    ///
    /// Example:
    ///   nearfar measure vectors.npy graph.tsv
    #[command(verbatim_doc_comment)]
    Measure(measure::Args),
    /// Print graph statistics: nodes, edges, components, distances between nodes
    ///
    /// Example:
    ///   nearfar stats graph.tsv
    #[command(verbatim_doc_comment)]
    Stats(stats::Args),
    /// Draw negatives of one node, and count them by node and by distance
    ///
    /// Example:
    ///   nearfar sample builtin:karate --node 0 -n 10000 --negatives distance
    #[command(verbatim_doc_comment)]
    Sample(sample::Args),
    /// Generate a synthetic graph with labels and splits, as in the paper
    ///
    /// Examples:
    ///   nearfar synth moderate -o moderate/
    ///   nearfar synth --exponent 2.5 --nodes 10000 -o graph/
    #[command(verbatim_doc_comment)]
    Synth(synth::Args),
    /// Pack a graph into a file that opens at once, whatever its size, and that processes share
    ///
    /// Example:
    ///   nearfar pack edges.tsv.gz -o graph.nfg
    #[command(verbatim_doc_comment)]
    Pack(pack::Args),
    /// Add outliers to a labelled graph: distant nodes with the label of a class
    ///
    /// Example:
    ///   nearfar outliers citeseer/ --count 40 -o citeseer-40/
    #[command(verbatim_doc_comment)]
    Outliers(outliers::Args),
    /// List the nodes with the most similar vectors
    ///
    /// Example:
    ///   nearfar neighbors vectors.npy alice -k 10
    #[command(verbatim_doc_comment)]
    Neighbors(neighbors::Args),
    /// Show how a file was made: version, graph, seed and resolved settings
    ///
    /// Example:
    ///   nearfar show vectors.parquet
    #[command(verbatim_doc_comment)]
    Show(show::Args),
    /// Write an HTML report: a map of the vectors, neighbours of any node, scores
    ///
    /// Example:
    ///   nearfar report vectors.npy --graph graph.tsv --labels labels.tsv -o report.html
    #[command(verbatim_doc_comment)]
    Report(report::Args),
    /// Reproduce the tables and figures of the paper
    ///
    /// Examples:
    ///   nearfar paper table2 --data datasets/ -o paper/
    ///   nearfar paper all --data datasets/ -o paper/ --quick
    #[command(verbatim_doc_comment)]
    Paper(nearfar_paper::Args),
    /// Print a script for tab completion in a shell
    ///
    /// Examples:
    ///   nearfar completions bash > ~/.local/share/bash-completion/completions/nearfar
    ///   nearfar completions fish > ~/.config/fish/completions/nearfar.fish
    #[command(verbatim_doc_comment)]
    Completions(completions::Args),
    /// Print every command with its options as JSON, for what is generated from them
    #[command(hide = true)]
    Options,
}

impl Command {
    /// Runs the command. `matches` are the parsed arguments, for commands that have to know
    /// whether an option was given. `cluster` runs `embed --cluster`.
    pub(crate) fn run(
        self,
        matches: &clap::ArgMatches,
        quiet: bool,
        cluster: Option<TrainOnCluster<'_>>,
    ) -> anyhow::Result<()> {
        match self {
            Self::Embed(mut args) => embed::run(&mut args, matches, quiet, cluster),
            Self::Apply(args) => apply::run(&args, quiet),
            Self::Update(mut args) => update::run(&mut args, matches, quiet),
            Self::Evaluate(args) => evaluate::run(&args, quiet),
            Self::Links(mut args) => links::run(&mut args, matches, quiet),
            Self::Stats(args) => stats::run(&args, quiet),
            Self::Sample(args) => sample::run(&args, quiet),
            Self::Synth(args) => synth::run(&args, quiet),
            Self::Pack(args) => pack::run(&args, quiet),
            Self::Outliers(args) => outliers::run(&args, quiet),
            Self::Measure(args) => measure::run(&args, quiet),
            Self::Paper(args) => nearfar_paper::run(&args, &|text| {
                if !quiet {
                    print::message(text);
                }
            }),
            Self::Neighbors(args) => neighbors::run(&args),
            Self::Show(args) => show::run(&args),
            Self::Report(args) => report::run(&args, quiet),
            Self::Completions(args) => completions::run(&args),
            Self::Options => options::run(),
        }
    }
}

/// The files that a graph is read from.
fn graph_files(source: &str, options: &ReadOptions) -> Vec<PathBuf> {
    let path = Path::new(source);
    let mut files = if path.is_dir() { Dataset::files(path) } else { vec![path.to_owned()] };
    files.extend(options.nodes.clone());
    files
}

/// Reads a graph, and reports on standard error what was read, merged, dropped and assumed.
fn read(
    source: &str,
    options: &ReadOptions,
    quiet: bool,
) -> anyhow::Result<(Dataset, ReadSummary)> {
    let start = Instant::now();
    let dataset = nearfar::graph::read(source, options)?;
    let summary = ReadSummary::new(source, &dataset, start.elapsed().as_secs_f64());
    if !quiet {
        print::message(&summary.to_string());
        for note in &summary.notes {
            print::message(&format!("{source}: {note}"));
        }
    }
    Ok((dataset, summary))
}

/// Reports how files of labels and splits were read.
fn print_notes(notes: &[Problem], quiet: bool) {
    for note in notes.iter().filter(|_| !quiet) {
        print::message(&format!("note: {note}"));
    }
}
