//! Stage 6, encoders: from nodes to vectors, and from the gradient to a training step.

mod adam;
mod feature_text;
mod features;
mod model;
mod network;
mod products;
mod propagate;
mod saved;

pub use adam::Adam;
pub(crate) use adam::AdamStep;
pub(crate) use features::FeatureShape;
pub use features::Features;
pub use model::NetworkModel;
pub use network::{Network, NetworkKind};
pub(crate) use propagate::Propagation;
pub(crate) use saved::{append, take};

use crate::rng::Rng;

/// Computes the vectors of all nodes of a graph from parameters that are trained.
pub trait Encoder: Send {
    /// Computes the vectors from the parameters. A variational encoder samples them with the
    /// stream `noise`, and takes their means without one.
    fn forward(&mut self, noise: Option<&mut Rng>);

    /// The vectors of the last [`forward`](Self::forward), row by row.
    fn vectors(&self) -> &[f32];

    /// Computes the gradient of the parameters from that of the vectors. `gradient` may be
    /// overwritten.
    fn backward(&mut self, gradient: &mut Vec<f32>);

    /// The parameters, if a model of them can be saved.
    fn parameters(&self) -> Option<&[f32]> {
        None
    }

    /// Takes an Adam step with the gradient of the last [`backward`](Self::backward).
    fn step(&mut self, rate: f64);

    /// What [`restore`](Self::restore) needs, in bytes that only this encoder reads. `None` if its
    /// runs cannot be resumed.
    fn state(&self) -> Option<Vec<u8>> {
        None
    }

    /// Continues from bytes that [`state`](Self::state) returned, and computes the vectors without
    /// noise; `None` if they cannot be of this encoder.
    fn restore(&mut self, _state: &[u8]) -> Option<()> {
        None
    }
}
