//! Graphs whose file declares nodes under keys, and edges between keys: GraphML, GEXF, GML, Pajek,
//! DOT and node-link JSON.

use std::path::Path;

use super::super::ids::integer;
use super::super::{Direction, Origin, StringIds, UsedColumns};
use super::ids::EdgeCollector;
use super::{EdgeFile, ReadOptions};
use crate::budget::counted;
use crate::error::{Error, Problem, Result};

const DECLARED: u64 = 0;
/// The line of an edge in a format that is not read by lines.
pub(super) const NO_LINE: u64 = u64::MAX;

/// When the names of nodes are their ids, instead of their keys. They must all be there and differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// Always: keys are numbers of the format.
    Preferred,
    /// If the keys are just numbered, 0, 1, … or n0, n1, …, as igraph writes them.
    OverNumbers,
}

/// An edge between two keys.
pub(super) struct Edge<'a> {
    pub(super) ends: [&'a str; 2],
    /// The weight that the file states.
    pub(super) weight: Option<f32>,
    pub(super) directed: bool,
    /// The line that the edge is in.
    pub(super) line: u64,
}

/// Collects nodes and edges in any order.
#[derive(Default)]
pub(super) struct Declared {
    format: &'static str,
    /// What the file says of all edges.
    direction: Direction,
    columns: Option<UsedColumns>,
    keys: StringIds,
    /// For each key, the line of the first edge that has it, until it is declared.
    mentions: Vec<u64>,
    /// For each key its name, empty if it has none.
    names: Vec<Box<str>>,
    pairs: Vec<(u32, u32)>,
    /// From the first stated weight on.
    weights: Option<Vec<f32>>,
    /// Edges with a stated weight.
    stated: usize,
    directed: usize,
}

impl Declared {
    /// Nothing yet, of a file in this format, whose edges are undirected unless they say otherwise.
    pub(super) fn of(format: &'static str) -> Self {
        Self { format, direction: Direction::Undirected, ..Self::default() }
    }

    /// Sets the direction of edges that do not say otherwise.
    pub(super) fn set_direction(&mut self, direction: Direction) {
        self.direction = direction;
    }

    /// Sets the fields of edges that are read, where they are not the usual ones.
    pub(super) fn set_columns(&mut self, columns: UsedColumns) {
        self.columns = Some(columns);
    }

    /// Declares all nodes that edges mention.
    pub(super) fn declare_all(&mut self) {
        self.mentions.fill(DECLARED);
    }

    /// Declares a node; returns false if it was declared before.
    pub(super) fn node(&mut self, key: &str, name: Option<&str>) -> bool {
        let row = self.row(key, NO_LINE);
        if let Some(name) = name {
            self.set_name(row, name);
        }
        std::mem::replace(&mut self.mentions[row as usize], DECLARED) != DECLARED
    }

    /// The row of a node that need not be declared.
    pub(super) fn implicit(&mut self, key: &str) -> u32 {
        let row = self.row(key, NO_LINE);
        self.mentions[row as usize] = DECLARED;
        row
    }

    /// Names a node.
    pub(super) fn set_name(&mut self, row: u32, name: &str) {
        self.names[row as usize] = name.into();
    }

    /// Adds an edge.
    pub(super) fn edge(&mut self, edge: &Edge) {
        let ends = edge.ends.map(|end| self.row(end, edge.line));
        self.edge_of_rows(ends, edge.weight, edge.directed);
    }

    /// Adds an edge between rows.
    pub(super) fn edge_of_rows(&mut self, [a, b]: [u32; 2], weight: Option<f32>, directed: bool) {
        if weight.is_some() && self.weights.is_none() {
            self.weights = Some(vec![1.0; self.pairs.len()]);
        }
        self.pairs.push((a, b));
        if let Some(weights) = &mut self.weights {
            weights.push(weight.unwrap_or(1.0));
        }
        self.stated += usize::from(weight.is_some());
        self.directed += usize::from(directed);
    }

    /// The number of edges.
    pub(super) fn edges(&self) -> usize {
        self.pairs.len()
    }

    /// The edges between ids. `buffers` is the memory that the reader holds.
    pub(super) fn finish(
        self,
        path: &Path,
        options: &ReadOptions,
        names: Option<Names>,
        buffers: u64,
    ) -> Result<EdgeFile> {
        if let Some(row) = self.mentions.iter().position(|&line| line != DECLARED) {
            let message = format!(
                "an edge of node '{}', which the file does not declare",
                self.keys.get(row as u32)
            );
            return Err(match self.mentions[row] {
                NO_LINE => Error::file(path, message),
                line => Error::line(path, line, message),
            });
        }
        if let (option, Some(name)) = options.value()
            && !options.no_weights
            && self.weights.is_none()
            && !self.pairs.is_empty()
        {
            let problem = Problem::from(format!("no edge has the attribute '{name}'"));
            return Err(Error::file(path, problem.omit(option)));
        }
        let buffers = buffers + self.keys.bytes() + 24 * self.names.len() as u64;
        let mut notes = Vec::new();
        let ids = match names.and_then(|names| self.named(names)) {
            Some(ids) => {
                notes.push("node ids are the names of the nodes".into());
                ids
            }
            None => self.keys,
        };
        // Weights that are all 1 are none.
        let keep_ones = options.reads_lengths();
        let differs = |w: &f32| w.to_bits() != 1_f32.to_bits();
        let weights = self.weights.filter(|all| keep_ones || all.iter().any(differs));
        let missing = self.pairs.len() - self.stated;
        if weights.is_some() && missing > 0 && options.reads_lengths() {
            let edges = counted(missing, "edge");
            let message = format!("{edges} without a length; every edge needs one");
            return Err(Error::file(path, Problem::from(message).set("distance", "hops")));
        }
        if weights.is_some() && missing > 0 {
            notes.push(match missing {
                1 => "1 edge states no weight and has weight 1".into(),
                _ => format!("{missing} edges state no weight and have weight 1").into(),
            });
        }
        let mut edges = EdgeCollector::with_node_file(options.nodes.as_deref())?;
        edges.extend_nodes(&ids, &self.pairs);
        drop((ids, self.pairs));
        let file = edges.finish(weights, buffers);
        let direction = if self.directed > 0 { Direction::Directed } else { self.direction };
        let (format, columns) = (Some(self.format), self.columns);
        let origin = Origin { format, direction, columns, ..Origin::default() };
        Ok(EdgeFile { origin, notes, ..file })
    }

    fn row(&mut self, key: &str, line: u64) -> u32 {
        let row = self.keys.insert(key);
        if row as usize == self.mentions.len() {
            self.mentions.push(line);
            self.names.push(Box::default());
        }
        row
    }

    /// The names as ids, if they are all there and differ.
    fn named(&self, names: Names) -> Option<StringIds> {
        if names == Names::OverNumbers && !self.is_numbered() {
            return None;
        }
        let ids: StringIds = self.names.iter().collect();
        (ids.len() == self.names.len() && ids.find("").is_none()).then_some(ids)
    }

    /// Whether the keys are 0, 1, … or n0, n1, …, in any order.
    fn is_numbered(&self) -> bool {
        let count = self.keys.len() as u32;
        (0..count).all(|row| {
            let key = self.keys.get(row);
            let number = integer(key.strip_prefix('n').unwrap_or(key).as_bytes());
            number.is_some_and(|number| number < count)
        })
    }
}
