//! Stage 6, node → vector: what is trained, and how a gradient changes it.

mod adam;
mod network;
mod propagate;

pub use adam::Adam;
pub(crate) use adam::AdamStep;
pub use network::{Kind, Network};

use crate::rng::Rng;

/// A way from nodes to vectors, with parameters to train. The graph is part of it.
pub trait Encoder: Send {
    /// Computes the vectors from the parameters. An encoder that is a law of vectors draws them
    /// from this stream; without one it takes their means.
    fn forward(&mut self, noise: Option<&mut Rng>);

    /// The vectors of the last [`forward`](Self::forward), row by row.
    fn vectors(&self) -> &[f32];

    /// Takes the gradient at the vectors, and computes that of the parameters from it. What comes
    /// back is room, with anything in it.
    fn backward(&mut self, gradient: &mut Vec<f32>);

    /// Takes a step of Adam along the gradient.
    fn step(&mut self, rate: f64);
}
