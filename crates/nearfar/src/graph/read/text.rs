//! Edge lists as text.
//!
//! [`Blocks`] of the file are parsed in parallel, each interning its own ids, and merged in file
//! order: rows are the same for any number of threads.

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use memchr::memchr;

use super::super::StringIds;
use super::super::ids::{hash, integer};
use super::EdgeFile;
use super::ids::EdgeCollector;
use crate::error::{Error, Result};
use crate::file::lines::{Blocks, LineError, Lines, Parsed, is_utf8, weight};

const NO_EDGE: &str = "no edges found; expected lines 'source target [weight]'";

/// Reads an edge list. Where the nodes are listed, it may have no edges.
pub(super) fn read(path: &Path, nodes: Option<&Path>) -> Result<EdgeFile> {
    let mut edges = EdgeCollector::with_node_file(nodes)?;
    let mut blocks = Blocks::open(path)?;
    let mut first = match nodes {
        Some(_) => blocks.first_if_any()?.unwrap_or_default(),
        None => blocks.first()?,
    };
    if memchr(0, &first).is_some() {
        let message = "a binary file; expected text (.tsv, .csv, also .gz or .zst), .mtx, .npy, \
                       .npz or .parquet";
        return Err(Error::file(path, message));
    }
    let dialect = loop {
        if let Some(dialect) = Dialect::detect(&first) {
            break dialect;
        }
        // Only comments so far.
        match blocks.next()? {
            Some(block) => first.extend(block),
            None if nodes.is_some() => return Ok(edges.finish(None, 0)),
            None => return Err(Error::file(path, NO_EDGE)),
        }
    };
    let mut weights = (dialect.columns == 3).then(Vec::new);
    // Only a hint for the faster parser: both give the same edges.
    let integers = AtomicBool::new(edges.all_integers());
    let start = parse(&first, &dialect, edges.all_integers(), true);
    let next = |block: &[u8]| parse(block, &dialect, integers.load(Relaxed), false);
    blocks.parse(start, next, |block| {
        merge(block, &mut edges, weights.as_mut());
        integers.store(edges.all_integers(), Relaxed);
    })?;
    if edges.len() == 0 {
        return Err(Error::file(path, NO_EDGE));
    }
    let header = dialect.header.map(|line| format!("line {line} was read as a header"));
    // A parsed block is about as large as its text, with a table of text ids up to seven times.
    let buffers = Blocks::bytes(if edges.all_integers() { 1 } else { 7 });
    Ok(EdgeFile { notes: header.into_iter().collect(), ..edges.finish(weights, buffers) })
}

/// How lines are divided into columns.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Dialect {
    /// The separator, or `None` for any number of blanks.
    separator: Option<u8>,
    columns: usize,
    /// The number of the header line, which names the columns.
    header: Option<u64>,
}

impl Dialect {
    /// Detects it from the first two lines that are not comments. `None` if there is no line.
    fn detect(block: &[u8]) -> Option<Self> {
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

/// A first line is a header if it has one of the usual pairs of column names, or text where the
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
    Texts(StringIds, Vec<u64>, Vec<(u32, u32)>),
}

fn parse(bytes: &[u8], dialect: &Dialect, integers: bool, is_first: bool) -> Parsed<Block> {
    is_utf8(bytes)?;
    let header = dialect.header.filter(|_| is_first);
    if integers && let Some(block) = parse_integers(bytes, dialect, header)? {
        return Ok(block);
    }
    parse_texts(bytes, dialect, header)
}

/// Parses a block whose ids are all integers; `None` if it finds one that is not.
fn parse_integers(
    bytes: &[u8],
    dialect: &Dialect,
    header: Option<u64>,
) -> Result<Option<(u64, Block)>, LineError> {
    let mut pairs = Vec::with_capacity(bytes.len() / 12);
    let mut only_integers = true;
    let (lines, weights) = for_each_edge(bytes, dialect, header, |a, b| {
        match (integer(a), integer(b)) {
            (Some(a), Some(b)) => pairs.push((a, b)),
            _ => only_integers = false,
        }
        only_integers
    })?;
    Ok(only_integers.then_some((lines, Block { edges: Edges::Integers(pairs), weights })))
}

fn parse_texts(bytes: &[u8], dialect: &Dialect, header: Option<u64>) -> Parsed<Block> {
    let mut texts = StringIds::default();
    let mut hashes = Vec::new();
    let mut row_of = |id: &[u8]| -> u32 {
        // The block is valid UTF-8, and fields are split at ASCII bytes.
        let id = std::str::from_utf8(id).unwrap_or_default();
        let hashed = hash(id);
        let row = texts.insert_hashed(hashed, id);
        if row as usize == hashes.len() {
            hashes.push(hashed);
        }
        row
    };
    let mut pairs = Vec::with_capacity(bytes.len() / 24);
    let (lines, weights) = for_each_edge(bytes, dialect, header, |a, b| {
        let a = row_of(a);
        pairs.push((a, row_of(b)));
        true
    })?;
    Ok((lines, Block { edges: Edges::Texts(texts, hashes, pairs), weights }))
}

/// Calls `edge` with the two ids of every line until it returns false; returns the number of
/// lines and the weights.
fn for_each_edge(
    bytes: &[u8],
    dialect: &Dialect,
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
        let mut fields = Fields::new(line, dialect.separator);
        let columns = [fields.next(), fields.next(), fields.next(), fields.next()];
        let found = columns.iter().flatten().count() + fields.count();
        if found != dialect.columns || !(2..=3).contains(&found) {
            // An unclosed quote hides the columns after it: report the quote.
            let bad_quote = columns.into_iter().flatten().find_map(Result::err);
            return Err((number, bad_quote.unwrap_or_else(|| wrong_columns(dialect, found))));
        }
        let mut columns = columns.into_iter().flatten();
        let mut column = || columns.next().unwrap_or(Ok(Cow::Borrowed(b"")));
        let fail = |message: String| (number, message);
        let (a, b) = (column().map_err(fail)?, column().map_err(fail)?);
        if a.is_empty() || b.is_empty() {
            return Err(fail("an empty id; expected a source and a target".to_owned()));
        }
        if dialect.columns == 3 {
            weights.push(weight(&column().map_err(fail)?).map_err(fail)?);
        }
        if !edge(&a, &b) {
            break;
        }
    }
    Ok((count, weights))
}

fn wrong_columns(dialect: &Dialect, found: usize) -> String {
    let separator = match dialect.separator {
        Some(b'\t') => "tabs",
        Some(b',') => "commas",
        Some(_) => "semicolons",
        None => "blanks",
    };
    let columns = if found == 1 { "1 column".to_owned() } else { format!("{found} columns") };
    if (2..=3).contains(&dialect.columns) {
        format!(
            "found {columns}, expected {} as in earlier lines, separated by {separator}",
            dialect.columns
        )
    } else {
        format!("found {columns} separated by {separator}, expected 'source target [weight]'")
    }
}

fn merge(block: Block, edges: &mut EdgeCollector, weights: Option<&mut Vec<f32>>) {
    match block.edges {
        Edges::Integers(pairs) => edges.extend_integers(&pairs),
        Edges::Texts(texts, hashes, pairs) => {
            let rows = edges.texts().insert_all(&texts, &hashes);
            edges.extend_rows(pairs.iter().map(|&(a, b)| (rows[a as usize], rows[b as usize])));
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

/// Strips leading whitespace other than the separator.
fn trim_blanks(text: &[u8], separator: u8) -> &[u8] {
    let blank = |byte: &&u8| byte.is_ascii_whitespace() && **byte != separator;
    &text[text.iter().take_while(blank).count()..]
}

impl<'a> Fields<'a> {
    /// A field in double quotes, in which a doubled quote stands for one.
    fn quoted(&mut self, rest: &'a [u8], separator: u8) -> Result<Cow<'a, [u8]>, String> {
        let mut field = Vec::new();
        let mut at = 1;
        loop {
            let Some(quote) = memchr(b'"', &rest[at..]) else {
                self.rest = None;
                return Err("an opening quote without a closing one".to_owned());
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
