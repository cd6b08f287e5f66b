//! GML, as NetworkX, igraph, yEd and Gephi write it: nested lists of keys and values.
//!
//! ```text
//! graph [ directed 0
//!   node [ id 0 label "ann" ]
//!   edge [ source 0 target 1 weight 2.5 ]
//! ]
//! ```
//!
//! In GML, `id` is a number that is only valid in the file. Node ids are the labels, or the names
//! (igraph), if each node has one of its own; otherwise they are the numbers.

use std::borrow::Cow;
use std::path::Path;

use super::attributes::{Wanted, weight};
use super::declared::{Declared, Edge, Names};
use super::{EdgeFile, ReadOptions};
use crate::error::{Error, Result};
use crate::file::read_text;

/// Reads a file.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<EdgeFile> {
    let text = read_text(path)?;
    let mut tokens = Tokens::new(&text);
    let wanted = Wanted::of(path, options)?;
    let mut document = Document { wanted, found: Declared::of("GML"), directed: false, graphs: 0 };
    document.read(&mut tokens).map_err(|message| Error::line(path, tokens.line, message))?;
    document.found.finish(path, options, Some(Names::Preferred), text.len() as u64)
}

struct Document<'a> {
    wanted: Wanted<'a>,
    found: Declared,
    directed: bool,
    graphs: usize,
}

/// The list that a key is in.
enum List<'a> {
    Graph,
    Node(Node<'a>),
    Edge(OpenEdge<'a>),
    Other,
}

#[derive(Default)]
struct Node<'a> {
    id: Option<Cow<'a, str>>,
    label: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
}

#[derive(Default)]
struct OpenEdge<'a> {
    ends: [Option<Cow<'a, str>>; 2],
    /// How early the name of the weight is among those wanted, and the weight.
    weight: Option<(usize, f32)>,
    line: u64,
}

impl Document<'_> {
    fn read<'a>(&mut self, tokens: &mut Tokens<'a>) -> Result<(), String> {
        let mut lists: Vec<List<'a>> = Vec::new();
        loop {
            let key = match tokens.next()? {
                Some(Token::Word(key)) => key,
                Some(Token::Close) => {
                    let list = lists.pop().ok_or("a ']' without its '['")?;
                    self.close(list)?;
                    continue;
                }
                Some(Token::Open) => return Err("a '[' without a key before it".to_owned()),
                Some(Token::String(_)) => return Err("a text without a key before it".to_owned()),
                None if lists.is_empty() => break,
                None => return Err("the file ends before the last ']'".to_owned()),
            };
            match tokens.next()? {
                Some(Token::Open) => {
                    let list = self.open(key, lists.last(), tokens.line)?;
                    lists.push(list);
                }
                Some(Token::Word(value)) => {
                    if let Some(list) = lists.last_mut() {
                        self.value(key, &Value::Number(value), list)?;
                    }
                }
                Some(Token::String(value)) => {
                    if let Some(list) = lists.last_mut() {
                        self.value(key, &Value::Text(value), list)?;
                    }
                }
                Some(Token::Close) | None => return Err(format!("'{key}' has no value")),
            }
        }
        if self.graphs == 0 {
            return Err("no 'graph [' in this GML file".to_owned());
        }
        Ok(())
    }

    fn open<'a>(
        &mut self,
        key: &str,
        parent: Option<&List>,
        line: u64,
    ) -> Result<List<'a>, String> {
        Ok(match (key.to_ascii_lowercase().as_str(), parent) {
            ("graph", None) => {
                self.graphs += 1;
                if self.graphs > 1 {
                    return Err("a second graph; only files of one graph are supported: store \
                                each in its own file"
                        .to_owned());
                }
                List::Graph
            }
            ("graph", Some(List::Graph | List::Node(_))) => {
                return Err("a nested graph, which is not supported; flatten the groups".to_owned());
            }
            ("node", Some(List::Graph)) => List::Node(Node::default()),
            ("edge", Some(List::Graph)) => List::Edge(OpenEdge { line, ..OpenEdge::default() }),
            _ => List::Other,
        })
    }

    fn value<'a>(
        &mut self,
        key: &str,
        value: &Value<'a>,
        list: &mut List<'a>,
    ) -> Result<(), String> {
        match list {
            List::Graph if key.eq_ignore_ascii_case("directed") => {
                self.directed = value.text() == "1";
            }
            List::Node(node) => match key {
                "id" => node.id = Some(value.text()),
                "label" => node.label = Some(value.text()),
                "name" => node.name = Some(value.text()),
                _ => {}
            },
            List::Edge(edge) => match key {
                "source" => edge.ends[0] = Some(value.text()),
                "target" => edge.ends[1] = Some(value.text()),
                _ => {
                    if let Some(rank) = self.wanted.rank(key)
                        && (rank == 0 || matches!(value, Value::Number(_)))
                        && edge.weight.is_none_or(|(other, _)| rank < other)
                    {
                        edge.weight = Some((rank, weight(&value.text())?));
                    }
                }
            },
            List::Graph | List::Other => {}
        }
        Ok(())
    }

    fn close(&mut self, list: List) -> Result<(), String> {
        match list {
            List::Node(Node { id, label, name }) => {
                let id = id.ok_or("a node without an 'id'")?;
                let name = label.filter(|label| !label.is_empty()).or(name);
                if !self.found.node(&id, name.as_deref()) {
                    return Err(format!("node {id} is declared twice"));
                }
            }
            List::Edge(OpenEdge { ends, weight, line }) => {
                let [Some(a), Some(b)] = &ends else {
                    return Err("an edge without 'source' and 'target'".to_owned());
                };
                let weight = weight.map(|(_, weight)| weight);
                let directed = self.directed;
                self.found.edge(&Edge { ends: [a, b], weight, directed, line });
            }
            List::Graph | List::Other => {}
        }
        Ok(())
    }
}

enum Value<'a> {
    Number(&'a str),
    Text(&'a str),
}

impl<'a> Value<'a> {
    /// The text, with its characters in the place of their entities.
    fn text(&self) -> Cow<'a, str> {
        match *self {
            Self::Number(text) => Cow::Borrowed(text),
            Self::Text(text) => quick_xml::escape::unescape(text).unwrap_or(Cow::Borrowed(text)),
        }
    }
}

enum Token<'a> {
    Open,
    Close,
    /// A key or a number.
    Word(&'a str),
    /// What is between quotation marks.
    String(&'a str),
}

struct Tokens<'a> {
    rest: &'a str,
    /// The line of the last token.
    line: u64,
    /// The lines that the last token spans after its first one.
    spanned: u64,
}

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Self {
        Self { rest: text, line: 1, spanned: 0 }
    }

    fn next(&mut self) -> Result<Option<Token<'a>>, String> {
        self.line += std::mem::take(&mut self.spanned);
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.line += newlines(&self.rest[..blank]);
            self.rest = &self.rest[blank..];
            if !self.rest.starts_with('#') {
                break;
            }
            self.rest = &self.rest[self.rest.find('\n').unwrap_or(self.rest.len())..];
        }
        let Some(&first) = self.rest.as_bytes().first() else { return Ok(None) };
        Ok(Some(match first {
            b'[' => {
                self.take(1);
                Token::Open
            }
            b']' => {
                self.take(1);
                Token::Close
            }
            b'"' => {
                self.take(1);
                let end = self.rest.find('"').ok_or("a text without its closing quotation mark")?;
                let text = self.take(end);
                self.spanned = newlines(text);
                self.take(1);
                Token::String(text)
            }
            _ => {
                let ends = |c: char| c.is_whitespace() || matches!(c, '[' | ']' | '"' | '#');
                let end = self.rest.find(ends).unwrap_or(self.rest.len());
                Token::Word(self.take(end))
            }
        }))
    }

    /// The next bytes of the text.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }
}

fn newlines(text: &str) -> u64 {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64
}
