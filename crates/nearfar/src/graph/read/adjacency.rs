//! Adjacency lists, `.adjlist`, as `networkx.write_adjlist` writes them: a node and its neighbours
//! per line. A line with a single id is a node, which may be isolated.
//!
//! Columns are separated by tabs, commas, semicolons or blanks: the first of these that occurs.

use std::path::Path;

use super::super::Origin;
use super::fields::is_comment;
use super::ids::EdgeCollector;
use super::{EdgeFile, ReadOptions, without_columns};
use crate::error::{Error, Result};
use crate::file::{Id, read_text};

/// Reads a file.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<EdgeFile> {
    let options = without_columns(path, options)?;
    let text = read_text(path)?;
    let lines = || (1..).zip(text.lines()).filter(|(_, line)| !is_comment(line.as_bytes()));
    let separator = ['\t', ',', ';']
        .into_iter()
        .find(|&separator| lines().take(100).any(|(_, line)| line.contains(separator)));
    let mut edges = EdgeCollector::with_node_file(options.nodes.as_deref())?;
    let mut any = false;
    for (number, line) in lines() {
        let mut fields = fields(line, separator);
        let Some(node) = fields.next() else { continue };
        if node.is_empty() {
            return Err(Error::line(path, number, "an empty id; expected a node first"));
        }
        if line.contains('{') {
            // Its lines `b {'weight': 1}` would be read as nodes.
            return Err(Error::line(
                path,
                number,
                "this is NetworkX's multiline adjacency list; write the graph with write_edgelist",
            ));
        }
        edges.add_node(Id::Text(node));
        for neighbour in fields.filter(|field| !field.is_empty()) {
            edges.push(Id::Text(node), Id::Text(neighbour));
        }
        any = true;
    }
    if !any {
        return Err(Error::file(
            path,
            "no edges found; expected lines 'node neighbour neighbour …'",
        ));
    }
    let origin = Origin { format: Some("adjacency list"), ..Origin::default() };
    Ok(EdgeFile { origin, ..edges.finish(None, text.len() as u64) })
}

fn fields(line: &str, separator: Option<char>) -> Box<dyn Iterator<Item = &str> + '_> {
    match separator {
        Some(separator) => Box::new(line.trim_end().split(separator).map(str::trim)),
        None => Box::new(line.split_whitespace()),
    }
}
