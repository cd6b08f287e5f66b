//! Graphs: from arrays, from files, made up; and what can be asked of them.

use std::sync::Arc;

use nearfar::distance::{DistanceSummary, hops};
use nearfar::graph::{
    Dataset, Dropped, EdgeList, Labels, Node, NodeIds, Preset, ReadOptions, Splits, SynthConfig,
};
use numpy::ndarray::ArrayView1;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::options::Options;
use crate::work;

/// A graph, and what is known about its nodes.
#[pyclass(frozen, module = "nearfar._nearfar")]
pub(crate) struct Graph {
    pub(crate) shared: Arc<nearfar::graph::Graph>,
    labels: Option<Labels>,
    splits: Option<Splits>,
    dropped: Dropped,
    notes: Vec<String>,
}

/// Integers that are rows, in one of the two types that arrays of them have.
#[derive(FromPyObject)]
pub(crate) enum Rows<'py> {
    Long(PyReadonlyArray1<'py, i64>),
    Short(PyReadonlyArray1<'py, i32>),
}

/// Ids as Python is to see them.
#[derive(IntoPyObject)]
pub(crate) enum PyIds {
    Integers(Py<PyArray1<i64>>),
    Texts(Vec<String>),
}

type Edges<'py> =
    (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>, Option<Bound<'py, PyArray1<f32>>>);

#[pymethods]
impl Graph {
    /// Builds a graph from its edges. Without a number of nodes there are as many as the largest
    /// row says; without ids they are called 0, 1, 2, …
    #[new]
    #[pyo3(signature = (sources, targets, weights=None, nodes=None, ids=None))]
    fn new(
        py: Python<'_>,
        sources: Rows<'_>,
        targets: Rows<'_>,
        weights: Option<PyReadonlyArray1<'_, f32>>,
        nodes: Option<usize>,
        ids: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let (sources, targets) = (sources.read(nodes)?, targets.read(nodes)?);
        let weights = weights.map(|weights| weights.as_array().to_vec());
        let graph = work::run(py, None, None, move |_| {
            let pairs: Vec<(Node, Node)> = sources.into_iter().zip(targets).collect();
            let largest = pairs.iter().map(|(a, b)| a.max(b)).max();
            let nodes = nodes.unwrap_or(largest.map_or(0, |&row| row as usize + 1));
            let (graph, dropped) = EdgeList { pairs, weights, ids: names(nodes, ids) }.build()?;
            Ok(Dataset { dropped, ..Dataset::of(graph) })
        })?;
        Ok(Self::of(graph))
    }

    /// Builds a graph of nodes 0, 1, 2, … from the rows of a compressed matrix.
    #[staticmethod]
    #[pyo3(signature = (offsets, targets, weights=None))]
    fn from_rows(
        py: Python<'_>,
        offsets: Rows<'_>,
        targets: Rows<'_>,
        weights: Option<PyReadonlyArray1<'_, f32>>,
    ) -> PyResult<Self> {
        let (offsets, targets) = (offsets.read(None)?, targets.read(None)?);
        let weights = weights.map(|weights| weights.as_array().to_vec());
        let graph = work::run(py, None, None, move |_| {
            let offsets: Vec<usize> = offsets.into_iter().map(|at| at as usize).collect();
            let ids = names(offsets.len().saturating_sub(1), None);
            let rows = nearfar::graph::CsrRows { offsets, targets, weights, ids };
            let (graph, dropped) = rows.build()?;
            Ok(Dataset { dropped, ..Dataset::of(graph) })
        })?;
        Ok(Self::of(graph))
    }

    /// The number of nodes.
    #[getter]
    fn nodes(&self) -> usize {
        self.shared.nodes()
    }

    /// The number of edges.
    #[getter]
    fn edges(&self) -> usize {
        self.shared.edges()
    }

    /// Whether edges have weights.
    #[getter]
    fn weighted(&self) -> bool {
        self.shared.is_weighted()
    }

    /// How many edges are not in the graph, and why.
    #[getter]
    fn dropped<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dropped = PyDict::new(py);
        dropped.set_item("self_loops", self.dropped.self_loops)?;
        dropped.set_item("repeats", self.dropped.repeats)?;
        dropped.set_item("zero_weights", self.dropped.zero_weights)?;
        Ok(dropped)
    }

    /// What a reader should know about how a file was understood.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// The names of the labels, and for each row its labels as places among them.
    #[getter]
    fn labels(&self) -> Option<(Vec<String>, Vec<Vec<u32>>)> {
        self.labels.as_ref().map(|labels| (labels.names.clone(), labels.of.clone()))
    }

    /// For each row the part that it has in an experiment.
    #[getter]
    fn splits(&self) -> Option<Vec<Option<&'static str>>> {
        let splits = self.splits.as_ref()?;
        Some(splits.iter().map(|split| split.map(nearfar::graph::Split::name)).collect())
    }

    /// The ids: none if they are 0, 1, 2, …
    fn ids(&self, py: Python<'_>) -> Option<PyIds> {
        ids(py, self.shared.ids())
    }

    /// Every edge once: sources, targets, and weights if there are any.
    fn edge_arrays<'py>(&self, py: Python<'py>) -> Edges<'py> {
        let graph = &self.shared;
        let (mut sources, mut targets, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for (a, b, weight) in graph.edges_once() {
            sources.push(a);
            targets.push(b);
            weights.extend(weight);
        }
        let weights = graph.is_weighted().then(|| PyArray1::from_vec(py, weights));
        (PyArray1::from_vec(py, sources), PyArray1::from_vec(py, targets), weights)
    }

    /// The rows of the largest component, in increasing order, and the graph among them.
    fn largest_component<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyArray1<u32>>, Self)> {
        let own = Arc::clone(&self.shared);
        let (rows, graph) = work::run(py, None, None, move |_| {
            let components = nearfar::graph::Components::new(&own);
            let rows = components.members(components.largest());
            let graph = own.induced(&rows);
            Ok((rows, graph))
        })?;
        let graph = Self { dropped: self.dropped, ..Self::of(Dataset::of(graph)) };
        Ok((PyArray1::from_vec(py, rows), graph))
    }

    /// Sizes, components and how far apart nodes are, as JSON.
    #[pyo3(signature = (sources=None, seed=0))]
    fn stats(&self, py: Python<'_>, sources: Option<usize>, seed: u64) -> PyResult<String> {
        let (own, classes) = (Arc::clone(&self.shared), self.labels.as_ref().map(Labels::classes));
        work::run(py, None, None, move |_| {
            let summary = DistanceSummary { classes, ..DistanceSummary::new(&own, sources, seed) };
            Ok(serde_json::to_string(&summary).unwrap_or_default())
        })
    }

    /// A row of distances to all nodes for each source; −1 where there is no path.
    fn distances<'py>(
        &self,
        py: Python<'py>,
        sources: Rows<'_>,
    ) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let sources = sources.read(Some(self.shared.nodes()))?;
        let (own, count) = (Arc::clone(&self.shared), sources.len());
        let hops = work::run(py, None, None, move |_| Ok(hops(&own, &sources)))?;
        PyArray1::from_vec(py, hops).reshape([count, self.shared.nodes()])
    }
}

impl Graph {
    fn of(dataset: Dataset) -> Self {
        let Dataset { graph, labels, splits, dropped, notes, .. } = dataset;
        Self { shared: Arc::new(graph), labels, splits, dropped, notes }
    }
}

impl Rows<'_> {
    /// Copies them. Fails if one is negative, or not below the number of nodes.
    pub(crate) fn read(self, nodes: Option<usize>) -> PyResult<Vec<Node>> {
        let nodes = nodes.unwrap_or(Node::MAX as usize).min(Node::MAX as usize);
        match self {
            Self::Long(rows) => read_rows(&rows.as_array(), nodes),
            Self::Short(rows) => read_rows(&rows.as_array(), nodes),
        }
    }
}

fn read_rows<T: Copy + Into<i64>>(rows: &ArrayView1<'_, T>, nodes: usize) -> PyResult<Vec<Node>> {
    let fits = |row: i64| usize::try_from(row).is_ok_and(|row| row < nodes);
    match rows.iter().position(|&row| !fits(row.into())) {
        None => Ok(rows.iter().map(|&row| row.into() as Node).collect()),
        Some(at) => {
            let row = rows[at].into();
            let message = if row < 0 {
                format!("node {row} at place {at}: nodes are integers from 0 on")
            } else {
                format!("node {row} at place {at} in a graph of {nodes} nodes, 0 to {}", nodes - 1)
            };
            Err(PyValueError::new_err(message))
        }
    }
}

/// The ids of n nodes.
pub(crate) fn names(nodes: usize, ids: Option<Vec<String>>) -> NodeIds {
    match ids {
        None => NodeIds::Range { start: 0, len: nodes },
        Some(ids) => NodeIds::StringIds(ids.into_iter().collect()),
    }
}

/// What ids stand for: integers if all of them are, else texts. None for 0, 1, 2, …
pub(crate) fn ids(py: Python<'_>, ids: &NodeIds) -> Option<PyIds> {
    if let NodeIds::Range { start: 0, .. } = ids {
        return None;
    }
    let texts: Vec<String> = (0..ids.len() as Node).map(|row| ids.get(row).into()).collect();
    // Only what is written in the one usual way: 07 and 7 are two nodes.
    let integer = |text: &String| text.parse().ok().filter(|id: &i64| id.to_string() == *text);
    Some(match texts.iter().map(integer).collect::<Option<Vec<i64>>>() {
        Some(integers) => PyIds::Integers(PyArray1::from_vec(py, integers).unbind()),
        None => PyIds::Texts(texts),
    })
}

/// Reads a graph from a path or makes a built-in one.
#[pyfunction]
#[pyo3(signature = (source, nodes=None))]
pub(crate) fn read(py: Python<'_>, source: String, nodes: Option<String>) -> PyResult<Graph> {
    let options = ReadOptions { nodes: nodes.map(Into::into), ..Default::default() };
    work::run(py, None, None, move |_| nearfar::graph::read(&source, &options)).map(Graph::of)
}

/// Makes a synthetic graph: one of the paper's, or one of another exponent.
#[pyfunction]
pub(crate) fn synth(py: Python<'_>, preset: Option<&str>, options: &str) -> PyResult<Graph> {
    let mut options = Options::parse(options)?;
    let mut config = SynthConfig::preset(Preset::Moderate);
    config.mean_degree = None;
    if let Some(name) = preset {
        let preset = serde_json::from_value(name.into())
            .map_err(|error| PyValueError::new_err(format!("preset: {error}")))?;
        config = SynthConfig::preset(preset);
    }
    let config = options.put(config)?;
    options.end()?;
    work::run(py, None, None, move |_| nearfar::graph::synth(&config)).map(Graph::of)
}
