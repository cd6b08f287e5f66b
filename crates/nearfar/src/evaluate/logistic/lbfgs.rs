//! L-BFGS: minimises a smooth convex function from its values and gradients.
//!
//! # Derivation
//!
//! Newton's direction is −H⁻¹g. L-BFGS (Nocedal 1980) stores the last few steps s and gradient
//! changes y, and applies the inverse Hessian that they imply (H⁻¹y = s for each pair) by the
//! two-loop recursion. The initial inverse Hessian between the loops is a multiple of the identity,
//! or, if an approximate Hessian is known, its inverse ([`Cholesky`]). The line search looks for a
//! step length t that satisfies the Wolfe conditions, sufficient decrease and curvature:
//!
//!   f(t) ≤ f(0) + c₁ t f′(0)   and   f′(t) ≥ c₂ f′(0).
//!
//! Where the first fails, t is too long; where only the second fails, too short. Either way the
//! next t is the root of the secant through the two known slopes, safeguarded to stay inside the
//! bracket. Values have a relative precision of [`ROUNDING`]; where they differ by no more, the
//! slopes alone decide: on a parabola the first condition is f′(t) ≤ (2c₁ − 1) f′(0) (the
//! approximate Wolfe condition of Hager and Zhang 2005).
//!
//! Control is inverted: the caller evaluates the function at [`point`](Lbfgs::point) and passes the
//! result to [`advance`](Lbfgs::advance). So several functions of the same data can be minimised side
//! by side, with all values and gradients from one matrix product.

use std::collections::VecDeque;

use crate::cancel;
use crate::matrix::{Cholesky, add_scaled, dot};

/// The state of a minimisation.
pub(super) struct Lbfgs {
    tolerance: f64,
    hessian: Option<Cholesky>,
    trial: Vec<f64>,
    current: Option<Iterate>,
    /// Corrections, newest first.
    corrections: VecDeque<Correction>,
    line: LineSearch,
    iterations: usize,
}

/// The last accepted point.
struct Iterate {
    point: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

/// A step s, the change y of the gradient, and s·y.
struct Correction {
    step: Vec<f64>,
    change: Vec<f64>,
    product: f64,
}

/// The line search along one direction.
#[derive(Default)]
struct LineSearch {
    direction: Vec<f64>,
    /// f′(0).
    slope: f64,
    /// The trial step length.
    length: f64,
    /// The longest length known to be too short, and the slope there.
    lower: (f64, f64),
    /// The shortest length known to be too long, and the slope there.
    upper: Option<(f64, f64)>,
    trials: usize,
}

/// Corrections stored.
const MEMORY: usize = 20;
/// c₁ of the Wolfe conditions.
const DECREASE: f64 = 1e-4;
/// c₂ of the Wolfe conditions.
const CURVATURE: f64 = 0.9;
/// Relative precision of the function's values.
const ROUNDING: f64 = 1e-6;
const MAX_TRIALS: usize = 30;
const MAX_ITERATIONS: usize = 5000;

impl Lbfgs {
    /// Starts at a point; stops where the largest component of the gradient is at most `tolerance`.
    /// `hessian` approximates the Hessian near the start, if known.
    pub(super) fn new(start: Vec<f64>, tolerance: f64, hessian: Option<Cholesky>) -> Self {
        Self {
            tolerance,
            hessian,
            trial: start,
            current: None,
            corrections: VecDeque::new(),
            line: LineSearch::default(),
            iterations: 0,
        }
    }

    /// The point to evaluate next; the result, once the search has ended.
    pub(super) fn point(&self) -> &[f64] {
        &self.trial
    }

    /// Takes the value and the gradient at [`point`](Self::point); returns whether the search ends.
    pub(super) fn advance(&mut self, value: f64, gradient: &[f64]) -> bool {
        cancel::check();
        let Some(current) = &mut self.current else {
            let (point, gradient) = (self.trial.clone(), gradient.to_vec());
            self.current = Some(Iterate { point, value, gradient });
            return self.start_line();
        };
        let line = &mut self.line;
        let slope = dot(gradient, &line.direction);
        let decreases = value <= current.value + DECREASE * line.length * line.slope
            || (value <= current.value + ROUNDING * current.value.abs()
                && slope <= (2.0 * DECREASE - 1.0) * line.slope);
        if decreases && slope >= CURVATURE * line.slope {
            let step: Vec<f64> =
                self.trial.iter().zip(&current.point).map(|(a, b)| a - b).collect();
            let change: Vec<f64> =
                gradient.iter().zip(&current.gradient).map(|(a, b)| a - b).collect();
            let product = dot(&step, &change);
            if product > 0.0 {
                self.corrections.truncate(MEMORY - 1);
                self.corrections.push_front(Correction { step, change, product });
            }
            current.point.copy_from_slice(&self.trial);
            current.gradient.copy_from_slice(gradient);
            current.value = value;
            self.iterations += 1;
            return self.start_line();
        }
        if decreases {
            line.lengthen(slope);
        } else {
            line.shorten(if value.is_finite() { slope } else { f64::NAN });
        }
        if line.trials == MAX_TRIALS {
            // Any further decrease is below the rounding error.
            self.trial.copy_from_slice(&current.point);
            return true;
        }
        self.set_trial();
        false
    }

    /// Chooses the next search direction by the two-loop recursion; returns whether the search has
    /// converged.
    fn start_line(&mut self) -> bool {
        let Some(current) = &self.current else { return false };
        let largest = current.gradient.iter().fold(0.0_f64, |largest, g| largest.max(g.abs()));
        let exhausted = self.iterations == MAX_ITERATIONS;
        if largest <= self.tolerance || !largest.is_finite() || exhausted {
            self.trial.copy_from_slice(&current.point);
            return true;
        }
        let mut direction: Vec<f64> = current.gradient.iter().map(|g| -g).collect();
        let mut alphas = Vec::with_capacity(MEMORY);
        for correction in &self.corrections {
            let alpha = dot(&correction.step, &direction) / correction.product;
            add_scaled(&mut direction, -alpha, &correction.change);
            alphas.push(alpha);
        }
        if let Some(hessian) = &self.hessian {
            hessian.solve(&mut direction);
        } else if let Some(newest) = self.corrections.front() {
            let scale = newest.product / dot(&newest.change, &newest.change);
            for component in &mut direction {
                *component *= scale;
            }
        }
        for (correction, alpha) in self.corrections.iter().zip(alphas).rev() {
            let beta = dot(&correction.change, &direction) / correction.product;
            add_scaled(&mut direction, alpha - beta, &correction.step);
        }
        let slope = dot(&direction, &current.gradient);
        // Without a Hessian, nothing is known about the scale of the first step.
        let unscaled = self.corrections.is_empty() && self.hessian.is_none();
        let length = if unscaled { 1.0 / (-slope).sqrt().max(1.0) } else { 1.0 };
        self.line =
            LineSearch { direction, slope, length, lower: (0.0, slope), upper: None, trials: 0 };
        self.set_trial();
        false
    }

    fn set_trial(&mut self) {
        let Some(current) = &self.current else { return };
        self.trial.copy_from_slice(&current.point);
        add_scaled(&mut self.trial, self.line.length, &self.line.direction);
    }
}

impl LineSearch {
    /// The trial length was too short.
    fn lengthen(&mut self, slope: f64) {
        let last = self.lower;
        self.lower = (self.length, slope);
        self.length = if let Some(upper) = self.upper {
            self.between(upper)
        } else {
            let root = secant_root(last, self.lower);
            // Where the slope does not increase, the secant has no root ahead.
            let root = if root > self.length { root } else { f64::INFINITY };
            root.clamp(1.5 * self.length, 10.0 * self.length)
        };
        self.trials += 1;
    }

    /// The trial length was too long.
    fn shorten(&mut self, slope: f64) {
        self.upper = Some((self.length, slope));
        self.length = self.between((self.length, slope));
        self.trials += 1;
    }

    fn between(&self, upper: (f64, f64)) -> f64 {
        let (start, width) = (self.lower.0, upper.0 - self.lower.0);
        let root = secant_root(self.lower, upper);
        // Every third trial bisects, which bounds the number of trials on any function.
        if root.is_nan() || self.trials % 3 == 2 {
            return start + 0.5 * width;
        }
        root.clamp(start + 0.1 * width, start + 0.9 * width)
    }
}

/// The root of the line through the slopes at `a` and `b`.
fn secant_root((a, slope_a): (f64, f64), (b, slope_b): (f64, f64)) -> f64 {
    a - slope_a * (b - a) / (slope_b - slope_a)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minimise(start: &[f64], mut f: impl FnMut(&[f64]) -> (f64, Vec<f64>)) -> (Vec<f64>, usize) {
        let mut search = Lbfgs::new(start.to_vec(), 1e-9, None);
        for calls in 1..1000 {
            let (value, gradient) = f(search.point());
            if search.advance(value, &gradient) {
                return (search.point().to_vec(), calls);
            }
        }
        panic!("no convergence");
    }

    #[test]
    fn an_ill_conditioned_quadratic() {
        let curvature = [1.0, 1000.0, 0.01, 30.0];
        let minimum = [3.0, -1.0, 50.0, 0.0];
        let (found, calls) = minimise(&[0.0; 4], |x| {
            let terms = || (0..4).map(|at| (curvature[at], x[at] - minimum[at]));
            (terms().map(|(c, d)| c * d * d / 2.0).sum(), terms().map(|(c, d)| c * d).collect())
        });
        for (found, minimum) in found.iter().zip(minimum) {
            assert!((found - minimum).abs() < 1e-6, "{found} for {minimum}");
        }
        assert!(calls < 60, "{calls} calls");
    }

    /// Not convex, with a curved valley: from (−1.2, 1) to (1, 1).
    #[test]
    fn rosenbrocks_function() {
        let (found, calls) = minimise(&[-1.2, 1.0], |p| {
            let (x, y) = (p[0], p[1]);
            let residual = y - x * x;
            let value = 100.0 * residual * residual + (1.0 - x).powi(2);
            (value, vec![-400.0 * x * residual - 2.0 * (1.0 - x), 200.0 * residual])
        });
        assert!((found[0] - 1.0).abs() < 1e-6 && (found[1] - 1.0).abs() < 1e-6, "{found:?}");
        assert!(calls < 80, "{calls} calls");
    }

    #[test]
    fn steps_that_overflow_are_shortened() {
        // eˣ − x overflows at the first trial.
        let (found, _) = minimise(&[-900.0], |x| (x[0].exp() - x[0], vec![x[0].exp() - 1.0]));
        assert!(found[0].abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn a_start_at_the_minimum_takes_one_evaluation() {
        assert_eq!(minimise(&[2.0], |_| (5.0, vec![0.0])), (vec![2.0], 1));
    }
}
