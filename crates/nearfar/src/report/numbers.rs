//! The statistics, measures and scores of a report.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{Log, Subject};
use crate::distance::{DistanceSummary, Far};
use crate::error::{Error, Result};
use crate::evaluate::measure::{MeasureConfig, measure};
use crate::evaluate::{ClassifyConfig, classify};
use crate::file::read_text;
use crate::graph::{Components, Graph, Labels, Node};

/// Source nodes of sampled distances and measures.
const SOURCES: usize = 1024;
/// Largest number of nodes for exact distances and measures.
const MAX_EXACT: usize = 30_000;

/// Statistics, measures and scores, as the commands print them with `--json`. If one fails it is
/// omitted, and `notes` says why.
pub(super) fn numbers(
    subject: &Subject,
    config: &ClassifyConfig,
    notes: &mut Vec<String>,
) -> Result<Map<String, Value>> {
    let seed = config.seed;
    let mut numbers = Map::new();
    let mut put = |name: &str, value: Value| numbers.insert(name.to_owned(), value);
    let log = subject.log.map(read_log).transpose()?;
    let mut settings = settings(subject, log.as_deref().unwrap_or_default());
    resolve_far(&mut settings, subject);
    notes.extend(note_of_update(&settings));
    if let Some(graph) = subject.graph {
        let sources = (graph.nodes() > MAX_EXACT).then_some(SOURCES);
        let classes = subject.labels.map(Labels::classes);
        put(
            "graph",
            as_json(&DistanceSummary { classes, ..DistanceSummary::new(graph, sources, seed) })?,
        );
        put("degrees", json!(degrees(graph)));
        let measured = MeasureConfig { sources, seed, ..measure_config(&settings) };
        match measure(subject.embedding, graph, &measured) {
            Ok(measures) => drop(put("measures", as_json(&measures)?)),
            Err(error) => notes.push(format!("Measures failed: {error}.")),
        }
    }
    if let Some(labels) = subject.labels {
        // Stratified splits need one label per node.
        let several = labels.of.iter().any(|labels| labels.len() > 1);
        let config =
            &ClassifyConfig { stratified: config.stratified && !several, ..config.clone() };
        match classify(subject.embedding, labels, subject.splits, config) {
            Ok(scores) => {
                put("classification", as_json(&scores)?);
            }
            Err(error) => drop(put("classification_failed", format!("Failed: {error}.").into())),
        }
    }
    if let Some(path) = subject.links {
        let scores = parse(path, 1, &read_text(path)?)?;
        let has = |name: &str| scores[name]["mean"].is_number() && scores[name]["runs"].is_array();
        if !has("auc") || !has("average_precision") {
            let message = "no link prediction scores; expected the JSON output of nearfar links";
            return Err(Error::file(path, message));
        }
        put("links", scores);
    }
    if let Some(events) = log {
        put("log", Value::Array(events));
    }
    put("settings", Value::Object(settings));
    Ok(numbers)
}

/// Measures and scores of the embedding to compare with, as far as they can be computed.
pub(super) fn against(subject: &Subject, config: &ClassifyConfig) -> Result<Map<String, Value>> {
    let mut numbers = Map::new();
    let Some((_, embedding)) = subject.against else { return Ok(numbers) };
    let subject = &Subject { embedding, log: None, links: None, settings: None, ..*subject };
    let found = self::numbers(subject, config, &mut Vec::new())?;
    for name in ["measures", "classification", "settings"] {
        if let Some(value) = found.get(name) {
            numbers.insert(name.to_owned(), value.clone());
        }
    }
    Ok(numbers)
}

fn read_log(log: Log) -> Result<Vec<Value>> {
    let (path, log) = match log {
        Log::File(path) => (path, read_text(path)?),
        Log::Lines(lines) => (Path::new("log"), lines.to_owned()),
    };
    let lines = (1..).zip(log.lines()).filter(|(_, line)| !line.trim().is_empty());
    let mut events: Vec<Value> = Vec::new();
    // Seconds of earlier runs, where a run was resumed.
    let mut before = 0.0;
    for (number, line) in lines {
        let mut event = parse(path, number, line)?;
        let fail = |message: &str| {
            Err(Error::line(path, number, format!("{message}; expected a log of nearfar embed")))
        };
        if !event.is_object() {
            return fail("not a JSON object");
        }
        // JSON has no NaN: numbers that are not finite are null.
        let has = |name: &str| event.get(name).is_some_and(|it| it.is_number() || it.is_null());
        let fields = ["loss", "pairs", "seconds"];
        match event["event"].as_str() {
            Some("epoch") if !fields.into_iter().all(has) || !event["epoch"].is_number() => {
                return fail("an epoch event lacks epoch, loss, pairs or seconds");
            }
            Some("scores") if !event["epoch"].is_number() => {
                return fail("a scores event lacks epoch");
            }
            Some("resumed") => {
                // What a run did after its checkpoint is done again.
                let again = |it: &Value| it["epoch"].as_u64() > event["epoch"].as_u64();
                events.retain(|it| it["event"] == "resumed" || !again(it));
                let last = events.iter().rev().find(|it| it["event"] == "epoch");
                before = last.and_then(|it| it["seconds"].as_f64()).unwrap_or(0.0);
            }
            // A run that began anew.
            Some("started") => before = 0.0,
            _ => {}
        }
        if let Some(seconds) = event["seconds"].as_f64() {
            event["seconds"] = (before + seconds).into();
        }
        events.push(event);
    }
    Ok(events)
}

/// What distances are, where edges have lengths or directions: the page itself searches by hops, and
/// estimates them without directions.
pub(super) fn notes_of_distances(graph: &Graph, estimated: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if graph.has_lengths() {
        let note = "Edges have lengths: distances in statistics and measures are the lengths of shortest \
                    paths; those of the maps and from a selected node are hops.";
        notes.push(note.to_owned());
    }
    if graph.is_directed() {
        let (followed, hops) = if estimated {
            ("statistics of distances and measures follow them", "hops from a selected node, ")
        } else {
            ("statistics of distances, measures and hops from a selected node follow them", "")
        };
        notes.push(format!(
            "Edges have directions: {followed}; {hops}layouts, and colours by community, component, degree \
             and core number, are those without directions."
        ));
    }
    notes
}

/// What an update moved.
fn note_of_update(settings: &Map<String, Value>) -> Option<String> {
    let updated = settings.get("updated")?;
    let count = |name: &str| updated.get(name).and_then(Value::as_u64);
    let (new, removed) = (count("new")?, count("removed")?);
    let (moved, kept) = (count("moved")?, count("kept")?);
    Some(format!(
        "These vectors were updated to a graph that changed: {new} new nodes, {removed} removed, {moved} \
         moved, {kept} as before."
    ))
}

/// The resolved settings of the run: as given, or from the vectors, or from the log.
fn settings(subject: &Subject, log: &[Value]) -> Map<String, Value> {
    match subject.settings {
        Some(settings) => settings.clone(),
        None if !subject.embedding.provenance().is_empty() => {
            subject.embedding.provenance().clone()
        }
        None => {
            log.iter().find_map(|event| event["settings"].as_object()).cloned().unwrap_or_default()
        }
    }
}

/// The distance of unconnected pairs, where the settings leave it to the graph.
fn resolve_far(settings: &mut Map<String, Value>, subject: &Subject) {
    if let (Some(far), Some(graph)) = (settings.get_mut("far"), subject.graph)
        && far == "auto"
    {
        *far = if graph.has_lengths() {
            Far::Auto.length(graph).into()
        } else {
            Far::Auto.hops(graph, &Components::new(graph)).into()
        };
    }
}

/// Measures with the training's walks and negatives, where those are known.
fn measure_config(settings: &Map<String, Value>) -> MeasureConfig {
    let known = ["context", "k", "gamma", "far"].into_iter();
    let known: Map<String, Value> =
        known.filter_map(|name| Some((name.to_owned(), settings.get(name)?.clone()))).collect();
    serde_json::from_value(Value::Object(known)).unwrap_or_default()
}

/// The degree distribution: (degree, number of nodes).
fn degrees(graph: &Graph) -> Vec<(usize, usize)> {
    let mut counts = BTreeMap::new();
    for node in 0..graph.nodes() as Node {
        *counts.entry(graph.degree(node)).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

fn as_json(value: &impl serde::Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(|error| Error::conflict(error.to_string()))
}

fn parse(path: &Path, line: u64, text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|error| {
        Error::line(path, line, format!("{error}; expected JSON written by nearfar"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(text: &str) -> Result<Vec<Value>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        std::fs::write(&path, text).unwrap();
        read_log(Log::File(&path))
    }

    const EPOCH: &str = r#"{"event":"epoch","epoch":1,"pairs":2,"loss":0.5,"seconds":1.5}"#;

    #[test]
    fn numbers_that_are_not_finite_are_null() {
        let events = log(&EPOCH.replace("0.5", "null").replace("1.5", "null")).unwrap();
        assert!(events[0]["loss"].is_null());
        for (text, says) in [
            ("null", "not a JSON object"),
            ("[1]", "not a JSON object"),
            (&EPOCH.replace("loss", "cost"), "lacks epoch, loss, pairs or seconds"),
            (&EPOCH.replace("\"epoch\":1", "\"epoch\":null"), "lacks epoch"),
            (r#"{"event":"scores","epoch":null}"#, "a scores event lacks epoch"),
        ] {
            let error = log(&format!("{EPOCH}\n{text}")).unwrap_err().to_string();
            assert!(error.contains("log.jsonl:2: ") && error.contains(says), "{error}");
        }
    }

    /// A run is killed in epoch 4, and resumed from the checkpoint after epoch 2.
    #[test]
    fn epochs_that_a_resumed_run_repeats_count_once() {
        let epoch = |epoch: u64, seconds: u64| {
            let epoch = EPOCH.replace("\"epoch\":1", &format!("\"epoch\":{epoch}"));
            epoch.replace("1.5", &format!("{seconds}")) + "\n"
        };
        let resumed = "{\"event\":\"resumed\",\"epoch\":2,\"seconds\":0.0}\n";
        let before: String = (1..=3).map(|at| epoch(at, 10 * at)).collect();
        let after: String = (3..=4).map(|at| epoch(at, 10 * (at - 2))).collect();
        let events = log(&(before + resumed + &after)).unwrap();
        let epochs: Vec<_> = events.iter().filter(|it| it["event"] == "epoch").collect();
        let numbers = |name: &str| epochs.iter().map(|it| it[name].as_f64().unwrap()).collect();
        let (which, seconds): (Vec<f64>, Vec<f64>) = (numbers("epoch"), numbers("seconds"));
        assert_eq!(which, [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(seconds, [10.0, 20.0, 30.0, 40.0]);
    }
}
