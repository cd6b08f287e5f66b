//! Stage 5, the vectors: one for each node, in memory and in files.

mod format;
mod ids;
mod neighbours;
mod npy;
#[cfg(feature = "parquet")]
mod parquet;
mod safetensors;
mod text;
mod word2vec_binary;

use std::path::Path;

pub use format::{Format, check_writable};
use ids::Ids;
pub use neighbours::Similarity;
pub(crate) use neighbours::{Best, key};

use crate::error::{Error, Result};
pub(crate) use crate::file::npy::write_floats;
use crate::graph::{Graph, Node, NodeIds};

/// A vector of `dim` floats for each node. Row r of the table belongs to the node of row r of the
/// graph. There is at least one node and one dimension, and no id is empty.
///
/// ```
/// use nearfar::embedding::{Embedding, Similarity};
/// use nearfar::graph::NodeIds;
/// let names = NodeIds::StringIds(["ann", "bob", "eve"].into_iter().collect());
/// let embedding = Embedding::new(names, 2, vec![1.0, 0.0, 2.0, 0.0, 0.0, 1.0])?;
/// assert_eq!(embedding.vector(2), [0.0, 1.0]);
/// assert_eq!(embedding.neighbours(0, 1, Similarity::Cosine), [(1, 1.0)]);
/// # Ok::<(), nearfar::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Embedding {
    names: NodeIds,
    dim: usize,
    vectors: Vec<f32>,
}

impl Embedding {
    /// Takes the ids of the nodes and their vectors, one after the other.
    pub fn new(names: NodeIds, dim: usize, vectors: Vec<f32>) -> Result<Self> {
        let nodes = names.len();
        if nodes == 0 || dim == 0 {
            let message = format!(
                "an embedding of {nodes} nodes in {dim} dimensions; it takes at least one of each"
            );
            return Err(Error::Option(message));
        }
        if nodes.checked_mul(dim) != Some(vectors.len()) {
            return Err(Error::Option(format!(
                "{} numbers for {nodes} nodes in {dim} dimensions; it takes {nodes} × {dim}",
                vectors.len()
            )));
        }
        if let NodeIds::StringIds(words) = &names
            && let Some(node) = words.find("")
        {
            return Err(Error::Option(format!("node {node} has an empty id; give it a name")));
        }
        Ok(Self { names, dim, vectors })
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.names.len()
    }

    /// The number of dimensions.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The ids of the nodes.
    pub fn ids(&self) -> &NodeIds {
        &self.names
    }

    /// The vector of a node.
    #[inline]
    pub fn vector(&self, node: Node) -> &[f32] {
        &self.vectors[node as usize * self.dim..][..self.dim]
    }

    /// All vectors, one after the other.
    pub fn vectors(&self) -> &[f32] {
        &self.vectors
    }

    /// All vectors, for a caller that keeps them.
    pub fn into_vectors(self) -> Vec<f32> {
        self.vectors
    }

    /// Fails if some number is infinite or none at all. Such vectors can be saved and loaded, so
    /// that they can be looked at, but no use of them makes sense.
    pub fn check_finite(&self) -> Result<()> {
        // Without a way out in the middle, looking at all numbers is quicker than at one by one.
        if self.vectors.iter().fold(true, |all, value| all & value.is_finite()) {
            return Ok(());
        }
        let at = self.vectors.iter().position(|value| !value.is_finite()).unwrap_or(0);
        let (node, dimension) = (at / self.dim, at % self.dim);
        Err(Error::Option(format!(
            "the vector of node '{}' (row {node}) has {} in dimension {dimension}; training went \
             astray: lower the learning rate",
            self.names.get(node as Node),
            self.vectors[at]
        )))
    }

    /// The vectors in the order of a graph's nodes. Fails unless every node has one and every vector
    /// is that of a node.
    pub fn in_order_of(&self, graph: &Graph) -> Result<Self> {
        let nodes = graph.ids();
        let find = |node: Node| self.names.find(&nodes.get(node));
        let rows: Vec<Option<Node>> = (0..graph.nodes() as Node).map(find).collect();
        let missing = rows.iter().filter(|row| row.is_none()).count();
        if let Some(node) = rows.iter().position(Option::is_none) {
            return Err(Error::Graph(format!(
                "{missing} of {} nodes have no vector, '{}' among them; vectors have ids such as \
                 '{}': give the graph that was embedded",
                rows.len(),
                nodes.get(node as Node),
                self.names.get(0)
            )));
        }
        if self.nodes() > rows.len() {
            let stranger =
                (0..self.nodes() as Node).find(|&row| nodes.find(&self.names.get(row)).is_none());
            return Err(Error::Graph(format!(
                "there are {} vectors for {} nodes; '{}' is not in the graph: give the graph that \
                 was embedded, isolated nodes included (--nodes lists them)",
                self.nodes(),
                rows.len(),
                self.names.get(stranger.unwrap_or(0))
            )));
        }
        let rows = rows.into_iter().flatten();
        let vectors = rows.flat_map(|row| self.vector(row)).copied().collect();
        Self::new(nodes.clone(), self.dim, vectors)
    }

    /// The vectors of some nodes, in that order.
    pub(crate) fn select(&self, nodes: &[Node]) -> Result<Self> {
        let vectors = nodes.iter().flat_map(|&node| self.vector(node)).copied().collect();
        Self::new(self.names.select(nodes), self.dim, vectors)
    }

    /// Writes the vectors and the ids to a file, whole or not at all. Without a format, the
    /// ending of the file's name decides.
    ///
    /// `.npy` holds no ids; they are written to `NAME.nodes.tsv` beside it.
    pub fn save(&self, path: &Path, format: Option<Format>) -> Result<()> {
        let format = Format::to_write(path, format)?;
        format.check_ids(path, &self.names)?;
        match format {
            Format::Npy => npy::write(path, self),
            Format::Word2vec => text::write(path, self, text::Layout::Word2vec),
            Format::Tsv => text::write(path, self, text::Layout::Tsv),
            Format::Safetensors => safetensors::write(path, self),
            #[cfg(feature = "parquet")]
            Format::Parquet => parquet::write(path, self),
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => Err(format::no_parquet(path)),
        }
    }

    /// Reads what [`save`](Self::save) wrote, and what other libraries write in these formats.
    ///
    /// The ending of the file's name says the format, also `.bin`, the binary one of word2vec;
    /// a file with another ending is recognised by what is in it.
    pub fn load(path: &Path) -> Result<Self> {
        match format::Stored::of(path)? {
            format::Stored::Word2vecBinary => word2vec_binary::read(path),
            format::Stored::As(Format::Npy) => npy::read(path),
            format::Stored::As(Format::Word2vec) => text::read(path, text::Layout::Word2vec),
            format::Stored::As(Format::Tsv) => text::read(path, text::Layout::Tsv),
            format::Stored::As(Format::Safetensors) => safetensors::read(path),
            #[cfg(feature = "parquet")]
            format::Stored::As(Format::Parquet) => parquet::read(path),
            #[cfg(not(feature = "parquet"))]
            format::Stored::As(Format::Parquet) => Err(format::no_parquet(path)),
        }
    }

    /// [`new`](Self::new) for what was found in a file, which errors name.
    fn from_file(path: &Path, names: NodeIds, dim: usize, vectors: Vec<f32>) -> Result<Self> {
        Self::new(names, dim, vectors).map_err(|error| Error::file(path, error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_to_fit() {
        let range = |len| NodeIds::Range { start: 0, len };
        assert!(Embedding::new(range(2), 3, vec![0.0; 6]).is_ok());
        for (nodes, dim, numbers) in [(2, 3, 5), (0, 3, 0), (2, 0, 0), (usize::MAX, 2, 1)] {
            assert!(Embedding::new(range(nodes), dim, vec![0.0; numbers]).is_err());
        }
        let words = NodeIds::StringIds(["a", ""].into_iter().collect());
        let error = Embedding::new(words, 1, vec![0.0; 2]).unwrap_err().to_string();
        assert!(error.contains("node 1 has an empty id"), "{error}");
    }

    #[test]
    fn what_is_no_number_is_found() {
        let names = || NodeIds::StringIds(["a", "b"].into_iter().collect());
        assert!(Embedding::new(names(), 2, vec![0.0; 4]).unwrap().check_finite().is_ok());
        let bad = Embedding::new(names(), 2, vec![0.0, 0.0, 1.0, f32::NAN]).unwrap();
        let error = bad.check_finite().unwrap_err().to_string();
        assert!(error.starts_with("the vector of node 'b' (row 1) has NaN in dimension 1"));
    }
}
