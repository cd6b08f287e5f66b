//! The command `nearfar` that the Python package installs.

use std::ffi::OsString;
use std::panic::resume_unwind;

use nearfar::embedding::Embedding;
use nearfar_cli::ClusterRun;
use pyo3::prelude::*;

use crate::cluster::{Run, Tasks, arrays};

/// Runs a command line, whose first argument is the name of the program; returns the exit code.
///
/// From here on signals are the command line's: Ctrl-C ends the process, without an exception.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| nearfar_cli::run(arguments, Some(&on_cluster)))
}

/// `nearfar embed --cluster`: what `nearfar.ray.embed` does. Not on the main thread, where Ray would take
/// over a signal that is the command line's.
fn on_cluster(run: ClusterRun) -> anyhow::Result<Embedding> {
    let trained = std::thread::scope(|scope| scope.spawn(|| train(run)).join());
    trained.unwrap_or_else(|panic| resume_unwind(panic))
}

fn train(run: ClusterRun) -> anyhow::Result<Embedding> {
    let module = python(|py| Ok(py.import("nearfar.ray")?.unbind()))?;
    python(|py| module.call_method0(py, "_imported"))?;
    let tasks = Tasks::of(&run.graph, &run.settings, run.max_memory, run.threads)?;
    let ClusterRun { address, file, sink, keeps_checkpoints, .. } = run;
    let (run, done, rows) = Run::of_command(&tasks, sink, keeps_checkpoints)?;
    let trained = python(|py| {
        let run = Py::new(py, run)?;
        let begun = (run.clone_ref(py), done, arrays(py, rows));
        let rows = module.call_method1(py, "_train", (tasks, file, address, begun))?;
        run.get().finish(py, rows.extract(py)?, false)
    })?;
    Ok(Embedding::clone(&trained.0))
}

/// Runs Python; an exception is its message.
fn python<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> anyhow::Result<T> {
    Python::attach(|py| work(py).map_err(|error| anyhow::Error::msg(error.value(py).to_string())))
}
