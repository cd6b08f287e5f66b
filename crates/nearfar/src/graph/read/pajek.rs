//! Pajek networks, `.net`: `*Vertices n`, lines `number "label" …`, then sections of lines.
//!
//! ```text
//! *Vertices 3          *Edges            *Arcslist
//! 1 "ann" 0.1 0.2      1 2 0.5           1 2 3
//! ```
//!
//! Node ids are the labels if each node has one of its own, otherwise the numbers. `*Arcs` are
//! directed; a third value is the weight. In `*Arcslist` and `*Edgeslist` the first node of a line
//! has edges to all others.

use std::path::Path;

use super::attributes::{weight, without};
use super::declared::{Declared, Edge, Names};
use super::{EdgeFile, ReadOptions, check_node_count};
use crate::error::{Error, Problem, Result};
use crate::file::read_text;

/// Reads a file.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<EdgeFile> {
    let text = read_text(path)?;
    without(path, options, &["source", "target", "weight", "header", "sep"])?;
    let mut network = Network {
        found: Declared::of("Pajek"),
        count: None,
        listed: 0,
        section: Section::None,
        weighted: !options.no_weights,
    };
    for (number, line) in (1..).zip(text.lines()) {
        let fail = |problem: Problem| Error::line(path, number, problem);
        network.line(number, line).map_err(fail)?;
    }
    let Some((count, line)) = network.count else {
        let problem = Problem::from("no '*Vertices n' in this Pajek file");
        return Err(Error::file(path, problem.set("input-format", "edges")));
    };
    let fail = |message| Error::line(path, line, message);
    check_node_count(count as usize, network.found.edges()).map_err(fail)?;
    network.add_unlisted(count);
    network.found.finish(path, options, Some(Names::Preferred), text.len() as u64)
}

struct Network {
    found: Declared,
    /// The number of vertices, and the line that states it.
    count: Option<(u32, u64)>,
    /// Vertices with a line of their own.
    listed: u32,
    section: Section,
    /// Whether weights are wanted.
    weighted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    None,
    Vertices,
    /// Pairs of nodes.
    Pairs {
        directed: bool,
    },
    /// A node and its neighbours.
    Lists {
        directed: bool,
    },
}

impl Network {
    fn line(&mut self, number: u64, line: &str) -> Result<(), Problem> {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['%', '#']) || line.starts_with("/*") {
            return Ok(());
        }
        if let Some(section) = line.strip_prefix('*') {
            return self.start(number, section);
        }
        match self.section {
            Section::None => {
                let problem = Problem::from("expected '*Vertices n', as a Pajek file begins");
                Err(problem.set("input-format", "edges"))
            }
            Section::Vertices => Ok(self.vertex(line)?),
            Section::Pairs { directed } => Ok(self.pair(number, line, directed)?),
            Section::Lists { directed } => Ok(self.list(number, line, directed)?),
        }
    }

    fn start(&mut self, number: u64, section: &str) -> Result<(), Problem> {
        let mut words = section.split_whitespace();
        let name = words.next().unwrap_or_default();
        self.section = match name.to_ascii_lowercase().as_str() {
            "network" if self.count.is_none() => Section::None,
            "vertices" if self.count.is_none() => {
                let count = words.next().and_then(|count| count.parse().ok());
                let count = count.filter(|&count| count < u32::MAX);
                let count = count.ok_or("expected '*Vertices n', with the number of nodes")?;
                self.count = Some((count, number));
                Section::Vertices
            }
            "network" | "vertices" => {
                return Err("a second network; only files of one network are supported: store \
                            each in its own file"
                    .into());
            }
            _ if self.count.is_none() => return Err("expected '*Vertices n' before this".into()),
            "arcs" => Section::Pairs { directed: true },
            "edges" => Section::Pairs { directed: false },
            "arcslist" => Section::Lists { directed: true },
            "edgeslist" => Section::Lists { directed: false },
            "matrix" => {
                return Err("a matrix, which is not supported; save the network with arcs and \
                            edges"
                    .into());
            }
            "partition" | "vector" | "permutation" | "cluster" | "hierarchy" | "events" => {
                return Err(
                    format!("*{name} is not part of a network; save the network alone").into()
                );
            }
            _ => {
                return Err(format!(
                    "*{name} is not supported; expected *Vertices, *Arcs, *Edges, *Arcslist or \
                     *Edgeslist"
                )
                .into());
            }
        };
        Ok(())
    }

    fn vertex(&mut self, line: &str) -> Result<(), String> {
        let (number, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let number = self.number(number)?;
        let rest = rest.trim_start();
        let label = match rest.strip_prefix('"') {
            Some(quoted) => {
                let end = quoted.find('"').ok_or("a label without its closing quotation mark")?;
                &quoted[..end]
            }
            None => rest.split_whitespace().next().unwrap_or(""),
        };
        if !self.found.node(itoa::Buffer::new().format(number), Some(label)) {
            return Err(format!("vertex {number} is declared twice"));
        }
        self.listed += 1;
        Ok(())
    }

    fn pair(&mut self, line_number: u64, line: &str, directed: bool) -> Result<(), String> {
        let mut fields = line.split_whitespace();
        let (Some(a), Some(b)) = (fields.next(), fields.next()) else {
            return Err("expected two vertices and, optionally, a weight".to_owned());
        };
        let value = match fields.next() {
            Some(time) if time.starts_with('[') => return Err(temporal()),
            Some(value) if self.weighted => Some(weight(value)?),
            _ => None,
        };
        if fields.any(|field| field.starts_with('[')) {
            return Err(temporal());
        }
        self.edge(line_number, [a, b], value, directed)
    }

    fn list(&mut self, line_number: u64, line: &str, directed: bool) -> Result<(), String> {
        let mut fields = line.split_whitespace();
        let Some(a) = fields.next() else { return Ok(()) };
        for b in fields {
            self.edge(line_number, [a, b], None, directed)?;
        }
        Ok(())
    }

    fn edge(
        &mut self,
        line: u64,
        ends: [&str; 2],
        weight: Option<f32>,
        directed: bool,
    ) -> Result<(), String> {
        let mut digits = [itoa::Buffer::new(), itoa::Buffer::new()];
        let numbers = [self.number(ends[0])?, self.number(ends[1])?];
        let [a, b] = &mut digits;
        let ends = [a.format(numbers[0]), b.format(numbers[1])];
        self.found.edge(&Edge { ends, weight, directed, line });
        Ok(())
    }

    /// A vertex by its number.
    fn number(&self, text: &str) -> Result<u32, String> {
        let count = self.count.map_or(0, |(count, _)| count);
        match text.parse() {
            Ok(number) if (1..=count).contains(&number) => Ok(number),
            _ => Err(format!("'{text}' is not a vertex; expected a number from 1 to {count}")),
        }
    }

    /// Declares the vertices that have no line.
    fn add_unlisted(&mut self, count: u32) {
        if self.listed < count {
            let mut digits = itoa::Buffer::new();
            for number in 1..=count {
                self.found.node(digits.format(number), None);
            }
        }
    }
}

fn temporal() -> String {
    "a network in time: intervals such as [1-5] are not supported; save one point in time"
        .to_owned()
}
