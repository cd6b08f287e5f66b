//! Which format a file of edges is in.
//!
//! Content decides where it is unmistakable: magic bytes, the root of an XML document, the first
//! words of GML, Pajek and DOT, the counts of a METIS graph. Otherwise the file extension decides;
//! adjacency lists cannot be told from edge lists by their content. Everything else is an edge list.

use std::path::Path;

use super::super::pack::MAGIC;
use super::{ReadOptions, metis};
use crate::error::{Error, Problem, Result};
use crate::file::{head, inner_extension};

/// Bytes that are looked at.
const HEAD: u64 = 4096;

/// A format of graph files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum InputFormat {
    /// Edge list: text, an edge per line
    Edges,
    /// Edge list of NetworkX with attributes, `a b {'weight': 1}`
    NetworkxEdges,
    /// Adjacency list: text, a node and its neighbours per line
    Adjacency,
    /// GraphML
    Graphml,
    /// GEXF of Gephi
    Gexf,
    /// GML
    Gml,
    /// Pajek's .net
    Pajek,
    /// Graphviz DOT
    Dot,
    /// Node-link JSON of NetworkX and D3, or one array of edges
    Json,
    /// JSON Lines, an edge per line
    Jsonl,
    /// METIS
    Metis,
    /// Matrix Market
    Mtx,
    /// NumPy edge array
    Npy,
    /// SciPy sparse matrix
    Npz,
    /// Parquet
    Parquet,
    /// Arrow IPC: a file, such as Feather, or a stream
    Arrow,
    /// Packed graph of nearfar pack
    Packed,
}

const EXTENSIONS: [(&str, InputFormat); 27] = [
    ("adjlist", InputFormat::Adjacency),
    ("arrow", InputFormat::Arrow),
    ("arrows", InputFormat::Arrow),
    ("csv", InputFormat::Edges),
    ("dot", InputFormat::Dot),
    ("edgelist", InputFormat::Edges),
    ("edges", InputFormat::Edges),
    ("feather", InputFormat::Arrow),
    ("gexf", InputFormat::Gexf),
    ("gml", InputFormat::Gml),
    ("graph", InputFormat::Metis),
    ("graphml", InputFormat::Graphml),
    ("gv", InputFormat::Dot),
    ("ipc", InputFormat::Arrow),
    ("json", InputFormat::Json),
    ("jsonl", InputFormat::Jsonl),
    ("metis", InputFormat::Metis),
    ("mtx", InputFormat::Mtx),
    ("ndjson", InputFormat::Jsonl),
    ("net", InputFormat::Pajek),
    ("nfg", InputFormat::Packed),
    ("npy", InputFormat::Npy),
    ("npz", InputFormat::Npz),
    ("paj", InputFormat::Pajek),
    ("parquet", InputFormat::Parquet),
    ("pq", InputFormat::Parquet),
    ("tsv", InputFormat::Edges),
];

/// Files that are recognised and not read: their first bytes, and what to do.
const OTHERS: [(&[u8], &str); 9] = [
    (b"SQLite format 3\0", "a SQLite database; export the table of edges as CSV"),
    (b"\x89HDF\r\n", "an HDF5 file; export the edges as Parquet or .npy"),
    (b"FEA1", "Feather version 1; write it again with pyarrow.feather.write_feather"),
    (b"ORC", "an ORC file; export the edges as Parquet"),
    (b"Obj\x01", "an Avro file; export the edges as Parquet"),
    (b"7z\xbc\xaf", "a 7z archive; unpack it"),
    (b"Rar!\x1a", "a RAR archive; unpack it"),
    (b"%PDF-", "a PDF document; expected a graph"),
    (b"\x80\x04\x95", "a Python pickle, which can run any program; export the edges instead"),
];

/// Whether the first lines of a file are of a format.
type LooksLike = fn(&str) -> bool;

/// Extensions of text formats that are not read, and whether the first lines of a file look like it.
const OTHER_TEXTS: [(&str, &str, LooksLike); 4] = [
    ("g6", "graph6", is_one_word),
    ("lgl", "LGL", |text| text.starts_with('#')),
    ("s6", "sparse6", is_one_word),
    ("tgf", "Trivial Graph Format", |text| text.lines().any(|line| line.trim() == "#")),
];

fn is_one_word(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.split_whitespace().count() == 1)
}

/// The format of a file, as given or as detected.
pub(in crate::graph) fn format_of(path: &Path, options: &ReadOptions) -> Result<InputFormat> {
    match options.input_format {
        Some(format) => Ok(format),
        None => detect(path),
    }
}

fn detect(path: &Path) -> Result<InputFormat> {
    let head = head(path, HEAD)?;
    let extension = inner_extension(path)?;
    let named = EXTENSIONS.iter().find(|(known, _)| *known == extension).map(|&(_, format)| format);
    // Ids of an edge list may begin with any character.
    let found = match named {
        Some(InputFormat::Edges) => of_magic(&head).or_else(|| of_edges(&head)),
        _ => of_content(&head).map_err(|problem| Error::file(path, problem))?,
    };
    let text = String::from_utf8_lossy(&head);
    let text = text.trim_start_matches('\u{feff}');
    let other = OTHER_TEXTS.iter().find(|(known, _, is)| *known == extension && is(text));
    if let (None, Some((_, name, _))) = (found, other) {
        return Err(Error::file(path, not_read(name)));
    }
    let by_lines = match named {
        None => true,
        Some(InputFormat::Metis) => extension != "metis",
        Some(InputFormat::Pajek) => is_table(text),
        Some(_) => false,
    };
    Ok(match (found, named) {
        // A single line is both.
        (Some(InputFormat::Json), Some(InputFormat::Jsonl)) => InputFormat::Jsonl,
        (Some(format), _) => format,
        (None, Some(format)) if !by_lines => format,
        (None, _) => of_lines(path, text, named),
    })
}

/// Whether a text has lines, and none of them is the head of a section of Pajek's.
fn is_table(text: &str) -> bool {
    !skip_comments(text).is_empty() && !text.lines().any(|line| line.trim().starts_with('*'))
}

/// Tells METIS graphs from edge lists: their header has the numbers of nodes and edges, and lines
/// may differ in length.
fn of_lines(path: &Path, text: &str, named: Option<InputFormat>) -> InputFormat {
    // The last line may be cut off.
    let end = if text.len() < HEAD as usize { None } else { text.rfind('\n') };
    let text = end.map_or(text, |end| &text[..end]);
    let has_equal_lines = metis::has_equal_lines(text);
    let is_metis = if metis::fits(text) {
        !has_equal_lines || metis::is_metis(path)
    } else {
        !has_equal_lines && named == Some(InputFormat::Metis)
    };
    if is_metis { InputFormat::Metis } else { InputFormat::Edges }
}

fn of_content(head: &[u8]) -> Result<Option<InputFormat>, Problem> {
    if let Some(format) = of_magic(head) {
        return Ok(Some(format));
    }
    if let Some((_, what)) = OTHERS.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Err((*what).into());
    }
    if head.get(257..262) == Some(b"ustar") {
        return Err("a tar archive; unpack it and give the file with the graph".into());
    }
    // A character may be cut off at the end.
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    Ok(match text.as_bytes().first() {
        Some(b'<') => return of_xml(text),
        Some(b'{' | b'[') => Some(of_json(text)),
        Some(b'*') => of_pajek(text),
        _ => {
            check_text(text)?;
            of_words(text).or_else(|| of_edges(head))
        }
    })
}

/// A text that is recognised and not read, but looks like an edge list.
fn not_read(name: &str) -> Problem {
    let problem = Problem::from(format!("{name} is not supported"));
    problem.act("save the graph as GraphML or as an edge list")
}

/// Refuses text formats that look like edge lists.
fn check_text(text: &str) -> Result<(), Problem> {
    let mut lines = text.lines().map(str::trim_start).filter(|line| !line.is_empty());
    let first = lines.find(|line| !line.starts_with('#')).unwrap_or_default();
    if first.eq_ignore_ascii_case("LEDA.GRAPH") {
        return Err(not_read("LEDA"));
    }
    if first.starts_with(">>graph6<<") || first.starts_with(">>sparse6<<") {
        return Err(not_read("graph6"));
    }
    let words: Vec<String> = first.split_whitespace().map(str::to_ascii_lowercase).collect();
    if words.first().is_some_and(|word| word == "dl") && words.len() > 1 && first.contains('=') {
        return Err(not_read("UCINET DL"));
    }
    let is_comment = |line: &&str| line.starts_with("c ") || *line == "c";
    let problem = std::iter::once(first).chain(lines).find(|line| !is_comment(line));
    let words: Vec<&str> = problem.unwrap_or_default().split_whitespace().collect();
    if let &["p", "edge" | "col" | "sp" | "max" | "tw", nodes, edges] = &words[..]
        && nodes.parse::<u64>().is_ok()
        && edges.parse::<u64>().is_ok()
    {
        return Err(not_read("the DIMACS format of challenges on colouring and paths"));
    }
    Ok(())
}

fn of_magic(head: &[u8]) -> Option<InputFormat> {
    /// A stream begins with this, the length of its first message, and that message, whose bytes
    /// are a table of offsets.
    const CONTINUATION: [u8; 4] = [0xff; 4];
    let magic: [(&[u8], InputFormat); 7] = [
        (&MAGIC, InputFormat::Packed),
        (b"ARROW1", InputFormat::Arrow),
        (&CONTINUATION, InputFormat::Arrow),
        (b"PAR1", InputFormat::Parquet),
        (b"\x93NUMPY", InputFormat::Npy),
        (b"PK\x03\x04", InputFormat::Npz),
        (b"%%MatrixMarket", InputFormat::Mtx),
    ];
    magic.iter().find(|(magic, _)| head.starts_with(magic)).map(|&(_, format)| format)
}

/// The format of an edge list: with Python dictionaries or without.
fn of_edges(head: &[u8]) -> Option<InputFormat> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let line = lines.next()?.trim_end();
    // Another line shows that this one is whole.
    let whole = line.ends_with('}') || lines.next().is_some();
    let dictionary = line.find('{').is_some_and(|at| {
        let before = &line[..at];
        at > 0 && before.ends_with([' ', '\t', ',', ';'])
    });
    (dictionary && whole && line.ends_with('}')).then_some(InputFormat::NetworkxEdges)
}

/// The root of an XML document.
fn of_xml(text: &str) -> Result<Option<InputFormat>, Problem> {
    let mut rest = text;
    let root = loop {
        rest = rest.trim_start();
        let end = match rest.as_bytes() {
            [b'<', b'?', ..] => "?>",
            [b'<', b'!', b'-', b'-', ..] => "-->",
            [b'<', b'!', ..] => ">",
            [b'<', ..] => break &rest[1..],
            // The root is farther down, or this is no XML.
            _ => return Ok(None),
        };
        let Some(at) = rest.find(end) else { return Ok(None) };
        rest = &rest[at + end.len()..];
    };
    let name = root.split(|c: char| c.is_whitespace() || c == '>' || c == '/').next().unwrap_or("");
    let local = name.rsplit(':').next().unwrap_or(name);
    match local.to_ascii_lowercase().as_str() {
        "graphml" => Ok(Some(InputFormat::Graphml)),
        "gexf" => Ok(Some(InputFormat::Gexf)),
        "html" => Err("an HTML page; expected a graph: check where the file came from".into()),
        // An id in angle brackets, as in N-Triples.
        _ if !root.contains('>') || local.contains(['/', '.']) || local.is_empty() => Ok(None),
        _ if text.starts_with("<?xml") => Err(format!(
            "an XML file of <{name}>; expected <graphml> or <gexf>: export the graph as GraphML"
        )
        .into()),
        _ => Ok(None),
    }
}

/// JSON Lines if the first line is complete and another one follows.
fn of_json(text: &str) -> InputFormat {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let next = rest.trim_start().as_bytes().first();
    let complete = serde_json::from_str::<serde::de::IgnoredAny>(first).is_ok();
    if complete && next == first.as_bytes().first() {
        InputFormat::Jsonl
    } else {
        InputFormat::Json
    }
}

fn of_pajek(text: &str) -> Option<InputFormat> {
    let word = text[1..].split_whitespace().next()?.to_ascii_lowercase();
    ["network", "vertices", "arcs", "edges", "arcslist", "edgeslist", "matrix"]
        .contains(&word.as_str())
        .then_some(InputFormat::Pajek)
}

/// GML, DOT and Pajek, after their comments.
fn of_words(text: &str) -> Option<InputFormat> {
    let text = skip_comments(text);
    if text.starts_with('*') {
        return of_pajek(text);
    }
    let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    let (word, rest) = (text[..end].to_ascii_lowercase(), skip_comments(&text[end..]));
    let opens_block = || {
        // After `strict`, the kind of graph; then an optional id.
        let id = rest[..rest.find('{')?].trim();
        let kind = id.split(char::is_whitespace).next().unwrap_or_default();
        let is_kind = ["graph", "digraph"].iter().any(|word| kind.eq_ignore_ascii_case(word));
        let id = if word == "strict" && is_kind { id[kind.len()..].trim_start() } else { id };
        let is_id = id.starts_with('"') || id.split_whitespace().count() <= 1;
        is_id.then_some(InputFormat::Dot)
    };
    match word.as_str() {
        "graph" if rest.starts_with('[') => Some(InputFormat::Gml),
        "graph" | "digraph" | "strict" => opens_block(),
        "creator" | "version" | "comment" | "directed" => {
            let mut graphs = rest.match_indices("graph");
            graphs
                .any(|(at, word)| rest[at + word.len()..].trim_start().starts_with('['))
                .then_some(InputFormat::Gml)
        }
        _ => None,
    }
}

/// The text after the comments of DOT, GML and Pajek.
fn skip_comments(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        let end = if text.starts_with("/*") {
            "*/"
        } else if text.starts_with("//") || text.starts_with(['#', '%']) {
            "\n"
        } else {
            return text;
        };
        text = text.find(end).map_or("", |at| &text[at + end.len()..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(text: &str) -> Option<InputFormat> {
        of_content(text.as_bytes()).unwrap()
    }

    #[test]
    fn text_formats_are_known_by_their_first_words() {
        for (text, format) in [
            ("<?xml version='1.0'?>\n<!-- <gexf> -->\n<graphml xmlns=''>", InputFormat::Graphml),
            ("<g:graphml>", InputFormat::Graphml),
            ("\u{feff}<gexf version=\"1.3\">", InputFormat::Gexf),
            ("# by hand\nCreator \"x\"\ngraph\n[\n", InputFormat::Gml),
            ("Creator \"igraph version 1\"\nVersion 1\ngraph\n[", InputFormat::Gml),
            ("graph [ directed 1", InputFormat::Gml),
            ("/* x */ graph {", InputFormat::Dot),
            ("// x\nstrict digraph \"a b c d\" {\n", InputFormat::Dot),
            ("graph G{a--b}", InputFormat::Dot),
            ("% x\n*Vertices 3\n", InputFormat::Pajek),
            ("*edges\n1 2", InputFormat::Pajek),
            ("{\"nodes\": []}", InputFormat::Json),
            ("[\n{\"source\": 1}", InputFormat::Json),
            ("[1, 2]\n[2, 3]\n", InputFormat::Jsonl),
            ("{\"u\": {\"x\": 1}}\n{\"u\": 2}", InputFormat::Jsonl),
            ("# x\na b {'weight': 1}\n", InputFormat::NetworkxEdges),
            ("a,b,{}\n", InputFormat::NetworkxEdges),
        ] {
            assert_eq!(detected(text), Some(format), "{text}");
        }
    }

    #[test]
    fn edge_lists_are_not_taken_for_anything_else() {
        for text in [
            "1 2\n2 3\n",
            "graph network\nnetwork node\n",
            "strict rule\n",
            "creator work\n",
            "* a\n",
            "*star *arc\n",
            "<http://a.org/x> <http://a.org/y>\n",
            "a b{}\n",
            "p edge\nedge q\n",
            "dl x\n",
        ] {
            assert_eq!(detected(text), None, "{text}");
        }
    }

    #[test]
    fn other_files_are_named() {
        let refused = |head: &[u8]| of_content(head).unwrap_err().to_string();
        assert!(refused(b"SQLite format 3\0").starts_with("a SQLite database"));
        assert!(refused(b"<!DOCTYPE html>\n<HTML>").starts_with("an HTML page"));
        for (text, name) in [
            ("c x\np edge 3 2\ne 1 2\n", "the DIMACS format"),
            ("dl n=4 format=edgelist1\n", "UCINET DL"),
            ("LEDA.GRAPH\nstring\n", "LEDA"),
        ] {
            assert!(refused(text.as_bytes()).starts_with(name), "{text}");
        }
        let xgmml = refused(b"<?xml version=\"1.0\"?><graph label=\"x\">");
        assert!(xgmml.starts_with("an XML file of <graph>"));
    }
}
