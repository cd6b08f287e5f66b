//! A graph with what is known about its nodes: labels and splits. Folders of them on disk.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::read::{self, TextLines};
use super::{Dropped, Graph, Node, NodeIds, StringIds};
use crate::error::{Error, Result};
use crate::file::write_whole;

/// A graph, and its labels and splits if there are any.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// The graph.
    pub graph: Graph,
    /// The labels of its nodes.
    pub labels: Option<Labels>,
    /// Which nodes are for training, validation and testing.
    pub splits: Option<Splits>,
    /// What reading left out.
    pub dropped: Dropped,
    /// What a reader should be told about how the input was understood.
    pub notes: Vec<String>,
}

/// The labels of nodes: none, one or several for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// The different labels, in order: by number if all are numbers, else by text.
    pub names: Vec<String>,
    /// For each row, its labels as indices into `names`.
    pub of: Vec<Vec<u32>>,
}

/// A node's part in an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// The classifier learns from it.
    Train,
    /// Choices are made on it.
    Val,
    /// It is scored, once.
    Test,
}

/// The part of each node, by row; some may have none.
pub type Splits = Vec<Option<Split>>;

impl Dataset {
    /// A dataset that is only a graph.
    pub fn of(graph: Graph) -> Self {
        Self { graph, labels: None, splits: None, dropped: Dropped::default(), notes: vec![] }
    }

    /// Reads a folder: `edges.tsv`, and `nodes.tsv`, `labels.tsv`, `splits.tsv` where they
    /// exist; each may end in `.gz` or `.zst`.
    pub(crate) fn read_folder(folder: &Path, nodes: Option<&Path>) -> Result<Self> {
        let edges = find(folder, "edges.tsv").ok_or_else(|| {
            Error::file(folder, "a dataset folder holds edges.tsv (or .gz, .zst); it is not there")
        })?;
        let own_nodes = find(folder, "nodes.tsv");
        let mut dataset = read::edge_file(&edges, nodes.or(own_nodes.as_deref()))?;
        if let Some(path) = find(folder, "labels.tsv") {
            dataset.labels = Some(Labels::read(&path, &dataset.graph)?);
        }
        if let Some(path) = find(folder, "splits.tsv") {
            dataset.splits = Some(Split::read(&path, &dataset.graph)?);
        }
        Ok(dataset)
    }

    /// Writes the folder that [`read`](super::read()) reads. Each file is written whole or not at
    /// all.
    pub fn write_folder(&self, folder: &Path) -> Result<()> {
        let ids = self.graph.ids();
        let rows = || 0..self.graph.nodes() as Node;
        let mut nodes = String::new();
        let mut edges = String::new();
        for row in rows() {
            let id = ids.get(row);
            // Writing to a String cannot fail.
            let _ = writeln!(nodes, "{id}");
            let weights = self.graph.weights(row);
            for (at, &to) in self.graph.neighbours(row).iter().enumerate() {
                if row < to {
                    let _ = write!(edges, "{id}\t{}", ids.get(to));
                    if let Some(weights) = weights {
                        let _ = write!(edges, "\t{}", weights[at]);
                    }
                    edges.push('\n');
                }
            }
        }
        std::fs::create_dir_all(folder).map_err(|e| Error::write(folder, &e))?;
        write_whole(&folder.join("edges.tsv"), |out| out.write_all(edges.as_bytes()))?;
        write_whole(&folder.join("nodes.tsv"), |out| out.write_all(nodes.as_bytes()))?;
        if let Some(labels) = &self.labels {
            let mut text = String::new();
            for row in rows() {
                let of: Vec<&str> = labels.of[row as usize]
                    .iter()
                    .map(|&l| labels.names[l as usize].as_str())
                    .collect();
                let _ = writeln!(text, "{}\t{}", ids.get(row), of.join(","));
            }
            write_whole(&folder.join("labels.tsv"), |out| out.write_all(text.as_bytes()))?;
        }
        if let Some(splits) = &self.splits {
            let mut text = String::new();
            for row in rows() {
                if let Some(split) = splits[row as usize] {
                    let _ = writeln!(text, "{}\t{}", ids.get(row), split.name());
                }
            }
            write_whole(&folder.join("splits.tsv"), |out| out.write_all(text.as_bytes()))?;
        }
        Ok(())
    }

    /// The same with only the largest component, whose nodes keep their ids.
    #[must_use]
    pub fn largest_component(self) -> Self {
        let components = super::Components::new(&self.graph);
        if components.len() <= 1 {
            return self;
        }
        let rows = components.members(components.largest());
        Self {
            graph: self.graph.induced(&rows),
            labels: self.labels.map(|labels| Labels {
                of: rows.iter().map(|&row| labels.of[row as usize].clone()).collect(),
                names: labels.names,
            }),
            splits: self
                .splits
                .map(|splits| rows.iter().map(|&row| splits[row as usize]).collect()),
            ..self
        }
    }
}

impl Labels {
    /// Reads `node<TAB>label`, several labels separated by commas.
    pub fn read(path: &Path, graph: &Graph) -> Result<Self> {
        Self::read_known(path, Known::in_graph(graph))
    }

    /// Takes the labels of each row, in any order.
    ///
    /// ```
    /// use nearfar::graph::Labels;
    /// let labels = Labels::new(&[vec!["10"], vec![], vec!["9", "10"]]);
    /// assert_eq!(labels.names, ["9", "10"]);
    /// assert_eq!(labels.of, [vec![1], vec![], vec![0, 1]]);
    /// ```
    pub fn new<T: AsRef<str>>(rows: &[Vec<T>]) -> Self {
        let mut words = StringIds::default();
        let mut texts = |row: &Vec<T>| row.iter().map(|text| words.insert(text.as_ref())).collect();
        let of = rows.iter().map(&mut texts).collect();
        Self::sorted(&words, of)
    }

    pub(crate) fn read_known(path: &Path, known: Known) -> Result<Self> {
        let mut words = StringIds::default();
        let mut of = vec![Vec::new(); known.ids.len()];
        for_each_node_line(path, known, |row, rest| {
            let labels = rest.split(',').map(str::trim).filter(|label| !label.is_empty());
            of[row as usize].extend(labels.map(|label| words.insert(label)));
            Ok(())
        })?;
        Ok(Self::sorted(&words, of))
    }

    fn sorted(words: &StringIds, mut of: Vec<Vec<u32>>) -> Self {
        let mut order: Vec<u32> = (0..words.len() as u32).collect();
        let numbers: Option<Vec<i64>> = order.iter().map(|&l| words.get(l).parse().ok()).collect();
        match numbers {
            Some(numbers) => order.sort_by_key(|&l| numbers[l as usize]),
            None => order.sort_by_key(|&l| words.get(l)),
        }
        let mut rank = vec![0; order.len()];
        for (at, &label) in order.iter().enumerate() {
            rank[label as usize] = at as u32;
        }
        for labels in &mut of {
            for label in labels.iter_mut() {
                *label = rank[*label as usize];
            }
            labels.sort_unstable();
            labels.dedup();
        }
        Self { names: order.iter().map(|&l| words.get(l).to_owned()).collect(), of }
    }

    /// The number of classes: of different labels that some node has.
    pub fn classes(&self) -> usize {
        let mut used = vec![false; self.names.len()];
        for &label in self.of.iter().flatten() {
            used[label as usize] = true;
        }
        used.into_iter().filter(|&used| used).count()
    }
}

impl Split {
    /// Reads `node<TAB>train|val|test`.
    pub fn read(path: &Path, graph: &Graph) -> Result<Splits> {
        read_splits(path, Known::in_graph(graph))
    }

    /// As it is written in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Val => "val",
            Self::Test => "test",
        }
    }
}

impl FromStr for Split {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = [Self::Train, Self::Val, Self::Test].into_iter().find(|it| it.name() == text);
        found.ok_or_else(|| format!("'{text}' where train, val or test should be"))
    }
}

/// The nodes that a file may speak of, and what to say of others.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) ids: &'a NodeIds,
    pub(crate) otherwise: &'static str,
}

impl<'a> Known<'a> {
    fn in_graph(graph: &'a Graph) -> Self {
        let otherwise = "is not in the graph; remove the line, or add the node to nodes.tsv";
        Self { ids: graph.ids(), otherwise }
    }
}

pub(crate) fn read_splits(path: &Path, known: Known) -> Result<Splits> {
    let mut splits = vec![None; known.ids.len()];
    for_each_node_line(path, known, |row, rest| {
        splits[row as usize] = Some(rest.parse()?);
        Ok(())
    })?;
    Ok(splits)
}

/// Calls `each` with the row and the rest of every line `node<TAB>rest`.
fn for_each_node_line(
    path: &Path,
    known: Known,
    mut each: impl FnMut(Node, &str) -> Result<(), String>,
) -> Result<()> {
    let text = TextLines::read(path)?;
    for (number, line) in text.iter() {
        let fail = |message: String| Error::line(path, number, message);
        let (id, rest) =
            line.split_once('\t').or_else(|| line.split_once(char::is_whitespace)).ok_or_else(
                || fail("expected a node, a tab and a value, found one column".to_owned()),
            )?;
        let row = known
            .ids
            .find(id.trim())
            .ok_or_else(|| fail(format!("node '{id}' {}", known.otherwise)))?;
        each(row, rest.trim()).map_err(fail)?;
    }
    Ok(())
}

/// The file with this name, plain or compressed.
pub(crate) fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    ["", ".gz", ".zst"].iter().map(|end| folder.join(format!("{name}{end}"))).find(|p| p.exists())
}
