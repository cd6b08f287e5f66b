//! `nearfar show`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use nearfar::embedding::Embedding;
use nearfar::encode::NetworkModel;
use nearfar::graph::{ReadOptions, packed_record, read};
use serde_json::{Map, Value};

use crate::print::{self, counted};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// File of vectors, a trained network (.safetensors), a packed graph (.nfg), or a report (.html)
    file: PathBuf,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// What a file holds, and how it was made.
#[derive(serde::Serialize)]
struct Shown {
    file: String,
    kind: &'static str,
    nodes: Option<usize>,
    dim: Option<usize>,
    /// Edges of a graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    edges: Option<usize>,
    /// The version of the program that wrote the file.
    version: Value,
    /// The fingerprint of the graph.
    graph: Value,
    seed: Value,
    /// Every other setting, as it was resolved; of a packed graph, the options of reading.
    settings: Map<String, Value>,
    /// Why there is no record.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let shown = match extension(&args.file).as_str() {
        "nfg" => graph(&args.file)?,
        "html" | "htm" => report(&args.file)?,
        _ => vectors(&args.file)?,
    };
    if args.json { print::json(&shown) } else { print::result(&shown.text()) }
}

fn vectors(file: &Path) -> anyhow::Result<Shown> {
    let embedding = match Embedding::load(file) {
        Ok(embedding) => embedding,
        Err(error) => return network(file).ok_or(error.into()),
    };
    let shown = Shown::new(file, "vectors", embedding.provenance().clone());
    Ok(Shown {
        nodes: Some(embedding.nodes()),
        dim: Some(embedding.dim()),
        note: shown.note.map(|note| match extension(file).as_str() {
            "parquet" | "safetensors" => note,
            _ => {
                "this format has no place for a record; write .parquet or .safetensors to keep one"
            }
        }),
        ..shown
    })
}

/// A network of `embed --save-model`, if the file is one.
fn network(file: &Path) -> Option<Shown> {
    let model = NetworkModel::load(file).ok()?;
    let shown = Shown::new(file, "network", model.provenance().clone());
    Some(Shown { dim: Some(model.dim()), ..shown })
}

fn graph(file: &Path) -> anyhow::Result<Shown> {
    let mut record = packed_record(file)?;
    let name = file.to_str().context("the name of the file is not UTF-8")?;
    let graph = read(name, &ReadOptions::default())?.graph;
    record.insert("graph".to_owned(), format!("{:016x}", graph.fingerprint()).into());
    if let Some(Value::Object(options)) = record.shift_remove("read") {
        record.extend(options);
    }
    let shown = Shown::new(file, "graph", record);
    Ok(Shown { nodes: Some(graph.nodes()), edges: Some(graph.edges()), ..shown })
}

fn report(file: &Path) -> anyhow::Result<Shown> {
    let record = nearfar::report::record(file)?;
    let settings = record.get("settings").and_then(Value::as_object).cloned().unwrap_or_default();
    let number = |name: &str| record.get(name).and_then(Value::as_u64).map(|it| it as usize);
    let shown = Shown::new(file, "report", settings);
    let version = record.get("version").cloned().unwrap_or_default();
    Ok(Shown { nodes: number("nodes"), dim: number("dim"), version, ..shown })
}

impl Shown {
    fn new(file: &Path, kind: &'static str, mut record: Map<String, Value>) -> Self {
        let note = record.is_empty().then_some("the file has no record of how it was made");
        let mut take = |name: &str| record.shift_remove(name).unwrap_or_default();
        let (version, graph, seed) = (take("version"), take("graph"), take("seed"));
        record.retain(|_, value| !value.is_null());
        let file = file.display().to_string();
        let (nodes, dim, edges) = (None, None, None);
        Self { file, kind, nodes, dim, edges, version, graph, seed, settings: record, note }
    }

    fn text(&self) -> String {
        let mut sizes = Vec::new();
        sizes.extend(self.nodes.map(|nodes| counted(nodes, "node")));
        sizes.extend(self.edges.map(|edges| counted(edges, "edge")));
        sizes.extend(self.dim.map(|dim| counted(dim, "dimension")));
        let mut text = format!("{}: {}, {}\n", self.file, self.kind, sizes.join(", "));
        // Writing to a String cannot fail.
        if let Some(note) = self.note {
            let _ = writeln!(text, "  {note}");
        }
        let head = [("version", &self.version), ("graph", &self.graph), ("seed", &self.seed)];
        let head = head.into_iter().filter(|(_, value)| !value.is_null());
        let settings = self.settings.iter().map(|(name, value)| (name.as_str(), value));
        let lines: Vec<_> = head.chain(settings).collect();
        let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, value) in lines {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let _ = writeln!(text, "  {name:width$}  {value}");
        }
        text
    }
}

fn extension(file: &Path) -> String {
    file.extension().unwrap_or_default().to_string_lossy().to_lowercase()
}
