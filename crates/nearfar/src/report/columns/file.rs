//! The user's columns: a table with a header, and a line for each node.

use std::collections::HashMap;
use std::path::Path;

use super::{Column, NO_GROUP, Values};
use crate::embedding::Embedding;
use crate::error::{Error, Problem, Result};
use crate::file::{lines::Lines, read_text};
use crate::graph::read::{Fields, Separator};

/// Columns of the user's own: a value for each node, by the rows of an embedding.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    pub(super) list: Vec<Column>,
}

/// Most columns of a page.
const MOST: usize = 50;

impl Columns {
    /// Columns of texts, with their names; an empty text is no value. Columns whose values are all
    /// numbers, and more than a dozen different ones, are coloured as numbers; those with few
    /// different values as groups; others are shown as text.
    pub fn new(columns: Vec<(String, Vec<String>)>) -> Result<Self> {
        if columns.len() > MOST {
            let message = format!("{} columns; expected at most {MOST}", columns.len());
            return Err(Error::conflict(message));
        }
        let column = |(name, texts)| Column { name, values: values(texts) };
        Ok(Self { list: columns.into_iter().map(column).collect() })
    }

    /// The number of rows; `None` without a column.
    pub(in crate::report) fn rows(&self) -> Option<usize> {
        self.list.first().map(|column| match &column.values {
            Values::Groups { of, .. } => of.len(),
            Values::Numbers(numbers) => numbers.len(),
            Values::Texts(texts) => texts.len(),
        })
    }

    /// Reads a table, separated by tabs, commas or semicolons, with a header. The nodes are in a
    /// column named `id` or `node`, else in the first. Also returns what to tell the user, such as how
    /// many lines were of other nodes.
    pub fn read(path: &Path, embedding: &Embedding) -> Result<(Self, Vec<Problem>)> {
        let text = read_text(path)?;
        let mut lines =
            Lines::new(text.as_bytes()).filter(|(_, line)| !line.trim_ascii().is_empty());
        let Some((number, header)) = lines.next() else {
            return Err(Error::file(path, "empty; expected a header and a line for each node"));
        };
        let separator = [b'\t', b',', b';'].into_iter().find(|byte| header.contains(byte));
        let Some(separator) = separator.map(Separator::Byte) else {
            let message = "one column; expected a header such as `id,year,topic`, separated by \
                           tabs, commas or semicolons";
            return Err(Error::line(path, number, message));
        };
        let fail = |number, message: String| Error::line(path, number, message);
        let names = split(header, separator).map_err(|message| fail(number, message))?;
        let node = names
            .iter()
            .position(|name| ["id", "node", "nodeid", "node_id"].contains(&&*name.to_lowercase()));
        let node = node.unwrap_or(0);
        let mut texts = vec![vec![String::new(); embedding.nodes()]; names.len()];
        let (mut found, mut unknown) = (0_usize, Vec::new());
        for (number, line) in lines {
            let fields = split(line, separator).map_err(|message| fail(number, message))?;
            if fields.len() != names.len() {
                let (found, expected) = (fields.len(), names.len());
                let message =
                    format!("found {found} columns, expected {expected} as in the header");
                return Err(fail(number, message));
            }
            match embedding.ids().find(&fields[node]) {
                Some(row) => {
                    found += 1;
                    for (texts, field) in texts.iter_mut().zip(fields) {
                        texts[row as usize] = field;
                    }
                }
                None => unknown.push((number, fields[node].clone())),
            }
        }
        let mut notes = Vec::new();
        if let Some((number, id)) = unknown.first() {
            if found == 0 {
                let message = format!(
                    "node '{id}' is not among the vectors, nor is any other node of this file; \
                     expected ids such as '{}' in column '{}'",
                    embedding.ids().get(0),
                    names[node]
                );
                return Err(fail(*number, message));
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let lines = match unknown.len() {
                1 => "1 line".to_owned(),
                count => format!("{count} lines"),
            };
            notes.push(
                format!("{name}: {lines} not read, of a node that is not among the vectors, such as '{id}' in line {number}").into(),
            );
        }
        let columns = names.into_iter().zip(texts).enumerate();
        let columns = columns.filter(|(at, _)| *at != node).map(|(_, column)| column).collect();
        Ok((Self::new(columns).map_err(|error| Error::file(path, error.to_string()))?, notes))
    }
}

/// The fields of a line.
fn split(line: &[u8], separator: Separator) -> Result<Vec<String>, String> {
    let text = |field: std::borrow::Cow<'_, [u8]>| String::from_utf8_lossy(&field).into_owned();
    Fields::new(line, separator).map(|field| field.map(text)).collect()
}

/// Texts as numbers, groups or texts.
fn values(texts: Vec<String>) -> Values {
    const FEW: usize = 12;
    const MOST_GROUPS: usize = 60_000;
    let known = || texts.iter().filter(|text| !text.is_empty());
    let mut counts: HashMap<&str, usize> = HashMap::new();
    known().for_each(|text| *counts.entry(text).or_default() += 1);
    let number = |text: &String| text.parse::<f32>().ok().filter(|number| number.is_finite());
    if counts.len() > FEW && known().all(|text| number(text).is_some()) {
        return Values::Numbers(
            texts.iter().map(|text| number(text).unwrap_or(f32::NAN)).collect(),
        );
    }
    let known = known().count();
    if counts.len() > MOST_GROUPS || (counts.len() > FEW && 2 * counts.len() > known) {
        return Values::Texts(texts);
    }
    let mut names: Vec<String> = counts.keys().map(|&name| name.to_owned()).collect();
    names.sort();
    let rank: HashMap<&str, u16> =
        names.iter().enumerate().map(|(at, name)| (name.as_str(), at as u16)).collect();
    let of =
        texts.iter().map(|text| rank.get(text.as_str()).copied().unwrap_or(NO_GROUP)).collect();
    Values::Groups { names, of }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::NodeIds;

    fn read(text: &str) -> Result<(Columns, Vec<Problem>)> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("columns.csv");
        std::fs::write(&path, text).unwrap();
        let ids = NodeIds::Range { start: 0, len: 20 };
        Columns::read(&path, &Embedding::new(ids, 1, vec![0.0; 20]).unwrap())
    }

    #[test]
    fn kinds_of_values_are_found() {
        let line = |id| format!("{id},{}.5,{},w{id}\n", id * 3, id % 2);
        let lines = (0..20).rev().map(line).collect::<Vec<_>>().concat();
        let (columns, notes) = read(&format!("id,year,odd,\"a, name\"\n{lines}")).unwrap();
        assert!(notes.is_empty());
        let names: Vec<&str> = columns.list.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["year", "odd", "a, name"]);
        assert_eq!(
            columns.list[0].values,
            Values::Numbers((0..20).map(|id| (id * 3) as f32 + 0.5).collect())
        );
        let of = (0..20).map(|id| id % 2).collect();
        assert_eq!(
            columns.list[1].values,
            Values::Groups { names: vec!["0".into(), "1".into()], of }
        );
        assert_eq!(
            columns.list[2].values,
            Values::Texts((0..20).map(|id| format!("w{id}")).collect())
        );
    }

    #[test]
    fn missing_values_and_unknown_nodes() {
        let (columns, notes) = read("topic;node\nx;3\n;4\ny;99\n").unwrap();
        let Values::Groups { names, of } = &columns.list[0].values else { panic!() };
        assert_eq!((names.as_slice(), of[3], of[4]), (&["x".to_owned()][..], 0, NO_GROUP));
        assert!(notes[0].to_string().contains("1 line not read"), "{}", notes[0]);
        for (text, says) in [
            ("", "empty"),
            ("id\n1\n", ":1: one column"),
            ("id,a\n1\n", ":2: found 1 columns, expected 2"),
            ("id,a\n77,1\n", ":2: node '77' is not among the vectors"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
