//! Vector arithmetic, written once over a small [`Vector`] and compiled for each instruction set.
//!
//! Which set runs is decided once, at run time ([`InstructionSet::detect`]). Sets differ in the
//! order of sums, so results agree to about six digits between them, and to the bit within each.
//! Plain Rust ([`scalar`]) is the reference for the others.

#![allow(unsafe_code)]
#![allow(clippy::inline_always, reason = "a vector that is not inlined is not in a register")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod math;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

pub(crate) use math::{exp, ln, sigmoid_loss};

/// Numbers in a [`Vector`]; rows of vectors are padded with zeros to a multiple of this.
pub const LANES: usize = 16;

/// Vectors that [`Vector::sums`] takes: as many as fit the registers with their factors.
pub const PIECE: usize = 16;

/// An instruction set that this machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionSet(Set);

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

impl InstructionSet {
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

    /// Does some work with this instruction set.
    ///
    /// # Safety
    ///
    /// Whatever the work asks for, but for the instruction set.
    pub(crate) unsafe fn run<W: Work>(self, work: W) -> W::Out {
        // SAFETY: a set is only made by `available`, where the processor was asked for it; the
        // rest is promised by the caller.
        unsafe {
            match self.0 {
                Set::Scalar => scalar::run(work),
                #[cfg(target_arch = "x86_64")]
                Set::Avx2 => avx2::run(work),
                #[cfg(target_arch = "x86_64")]
                Set::Avx512 => avx512::run(work),
                #[cfg(target_arch = "aarch64")]
                Set::Neon => neon::run(work),
            }
        }
    }
}

/// Something that every instruction set can do, each in its own registers.
pub(crate) trait Work {
    type Out;

    /// Does it. Implementations are `#[inline(always)]`, so that they are compiled for the set.
    ///
    /// # Safety
    ///
    /// The processor has the instruction set of the vector.
    unsafe fn on<V: Vector>(self) -> Self::Out;
}

/// [`LANES`] numbers, in one register or in several.
///
/// # Safety
///
/// The methods may only be called where the processor has the instruction set of the implementor.
/// Pointers must be valid for [`LANES`] numbers.
pub(crate) trait Vector: Copy {
    /// Whether thirty of them fit the registers of the processor.
    const MANY: bool = false;

    unsafe fn zero() -> Self;
    unsafe fn splat(value: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    /// self · b
    unsafe fn mul(self, b: Self) -> Self;
    /// self · b + c
    unsafe fn mul_add(self, b: Self, c: Self) -> Self;
    unsafe fn sum(self) -> f32;
    /// The sum of each.
    #[inline(always)]
    unsafe fn sums(vectors: &[Self; PIECE]) -> [f32; PIECE] {
        // SAFETY: as for all methods.
        vectors.map(|vector| unsafe { vector.sum() })
    }
    unsafe fn prefetch(_from: *const f32) {}
}
