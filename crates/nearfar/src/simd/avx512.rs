//! x86-64 with AVX-512F: one register of sixteen elements.

use std::arch::x86_64::{
    __m512, _MM_HINT_T0, _mm_prefetch, _mm512_add_ps, _mm512_castpd_ps, _mm512_castps_pd,
    _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_mul_ps, _mm512_reduce_add_ps, _mm512_set1_ps,
    _mm512_setzero_ps, _mm512_shuffle_f32x4, _mm512_storeu_ps, _mm512_unpackhi_pd,
    _mm512_unpackhi_ps, _mm512_unpacklo_pd, _mm512_unpacklo_ps,
};

use super::{PIECE, Vector, Work};

#[derive(Clone, Copy)]
struct Avx512Vector(__m512);

// SAFETY, for all methods: the caller guarantees the instruction set and valid pointers.
impl Vector for Avx512Vector {
    const MANY: bool = true;

    #[inline(always)]
    unsafe fn zero() -> Self {
        unsafe { Self(_mm512_setzero_ps()) }
    }

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        unsafe { Self(_mm512_set1_ps(value)) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        unsafe { Self(_mm512_loadu_ps(from)) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe { _mm512_storeu_ps(to, self.0) }
    }

    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        unsafe { Self(_mm512_mul_ps(self.0, b.0)) }
    }

    #[inline(always)]
    unsafe fn mul_add(self, b: Self, c: Self) -> Self {
        unsafe { Self(_mm512_fmadd_ps(self.0, b.0, c.0)) }
    }

    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        unsafe { _mm512_reduce_add_ps(self.0) }
    }

    /// Sixteen sums in a binary tree: each level adds and interleaves pairs of vectors, first within
    /// the 128-bit lanes of four elements, then across them.
    #[inline(always)]
    unsafe fn sums(vectors: &[Self; PIECE]) -> [f32; PIECE] {
        unsafe {
            let low = sum_across_lanes(sum_within_lanes(vectors, 0), sum_within_lanes(vectors, 4));
            let high =
                sum_across_lanes(sum_within_lanes(vectors, 8), sum_within_lanes(vectors, 12));
            let mut out = [0.0; PIECE];
            Self(sum_across_lanes(low, high)).store(out.as_mut_ptr());
            out
        }
    }

    #[inline(always)]
    unsafe fn prefetch(from: *const f32) {
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) }
    }
}

/// For each 128-bit lane, the sums of that lane in the four vectors from index `from` on.
///
/// # Safety
///
/// The processor supports AVX-512F.
#[inline(always)]
unsafe fn sum_within_lanes(vectors: &[Avx512Vector; PIECE], from: usize) -> __m512 {
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| vectors[from + i].0);
    // SAFETY: guaranteed by the caller.
    unsafe {
        let ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
        let cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
        let (ab, cd) = (_mm512_castps_pd(ab), _mm512_castps_pd(cd));
        let (low, high) = (_mm512_unpacklo_pd(ab, cd), _mm512_unpackhi_pd(ab, cd));
        _mm512_add_ps(_mm512_castpd_ps(low), _mm512_castpd_ps(high))
    }
}

/// Adds pairs of adjacent lanes: two sums from `a`, then two from `b`.
///
/// # Safety
///
/// The processor supports AVX-512F.
#[inline(always)]
unsafe fn sum_across_lanes(a: __m512, b: __m512) -> __m512 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let even = _mm512_shuffle_f32x4::<0b10_00_10_00>(a, b);
        _mm512_add_ps(even, _mm512_shuffle_f32x4::<0b11_01_11_01>(a, b))
    }
}

/// # Safety
///
/// The requirements of [`Work::on`]; the processor supports AVX-512F.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn run<W: Work>(work: W) -> W::Out {
    // SAFETY: guaranteed by the caller.
    unsafe { work.on::<Avx512Vector>() }
}
