//! Edge lists of NetworkX with attributes, `networkx.write_edgelist`: two ids and a Python
//! dictionary per line, `ann bob {'weight': 1.5, 'since': (2020, 1)}`.

use std::path::Path;

use super::super::Direction;
use super::attributes::{Wanted, weight};
use super::declared::Declared;
use super::{EdgeFile, ReadOptions};
use crate::error::{Error, Result};
use crate::file::read_text;

/// Reads a file.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<EdgeFile> {
    let text = read_text(path)?;
    let wanted = Wanted::of(path, options)?;
    let mut found = Declared::of("NetworkX edge list");
    found.set_direction(Direction::Unstated);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        edge(line, &wanted, &mut found).map_err(|message| Error::line(path, number, message))?;
    }
    found.finish(path, options, None, text.len() as u64)
}

fn edge(line: &str, wanted: &Wanted, found: &mut Declared) -> Result<(), String> {
    let start = line.find('{').unwrap_or(line.len());
    let (ends, attributes) = line.split_at(start);
    let ends = ends.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';'));
    let separator = ['\t', ',', ';'].into_iter().find(|&separator| ends.contains(separator));
    let ids: Vec<&str> = match separator {
        Some(separator) => ends.split(separator).map(str::trim).collect(),
        None => ends.split_whitespace().collect(),
    };
    let &[a, b] = &ids[..] else {
        return Err(format!(
            "found {} ids before the attributes, expected 'source target {{…}}'; ids with blanks \
             need another separator",
            ids.len()
        ));
    };
    if a.is_empty() || b.is_empty() {
        return Err("an empty id; expected a source and a target".to_owned());
    }
    let mut best = None;
    for_each_item(attributes, |key, value| {
        if let Some(rank) = wanted.rank(key)
            && best.is_none_or(|(other, _)| rank < other)
        {
            best = Some((rank, value));
        }
    })?;
    let stated = match best {
        Some((0, value)) => Some(weight(number(value))?),
        Some((_, value)) => weight(number(value)).ok(),
        None => None,
    };
    let ends = [found.implicit(a), found.implicit(b)];
    found.edge_of_rows(ends, stated, false);
    Ok(())
}

/// The number in a NumPy value, such as `np.float64(1.5)`.
fn number(value: &str) -> &str {
    let inner = value.strip_prefix("np.").or_else(|| value.strip_prefix("numpy."));
    inner.and_then(|value| value.split_once('(')?.1.strip_suffix(')')).unwrap_or(value)
}

/// Calls `item` with every key that is a text, and its value, of a Python dictionary.
fn for_each_item<'a>(text: &'a str, mut item: impl FnMut(&'a str, &'a str)) -> Result<(), String> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    // The start of the current key or value, and the key before the current value.
    let (mut start, mut key) = (0, None);
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'\'' | b'"') => {
                at += 1;
                while bytes.get(at).is_some_and(|&byte| byte != quote) {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
            }
            b'{' | b'[' | b'(' => {
                depth += 1;
                if depth == 1 {
                    start = at + 1;
                }
            }
            b':' if depth == 1 => {
                key = Some(text[start..at].trim().trim_matches(['\'', '"']));
                start = at + 1;
            }
            separator @ (b',' | b'}' | b']' | b')') => {
                if depth == 1
                    && let Some(key) = key.take()
                {
                    item(key, text[start..at].trim());
                }
                if separator == b',' {
                    start = if depth == 1 { at + 1 } else { start };
                } else {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        let rest = text[at + 1..].trim();
                        return if rest.is_empty() {
                            Ok(())
                        } else {
                            Err(format!("'{rest}' follows the attributes"))
                        };
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    Err("attributes without a closing '}'; expected 'source target {'key': value, …}'".to_owned())
}
