//! t-SNE by gradient descent.
//!
//! With q_ij = 1 / (1 + ‖y_i − y_j‖²) and Z = Σ q, gradient descent minimises
//! Σ p_ij log(p_ij Z / q_ij), whose gradient is, up to a factor of 4,
//!
//! ```text
//! Σ_j p_ij q_ij (y_i − y_j)  −  1/Z Σ_j q_ij² (y_i − y_j)
//! ```
//!
//! with momentum and an adaptive gain per coordinate. In the first third of the iterations p is
//! multiplied by 12 (early exaggeration). The learning rate is n / exaggeration (Belkina et al., 2019).
//! Positions start from the principal components, which preserves the global structure (Kobak and
//! Berens, 2019).

use rayon::prelude::*;

use super::affinity::Affinities;
use super::barnes_hut::{QuadTree, Repulsion};
use crate::cancel;
use crate::rng::{Purpose, Rng};

const EXAGGERATION: f32 = 12.0;
/// Standard deviation of the initial positions.
const INITIAL_STD: f32 = 1e-4;

/// Runs t-SNE from the given initial positions.
pub(super) fn tsne(
    affinities: &Affinities,
    start: Vec<[f32; 2]>,
    steps: usize,
    seed: u64,
) -> Vec<[f32; 2]> {
    let n = affinities.nodes();
    let mut positions = initial_positions(start, seed);
    let mut updates = vec![Update::default(); n];
    let mut repulsions = vec![Repulsion::default(); n];
    let mut tree = QuadTree::default();
    for step in 0..steps {
        cancel::check();
        let (exaggeration, momentum) =
            if step < steps / 3 { (EXAGGERATION, 0.5) } else { (1.0, 0.8) };
        let rate = n as f32 / exaggeration;
        tree.build(&positions);
        tree.repulsions(&mut repulsions);
        let total: f64 = repulsions.iter().map(|repulsion| f64::from(repulsion.weight)).sum();
        let inverse = 1.0 / (total as f32).max(f32::MIN_POSITIVE);
        updates.par_iter_mut().enumerate().with_min_len(64).for_each(|(node, update)| {
            let repulsion = repulsions[node].force;
            let attraction = attraction(affinities, &positions, node);
            for (axis, attraction) in attraction.into_iter().enumerate() {
                let gradient = exaggeration * attraction - inverse * repulsion[axis];
                update.next(axis, gradient, rate, momentum);
            }
        });
        for (position, update) in positions.iter_mut().zip(&updates) {
            *position = [position[0] + update.step[0], position[1] + update.step[1]];
        }
        centre(&mut positions);
    }
    positions
}

/// The step and gain of a point, per axis.
#[derive(Clone)]
struct Update {
    step: [f32; 2],
    gain: [f32; 2],
}

impl Default for Update {
    fn default() -> Self {
        Self { step: [0.0; 2], gain: [1.0; 2] }
    }
}

impl Update {
    fn next(&mut self, axis: usize, gradient: f32, rate: f32, momentum: f32) {
        let (step, gain) = (&mut self.step[axis], &mut self.gain[axis]);
        let reverses = (gradient > 0.0) == (*step > 0.0);
        *gain = if reverses { (*gain * 0.8).max(0.01) } else { *gain + 0.2 };
        *step = momentum * *step - rate * *gain * gradient;
    }
}

/// Σ_j p_ij q_ij (y_i − y_j).
fn attraction(affinities: &Affinities, positions: &[[f32; 2]], node: usize) -> [f32; 2] {
    let [x, y] = positions[node];
    let mut sum = [0.0; 2];
    for &(other, weight) in affinities.row(node) {
        let other = positions[other as usize];
        let (dx, dy) = (x - other[0], y - other[1]);
        let weight = weight / (1.0 + dx * dx + dy * dy);
        sum = [sum[0] + weight * dx, sum[1] + weight * dy];
    }
    sum
}

/// The given positions scaled to [`INITIAL_STD`], with noise to separate equal ones.
fn initial_positions(mut positions: Vec<[f32; 2]>, seed: u64) -> Vec<[f32; 2]> {
    centre(&mut positions);
    let squares: f64 = positions.iter().map(|position| f64::from(position[0]).powi(2)).sum();
    let deviation = (squares / positions.len() as f64).sqrt() as f32;
    let scale = if deviation > 0.0 { INITIAL_STD / deviation } else { 0.0 };
    for (node, position) in positions.iter_mut().enumerate() {
        let mut rng = Rng::new(seed, Purpose::Projection, 2, node as u64);
        *position = position.map(|x| x * scale + 0.1 * INITIAL_STD * (rng.unit() as f32 - 0.5));
    }
    positions
}

fn centre(positions: &mut [[f32; 2]]) {
    let mean = |axis: usize| {
        let sum: f64 = positions.iter().map(|position| f64::from(position[axis])).sum();
        (sum / positions.len() as f64) as f32
    };
    let mean = [mean(0), mean(1)];
    for position in positions {
        *position = [position[0] - mean[0], position[1] - mean[1]];
    }
}
