//! Matrix Market files, `.mtx`: a sparse matrix as text.
//!
//! ```text
//! %%MatrixMarket matrix coordinate real general
//! % any comments
//! 4 4 2
//! 1 2 0.5
//! 4 1 2
//! ```
//!
//! The first line states the type of the values (`pattern` has none) and whether an entry also
//! stands for its mirror image (`symmetric`) or not (`general`): then an edge may have two entries. After the comments come rows, columns and the number of entries, then the
//! entries: row, column, value, counted from 1. Every row is a node, isolated ones included.

use std::path::Path;

use super::super::{Direction, EdgeList, Node, NodeIds, Origin};
use super::{EdgeFile, ReadOptions, check_node_count, square};
use crate::error::{Error, Result};
use crate::file::lines::{Blocks, LineError, Lines, Parsed, is_utf8, weight};

/// Reads a matrix as a graph.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<EdgeFile> {
    let mut blocks = Blocks::open(path)?;
    let mut first = blocks.first()?;
    let mut header = loop {
        let fail = |(line, message)| Error::line(path, line, message);
        if let Some(header) = Header::parse(&first).map_err(fail)? {
            break header;
        }
        // Only comments so far. Twice as much each time, so that they are not read again and again.
        let (read, enough) = (first.len(), 2 * first.len());
        while first.len() < enough {
            let Some(block) = blocks.next()? else { break };
            first.extend(block);
        }
        if first.len() == read {
            let message = "the file ends before the line 'rows columns entries'";
            return Err(Error::line(path, Lines::new(&first).count() as u64, message));
        }
    };
    header.only_zeros = options.no_weights;
    let mut pairs = Vec::new();
    let mut weights = header.weighted.then(Vec::new);
    let start = parse(&first, &header, header.line);
    let next = |block: &[u8]| parse(block, &header, 0);
    let text = blocks.parse(start, next, |block| {
        pairs.extend(block.pairs);
        if let Some(weights) = &mut weights {
            weights.extend(block.weights);
        }
        Ok(())
    })?;
    if pairs.len() as u64 != header.entries {
        let message = format!(
            "the header claims {} entries, but {} follow; the file is truncated or malformed",
            header.entries,
            pairs.len()
        );
        return Err(Error::line(path, header.line, message));
    }
    check_node_count(header.n, pairs.len())
        .map_err(|message| Error::line(path, header.line, message))?;
    let ids = NodeIds::Range { start: 1, len: header.n };
    let list = EdgeList { pairs, weights, ids };
    let direction = if header.symmetric { Direction::Undirected } else { Direction::Entries };
    let origin = Origin { direction, ..Origin::default() };
    Ok(EdgeFile { origin, ..EdgeFile::of(list, Blocks::bytes(text, 2)) })
}

/// The lines before the entries.
struct Header {
    weighted: bool,
    /// Whether the only thing about a value is whether it is 0: then there is no edge.
    only_zeros: bool,
    /// Whether an entry also stands for its mirror image.
    symmetric: bool,
    n: usize,
    entries: u64,
    /// The number of the last line of the header.
    line: u64,
}

impl Header {
    /// `None` if the header goes on after the block.
    fn parse(block: &[u8]) -> Result<Option<Self>, LineError> {
        let mut lines = Lines::new(block);
        let (number, banner) = lines.next().unwrap_or_default();
        let (weighted, symmetric) =
            parse_banner(banner).map_err(|message| (number.max(1), message))?;
        for (number, line) in lines {
            if is_comment(line) {
                continue;
            }
            let fail = |message| (number, message);
            let sizes: Option<Vec<u64>> = fields(line).map(index).collect();
            let Some(&[rows, columns, entries]) = sizes.as_deref() else {
                return Err(fail("expected three numbers: 'rows columns entries'".to_owned()));
            };
            let n = square(rows, columns).map_err(fail)?;
            return Ok(Some(Self {
                weighted,
                only_zeros: false,
                symmetric,
                n,
                entries,
                line: number,
            }));
        }
        Ok(None)
    }
}

/// Parses the first line; returns whether entries have values, and whether the matrix is symmetric.
fn parse_banner(banner: &[u8]) -> Result<(bool, bool), String> {
    let text = String::from_utf8_lossy(banner).to_lowercase();
    let fields: Vec<&str> = text.split_whitespace().collect();
    let &["%%matrixmarket", "matrix", format, values, symmetry] = &fields[..] else {
        let expected = "expected a header such as '%%MatrixMarket matrix coordinate real \
                        general'; give an edge list another file extension than .mtx";
        return Err(expected.to_owned());
    };
    if format != "coordinate" {
        return Err(format!("a matrix in '{format}' format; expected 'coordinate' (sparse)"));
    }
    if !matches!(symmetry, "general" | "symmetric") {
        let expected = "expected 'general' or 'symmetric'";
        return Err(format!("a matrix that is '{symmetry}'; {expected}"));
    }
    let is_symmetric = symmetry == "symmetric";
    match values {
        "pattern" => Ok((false, is_symmetric)),
        "real" | "double" | "integer" | "unsigned-integer" => Ok((true, is_symmetric)),
        _ => Err(format!("a matrix of '{values}' values; expected real, integer or pattern")),
    }
}

/// The entries of one block.
#[derive(Default)]
struct Entries {
    pairs: Vec<(Node, Node)>,
    weights: Vec<f32>,
}

/// Parses the lines of a block after the first `skip`.
fn parse(block: &[u8], header: &Header, skip: u64) -> Parsed<Entries> {
    is_utf8(block)?;
    let mut entries = Entries::default();
    let mut count = 0;
    for (number, line) in Lines::new(block) {
        count = number;
        if number <= skip || is_comment(line) {
            continue;
        }
        entry(line, header, &mut entries).map_err(|message| (number, message))?;
    }
    Ok((count, entries))
}

fn entry(line: &[u8], header: &Header, entries: &mut Entries) -> Result<(), String> {
    let mut fields = fields(line);
    let mut end = |name: &str| -> Result<Node, String> {
        let field = fields.next().ok_or_else(|| wrong_fields(header))?;
        match index(field) {
            Some(at) if (1..=header.n as u64).contains(&at) => Ok(at as Node - 1),
            Some(at) => Err(format!("{name} {at} is out of range; expected 1 to {}", header.n)),
            None => {
                let text = String::from_utf8_lossy(field);
                Err(format!("'{text}' is not a {name} number"))
            }
        }
    };
    let pair = (end("row")?, end("column")?);
    if header.weighted {
        let value = fields.next().ok_or_else(|| wrong_fields(header))?;
        let value = if header.only_zeros { zero_or_one(value)? } else { weight(value)? };
        entries.weights.push(value);
    }
    if fields.next().is_some() {
        return Err(wrong_fields(header));
    }
    entries.pairs.push(pair);
    Ok(())
}

/// 0 for zero and 1 for any other value.
fn zero_or_one(value: &[u8]) -> Result<f32, String> {
    let text = String::from_utf8_lossy(value);
    let number: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    Ok(f32::from(u8::from(number != 0.0)))
}

fn wrong_fields(header: &Header) -> String {
    let expected = if header.weighted { "row column value" } else { "row column" };
    format!("expected '{expected}', according to line 1")
}

fn is_comment(line: &[u8]) -> bool {
    line.trim_ascii_start().first().is_none_or(|&first| first == b'%')
}

fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty())
}

fn index(field: &[u8]) -> Option<u64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}
