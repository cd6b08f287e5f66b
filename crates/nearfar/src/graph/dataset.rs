//! Graphs with labels and splits, and the folders that they are stored in.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::labels::{self, Labels, Split, Splits};
use super::{Components, Dropped, Graph, Node, Origin, ReadOptions, read};
use crate::error::{Error, Problem, Result};
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
    /// How the file states its edges.
    pub origin: Origin,
    /// How ambiguous input was interpreted, for the user.
    pub notes: Vec<Problem>,
    /// An estimate of the peak resident memory that reading took, in bytes: edge pairs, weights
    /// and ids, with the rows under construction or the buffers of the reader, whichever is more;
    /// or the graph with its labels, or both graphs where the largest component is extracted, if
    /// that is more. Includes [`Graph::bytes`]; equal to it for graphs that were not read from a
    /// file. 1.0 to 1.3 times the measured peak for files of millions of edges.
    pub read_bytes: u64,
}

impl Dataset {
    /// A dataset that is only a graph.
    pub fn of(graph: Graph) -> Self {
        let read_bytes = graph.bytes();
        let dropped = Dropped::default();
        let origin = Origin::default();
        Self { graph, labels: None, splits: None, dropped, origin, notes: vec![], read_bytes }
    }

    /// Reads a folder: `edges.tsv` and, if they exist, `nodes.tsv`, `labels.tsv` and
    /// `splits.tsv`; each may be compressed, with `.gz`, `.zst`, … appended.
    pub(crate) fn read_folder(folder: &Path, options: &ReadOptions) -> Result<Self> {
        read_set(&folder.join(EDGES), || Self::read_files(folder, options))
    }

    fn read_files(folder: &Path, options: &ReadOptions) -> Result<Self> {
        let edges = find(folder, EDGES).ok_or_else(|| {
            Error::file(folder, "a dataset folder needs edges.tsv (or .gz, .zst, …); none found")
        })?;
        let nodes = options.nodes.clone().or_else(|| find(folder, "nodes.tsv"));
        let mut dataset = read::edge_file(&edges, &ReadOptions { nodes, ..options.clone() })?;
        if let Some(path) = find(folder, "labels.tsv") {
            let known = labels::in_graph(&dataset.graph);
            let (labels, notes, text) = Labels::read_known(&path, known)?;
            let bytes = dataset.graph.bytes() + labels.bytes() + text;
            dataset.read_bytes = dataset.read_bytes.max(read::resident(bytes));
            dataset.labels = Some(labels);
            dataset.notes.extend(notes);
        }
        if let Some(path) = find(folder, "splits.tsv") {
            let (splits, notes) = Split::read(&path, &dataset.graph)?;
            dataset.splits = Some(splits);
            dataset.notes.extend(notes);
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
            let _ = writeln!(nodes, "{}", quoted(&id, '\t'));
        }
        for (a, b, weight) in self.graph.edges_once() {
            let _ = write!(edges, "{}\t{}", quoted(&ids.get(a), '\t'), quoted(&ids.get(b), '\t'));
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
                let of: Vec<Cow<'_, str>> = labels.of[row as usize]
                    .iter()
                    .map(|&label| quoted(&labels.names[label as usize], ','))
                    .collect();
                let _ = writeln!(text, "{}\t{}", quoted(&ids.get(row), '\t'), of.join(","));
            }
            set.add(&folder.join("labels.tsv"), |out| out.write_all(text.as_bytes()))?;
        }
        if let Some(splits) = &self.splits {
            let mut text = String::new();
            for row in rows() {
                if let Some(split) = splits[row as usize] {
                    let _ = writeln!(text, "{}\t{}", quoted(&ids.get(row), '\t'), split.name());
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
            origin: self.origin,
            notes: self.notes,
            read_bytes,
        }
    }
}

/// A field as it is written: in quotes if it would be read as something else without them, such as
/// one that holds the separator.
fn quoted(field: &str, separator: char) -> Cow<'_, str> {
    // A quote within a field would hide separators after it.
    let is_plain = !field.contains(['\t', '"', separator])
        && !field.starts_with(['#', '%'])
        && field.trim_ascii().len() == field.len();
    if is_plain {
        return Cow::Borrowed(field);
    }
    Cow::Owned(format!("\"{}\"", field.replace('"', "\"\"")))
}

/// The file with this name in a folder, plain or compressed.
pub(crate) fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    packed(folder, name).find(|path| path.exists())
}

/// The plain and the compressed names of a file in a folder.
fn packed(folder: &Path, name: &str) -> impl Iterator<Item = PathBuf> {
    let ends = ["", ".gz", ".zst", ".bz2", ".xz", ".zip"];
    ends.into_iter().map(move |end| folder.join(format!("{name}{end}")))
}
