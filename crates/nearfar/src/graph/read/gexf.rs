//! GEXF, as Gephi and NetworkX write it: node ids are the attribute `id`; labels are for display.
//!
//! The weight of an edge is its attribute `weight`, or the value of the edge attribute that the user
//! names.

use std::path::Path;

use quick_xml::events::BytesStart;

use super::attributes::{Wanted, weight};
use super::declared::{Declared, Edge};
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
        found: Declared::of("GEXF"),
        directed: false,
        graphs: 0,
        of_edges: false,
        weight_attribute: None,
        edge: None,
    };
    document.read()?;
    document.found.finish(path, options, None, text.len() as u64)
}

struct Document<'a> {
    xml: Xml<'a>,
    wanted: Wanted<'a>,
    found: Declared,
    /// Whether edges are directed if they do not say.
    directed: bool,
    graphs: usize,
    /// Whether declarations of attributes are those of edges.
    of_edges: bool,
    /// The number of the attribute of weights, and how early its title is among those wanted.
    weight_attribute: Option<(String, usize)>,
    edge: Option<OpenEdge>,
}

/// The edge that is being read.
struct OpenEdge {
    ends: [String; 2],
    weight: Option<f32>,
    directed: bool,
    line: u64,
}

impl Document<'_> {
    fn read(&mut self) -> Result<()> {
        let mut open_nodes = 0;
        while let Some(item) = self.xml.next()? {
            match item {
                Item::Start { element, empty } => {
                    if element.local_name().as_ref() == "node" {
                        if open_nodes > 0 {
                            return Err(self.xml.error(
                                "a node in a node: hierarchies are not supported; flatten them",
                            ));
                        }
                        open_nodes += usize::from(!empty);
                    }
                    self.start(&element)?;
                    if empty {
                        self.end(element.local_name().as_ref());
                    }
                }
                Item::End(name) => {
                    open_nodes -= usize::from(name == "node");
                    self.end(&name);
                }
                Item::Text(_) => {}
            }
        }
        if self.graphs == 0 {
            return Err(self.xml.error("no <graph> in this GEXF file"));
        }
        Ok(())
    }

    fn start(&mut self, element: &BytesStart) -> Result<()> {
        match element.local_name().as_ref() {
            "graph" => self.graph(element)?,
            "attributes" => {
                self.of_edges = self.xml.attribute(element, "class")?.as_deref() == Some("edge");
            }
            "attribute" if self.of_edges => {
                let title = self.xml.attribute(element, "title")?.unwrap_or_default();
                if let Some(rank) = self.wanted.rank(&title)
                    && self.weight_attribute.as_ref().is_none_or(|(_, other)| rank < *other)
                {
                    self.weight_attribute = Some((self.xml.required(element, "id")?, rank));
                }
            }
            "node" => {
                let id = self.xml.required(element, "id")?;
                if !self.found.node(&id, None) {
                    return Err(self.xml.error(format!("node '{id}' is declared twice")));
                }
            }
            "edge" => self.edge(element)?,
            "attvalue" => self.value(element)?,
            "spells" | "slices" | "spell" => return Err(self.dynamic()),
            _ => {}
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
        if self.xml.attribute(element, "mode")?.as_deref() == Some("dynamic") {
            return Err(self.dynamic());
        }
        let kind = self.xml.attribute(element, "defaultedgetype")?;
        self.directed = kind.as_deref() == Some("directed");
        Ok(())
    }

    fn edge(&mut self, element: &BytesStart) -> Result<()> {
        let ends = [self.xml.required(element, "source")?, self.xml.required(element, "target")?];
        let directed = match self.xml.attribute(element, "type")? {
            Some(kind) => kind == "directed",
            None => self.directed,
        };
        let stated = match self.wanted.rank("weight") {
            Some(_) => self.xml.attribute(element, "weight")?,
            None => None,
        };
        let weight = stated.map(|text| weight(&text)).transpose();
        let weight = weight.map_err(|message| self.xml.error(message))?;
        let line = self.xml.line();
        self.edge = Some(OpenEdge { ends, weight, directed, line });
        Ok(())
    }

    /// The value of an attribute, which is the weight if it is the one and no better was stated.
    fn value(&mut self, element: &BytesStart) -> Result<()> {
        let Some((wanted, _)) = &self.weight_attribute else { return Ok(()) };
        let id = match self.xml.attribute(element, "for")? {
            Some(id) => Some(id),
            // Version 1.0.
            None => self.xml.attribute(element, "id")?,
        };
        if id.as_ref() != Some(wanted) {
            return Ok(());
        }
        let text = self.xml.required(element, "value")?;
        if let Some(edge) = self.edge.as_mut().filter(|edge| edge.weight.is_none()) {
            edge.weight = Some(weight(&text).map_err(|message| self.xml.error(message))?);
        }
        Ok(())
    }

    fn end(&mut self, name: &str) {
        match name {
            "edge" => {
                if let Some(OpenEdge { ends: [a, b], weight, directed, line }) = self.edge.take() {
                    self.found.edge(&Edge { ends: [&a, &b], weight, directed, line });
                }
            }
            "attributes" => self.of_edges = false,
            _ => {}
        }
    }

    fn dynamic(&self) -> crate::error::Error {
        self.xml.error(
            "a dynamic graph, whose nodes and edges come and go, is not supported; export one \
             time slice as a static graph",
        )
    }
}
