//! The engine room of the Python package `nearfar`: arrays and options in, arrays out.
//!
//! Everything that people see, from turning a NetworkX graph into arrays to the estimator of
//! scikit-learn, is Python, in `python/nearfar`. Nothing is decided here that the library does
//! not decide: the same options give the same bytes as on the command line.

mod embedding;
mod error;
mod evaluate;
mod graph;
mod options;
mod sampler;
mod work;

/// What `python/nearfar` is built on.
#[pyo3::pymodule]
mod _nearfar {
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use crate::embedding::{Embedding, embed};
    #[pymodule_export]
    use crate::evaluate::{classify, links, measure};
    #[pymodule_export]
    use crate::graph::{Graph, read, synth};
    #[pymodule_export]
    use crate::options::defaults;
    #[pymodule_export]
    use crate::sampler::NegativeSampler;
}
