//! Stage 7, pull and push: training the vectors.

pub mod blocks;
pub mod kernel;
pub mod rank;
pub mod stream;
