//! The extension module of the Python package `nearfar`: arrays and options in, arrays out.
//!
//! The public interface, from the conversion of NetworkX graphs to the scikit-learn estimator, is
//! Python code in `python/nearfar`. This module only translates between Python and the library, so
//! the same options give the same bytes as on the command line.

mod cluster;
mod command;
mod embedding;
mod error;
mod evaluate;
mod features;
mod graph;
mod options;
mod report;
mod sampler;
mod update;
mod work;

/// The private module `nearfar._nearfar`.
#[pyo3::pymodule]
mod _nearfar {
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use crate::cluster::{Run, Tasks, begin};
    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::embedding::{Embedding, embed};
    #[pymodule_export]
    use crate::evaluate::{classify, links, measure};
    #[pymodule_export]
    use crate::features::{Features, NetworkModel};
    #[pymodule_export]
    use crate::graph::{Graph, known_columns, read, synth};
    #[pymodule_export]
    use crate::options::defaults;
    #[pymodule_export]
    use crate::report::report;
    #[pymodule_export]
    use crate::sampler::NegativeSampler;
    #[pymodule_export]
    use crate::update::{transform, update};
}
