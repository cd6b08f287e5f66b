//! Tables with a line for each node: labels and splits. Separator, quotes and header are found as in
//! edge lists, with more certainty, since the ids of the nodes are known.

use std::borrow::Cow;
use std::path::Path;

use super::super::{Node, NodeIds};
use super::Separator;
use super::columns::{is_column_word, normalised};
use super::fields::{Fields, is_comment, separates};
use crate::error::{Error, Problem, Result};
use crate::file::lines::Lines;
use crate::file::read_text;

/// The nodes that a table may contain, and what to say about others.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) ids: &'a NodeIds,
    /// `is not in the graph`
    pub(crate) otherwise: &'static str,
}

/// The value of a line.
pub(crate) enum Value<'a> {
    /// A field.
    One(Cow<'a, str>),
    /// What follows the id and a tab or blanks: values separated by commas, which may be quoted.
    List(&'a str),
}

/// A table in memory, and how it is read.
pub(crate) struct NodeTable<'a> {
    path: &'a Path,
    known: Known<'a>,
    text: String,
    layout: Layout,
}

/// Where the ids and the values are.
struct Layout {
    separator: Separator,
    count: usize,
    node: usize,
    value: usize,
    header: Option<u64>,
    notes: Vec<Problem>,
}

/// The lines that are looked at.
const SAMPLE: usize = 1000;

const NODES: [&str; 8] = ["id", "node", "nodeid", "name", "vertex", "nodename", "userid", "user"];

impl<'a> NodeTable<'a> {
    /// Reads a table whose column of values has one of these names, if columns have names.
    pub(crate) fn read(path: &'a Path, known: Known<'a>, values: &[&str]) -> Result<Self> {
        let text = read_text(path)?;
        let layout = Layout::detect(&text, known.ids, values)
            .map_err(|(line, problem)| Error::line(path, line, problem))?;
        Ok(Self { path, known, text, layout })
    }

    /// The size of the text.
    pub(crate) fn bytes(&self) -> u64 {
        self.text.len() as u64
    }

    /// Calls `each` with the row and the value of every known node; returns what to tell the user.
    /// Fails if no node is known.
    pub(crate) fn for_each(
        self,
        mut each: impl FnMut(Node, &Value) -> Result<(), String>,
    ) -> Result<Vec<Problem>> {
        let (mut found, mut unknown, mut example) = (0_usize, 0_usize, None);
        for (number, line) in data_lines(&self.text) {
            if Some(number) == self.layout.header {
                continue;
            }
            let fail = |message: String| Error::line(self.path, number, message);
            let (id, value) = self.layout.split(line).map_err(fail)?;
            if let Some(row) = self.known.ids.find(&id) {
                found += 1;
                each(row, &value).map_err(fail)?;
            } else {
                unknown += 1;
                example.get_or_insert_with(|| (number, id.into_owned()));
            }
        }
        let mut notes = self.layout.notes;
        if let Some((line, id)) = example {
            let otherwise = self.known.otherwise;
            if found == 0 {
                let message =
                    format!("node '{id}' {otherwise}, nor is any other node of this file");
                return Err(Error::line(self.path, line, message));
            }
            let lines = if unknown == 1 { "1 line".into() } else { format!("{unknown} lines") };
            let name = self.path.file_name().unwrap_or_default().to_string_lossy();
            notes.push(
                format!("{name}: {lines} not read, of a node that {otherwise}, such as '{id}' in line {line}")
                    .into(),
            );
        }
        Ok(notes)
    }
}

/// Lines that are not comments, with their numbers.
fn data_lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    Lines::new(text.as_bytes()).filter(|(_, line)| !is_comment(line)).map(|(number, line)| {
        // Lines end at ASCII bytes.
        (number, std::str::from_utf8(line).unwrap_or_default())
    })
}

impl Layout {
    fn detect(text: &str, ids: &NodeIds, values: &[&str]) -> Result<Self, (u64, Problem)> {
        let sample: Vec<(u64, &str)> = data_lines(text).take(SAMPLE).collect();
        let Some(&(number, first)) = sample.first() else {
            return Ok(Self::of(Separator::Byte(b'\t'), 2));
        };
        let is_node = |line: &str, separator, at: usize| {
            let field = Fields::new(line.as_bytes(), separator).nth(at);
            field.is_some_and(|id| id.is_ok_and(|id| ids.find(&text_of(id)).is_some()))
        };
        let matches = |separator, at| {
            sample.iter().filter(|&&(_, line)| is_node(line, separator, at)).count()
        };
        // The separator that yields ids of nodes; else the first that occurs.
        let occurs = |byte: &u8| separates(first.as_bytes(), *byte);
        let separators = [b'\t', b',', b';'].into_iter().filter(occurs).map(Separator::Byte);
        let separators: Vec<Separator> = separators.chain([Separator::Blanks]).collect();
        let yields_nodes =
            |&&separator: &&Separator| matches(separator, 0) > 0 || matches(separator, 1) > 0;
        let separator = *separators.iter().find(yields_nodes).unwrap_or(&separators[0]);
        let names: Vec<String> = Fields::new(first.as_bytes(), separator)
            .map(|name| text_of(name.unwrap_or_default()).into_owned())
            .collect();
        let is_word = |name: &String| {
            let name_is = |words: &[&str]| words.contains(&&*normalised(name));
            is_column_word(name) || name_is(values) || name_is(&NODES)
        };
        let has_header = matches(separator, 0) + matches(separator, 1) > 0
            && !is_node(first, separator, 0)
            && !is_node(first, separator, 1)
            && names.iter().any(is_word);
        let fail = |problem| (number, problem);
        if !has_header {
            // Labels of several words follow blanks, and several labels a tab.
            let mut fields = Fields::new(first.as_bytes(), separator);
            let _id = fields.next();
            let one_more = || fields.rest().is_some_and(|rest| !separates(rest, b'\t'));
            let is_list = separator == Separator::Blanks
                || (separator == Separator::Byte(b'\t') && one_more());
            if names.len() > 2 && !is_list {
                let message =
                    format!("found {} columns, expected a node id and a value", names.len());
                let problem = Problem::from(message).act("name the columns in the first line");
                return Err(fail(problem));
            }
            let layout = Self::of(separator, if is_list { 2 } else { names.len() });
            let is_swapped = !is_list && matches(separator, 0) == 0 && matches(separator, 1) > 0;
            return Ok(if is_swapped { Self { node: 1, value: 0, ..layout } } else { layout });
        }
        let find = |words: &[&str]| {
            words.iter().find_map(|word| names.iter().position(|name| normalised(name) == *word))
        };
        let mut columns = (0..names.len()).filter(|&at| !names[at].is_empty());
        let node = find(&NODES).or_else(|| columns.next()).unwrap_or_default();
        let others: Vec<usize> =
            (0..names.len()).filter(|&at| at != node && !names[at].is_empty()).collect();
        let value = find(values).filter(|&at| at != node);
        let value = value.or_else(|| (others.len() == 1).then(|| others[0])).ok_or_else(|| {
            let message = format!(
                "found the columns {}; none of them is named {}",
                names.join(", "),
                values[0]
            );
            fail(Problem::from(message).act(format!("rename the right one to {}", values[0])))
        })?;
        let mut notes = Vec::new();
        if others.len() > 1 {
            let (node, value) = (&names[node], &names[value]);
            notes.push(format!("{}s of column {value}, by {node}", values[0]).into());
        }
        let header = Some(number);
        Ok(Self { separator, count: names.len(), node, value, header, notes })
    }

    fn of(separator: Separator, count: usize) -> Self {
        Self { separator, count, node: 0, value: 1, header: None, notes: Vec::new() }
    }

    /// The id and the value of a line.
    fn split<'l>(&self, line: &'l str) -> Result<(Cow<'l, str>, Value<'l>), String> {
        let is_list = matches!(self.separator, Separator::Blanks | Separator::Byte(b'\t'))
            && (self.count, self.node, self.value) == (2, 0, 1);
        if is_list {
            let mut fields = Fields::new(line.as_bytes(), self.separator);
            let id = fields.next().unwrap_or(Ok(Cow::Borrowed(b"")))?;
            let rest = fields.rest().ok_or_else(|| {
                "found one column; expected a node id, a tab and a value".to_owned()
            })?;
            let rest = std::str::from_utf8(rest).unwrap_or_default();
            return Ok((text_of(id), Value::List(rest)));
        }
        let (mut id, mut value, mut found) = (None, None, 0);
        for field in Fields::new(line.as_bytes(), self.separator) {
            let field = field?;
            if found == self.node {
                id = Some(field);
            } else if found == self.value {
                value = Some(field);
            }
            found += 1;
        }
        match (id, value) {
            (Some(id), Some(value)) if found == self.count => {
                Ok((text_of(id), Value::One(text_of(value))))
            }
            _ => Err(format!(
                "found {found} columns, expected {} as in the first line, separated by {}",
                self.count,
                self.separator.plural()
            )),
        }
    }
}

impl Value<'_> {
    /// Calls `each` with every value that is not empty.
    pub(crate) fn for_each(&self, mut each: impl FnMut(&str)) -> Result<(), String> {
        match self {
            Self::One(value) if value.is_empty() => {}
            Self::One(value) => each(value),
            Self::List(values) => {
                for value in Fields::new(values.as_bytes(), Separator::Byte(b',')) {
                    let value = text_of(value?);
                    if !value.is_empty() {
                        each(&value);
                    }
                }
            }
        }
        Ok(())
    }
}

/// A field of UTF-8 text, which is UTF-8: fields are split at ASCII bytes.
fn text_of(field: Cow<'_, [u8]>) -> Cow<'_, str> {
    match field {
        Cow::Borrowed(field) => String::from_utf8_lossy(field),
        Cow::Owned(field) => Cow::Owned(String::from_utf8_lossy(&field).into_owned()),
    }
}
