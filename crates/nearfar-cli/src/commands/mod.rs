//! One file for each command.

mod embed;
mod evaluate;
mod links;
mod measure;
mod neighbors;
mod observer;
mod outliers;
mod report;
mod sample;
mod scoring;
mod stats;
mod synth;

use nearfar::graph::{Dataset, ReadOptions};
use nearfar::parse_bytes as memory;

use crate::print;

/// What to do.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Make a vector for every node of a graph
    Embed(embed::Args),
    /// Score vectors by how well a linear classifier learns the labels of nodes from them
    Evaluate(evaluate::Args),
    /// Hold out edges, embed the rest, and score how well the vectors predict them
    Links(links::Args),
    /// Describe a graph: sizes, components, and how far apart its nodes are
    Stats(stats::Args),
    /// Draw negatives of one node and count them
    Sample(sample::Args),
    /// Make one of the paper's synthetic graphs, with labels and splits
    Synth(synth::Args),
    /// Add outliers to a labelled graph: nodes that carry the label of a class far away
    Outliers(outliers::Args),
    /// Measure how the similarity of vectors goes with the distance of their nodes
    Measure(measure::Args),
    /// Run the experiments of the paper: tables, figures, pages
    Paper(nearfar_paper::Args),
    /// Find the nodes whose vectors are most like that of one node
    Neighbors(neighbors::Args),
    /// Make one page to look at: a map of the vectors, who is near and far, and the numbers
    Report(report::Args),
}

impl Command {
    /// Runs it. `given` is what was parsed, for those who ask whether an option was there.
    pub(crate) fn run(self, given: &clap::ArgMatches, quiet: bool) -> anyhow::Result<()> {
        match self {
            Self::Embed(mut args) => embed::run(&mut args, given, quiet),
            Self::Evaluate(args) => evaluate::run(&args, quiet),
            Self::Links(mut args) => links::run(&mut args, given, quiet),
            Self::Stats(args) => stats::run(&args, quiet),
            Self::Sample(args) => sample::run(&args, quiet),
            Self::Synth(args) => synth::run(&args, quiet),
            Self::Outliers(args) => outliers::run(&args, quiet),
            Self::Measure(args) => measure::run(&args, quiet),
            Self::Paper(args) => nearfar_paper::run(&args, &|text| {
                if !quiet {
                    print::message(text);
                }
            }),
            Self::Neighbors(args) => neighbors::run(&args),
            Self::Report(args) => report::run(&args, quiet),
        }
    }
}

/// Reads a graph and tells on standard error what was left out or guessed.
fn read(source: &str, options: &ReadOptions, quiet: bool) -> anyhow::Result<Dataset> {
    let dataset = nearfar::graph::read(source, options)?;
    if !quiet {
        for note in &dataset.notes {
            print::message(&format!("{source}: {note}"));
        }
        let dropped = [
            (dataset.dropped.self_loops, "self-loop", "self-loops"),
            (dataset.dropped.repeats, "repeated edge", "repeated edges"),
            (dataset.dropped.zero_weights, "edge of weight 0", "edges of weight 0"),
        ];
        let dropped: Vec<String> = dropped
            .into_iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }))
            .collect();
        if !dropped.is_empty() {
            print::message(&format!("{source}: dropped {}", dropped.join(", ")));
        }
    }
    Ok(dataset)
}
