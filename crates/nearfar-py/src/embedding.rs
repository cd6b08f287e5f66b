//! Vectors.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use nearfar::embedding::{Format, Similarity};
use nearfar::graph::Node;
use nearfar::negative::{Budget, NegativeConfig, NegativePlan, NegativeSampler, Negatives};
use nearfar::train::{Event, Records, Saving, Settings, Sink, Start, State, embed_from};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::exception;
use crate::graph::{Graph, PyIds, ids, names};
use crate::options::{Keep, Memory, Options, Threads};
use crate::work::{self, Caller};

/// A vector for each node, in memory that NumPy sees too.
#[pyclass(frozen, module = "nearfar._nearfar")]
pub(crate) struct Embedding(pub(crate) Arc<nearfar::embedding::Embedding>);

/// Rows, and how near they are.
type Neighbors<'py> = (Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f32>>);

#[pymethods]
impl Embedding {
    /// Copies vectors from an array. Without ids, nodes are called 0, 1, 2, …
    #[new]
    #[pyo3(signature = (vectors, ids=None))]
    fn new(vectors: &Bound<'_, PyArray2<f32>>, ids: Option<Vec<String>>) -> PyResult<Self> {
        let (nodes, dim) = (vectors.shape()[0], vectors.shape()[1]);
        let numbers = vectors.readonly().as_array().iter().copied().collect();
        Self::made(nearfar::embedding::Embedding::new(names(nodes, ids), dim, numbers))
    }

    /// Reads a file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        work::run(py, None, None, move |_| nearfar::embedding::Embedding::load(&path)).map(Self::of)
    }

    /// Writes a file.
    #[pyo3(signature = (path, format=None))]
    fn save(&self, py: Python<'_>, path: PathBuf, format: Option<&str>) -> PyResult<()> {
        let format: Option<Format> = format.map(|name| parsed("format", name)).transpose()?;
        let own = Arc::clone(&self.0);
        work::run(py, None, None, move |_| own.save(&path, format))
    }

    /// The ids: none if they are 0, 1, 2, …
    fn ids(&self, py: Python<'_>) -> Option<PyIds> {
        ids(py, self.0.ids())
    }

    /// The rows of the k nearest of each row, and how near they are.
    fn neighbors<'py>(
        &self,
        py: Python<'py>,
        rows: Vec<Node>,
        k: usize,
        by: &str,
    ) -> PyResult<Neighbors<'py>> {
        let by: Similarity = parsed("by", by)?;
        let (own, asked) = (Arc::clone(&self.0), rows.len());
        let k = k.min(self.0.nodes() - 1);
        let near = work::run(py, None, None, move |_| {
            own.check_finite()?;
            Ok(own.neighbours_of(&rows, k, by))
        })?;
        let rows = near.iter().flatten().map(|&(row, _)| i64::from(row)).collect();
        let alike = near.iter().flatten().map(|&(_, alike)| alike).collect();
        let rows = PyArray1::from_vec(py, rows).reshape([asked, k])?;
        Ok((rows, PyArray1::from_vec(py, alike).reshape([asked, k])?))
    }

    /// Where the numbers are, in NumPy's words: `numpy.asarray` makes an array of this very memory,
    /// which holds on to this object. It is not to be written: other threads may be reading.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", (self.0.nodes(), self.0.dim()))?;
        interface.set_item("typestr", if cfg!(target_endian = "big") { ">f4" } else { "<f4" })?;
        interface.set_item("data", (self.0.vectors().as_ptr().addr(), true))?;
        Ok(interface)
    }
}

impl Embedding {
    fn of(embedding: nearfar::embedding::Embedding) -> Self {
        Self(Arc::new(embedding))
    }

    fn made(result: nearfar::Result<nearfar::embedding::Embedding>) -> PyResult<Self> {
        result.map(Self::of).map_err(|error| exception(&error))
    }
}

/// Makes a vector for every node of a graph.
#[pyfunction]
#[pyo3(signature = (graph, options, callback=None))]
pub(crate) fn embed(
    py: Python<'_>,
    graph: &Graph,
    options: &str,
    callback: Option<Py<PyAny>>,
) -> PyResult<Embedding> {
    let mut options = Options::parse(options)?;
    let settings = options.settings()?;
    let keep = options.put(Keep::default())?;
    let Threads { threads } = options.put(Threads::default())?;
    let memory = options.put(Memory::default())?.bytes()?;
    options.end()?;
    if keep.resume && keep.checkpoint.is_none() {
        return Err(PyValueError::new_err("resume takes the folder to go on from as checkpoint"));
    }
    let graph = Arc::clone(&graph.shared);
    work::run(py, threads, callback, move |caller| {
        let (mut saving, mut checkpoint) = (None, None);
        if let Some(folder) = &keep.checkpoint {
            let (state, found) = Saving::open(folder, keep.resume, &graph, &settings)?;
            (saving, checkpoint) = (Some(state), found);
        }
        let records = Records::new(keep.log.as_deref(), saving)?.with_settings(&settings);
        let sampler = sampler(&graph, &settings, memory, caller)?;
        let start = Start { checkpoint, ..Default::default() };
        let mut listener = Listener { caller, records };
        let vectors = embed_from(start, &graph, &*sampler, &settings.train, &mut listener)?;
        listener.records.finish()?;
        nearfar::embedding::Embedding::new(graph.ids().clone(), settings.train.dim, vectors)
    })
    .map(Embedding::of)
}

/// Tells the caller what is going to be done, and builds the sampler.
pub(crate) fn sampler(
    graph: &Arc<nearfar::graph::Graph>,
    settings: &Settings,
    max_memory: u64,
    caller: &mut Caller,
) -> nearfar::Result<Box<dyn NegativeSampler>> {
    /// What is going to be done.
    #[derive(serde::Serialize)]
    #[serde(tag = "event", rename = "planned")]
    struct Planned {
        negatives: &'static str,
        summary: String,
        memory: u64,
    }
    let (mut plan, memory) = settings.plan(graph, max_memory)?;
    let (negatives, summary) = (plan.negatives.name(), plan.summary());
    if caller.tell(&Planned { negatives, summary, memory }).is_break() {
        // Nothing will be drawn any more: no time is spent on distances.
        let uniform = NegativeConfig { negatives: Negatives::Uniform, ..Default::default() };
        plan = NegativePlan::new(graph, &uniform, &Budget::default())?;
    }
    plan.build(graph)
}

/// Keeps the records of a run, and passes on what it tells.
struct Listener<'a> {
    caller: &'a mut Caller,
    records: Records,
}

impl Sink for Listener<'_> {
    fn event(&mut self, event: &Event) -> nearfar::Result<ControlFlow<()>> {
        self.records.event(event)?;
        self.caller.event(event)
    }

    fn state(&mut self, state: &State<'_>) -> nearfar::Result<ControlFlow<()>> {
        let answer = self.caller.answer();
        self.records.state(state, answer.is_break())?;
        Ok(answer)
    }
}

/// A choice by its name.
fn parsed<T: serde::de::DeserializeOwned>(keyword: &str, name: &str) -> PyResult<T> {
    serde_json::from_value(name.into())
        .map_err(|error| PyValueError::new_err(format!("{keyword}: {error}")))
}
