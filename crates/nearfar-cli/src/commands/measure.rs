//! `nearfar measure`.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use nearfar::embedding::Embedding;
use nearfar::evaluate::measure::{Counted, MeasureConfig, Measures, measure};
use nearfar::graph::ReadOptions;

use crate::print::{self, grouped, number};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// File of vectors: .npy, .w2v, .txt, .bin, .parquet, .safetensors or .tsv
    #[arg(value_name = "EMB")]
    embedding: PathBuf,
    /// The embedded graph
    graph: String,
    #[command(flatten)]
    read: ReadOptions,
    #[command(flatten)]
    measure: MeasureConfig,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(crate) fn run(args: &Args, quiet: bool) -> anyhow::Result<()> {
    args.measure.validate()?;
    let file = || args.embedding.display().to_string();
    let embedding = Embedding::load(&args.embedding)?;
    let (dataset, read) = super::read(&args.graph, &args.read, quiet)?;
    let graph = Arc::new(dataset.graph);
    let measures = measure(&embedding, &graph, &args.measure).with_context(file)?;
    if args.json {
        return print::json_with_read(&measures, &read);
    }
    print::result(&table(&measures))
}

fn table(found: &Measures) -> String {
    let config = &found.config;
    let mut text = format!(
        "{} vectors of {} dimensions; {}\nC = {}, K = {}, γ = {}\n\n",
        grouped(found.nodes as u64),
        found.dim,
        method(found),
        config.context,
        config.k,
        config.negatives.gamma
    );
    let interval = found.interval.as_ref();
    let mut line = |label: &str, value: f64, interval: Option<f64>, note: &str| {
        let interval = interval.map_or(String::new(), |half| format!(" ± {}", number(half)));
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {label:<24} {}{interval}{note}", number(value));
    };
    line("cohesion", found.cohesion, interval.map(|i| i.cohesion), "");
    line("separation", found.separation, interval.map(|i| i.separation), "");
    let uniform = &found.uniform;
    let half = interval.map(|i| i.separation_uniform);
    line("  uniform negatives", uniform.separation, half, "");
    if let (Some(power), Some(of_means)) = (found.separation_power, found.separation_power_of_means)
    {
        let note = format!("  ({} from mean β; uniform negatives: 1)", number(of_means));
        line("separation power", power, None, &note);
    }
    let spearman = found.spearman.unwrap_or(f64::NAN);
    line("rank correlation", spearman, None, "  (Spearman, distance and similarity)");
    let half = interval.map(|i| i.mean_total_distance);
    let holds = match found.corollary.iter().filter(|holds| **holds).count() {
        0 => format!("  (D/d > n = {} for no d)", found.nodes),
        count => {
            let most = found.length.as_ref().map_or(count as f64, |length| length[count - 1]);
            format!("  (D/d > n = {} for d ≤ {most})", found.nodes)
        }
    };
    line("total distance D", found.mean_total_distance, half, &holds);
    if let Some(objective) = &found.objective {
        let centres = match objective.centres {
            all if all == found.nodes => "all centres".to_owned(),
            some => format!("{} centres", grouped(some as u64)),
        };
        let (law, w, l2) = (objective.law.name(), config.negative_weight, config.l2);
        let note = format!("  ({law} negatives, w = {w}, λ = {l2}, {centres})");
        line("objective", objective.loss, objective.interval, &note);
        line("  positives", objective.positive, None, "");
        line("  negatives", objective.negative, None, "");
        line("  regularisation", objective.regularisation, None, "");
    }
    text + &distances(found)
}

/// Which pairs were counted, and how α was computed.
fn method(found: &Measures) -> String {
    let pairs = match found.counted {
        Counted::All => "all pairs".to_owned(),
        Counted::Sampled => {
            let interval = if found.interval.is_some() { ", 95 % intervals" } else { "" };
            format!("estimated from {} sources{interval}", grouped(found.sources as u64))
        }
    };
    match found.alpha_walks {
        None => pairs,
        Some(walks) => format!("{pairs}, α from {} walks per source", grouped(walks as u64)),
    }
}

/// One line per distance.
fn distances(found: &Measures) -> String {
    let small = |value: f64| format!("{value:.2e}");
    let fixed = |value: f64| format!("{value:.5}");
    let uniform = small(found.uniform.beta);
    let unit = if found.length.is_some() { "d ≤" } else { "d" };
    let head = [unit, "pairs", "ξ", "std of ξ", "± 95 %", "α", "β distance", "β uniform"];
    let mut rows = vec![head.map(str::to_owned)];
    for (index, d) in found.distance.iter().enumerate() {
        let half = found.interval.as_ref().map_or(f64::NAN, |interval| interval.xi[index]);
        rows.push([
            found.length.as_ref().map_or(d.to_string(), |length| length[index].to_string()),
            grouped(found.pairs[index]),
            fixed(found.xi[index]),
            fixed(found.xi_std[index]),
            if half.is_nan() { String::new() } else { fixed(half) },
            small(found.alpha[index]),
            small(found.beta[index]),
            uniform.clone(),
        ]);
    }
    if let Some(far) = &found.far {
        let (xi, std) = (fixed(far.xi), fixed(far.xi_std));
        let (pairs, beta) = (grouped(far.pairs), small(far.beta));
        rows.push(["far".to_owned(), pairs, xi, std, String::new(), small(0.0), beta, uniform]);
    }
    let mut text = String::from("\n");
    for row in &rows {
        let mut line = format!("  {:>5}  {:>15}  {:>8}  {:>9}", row[0], row[1], row[2], row[3]);
        if found.interval.is_some() {
            let _ = write!(line, "  {:>8}", row[4]);
        }
        let _ = writeln!(text, "{line}  {:>8}  {:>10}  {:>9}", row[5], row[6], row[7]);
    }
    text
}
