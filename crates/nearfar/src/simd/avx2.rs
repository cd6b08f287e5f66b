//! x86-64 with AVX2 and FMA: two registers of eight elements.

use std::arch::x86_64::{
    __m256, _MM_HINT_T0, _mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_movehl_ps, _mm_prefetch,
    _mm_shuffle_ps, _mm256_add_ps, _mm256_castps256_ps128, _mm256_extractf128_ps, _mm256_fmadd_ps,
    _mm256_loadu_ps, _mm256_mul_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm256_storeu_ps,
};

use super::{Vector, Work};

#[derive(Clone, Copy)]
struct Avx2Vector(__m256, __m256);

// SAFETY, for all methods: the caller guarantees the instruction set and valid pointers.
impl Vector for Avx2Vector {
    #[inline(always)]
    unsafe fn zero() -> Self {
        unsafe { Self(_mm256_setzero_ps(), _mm256_setzero_ps()) }
    }

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        unsafe { Self(_mm256_set1_ps(value), _mm256_set1_ps(value)) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        unsafe { Self(_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe {
            _mm256_storeu_ps(to, self.0);
            _mm256_storeu_ps(to.add(8), self.1);
        }
    }

    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        unsafe { Self(_mm256_mul_ps(self.0, b.0), _mm256_mul_ps(self.1, b.1)) }
    }

    #[inline(always)]
    unsafe fn mul_add(self, b: Self, c: Self) -> Self {
        unsafe { Self(_mm256_fmadd_ps(self.0, b.0, c.0), _mm256_fmadd_ps(self.1, b.1, c.1)) }
    }

    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        unsafe {
            let eight = _mm256_add_ps(self.0, self.1);
            let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }

    #[inline(always)]
    unsafe fn prefetch(from: *const f32) {
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) }
    }
}

/// # Safety
///
/// The requirements of [`Work::on`]; the processor supports AVX2 and FMA.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn run<W: Work>(work: W) -> W::Out {
    // SAFETY: guaranteed by the caller.
    unsafe { work.on::<Avx2Vector>() }
}
