//! `nearfar neighbors`.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::Context;
use nearfar::embedding::{Embedding, Similarity};
use unicode_width::UnicodeWidthStr;

use crate::print;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// File of vectors: .npy, .w2v, .txt, .bin, .parquet, .safetensors or .tsv
    #[arg(value_name = "EMB")]
    embedding: PathBuf,
    /// Id of the node
    #[arg(value_name = "ID", allow_hyphen_values = true)]
    node: String,
    /// Number of neighbours
    #[arg(short, long, value_name = "K", default_value_t = 10, help_heading = "Output")]
    k: usize,
    /// Rank by dot product instead of cosine similarity
    #[arg(long, help_heading = "Output")]
    dot: bool,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    json: bool,
}

#[derive(serde::Serialize)]
struct Neighbors<'a> {
    node: &'a str,
    neighbors: Vec<Neighbor>,
}

#[derive(serde::Serialize)]
struct Neighbor {
    node: String,
    similarity: f32,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let embedding = Embedding::load(&args.embedding)?;
    embedding.check_finite().with_context(|| args.embedding.display().to_string())?;
    let node = embedding.ids().find(&args.node).with_context(|| {
        let first = embedding.ids().get(0);
        let file = args.embedding.display();
        format!("{file}: no node '{}'; the first id is '{first}'", args.node)
    })?;
    let similarity = if args.dot { Similarity::Dot } else { Similarity::Cosine };
    let neighbors =
        embedding.neighbours(node, args.k, similarity).into_iter().map(|(node, similarity)| {
            Neighbor { node: embedding.ids().get(node).into_owned(), similarity }
        });
    let neighbors = Neighbors { node: &args.node, neighbors: neighbors.collect() };
    if args.json { print::json(&neighbors) } else { print::result(&table(&neighbors, similarity)) }
}

fn table(found: &Neighbors, similarity: Similarity) -> String {
    /// One id of a thousand characters does not move all numbers out of sight.
    const WIDEST: usize = 60;
    let similarity = match similarity {
        Similarity::Cosine => "cosine similarity",
        Similarity::Dot => "dot product",
    };
    let mut text = format!("nearest neighbours of node {} by {similarity}\n", found.node);
    let ids: Vec<_> =
        found.neighbors.iter().map(|found| print::escaped_line(&found.node)).collect();
    let widths = ids.iter().map(|id| id.width()).filter(|&width| width <= WIDEST);
    let widest = widths.max().unwrap_or(0);
    for ((rank, id), Neighbor { similarity, .. }) in (1..).zip(&ids).zip(&found.neighbors) {
        let padding = widest.saturating_sub(id.width());
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {rank:>4}  {id}{:padding$}  {similarity:8.4}", "");
    }
    text
}
