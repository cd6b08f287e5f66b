//! Vectors as text, one node a line.
//!
//! Word2vec's layout starts with a line `nodes dimensions` and separates by blanks; `.tsv` has no
//! such line and separates by tabs. Numbers are written with as few digits as tell them from all
//! other floats, so reading gives back the same bits.

use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;

use super::{Embedding, Ids};
use crate::error::{Error, Result};
use crate::file::lines::{Blocks, Lines, Parsed, is_utf8};
use crate::file::write_whole;
use crate::graph::Node;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    Word2vec,
    Tsv,
}

impl Layout {
    fn separator(self) -> char {
        match self {
            Self::Word2vec => ' ',
            Self::Tsv => '\t',
        }
    }

    /// The lines before the first node.
    fn header(self) -> u64 {
        u64::from(self == Self::Word2vec)
    }
}

pub(super) fn write(path: &Path, embedding: &Embedding, layout: Layout) -> Result<()> {
    /// Numbers that one thread formats at a time.
    const BLOCK: usize = 1 << 14;
    let rows = (BLOCK / embedding.dim()).max(1);
    let nodes = embedding.nodes();
    let starts: Vec<usize> = (0..nodes).step_by(rows).collect();
    write_whole(path, |out| {
        if layout == Layout::Word2vec {
            writeln!(out, "{nodes} {}", embedding.dim())?;
        }
        for starts in starts.chunks(64) {
            let format = |&start: &usize| format(embedding, start..nodes.min(start + rows), layout);
            let texts: Vec<String> = starts.par_iter().map(format).collect();
            texts.iter().try_for_each(|text| out.write_all(text.as_bytes()))?;
        }
        Ok(())
    })
}

fn format(embedding: &Embedding, rows: Range<usize>, layout: Layout) -> String {
    let mut text = String::new();
    for node in rows.start as Node..rows.end as Node {
        text.push_str(&embedding.ids().get(node));
        for value in embedding.vector(node) {
            text.push(layout.separator());
            // As `{}`, but with an exponent where that is shorter. A String cannot fail.
            let _ = write!(text, "{value:?}");
        }
        text.push('\n');
    }
    text
}

pub(super) fn read(path: &Path, layout: Layout) -> Result<Embedding> {
    let mut blocks = Blocks::open(path)?;
    let first = blocks.first()?;
    let (_, line) = Lines::new(&first).next().unwrap_or_default();
    let line = std::str::from_utf8(line)
        .map_err(|_| Error::line(path, 1, "this is not UTF-8 text; save the file as UTF-8"))?;
    let (promised, dim) = match layout {
        Layout::Word2vec => {
            let (nodes, dim) = sizes(line).ok_or_else(|| {
                let message = "expected two numbers: how many nodes, how many dimensions";
                Error::line(path, 1, message)
            })?;
            (Some(nodes), dim)
        }
        Layout::Tsv => (None, line.split('\t').count() - 1),
    };
    if dim == 0 {
        let message = "no number after the id; expected an id and its vector, separated by tabs";
        return Err(Error::line(path, 1, message));
    }
    let skip = layout.header() as usize * first.len().min(line.len() + 1);
    // A carriage return before the line end was no part of the line.
    let skip = skip + usize::from(skip > 0 && first.get(line.len()) == Some(&b'\r'));
    let head = parse(&first[skip..], layout, dim)
        .map(|(lines, rows)| (lines + layout.header(), rows))
        .map_err(|(line, message)| (line + layout.header(), message));
    let mut all = Rows::default();
    let mut ids = Ids::default();
    let mut again = None;
    blocks.parse(
        head,
        |block| parse(block, layout, dim),
        |rows| {
            for id in rows.ids {
                if again.is_none() {
                    again = ids.push(&id).err().map(|row| (ids.len(), row, id));
                }
            }
            all.values.extend(rows.values);
        },
    )?;
    if let Some((row, earlier, id)) = again {
        let line = |row: u64| row + 1 + layout.header();
        let message =
            format!("node '{id}' again, first in line {}; ids differ", line(earlier.into()));
        return Err(Error::line(path, line(row as u64), message));
    }
    if let Some(promised) = promised.filter(|&promised| promised != ids.len()) {
        let message = format!("this line promises {promised} vectors, and {} follow", ids.len());
        return Err(Error::line(path, 1, message));
    }
    Embedding::from_file(path, ids.finish(), dim, all.values)
}

/// The two numbers of word2vec's first line.
pub(super) fn sizes(line: &str) -> Option<(usize, usize)> {
    let mut fields = line.split_ascii_whitespace();
    let sizes = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    (fields.next().is_none() && sizes.1 > 0).then_some(sizes)
}

/// Some rows of a file.
#[derive(Default)]
struct Rows {
    ids: Vec<String>,
    values: Vec<f32>,
}

fn parse(block: &[u8], layout: Layout, dim: usize) -> Parsed<Rows> {
    is_utf8(block)?;
    let mut rows = Rows::default();
    let mut lines = 0;
    for (number, line) in Lines::new(block) {
        let line = String::from_utf8_lossy(line);
        parse_line(&line, layout, dim, &mut rows).map_err(|message| (number, message))?;
        lines = number;
    }
    Ok((lines, rows))
}

fn parse_line(line: &str, layout: Layout, dim: usize, rows: &mut Rows) -> Result<(), String> {
    let mut fields = line.split(layout.separator());
    let id = fields.next().unwrap_or_default();
    if id.is_empty() {
        return Err("an empty id; expected an id and its vector".to_owned());
    }
    let before = rows.values.len();
    for field in fields {
        // Some writers of word2vec's layout end each line with a blank.
        if field.is_empty() && layout == Layout::Word2vec {
            continue;
        }
        let value = field.trim().parse().map_err(|_| {
            let separator = if layout == Layout::Tsv { "tabs" } else { "blanks" };
            format!(
                "'{field}' where a number should be; ids and numbers are separated by {separator}"
            )
        })?;
        rows.values.push(value);
    }
    match rows.values.len() - before {
        found if found == dim => rows.ids.push(id.to_owned()),
        found => return Err(format!("expected {dim} numbers as line 1 says, found {found}")),
    }
    Ok(())
}
