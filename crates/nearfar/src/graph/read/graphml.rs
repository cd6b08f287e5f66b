//! GraphML, as NetworkX, igraph, yEd, Gephi and others write it.
//!
//! Node ids are the attribute `id`. igraph invents them, n0, n1, …, and stores the names of nodes
//! as data; these are the ids then, if each node has one of its own. The weight of an edge is its
//! data `weight` or `value`. Ports, positions and other data are skipped.

use std::path::Path;

use quick_xml::events::BytesStart;

use super::attributes::{Wanted, weight};
use super::declared::{Declared, Edge, Names};
use super::xml::{Item, Xml};
use super::{EdgeFile, ReadOptions};
use crate::error::Result;
use crate::file::read_text;

/// Reads a file.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<EdgeFile> {
    let text = read_text(path)?;
    let mut document = Document {
        xml: Xml::new(path, &text),
        wanted: Wanted::of(path, options)?,
        found: Declared::of("GraphML"),
        directed: false,
        graphs: 0,
        weight_key: None,
        in_weight_key: false,
        name_key: None,
        current: None,
        data: None,
    };
    document.read()?;
    let buffers = text.len() as u64;
    document.found.finish(path, options, Some(Names::OverNumbers), buffers)
}

struct Document<'a> {
    xml: Xml<'a>,
    wanted: Wanted<'a>,
    found: Declared,
    /// What the graph says of its edges.
    directed: bool,
    graphs: usize,
    weight_key: Option<WeightKey>,
    /// Whether the `<key>` that is being read is that of weights.
    in_weight_key: bool,
    name_key: Option<String>,
    /// The node or edge that is being read.
    current: Option<Current>,
    /// The data that is being read.
    data: Option<Data>,
}

/// The `<key>` of weights.
struct WeightKey {
    id: String,
    /// How early the name is among those that are wanted.
    rank: usize,
    default: Option<f32>,
}

enum Current {
    Node { id: String, name: Option<String> },
    Edge { ends: [String; 2], weight: Option<f32>, directed: bool, line: u64 },
}

struct Data {
    kind: Kind,
    text: String,
    /// Open elements in it.
    depth: usize,
}

#[derive(PartialEq, Eq)]
enum Kind {
    Name,
    Weight,
    DefaultWeight,
    Other,
}

impl Document<'_> {
    fn read(&mut self) -> Result<()> {
        let mut open_graphs = 0;
        while let Some(item) = self.xml.next()? {
            match item {
                Item::Text(text) => {
                    if let Some(data) = &mut self.data
                        && data.kind != Kind::Other
                    {
                        data.text.push_str(&text);
                    }
                }
                Item::Start { empty, .. } if self.data.is_some() => {
                    if let Some(data) = &mut self.data {
                        data.depth += usize::from(!empty);
                    }
                }
                Item::Start { element, empty } => {
                    let name = element.local_name();
                    match name.as_ref() {
                        "graph" => {
                            if open_graphs > 0 {
                                return Err(self.xml.error(
                                    "a graph nested in a node, which is not supported; flatten \
                                     the groups",
                                ));
                            }
                            open_graphs += usize::from(!empty);
                            self.graph(&element)?;
                        }
                        _ => self.start(&element, empty)?,
                    }
                }
                Item::End(name) => {
                    open_graphs -= usize::from(name == "graph" && self.data.is_none());
                    self.end(&name)?;
                }
            }
        }
        if self.graphs == 0 {
            return Err(self.xml.error("no <graph> in this GraphML file"));
        }
        Ok(())
    }

    fn graph(&mut self, element: &BytesStart) -> Result<()> {
        self.graphs += 1;
        if self.graphs > 1 {
            let message = "a second graph; only files of one graph are supported: store each in \
                           its own file";
            return Err(self.xml.error(message));
        }
        self.directed = self.xml.attribute(element, "edgedefault")?.as_deref() == Some("directed");
        Ok(())
    }

    fn start(&mut self, element: &BytesStart, empty: bool) -> Result<()> {
        match element.local_name().as_ref() {
            "key" => {
                self.key(element)?;
                self.in_weight_key &= !empty;
            }
            "default" if !empty => {
                let kind = if self.in_weight_key { Kind::DefaultWeight } else { Kind::Other };
                self.data = Some(Data::of(kind));
            }
            "node" => {
                let id = self.xml.required(element, "id")?;
                self.current = Some(Current::Node { id, name: None });
                if empty {
                    self.finish_current()?;
                }
            }
            "edge" => {
                let ends =
                    [self.xml.required(element, "source")?, self.xml.required(element, "target")?];
                let directed = match self.xml.attribute(element, "directed")? {
                    Some(directed) => matches!(directed.as_str(), "true" | "1"),
                    None => self.directed,
                };
                let line = self.xml.line();
                self.current = Some(Current::Edge { ends, weight: None, directed, line });
                if empty {
                    self.finish_current()?;
                }
            }
            "data" if !empty => {
                let key = self.xml.attribute(element, "key")?;
                let is = |wanted: Option<&String>| key.is_some() && key.as_ref() == wanted;
                let kind = match &self.current {
                    Some(Current::Node { .. }) if is(self.name_key.as_ref()) => Kind::Name,
                    Some(Current::Edge { .. }) if is(self.weight_key.as_ref().map(|k| &k.id)) => {
                        Kind::Weight
                    }
                    _ => Kind::Other,
                };
                self.data = Some(Data::of(kind));
            }
            "hyperedge" => {
                return Err(self.xml.error(
                    "a hyperedge: this is GraphML's hypergraph part, which is not supported",
                ));
            }
            _ => {}
        }
        Ok(())
    }

    /// A declaration of data: keeps those of weights and of names.
    fn key(&mut self, element: &BytesStart) -> Result<()> {
        let id = self.xml.required(element, "id")?;
        let attribute = |name| self.xml.attribute(element, name);
        let name = attribute("attr.name")?.unwrap_or_else(|| id.clone());
        let scope = attribute("for")?.unwrap_or_else(|| "all".to_owned());
        let is_number = !matches!(attribute("attr.type")?.as_deref(), Some("string" | "boolean"));
        if matches!(scope.as_str(), "node" | "all") && name == "name" {
            self.name_key = Some(id.clone());
        }
        if matches!(scope.as_str(), "edge" | "all")
            && let Some(rank) = self.wanted.rank(&name)
            && (is_number || rank == 0)
            && self.weight_key.as_ref().is_none_or(|key| rank < key.rank)
        {
            self.weight_key = Some(WeightKey { id, rank, default: None });
            self.in_weight_key = true;
        }
        Ok(())
    }

    fn end(&mut self, name: &str) -> Result<()> {
        if let Some(data) = &mut self.data {
            if data.depth > 0 {
                data.depth -= 1;
                return Ok(());
            }
            return self.finish_data();
        }
        match name {
            "node" | "edge" => self.finish_current()?,
            "key" => self.in_weight_key = false,
            _ => {}
        }
        Ok(())
    }

    fn finish_data(&mut self) -> Result<()> {
        let Some(data) = self.data.take() else { return Ok(()) };
        let number = || weight(&data.text).map_err(|message| self.xml.error(message));
        match (data.kind, &mut self.current, &mut self.weight_key) {
            (Kind::Name, Some(Current::Node { name, .. }), _) => *name = Some(data.text),
            (Kind::Weight, Some(Current::Edge { weight, .. }), _) => *weight = Some(number()?),
            (Kind::DefaultWeight, _, Some(key)) => key.default = Some(number()?),
            _ => {}
        }
        Ok(())
    }

    fn finish_current(&mut self) -> Result<()> {
        match self.current.take() {
            Some(Current::Node { id, name }) => {
                let is_new = self.found.node(&id, name.as_deref());
                if !is_new {
                    return Err(self.xml.error(format!("node '{id}' is declared twice")));
                }
            }
            Some(Current::Edge { ends: [a, b], weight, directed, line }) => {
                let default = self.weight_key.as_ref().and_then(|key| key.default);
                let weight = weight.or(default);
                self.found.edge(&Edge { ends: [&a, &b], weight, directed, line });
            }
            None => {}
        }
        Ok(())
    }
}

impl Data {
    fn of(kind: Kind) -> Self {
        Self { kind, text: String::new(), depth: 0 }
    }
}
