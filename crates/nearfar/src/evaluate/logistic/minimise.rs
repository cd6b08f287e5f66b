//! The minimum of a smooth convex function, from its values and gradients: L-BFGS.
//!
//! # Derivation
//!
//! Newton's direction is −H⁻¹g. L-BFGS (Nocedal 1980) keeps the last few steps s and changes of
//! the gradient y, and applies the inverse Hessian that they imply (H⁻¹y = s for each of them)
//! by two loops over the pairs. What it starts from between the loops is a multiple of one, or, if
//! the curvature is roughly known, the inverse of that ([`Cholesky`]). On the ray from the last point a length t is searched that
//! falls enough and has left the steep part behind (the conditions of Wolfe):
//!
//!   f(t) ≤ f(0) + c₁ t f′(0)   and   f′(t) ≥ c₂ f′(0).
//!
//! Where the first fails, t is too long; where only the second fails, too short. Either way the
//! next t is where the line through the two known slopes meets zero, kept well inside of what
//! is still possible. Values have the precision of [`ROUNDING`]; where they differ by no more, the
//! slopes alone decide: on a parabola the first condition is f′(t) ≤ (2c₁ − 1) f′(0) (Hager and
//! Zhang 2005).
//!
//! The function is not called from here: the caller looks at [`point`](Minimiser::point) and
//! answers by [`tell`](Minimiser::tell). So many functions that share their data can be
//! minimised side by side, all their values and gradients in one product of matrices.

use std::collections::VecDeque;

use super::cholesky::Cholesky;

/// A search for a minimum.
pub(super) struct Minimiser {
    tolerance: f64,
    curvature: Option<Cholesky>,
    trial: Vec<f64>,
    accepted: Option<Accepted>,
    pairs: VecDeque<Pair>,
    ray: Ray,
    steps: usize,
}

/// The best point so far.
struct Accepted {
    point: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

/// A step, how it changed the gradient, and the product of the two.
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    product: f64,
}

/// The search along one direction.
#[derive(Default)]
struct Ray {
    direction: Vec<f64>,
    slope: f64,
    /// The length that is tried.
    length: f64,
    /// The longest length known to be too short, and the slope there.
    short: (f64, f64),
    /// The shortest length known to be too long, and the slope there.
    long: Option<(f64, f64)>,
    tries: usize,
}

const MEMORY: usize = 20;
const ENOUGH: f64 = 1e-4;
const ROUNDING: f64 = 1e-6;
const STEEP: f64 = 0.9;
const TRIES: usize = 30;
const STEPS: usize = 5000;

impl Minimiser {
    /// Starts at a point. Ends where no part of the gradient exceeds the tolerance. Goes straighter
    /// if the curvature near the start is known.
    pub(super) fn new(start: Vec<f64>, tolerance: f64, curvature: Option<Cholesky>) -> Self {
        Self {
            tolerance,
            curvature,
            trial: start,
            accepted: None,
            pairs: VecDeque::new(),
            ray: Ray::default(),
            steps: 0,
        }
    }

    /// The point whose value is wanted next; the best one, once the search has ended.
    pub(super) fn point(&self) -> &[f64] {
        &self.trial
    }

    /// Takes the value and the gradient at [`point`](Self::point); says whether the search ends.
    pub(super) fn tell(&mut self, value: f64, gradient: &[f64]) -> bool {
        let Some(last) = &mut self.accepted else {
            let (point, gradient) = (self.trial.clone(), gradient.to_vec());
            self.accepted = Some(Accepted { point, value, gradient });
            return self.turn();
        };
        let ray = &mut self.ray;
        let slope = dot(gradient, &ray.direction);
        let falls = value <= last.value + ENOUGH * ray.length * ray.slope
            || (value <= last.value + ROUNDING * last.value.abs()
                && slope <= (2.0 * ENOUGH - 1.0) * ray.slope);
        if falls && slope >= STEEP * ray.slope {
            let step: Vec<f64> = self.trial.iter().zip(&last.point).map(|(a, b)| a - b).collect();
            let change: Vec<f64> =
                gradient.iter().zip(&last.gradient).map(|(a, b)| a - b).collect();
            let product = dot(&step, &change);
            if product > 0.0 {
                self.pairs.truncate(MEMORY - 1);
                self.pairs.push_front(Pair { step, change, product });
            }
            last.point.copy_from_slice(&self.trial);
            last.gradient.copy_from_slice(gradient);
            last.value = value;
            self.steps += 1;
            return self.turn();
        }
        if falls {
            ray.longer(slope);
        } else {
            ray.shorter(if value.is_finite() { slope } else { f64::NAN });
        }
        if ray.tries == TRIES {
            // What is left to gain is less than rounding.
            self.trial.copy_from_slice(&last.point);
            return true;
        }
        self.place();
        false
    }

    /// Chooses a new direction from the accepted point; says whether none is needed.
    fn turn(&mut self) -> bool {
        let Some(last) = &self.accepted else { return false };
        let largest = last.gradient.iter().fold(0.0_f64, |largest, part| largest.max(part.abs()));
        if largest <= self.tolerance || !largest.is_finite() || self.steps == STEPS {
            self.trial.copy_from_slice(&last.point);
            return true;
        }
        let mut direction: Vec<f64> = last.gradient.iter().map(|part| -part).collect();
        let mut shares = Vec::with_capacity(MEMORY);
        for pair in &self.pairs {
            let share = dot(&pair.step, &direction) / pair.product;
            add(&mut direction, -share, &pair.change);
            shares.push(share);
        }
        if let Some(curvature) = &self.curvature {
            curvature.solve(&mut direction);
        } else if let Some(newest) = self.pairs.front() {
            let scale = newest.product / dot(&newest.change, &newest.change);
            for part in &mut direction {
                *part *= scale;
            }
        }
        for (pair, share) in self.pairs.iter().zip(shares).rev() {
            let other = dot(&pair.change, &direction) / pair.product;
            add(&mut direction, share - other, &pair.step);
        }
        let slope = dot(&direction, &last.gradient);
        // The first step has nothing to tell its length from.
        let blind = self.pairs.is_empty() && self.curvature.is_none();
        let length = if blind { 1.0 / (-slope).sqrt().max(1.0) } else { 1.0 };
        self.ray = Ray { direction, slope, length, short: (0.0, slope), long: None, tries: 0 };
        self.place();
        false
    }

    /// Puts the trial on the ray.
    fn place(&mut self) {
        let Some(last) = &self.accepted else { return };
        self.trial.copy_from_slice(&last.point);
        add(&mut self.trial, self.ray.length, &self.ray.direction);
    }
}

impl Ray {
    /// The length was too short.
    fn longer(&mut self, slope: f64) {
        let last = self.short;
        self.short = (self.length, slope);
        self.length = if let Some(long) = self.long {
            self.between(long)
        } else {
            let zero = meets_zero(last, self.short);
            // Slopes that do not rise promise nothing near.
            let zero = if zero > self.length { zero } else { f64::INFINITY };
            zero.clamp(1.5 * self.length, 10.0 * self.length)
        };
        self.tries += 1;
    }

    /// The length was too long.
    fn shorter(&mut self, slope: f64) {
        self.long = Some((self.length, slope));
        self.length = self.between((self.length, slope));
        self.tries += 1;
    }

    fn between(&self, long: (f64, f64)) -> f64 {
        let (start, width) = (self.short.0, long.0 - self.short.0);
        let zero = meets_zero(self.short, long);
        // Every third try halves what is left: slopes that mislead cannot hold up the search.
        if zero.is_nan() || self.tries % 3 == 2 {
            return start + 0.5 * width;
        }
        zero.clamp(start + 0.1 * width, start + 0.9 * width)
    }
}

/// Where the line through two slopes meets zero.
fn meets_zero((a, slope_a): (f64, f64), (b, slope_b): (f64, f64)) -> f64 {
    a - slope_a * (b - a) / (slope_b - slope_a)
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

pub(super) fn add(to: &mut [f64], share: f64, what: &[f64]) {
    for (to, what) in to.iter_mut().zip(what) {
        *to += share * what;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minimise(start: &[f64], mut f: impl FnMut(&[f64]) -> (f64, Vec<f64>)) -> (Vec<f64>, usize) {
        let mut search = Minimiser::new(start.to_vec(), 1e-9, None);
        for calls in 1..1000 {
            let (value, gradient) = f(search.point());
            if search.tell(value, &gradient) {
                return (search.point().to_vec(), calls);
            }
        }
        panic!("no end");
    }

    #[test]
    fn a_bowl_of_uneven_curvature() {
        let curvature = [1.0, 1000.0, 0.01, 30.0];
        let bottom = [3.0, -1.0, 50.0, 0.0];
        let (found, calls) = minimise(&[0.0; 4], |x| {
            let parts = || (0..4).map(|at| (curvature[at], x[at] - bottom[at]));
            (parts().map(|(c, d)| c * d * d / 2.0).sum(), parts().map(|(c, d)| c * d).collect())
        });
        for (found, bottom) in found.iter().zip(bottom) {
            assert!((found - bottom).abs() < 1e-6, "{found} for {bottom}");
        }
        assert!(calls < 60, "{calls} calls");
    }

    /// Rosenbrock's valley is not convex, and curved: from (−1.2, 1) to (1, 1).
    #[test]
    fn a_curved_valley() {
        let (found, calls) = minimise(&[-1.2, 1.0], |p| {
            let (x, y) = (p[0], p[1]);
            let away = y - x * x;
            let value = 100.0 * away * away + (1.0 - x).powi(2);
            (value, vec![-400.0 * x * away - 2.0 * (1.0 - x), 200.0 * away])
        });
        assert!((found[0] - 1.0).abs() < 1e-6 && (found[1] - 1.0).abs() < 1e-6, "{found:?}");
        assert!(calls < 80, "{calls} calls");
    }

    #[test]
    fn values_that_overflow_are_too_long_steps() {
        // eˣ − x: the first step leads far up.
        let (found, _) = minimise(&[-900.0], |x| (x[0].exp() - x[0], vec![x[0].exp() - 1.0]));
        assert!(found[0].abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn the_minimum_itself_is_found_at_once() {
        assert_eq!(minimise(&[2.0], |_| (5.0, vec![0.0])), (vec![2.0], 1));
    }
}
