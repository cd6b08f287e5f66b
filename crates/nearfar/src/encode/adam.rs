//! Adam: steps of a size that each parameter's own gradients set.
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
//! (Kingma and Ba, *Adam*, ICLR 2015; β₁ = 0.9, β₂ = 0.999, ε = 10⁻⁸). A parameter without a
//! gradient moves on by its m: steps are dense, as those of the libraries are.

use rayon::prelude::*;

use crate::memory::Aligned;

const BETA: (f32, f32) = (0.9, 0.999);
const EPSILON: f32 = 1e-8;

/// The running means of the gradients of a list of parameters.
#[derive(Debug, PartialEq)]
pub struct Adam {
    steps: i32,
    mean: Aligned,
    square: Aligned,
}

impl Adam {
    /// Numbers that it keeps for every parameter.
    pub const NUMBERS: usize = 2;

    /// For so many parameters.
    pub fn new(parameters: usize) -> Self {
        Self { steps: 0, mean: Aligned::zeroed(parameters), square: Aligned::zeroed(parameters) }
    }

    /// Takes one step.
    pub fn step(&mut self, rate: f64, parameters: &mut [f32], gradient: &[f32]) {
        const CHUNK: usize = 1 << 14;
        let (step, means, squares) = self.begin(rate);
        let lists = (parameters.par_chunks_mut(CHUNK), gradient.par_chunks(CHUNK));
        let means = (means.par_chunks_mut(CHUNK), squares.par_chunks_mut(CHUNK));
        (lists, means).into_par_iter().for_each(|((x, g), (m, v))| step.take(x, g, m, v));
    }

    /// Begins a step, which the caller takes part by part: its sizes, and the means m and v of all
    /// parameters.
    pub(crate) fn begin(&mut self, rate: f64) -> (AdamStep, &mut [f32], &mut [f32]) {
        self.steps += 1;
        let left = |beta: f32| 1.0 - f64::from(beta).powi(self.steps);
        let scale = (rate / left(BETA.0)) as f32;
        let root = left(BETA.1).sqrt().recip() as f32;
        (AdamStep { scale, root }, &mut self.mean, &mut self.square)
    }
}

/// The sizes of one step.
#[derive(Clone, Copy)]
pub(crate) struct AdamStep {
    scale: f32,
    root: f32,
}

impl AdamStep {
    /// Takes the step for some parameters x with gradients g.
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

    /// Golden values by a few lines of Python, from the formula.
    #[test]
    fn steps_follow_the_formula_also_without_a_gradient() {
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
