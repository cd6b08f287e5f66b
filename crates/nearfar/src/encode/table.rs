//! A vector for each node, that is all: the parameters are the vectors.

use super::{Adam, Encoder};
use crate::rng::Rng;

/// The encoder of DeepWalk, node2vec and LINE.
pub struct Table {
    vectors: Vec<f32>,
    gradient: Vec<f32>,
    adam: Adam,
}

impl Table {
    /// Starts with these vectors.
    pub fn new(vectors: Vec<f32>) -> Self {
        let (gradient, adam) = (vec![0.0; vectors.len()], Adam::new(vectors.len()));
        Self { vectors, gradient, adam }
    }
}

impl Encoder for Table {
    fn forward(&mut self, _: Option<&mut Rng>) {}

    fn vectors(&self) -> &[f32] {
        &self.vectors
    }

    fn backward(&mut self, gradient: &mut Vec<f32>) {
        std::mem::swap(&mut self.gradient, gradient);
    }

    fn step(&mut self, rate: f64) {
        self.adam.step(rate, &mut self.vectors, &self.gradient);
    }
}
