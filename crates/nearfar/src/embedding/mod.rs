//! Stage 5, embeddings: one vector per node, in memory and in files.

mod extend;
mod format;
mod ids;
mod neighbours;
mod npy;
#[cfg(feature = "parquet")]
mod parquet;
mod safetensors;
mod text;
mod word2vec_binary;

use std::hash::{BuildHasher, Hasher};
use std::path::Path;

pub use format::{Format, check_output, check_writable};
use ids::Ids;
pub use neighbours::Similarity;
pub(crate) use neighbours::{TopK, key};
pub(crate) use npy::ids_beside;

use serde_json::{Map, Value};

use crate::error::{Error, Problem, Result};
use crate::file::FileSet;
pub(crate) use crate::file::npy::write_floats;
use crate::graph::{Graph, Node, NodeIds};
use crate::memory::Array;

/// The name under which formats with metadata keep the provenance.
const PROVENANCE: &str = "nearfar";

/// A vector of `dim` floats for each node. Row r belongs to node r of the graph. There is at least one
/// node and one dimension, and no id is empty.
///
/// ```
/// use nearfar::embedding::{Embedding, Similarity};
/// use nearfar::graph::NodeIds;
/// let ids = NodeIds::StringIds(["ann", "bob", "eve"].into_iter().collect());
/// let embedding = Embedding::new(ids, 2, vec![1.0, 0.0, 2.0, 0.0, 0.0, 1.0])?;
/// assert_eq!(embedding.vector(2), [0.0, 1.0]);
/// assert_eq!(embedding.neighbours(0, 1, Similarity::Cosine), [(1, 1.0)]);
/// # Ok::<(), nearfar::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Embedding {
    ids: NodeIds,
    dim: usize,
    vectors: Array<f32>,
    /// The vectors of nodes as contexts, where they differ.
    contexts: Option<Array<f32>>,
    provenance: Map<String, Value>,
}

impl Embedding {
    /// An embedding from the ids of the nodes and their vectors in row-major order.
    pub fn new(ids: NodeIds, dim: usize, vectors: Vec<f32>) -> Result<Self> {
        Self::from_array(ids, dim, vectors.into())
    }

    /// The same of vectors that may be in a file.
    pub(crate) fn from_array(ids: NodeIds, dim: usize, vectors: Array<f32>) -> Result<Self> {
        let nodes = ids.len();
        if nodes == 0 || dim == 0 {
            let message = format!(
                "an embedding of {nodes} nodes in {dim} dimensions; expected at least 1 of each"
            );
            return Err(Error::conflict(message));
        }
        if nodes.checked_mul(dim) != Some(vectors.len()) {
            return Err(Error::conflict(format!(
                "{} values for {nodes} nodes in {dim} dimensions; expected {nodes} × {dim}",
                vectors.len()
            )));
        }
        if let NodeIds::StringIds(strings) = &ids
            && let Some(node) = strings.find("")
        {
            return Err(Error::conflict(format!(
                "node {node} has an empty id; give every node an id"
            )));
        }
        Ok(Self { ids, dim, vectors, contexts: None, provenance: Map::new() })
    }

    /// The same, with a record of how the vectors were made. Formats that can carry it do.
    #[must_use]
    pub fn with_provenance(self, provenance: Map<String, Value>) -> Self {
        Self { provenance, ..self }
    }

    /// The same, with context vectors in the order of the vectors.
    #[must_use]
    pub(crate) fn with_contexts(self, contexts: Array<f32>) -> Self {
        Self { contexts: Some(contexts), ..self }
    }

    /// The vectors of nodes as contexts, of a model of order 2 that has just been trained: those of the
    /// targets of arcs, in a directed graph. Files hold one kind of vectors; save these as well.
    pub fn contexts(&self) -> Option<Self> {
        let vectors = self.contexts.clone()?;
        let Self { ids, dim, provenance, .. } = self;
        Some(Self {
            ids: ids.clone(),
            dim: *dim,
            vectors,
            contexts: None,
            provenance: provenance.clone(),
        })
    }

    /// The record as JSON, for formats that carry it as text.
    fn provenance_text(&self) -> Option<String> {
        (!self.provenance.is_empty()).then(|| Value::Object(self.provenance.clone()).to_string())
    }

    /// The same, with a record as it was stored. One that is damaged is ignored: it says nothing
    /// about the vectors themselves.
    fn with_provenance_text(self, text: Option<&str>) -> Self {
        let record = text.and_then(|text| serde_json::from_str(text).ok());
        self.with_provenance(record.unwrap_or_default())
    }

    /// How the vectors were made: resolved settings, seed, version and the fingerprint of the graph.
    /// Empty if that is not known.
    pub fn provenance(&self) -> &Map<String, Value> {
        &self.provenance
    }

    /// A hash of ids and vectors.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = foldhash::quality::FixedState::with_seed(0).build_hasher();
        hasher.write_usize(self.dim);
        for row in 0..self.nodes() as Node {
            hasher.write(self.ids.get(row).as_bytes());
            self.vector(row).iter().for_each(|value| hasher.write_u32(value.to_bits()));
        }
        hasher.finish()
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.ids.len()
    }

    /// The number of dimensions.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The ids of the nodes.
    pub fn ids(&self) -> &NodeIds {
        &self.ids
    }

    /// The vector of a node.
    #[inline]
    pub fn vector(&self, node: Node) -> &[f32] {
        &self.vectors[node as usize * self.dim..][..self.dim]
    }

    /// All vectors in row-major order.
    pub fn vectors(&self) -> &[f32] {
        &self.vectors
    }

    /// All vectors in row-major order, without a copy unless they are in a file.
    pub fn into_vectors(self) -> Vec<f32> {
        self.vectors.into_vec()
    }

    /// Rows that are written at a time: where vectors are in a file, the memory of those is given back
    /// ([`release`](Self::release)) before the next are read.
    fn pieces(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        const VALUES: usize = 1 << 24;
        let (nodes, rows) = (self.nodes(), VALUES.div_ceil(self.dim));
        (0..nodes).step_by(rows).map(move |first| first..nodes.min(first + rows))
    }

    /// Gives memory of vectors that were read back to the system, where they are in a file.
    fn release(&self) {
        self.vectors.release();
    }

    /// Writes all vectors.
    fn write_vectors(&self, out: &mut impl std::io::Write) -> std::io::Result<()> {
        self.pieces().try_for_each(|rows| {
            write_floats(out, &self.vectors[rows.start * self.dim..rows.end * self.dim])?;
            self.release();
            Ok(())
        })
    }

    /// Fails if some value is infinite or NaN. Such vectors can be saved and loaded, but not evaluated.
    pub fn check_finite(&self) -> Result<()> {
        // A loop without early exit vectorises.
        if self.vectors.iter().fold(true, |all, value| all & value.is_finite()) {
            return Ok(());
        }
        let at = self.vectors.iter().position(|value| !value.is_finite()).unwrap_or(0);
        let (node, dimension) = (at / self.dim, at % self.dim);
        Err(Error::conflict(format!(
            "the vector of node '{}' (row {node}) has {} in dimension {dimension}; training \
             diverged: lower the learning rate",
            self.ids.get(node as Node),
            self.vectors[at]
        )))
    }

    /// The vectors in the order of a graph's nodes. Fails unless the ids are those of the graph.
    pub fn in_order_of(&self, graph: &Graph) -> Result<Self> {
        let nodes = graph.ids();
        let find = |node: Node| self.ids.find(&nodes.get(node));
        let rows: Vec<Option<Node>> = (0..graph.nodes() as Node).map(find).collect();
        let missing = rows.iter().filter(|row| row.is_none()).count();
        if let Some(node) = rows.iter().position(Option::is_none) {
            return Err(Error::graph(format!(
                "{missing} of {} nodes have no vector, for example '{}'; the vectors have ids such \
                 as '{}': give the graph that was embedded",
                rows.len(),
                nodes.get(node as Node),
                self.ids.get(0)
            )));
        }
        if self.nodes() > rows.len() {
            let unknown =
                (0..self.nodes() as Node).find(|&row| nodes.find(&self.ids.get(row)).is_none());
            let problem = Problem::from(format!(
                "{} vectors for {} nodes; '{}' is not in the graph, which has isolated nodes only \
                 if they are listed",
                self.nodes(),
                rows.len(),
                self.ids.get(unknown.unwrap_or(0))
            ));
            return Err(Error::graph(problem.act("use the graph that was embedded").give("nodes")));
        }
        let rows = rows.into_iter().flatten();
        let vectors = rows.flat_map(|row| self.vector(row)).copied().collect();
        let ordered = Self::new(nodes.clone(), self.dim, vectors)?;
        Ok(ordered.with_provenance(self.provenance.clone()))
    }

    /// The vectors in the order of some nodes. Fails unless the ids are the same.
    pub fn in_order_of_nodes(&self, nodes: &NodeIds) -> Result<Self> {
        let rows: Vec<Option<Node>> =
            (0..nodes.len() as Node).map(|node| self.ids.find(&nodes.get(node))).collect();
        let missing = rows.iter().filter(|row| row.is_none()).count();
        if missing > 0 || self.nodes() != nodes.len() {
            let example = rows.iter().position(Option::is_none);
            let example = example
                .map_or(String::new(), |row| format!(", for example '{}'", nodes.get(row as Node)));
            return Err(Error::conflict(format!(
                "{} vectors for {} nodes, {missing} of which have none{example}; compare vectors of \
                 the same nodes",
                self.nodes(),
                rows.len()
            )));
        }
        let rows = rows.into_iter().flatten();
        let vectors = rows.flat_map(|row| self.vector(row)).copied().collect();
        let ordered = Self::new(nodes.clone(), self.dim, vectors)?;
        Ok(ordered.with_provenance(self.provenance.clone()))
    }

    /// The vectors of some nodes, in that order.
    pub(crate) fn select(&self, nodes: &[Node]) -> Result<Self> {
        let vectors = nodes.iter().flat_map(|&node| self.vector(node)).copied().collect();
        Self::new(self.ids.select(nodes), self.dim, vectors)
    }

    /// Writes the vectors and the ids to a file, atomically. Without a format, the file extension
    /// decides.
    ///
    /// `.npy` stores no ids; they are written to `NAME.nodes.tsv` in the same folder.
    pub fn save(&self, path: &Path, format: Option<Format>) -> Result<()> {
        self.write(path, format)?.commit()
    }

    /// [`save`](Self::save) but for the last step, for files that are saved together with others.
    pub fn write(&self, path: &Path, format: Option<Format>) -> Result<FileSet> {
        let format = Format::to_write(path, format)?;
        format.check_ids(path, &self.ids)?;
        match format {
            Format::Npy => npy::write(path, self),
            Format::Word2vec => text::write(path, self, text::TextFormat::Word2vec),
            Format::Tsv => text::write(path, self, text::TextFormat::Tsv),
            Format::Csv => text::write(path, self, text::TextFormat::Csv),
            Format::Safetensors => safetensors::write(path, self),
            #[cfg(feature = "parquet")]
            Format::Parquet => parquet::write(path, self),
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => Err(format::no_parquet(path)),
        }
    }

    /// Reads what [`save`](Self::save) wrote, and what other libraries write in these formats.
    ///
    /// The file extension decides the format, including `.bin`, the binary format of word2vec; files
    /// with another extension are recognised by their content.
    pub fn load(path: &Path) -> Result<Self> {
        match format::InputFormat::of(path)? {
            format::InputFormat::Word2vecBinary => word2vec_binary::read(path),
            format::InputFormat::Format(Format::Npy) => npy::read(path),
            format::InputFormat::Format(Format::Word2vec) => {
                text::read(path, text::TextFormat::Word2vec)
            }
            format::InputFormat::Format(Format::Tsv) => text::read(path, text::TextFormat::Tsv),
            format::InputFormat::Format(Format::Csv) => text::read(path, text::TextFormat::Csv),
            format::InputFormat::Format(Format::Safetensors) => safetensors::read(path),
            #[cfg(feature = "parquet")]
            format::InputFormat::Format(Format::Parquet) => parquet::read(path),
            #[cfg(not(feature = "parquet"))]
            format::InputFormat::Format(Format::Parquet) => Err(format::no_parquet(path)),
        }
    }

    /// [`new`](Self::new) for the content of a file, with the file in error messages.
    fn from_file(path: &Path, ids: NodeIds, dim: usize, vectors: Vec<f32>) -> Result<Self> {
        Self::new(ids, dim, vectors).map_err(|error| Error::file(path, error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::ReadOptions;

    #[test]
    fn sizes_must_match() {
        let range = |len| NodeIds::Range { start: 0, len };
        assert!(Embedding::new(range(2), 3, vec![0.0; 6]).is_ok());
        for (nodes, dim, values) in [(2, 3, 5), (0, 3, 0), (2, 0, 0), (usize::MAX, 2, 1)] {
            assert!(Embedding::new(range(nodes), dim, vec![0.0; values]).is_err());
        }
        let ids = NodeIds::StringIds(["a", ""].into_iter().collect());
        let error = Embedding::new(ids, 1, vec![0.0; 2]).unwrap_err().to_string();
        assert!(error.contains("node 1 has an empty id"), "{error}");
    }

    #[test]
    fn values_that_are_not_finite_are_found() {
        let ids = || NodeIds::StringIds(["a", "b"].into_iter().collect());
        assert!(Embedding::new(ids(), 2, vec![0.0; 4]).unwrap().check_finite().is_ok());
        let bad = Embedding::new(ids(), 2, vec![0.0, 0.0, 1.0, f32::NAN]).unwrap();
        let error = bad.check_finite().unwrap_err().to_string();
        assert!(error.starts_with("the vector of node 'b' (row 1) has NaN in dimension 1"));
    }

    #[test]
    fn the_order_of_a_graph_keeps_the_provenance() {
        let karate = crate::graph::read("builtin:karate", &ReadOptions::default()).unwrap().graph;
        let reversed: Vec<String> = (0..34).rev().map(|node: u32| node.to_string()).collect();
        let ids = NodeIds::StringIds(reversed.iter().map(String::as_str).collect());
        let provenance = Map::from_iter([("seed".to_owned(), Value::from(7))]);
        let vectors = (0..34).rev().map(|node| node as f32).collect();
        let embedding = Embedding::new(ids, 1, vectors).unwrap().with_provenance(provenance);
        let ordered = embedding.in_order_of(&karate).unwrap();
        assert_eq!(ordered.vectors()[..3], [0.0, 1.0, 2.0]);
        assert_eq!(ordered.provenance(), embedding.provenance());
    }
}
