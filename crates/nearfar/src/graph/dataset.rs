//! Graphs with labels and splits, and the folders that they are stored in.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::read::{self, TextLines};
use super::{Components, Dropped, Graph, Node, NodeIds, StringIds};
use crate::error::{Error, Result};
use crate::file::{DATASET_FILES, FileSet, check_not_input, check_writable, read_set};

/// The file of a dataset folder that has to be there.
pub(crate) const EDGES: &str = DATASET_FILES[0];

/// A graph with optional labels and splits.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// The graph.
    pub graph: Graph,
    /// The labels of the nodes.
    pub labels: Option<Labels>,
    /// Which nodes are for training, validation and testing.
    pub splits: Option<Splits>,
    /// The edges that reading dropped.
    pub dropped: Dropped,
    /// How ambiguous input was interpreted, for the user.
    pub notes: Vec<String>,
    /// An estimate of the peak resident memory that reading took, in bytes: edge pairs, weights
    /// and ids, with the rows under construction or the buffers of the reader, whichever is more;
    /// or the graph with its labels, or both graphs where the largest component is extracted, if
    /// that is more. Includes [`Graph::bytes`]; equal to it for graphs that were not read from a
    /// file. 1.0 to 1.3 times the measured peak for files of millions of edges.
    pub read_bytes: u64,
}

/// The labels of nodes: any number for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// The distinct labels, in numeric order if all are integers, else in text order.
    pub names: Vec<String>,
    /// For each row, its labels as indices into `names`.
    pub of: Vec<Vec<u32>>,
}

/// The split that a node belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Classifiers are trained on it.
    Train,
    /// Hyperparameters are chosen on it.
    Val,
    /// Reported scores are computed on it.
    Test,
}

/// The split of each node, by row; `None` for nodes in no split.
pub type Splits = Vec<Option<Split>>;

impl Dataset {
    /// A dataset that is only a graph.
    pub fn of(graph: Graph) -> Self {
        let read_bytes = graph.bytes();
        let dropped = Dropped::default();
        Self { graph, labels: None, splits: None, dropped, notes: vec![], read_bytes }
    }

    /// Reads a folder: `edges.tsv` and, if they exist, `nodes.tsv`, `labels.tsv` and
    /// `splits.tsv`; each may have `.gz` or `.zst` appended.
    pub(crate) fn read_folder(folder: &Path, nodes: Option<&Path>) -> Result<Self> {
        read_set(&folder.join(EDGES), || Self::read_files(folder, nodes))
    }

    fn read_files(folder: &Path, nodes: Option<&Path>) -> Result<Self> {
        let edges = find(folder, EDGES).ok_or_else(|| {
            Error::file(folder, "a dataset folder needs edges.tsv (or .gz, .zst); none found")
        })?;
        let own_nodes = find(folder, "nodes.tsv");
        let mut dataset = read::edge_file(&edges, nodes.or(own_nodes.as_deref()))?;
        if let Some(path) = find(folder, "labels.tsv") {
            let (labels, text) = Labels::read_counted(&path, Known::in_graph(&dataset.graph))?;
            let bytes = dataset.graph.bytes() + labels.bytes() + text;
            dataset.read_bytes = dataset.read_bytes.max(read::resident(bytes));
            dataset.labels = Some(labels);
        }
        if let Some(path) = find(folder, "splits.tsv") {
            dataset.splits = Some(Split::read(&path, &dataset.graph)?);
        }
        Ok(dataset)
    }

    /// Fails if [`write_folder`](Self::write_folder) would fail because of what is in the folder, or
    /// would replace one of the files that are read. Call it before a long computation.
    pub fn check_folder(folder: &Path, inputs: &[PathBuf]) -> Result<()> {
        if !folder.is_dir() {
            return Ok(());
        }
        DATASET_FILES.iter().try_for_each(|name| {
            let file = folder.join(name);
            check_writable(&file)?;
            check_not_input(&file, inputs)
        })
    }

    /// The files that are read of a dataset folder.
    pub fn files(folder: &Path) -> Vec<PathBuf> {
        DATASET_FILES.iter().filter_map(|name| find(folder, name)).collect()
    }

    /// Writes the folder that [`read`](super::read()) reads: all of its files or, if that fails,
    /// none.
    pub fn write_folder(&self, folder: &Path) -> Result<()> {
        let ids = self.graph.ids();
        let rows = || 0..self.graph.nodes() as Node;
        let mut nodes = String::new();
        let mut edges = String::new();
        for row in rows() {
            let id = ids.get(row);
            // Writing to a String cannot fail.
            let _ = writeln!(nodes, "{id}");
        }
        for (a, b, weight) in self.graph.edges_once() {
            let _ = write!(edges, "{}\t{}", ids.get(a), ids.get(b));
            if let Some(weight) = weight {
                let _ = write!(edges, "\t{weight}");
            }
            edges.push('\n');
        }
        std::fs::create_dir_all(folder).map_err(|e| Error::write(folder, e))?;
        let mut set = FileSet::default();
        set.add(&folder.join(EDGES), |out| out.write_all(edges.as_bytes()))?;
        set.add(&folder.join("nodes.tsv"), |out| out.write_all(nodes.as_bytes()))?;
        if let Some(labels) = &self.labels {
            let mut text = String::new();
            for row in rows() {
                let of: Vec<&str> = labels.of[row as usize]
                    .iter()
                    .map(|&l| labels.names[l as usize].as_str())
                    .collect();
                let _ = writeln!(text, "{}\t{}", ids.get(row), of.join(","));
            }
            set.add(&folder.join("labels.tsv"), |out| out.write_all(text.as_bytes()))?;
        }
        if let Some(splits) = &self.splits {
            let mut text = String::new();
            for row in rows() {
                if let Some(split) = splits[row as usize] {
                    let _ = writeln!(text, "{}\t{}", ids.get(row), split.name());
                }
            }
            set.add(&folder.join("splits.tsv"), |out| out.write_all(text.as_bytes()))?;
        }
        // What was there before may belong to other nodes.
        for (name, written) in
            [("labels.tsv", self.labels.is_some()), ("splits.tsv", self.splits.is_some())]
        {
            packed(folder, name).skip(usize::from(written)).for_each(|path| set.remove(path));
        }
        set.commit()
    }

    /// The largest component alone. Its nodes keep their ids.
    #[must_use]
    pub fn largest_component(self) -> Self {
        let components = Components::new(&self.graph);
        if components.len() <= 1 {
            return self;
        }
        let rows = components.members(components.largest());
        let Self { graph: whole, labels, splits, .. } = self;
        let graph = whole.induced(&rows);
        // Both graphs and the labels are alive, with the components and the new row of every node.
        let scratch = 12 * whole.nodes() as u64 + labels.as_ref().map_or(0, Labels::bytes);
        let bytes = whole.bytes() + graph.bytes() + scratch;
        let read_bytes = self.read_bytes.max(read::resident(bytes));
        drop((whole, components));
        let keep = |Labels { names, mut of }| {
            let of = rows.iter().map(|&row| std::mem::take(&mut of[row as usize])).collect();
            Labels { names, of }
        };
        Self {
            graph,
            labels: labels.map(keep),
            splits: splits.map(|splits| rows.iter().map(|&row| splits[row as usize]).collect()),
            dropped: self.dropped,
            notes: self.notes,
            read_bytes,
        }
    }
}

impl Labels {
    /// Reads lines `node<TAB>label`, several labels separated by commas.
    pub fn read(path: &Path, graph: &Graph) -> Result<Self> {
        Self::read_known(path, Known::in_graph(graph))
    }

    /// Labels from the texts of each row, in any order.
    ///
    /// ```
    /// use nearfar::graph::Labels;
    /// let labels = Labels::new(&[vec!["10"], vec![], vec!["9", "10"]]);
    /// assert_eq!(labels.names, ["9", "10"]);
    /// assert_eq!(labels.of, [vec![1], vec![], vec![0, 1]]);
    /// ```
    pub fn new<T: AsRef<str>>(rows: &[Vec<T>]) -> Self {
        let mut names = StringIds::default();
        let mut intern =
            |row: &Vec<T>| row.iter().map(|name| names.insert(name.as_ref())).collect();
        let of = rows.iter().map(&mut intern).collect();
        Self::sorted(&names, of)
    }

    pub(crate) fn read_known(path: &Path, known: Known) -> Result<Self> {
        Ok(Self::read_counted(path, known)?.0)
    }

    /// The labels, and the size of the text that they were read from.
    fn read_counted(path: &Path, known: Known) -> Result<(Self, u64)> {
        let mut names = StringIds::default();
        let mut of = vec![Vec::new(); known.ids.len()];
        let text = for_each_node_line(path, known, |row, rest| {
            let labels = rest.split(',').map(str::trim).filter(|label| !label.is_empty());
            of[row as usize].extend(labels.map(|label| names.insert(label)));
            Ok(())
        })?;
        Ok((Self::sorted(&names, of), text))
    }

    fn sorted(names: &StringIds, mut of: Vec<Vec<u32>>) -> Self {
        let mut order: Vec<u32> = (0..names.len() as u32).collect();
        let numbers: Option<Vec<i64>> = order.iter().map(|&l| names.get(l).parse().ok()).collect();
        match numbers {
            Some(numbers) => order.sort_by_key(|&l| numbers[l as usize]),
            None => order.sort_by_key(|&l| names.get(l)),
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
        Self { names: order.iter().map(|&l| names.get(l).to_owned()).collect(), of }
    }

    /// The memory that the labels take: for each row a list and, unless it is empty, an allocation
    /// of at least 32 bytes.
    fn bytes(&self) -> u64 {
        let row = |of: &Vec<u32>| match of.capacity() {
            0 => size_of::<Vec<u32>>(),
            labels => size_of::<Vec<u32>>() + (labels * 4 + 16).max(32),
        };
        self.of.iter().map(row).sum::<usize>() as u64
    }

    /// The number of classes: distinct labels that some node has.
    pub fn classes(&self) -> usize {
        let mut used = vec![false; self.names.len()];
        for &label in self.of.iter().flatten() {
            used[label as usize] = true;
        }
        used.into_iter().filter(|&used| used).count()
    }
}

impl Split {
    /// Reads lines `node<TAB>train|val|test`.
    pub fn read(path: &Path, graph: &Graph) -> Result<Splits> {
        read_splits(path, Known::in_graph(graph))
    }

    /// The name used in files.
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
        found.ok_or_else(|| format!("'{text}' is not a split; expected train, val or test"))
    }
}

/// The nodes that a file of labels or splits may contain, and the message for others.
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

/// Calls `each` with the row and the rest of every line `node<TAB>rest`; returns the size of the
/// text.
fn for_each_node_line(
    path: &Path,
    known: Known,
    mut each: impl FnMut(Node, &str) -> Result<(), String>,
) -> Result<u64> {
    let text = TextLines::read(path)?;
    for (number, line) in text.iter() {
        let fail = |message: String| Error::line(path, number, message);
        let (id, rest) =
            line.split_once('\t').or_else(|| line.split_once(char::is_whitespace)).ok_or_else(
                || fail("found one column; expected a node id, a tab and a value".to_owned()),
            )?;
        let row = known
            .ids
            .find(id.trim())
            .ok_or_else(|| fail(format!("node '{id}' {}", known.otherwise)))?;
        each(row, rest.trim()).map_err(fail)?;
    }
    Ok(text.bytes())
}

/// The file with this name in a folder, plain or compressed.
pub(crate) fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    packed(folder, name).find(|path| path.exists())
}

/// The plain and the compressed names of a file in a folder.
fn packed(folder: &Path, name: &str) -> impl Iterator<Item = PathBuf> {
    ["", ".gz", ".zst"].into_iter().map(move |end| folder.join(format!("{name}{end}")))
}
