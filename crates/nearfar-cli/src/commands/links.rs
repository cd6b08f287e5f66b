//! `nearfar links`.

use std::fmt::Write;

use nearfar::Parts;
use nearfar::embedding::Embedding;
use nearfar::evaluate::{LinkScores, LinksConfig, Ranking, links};
use nearfar::graph::{Dataset, ReadOptions};
use nearfar::train::Recorder;

use super::embed::Options;
use super::observer::Observer;
use crate::print::{self, counted, grouped};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The graph
    graph: String,
    #[command(flatten)]
    read: ReadOptions,
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    links: LinksConfig,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(crate) fn run(args: &mut Args, given: &clap::ArgMatches, quiet: bool) -> anyhow::Result<()> {
    args.options.complete(given)?;
    args.links.validate()?;
    let (dataset, read) = super::read(&args.graph, &args.read, quiet)?;
    let Dataset { graph, read_bytes, .. } = dataset;
    let mut first = true;
    let seed = args.options.settings.train.seed;
    let scores = links(&graph, &args.links, seed, |rest, seed| -> anyhow::Result<Embedding> {
        let mut options = args.options.clone();
        options.settings.train.seed = seed;
        // The plan is the same for every seed.
        let quiet = quiet || !std::mem::take(&mut first);
        let observer = Observer::new(Recorder::default(), quiet)?;
        let parts = Parts { backend: options.backend(), ..Default::default() };
        Ok(options.embed(rest, read_bytes, parts, (observer, None), quiet)?.0)
    })?;
    if scores.held_out < scores.asked && !quiet {
        print::message(&format!(
            "held out {} instead of {}, so that the rest stays connected; use --keep-connected \
             false to hold out more",
            counted(scores.held_out, "edge"),
            scores.asked
        ));
    }
    if args.json {
        print::json_with_read(&scores, &read)
    } else {
        print::result(&table(args, &scores))
    }
}

fn table(args: &Args, scores: &LinkScores) -> String {
    let count = |number: usize| grouped(number as u64);
    let mut text = format!(
        "{}: {} of {} edges held out, {}; as many pairs without an edge; {} seed{}\n\n",
        args.graph,
        count(scores.held_out),
        count(scores.edges),
        if scores.keep_connected { "the rest connected as before" } else { "any of them" },
        args.links.seeds,
        if args.links.seeds == 1 { "" } else { "s" },
    );
    let mut rows: Vec<(&str, &Ranking)> = vec![
        ("dot product", &scores.dot),
        ("hadamard", &scores.operators.hadamard),
        ("average", &scores.operators.average),
        ("l1", &scores.operators.l1),
        ("l2", &scores.operators.l2),
    ];
    if let Some(reversed) = &scores.reversed {
        rows.insert(1, ("reversed", reversed));
    }
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "  {:<12} {:<17}  {:<17}  {:<17}  {:>8}  {:>8}  {:>8}",
        "", "AUC", "avg. precision", "MRR", "Hits@10", "Hits@50", "Hits@100"
    );
    for (name, ranking) in rows {
        let line = format!(
            "  {name:<12} {:<17}  {:<17}  {:<17}  {:>8.4}  {:>8.4}  {:>8.4}",
            ranking.auc.to_string(),
            ranking.average_precision.to_string(),
            ranking.mrr.to_string(),
            ranking.hits_at_10.mean,
            ranking.hits_at_50.mean,
            ranking.hits_at_100.mean
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}
