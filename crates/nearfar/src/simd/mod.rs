//! Vector arithmetic, written once over the small trait `Vector` and compiled for each instruction
//! set.
//!
//! The set is chosen once, at run time ([`InstructionSet::detect`]). Sets differ in the order of
//! sums, so results agree to about six digits between sets, and bit for bit within one. Plain Rust
//! (`scalar`) is the reference.

#![allow(unsafe_code)]
#![allow(clippy::inline_always, reason = "vectors stay in registers only if inlined")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod math;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

#[doc(hidden)]
pub use math::sigmoid_loss;
pub(crate) use math::{exp, ln};

/// Elements of a `Vector`; rows of embeddings are padded with zeros to a multiple of this.
pub const LANES: usize = 16;

/// Vectors that `Vector::sums` takes: as many as fit the registers together with their factors.
pub const PIECE: usize = 16;

/// An instruction set that this machine supports.
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
    /// 128-bit vectors on ARM.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl InstructionSet {
    /// All sets that this machine supports, plain Rust first and the fastest last.
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

    /// The name, in lower case: `scalar`, `avx2`, `avx512` or `neon`.
    pub fn name(self) -> String {
        format!("{:?}", self.0).to_lowercase()
    }

    /// The fastest set that this machine supports.
    pub fn detect() -> Self {
        Self::available().pop().unwrap_or(Self(Set::Scalar))
    }

    /// Runs an operation with this instruction set.
    ///
    /// # Safety
    ///
    /// The requirements of [`Work::on`], except for the instruction set.
    pub(crate) unsafe fn run<W: Work>(self, work: W) -> W::Out {
        // SAFETY: sets other than `Scalar` are constructed by `available` only, which checks that
        // the processor supports them; the caller guarantees the rest.
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

/// An operation that is compiled for every instruction set.
pub(crate) trait Work {
    type Out;

    /// Runs the operation. Implementations are `#[inline(always)]`, so that they are compiled with
    /// the features of the caller.
    ///
    /// # Safety
    ///
    /// The processor supports the instruction set of the vector.
    unsafe fn on<V: Vector>(self) -> Self::Out;
}

/// [`LANES`] numbers in one or several registers.
///
/// # Safety
///
/// The processor must support the instruction set of the implementor. Pointers must be valid for
/// [`LANES`] elements.
pub(crate) trait Vector: Copy {
    /// Whether the processor has registers for thirty vectors.
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
    /// The sum of each vector.
    #[inline(always)]
    unsafe fn sums(vectors: &[Self; PIECE]) -> [f32; PIECE] {
        // SAFETY: as for all methods.
        vectors.map(|vector| unsafe { vector.sum() })
    }
    unsafe fn prefetch(_from: *const f32) {}
}
