//! Graphs in the DOT language, `.dot` or `.gv`, as Graphviz, NetworkX (pydot, pygraphviz) and igraph
//! write them.
//!
//! ```text
//! strict digraph "name" {
//!   ann [color=red]; edge [weight=2]
//!   ann -> bob -> carl [weight=0.5]
//!   {dora eve} -> ann
//! }
//! ```
//!
//! Node ids are those of the file; if they are just 0, 1, … and each node has a `name` of its own
//! (igraph), the names. The weight of an edge is its attribute `weight`, or that of the last `edge
//! [weight=…]` before it. An edge between subgraphs connects all nodes of one with all of the other.
//! Subgraphs have no other meaning, and ports are skipped.

mod tokens;

use std::path::Path;

use tokens::{Token, Tokens};

use super::attributes::{Wanted, weight};
use super::declared::{Declared, Names};
use super::{EdgeFile, ReadOptions};
use crate::error::{Error, Result};
use crate::file::read_text;

/// Subgraphs in subgraphs. Each node is in the node sets of all subgraphs around it.
const DEPTH: usize = 100;
/// Edges between subgraphs, whose number may be the square of the length of the file.
const SUBGRAPH_EDGES: usize = 10_000_000;

/// Reads a file.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<EdgeFile> {
    let text = read_text(path)?;
    let mut parser = Parser {
        tokens: Tokens::new(&text),
        wanted: Wanted::of(path, options)?,
        found: Declared::of("DOT"),
        directed: false,
        subgraph_edges: 0,
    };
    if let Err(message) = parser.graph() {
        return Err(Error::line(path, parser.tokens.line(), message));
    }
    parser.found.finish(path, options, Some(Names::OverNumbers), text.len() as u64)
}

struct Parser<'a> {
    tokens: Tokens<'a>,
    wanted: Wanted<'a>,
    found: Declared,
    directed: bool,
    subgraph_edges: usize,
}

/// A body in braces that is being read.
struct Body {
    /// The weight of edges that state none.
    weight: Option<f32>,
    /// The nodes in it, if it is a subgraph.
    nodes: Vec<u32>,
    is_subgraph: bool,
    /// The statement in which the body is an end of edges.
    statement: Statement,
}

/// A chain of node sets, `a -> {b c} -> d`, as far as it was read.
#[derive(Default)]
struct Statement {
    sets: Vec<Vec<u32>>,
    /// Whether an edge operator was read after the last set.
    open: bool,
}

impl Parser<'_> {
    fn graph(&mut self) -> Result<(), String> {
        let mut word = self.word()?;
        if word.eq_ignore_ascii_case("strict") {
            word = self.word()?;
        }
        self.directed = match word.to_ascii_lowercase().as_str() {
            "graph" => false,
            "digraph" => true,
            _ => return Err(format!("expected 'graph' or 'digraph', found '{word}'")),
        };
        let mut token = self.tokens.next()?;
        if let Some(Token::Id { .. }) = token {
            token = self.tokens.next()?;
        }
        if token != Some(Token::Symbol('{')) {
            return Err(expected("'{'", token.as_ref()));
        }
        self.body()?;
        match self.tokens.next()? {
            None => Ok(()),
            Some(Token::Id { text, quoted: false })
                if ["graph", "digraph", "strict"].contains(&text.to_ascii_lowercase().as_str()) =>
            {
                Err("a second graph; only files of one graph are supported: store each in its own \
                     file"
                    .to_owned())
            }
            token => Err(expected("the end of the file", token.as_ref())),
        }
    }

    /// The statements of the graph, with those of its subgraphs.
    fn body(&mut self) -> Result<(), String> {
        let mut bodies = vec![Body::new(None, false)];
        while let Some(body) = bodies.last_mut() {
            let token = self.tokens.next()?;
            let Some(token) = token else {
                return Err("the file ends before the last '}'".to_owned());
            };
            match token {
                Token::Symbol(';' | ',') => self.end_statement(body)?,
                Token::Symbol('[') => {
                    // Attributes of the edges of the statement, or of its only node.
                    let attributes = self.attributes()?;
                    self.apply(body, &attributes)?;
                }
                Token::Edge { directed } => {
                    if directed != self.directed {
                        let (operator, kind) =
                            if directed { ("->", "graph") } else { ("--", "digraph") };
                        return Err(format!("'{operator}' in a {kind}"));
                    }
                    if body.statement.open || body.statement.sets.is_empty() {
                        return Err("an edge without a node before it".to_owned());
                    }
                    body.statement.open = true;
                }
                Token::Symbol('{') => {
                    self.begin_set(body)?;
                    let inner = Body::new(body.weight, true);
                    if bodies.len() > DEPTH {
                        return Err(format!("more than {DEPTH} subgraphs in each other"));
                    }
                    bodies.push(inner);
                }
                Token::Symbol('}') => {
                    self.end_statement(body)?;
                    let nodes = bodies.pop().map(|body| body.nodes).unwrap_or_default();
                    if let Some(outer) = bodies.last_mut() {
                        if outer.is_subgraph {
                            outer.nodes.extend_from_slice(&nodes);
                        }
                        outer.statement.push(nodes);
                    }
                }
                Token::Id { text, quoted } => self.id(&text, quoted, body)?,
                Token::Symbol(_) => {
                    return Err(expected("a node, an edge or '}'", Some(&token)));
                }
            }
        }
        Ok(())
    }

    /// A statement, or a part of one, that begins with an id.
    fn id(&mut self, text: &str, quoted: bool, body: &mut Body) -> Result<(), String> {
        let keyword = if quoted { String::new() } else { text.to_ascii_lowercase() };
        match keyword.as_str() {
            "node" | "edge" | "graph" => {
                self.end_statement(body)?;
                while self.tokens.peek()? == Some(&Token::Symbol('[')) {
                    self.tokens.next()?;
                    let attributes = self.attributes()?;
                    if keyword == "edge" {
                        body.weight = attributes.weight.or(body.weight);
                    }
                }
                Ok(())
            }
            "subgraph" => {
                if let Some(Token::Id { .. }) = self.tokens.peek()? {
                    self.tokens.next()?;
                }
                match self.tokens.peek()? {
                    Some(Token::Symbol('{')) => Ok(()),
                    _ => Err("a subgraph without '{…}', a reference to one elsewhere, is not \
                              supported"
                        .to_owned()),
                }
            }
            "strict" | "digraph" => Err(format!("'{text}' is a keyword; put it in quotes")),
            _ if self.tokens.peek()? == Some(&Token::Symbol('=')) => {
                // An attribute of the graph.
                self.end_statement(body)?;
                self.tokens.next()?;
                self.word().map(|_| ())
            }
            _ => {
                self.begin_set(body)?;
                while self.tokens.peek()? == Some(&Token::Symbol(':')) {
                    self.tokens.next()?;
                    self.word()?;
                }
                let node = self.found.implicit(text);
                if body.is_subgraph {
                    body.nodes.push(node);
                }
                body.statement.push(vec![node]);
                Ok(())
            }
        }
    }

    /// Ends the statement before a node set that does not continue it.
    fn begin_set(&mut self, body: &mut Body) -> Result<(), String> {
        if body.statement.open { Ok(()) } else { self.end_statement(body) }
    }

    /// Adds the edges of a statement without attributes.
    fn end_statement(&mut self, body: &mut Body) -> Result<(), String> {
        self.add_edges(body, None)
    }

    /// Applies attributes to the edges of a statement, or to its node.
    fn apply(&mut self, body: &mut Body, attributes: &Attributes) -> Result<(), String> {
        match &body.statement.sets[..] {
            [] => Err("'[' without a node or an edge before it".to_owned()),
            [nodes] => {
                if let ([node], Some(name)) = (&nodes[..], &attributes.name) {
                    self.found.set_name(*node, name);
                }
                self.end_statement(body)
            }
            _ => self.add_edges(body, attributes.weight),
        }
    }

    fn add_edges(&mut self, body: &mut Body, weight: Option<f32>) -> Result<(), String> {
        let Statement { sets, open } = std::mem::take(&mut body.statement);
        if open {
            return Err("an edge without a node after it".to_owned());
        }
        let weight = weight.or(body.weight);
        for pair in sets.windows(2) {
            let count = pair[0].len().saturating_mul(pair[1].len());
            if count > 1 {
                self.subgraph_edges = self.subgraph_edges.saturating_add(count);
            }
            if self.subgraph_edges > SUBGRAPH_EDGES {
                return Err(format!(
                    "more than {SUBGRAPH_EDGES} edges between subgraphs; write them as an edge list"
                ));
            }
            for &a in &pair[0] {
                for &b in &pair[1] {
                    self.found.edge_of_rows([a, b], weight, self.directed);
                }
            }
        }
        Ok(())
    }

    /// The attributes after a '[', with those of lists that follow directly.
    fn attributes(&mut self) -> Result<Attributes, String> {
        let mut attributes = Attributes { rank: usize::MAX, ..Attributes::default() };
        loop {
            let key = match self.tokens.next()? {
                Some(Token::Symbol(']')) if self.tokens.peek()? == Some(&Token::Symbol('[')) => {
                    self.tokens.next()?;
                    continue;
                }
                Some(Token::Symbol(']')) => return Ok(attributes),
                Some(Token::Symbol(',' | ';')) => continue,
                Some(Token::Id { text, .. }) => text,
                token => return Err(expected("an attribute or ']'", token.as_ref())),
            };
            if self.tokens.peek()? != Some(&Token::Symbol('=')) {
                // Stands for `key=true`.
                continue;
            }
            self.tokens.next()?;
            let value = self.word()?;
            if key == "name" {
                attributes.name = Some(value);
            } else if let Some(rank) = self.wanted.rank(&key)
                && rank <= attributes.rank
            {
                let number = weight(&value);
                // `value` may be anything.
                if rank == 0 || number.is_ok() {
                    attributes.weight = Some(number?);
                    attributes.rank = rank;
                }
            }
        }
    }

    fn word(&mut self) -> Result<String, String> {
        match self.tokens.next()? {
            Some(Token::Id { text, .. }) => Ok(text.into_owned()),
            token => Err(expected("a word", token.as_ref())),
        }
    }
}

impl Body {
    fn new(weight: Option<f32>, is_subgraph: bool) -> Self {
        Self { weight, nodes: Vec::new(), is_subgraph, statement: Statement::default() }
    }
}

impl Statement {
    /// Adds a node set.
    fn push(&mut self, nodes: Vec<u32>) {
        self.sets.push(nodes);
        self.open = false;
    }
}

/// The attributes that matter.
#[derive(Default)]
struct Attributes {
    name: Option<String>,
    weight: Option<f32>,
    /// How early the name of the weight is among those wanted.
    rank: usize,
}

fn expected(what: &str, found: Option<&Token>) -> String {
    match found {
        None => format!("expected {what}, found the end of the file"),
        Some(Token::Symbol(symbol)) => format!("expected {what}, found '{symbol}'"),
        Some(Token::Edge { .. }) => format!("expected {what}, found an edge"),
        Some(Token::Id { text, .. }) => format!("expected {what}, found '{text}'"),
    }
}
