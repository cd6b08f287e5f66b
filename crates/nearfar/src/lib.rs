//! Node embeddings that keep near nodes near and far nodes far.

pub mod distance;
pub mod error;
pub mod graph;
mod memory;
pub mod negative;
pub mod rng;

pub use error::{Error, Result};
