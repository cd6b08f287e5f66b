//! The work of a run on a cluster: tasks that any process does, and what the driver decides.

#![allow(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use nearfar::Budget;
use nearfar::train::stream::cluster::{self, AllRows};
use nearfar::train::{
    Checkpoint, Checkpoints, Event, Recorder, RunLog, Settings, Sink, State, TrainPlan, l2,
};
use numpy::{PyArray1, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;
use serde_json::Value;

use crate::embedding::{Embedding, planned, record_text_ids};
use crate::graph::Graph;
use crate::options::{DeviceMemory, Keep, Memory, Options, Threads, check, fields};
use crate::work;

/// The tasks of a run: pure functions of their arguments.
#[pyclass(frozen, module = "nearfar._nearfar")]
pub(crate) struct Tasks {
    shared: Arc<cluster::Tasks>,
    /// The keywords by which other processes plan the same run: none of files that only the driver has.
    keywords: Value,
    /// Threads of a task, if that is given.
    threads: Option<usize>,
}

/// The driver of a run, until it ends.
#[pyclass(frozen, module = "nearfar._nearfar")]
pub(crate) struct Run {
    run: Mutex<Option<cluster::Run<Recorded>>>,
    keeps_checkpoints: bool,
}

/// What records a run: its files, or the command line.
pub(crate) enum Recorded {
    Files(Recorder),
    Command(Arc<Mutex<dyn Sink + Send>>),
}

type Floats<'py> = Bound<'py, PyArray1<f32>>;

/// The two ends of a stage, and the sum of losses of each of its rows of groups.
type Losses = ((usize, usize), Vec<f64>);

impl Tasks {
    /// The tasks of these settings.
    pub(crate) fn of(
        graph: &Arc<nearfar::graph::Graph>,
        settings: &Settings,
        memory: u64,
        threads: Option<usize>,
    ) -> nearfar::Result<Self> {
        let budget = Budget { memory, ..Default::default() };
        let plan = TrainPlan::new(settings, graph, &budget)?;
        let Settings { train, negatives } = settings;
        // Vectors depend on the instruction set: all processors take that of the driver.
        let own = [("max-memory", memory.into()), ("kernel", plan.kernel.name().into())];
        let own = own.map(|(name, value): (_, Value)| (name.to_owned(), value));
        let keywords = fields(train).into_iter().chain(fields(negatives)).chain(own);
        let keywords = keywords.map(|(name, value)| (name.replace('-', "_"), value)).collect();
        let shared = Arc::new(cluster::Tasks::new(plan, graph)?);
        Ok(Self { shared, keywords, threads })
    }
}

#[pymethods]
impl Tasks {
    /// The tasks of a graph with these keywords.
    #[new]
    fn new(py: Python<'_>, graph: &Graph, options: &str) -> PyResult<Self> {
        let mut options = Options::parse(options)?;
        let settings = options.settings()?;
        options.put(Keep::default())?;
        let Threads { threads } = options.put(Threads::default())?;
        options.put(DeviceMemory::default())?;
        let memory = options.put(Memory::default())?.bytes()?;
        options.end()?;
        if threads == Some(0) {
            return Err(PyValueError::new_err("threads=0: expected at least 1"));
        }
        let graph = Arc::clone(&graph.shared);
        work::run(py, None, None, move |_| Self::of(&graph, &settings, memory, threads))
    }

    /// Writes the graph, packed, to a file.
    fn pack(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let tasks = Arc::clone(&self.shared);
        work::run(py, None, None, move |_| tasks.graph().write_packed(&path))
    }

    /// The resolved settings, as JSON: the same wherever the tasks run.
    fn settings(&self) -> String {
        Value::Object(self.shared.plan().provenance()).to_string()
    }

    /// What a run consists of, as JSON.
    fn outline(&self) -> String {
        let plan = self.shared.plan();
        serde_json::json!({
            "epochs": plan.epochs,
            "passes": plan.passes,
            "order": plan.order,
            "stride": self.shared.stride(),
            "keywords": self.keywords,
            "threads": self.threads,
            "step": l2::step(self.shared.graph().nodes()),
        })
        .to_string()
    }

    /// The nodes of each shard: of at most so many.
    fn shards(&self, count: usize) -> Vec<(usize, usize)> {
        let shards = self.shared.shards(count);
        let nodes = |shard| self.shared.nodes(shards, shard);
        (0..shards.count()).map(nodes).map(|nodes| (nodes.start, nodes.end)).collect()
    }

    /// The pairs of a pass whose centres are in one of so many shards, by the shard of the other node, and
    /// their number.
    fn sample<'py>(
        &self,
        py: Python<'py>,
        pass: usize,
        shards: usize,
        shard: usize,
        threads: usize,
    ) -> PyResult<(Vec<Bound<'py, PyArray1<u32>>>, u64)> {
        let tasks = Arc::clone(&self.shared);
        let (lists, count) = work::run(py, Some(threads), None, move |_| {
            tasks.sample(pass, tasks.shards(shards), shard)
        })?;
        Ok((lists.into_iter().map(|list| PyArray1::from_vec(py, list)).collect(), count))
    }

    /// Trains the pairs between two of so many shards: copies their rows, shard by shard and table by
    /// table, and trains the copies. Returns the losses of each stage.
    #[expect(clippy::too_many_arguments, reason = "what the result depends on, and where it goes")]
    fn train(
        &self,
        py: Python<'_>,
        pass: usize,
        l2: f64,
        shards: usize,
        pair: (usize, usize),
        threads: usize,
        rows: Vec<PyReadonlyArray1<'_, f32>>,
        mut new: Vec<PyReadwriteArray1<'_, f32>>,
        there: PyReadonlyArray1<'_, u32>,
        back: PyReadonlyArray1<'_, u32>,
    ) -> PyResult<Vec<Losses>> {
        let rows = rows.iter().map(|rows| Ok(rows.as_slice()?)).collect::<PyResult<Vec<_>>>()?;
        let new = new.iter_mut().map(|new| Ok(new.as_slice_mut()?));
        let mut new = new.collect::<PyResult<Vec<&mut [f32]>>>()?;
        let pairs = (there.as_slice()?, back.as_slice()?);
        let tasks = &*self.shared;
        work::run_borrowing(py, Some(threads), || {
            for (new, rows) in new.iter_mut().zip(rows) {
                copy(new, rows);
            }
            let tables = new.chunks_mut(tasks.plan().order);
            let mut of_shards: Vec<Vec<&mut [f32]>> = tables
                .map(|tables| tables.iter_mut().map(|table| &mut **table).collect())
                .collect();
            tasks.train((pass, l2), tasks.shards(shards), pair, &mut of_shards, pairs)
        })
    }
}

/// Copies numbers, on all threads.
fn copy(to: &mut [f32], from: &[f32]) {
    const CHUNK: usize = 1 << 18;
    to.par_chunks_mut(CHUNK).zip(from.par_chunks(CHUNK)).for_each(|(to, from)| {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    });
}

/// The driver of a run, the epochs that are complete, and the rows after them.
type Begun<'py> = (Run, usize, Vec<Floats<'py>>);

/// Begins a run that is recorded in the files of its options, or continues the one in the checkpoint.
/// `callback` receives the first events.
#[pyfunction]
pub(crate) fn begin<'py>(
    py: Python<'py>,
    tasks: &Tasks,
    options: &str,
    callback: Py<PyAny>,
) -> PyResult<Begun<'py>> {
    let mut options = Options::parse(options)?;
    let Keep { log, checkpoint, resume, resume_anyway } = options.put(Keep::default())?;
    if resume && checkpoint.is_none() {
        let message = "resume=True needs checkpoint, the folder to continue from";
        return Err(PyValueError::new_err(message));
    }
    let tasks = Arc::clone(&tasks.shared);
    let keeps_checkpoints = checkpoint.is_some();
    let (run, done, rows) = work::run(py, None, Some(callback), move |caller| {
        // The driver asks the callback's owner whether it stops the run.
        let _ = planned(tasks.plan(), caller);
        let open = if resume { RunLog::append } else { RunLog::create };
        let log = log.as_deref().map(open).transpose()?;
        let open =
            |folder: PathBuf| Ok(Checkpoints::new(&folder, resume)?.on_any_kernel(resume_anyway));
        let checkpoints = checkpoint.map(open).transpose()?;
        let recorded = Recorded::Files(Recorder::new(log, checkpoints));
        cluster::Run::new(&tasks, recorded, |event| caller.event(event).map(|_| ()))
    })?;
    Ok((Run { run: Mutex::new(Some(run)), keeps_checkpoints }, done, arrays(py, rows)))
}

/// The rows of each table.
pub(crate) fn arrays(py: Python<'_>, AllRows { centres, contexts }: AllRows) -> Vec<Floats<'_>> {
    let rows = [centres, contexts].into_iter().filter(|rows| !rows.is_empty());
    rows.map(|rows| PyArray1::from_vec(py, rows)).collect()
}

#[pymethods]
impl Run {
    /// Whether checkpoints are saved.
    #[getter]
    fn keeps_checkpoints(&self) -> bool {
        self.keeps_checkpoints
    }

    /// λ of the next epoch.
    #[getter]
    fn l2(&self) -> PyResult<f64> {
        self.with(|run| Ok(run.lambda()))
    }

    /// Whether λ is adjusted after an epoch.
    fn adjusts(&self, epoch: usize) -> PyResult<bool> {
        self.with(|run| Ok(run.adjusts(epoch)))
    }

    /// Records that so much of the run is done. Returns the event as JSON.
    fn progress(&self, done: f64) -> PyResult<String> {
        self.with(|run| run.progress(done)).map(|event| json(&event))
    }

    /// Records an epoch, and adjusts λ by some rows if it is adjusted after it. Returns the event as JSON.
    fn after(
        &self,
        epoch: usize,
        pairs: u64,
        loss: f64,
        rows: PyReadonlyArray1<'_, f32>,
    ) -> PyResult<String> {
        let rows = rows.as_slice()?;
        self.with(|run| run.after(epoch, (pairs, loss), rows)).map(|event| json(&event))
    }

    /// Saves a checkpoint after so many epochs.
    fn save(&self, epoch: usize, rows: Vec<PyReadonlyArray1<'_, f32>>) -> PyResult<()> {
        if !self.keeps_checkpoints {
            return Ok(());
        }
        self.with(|run| run.save(epoch, all(&rows)))
    }

    /// Smooths the vectors and ends the run.
    pub(crate) fn finish(
        &self,
        py: Python<'_>,
        rows: Vec<PyReadonlyArray1<'_, f32>>,
        text_ids: bool,
    ) -> PyResult<Embedding> {
        let run = self.run.lock().unwrap_or_else(PoisonError::into_inner).take();
        let run = run.ok_or_else(ended)?;
        let rows = all(&rows);
        let embedding = work::run(py, None, None, move |_| {
            let (embedding, recorded) = run.finish(rows)?;
            if let Recorded::Files(recorder) = recorded {
                recorder.finish()?;
            }
            Ok(if text_ids { record_text_ids(embedding) } else { embedding })
        })?;
        Ok(Embedding::of(embedding))
    }
}

impl Run {
    /// Begins a run that the command line records, or continues one: the run, the epochs that are complete,
    /// and the rows after them.
    pub(crate) fn of_command(
        tasks: &Tasks,
        sink: Arc<Mutex<dyn Sink + Send>>,
        keeps_checkpoints: bool,
    ) -> nearfar::Result<(Self, usize, AllRows)> {
        let recorded = Recorded::Command(sink);
        let (run, done, rows) = cluster::Run::new(&tasks.shared, recorded, |_| Ok(()))?;
        Ok((Self { run: Mutex::new(Some(run)), keeps_checkpoints }, done, rows))
    }

    fn with<T>(
        &self,
        f: impl FnOnce(&mut cluster::Run<Recorded>) -> nearfar::Result<T>,
    ) -> PyResult<T> {
        let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        check(f(run.as_mut().ok_or_else(ended)?))
    }
}

impl Recorded {
    fn with<T>(
        &mut self,
        files: impl FnOnce(&mut Recorder) -> T,
        command: impl FnOnce(&mut dyn Sink) -> T,
    ) -> T {
        match self {
            Self::Files(recorder) => files(recorder),
            Self::Command(sink) => {
                command(&mut *sink.lock().unwrap_or_else(PoisonError::into_inner))
            }
        }
    }
}

impl Sink for Recorded {
    fn plan(&mut self, plan: &TrainPlan) -> nearfar::Result<ControlFlow<(), Option<Checkpoint>>> {
        self.with(|files| files.plan(plan).map(ControlFlow::Continue), |command| command.plan(plan))
    }

    fn event(&mut self, event: &Event) -> nearfar::Result<ControlFlow<()>> {
        let files = |files: &mut Recorder| files.event(event).map(ControlFlow::Continue);
        self.with(files, |command| command.event(event))
    }

    fn state(&mut self, state: &State<'_>) -> nearfar::Result<ControlFlow<()>> {
        // Tasks are done again from the last checkpoint on: it is saved however long that takes.
        let files = |files: &mut Recorder| {
            files.state(state, ControlFlow::Break(())).map(ControlFlow::Continue)
        };
        self.with(files, |command| command.state(state))
    }
}

fn json(event: &Event) -> String {
    serde_json::to_string(event).unwrap_or_default()
}

fn ended() -> PyErr {
    PyValueError::new_err("the run has ended")
}

fn all(rows: &[PyReadonlyArray1<'_, f32>]) -> AllRows {
    let table = |at: usize| rows.get(at).map_or(vec![], |rows| rows.as_array().to_vec());
    AllRows { centres: table(0), contexts: table(1) }
}
