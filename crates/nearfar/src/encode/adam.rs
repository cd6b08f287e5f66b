//! The Adam optimiser.
//!
//! # Derivation
//!
//! With g the gradient of a parameter at step t, counted from 1,
//!
//! ```text
//! m = β₁ m + (1 − β₁) g        v = β₂ v + (1 − β₂) g²
//! x −= rate · (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)
//! ```
//!
//! (Kingma and Ba, *Adam*, ICLR 2015; β₁ = 0.9, β₂ = 0.999, ε = 10⁻⁸). A parameter whose
//! gradient is 0 still moves by its m: updates are dense, as in PyTorch and TensorFlow.

use rayon::prelude::*;

use super::{append, take};
use crate::memory::Aligned;

const BETA: (f32, f32) = (0.9, 0.999);
const EPSILON: f32 = 1e-8;

/// The moments m and v of a list of parameters.
#[derive(Debug, PartialEq)]
pub struct Adam {
    steps: i32,
    mean: Aligned,
    square: Aligned,
}

impl Adam {
    /// Moments kept for every parameter.
    pub const MOMENTS: usize = 2;

    /// The state before the first step.
    pub fn new(parameters: usize) -> Self {
        Self { steps: 0, mean: Aligned::zeroed(parameters), square: Aligned::zeroed(parameters) }
    }

    /// Takes one step with learning rate `rate`.
    pub fn step(&mut self, rate: f64, parameters: &mut [f32], gradient: &[f32]) {
        const CHUNK: usize = 1 << 14;
        let (step, means, squares) = self.begin(rate);
        let lists = (parameters.par_chunks_mut(CHUNK), gradient.par_chunks(CHUNK));
        let means = (means.par_chunks_mut(CHUNK), squares.par_chunks_mut(CHUNK));
        (lists, means).into_par_iter().for_each(|((x, g), (m, v))| step.take(x, g, m, v));
    }

    /// Appends the state to what is saved.
    pub(crate) fn append(&self, out: &mut Vec<u8>) {
        out.extend(self.steps.to_le_bytes());
        append(out, &self.mean);
        append(out, &self.square);
    }

    /// Continues from a saved state; `None` if it cannot be one.
    pub(crate) fn take(&mut self, left: &mut &[u8]) -> Option<()> {
        let (steps, rest) = left.split_first_chunk()?;
        *left = rest;
        self.steps = i32::from_le_bytes(*steps);
        take(left, &mut self.mean)?;
        take(left, &mut self.square)?;
        (self.steps >= 0 && self.square.iter().all(|&square| square >= 0.0)).then_some(())
    }

    /// Begins a step, which the caller applies to ranges of parameters: its scale factors, and the
    /// moments m and v of all parameters.
    pub(crate) fn begin(&mut self, rate: f64) -> (AdamStep, &mut [f32], &mut [f32]) {
        self.steps += 1;
        let correction = |beta: f32| 1.0 - f64::from(beta).powi(self.steps);
        let scale = (rate / correction(BETA.0)) as f32;
        let root = correction(BETA.1).sqrt().recip() as f32;
        (AdamStep { scale, root }, &mut self.mean, &mut self.square)
    }
}

/// The scale factors of one step, with the bias correction.
#[derive(Clone, Copy)]
pub(crate) struct AdamStep {
    /// rate / (1 − β₁ᵗ).
    scale: f32,
    /// 1 / √(1 − β₂ᵗ).
    root: f32,
}

impl AdamStep {
    /// Applies the step to parameters x with gradients g and moments m and v.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "it is compiled for the caller's instruction set")]
    pub(crate) fn take(self, x: &mut [f32], g: &[f32], m: &mut [f32], v: &mut [f32]) {
        for ((x, g), (m, v)) in x.iter_mut().zip(g).zip(m.iter_mut().zip(v)) {
            *m = BETA.0 * *m + (1.0 - BETA.0) * g;
            *v = BETA.1 * *v + (1.0 - BETA.1) * (g * g);
            *x -= self.scale * *m / (v.sqrt() * self.root + EPSILON);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The golden values were computed from the formula in Python.
    #[test]
    fn steps_follow_the_formula_also_for_zero_gradients() {
        let mut x = [1.0, -1.0];
        let mut adam = Adam::new(2);
        for g in [[1.0, 3.0], [-2.0, 3.0], [0.0, 0.0], [0.5, 0.0]] {
            adam.step(0.1, &mut x, &g);
        }
        for (x, golden) in x.into_iter().zip([0.974_837_406_3, -1.340_619_982_4]) {
            assert!((f64::from(x) - golden).abs() < 1e-6, "{x}");
        }
    }
}
