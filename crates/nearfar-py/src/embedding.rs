//! Vectors.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use nearfar::embedding::{Format, Similarity};
use nearfar::graph::Node;
use nearfar::project::{ProjectConfig, project};
use nearfar::train::{Checkpoint, Checkpoints, Event, Recorder, RunLog, Sink, State, TrainPlan};
use nearfar::{Budget, Parts};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::exception;
use crate::features::Features;
use crate::graph::{Graph, PyIds, Rows, ids, integers, names, strings};
use crate::options::{DeviceMemory, Keep, Memory, Options, Threads, check, parsed};
use crate::work::{self, Caller};

/// The entry of the record of an embedding that says what type the ids have, where their text does
/// not: `TEXT` for strings such as "7". Files hold ids as text.
const ID_TYPE: &str = "id_type";
const TEXT: &str = "text";

/// A vector for each node, in memory that NumPy can view.
#[pyclass(frozen, module = "nearfar._nearfar")]
pub(crate) struct Embedding(pub(crate) Arc<nearfar::embedding::Embedding>);

/// Rows, and their similarities.
type Neighbors<'py> = (Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f32>>);

#[pymethods]
impl Embedding {
    /// Copies vectors from an array. By default the ids are 0, 1, 2, … `info` is how the vectors were
    /// made, as a JSON object.
    #[new]
    #[pyo3(signature = (vectors, ids=None, text_ids=false, info="{}"))]
    fn new(
        vectors: &Bound<'_, PyArray2<f32>>,
        ids: Option<Vec<String>>,
        text_ids: bool,
        info: &str,
    ) -> PyResult<Self> {
        let (nodes, dim) = (vectors.shape()[0], vectors.shape()[1]);
        let numbers = vectors.readonly().as_array().iter().copied().collect();
        let embedding = nearfar::embedding::Embedding::new(names(nodes, ids), dim, numbers);
        let info = serde_json::from_str(info).unwrap_or_default();
        let embedding = embedding.map_err(|error| exception(&error))?.with_provenance(info);
        Ok(Self::of(if text_ids { record_text_ids(embedding) } else { embedding }))
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

    /// The ids; `None` if they are 0, 1, 2, …
    fn ids(&self, py: Python<'_>) -> Option<PyIds> {
        if self.0.provenance().get(ID_TYPE).is_some_and(|it| it == TEXT) {
            return Some(PyIds::Strings(strings(self.0.ids())));
        }
        ids(py, self.0.ids())
    }

    /// The context vectors of a model of order 2 that has just been trained.
    fn contexts(&self) -> Option<Self> {
        self.0.contexts().map(Self::of)
    }

    /// How the vectors were made, as a JSON object; empty if that is not known.
    fn info(&self) -> String {
        let mut record = self.0.provenance().clone();
        record.shift_remove(ID_TYPE);
        serde_json::Value::Object(record).to_string()
    }

    /// The rows of the k most similar vectors of each row, without the row itself, and their
    /// similarities.
    fn neighbors<'py>(
        &self,
        py: Python<'py>,
        rows: Rows<'_>,
        k: usize,
        by: &str,
    ) -> PyResult<Neighbors<'py>> {
        let (by, rows): (Similarity, _) = (parsed("by", by)?, rows.read(Some(self.0.nodes()))?);
        let (own, asked) = (Arc::clone(&self.0), rows.len());
        let k = k.min(self.0.nodes() - 1);
        let near = work::run(py, None, None, move |_| {
            own.check_finite()?;
            Ok(own.neighbours_of(&rows, k, by))
        })?;
        arrays(py, &near, [asked, k])
    }

    /// The rows of the k vectors most similar to each of some vectors, and their similarities.
    fn neighbors_of_vectors<'py>(
        &self,
        py: Python<'py>,
        vectors: &Bound<'_, PyArray2<f32>>,
        k: usize,
        by: &str,
    ) -> PyResult<Neighbors<'py>> {
        let by: Similarity = parsed("by", by)?;
        let values: Vec<f32> = vectors.readonly().as_array().iter().copied().collect();
        let (own, asked) = (Arc::clone(&self.0), vectors.shape()[0]);
        let k = k.min(self.0.nodes());
        let near = work::run(py, None, None, move |_| {
            own.check_finite()?;
            Ok(own.neighbours_of_vectors(&values, k, by))
        })?;
        arrays(py, &near, [asked, k])
    }

    /// The position of each row in the plane.
    fn map<'py>(&self, py: Python<'py>, options: &str) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let mut options = Options::parse(options)?;
        let config = options.put(ProjectConfig::default())?;
        let Threads { threads } = options.put(Threads::default())?;
        options.end()?;
        let own = Arc::clone(&self.0);
        let placed = work::run(py, threads, None, move |_| project(&own, &config))?;
        let positions = placed.positions.into_flattened();
        PyArray1::from_vec(py, positions).reshape([self.0.nodes(), 2])
    }

    /// NumPy's array interface: `numpy.asarray` makes a view of this memory, which keeps this object
    /// alive. It is read-only, as other threads may read it.
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

/// Rows and similarities as arrays of a shape.
fn arrays<'py>(
    py: Python<'py>,
    near: &[Vec<(Node, f32)>],
    shape: [usize; 2],
) -> PyResult<Neighbors<'py>> {
    let rows = near.iter().flatten().map(|&(row, _)| i64::from(row)).collect();
    let similarities = near.iter().flatten().map(|&(_, similarity)| similarity).collect();
    let similarities = PyArray1::from_vec(py, similarities).reshape(shape)?;
    Ok((PyArray1::from_vec(py, rows).reshape(shape)?, similarities))
}

impl Embedding {
    pub(crate) fn of(embedding: nearfar::embedding::Embedding) -> Self {
        Self(Arc::new(embedding))
    }
}

/// Trains a vector for every node of a graph.
#[pyfunction]
#[pyo3(signature = (
    graph, options, callback=None, text_ids=false, init=None, features=None, save_model=None
))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn embed(
    py: Python<'_>,
    graph: &Graph,
    options: &str,
    callback: Option<Py<PyAny>>,
    text_ids: bool,
    init: Option<&Embedding>,
    features: Option<&Features>,
    save_model: Option<PathBuf>,
) -> PyResult<Embedding> {
    let features = features.map(|features| Arc::clone(&features.0));
    let init = init.map(|init| Arc::clone(&init.0));
    let mut options = Options::parse(options)?;
    let settings = options.settings()?;
    let keep = options.put(Keep::default())?;
    let Threads { threads } = options.put(Threads::default())?;
    let memory = options.put(Memory::default())?.bytes()?;
    let device_memory = options.put(DeviceMemory::default())?.bytes(settings.train.device)?;
    options.end()?;
    if keep.resume && keep.checkpoint.is_none() {
        return Err(PyValueError::new_err(
            "resume=True needs checkpoint, the folder to continue from",
        ));
    }
    if let Some(file) = &save_model {
        check(nearfar::file::check_writable(file))?;
    }
    let graph = Arc::clone(&graph.shared);
    work::run(py, threads, callback, move |caller| {
        let open = if keep.resume { RunLog::append } else { RunLog::create };
        let log = keep.log.as_deref().map(open).transpose()?;
        let checkpoints = keep.checkpoint.as_deref();
        let checkpoints = checkpoints.map(|it| Checkpoints::new(it, keep.resume)).transpose()?;
        let checkpoints = checkpoints.map(|it| it.on_any_kernel(keep.resume_anyway));
        let mut observer = Observer { caller, recorder: Recorder::new(log, checkpoints) };
        let budget = Budget { memory, ..Default::default() };
        let backend = nearfar_cuda::backend(settings.train.device, device_memory);
        let mut model = None;
        let wanted = save_model.as_ref().map(|_| &mut model);
        let init = init.as_deref();
        let parts = Parts { init, backend, features, model: wanted, ..Default::default() };
        let embedding = nearfar::embed_with(&graph, &settings, &budget, parts, &mut observer)?;
        if let (Some(file), Some(model)) = (&save_model, &model) {
            model.save(file)?;
        }
        observer.recorder.finish()?;
        Ok(if text_ids { record_text_ids(embedding) } else { embedding })
    })
    .map(Embedding::of)
}

/// Records that the ids are strings, unless their text says so.
pub(crate) fn record_text_ids(
    embedding: nearfar::embedding::Embedding,
) -> nearfar::embedding::Embedding {
    if integers(embedding.ids()).is_none() {
        return embedding;
    }
    let mut record = embedding.provenance().clone();
    record.insert(ID_TYPE.to_owned(), TEXT.into());
    embedding.with_provenance(record)
}

/// Reports the plan to the caller.
pub(crate) fn planned(plan: &TrainPlan, caller: &mut Caller) -> ControlFlow<()> {
    #[derive(serde::Serialize)]
    #[serde(tag = "event", rename = "planned")]
    struct Planned {
        negatives: &'static str,
        summary: String,
        memory: u64,
    }
    let (negatives, summary) = (plan.negatives.law.name(), plan.summary());
    caller.report(&Planned { negatives, summary, memory: plan.memory })
}

/// Records a run, and forwards its events to the caller.
pub(crate) struct Observer<'a> {
    pub(crate) caller: &'a mut Caller,
    pub(crate) recorder: Recorder,
}

impl Sink for Observer<'_> {
    fn plan(&mut self, plan: &TrainPlan) -> nearfar::Result<ControlFlow<(), Option<Checkpoint>>> {
        let checkpoint = self.recorder.plan(plan)?;
        Ok(match planned(plan, self.caller) {
            ControlFlow::Break(()) => ControlFlow::Break(()),
            ControlFlow::Continue(()) => ControlFlow::Continue(checkpoint),
        })
    }

    fn event(&mut self, event: &Event) -> nearfar::Result<ControlFlow<()>> {
        self.recorder.event(event)?;
        self.caller.event(event)
    }

    fn state(&mut self, state: &State<'_>) -> nearfar::Result<ControlFlow<()>> {
        let reply = self.caller.last_reply();
        self.recorder.state(state, reply)?;
        Ok(reply)
    }
}
