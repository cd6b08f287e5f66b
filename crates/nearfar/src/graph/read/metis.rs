//! METIS graphs, `.metis` or `.graph`, as METIS, KaHIP and the DIMACS challenges use them.
//!
//! ```text
//! % comment
//! 3 2 001        nodes, edges, [format: sizes, weights of nodes, weights of edges, [weights per node]]
//! 2 0.5          the neighbours of node 1, each with the weight of its edge
//! 1 0.5 3 2
//! 2 2
//! ```
//!
//! Line i + 1 is that of node i; an isolated node has an empty line. Every edge is in the lines of
//! both of its ends. Sizes and weights of nodes are skipped.

use std::path::Path;

use super::super::storage::is_symmetric;
use super::super::{EdgeList, Node, NodeIds, Origin};
use super::attributes::weight;
use super::fields::is_comment;
use super::{EdgeFile, ReadOptions, without_table_options};
use crate::error::{Error, Problem, Result};
use crate::file::read_text;

/// Reads a file.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<EdgeFile> {
    let options = without_table_options(path, options)?;
    let text = read_text(path)?;
    let may_be_edges = has_equal_lines(&text);
    let (pairs, weights, nodes) = parse(&text, options.no_weights).map_err(|(line, message)| {
        let problem = Problem::from(message);
        let problem = if may_be_edges { problem.set("input-format", "edges") } else { problem };
        match line {
            Some(line) => Error::line(path, line, problem),
            None => Error::file(path, problem),
        }
    })?;
    let list = EdgeList { pairs, weights, ids: NodeIds::Range { start: 1, len: nodes as usize } };
    let origin = Origin { format: Some("METIS"), ..Origin::default() };
    let mut file = EdgeFile { origin, ..EdgeFile::of(list, text.len() as u64) };
    if may_be_edges && options.input_format.is_none() {
        let note = "may be an edge list, and was read as a METIS graph: line 1 counts its nodes and \
                    edges, and every edge is in the lines of both of its ends";
        file.notes.push(Problem::from(note).set("input-format", "edges"));
    }
    Ok(file)
}

/// Whether the first lines of a text, which are complete, can be those of a METIS graph.
pub(super) fn fits(head: &str) -> bool {
    let mut lines = lines(head).skip_while(|(_, line)| line.trim().is_empty());
    let Some(Ok(header)) = lines.next().map(|(number, line)| Header::parse(number, line)) else {
        return false;
    };
    let most = u64::from(header.nodes) * u64::from(header.nodes.saturating_sub(1)) / 2;
    let mut pairs = Vec::new();
    (1..=most).contains(&header.edges)
        && (0..header.nodes)
            .zip(lines)
            .all(|(node, (_, line))| header.node(node, line, &mut pairs, None).is_ok())
        && pairs.len() as u64 <= 2 * header.edges
}

/// Whether a whole file is a METIS graph.
pub(super) fn is_metis(path: &Path) -> bool {
    read_text(path).is_ok_and(|text| parse(&text, false).is_ok())
}

/// Whether all lines have as many fields, as those of an edge list do.
pub(super) fn has_equal_lines(text: &str) -> bool {
    let is_separator = |c: char| c.is_whitespace() || matches!(c, ',' | ';');
    let fields = |line: &str| line.split(is_separator).filter(|field| !field.is_empty()).count();
    let mut counts = text.lines().filter(|line| !is_comment(line.as_bytes())).map(fields);
    counts.next().is_some_and(|first| counts.all(|count| count == first))
}

/// The lines that are no comments, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('%'))
}

/// The arcs of a graph, their weights, and the number of its nodes.
type Parsed = (Vec<(Node, Node)>, Option<Vec<f32>>, u32);

/// Parses a whole file. An error has the number of the line, if it is about one.
fn parse(text: &str, no_weights: bool) -> Result<Parsed, (Option<u64>, String)> {
    let mut lines = lines(text).skip_while(|(_, line)| line.trim().is_empty());
    let (number, line) = lines.next().ok_or((None, "no header line".to_owned()))?;
    let header = Header::parse(number, line).map_err(|message| (Some(number), message))?;
    let mut pairs = Vec::new();
    let mut weights = (header.weighted && !no_weights).then(Vec::new);
    let mut node = 0;
    for (number, line) in lines {
        if node == header.nodes {
            if line.trim().is_empty() {
                continue;
            }
            let message = format!("more lines than the {} nodes of the header", header.nodes);
            return Err((Some(number), message));
        }
        header
            .node(node, line, &mut pairs, weights.as_mut())
            .map_err(|message| (Some(number), message))?;
        node += 1;
    }
    if node < header.nodes {
        let message = format!("the header claims {} nodes, but {node} lines follow", header.nodes);
        return Err((Some(header.line), message));
    }
    if pairs.len() as u64 != 2 * header.edges {
        let message = format!(
            "the header claims {} edges, but there are {} neighbours; expected each edge in the \
             lines of both of its ends",
            header.edges,
            pairs.len()
        );
        return Err((Some(header.line), message));
    }
    if !is_symmetric(&pairs, weights.as_deref()) {
        let message = "not every edge is in the lines of both of its ends, with the same weight";
        return Err((None, message.to_owned()));
    }
    Ok((pairs, weights, header.nodes))
}

struct Header {
    nodes: u32,
    edges: u64,
    /// Values before the neighbours: a size and weights of the node.
    skipped: usize,
    weighted: bool,
    line: u64,
}

impl Header {
    fn parse(line: u64, text: &str) -> Result<Self, String> {
        let expected = "expected 'nodes edges [format [weights]]', the header of a METIS graph";
        let fail = || expected.to_owned();
        let fields: Vec<&str> = text.split_whitespace().collect();
        let number = |at: usize| -> Option<u64> { fields.get(at)?.parse().ok() };
        let (Some(nodes), Some(edges), 2..=4) = (number(0), number(1), fields.len()) else {
            return Err(fail());
        };
        let format = fields.get(2).copied().unwrap_or("0");
        if format.len() > 3 || format.bytes().any(|flag| !matches!(flag, b'0' | b'1')) {
            return Err(fail());
        }
        let flag = |from_end: usize| format.bytes().rev().nth(from_end) == Some(b'1');
        let count = match fields.get(3) {
            Some(_) => number(3).filter(|&count| count <= 1000).ok_or_else(fail)?,
            None => 1,
        };
        let nodes = u32::try_from(nodes).ok().filter(|&nodes| nodes < Node::MAX);
        let nodes = nodes.ok_or_else(fail)?;
        if edges > u64::from(Node::MAX) {
            return Err(fail());
        }
        let weights = if flag(1) { count as usize } else { 0 };
        Ok(Self { nodes, edges, skipped: weights + usize::from(flag(2)), weighted: flag(0), line })
    }

    /// Parses the line of a node.
    fn node(
        &self,
        node: Node,
        line: &str,
        pairs: &mut Vec<(Node, Node)>,
        mut weights: Option<&mut Vec<f32>>,
    ) -> Result<(), String> {
        let mut fields = line.split_whitespace();
        for _ in 0..self.skipped {
            fields.next().ok_or_else(|| {
                format!("expected {} values of the node first, as the header says", self.skipped)
            })?;
        }
        while let Some(field) = fields.next() {
            match field.parse::<u32>() {
                Ok(neighbour) if (1..=self.nodes).contains(&neighbour) => {
                    pairs.push((node, neighbour - 1));
                }
                _ => {
                    return Err(format!(
                        "'{field}' is not a node; expected a number from 1 to {}",
                        self.nodes
                    ));
                }
            }
            if self.weighted {
                let value = fields.next().ok_or("a neighbour without the weight of its edge")?;
                if let Some(weights) = &mut weights {
                    weights.push(weight(value)?);
                }
            }
        }
        Ok(())
    }
}
