//! The work of a run on a cluster: tasks that any process does, and what the driver decides.

#![allow(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use nearfar::Budget;
use nearfar::train::stream::cluster::{self, AllRows};
use nearfar::train::{Checkpoints, Recorder, RunLog, Settings, Sink, TrainPlan, l2};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value;

use crate::embedding::{Embedding, planned, record_text_ids};
use crate::graph::Graph;
use crate::options::{DeviceMemory, Keep, Memory, Options, Threads, check, fields};
use crate::work;

/// The tasks of a run: pure functions of their arguments.
#[pyclass(frozen, module = "nearfar._nearfar")]
pub(crate) struct Tasks {
    tasks: Arc<cluster::Tasks>,
    /// The keywords by which other processes plan the same run: none of files that only the driver has.
    keywords: Value,
}

/// The driver of a run, until it ends.
#[pyclass(frozen, module = "nearfar._nearfar")]
pub(crate) struct Run(Mutex<Option<cluster::Run>>);

type Floats<'py> = Bound<'py, PyArray1<f32>>;

/// Plans a run. Returns the files that record it, and the keywords by which other processes plan it.
fn plan(graph: &Graph, options: &str) -> PyResult<(TrainPlan, Keep, Value)> {
    let mut options = Options::parse(options)?;
    let settings = options.settings()?;
    let keep = options.put(Keep::default())?;
    // Tasks take one core each, and no GPU.
    options.put(Threads::default())?;
    options.put(DeviceMemory::default())?;
    let memory = options.put(Memory::default())?.bytes()?;
    options.end()?;
    let budget = Budget { memory, ..Default::default() };
    let plan = check(TrainPlan::new(&settings, &graph.shared, &budget))?;
    let Settings { train, negatives } = settings;
    // Vectors depend on the instruction set: all processors take that of the driver.
    let own = [("max-memory", memory.into()), ("kernel", plan.kernel.name().into())];
    let own = own.map(|(name, value): (_, Value)| (name.to_owned(), value));
    let keywords = fields(&train).into_iter().chain(fields(&negatives)).chain(own);
    let keywords = keywords.map(|(name, value)| (name.replace('-', "_"), value)).collect();
    Ok((plan, keep, keywords))
}

#[pymethods]
impl Tasks {
    /// The tasks of a graph with these keywords.
    #[new]
    fn new(py: Python<'_>, graph: &Graph, options: &str) -> PyResult<Self> {
        let (plan, _, keywords) = plan(graph, options)?;
        let graph = Arc::clone(&graph.shared);
        let tasks = work::run(py, None, None, move |_| cluster::Tasks::new(plan, &graph))?;
        Ok(Self { tasks: Arc::new(tasks), keywords })
    }

    /// The resolved settings, as JSON: the same wherever the tasks run.
    fn settings(&self) -> String {
        Value::Object(self.tasks.plan().provenance()).to_string()
    }

    /// What a run consists of, as JSON.
    fn outline(&self) -> String {
        let plan = self.tasks.plan();
        let parts: Vec<_> =
            self.tasks.parts().into_iter().map(|part| (part.start, part.end)).collect();
        let nodes = parts.last().map_or(0, |last| last.1);
        serde_json::json!({
            "epochs": plan.epochs,
            "passes": plan.passes,
            "order": plan.order,
            "stride": self.tasks.stride(),
            "keywords": self.keywords,
            "parts": parts,
            "stages": self.tasks.stages(),
            "step": l2::step(nodes),
        })
        .to_string()
    }

    /// The pairs of a pass whose centres are in one part, by the part of the other node, and their number.
    fn sample<'py>(
        &self,
        py: Python<'py>,
        pass: usize,
        part: usize,
    ) -> PyResult<(Vec<Bound<'py, PyArray1<u32>>>, u64)> {
        let tasks = Arc::clone(&self.tasks);
        let (lists, count) = work::run(py, Some(1), None, move |_| tasks.sample(pass, part))?;
        Ok((lists.into_iter().map(|list| PyArray1::from_vec(py, list)).collect(), count))
    }

    /// Trains the pairs of a stage. Returns the new rows, part by part and table by table, and the sum of
    /// losses of each round.
    #[expect(clippy::too_many_arguments, reason = "what the result depends on")]
    fn train<'py>(
        &self,
        py: Python<'py>,
        pass: usize,
        l2: f64,
        stage: (usize, usize),
        rows: Vec<PyReadonlyArray1<'_, f32>>,
        there: PyReadonlyArray1<'_, u32>,
        back: PyReadonlyArray1<'_, u32>,
    ) -> PyResult<(Vec<Floats<'py>>, Vec<f64>)> {
        let tasks = Arc::clone(&self.tasks);
        let mut rows: Vec<Vec<f32>> = rows.iter().map(|rows| rows.as_array().to_vec()).collect();
        let (there, back) = (there.as_array().to_vec(), back.as_array().to_vec());
        let (rows, losses) = work::run(py, Some(1), None, move |_| {
            let order = tasks.plan().order;
            let mut parts: Vec<Vec<&mut [f32]>> = rows
                .chunks_mut(order)
                .map(|tables| tables.iter_mut().map(Vec::as_mut_slice).collect())
                .collect();
            let losses = tasks.train((pass, l2), stage, &mut parts, (&there, &back))?;
            Ok((rows, losses))
        })?;
        Ok((rows.into_iter().map(|rows| PyArray1::from_vec(py, rows)).collect(), losses))
    }
}

/// The driver of a run, the epochs that are complete, and the rows after them.
type Begun<'py> = (Run, usize, Vec<Floats<'py>>);

/// Begins a run, or continues the one in the checkpoint. `callback` receives the first events.
#[pyfunction]
pub(crate) fn begin<'py>(
    py: Python<'py>,
    tasks: &Tasks,
    graph: &Graph,
    options: &str,
    callback: Py<PyAny>,
) -> PyResult<Begun<'py>> {
    let (_, Keep { log, checkpoint, resume, resume_anyway }, _) = plan(graph, options)?;
    if resume && checkpoint.is_none() {
        let message = "resume=True needs checkpoint, the folder to continue from";
        return Err(PyValueError::new_err(message));
    }
    let tasks = Arc::clone(&tasks.tasks);
    let (run, done, rows) = work::run(py, None, Some(callback), move |caller| {
        // The driver asks the callback's owner whether it stops the run.
        let _ = planned(tasks.plan(), caller);
        let open = if resume { RunLog::append } else { RunLog::create };
        let log = log.as_deref().map(open).transpose()?;
        let open =
            |folder: PathBuf| Ok(Checkpoints::new(&folder, resume)?.on_any_kernel(resume_anyway));
        let checkpoints = checkpoint.map(open).transpose()?;
        let recorder = Recorder::new(log, checkpoints);
        cluster::Run::new(&tasks, recorder, |event| caller.event(event).map(|_| ()))
    })?;
    let AllRows { centres, contexts } = rows;
    let rows = [centres, contexts].into_iter().filter(|rows| !rows.is_empty());
    let rows = rows.map(|rows| PyArray1::from_vec(py, rows)).collect();
    Ok((Run(Mutex::new(Some(run))), done, rows))
}

#[pymethods]
impl Run {
    /// λ of the next epoch.
    #[getter]
    fn l2(&self) -> PyResult<f64> {
        self.with(|run| Ok(run.lambda()))
    }

    /// Adjusts λ after an epoch by some rows, and records it. Returns the event as JSON.
    fn after(
        &self,
        epoch: usize,
        pairs: u64,
        loss: f64,
        rows: PyReadonlyArray1<'_, f32>,
    ) -> PyResult<String> {
        let event = self.with(|run| run.after(epoch, (pairs, loss), &rows.as_array().to_vec()))?;
        Ok(serde_json::to_string(&event).unwrap_or_default())
    }

    /// Saves a checkpoint after so many epochs.
    fn save(&self, epoch: usize, rows: Vec<PyReadonlyArray1<'_, f32>>) -> PyResult<()> {
        self.with(|run| run.save(epoch, all(&rows)))
    }

    /// Smooths the vectors and ends the run.
    fn finish(
        &self,
        py: Python<'_>,
        rows: Vec<PyReadonlyArray1<'_, f32>>,
        text_ids: bool,
    ) -> PyResult<Embedding> {
        let run = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let run = run.ok_or_else(ended)?;
        let rows = all(&rows);
        let embedding = work::run(py, None, None, move |_| {
            let embedding = run.finish(rows)?;
            Ok(if text_ids { record_text_ids(embedding) } else { embedding })
        })?;
        Ok(Embedding::of(embedding))
    }
}

impl Run {
    fn with<T>(&self, f: impl FnOnce(&mut cluster::Run) -> nearfar::Result<T>) -> PyResult<T> {
        let mut run = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        check(f(run.as_mut().ok_or_else(ended)?))
    }
}

fn ended() -> PyErr {
    PyValueError::new_err("the run has ended")
}

fn all(rows: &[PyReadonlyArray1<'_, f32>]) -> AllRows {
    let table = |at: usize| rows.get(at).map_or(vec![], |rows| rows.as_array().to_vec());
    AllRows { centres: table(0), contexts: table(1) }
}
