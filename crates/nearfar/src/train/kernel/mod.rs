//! The arithmetic of training: one centre against a run of other nodes.
//!
//! # Derivation
//!
//! A pair (i, j) with label y = 1 (near) or 0 (far) adds −log σ(z_i·z_j) or −log σ(−z_i·z_j) to the
//! loss. In both cases the gradient is (σ(z_i·z_j) − y) z_j at z_i, and the same with i and j
//! exchanged at z_j. So with g = rate · (y − σ(z_i·z_j)) a step is
//!
//! ```text
//! z_i += g z_j        z_j += g z_i
//! ```
//!
//! A run is one centre i and several j. All of its pairs see the centre as it was before the run;
//! what they add to it is summed up and added at the end, together with the pull to the origin,
//! z_i *= shrink. So the centre stays in registers or the nearest cache, and no pair waits for
//! another.
//!
//! The algorithm is written once, over a small `Vector`; each instruction set only fills that
//! in. Which one runs is decided once ([`Kernel::detect`]). They differ in the order of sums, so
//! results agree to about six digits between them, and to the bit within each.

#![allow(unsafe_code)]
#![allow(clippy::inline_always, reason = "a vector that is not inlined is not in a register")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;
mod sigmoid;

use sigmoid::Sigmoid;

/// Rows are padded with zeros to a multiple of this.
pub const LANES: usize = 16;

/// The sizes of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The rate for pairs that are near.
    pub near: f32,
    /// The rate for pairs that are far.
    pub far: f32,
    /// What the centre is multiplied with for each far pair.
    pub shrink: f32,
}

/// A centre and the other ends of its pairs, as rows of a block.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Rows to pull.
    pub near: &'a [u32],
    /// Rows to push.
    pub far: &'a [u32],
    /// Rows that the next run will need: they are fetched while this one is trained.
    pub next: &'a [u32],
}

/// An instruction set that this machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel(Set);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    /// Plain Rust: the reference.
    Scalar,
    /// 256-bit vectors with fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512-bit vectors.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// 128-bit vectors of ARM.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Kernel {
    /// All that this machine can run, plain Rust first and the fastest last.
    pub fn available() -> Vec<Self> {
        let mut all = vec![Self(Set::Scalar)];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                all.push(Self(Set::Avx2));
            }
            if is_x86_feature_detected!("avx512f") {
                all.push(Self(Set::Avx512));
            }
        }
        #[cfg(target_arch = "aarch64")]
        all.push(Self(Set::Neon));
        all
    }

    /// Its name.
    pub fn name(self) -> String {
        format!("{:?}", self.0).to_lowercase()
    }

    /// The fastest that this machine can run.
    pub fn detect() -> Self {
        Self::available().pop().unwrap_or(Self(Set::Scalar))
    }

    /// Trains one run: changes the centre and the rows of `block` that the run names. Returns the
    /// sum of the losses of its pairs before the step.
    ///
    /// # Panics
    ///
    /// If a row of the run is outside of the block.
    #[inline]
    pub fn train(self, centre: &mut Centre, block: &mut [f32], run: Run<'_>, step: Step) -> f32 {
        let dim = centre.row.len();
        let rows = block.len() / dim;
        let inside = |others: &[u32]| others.iter().all(|&row| (row as usize) < rows);
        assert!(inside(run.near) && inside(run.far), "a run stays in its block");
        assert!(inside(run.next), "the next run stays in its block");
        // SAFETY: the rows were just checked to lie in the block, and a kernel is
        // only made by `available`, where the processor was asked for it.
        unsafe {
            match self.0 {
                Set::Scalar => scalar::train(centre, block, run, step),
                #[cfg(target_arch = "x86_64")]
                Set::Avx2 => avx2::train(centre, block, run, step),
                #[cfg(target_arch = "x86_64")]
                Set::Avx512 => avx512::train(centre, block, run, step),
                #[cfg(target_arch = "aarch64")]
                Set::Neon => neon::train(centre, block, run, step),
            }
        }
    }
}

/// A centre on its own: a copy of its row, and room for the sum of a run.
#[derive(Clone, Debug)]
pub struct Centre {
    row: Vec<f32>,
    sum: Vec<f32>,
}

impl Centre {
    /// Room for rows of this length, a multiple of [`LANES`].
    ///
    /// # Panics
    ///
    /// If it is not.
    pub fn new(dim: usize) -> Self {
        assert!(dim > 0 && dim.is_multiple_of(LANES), "rows are padded");
        Self { row: vec![0.0; dim], sum: vec![0.0; dim] }
    }

    /// The row of the centre.
    pub fn row(&mut self) -> &mut [f32] {
        &mut self.row
    }
}

/// [`LANES`] numbers, in one register or in several.
///
/// # Safety
///
/// The methods may only be called where the processor has the instruction set of the implementor.
/// Pointers must be valid for [`LANES`] numbers.
trait Vector: Copy {
    unsafe fn zero() -> Self;
    unsafe fn splat(value: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    /// self · b + c
    unsafe fn mul_add(self, b: Self, c: Self) -> Self;
    unsafe fn sum(self) -> f32;
    unsafe fn prefetch(_from: *const f32) {}
}

/// The algorithm, for any [`Vector`]. Rows of the usual lengths have a version of their own, in
/// which centre and sum stay in registers.
///
/// # Safety
///
/// As for [`Vector`]; and every row of the run lies in the block.
#[inline(always)]
unsafe fn train<V: Vector>(
    centre: &mut Centre,
    block: &mut [f32],
    run: Run<'_>,
    step: Step,
) -> f32 {
    // SAFETY: promised by the caller; the length of a row was just looked at.
    unsafe {
        match centre.row.len() / LANES {
            4 => train_rows::<V, 4>(centre, block, run, step),
            8 => train_rows::<V, 8>(centre, block, run, step),
            _ => train_parts::<V>(centre, block, run, step),
        }
    }
}

/// Rows of `CHUNKS` vectors.
///
/// # Safety
///
/// That of [`train`], and a row has `CHUNKS` · [`LANES`] numbers.
#[inline(always)]
unsafe fn train_rows<V: Vector, const CHUNKS: usize>(
    centre: &mut Centre,
    block: &mut [f32],
    run: Run<'_>,
    step: Step,
) -> f32 {
    let dim = CHUNKS * LANES;
    let sigmoid = Sigmoid::get();
    let base = block.as_mut_ptr();
    let mut loss = 0.0;
    // SAFETY: see above; all accesses are to the centre or a row of the run.
    unsafe {
        let row = centre.row.as_mut_ptr();
        let old: [V; CHUNKS] = std::array::from_fn(|chunk| V::load(row.add(chunk * LANES)));
        let mut sum = [V::zero(); CHUNKS];
        let mut next = run.next.iter();
        for (others, label, rate) in [(run.near, 1.0, step.near), (run.far, 0.0, step.far)] {
            for &other in others {
                if let Some(&next) = next.next() {
                    for chunk in 0..CHUNKS {
                        V::prefetch(base.add(next as usize * dim + chunk * LANES));
                    }
                }
                let other = base.add(other as usize * dim);
                let values: [V; CHUNKS] =
                    std::array::from_fn(|chunk| V::load(other.add(chunk * LANES)));
                let mut parts = [V::zero(); 4];
                for chunk in 0..CHUNKS {
                    parts[chunk % 4] = old[chunk].mul_add(values[chunk], parts[chunk % 4]);
                }
                let one = V::splat(1.0);
                let [a, b, c, d] = parts;
                let dot = V::sum(one.mul_add(one.mul_add(a, b), one.mul_add(c, d)));
                loss += sigmoid.loss(if label > 0.5 { dot } else { -dot });
                let g = V::splat(rate * (label - sigmoid.of(dot)));
                for chunk in 0..CHUNKS {
                    sum[chunk] = g.mul_add(values[chunk], sum[chunk]);
                    g.mul_add(old[chunk], values[chunk]).store(other.add(chunk * LANES));
                }
            }
        }
        let shrink = V::splat(step.shrink.powf(run.far.len() as f32));
        for chunk in 0..CHUNKS {
            old[chunk].mul_add(shrink, sum[chunk]).store(row.add(chunk * LANES));
        }
    }
    loss
}

/// Rows of any length.
///
/// # Safety
///
/// That of [`train`].
#[inline(always)]
unsafe fn train_parts<V: Vector>(
    centre: &mut Centre,
    block: &mut [f32],
    run: Run<'_>,
    step: Step,
) -> f32 {
    let Centre { row: centre, sum } = centre;
    let dim = centre.len();
    let chunks = dim / LANES;
    let sigmoid = Sigmoid::get();
    sum.fill(0.0);
    let base = block.as_mut_ptr();
    let mut loss = 0.0;
    // SAFETY: see above; all accesses are to the centre, the sum, or a row of the run.
    unsafe {
        let mut next = run.next.iter();
        for (others, label, rate) in [(run.near, 1.0, step.near), (run.far, 0.0, step.far)] {
            for &row in others {
                if let Some(&next) = next.next() {
                    for chunk in 0..chunks {
                        V::prefetch(base.add(next as usize * dim + chunk * LANES));
                    }
                }
                let other = base.add(row as usize * dim);
                let (mut even, mut odd) = (V::zero(), V::zero());
                for chunk in 0..chunks {
                    let at = chunk * LANES;
                    let a = V::load(centre.as_ptr().add(at));
                    let b = V::load(other.add(at));
                    if chunk % 2 == 0 {
                        even = a.mul_add(b, even);
                    } else {
                        odd = a.mul_add(b, odd);
                    }
                }
                let dot = V::sum(even.mul_add(V::splat(1.0), odd));
                loss += sigmoid.loss(if label > 0.5 { dot } else { -dot });
                let g = V::splat(rate * (label - sigmoid.of(dot)));
                for chunk in 0..chunks {
                    let at = chunk * LANES;
                    let b = V::load(other.add(at));
                    let add = g.mul_add(b, V::load(sum.as_ptr().add(at)));
                    add.store(sum.as_mut_ptr().add(at));
                    let a = V::load(centre.as_ptr().add(at));
                    g.mul_add(a, b).store(other.add(at));
                }
            }
        }
        let shrink = V::splat(step.shrink.powf(run.far.len() as f32));
        for chunk in 0..chunks {
            let at = centre.as_mut_ptr().add(chunk * LANES);
            let add = V::load(sum.as_ptr().add(chunk * LANES));
            V::load(at).mul_add(shrink, add).store(at);
        }
    }
    loss
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    fn random(len: usize, seed: u64) -> Vec<f32> {
        let mut rng = Rng::new(seed, Purpose::Start, 0, 0);
        (0..len).map(|_| (rng.unit() - 0.5) as f32).collect()
    }

    fn close(a: &[f32], b: &[f32]) -> bool {
        a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5)
    }

    #[test]
    fn all_kernels_agree_with_the_plain_one() {
        let step = Step { near: 0.1, far: 0.05, shrink: 0.99 };
        for dim in [16, 32, 48, 64, 128, 144] {
            let results: Vec<_> = Kernel::available()
                .into_iter()
                .map(|kernel| {
                    let mut centre = Centre::new(dim);
                    centre.row().copy_from_slice(&random(dim, 1));
                    let mut block = random(20 * dim, 2);
                    let run = Run { near: &[3, 7, 3, 19], far: &[0, 5, 7], next: &[2] };
                    let loss = kernel.train(&mut centre, &mut block, run, step);
                    (centre.row().to_vec(), block, loss)
                })
                .collect();
            for (centre, block, loss) in &results[1..] {
                assert!(close(centre, &results[0].0) && close(block, &results[0].1), "dim {dim}");
                assert!((loss - results[0].2).abs() < 1e-4);
            }
        }
    }

    /// The step goes down the gradient of the loss, as finite differences measure it.
    #[test]
    fn a_step_is_the_gradient() {
        let dim = 16;
        let (centre, block) = (random(dim, 3), random(4 * dim, 4));
        let run = Run { near: &[1], far: &[2, 3], next: &[] };
        let loss = |centre: &[f32], block: &[f32]| -> f64 {
            let dot = |row: usize| -> f64 {
                let other = &block[row * dim..(row + 1) * dim];
                centre.iter().zip(other).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
            };
            let log_sigmoid = |x: f64| -(1.0 + (-x).exp()).ln();
            -log_sigmoid(dot(1)) - log_sigmoid(-dot(2)) - log_sigmoid(-dot(3))
        };
        let rate = 1e-2;
        let (mut moved, mut moved_block) = (Centre::new(dim), block.clone());
        moved.row().copy_from_slice(&centre);
        let step = Step { near: rate, far: rate, shrink: 1.0 };
        let before = Kernel::detect().train(&mut moved, &mut moved_block, run, step);
        assert!((f64::from(before) - loss(&centre, &block)).abs() < 1e-4);
        let change = 1e-2;
        for at in 0..dim {
            let mut shifted = centre.clone();
            shifted[at] += change;
            let up = loss(&shifted, &block);
            shifted[at] -= 2.0 * change;
            let gradient = (up - loss(&shifted, &block)) / (2.0 * f64::from(change));
            let found = f64::from((moved.row()[at] - centre[at]) / rate);
            assert!((found + gradient).abs() < 2e-3, "centre {at}: {found} for {gradient}");
        }
        for at in 0..block.len() {
            let mut shifted = block.clone();
            shifted[at] += change;
            let up = loss(&centre, &shifted);
            shifted[at] -= 2.0 * change;
            let gradient = (up - loss(&centre, &shifted)) / (2.0 * f64::from(change));
            let found = f64::from((moved_block[at] - block[at]) / rate);
            assert!((found + gradient).abs() < 2e-3, "other {at}: {found} for {gradient}");
        }
    }

    #[test]
    fn far_pairs_shrink_the_centre() {
        let mut centre = Centre::new(16);
        centre.row().fill(1.0);
        let step = Step { near: 0.0, far: 0.0, shrink: 0.5 };
        let run = Run { near: &[0], far: &[0, 0], next: &[] };
        Kernel::detect().train(&mut centre, &mut [0.0; 16], run, step);
        assert_eq!(centre.row(), [0.25; 16]);
    }
}
