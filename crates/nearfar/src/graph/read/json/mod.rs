//! Graphs in JSON: one document, or one edge per line.
//!
//! ```text
//! {"directed": false, "nodes": [{"id": "ann"}, …], "links": [{"source": "ann", "target": "bob"}, …]}
//! [{"source": "ann", "target": "bob", "weight": 2}, …]            or  [["ann", "bob", 2], …]
//! {"source": "ann", "target": "bob", "weight": 2}                 one per line: JSON Lines
//! ```
//!
//! The first is node-link data, as NetworkX, D3 and others write it; edges are in `links` or `edges`.
//! Node ids are the values of `id`. Nodes without one are numbered from 0, as in older versions of
//! D3; their ids are their values of `name`, if each has one of its own.

mod record;

use std::path::Path;

use record::{EdgeFields, Found, NodeFields, Record, Scalar};
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::super::{Direction, UsedColumns};
use super::attributes::Wanted;
use super::declared::{Declared, Edge, NO_LINE, Names};
use super::{EdgeFile, ReadOptions};
use crate::error::{Error, Result};
use crate::file::read_text;

/// Reads a document.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<EdgeFile> {
    let text = read_text(path)?;
    let wanted = Wanted::of_table(path, options)?;
    let mut document = Document::new(Record::of(&wanted, &[]), "JSON");
    let mut json = serde_json::Deserializer::from_str(&text);
    let read = (&mut json).deserialize_any(&mut document).and_then(|()| json.end());
    read.map_err(|error| at_line(path, 0, &error))?;
    document.finish(path, options, text.len() as u64)
}

/// Reads JSON Lines.
pub(super) fn read_lines(path: &Path, options: &ReadOptions) -> Result<EdgeFile> {
    let text = read_text(path)?;
    let wanted = Wanted::of_table(path, options)?;
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let mut document = Document::new(Record::of(&wanted, &keys(first)), "JSON Lines");
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let mut json = serde_json::Deserializer::from_str(line);
        let fields = EdgeFields(&document.record).deserialize(&mut json);
        let fields = fields.and_then(|fields| json.end().map(|()| fields));
        let fields = fields.map_err(|error| at_line(path, number - 1, &error))?;
        document.edge(&fields).map_err(|message| Error::line(path, number, message))?;
    }
    document.finish(path, options, text.len() as u64)
}

/// The keys of an object.
fn keys(line: &str) -> Vec<String> {
    let object: serde_json::Map<_, _> = serde_json::from_str(line).unwrap_or_default();
    object.into_iter().map(|(key, _)| key).collect()
}

/// The error at a line after `before` others.
fn at_line(path: &Path, before: u64, error: &serde_json::Error) -> Error {
    let message = error.to_string();
    // The library appends the position.
    let end = message.rfind(" at line ").unwrap_or(message.len());
    let line = before + error.line().max(1) as u64;
    let message = &message[..end];
    if error.is_data() {
        return Error::line(path, line, message);
    }
    Error::line(path, line, format!("invalid JSON: {message}"))
}

/// A document that is being read.
struct Document {
    record: Record,
    found: Declared,
    directed: Option<bool>,
    /// Whether nodes are declared.
    has_nodes: bool,
    /// The number of nodes so far.
    nodes: u64,
    /// Whether nodes have ids, or are numbered.
    with_ids: Option<bool>,
}

impl Document {
    fn new(record: Record, format: &'static str) -> Self {
        Self {
            record,
            found: Declared::of(format),
            directed: None,
            has_nodes: false,
            nodes: 0,
            with_ids: None,
        }
    }

    fn finish(mut self, path: &Path, options: &ReadOptions, bytes: u64) -> Result<EdgeFile> {
        if !self.has_nodes {
            self.found.declare_all();
        }
        self.found.set_direction(match self.directed {
            Some(true) => Direction::Directed,
            Some(false) => Direction::Undirected,
            None => Direction::Unstated,
        });
        self.found.finish(path, options, Some(Names::OverNumbers), bytes)
    }

    fn node(&mut self, fields: &[Scalar]) -> Result<(), String> {
        let [id, name] = fields else { return Ok(()) };
        let number = self.nodes;
        self.nodes += 1;
        let with_id = !matches!(id, Scalar::Missing);
        if *self.with_ids.get_or_insert(with_id) != with_id {
            return Err(format!("node {number}: some nodes have an 'id' and others have none"));
        }
        let key = if with_id { id.id("id")? } else { number.to_string().into() };
        let name = match name {
            Scalar::Text(name) => Some(&**name),
            _ => None,
        };
        if self.found.node(&key, name) {
            Ok(())
        } else {
            Err(format!("node '{key}' is declared twice"))
        }
    }

    fn edge(&mut self, fields: &[Scalar]) -> Result<(), String> {
        let Found { ends: [a, b], weight, names, weight_name } = self.record.edge(fields)?;
        if self.found.edges() == 0 && names != ["source", "target"] {
            let [source, target] = names.map(str::to_owned);
            let weight = weight_name.map(str::to_owned);
            self.found.set_columns(UsedColumns { source, target, weight, length: None });
        }
        self.found.edge(&Edge { ends: [&a, &b], weight, directed: false, line: NO_LINE });
        Ok(())
    }
}

/// An array of nodes or edges.
struct List<'d> {
    document: &'d mut Document,
    nodes: bool,
}

impl<'de> DeserializeSeed<'de> for List<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(if self.nodes { "an array of nodes" } else { "an array of edges" })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let document = self.document;
        if self.nodes {
            while let Some(fields) = seq.next_element_seed(NodeFields)? {
                document.node(&fields).map_err(A::Error::custom)?;
            }
            return Ok(());
        }
        while let Some(fields) = seq.next_element_seed(EdgeFields(&document.record))? {
            document.edge(&fields).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}

/// The top of a document.
impl<'de> Visitor<'de> for &mut Document {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("an object with 'nodes' and 'links', or an array of edges")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut keys = Vec::new();
        let mut edges = false;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "nodes" => {
                    self.has_nodes = true;
                    map.next_value_seed(List { document: self, nodes: true })?;
                }
                "links" | "edges" => {
                    edges = true;
                    map.next_value_seed(List { document: self, nodes: false })?;
                }
                "directed" => match map.next_value::<Scalar>()? {
                    Scalar::Bool(directed) => self.directed = Some(directed),
                    _ => return Err(A::Error::custom("'directed' is neither true nor false")),
                },
                "adjacency" => {
                    return Err(A::Error::custom(
                        "NetworkX's adjacency_data is not supported; write node_link_data",
                    ));
                }
                "elements" => {
                    return Err(A::Error::custom(
                        "Cytoscape's JSON is not supported; export the network as GraphML",
                    ));
                }
                "hyperedges" => return Err(A::Error::custom("hyperedges are not supported")),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    if keys.len() < 8 {
                        keys.push(key);
                    }
                }
            }
        }
        if edges {
            return Ok(());
        }
        let message =
            format!("no 'links' or 'edges' at the top of the document; found: {}", keys.join(", "));
        Err(A::Error::custom(message))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        List { document: self, nodes: false }.visit_seq(seq)
    }
}
