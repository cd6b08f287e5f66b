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
use super::columns::Columns;
use super::dialect::{Detected, Dialect};
use super::fields::{Fields, is_comment};
use super::ids::EdgeCollector;
use super::{EdgeFile, ReadOptions};
use crate::error::{Error, Result};
use crate::file::lines::{Blocks, LineError, Lines, Parsed, is_utf8, length, weight};

const NO_EDGE: &str = "no edges found; expected lines 'source target [weight]'";

/// Reads an edge list. Where the nodes are listed, it may have no edges.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<EdgeFile> {
    let mut edges = EdgeCollector::with_node_file(options.nodes.as_deref())?;
    let mut weights = Vec::new();
    let integers = edges.all_integers();
    let detected = stream(path, options, integers, |block| {
        merge(block, &mut edges, &mut weights);
        Ok(edges.all_integers())
    })?;
    let Some((Detected { dialect, origin, notes }, text)) = detected else {
        return Ok(edges.finish(None, 0));
    };
    if edges.len() == 0 && options.nodes.is_none() {
        return Err(no_edges(path));
    }
    // A parsed block is about as large as its text, with a table of text ids up to seven times.
    let buffers = Blocks::bytes(text, if edges.all_integers() { 1 } else { 7 });
    let weights = dialect.columns.weight.map(|_| weights);
    let mut file = EdgeFile { origin, ..edges.finish(weights, buffers) };
    file.notes.extend(notes);
    Ok(file)
}

pub(in crate::graph) fn no_edges(path: &Path) -> Error {
    Error::file(path, NO_EDGE)
}

/// Calls `take` with the edges of every block, in file order. `integers` says whether all ids so far
/// are integers, and so does what `take` returns. Returns how lines are divided, and the size of the
/// text; `None` if there are no lines, and nodes are listed.
pub(in crate::graph) fn stream(
    path: &Path,
    options: &ReadOptions,
    integers: bool,
    mut take: impl FnMut(Block) -> Result<bool> + Send,
) -> Result<Option<(Detected, u64)>> {
    let mut blocks = Blocks::open(path)?;
    let Some((first, mut detected)) = start(&mut blocks, options)? else { return Ok(None) };
    detected.origin.header = detected.origin.header.map(|line| line + blocks.line());
    let dialect = detected.dialect;
    let start = parse(&first, &dialect, integers, true);
    drop(first);
    // Only a hint for the faster parser: both give the same edges.
    let integers = AtomicBool::new(integers);
    let next = |block: &[u8]| parse(block, &dialect, integers.load(Relaxed), false);
    let text = blocks.parse(start, next, |block| {
        integers.store(take(block)?, Relaxed);
        Ok(())
    })?;
    Ok(Some((detected, text)))
}

/// The first block, from the first line that is not a comment, and how its lines are divided. `None`
/// if there is no such line, and nodes are listed.
fn start(blocks: &mut Blocks, options: &ReadOptions) -> Result<Option<(Vec<u8>, Detected)>> {
    let path = blocks.path();
    let mut first = match options.nodes {
        Some(_) => blocks.first_if_any()?.unwrap_or_default(),
        None => blocks.first()?,
    };
    let mut is_whole = false;
    loop {
        if memchr(0, &first).is_some() {
            let message = "a binary file; expected text (.tsv, .csv, also .gz or .zst), .mtx, \
                           .npy, .npz or .parquet";
            return Err(Error::file(path, message));
        }
        let comments = comments(&first);
        blocks.skip(&first[..comments]);
        first.drain(..comments);
        let fail = |(line, problem)| Error::line(path, blocks.line() + line, problem);
        if let Some(detected) = Dialect::detect(&first, options, is_whole).map_err(fail)? {
            return Ok(Some((first, detected)));
        }
        if is_whole && options.nodes.is_some() {
            return Ok(None);
        }
        if is_whole {
            return Err(no_edges(path));
        }
        // Twice as much each time, so that a long run of comments is not read again and again.
        let enough = 2 * first.len();
        while first.len() <= enough && !is_whole {
            match blocks.next()? {
                Some(block) => first.extend(block),
                None => is_whole = true,
            }
        }
    }
}

/// The edges of one block.
pub(in crate::graph) struct Block {
    pub(in crate::graph) edges: Edges,
    pub(in crate::graph) weights: Vec<f32>,
}

pub(in crate::graph) enum Edges {
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
    let Columns { source, target, weight: weight_at, .. } = dialect.columns;
    let value = if dialect.lengths { length } else { weight };
    let are_first = (source, target) == (0, 1) && dialect.count <= 3;
    let mut weights = Vec::new();
    let mut count = 0;
    for (number, line) in Lines::new(bytes) {
        count = number;
        if is_comment(line) || Some(number) == header {
            continue;
        }
        let fail = |message: String| (number, message);
        if !are_first {
            let [a, b, weighed] = chosen_fields(line, dialect).map_err(fail)?;
            if weight_at.is_some() {
                weights.push(value(&weighed).map_err(fail)?);
            }
            if a.is_empty() || b.is_empty() {
                return Err(fail(EMPTY_ID.to_owned()));
            }
            if edge(&a, &b) {
                continue;
            }
            break;
        }
        let mut fields = Fields::new(line, dialect.separator);
        let columns = [fields.next(), fields.next(), fields.next(), fields.next()];
        let found = columns.iter().flatten().count() + fields.count();
        if found != dialect.count {
            // An unclosed quote hides the columns after it: report the quote.
            let bad_quote = columns.into_iter().flatten().find_map(Result::err);
            return Err(fail(bad_quote.unwrap_or_else(|| wrong_columns(dialect, found))));
        }
        let mut columns = columns.into_iter().flatten();
        let mut column = || columns.next().unwrap_or(Ok(Cow::Borrowed(b"")));
        let (a, b) = (column().map_err(fail)?, column().map_err(fail)?);
        if a.is_empty() || b.is_empty() {
            return Err(fail(EMPTY_ID.to_owned()));
        }
        if weight_at.is_some() {
            weights.push(value(&column().map_err(fail)?).map_err(fail)?);
        }
        if !edge(&a, &b) {
            break;
        }
    }
    Ok((count, weights))
}

const EMPTY_ID: &str = "an empty id; expected a source and a target";

/// Source, target and weight of a line with any columns.
fn chosen_fields<'a>(line: &'a [u8], dialect: &Dialect) -> Result<[Cow<'a, [u8]>; 3], String> {
    let Columns { source, target, weight, .. } = dialect.columns;
    let mut chosen = [(); 3].map(|()| Cow::Borrowed(&b""[..]));
    let mut found = 0;
    for field in Fields::new(line, dialect.separator) {
        let field = field?;
        let roles = [Some(source), Some(target), weight];
        if let Some(role) = roles.iter().position(|&at| at == Some(found)) {
            chosen[role] = field;
        }
        found += 1;
    }
    if found == dialect.count { Ok(chosen) } else { Err(wrong_columns(dialect, found)) }
}

fn wrong_columns(dialect: &Dialect, found: usize) -> String {
    let columns = if found == 1 { "1 column".to_owned() } else { format!("{found} columns") };
    format!(
        "found {columns}, expected {} as in earlier lines, separated by {}",
        dialect.count,
        dialect.separator.plural()
    )
}

/// The size of the comments that a block starts with.
fn comments(block: &[u8]) -> usize {
    let mut rest = block;
    for (_, line) in Lines::new(block) {
        if !is_comment(line) {
            break;
        }
        let end = memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        rest = &rest[end..];
    }
    block.len() - rest.len()
}

fn merge(block: Block, edges: &mut EdgeCollector, weights: &mut Vec<f32>) {
    match block.edges {
        Edges::Integers(pairs) => edges.extend_integers(&pairs),
        Edges::Texts(texts, hashes, pairs) => {
            let rows = edges.texts().insert_all(&texts, &hashes);
            edges.extend_rows(pairs.iter().map(|&(a, b)| (rows[a as usize], rows[b as usize])));
        }
    }
    weights.extend_from_slice(&block.weights);
}
