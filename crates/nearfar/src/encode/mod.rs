//! Stage 6, node → vector: what is trained, and how a gradient changes it.

mod adam;

pub use adam::Adam;
