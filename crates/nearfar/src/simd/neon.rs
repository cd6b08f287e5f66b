//! 64-bit ARM, which always has NEON: four registers of four elements.

use std::arch::aarch64::{
    float32x4_t, vaddq_f32, vaddvq_f32, vdupq_n_f32, vfmaq_f32, vld1q_f32, vmulq_f32, vst1q_f32,
};

use super::{Vector, Work};

#[derive(Clone, Copy)]
struct NeonVector([float32x4_t; 4]);

// SAFETY, for all methods: the caller guarantees valid pointers.
impl Vector for NeonVector {
    #[inline(always)]
    unsafe fn zero() -> Self {
        unsafe { Self::splat(0.0) }
    }

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        unsafe { Self([vdupq_n_f32(value); 4]) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        unsafe {
            Self([
                vld1q_f32(from),
                vld1q_f32(from.add(4)),
                vld1q_f32(from.add(8)),
                vld1q_f32(from.add(12)),
            ])
        }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        for (i, register) in self.0.into_iter().enumerate() {
            unsafe { vst1q_f32(to.add(4 * i), register) }
        }
    }

    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        unsafe { Self(std::array::from_fn(|i| vmulq_f32(self.0[i], b.0[i]))) }
    }

    #[inline(always)]
    unsafe fn mul_add(self, b: Self, c: Self) -> Self {
        unsafe { Self(std::array::from_fn(|i| vfmaq_f32(c.0[i], self.0[i], b.0[i]))) }
    }

    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        let [a, b, c, d] = self.0;
        unsafe { vaddvq_f32(vaddq_f32(vaddq_f32(a, b), vaddq_f32(c, d))) }
    }
}

/// # Safety
///
/// The requirements of [`Work::on`].
pub(super) unsafe fn run<W: Work>(work: W) -> W::Out {
    // SAFETY: guaranteed by the caller; every 64-bit ARM processor supports NEON.
    unsafe { work.on::<NeonVector>() }
}
