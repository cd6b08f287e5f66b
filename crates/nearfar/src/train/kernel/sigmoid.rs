//! σ(x) = 1 / (1 + e^−x) and −log σ(x), from a table.

use std::sync::OnceLock;

/// Values at equal distances between −LIMIT and LIMIT, with straight lines between them: right to
/// 2·10⁻⁶. Beyond, gradients are as good as zero or one.
pub(super) struct Sigmoid {
    sigmoid: [f32; SIZE + 2],
    loss: [f32; SIZE + 2],
}

const LIMIT: f32 = 8.0;
const SIZE: usize = 1024;
const SCALE: f32 = SIZE as f32 / (2.0 * LIMIT);

impl Sigmoid {
    /// The table, made on first use.
    #[inline]
    pub(super) fn get() -> &'static Self {
        static TABLE: OnceLock<Sigmoid> = OnceLock::new();
        TABLE.get_or_init(|| {
            let x = |at: usize| at as f64 / f64::from(SCALE) - f64::from(LIMIT);
            let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
            Self {
                sigmoid: std::array::from_fn(|at| sigmoid(x(at)) as f32),
                loss: std::array::from_fn(|at| -sigmoid(x(at)).ln() as f32),
            }
        })
    }

    #[inline]
    pub(super) fn of(&self, x: f32) -> f32 {
        line(&self.sigmoid, x)
    }

    /// −log σ(x), right for |x| ≤ 8 and a little low below.
    #[inline]
    pub(super) fn loss(&self, x: f32) -> f32 {
        line(&self.loss, x)
    }
}

#[inline]
fn line(table: &[f32; SIZE + 2], x: f32) -> f32 {
    // NaN stays NaN: a run that diverges shows it in its loss.
    let place = (x.clamp(-LIMIT, LIMIT) + LIMIT) * SCALE;
    let at = place as usize;
    let part = place - at as f32;
    let (low, high) = (table[at], table[at + 1]);
    low + (high - low) * part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_right_to_six_digits() {
        for at in -1000..=1000 {
            let x = at as f32 * 0.009;
            let exact = 1.0 / (1.0 + (-f64::from(x.clamp(-8.0, 8.0))).exp());
            assert!((f64::from(Sigmoid::get().of(x)) - exact).abs() < 3e-6, "{x}");
            assert!((f64::from(Sigmoid::get().loss(x)) + exact.ln()).abs() < 1e-5, "{x}");
        }
        assert!(Sigmoid::get().of(f32::INFINITY) > 0.999);
        assert!(Sigmoid::get().of(f32::NAN).is_nan());
    }
}
