//! t-SNE: points move until those that belong together are near each other, and all others are not.
//!
//! With q_ij = 1 / (1 + ‖y_i − y_j‖²) and Z = Σ q, the points that minimise Σ p_ij log(p_ij Z / q_ij)
//! are sought by steps against the gradient, up to a factor of 4
//!
//! ```text
//! Σ_j p_ij q_ij (y_i − y_j)  −  1/Z Σ_j q_ij² (y_i − y_j)
//! ```
//!
//! with momentum, and a gain for each coordinate that grows while it keeps its direction. In the
//! first third, p counts twelve times: what belongs together finds together. Steps are n over that
//! factor long, which lets maps of any size grow equally fast (Belkina et al., 2019). Points start
//! from the principal components, so that the map as a whole is not left to chance (Kobak and
//! Berens, 2019).

use rayon::prelude::*;

use super::affinity::Affinities;
use super::tree::{Push, Tree};
use crate::rng::{Purpose, Rng};

const EXAGGERATION: f32 = 12.0;
/// Wide enough to be told apart, narrow enough to decide nothing for good.
const START: f32 = 1e-4;

/// Moves points from a start to where their affinities want them.
pub(super) fn tsne(
    affinities: &Affinities,
    start: Vec<[f32; 2]>,
    steps: usize,
    seed: u64,
) -> Vec<[f32; 2]> {
    let n = affinities.nodes();
    let mut places = spread(start, seed);
    let mut motion = vec![Motion::default(); n];
    let mut pushes = vec![Push::default(); n];
    let mut tree = Tree::default();
    for step in 0..steps {
        let (exaggeration, momentum) =
            if step < steps / 3 { (EXAGGERATION, 0.5) } else { (1.0, 0.8) };
        let rate = n as f32 / exaggeration;
        tree.build(&places);
        tree.pushes(&mut pushes);
        let total: f64 = pushes.iter().map(|push| f64::from(push.weight)).sum();
        let share = 1.0 / (total as f32).max(f32::MIN_POSITIVE);
        motion.par_iter_mut().enumerate().with_min_len(64).for_each(|(node, motion)| {
            let push = pushes[node].force;
            for (axis, pull) in pull(affinities, &places, node).into_iter().enumerate() {
                let gradient = exaggeration * pull - share * push[axis];
                motion.go(axis, gradient, rate, momentum);
            }
        });
        for (place, motion) in places.iter_mut().zip(&motion) {
            *place = [place[0] + motion.step[0], place[1] + motion.step[1]];
        }
        centre(&mut places);
    }
    places
}

/// How a point moves.
#[derive(Clone)]
struct Motion {
    step: [f32; 2],
    gain: [f32; 2],
}

impl Default for Motion {
    fn default() -> Self {
        Self { step: [0.0; 2], gain: [1.0; 2] }
    }
}

impl Motion {
    fn go(&mut self, axis: usize, gradient: f32, rate: f32, momentum: f32) {
        let (step, gain) = (&mut self.step[axis], &mut self.gain[axis]);
        let turns = (gradient > 0.0) == (*step > 0.0);
        *gain = if turns { (*gain * 0.8).max(0.01) } else { *gain + 0.2 };
        *step = momentum * *step - rate * *gain * gradient;
    }
}

/// Σ_j p_ij q_ij (y_i − y_j).
fn pull(affinities: &Affinities, places: &[[f32; 2]], node: usize) -> [f32; 2] {
    let [x, y] = places[node];
    let mut pull = [0.0; 2];
    for &(other, weight) in affinities.row(node) {
        let other = places[other as usize];
        let (dx, dy) = (x - other[0], y - other[1]);
        let weight = weight / (1.0 + dx * dx + dy * dy);
        pull = [pull[0] + weight * dx, pull[1] + weight * dy];
    }
    pull
}

/// The start in a narrow space, and a little apart where it is the same for some.
fn spread(mut places: Vec<[f32; 2]>, seed: u64) -> Vec<[f32; 2]> {
    centre(&mut places);
    let squares: f64 = places.iter().map(|place| f64::from(place[0]).powi(2)).sum();
    let deviation = (squares / places.len() as f64).sqrt() as f32;
    let scale = if deviation > 0.0 { START / deviation } else { 0.0 };
    for (node, place) in places.iter_mut().enumerate() {
        let mut rng = Rng::new(seed, Purpose::Projection, 2, node as u64);
        *place = place.map(|x| x * scale + 0.1 * START * (rng.unit() as f32 - 0.5));
    }
    places
}

fn centre(places: &mut [[f32; 2]]) {
    let mean = |axis: usize| {
        let sum: f64 = places.iter().map(|place| f64::from(place[axis])).sum();
        (sum / places.len() as f64) as f32
    };
    let mean = [mean(0), mean(1)];
    for place in places {
        *place = [place[0] - mean[0], place[1] - mean[1]];
    }
}
