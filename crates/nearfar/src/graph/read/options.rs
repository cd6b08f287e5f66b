//! How to read a graph: options of the command line, keywords in Python.

use std::fmt::{self, Display};
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::super::{Distance, Repeats};
use super::InputFormat;
use crate::setting::parsed;

/// How to read a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::Args), command(next_help_heading = "Input"))]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct ReadOptions {
    /// Column of the sources: its name, or its number from 1 [default: by its name, else the first]
    #[cfg_attr(feature = "clap", arg(long, value_name = "COL"))]
    pub source: Option<Column>,
    /// Column of the targets [default: by its name, else the second]
    #[cfg_attr(feature = "clap", arg(long, value_name = "COL"))]
    pub target: Option<Column>,
    /// Column of the weights [default: by its name, else the third of three, unless it holds time
    /// stamps]
    #[cfg_attr(feature = "clap", arg(long, value_name = "COL", conflicts_with = "no_weights"))]
    pub weight: Option<Column>,
    /// Read no weights: every edge counts the same
    #[cfg_attr(feature = "clap", arg(long))]
    pub no_weights: bool,
    /// Whether the first line names the columns
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t))]
    pub header: Header,
    /// Distance of two nodes: edges on a shortest path, or the sum of their lengths or of 1/weight
    /// [default: hops, or length if --length is given]
    #[cfg_attr(feature = "clap", arg(long, value_enum))]
    pub distance: Option<Distance>,
    /// Column of the lengths [default: by its name, else what would be the weights]
    #[cfg_attr(feature = "clap", arg(long, value_name = "COL"))]
    pub length: Option<Column>,
    /// Separator of columns: a character, or tab, comma, semicolon, pipe or space (any number of
    /// blanks) [default: found in the first lines]
    #[cfg_attr(feature = "clap", arg(long, value_name = "C"))]
    pub sep: Option<Separator>,
    /// Weight of an edge that is listed more than once
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t))]
    pub repeats: Repeats,
    /// Read edges as arcs from their first end to their second; an edge of a file that says it is
    /// undirected is two arcs
    #[cfg_attr(feature = "clap", arg(long, overrides_with = "undirected"))]
    pub directed: bool,
    /// Read edges without their direction: the default
    #[cfg_attr(feature = "clap", arg(long, overrides_with = "directed"))]
    #[serde(skip)]
    pub undirected: bool,
    /// Keep only the largest connected component
    #[cfg_attr(feature = "clap", arg(long))]
    pub largest_component: bool,
    /// File with one node id per line; isolated nodes listed there are kept
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub nodes: Option<PathBuf>,
    /// Format of the graph [default: by its content, else by its file extension]
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "FORMAT"))]
    pub input_format: Option<InputFormat>,
}

impl ReadOptions {
    /// What distances are.
    pub fn distance(&self) -> Distance {
        let default = if self.length.is_some() { Distance::Length } else { Distance::Hops };
        self.distance.unwrap_or(default)
    }

    /// Whether the third value of an edge is read as its length, not as its weight.
    pub(super) fn reads_lengths(&self) -> bool {
        self.distance() == Distance::Length
    }

    /// The option that names the column of the third value, and the column.
    pub(super) fn value(&self) -> (&'static str, Option<&Column>) {
        if self.reads_lengths() {
            ("length", self.length.as_ref())
        } else {
            ("weight", self.weight.as_ref())
        }
    }

    /// The first given option of those that choose columns or their separator, which only tables
    /// have.
    pub(super) fn chooses_columns(&self) -> Option<&'static str> {
        self.given(&["source", "target", "weight", "length", "sep", "header"])
    }

    /// The first of these options that is given.
    pub(super) fn given(&self, names: &[&'static str]) -> Option<&'static str> {
        let given = [
            ("source", self.source.is_some()),
            ("target", self.target.is_some()),
            ("weight", self.weight.is_some()),
            ("length", self.length.is_some()),
            ("sep", self.sep.is_some()),
            ("header", self.header != Header::Auto),
        ];
        given.into_iter().find_map(|(name, given)| (given && names.contains(&name)).then_some(name))
    }
}

/// A column, by its name or its number from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Column(String);

impl Column {
    /// The position among columns of these names. A name takes precedence over a number.
    pub(super) fn position(&self, names: &[String]) -> Option<usize> {
        let exactly = || names.iter().position(|name| *name == self.0);
        let ignoring_case = || names.iter().position(|name| name.eq_ignore_ascii_case(&self.0));
        let by_number = || self.number().filter(|&at| at < names.len());
        exactly().or_else(ignoring_case).or_else(by_number)
    }

    /// The text that was given.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The position, if this is a number.
    pub(super) fn number(&self) -> Option<usize> {
        self.0.parse::<usize>().ok()?.checked_sub(1)
    }
}

impl FromStr for Column {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "" => Err("expected the name of a column, or its number from 1".to_owned()),
            "0" => Err("columns are counted from 1".to_owned()),
            name => Ok(Self(name.to_owned())),
        }
    }
}

impl Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Column {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer)
    }
}

/// Whether the first line of a table names its columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Header {
    /// Decided by the first lines
    #[default]
    Auto,
    /// It does
    Yes,
    /// It is the first edge
    No,
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Value {
            Bool(bool),
            Word(String),
        }
        match Value::deserialize(deserializer)? {
            Value::Bool(true) => Ok(Self::Yes),
            Value::Bool(false) => Ok(Self::No),
            Value::Word(word) => match word.as_str() {
                "yes" => Ok(Self::Yes),
                "no" => Ok(Self::No),
                "auto" => Ok(Self::Auto),
                _ => Err(serde::de::Error::custom("expected yes, no or auto")),
            },
        }
    }
}

/// What separates the columns of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// One character.
    Byte(u8),
    /// Any number of blanks.
    Blanks,
}

impl Separator {
    /// The name in messages: `tabs`, `commas`, …
    pub(super) fn plural(self) -> String {
        match self {
            Self::Byte(b'\t') => "tabs".to_owned(),
            Self::Byte(b',') => "commas".to_owned(),
            Self::Byte(b';') => "semicolons".to_owned(),
            Self::Byte(other) => format!("'{}'", char::from(other)),
            Self::Blanks => "blanks".to_owned(),
        }
    }
}

impl FromStr for Separator {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "tab" | "\t" | "\\t" => Self::Byte(b'\t'),
            "comma" => Self::Byte(b','),
            "semicolon" => Self::Byte(b';'),
            "pipe" => Self::Byte(b'|'),
            "space" | "blank" | "blanks" | " " => Self::Blanks,
            _ => match text.as_bytes() {
                [b] if b.is_ascii_punctuation() && !matches!(b, b'"' | b'#' | b'%') => {
                    Self::Byte(*b)
                }
                _ => {
                    let expected = "expected a character such as '|', or tab, comma, semicolon, \
                                    pipe or space";
                    return Err(expected.to_owned());
                }
            },
        })
    }
}

impl Display for Separator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Byte(b'\t') => f.write_str("tab"),
            Self::Byte(byte) => write!(f, "{}", char::from(*byte)),
            Self::Blanks => f.write_str("space"),
        }
    }
}

impl Serialize for Separator {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Separator {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
