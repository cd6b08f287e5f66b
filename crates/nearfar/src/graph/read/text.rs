//! Edge lists as text.
//!
//! [`Blocks`] of the file are parsed side by side, each numbering its own ids, and merged in file
//! order. So the rows are the same for any number of threads.

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use memchr::memchr;

use super::super::ids::{hash, integer};
use super::super::{EdgeList, StringIds};
use super::ids::Ids;
use crate::error::{Error, Result};
use crate::file::lines::{Blocks, LineError, Lines, Parsed, is_utf8, weight};

const NO_EDGE: &str = "no edge in it; expected lines 'source target [weight]'";

/// Reads an edge list; also what a reader should know about how it was understood.
pub(super) fn read(path: &Path, nodes: Option<&Path>) -> Result<(EdgeList, Vec<String>)> {
    let mut ids = Ids::with_node_file(nodes)?;
    let mut blocks = Blocks::open(path)?;
    let mut first = blocks.first()?;
    if memchr(0, &first).is_some() {
        let message = "this is a binary file; graphs are read from text (.tsv, .csv, .gz, .zst), \
                       .mtx, .npy, .npz and .parquet";
        return Err(Error::file(path, message));
    }
    let layout = loop {
        if let Some(layout) = Layout::recognise(&first) {
            break layout;
        }
        // Nothing but comments so far.
        first.extend(blocks.next()?.ok_or_else(|| Error::file(path, NO_EDGE))?);
    };
    let mut weights = (layout.columns == 3).then(Vec::new);
    // Only a hint which way to parse: both ways give the same edges.
    let integers = AtomicBool::new(ids.all_integers());
    let start = parse(&first, &layout, ids.all_integers(), true);
    let next = |block: &[u8]| parse(block, &layout, integers.load(Relaxed), false);
    blocks.parse(start, next, |block| {
        merge(block, &mut ids, weights.as_mut());
        integers.store(ids.all_integers(), Relaxed);
    })?;
    if ids.edges() == 0 {
        return Err(Error::file(path, NO_EDGE));
    }
    let header = layout.header.map(|line| format!("line {line} was taken as a header"));
    Ok((ids.finish(weights), header.into_iter().collect()))
}

/// What the first lines show: how columns are separated, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Layout {
    /// The separator, or `None` for runs of blanks.
    separator: Option<u8>,
    columns: usize,
    /// The number of the line that only names the columns.
    header: Option<u64>,
}

impl Layout {
    /// Looks at the first two lines that are not comments. `None` if there is no line.
    fn recognise(block: &[u8]) -> Option<Self> {
        let mut lines = Lines::new(block).filter(|(_, line)| !is_comment(line));
        let (number, first) = lines.next()?;
        let separator = [b'\t', b',', b';'].into_iter().find(|&b| memchr(b, first).is_some());
        let split = |line| -> Vec<Cow<'_, [u8]>> {
            Fields::new(line, separator).map(Result::unwrap_or_default).collect()
        };
        let first = split(first);
        let second = lines.next().map(|(_, line)| split(line));
        let header = is_header(&first, second.as_deref()).then_some(number);
        let columns = match (header, &second) {
            (Some(_), Some(second)) => second.len(),
            (Some(_), None) => return None,
            (None, _) => first.len(),
        };
        Some(Self { separator, columns, header })
    }
}

/// A first line names the columns if it says so in the usual words, or if it has text where the
/// second line has integer ids.
fn is_header(first: &[Cow<'_, [u8]>], second: Option<&[Cow<'_, [u8]>]>) -> bool {
    let lower = |at: usize| -> Option<String> {
        first.get(at).map(|field| String::from_utf8_lossy(field).to_lowercase())
    };
    let (Some(a), Some(b)) = (lower(0), lower(1)) else { return false };
    if HEADERS.contains(&(&a, &b)) {
        return true;
    }
    let Some(second) = second.filter(|fields| fields.len() >= 2) else { return false };
    let is_integer = |field: &Cow<'_, [u8]>| integer(field).is_some();
    !is_integer(&first[0])
        && !is_integer(&first[1])
        && is_integer(&second[0])
        && is_integer(&second[1])
}

const HEADERS: [(&str, &str); 14] = [
    ("source", "target"),
    ("src", "dst"),
    ("src", "dest"),
    ("from", "to"),
    ("u", "v"),
    ("i", "j"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("node_a", "node_b"),
    ("id1", "id2"),
    ("id_1", "id_2"),
    ("subject", "object"),
    ("head", "tail"),
    ("fromnodeid", "tonodeid"),
];

/// The edges of one block.
struct Block {
    edges: Edges,
    weights: Vec<f32>,
}

enum Edges {
    Integers(Vec<(u32, u32)>),
    /// The ids of the block, their hashes, and edges as indices into them.
    StringIds(StringIds, Vec<u64>, Vec<(u32, u32)>),
}

fn parse(bytes: &[u8], layout: &Layout, integers: bool, is_first: bool) -> Parsed<Block> {
    is_utf8(bytes)?;
    let header = layout.header.filter(|_| is_first);
    if integers && let Some(block) = parse_integers(bytes, layout, header)? {
        return Ok(block);
    }
    parse_words(bytes, layout, header)
}

/// Parses a block whose ids are all integers; `None` if it finds one that is not.
fn parse_integers(
    bytes: &[u8],
    layout: &Layout,
    header: Option<u64>,
) -> Result<Option<(u64, Block)>, LineError> {
    let mut pairs = Vec::with_capacity(bytes.len() / 12);
    let mut only_integers = true;
    let (lines, weights) = for_each_edge(bytes, layout, header, |a, b| {
        match (integer(a), integer(b)) {
            (Some(a), Some(b)) => pairs.push((a, b)),
            _ => only_integers = false,
        }
        only_integers
    })?;
    Ok(only_integers.then_some((lines, Block { edges: Edges::Integers(pairs), weights })))
}

fn parse_words(bytes: &[u8], layout: &Layout, header: Option<u64>) -> Parsed<Block> {
    let mut words = StringIds::default();
    let mut hashes = Vec::new();
    let mut number = |id: &[u8]| -> u32 {
        // The block was checked; fields are cut at ASCII bytes.
        let id = std::str::from_utf8(id).unwrap_or_default();
        let hashed = hash(id);
        let row = words.insert_hashed(hashed, id);
        if row as usize == hashes.len() {
            hashes.push(hashed);
        }
        row
    };
    let mut pairs = Vec::with_capacity(bytes.len() / 24);
    let (lines, weights) = for_each_edge(bytes, layout, header, |a, b| {
        let a = number(a);
        pairs.push((a, number(b)));
        true
    })?;
    Ok((lines, Block { edges: Edges::StringIds(words, hashes, pairs), weights }))
}

/// Calls `edge` with the two ids of every line until it returns false; returns the number of
/// lines and the weights.
fn for_each_edge(
    bytes: &[u8],
    layout: &Layout,
    header: Option<u64>,
    mut edge: impl FnMut(&[u8], &[u8]) -> bool,
) -> Result<(u64, Vec<f32>), LineError> {
    let mut weights = Vec::new();
    let mut count = 0;
    for (number, line) in Lines::new(bytes) {
        count = number;
        if is_comment(line) || Some(number) == header {
            continue;
        }
        let mut fields = Fields::new(line, layout.separator);
        let columns = [fields.next(), fields.next(), fields.next(), fields.next()];
        let found = columns.iter().flatten().count() + fields.count();
        if found != layout.columns || !(2..=3).contains(&found) {
            // A quote that is not closed swallows columns; then the quote is what is wrong.
            let bad_quote = columns.into_iter().flatten().find_map(Result::err);
            return Err((number, bad_quote.unwrap_or_else(|| wrong_columns(layout, found))));
        }
        let mut columns = columns.into_iter().flatten();
        let mut column = || columns.next().unwrap_or(Ok(Cow::Borrowed(b"")));
        let fail = |message: String| (number, message);
        let (a, b) = (column().map_err(fail)?, column().map_err(fail)?);
        if a.is_empty() || b.is_empty() {
            return Err(fail("an empty id; every line needs a source and a target".to_owned()));
        }
        if layout.columns == 3 {
            weights.push(weight(&column().map_err(fail)?).map_err(fail)?);
        }
        if !edge(&a, &b) {
            break;
        }
    }
    Ok((count, weights))
}

fn wrong_columns(layout: &Layout, found: usize) -> String {
    let separator = match layout.separator {
        Some(b'\t') => "tabs",
        Some(b',') => "commas",
        Some(_) => "semicolons",
        None => "blanks",
    };
    let columns = if found == 1 { "1 column".to_owned() } else { format!("{found} columns") };
    if (2..=3).contains(&layout.columns) {
        format!(
            "found {columns} where the lines before have {}, separated by {separator}",
            layout.columns
        )
    } else {
        format!("found {columns} separated by {separator}, expected 'source target [weight]'")
    }
}

fn merge(block: Block, ids: &mut Ids, weights: Option<&mut Vec<f32>>) {
    match block.edges {
        Edges::Integers(pairs) => ids.extend_integers(&pairs),
        Edges::StringIds(words, hashes, pairs) => {
            let rows = ids.words().insert_all(&words, &hashes);
            ids.extend_rows(pairs.iter().map(|&(a, b)| (rows[a as usize], rows[b as usize])));
        }
    }
    if let Some(weights) = weights {
        weights.extend_from_slice(&block.weights);
    }
}

fn is_comment(line: &[u8]) -> bool {
    line.trim_ascii_start().first().is_none_or(|first| matches!(first, b'#' | b'%'))
}

/// The fields of a line, without blanks around them; quoted ones without their quotes.
struct Fields<'a> {
    rest: Option<&'a [u8]>,
    separator: Option<u8>,
}

impl<'a> Fields<'a> {
    fn new(line: &'a [u8], separator: Option<u8>) -> Self {
        let rest = if separator.is_some() { line } else { line.trim_ascii() };
        Self { rest: Some(rest), separator }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Cow<'a, [u8]>, String>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest?;
        let Some(separator) = self.separator else {
            let end = rest.iter().position(u8::is_ascii_whitespace);
            self.rest = end.map(|end| rest[end..].trim_ascii_start());
            return Some(Ok(Cow::Borrowed(&rest[..end.unwrap_or(rest.len())])));
        };
        let trimmed = trim_blanks(rest, separator);
        if trimmed.first() == Some(&b'"') {
            return Some(self.quoted(trimmed, separator));
        }
        let end = rest.iter().position(|&b| b == separator);
        self.rest = end.map(|end| &rest[end + 1..]);
        Some(Ok(Cow::Borrowed(rest[..end.unwrap_or(rest.len())].trim_ascii())))
    }
}

/// Without the blanks at the start, up to a separator, which may be one.
fn trim_blanks(text: &[u8], separator: u8) -> &[u8] {
    let blank = |byte: &&u8| byte.is_ascii_whitespace() && **byte != separator;
    &text[text.iter().take_while(blank).count()..]
}

impl<'a> Fields<'a> {
    /// A field between double quotes, in which two quotes stand for one.
    fn quoted(&mut self, rest: &'a [u8], separator: u8) -> Result<Cow<'a, [u8]>, String> {
        let mut field = Vec::new();
        let mut at = 1;
        loop {
            let Some(quote) = memchr(b'"', &rest[at..]) else {
                self.rest = None;
                return Err("a quote is opened and not closed".to_owned());
            };
            field.extend_from_slice(&rest[at..at + quote]);
            at += quote + 1;
            if rest.get(at) != Some(&b'"') {
                break;
            }
            field.push(b'"');
            at += 1;
        }
        let after = trim_blanks(&rest[at..], separator);
        self.rest = after.split_first().map(|(_, tail)| tail);
        match after.first() {
            None => Ok(Cow::Owned(field)),
            Some(&b) if b == separator => Ok(Cow::Owned(field)),
            Some(_) => Err("text follows a closing quote".to_owned()),
        }
    }
}
