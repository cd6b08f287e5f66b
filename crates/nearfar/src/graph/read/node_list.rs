//! Files that list the nodes of a graph, one id per line, or in a column of a table.

use std::path::Path;

use super::Separator;
use super::columns::normalised;
use super::fields::{Fields, is_comment, separates};
use crate::error::{Error, Problem, Result};
use crate::file::lines::Lines;
use crate::file::{extension, read_text};

const NAMES: [&str; 7] = ["id", "node", "nodes", "nodeid", "name", "vertex", "nodename"];

/// The ids in a file of nodes, and what to tell the user.
pub(super) fn read(path: &Path) -> Result<(Vec<String>, Vec<Problem>)> {
    let text = read_text(path)?;
    let mut lines = Lines::new(text.as_bytes()).filter(|(_, line)| !is_comment(line)).peekable();
    let empty = || Error::file(path, "no node ids found; expected one per line");
    let &(number, first) = lines.peek().ok_or_else(empty)?;
    let separator = separator(path, first);
    let names: Vec<String> = Fields::new(first, separator)
        .map(|name| String::from_utf8_lossy(&name.unwrap_or_default()).into_owned())
        .collect();
    let find = |word: &&str| names.iter().position(|name| normalised(name) == **word);
    let column = NAMES.iter().find_map(find);
    let mut notes = Vec::new();
    if column.is_some() {
        lines.next();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        notes
            .push(format!("{name}: line {number} ({}) names the columns", names.join(", ")).into());
    }
    let mut ids = Vec::new();
    for (number, line) in lines {
        let field = Fields::new(line, separator).nth(column.unwrap_or(0));
        let id = field.unwrap_or(Ok(b"".into())).map_err(|m| Error::line(path, number, m))?;
        if id.is_empty() {
            return Err(Error::line(path, number, "an empty id"));
        }
        ids.push(String::from_utf8_lossy(&id).into_owned());
    }
    if ids.is_empty() { Err(empty()) } else { Ok((ids, notes)) }
}

/// Ids may hold blanks and commas: only a table has columns.
fn separator(path: &Path, first: &[u8]) -> Separator {
    let found = [b'\t', b',', b';'].into_iter().find(|&byte| separates(first, byte));
    let is_table = extension(path) == "csv" || found == Some(b'\t');
    Separator::Byte(found.filter(|_| is_table).unwrap_or(b'\t'))
}
