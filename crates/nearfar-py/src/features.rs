//! Features of nodes, and networks that were trained on them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nearfar::encode::{Features as NodeFeatures, NetworkModel as Model};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::embedding::Embedding;
use crate::graph::{Graph, Rows};
use crate::options::check;
use crate::work;

/// A row of features for each node of a graph.
#[pyclass(frozen, module = "nearfar._nearfar")]
pub(crate) struct Features(pub(crate) Arc<NodeFeatures>);

#[pymethods]
impl Features {
    /// Copies an array of shape (nodes, features).
    #[staticmethod]
    fn dense(values: &Bound<'_, PyArray2<f32>>) -> PyResult<Self> {
        let (nodes, width) = (values.shape()[0], values.shape()[1]);
        let numbers = values.readonly().as_array().iter().copied().collect();
        check(NodeFeatures::dense(nodes, width, numbers)).map(Self::of)
    }

    /// Copies a CSR matrix with so many columns.
    #[staticmethod]
    fn sparse(
        width: usize,
        offsets: Rows<'_>,
        columns: Rows<'_>,
        values: &Bound<'_, PyArray1<f32>>,
    ) -> PyResult<Self> {
        let offsets = offsets.read(None)?.into_iter().map(|offset| offset as usize).collect();
        let (columns, values) = (columns.read(Some(width))?, values.readonly().as_array().to_vec());
        check(NodeFeatures::sparse(width, offsets, columns, values)).map(Self::of)
    }

    /// Reads a file.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf, graph: &Graph) -> PyResult<Self> {
        let graph = Arc::clone(&graph.shared);
        work::run(py, None, None, move |_| NodeFeatures::read(&path, &graph)).map(Self::of)
    }
}

impl Features {
    fn of(features: NodeFeatures) -> Self {
        Self(Arc::new(features))
    }
}

/// A trained network.
#[pyclass(frozen, module = "nearfar._nearfar")]
pub(crate) struct NetworkModel(Arc<Model>);

#[pymethods]
impl NetworkModel {
    /// Reads a file.
    #[staticmethod]
    fn load(path: &str) -> PyResult<Self> {
        check(Model::load(Path::new(path))).map(|model| Self(Arc::new(model)))
    }

    /// The vectors of the nodes of a graph.
    fn apply(&self, py: Python<'_>, graph: &Graph, features: &Features) -> PyResult<Embedding> {
        let (model, graph) = (Arc::clone(&self.0), Arc::clone(&graph.shared));
        let features = Arc::clone(&features.0);
        work::run(py, None, None, move |_| model.apply(&graph, &features)).map(Embedding::of)
    }
}
