//! What there is to say about vectors in numbers.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::Subject;
use crate::distance::Summary;
use crate::error::{Error, Result};
use crate::evaluate::measure::{MeasureConfig, measure};
use crate::evaluate::{ClassifyConfig, classify};
use crate::file::read_text;
use crate::graph::{Graph, Labels, Node};

/// In larger graphs, distances and measures are estimated from this many nodes.
const SOURCES: usize = 1024;
const LARGE: usize = 30_000;

/// Statistics, measures and scores, as the commands print them with `--json`. What cannot be told is
/// left out, and `notes` say why.
pub(super) fn numbers(
    subject: &Subject,
    seed: u64,
    notes: &mut Vec<String>,
) -> Result<Map<String, Value>> {
    let mut numbers = Map::new();
    let mut put = |name: &str, value: Value| numbers.insert(name.to_owned(), value);
    if let Some(graph) = subject.graph {
        let sources = (graph.nodes() > LARGE).then_some(SOURCES);
        let classes = subject.labels.map(Labels::classes);
        put("graph", as_json(&Summary { classes, ..Summary::new(graph, sources, seed) })?);
        put("degrees", json!(degrees(graph)));
        let config = MeasureConfig { sources, seed, ..measured_by(subject) };
        match measure(subject.embedding, graph, &config) {
            Ok(measures) => drop(put("measures", as_json(&measures)?)),
            Err(error) => notes.push(format!("No measures: {error}.")),
        }
    }
    if let Some(labels) = subject.labels {
        put("class_sizes", json!(class_sizes(labels)));
        let config = ClassifyConfig { seed, per_class: true, ..Default::default() };
        match classify(subject.embedding, labels, subject.splits, &config) {
            Ok(scores) => drop(put("classification", as_json(&scores)?)),
            Err(error) => notes.push(format!("No classification: {error}.")),
        }
    }
    if let Some(path) = subject.links {
        put("links", parse(path, 1, &read_text(path)?)?);
    }
    if let Some(path) = subject.log {
        let log = read_text(path)?;
        let lines = (1..).zip(log.lines()).filter(|(_, line)| !line.trim().is_empty());
        let events: Result<Vec<Value>> =
            lines.map(|(number, line)| parse(path, number, line)).collect();
        put("log", Value::Array(events?));
    }
    if let Some(settings) = subject.settings {
        put("settings", Value::Object(settings.fields().collect()));
    }
    Ok(numbers)
}

/// Walks and negatives are measured as they were trained, where that is known.
fn measured_by(subject: &Subject) -> MeasureConfig {
    subject.settings.map_or_else(MeasureConfig::default, |settings| MeasureConfig {
        context: settings.train.context,
        k: settings.train.k,
        gamma: settings.negatives.gamma,
        far: settings.negatives.far,
        ..Default::default()
    })
}

/// How many nodes have how many neighbours.
fn degrees(graph: &Graph) -> Vec<(usize, usize)> {
    let mut counts = BTreeMap::new();
    for node in 0..graph.nodes() as Node {
        *counts.entry(graph.degree(node)).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

/// How many nodes have each label.
fn class_sizes(labels: &Labels) -> Vec<usize> {
    let mut sizes = vec![0; labels.names.len()];
    for &label in labels.of.iter().flatten() {
        sizes[label as usize] += 1;
    }
    sizes
}

fn as_json(value: &impl serde::Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(|error| Error::Option(error.to_string()))
}

fn parse(path: &Path, line: u64, text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|error| {
        Error::line(path, line, format!("{error}; this takes what nearfar wrote as JSON"))
    })
}
