//! Features of nodes: what a network reads in place of the identity.

use std::hash::{BuildHasher, Hasher};
use std::path::Path;

use rayon::prelude::*;

use super::feature_text;
use super::products::{parallel_multiply, transposed_multiply};
use crate::budget::{product, sum};
use crate::embedding::{Embedding, ids_beside};
use crate::error::{Error, Result};
use crate::graph::{Graph, Node, NodeIds, SparseRows, read_sparse};

/// The matrix X of features: a row for each node.
#[derive(Clone, Debug)]
pub struct Features {
    nodes: usize,
    width: usize,
    values: Values,
    /// Whether their rows were copied into the order of the nodes, which took as much memory again.
    copied: bool,
}

#[derive(Clone, Debug)]
enum Values {
    /// Row by row.
    Dense(Vec<f32>),
    /// The values that are not 0, by row and by column.
    Sparse { rows: Compressed, columns: Compressed },
}

/// The entries of line i are those from `starts[i]` to `starts[i + 1]`.
#[derive(Clone, Debug)]
struct Compressed {
    starts: Vec<usize>,
    at: Vec<u32>,
    values: Vec<f32>,
}

/// What a plan knows of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FeatureShape {
    pub(crate) width: usize,
    /// The memory that they take, or took while they were read.
    pub(crate) bytes: u64,
    pub(crate) fingerprint: u64,
}

impl Features {
    /// Features from their values, row by row. Fails if one is not finite.
    pub fn dense(nodes: usize, width: usize, values: Vec<f32>) -> Result<Self> {
        if width == 0 || nodes.checked_mul(width) != Some(values.len()) {
            let count = values.len();
            let message = format!("{count} values for {nodes} nodes with {width} features each");
            return Err(Error::conflict(message));
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            return Err(not_finite(at / width, at % width, values[at]));
        }
        Ok(Self { nodes, width, values: Values::Dense(values), copied: false })
    }

    /// Features from compressed sparse rows: those of node i are in columns
    /// `columns[starts[i]..starts[i + 1]]`. Values of one column are added.
    pub fn sparse(
        width: usize,
        starts: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<f32>,
    ) -> Result<Self> {
        let nodes = starts.len().saturating_sub(1);
        if width == 0 {
            return Err(Error::conflict("a matrix of features without columns"));
        }
        let increasing = starts.is_sorted() && starts.first() == Some(&0);
        if !increasing || starts.last() != Some(&columns.len()) || columns.len() != values.len() {
            return Err(Error::conflict("rows of features that do not fit their entries"));
        }
        if columns.iter().any(|&column| column as usize >= width) {
            let message = format!("a feature with an index that is not below {width}");
            return Err(Error::conflict(message));
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            let row = starts.partition_point(|&start| start <= at) - 1;
            return Err(not_finite(row, columns[at] as usize, values[at]));
        }
        let rows = Compressed { starts, at: columns, values };
        let columns = rows.transposed(width);
        let values = Values::Sparse { rows, columns };
        Ok(Self { nodes, width, values, copied: false })
    }

    /// Reads the features of the nodes of a graph: a sparse matrix, `.npz`; text, `.csv` or `.tsv`, with
    /// or without a header; or any other file of vectors with a row for each node. Rows are matched by id; those of other nodes are not used.
    pub fn read(path: &Path, graph: &Graph) -> Result<Self> {
        let is_sparse = path.extension().is_some_and(|it| it.eq_ignore_ascii_case("npz"));
        let named = |error: Error| match error {
            Error::Option(problem) => Error::file(path, *problem),
            other => other,
        };
        if is_sparse {
            let SparseRows { shape: (rows, width), starts, columns, values } = read_sparse(path)?;
            let ids = ids_beside(path, rows)?;
            let rows = rows_of(path, graph, &ids)?;
            let mut found = (vec![0], Vec::new(), Vec::new());
            for row in rows {
                let entries = starts[row as usize]..starts[row as usize + 1];
                found.1.extend_from_slice(&columns[entries.clone()]);
                found.2.extend_from_slice(&values[entries]);
                found.0.push(found.1.len());
            }
            return Self::sparse(width, found.0, found.1, found.2).map_err(named);
        }
        let (ids, width, table) = if is_text(path) {
            feature_text::read(path)?
        } else {
            let table = Embedding::load(path)?;
            (table.ids().clone(), table.dim(), table.into_vectors())
        };
        let (nodes, rows) = (graph.nodes(), rows_of(path, graph, &ids)?);
        if ids.len() == nodes && rows.is_sorted() {
            return Self::dense(nodes, width, table).map_err(named);
        }
        let row = |row: Node| &table[row as usize * width..][..width];
        let values = rows.into_iter().flat_map(row).copied().collect();
        let features = Self::dense(nodes, width, values).map_err(named)?;
        Ok(Self { copied: true, ..features })
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The number of features of a node.
    pub fn width(&self) -> usize {
        self.width
    }

    /// What a plan has to know.
    pub(crate) fn shape(&self) -> FeatureShape {
        let copies = if self.copied { 2 } else { 1 };
        let (bytes, fingerprint) = (self.bytes().saturating_mul(copies), self.fingerprint());
        FeatureShape { width: self.width, bytes, fingerprint }
    }

    /// The memory that they take.
    pub fn bytes(&self) -> u64 {
        match &self.values {
            Values::Dense(values) => product([values.len(), 4]),
            Values::Sparse { rows, columns } => sum([rows, columns].map(Compressed::bytes)),
        }
    }

    fn fingerprint(&self) -> u64 {
        let mut hasher = foldhash::quality::FixedState::with_seed(0).build_hasher();
        hasher.write_usize(self.width);
        let values = match &self.values {
            Values::Dense(values) => values,
            Values::Sparse { rows, .. } => {
                rows.starts.iter().for_each(|&start| hasher.write_usize(start));
                rows.at.iter().for_each(|&column| hasher.write_u32(column));
                &rows.values
            }
        };
        for value in values {
            hasher.write_u32(value.to_bits());
        }
        hasher.finish()
    }

    /// Writes X w to `out`; w has rows of so many values.
    pub(super) fn times(&self, w: &[f32], out: &mut [f32], dim: usize) {
        match &self.values {
            Values::Dense(values) => parallel_multiply(values, w, out, self.width, dim),
            Values::Sparse { rows, .. } => rows.times(w, out, dim),
        }
    }

    /// Writes Xᵀ y to `out`. The same bits on any number of threads.
    pub(super) fn transposed_times(&self, y: &[f32], out: &mut [f32], dim: usize) {
        match &self.values {
            Values::Dense(values) => transposed_multiply(values, y, out, self.width, dim),
            Values::Sparse { columns, .. } => columns.times(y, out, dim),
        }
    }
}

impl Compressed {
    fn bytes(&self) -> u64 {
        sum([product([self.starts.len(), 8]), product([self.at.len(), 8])])
    }

    fn transposed(&self, width: usize) -> Self {
        let mut starts = vec![0; width + 1];
        for &column in &self.at {
            starts[column as usize + 1] += 1;
        }
        for column in 0..width {
            starts[column + 1] += starts[column];
        }
        let mut next = starts.clone();
        let (mut at, mut values) = (vec![0; self.at.len()], vec![0.0; self.at.len()]);
        for (row, bounds) in self.starts.windows(2).enumerate() {
            for entry in bounds[0]..bounds[1] {
                let next = &mut next[self.at[entry] as usize];
                (at[*next], values[*next]) = (row as u32, self.values[entry]);
                *next += 1;
            }
        }
        Self { starts, at, values }
    }

    /// The product with a matrix of rows of `dim` values.
    fn times(&self, x: &[f32], out: &mut [f32], dim: usize) {
        out.par_chunks_exact_mut(dim).enumerate().for_each(|(line, out)| {
            out.fill(0.0);
            for entry in self.starts[line]..self.starts[line + 1] {
                let row = &x[self.at[entry] as usize * dim..][..dim];
                out.iter_mut().zip(row).for_each(|(out, x)| *out += self.values[entry] * x);
            }
        });
    }
}

/// Whether the extension is that of a table of text, which may be compressed.
fn is_text(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
    [".csv", ".tsv"].iter().any(|end| name.ends_with(end))
}

/// The row of features of every node.
fn rows_of(path: &Path, graph: &Graph, ids: &NodeIds) -> Result<Vec<Node>> {
    let nodes = 0..graph.nodes() as Node;
    let rows: Vec<Option<Node>> = nodes.map(|node| ids.find(&graph.ids().get(node))).collect();
    match rows.iter().position(Option::is_none) {
        None => Ok(rows.into_iter().flatten().collect()),
        Some(node) => {
            let missing = rows.iter().filter(|row| row.is_none()).count();
            let message = format!(
                "{missing} of {} nodes have no features, for example '{}'; rows have ids such as '{}'",
                rows.len(),
                graph.ids().get(node as Node),
                ids.get(0)
            );
            Err(Error::file(path, message))
        }
    }
}

fn not_finite(row: usize, column: usize, value: f32) -> Error {
    let message = format!("feature {column} of row {row} is {value}; features are finite numbers");
    Error::conflict(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sparse and dense features give the same products.
    #[test]
    fn products_agree() {
        let dense = [1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, -3.0, 0.5, 4.0, 0.0, 1.0];
        let sparse = Features::sparse(
            3,
            vec![0, 2, 2, 4, 6],
            vec![0, 2, 1, 2, 0, 2],
            vec![1.0, 2.0, -3.0, 0.5, 4.0, 1.0],
        )
        .unwrap();
        let dense = Features::dense(4, 3, dense.to_vec()).unwrap();
        let w: Vec<f32> = (0..6).map(|at| at as f32 - 2.5).collect();
        let y: Vec<f32> = (0..8).map(|at| 1.5 - at as f32).collect();
        let mut found = [vec![0.0; 8], vec![0.0; 8]];
        let mut back = [vec![0.0; 6], vec![0.0; 6]];
        for (at, features) in [&sparse, &dense].into_iter().enumerate() {
            features.times(&w, &mut found[at], 2);
            features.transposed_times(&y, &mut back[at], 2);
        }
        assert_eq!(found[0], found[1]);
        assert_eq!(back[0], back[1]);
        assert_eq!(found[1][..2], [-2.5 + 2.0 * 1.5, -1.5 + 2.0 * 2.5]);
    }

    #[test]
    fn features_that_do_not_fit_are_refused() {
        let text = |features: Result<Features>| features.unwrap_err().to_string();
        assert!(text(Features::dense(2, 2, vec![0.0; 3])).contains("3 values for 2 nodes"));
        let nan = text(Features::dense(2, 2, vec![0.0, 1.0, 2.0, f32::NAN]));
        assert_eq!(nan, "feature 1 of row 1 is NaN; features are finite numbers");
        let nan = text(Features::sparse(3, vec![0, 0, 1], vec![2], vec![f32::INFINITY]));
        assert_eq!(nan, "feature 2 of row 1 is inf; features are finite numbers");
        assert!(text(Features::sparse(3, vec![0, 1], vec![3], vec![1.0])).contains("not below 3"));
        assert!(Features::sparse(3, vec![0, 2], vec![1], vec![1.0]).is_err());
        assert!(text(Features::sparse(0, vec![0, 0], vec![], vec![])).contains("without columns"));
    }
}
