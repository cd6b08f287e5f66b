//! The command `nearfar` that the Python package installs.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs a command line, whose first argument is the name of the program; returns the exit code.
///
/// From here on signals are the command line's: Ctrl-C ends the process, without an exception.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| nearfar_cli::run(arguments))
}
