//! Graphs: from arrays, files and generators; distances and statistics.

use std::sync::Arc;

use nearfar::distance::{DistanceSummary, hops, lengths};
use nearfar::error::Problem;
use nearfar::graph::{
    Components, Dataset, Direction, Distance, Dropped, EdgeList, Labels, Node, NodeIds, Origin,
    Preset, ReadOptions, ReadSummary, Repeats, Splits, SynthConfig, UsedColumns,
};
use numpy::ndarray::ArrayView1;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;

use crate::error::keyword;
use crate::options::{Options, check, parsed};
use crate::work;

/// A graph with the labels and splits of its nodes.
#[pyclass(frozen, module = "nearfar._nearfar")]
pub(crate) struct Graph {
    pub(crate) shared: Arc<nearfar::graph::Graph>,
    labels: Option<Labels>,
    splits: Option<Splits>,
    dropped: Dropped,
    origin: Origin,
    notes: Vec<Problem>,
}

/// An array of rows, in either of the integer types that NumPy and SciPy use for indices.
#[derive(FromPyObject)]
pub(crate) enum Rows<'py> {
    Int64(PyReadonlyArray1<'py, i64>),
    Int32(PyReadonlyArray1<'py, i32>),
}

/// Node ids as Python objects.
#[derive(IntoPyObject)]
pub(crate) enum PyIds {
    Integers(Py<PyArray1<i64>>),
    Strings(Vec<String>),
}

/// How the caller stated the edges.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Stated {
    /// Whether edges have a direction, where that is known.
    directed: Option<bool>,
    /// Whether the graph is to be directed.
    as_directed: bool,
    /// Whether the edges are the entries of a matrix.
    matrix: bool,
    /// The names of the columns of a frame: source, target, weight.
    columns: Option<(String, String, Option<String>)>,
    repeats: Repeats,
}

/// Sources, targets, and weights if the graph has them.
type Edges<'py> =
    (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>, Option<Bound<'py, PyArray1<f32>>>);

#[pymethods]
impl Graph {
    /// Builds a graph from its edges. The default number of nodes is the largest row plus 1; the
    /// default ids are 0, 1, 2, …
    #[new]
    #[pyo3(signature = (sources, targets, weights=None, nodes=None, ids=None, stated="{}"))]
    fn new(
        py: Python<'_>,
        sources: Rows<'_>,
        targets: Rows<'_>,
        weights: Option<PyReadonlyArray1<'_, f32>>,
        nodes: Option<usize>,
        ids: Option<Vec<String>>,
        stated: &str,
    ) -> PyResult<Self> {
        let origin = Stated::parse(stated)?.origin();
        let (sources, targets) = (sources.read(nodes)?, targets.read(nodes)?);
        let weights = weights.map(|weights| weights.as_array().to_vec());
        let graph = work::run(py, None, None, move |_| {
            let pairs: Vec<(Node, Node)> = sources.into_iter().zip(targets).collect();
            let largest = pairs.iter().map(|(a, b)| a.max(b)).max();
            let nodes = nodes.unwrap_or(largest.map_or(0, |&row| row as usize + 1));
            EdgeList { pairs, weights, ids: names(nodes, ids) }.dataset(origin)
        })?;
        Ok(Self::from_dataset(graph))
    }

    /// Builds a graph with ids 0, 1, 2, … from a CSR matrix.
    #[staticmethod]
    #[pyo3(signature = (offsets, targets, weights=None, repeats="sum", directed=false))]
    fn from_rows(
        py: Python<'_>,
        offsets: Rows<'_>,
        targets: Rows<'_>,
        weights: Option<PyReadonlyArray1<'_, f32>>,
        repeats: &str,
        directed: bool,
    ) -> PyResult<Self> {
        let repeats = parsed("repeats", repeats)?;
        let (offsets, targets) = (offsets.read(None)?, targets.read(None)?);
        let weights = weights.map(|weights| weights.as_array().to_vec());
        let graph = work::run(py, None, None, move |_| {
            let offsets: Vec<usize> = offsets.into_iter().map(|offset| offset as usize).collect();
            let ids = names(offsets.len().saturating_sub(1), None);
            let rows = nearfar::graph::CsrRows { offsets, targets, weights, ids };
            if directed { rows.directed(repeats) } else { rows.dataset(repeats) }
        })?;
        Ok(Self::from_dataset(graph))
    }

    /// Opens a packed file without reading it.
    #[staticmethod]
    fn open(py: Python<'_>, path: std::path::PathBuf) -> PyResult<Self> {
        let graph = work::run(py, None, None, move |_| nearfar::graph::open_packed(&path))?;
        Ok(Self::from_dataset(Dataset::of(graph)))
    }

    /// Writes a packed file, which `read` reads.
    fn pack(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
        let graph = Arc::clone(&self.shared);
        work::run(py, None, None, move |_| graph.write_packed(&path))
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

    /// Whether edges have a direction.
    #[getter]
    fn directed(&self) -> bool {
        self.shared.is_directed()
    }

    /// Whether edges have weights.
    #[getter]
    fn weighted(&self) -> bool {
        self.shared.is_weighted()
    }

    /// What distances are.
    #[getter]
    fn distance(&self) -> &'static str {
        self.origin.distance.name()
    }

    /// This graph with its weights as lengths, and the weights of another with the same edges.
    #[pyo3(signature = (weights=None))]
    fn by_length(&self, weights: Option<&Self>) -> PyResult<Self> {
        let by_length = (*self.shared).clone().with_weights_as_lengths();
        let of = weights.unwrap_or(self);
        let graph = match weights {
            None => by_length,
            Some(weights) => check((*weights.shared).clone().with_lengths_of(&by_length))?,
        };
        let of_weights = weights.map(|weights| weights.origin.clone());
        let origin = Origin::with_lengths(self.origin.clone(), of_weights);
        Ok(Self { dropped: of.dropped, origin, ..Self::from_dataset(Dataset::of(graph)) })
    }

    /// This graph with lengths of 1/weight.
    fn by_inverse_weight(&self) -> PyResult<Self> {
        let graph = check((*self.shared).clone().with_inverse_weights_as_lengths())?;
        let origin = Origin { distance: Distance::InverseWeight, ..self.origin.clone() };
        Ok(Self { dropped: self.dropped, origin, ..Self::from_dataset(Dataset::of(graph)) })
    }

    /// This graph without its weights; lengths stay.
    fn without_weights(&self) -> Self {
        let graph = (*self.shared).clone().without_weights();
        let (dropped, origin) = (self.dropped, self.origin.clone());
        Self { dropped, origin, ..Self::from_dataset(Dataset::of(graph)) }
    }

    /// The lengths of the edges in the order of `edge_arrays`, if edges have lengths.
    fn edge_lengths<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f32>>> {
        let graph = &self.shared;
        let edges = graph.edges_once().map(|(a, b, _)| graph.edge_length(a, b));
        graph.has_lengths().then(|| PyArray1::from_vec(py, edges.collect()))
    }

    /// Distances from each source to all nodes, by length; infinite where there is no path.
    fn lengths<'py>(
        &self,
        py: Python<'py>,
        sources: Rows<'_>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let sources = sources.read(Some(self.shared.nodes()))?;
        let (graph, count) = (Arc::clone(&self.shared), sources.len());
        let found = work::run(py, None, None, move |_| Ok(lengths(&graph, &sources)))?;
        PyArray1::from_vec(py, found).reshape([count, self.shared.nodes()])
    }

    /// Numbers of dropped edges, by reason.
    #[getter]
    fn dropped<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dropped = PyDict::new(py);
        dropped.set_item("self_loops", self.dropped.self_loops)?;
        dropped.set_item("repeats", self.dropped.repeats)?;
        dropped.set_item("zero_weights", self.dropped.zero_weights)?;
        Ok(dropped)
    }

    /// What was read, in one line, without the time that it took.
    fn summary(&self, source: String) -> String {
        let graph = &self.shared;
        let summary = ReadSummary {
            source,
            nodes: graph.nodes(),
            edges: graph.edges(),
            weighted: graph.is_weighted(),
            components: Components::new(graph).len(),
            origin: self.origin.clone(),
            dropped: self.dropped,
            notes: Vec::new(),
            seconds: 0.0,
        };
        summary.text()
    }

    /// Warnings about how the file was read.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.iter().map(|note| note.describe(&keyword)).collect()
    }

    /// The label names, and for each row the indices of its labels among them.
    #[getter]
    fn labels(&self) -> Option<(Vec<String>, Vec<Vec<u32>>)> {
        self.labels.as_ref().map(|labels| (labels.names.clone(), labels.of.clone()))
    }

    /// The split of each row: train, val, test or none.
    #[getter]
    fn splits(&self) -> Option<Vec<Option<&'static str>>> {
        let splits = self.splits.as_ref()?;
        Some(splits.iter().map(|split| split.map(nearfar::graph::Split::name)).collect())
    }

    /// The ids; `None` for 0, 1, 2, …
    fn ids(&self, py: Python<'_>) -> Option<PyIds> {
        ids(py, self.shared.ids())
    }

    /// Each edge once, each arc of a directed graph: sources, targets, and weights if it has them.
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

    /// The rows of the largest component, in increasing order, and the induced subgraph.
    fn largest_component<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyArray1<u32>>, Self)> {
        let graph = Arc::clone(&self.shared);
        let (rows, largest) = work::run(py, None, None, move |_| {
            let components = nearfar::graph::Components::new(&graph);
            let rows = components.members(components.largest());
            let largest = graph.induced(&rows);
            Ok((rows, largest))
        })?;
        let (dropped, origin) = (self.dropped, self.origin.clone());
        let graph = Self { dropped, origin, ..Self::from_dataset(Dataset::of(largest)) };
        Ok((PyArray1::from_vec(py, rows), graph))
    }

    /// Sizes, components and the distribution of distances, as JSON.
    #[pyo3(signature = (sources=None, seed=0))]
    fn stats(&self, py: Python<'_>, sources: Option<usize>, seed: u64) -> PyResult<String> {
        let classes = self.labels.as_ref().map(Labels::classes);
        let graph = Arc::clone(&self.shared);
        work::run(py, None, None, move |_| {
            let summary =
                DistanceSummary { classes, ..DistanceSummary::new(&graph, sources, seed) };
            Ok(serde_json::to_string(&summary).unwrap_or_default())
        })
    }

    /// Distances from each source to all nodes, in hops; −1 where there is no path.
    fn distances<'py>(
        &self,
        py: Python<'py>,
        sources: Rows<'_>,
    ) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let sources = sources.read(Some(self.shared.nodes()))?;
        let (graph, count) = (Arc::clone(&self.shared), sources.len());
        let hops = work::run(py, None, None, move |_| Ok(hops(&graph, &sources)))?;
        PyArray1::from_vec(py, hops).reshape([count, self.shared.nodes()])
    }
}

impl Graph {
    fn from_dataset(dataset: Dataset) -> Self {
        let Dataset { graph, labels, splits, dropped, origin, notes, .. } = dataset;
        Self { shared: Arc::new(graph), labels, splits, dropped, origin, notes }
    }
}

impl Stated {
    fn parse(json: &str) -> PyResult<Self> {
        serde_json::from_str(json).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn origin(self) -> Origin {
        let direction = match self.directed {
            _ if self.matrix => Direction::Entries,
            Some(true) => Direction::Directed,
            Some(false) => Direction::Undirected,
            None => Direction::Unstated,
        };
        let columns = self.columns.map(|(source, target, weight)| UsedColumns {
            source,
            target,
            weight,
            length: None,
        });
        let (directed, repeats) = (self.as_directed, self.repeats);
        Origin { direction, directed, columns, repeats, ..Origin::default() }
    }
}

impl Rows<'_> {
    /// Copies the rows; an error if one is not in 0 to `nodes` − 1.
    pub(crate) fn read(self, nodes: Option<usize>) -> PyResult<Vec<Node>> {
        let nodes = nodes.unwrap_or(Node::MAX as usize).min(Node::MAX as usize);
        match self {
            Self::Int64(rows) => read_rows(&rows.as_array(), nodes),
            Self::Int32(rows) => read_rows(&rows.as_array(), nodes),
        }
    }
}

fn read_rows<T: Copy + Into<i64>>(rows: &ArrayView1<'_, T>, nodes: usize) -> PyResult<Vec<Node>> {
    let fits = |row: i64| usize::try_from(row).is_ok_and(|row| row < nodes);
    match rows.iter().position(|&row| !fits(row.into())) {
        None => Ok(rows.iter().map(|&row| row.into() as Node).collect()),
        Some(index) => {
            let row = rows[index].into();
            let message = format!("node {row} at index {index}; expected 0 ≤ node < {nodes}");
            Err(PyValueError::new_err(message))
        }
    }
}

/// The ids of a graph or embedding with this number of nodes; 0, 1, 2, … if none are given.
pub(crate) fn names(nodes: usize, ids: Option<Vec<String>>) -> NodeIds {
    match ids {
        None => NodeIds::Range { start: 0, len: nodes },
        Some(ids) => NodeIds::StringIds(ids.into_iter().collect()),
    }
}

/// The ids as integers if all of them are, else as strings; `None` for 0, 1, 2, …
pub(crate) fn ids(py: Python<'_>, ids: &NodeIds) -> Option<PyIds> {
    if let NodeIds::Range { start: 0, .. } = ids {
        return None;
    }
    Some(match integers(ids) {
        Some(integers) => PyIds::Integers(PyArray1::from_vec(py, integers).unbind()),
        None => PyIds::Strings(strings(ids)),
    })
}

/// The ids as integers if all of them are. Only canonical ones: 07 and 7 are different nodes.
pub(crate) fn integers(ids: &NodeIds) -> Option<Vec<i64>> {
    let rows = 0..ids.len() as Node;
    let integer = |row| {
        let id = ids.get(row);
        id.parse().ok().filter(|integer: &i64| integer.to_string() == *id)
    };
    rows.map(integer).collect()
}

/// The ids as strings.
pub(crate) fn strings(ids: &NodeIds) -> Vec<String> {
    (0..ids.len() as Node).map(|row| ids.get(row).into()).collect()
}

/// The positions of the columns of sources and targets, and of that of weights, by their names.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "Python lists become vectors")]
pub(crate) fn known_columns(names: Vec<String>) -> (Option<(usize, usize)>, Option<usize>) {
    (nearfar::graph::known_ends(&names), nearfar::graph::known_weight(&names))
}

/// Reads a graph from a path, with the keywords of `ReadOptions`, or generates a built-in one.
#[pyfunction]
pub(crate) fn read(py: Python<'_>, source: String, options: &str) -> PyResult<Graph> {
    let mut given = Options::parse(options)?;
    let options = given.put(ReadOptions::default())?;
    given.end()?;
    work::run(py, None, None, move |_| nearfar::graph::read(&source, &options))
        .map(Graph::from_dataset)
}

/// Generates a synthetic graph: a preset of the paper, or a power law of another exponent.
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
    work::run(py, None, None, move |_| nearfar::graph::synth(&config)).map(Graph::from_dataset)
}
