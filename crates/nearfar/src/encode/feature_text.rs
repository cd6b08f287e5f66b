//! Features as text: lines of an id and its values, separated by commas, tabs or semicolons.

use std::path::Path;

use crate::error::{Error, Result};
use crate::file::read_text;
use crate::graph::read::{Fields, Separator};
use crate::graph::{NodeIds, StringIds};

/// The ids of the rows, how many values each has, and the values.
pub(super) type Table = (NodeIds, usize, Vec<f32>);

/// Reads a table. A first line whose values are no numbers names the columns.
pub(super) fn read(path: &Path) -> Result<Table> {
    let text = read_text(path)?;
    let (mut ids, mut width, mut values) = (StringIds::default(), None, Vec::new());
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let mut lines = lines.filter(|(_, line)| !line.starts_with('#')).peekable();
    let first = lines.peek().map_or("", |(_, line)| line);
    let separators = [b'\t', b',', b';'];
    let found = separators.into_iter().find(|&byte| first.as_bytes().contains(&byte));
    let separator = found.map_or(Separator::Blanks, Separator::Byte);
    let mut is_first = true;
    for (number, line) in lines {
        let fail = |message: String| Error::line(path, number, message);
        let mut fields = Fields::new(line.as_bytes(), separator);
        let mut next = || {
            let field = fields.next()?;
            Some(field.map(|field| String::from_utf8_lossy(&field).into_owned()))
        };
        let id = next().unwrap_or(Ok(String::new())).map_err(fail)?;
        let fields: Vec<String> =
            std::iter::from_fn(next).collect::<Result<_, String>>().map_err(fail)?;
        let is_header = std::mem::take(&mut is_first)
            && fields.iter().any(|field| field.parse::<f32>().is_err());
        let expected = *width.get_or_insert(fields.len());
        if fields.len() != expected || expected == 0 {
            let message = format!("{} features; expected {expected} as in line 1", fields.len());
            return Err(fail(if expected == 0 { NONE.to_owned() } else { message }));
        }
        if is_header {
            continue;
        }
        let row = ids.insert(&id) as usize;
        if id.is_empty() || row * expected < values.len() {
            let message =
                if id.is_empty() { "an empty id".to_owned() } else { format!("'{id}' again") };
            return Err(fail(format!("{message}; expected a line for each node")));
        }
        for field in &fields {
            match field.parse::<f32>() {
                Ok(value) if value.is_finite() => values.push(value),
                Ok(_) => return Err(fail(format!("feature {field}; features are finite numbers"))),
                Err(_) => return Err(fail(format!("feature '{field}' is not a number"))),
            }
        }
    }
    match width {
        Some(width) if !values.is_empty() => Ok((NodeIds::StringIds(ids), width, values)),
        _ => Err(Error::file(path, NONE)),
    }
}

const NONE: &str = "no features found; expected lines of an id and its values";
