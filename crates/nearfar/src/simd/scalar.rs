//! Plain Rust, the reference for the other instruction sets.

use super::{LANES, Vector, Work};

#[derive(Clone, Copy)]
struct ScalarVector([f32; LANES]);

impl Vector for ScalarVector {
    unsafe fn zero() -> Self {
        Self([0.0; LANES])
    }

    unsafe fn splat(value: f32) -> Self {
        Self([value; LANES])
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the pointer is valid for LANES elements; arrays have the alignment of an element.
        unsafe { Self(from.cast::<[f32; LANES]>().read()) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as for `load`.
        unsafe { to.cast::<[f32; LANES]>().write(self.0) }
    }

    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane] * b.0[lane]))
    }

    #[inline(always)]
    unsafe fn mul_add(self, b: Self, c: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane] * b.0[lane] + c.0[lane]))
    }

    unsafe fn sum(self) -> f32 {
        self.0.iter().sum()
    }
}

/// # Safety
///
/// The requirements of [`Work::on`].
pub(super) unsafe fn run<W: Work>(work: W) -> W::Out {
    // SAFETY: guaranteed by the caller; plain Rust needs no instruction set.
    unsafe { work.on::<ScalarVector>() }
}
