//! Embeddings as text, one node per line.
//!
//! The word2vec format has a header `nodes dimensions` and separates by spaces; `.tsv` has no header
//! and separates by tabs; `.csv` has a header `node,0,1,…` and separates by commas. Values are written with the fewest digits that identify the float, so
//! reading restores the same bits.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;

use super::{Embedding, Ids};
use crate::error::{Error, Result};
use crate::file::FileSet;
use crate::file::lines::{Blocks, Lines, Parsed, is_utf8};
use crate::graph::Node;

/// A text format.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TextFormat {
    Word2vec,
    Tsv,
    /// With a header, and quotes around ids that need them.
    Csv,
}

impl TextFormat {
    fn separator(self) -> char {
        match self {
            Self::Word2vec => ' ',
            Self::Tsv => '\t',
            Self::Csv => ',',
        }
    }

    /// The separators, for messages.
    fn separators(self) -> &'static str {
        match self {
            Self::Word2vec => "spaces",
            Self::Tsv => "tabs",
            Self::Csv => "commas",
        }
    }

    /// The number of lines before the first node.
    fn header_lines(self) -> u64 {
        u64::from(self != Self::Tsv)
    }
}

pub(super) fn write(path: &Path, embedding: &Embedding, format: TextFormat) -> Result<FileSet> {
    /// Values that one task formats.
    const BLOCK: usize = 1 << 14;
    let rows = (BLOCK / embedding.dim()).max(1);
    let nodes = embedding.nodes();
    let starts: Vec<usize> = (0..nodes).step_by(rows).collect();
    FileSet::of(path, |out| {
        if format == TextFormat::Word2vec {
            writeln!(out, "{nodes} {}", embedding.dim())?;
        }
        if format == TextFormat::Csv {
            write!(out, "node")?;
            (0..embedding.dim()).try_for_each(|at| write!(out, ",{at}"))?;
            writeln!(out)?;
        }
        for starts in starts.chunks(64) {
            let write = |&start: &usize| lines(embedding, start..nodes.min(start + rows), format);
            let texts: Vec<String> = starts.par_iter().map(write).collect();
            texts.iter().try_for_each(|text| out.write_all(text.as_bytes()))?;
        }
        Ok(())
    })
}

fn lines(embedding: &Embedding, rows: Range<usize>, format: TextFormat) -> String {
    let mut text = String::new();
    for node in rows.start as Node..rows.end as Node {
        let id = embedding.ids().get(node);
        if format == TextFormat::Csv && needs_quotes(&id) {
            let _ = write!(text, "\"{}\"", id.replace('"', "\"\""));
        } else {
            text.push_str(&id);
        }
        for value in embedding.vector(node) {
            text.push(format.separator());
            // Debug uses an exponent where that is shorter. Writing to a String cannot fail.
            let _ = write!(text, "{value:?}");
        }
        text.push('\n');
    }
    text
}

fn needs_quotes(id: &str) -> bool {
    id.contains([',', '"']) || id.trim().len() != id.len()
}

/// An id in quotes, whose first is stripped, in which a doubled quote stands for one; and what
/// follows the separator after it.
fn unquoted(quoted: &str) -> Result<(Cow<'_, str>, Option<&str>), String> {
    let (mut id, mut rest) = (String::new(), quoted);
    loop {
        let (part, after) = rest.split_once('"').ok_or("an opening quote without a closing one")?;
        id.push_str(part);
        match after.strip_prefix('"') {
            Some(after) => {
                id.push('"');
                rest = after;
            }
            None if after.is_empty() => return Ok((Cow::Owned(id), None)),
            None => {
                let after = after.strip_prefix(',').ok_or("text follows a closing quote")?;
                return Ok((Cow::Owned(id), Some(after)));
            }
        }
    }
}

pub(super) fn read(path: &Path, format: TextFormat) -> Result<Embedding> {
    let mut blocks = Blocks::open(path)?;
    let first = blocks.first()?;
    let (_, line) = Lines::new(&first).next().unwrap_or_default();
    let line = std::str::from_utf8(line)
        .map_err(|_| Error::line(path, 1, "not UTF-8; save the file as UTF-8"))?;
    let (expected, dim) = match format {
        TextFormat::Word2vec => {
            let (nodes, dim) = sizes(line).ok_or_else(|| {
                let message = "expected two integers: the number of nodes and of dimensions";
                Error::line(path, 1, message)
            })?;
            (Some(nodes), dim)
        }
        TextFormat::Tsv => (None, line.split('\t').count() - 1),
        TextFormat::Csv => {
            let names = line.split(',').skip(1);
            if !names.enumerate().all(|(at, name)| name.trim() == at.to_string()) {
                let message = "expected a header such as 'node,0,1,2', with a column for each \
                               dimension";
                return Err(Error::line(path, 1, message));
            }
            (None, line.split(',').count() - 1)
        }
    };
    if dim == 0 {
        let separator = format.separators();
        let message = format!(
            "no value after the id; expected an id and its vector, separated by {separator}"
        );
        return Err(Error::line(path, 1, message));
    }
    // Up to the end of the header with its line break, which may be missing.
    let end = first.iter().position(|&byte| byte == b'\n').map_or(first.len(), |end| end + 1);
    let skip = format.header_lines() as usize * end;
    let head = parse(&first[skip..], format, dim)
        .map(|(lines, rows)| (lines + format.header_lines(), rows))
        .map_err(|(line, message)| (line + format.header_lines(), message));
    let mut all = ParsedRows::default();
    let mut ids = Ids::default();
    let mut duplicate = None;
    blocks.parse(
        head,
        |block| parse(block, format, dim),
        |rows| {
            for id in rows.ids {
                if duplicate.is_none() {
                    duplicate = ids.push(&id).err().map(|row| (ids.len(), row, id));
                }
            }
            all.values.extend(rows.values);
            Ok(())
        },
    )?;
    if let Some((row, earlier, id)) = duplicate {
        let line = |row: u64| row + 1 + format.header_lines();
        let message = format!("duplicate node '{id}', first in line {}", line(earlier.into()));
        return Err(Error::line(path, line(row as u64), message));
    }
    if let Some(expected) = expected.filter(|&expected| expected != ids.len()) {
        let message = format!("the header says {expected} vectors, found {}", ids.len());
        return Err(Error::line(path, 1, message));
    }
    Embedding::from_file(path, ids.finish(), dim, all.values)
}

/// Nodes and dimensions of the header of word2vec.
pub(super) fn sizes(line: &str) -> Option<(usize, usize)> {
    let mut fields = line.split_ascii_whitespace();
    let sizes = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    (fields.next().is_none() && sizes.1 > 0).then_some(sizes)
}

/// The rows of a block of lines.
#[derive(Default)]
struct ParsedRows {
    ids: Vec<String>,
    values: Vec<f32>,
}

fn parse(block: &[u8], format: TextFormat, dim: usize) -> Parsed<ParsedRows> {
    is_utf8(block)?;
    let mut rows = ParsedRows::default();
    let mut lines = 0;
    for (number, line) in Lines::new(block) {
        let line = String::from_utf8_lossy(line);
        parse_line(&line, format, dim, &mut rows).map_err(|message| (number, message))?;
        lines = number;
    }
    Ok((lines, rows))
}

fn parse_line(
    line: &str,
    format: TextFormat,
    dim: usize,
    rows: &mut ParsedRows,
) -> Result<(), String> {
    let quoted = if format == TextFormat::Csv { line.strip_prefix('"') } else { None };
    let (id, rest) = match quoted {
        Some(quoted) => unquoted(quoted)?,
        None => match line.split_once(format.separator()) {
            Some((id, rest)) => (Cow::Borrowed(id), Some(rest)),
            None => (Cow::Borrowed(line), None),
        },
    };
    let fields = rest.into_iter().flat_map(|rest| rest.split(format.separator()));
    if id.is_empty() {
        return Err("an empty id; expected an id and its vector".to_owned());
    }
    let before = rows.values.len();
    for field in fields {
        // Some writers of word2vec files end each line with a space.
        if field.is_empty() && format == TextFormat::Word2vec {
            continue;
        }
        let value = field.trim().parse().map_err(|_| {
            let separator = format.separators();
            format!(
                "'{field}' is not a number; expected an id and its vector, separated by {separator}"
            )
        })?;
        rows.values.push(value);
    }
    match rows.values.len() - before {
        found if found == dim => rows.ids.push(id.into_owned()),
        found => return Err(format!("expected {dim} values as in line 1, found {found}")),
    }
    Ok(())
}
