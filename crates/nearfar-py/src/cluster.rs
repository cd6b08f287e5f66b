//! The work of a run on a cluster: tasks that any process does, and what the driver decides.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use nearfar::Budget;
use nearfar::train::stream::cluster::{self, AllRows};
use nearfar::train::{Checkpoints, Recorder, RunLog, TrainPlan, l2};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::embedding::{Embedding, record_text_ids};
use crate::graph::Graph;
use crate::options::{Keep, Memory, Options, Threads, check};
use crate::work;

/// The tasks of a run: pure functions of their arguments.
#[pyclass(frozen, module = "nearfar._nearfar")]
pub(crate) struct Tasks(Arc<cluster::Tasks>);

/// The driver of a run, until it ends.
#[pyclass(frozen, module = "nearfar._nearfar")]
pub(crate) struct Run(Mutex<Option<cluster::Run>>);

type Floats<'py> = Bound<'py, PyArray1<f32>>;

/// Plans a run. Keywords that keep files are left.
fn plan(graph: &Graph, options: &str) -> PyResult<(TrainPlan, Keep)> {
    let mut options = Options::parse(options)?;
    let settings = options.settings()?;
    let keep = options.put(Keep::default())?;
    options.put(Threads::default())?;
    let memory = options.put(Memory::default())?.bytes()?;
    options.end()?;
    let budget = Budget { memory, ..Default::default() };
    Ok((check(TrainPlan::new(&settings, &graph.shared, &budget))?, keep))
}

#[pymethods]
impl Tasks {
    /// The tasks of a graph with these keywords.
    #[new]
    fn new(py: Python<'_>, graph: &Graph, options: &str) -> PyResult<Self> {
        let (plan, _) = plan(graph, options)?;
        let graph = Arc::clone(&graph.shared);
        let tasks = work::run(py, None, None, move |_| cluster::Tasks::new(plan, &graph))?;
        Ok(Self(Arc::new(tasks)))
    }

    /// The resolved settings, as JSON: the same wherever the tasks run.
    fn settings(&self) -> String {
        serde_json::Value::Object(self.0.plan().provenance()).to_string()
    }

    /// What a run consists of, as JSON.
    fn outline(&self) -> String {
        let plan = self.0.plan();
        let parts: Vec<_> = self.0.parts().into_iter().map(|part| (part.start, part.end)).collect();
        let nodes = parts.last().map_or(0, |last| last.1);
        serde_json::json!({
            "epochs": plan.epochs,
            "passes": plan.passes,
            "order": plan.order,
            "stride": self.0.stride(),
            "kernel": plan.kernel.name(),
            "parts": parts,
            "stages": self.0.stages(),
            "step": l2::step(nodes),
            "summary": plan.summary(),
            "negatives": plan.negatives.law.name(),
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
        let tasks = Arc::clone(&self.0);
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
        let tasks = Arc::clone(&self.0);
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

/// Begins a run, or continues the one in the checkpoint.
#[pyfunction]
pub(crate) fn begin<'py>(
    py: Python<'py>,
    tasks: &Tasks,
    graph: &Graph,
    options: &str,
) -> PyResult<Begun<'py>> {
    let (_, Keep { log, checkpoint, resume, resume_anyway }) = plan(graph, options)?;
    if resume && checkpoint.is_none() {
        let message = "resume=True needs checkpoint, the folder to continue from";
        return Err(PyValueError::new_err(message));
    }
    let tasks = Arc::clone(&tasks.0);
    let (run, done, rows) = work::run(py, None, None, move |_| {
        let open = if resume { RunLog::append } else { RunLog::create };
        let log = log.as_deref().map(open).transpose()?;
        let open =
            |folder: PathBuf| Ok(Checkpoints::new(&folder, resume)?.on_any_kernel(resume_anyway));
        let checkpoints = checkpoint.map(open).transpose()?;
        cluster::Run::new(&tasks, Recorder::new(log, checkpoints))
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
