//! Large arrays for random access.
//!
//! With pages of 4 KiB, nearly every random access to a large table also misses the TLB, the
//! processor's cache of page addresses; with huge pages of 2 MiB hardly any does. Linux backs the
//! 2 MiB-aligned part of an array with huge pages if `madvise` asks for them and the setting
//! `transparent_hugepage` is `madvise` or `always`; elsewhere nothing changes. A page that is in use
//! when the advice comes stays small until the kernel merges it in the background, so advice has
//! to precede the first write.
//!
//! The access itself still takes some hundred nanoseconds. Where positions are known in advance,
//! [`prefetch`] lets a dozen of them overlap.

#![allow(unsafe_code)]

use std::ops::{Deref, DerefMut, Range};

/// An array of default values, which are zeros for numbers, on huge pages where possible.
///
/// For numbers, `vec!` allocates zeroed memory without writing to it: pages are assigned at the
/// first write to each, after the advice. Other types are written by `vec!` itself, before the
/// advice; use [`filled`] for them where huge pages matter.
pub(crate) fn zeroed<T: Copy + Default>(len: usize) -> Vec<T> {
    let array = vec![T::default(); len];
    advise_huge_pages(array.as_ptr_range());
    array
}

/// An array of copies of `value`, on huge pages where possible, written by the calling thread.
pub(crate) fn filled<T: Copy>(len: usize, value: T) -> Vec<T> {
    let mut array = Vec::with_capacity(len);
    advise_huge_pages(array.spare_capacity_mut().as_ptr_range());
    array.resize(len, value);
    array
}

/// An array of floats that starts at a cache line, 64 bytes. If the length of rows is a multiple of
/// 16 floats, every row does, and no SIMD load of up to 64 bytes within a row crosses a cache line,
/// which would take twice as long.
#[derive(Debug)]
pub(crate) struct Aligned {
    /// Up to 15 unused floats before `start`.
    values: Vec<f32>,
    start: usize,
}

impl Aligned {
    /// `len` zeros, on huge pages as by [`zeroed`].
    pub(crate) fn zeroed(len: usize) -> Self {
        /// Floats per cache line.
        const LINE: usize = 64 / size_of::<f32>();
        let mut values: Vec<f32> = zeroed(len + LINE);
        let start = values.as_ptr().align_offset(64).min(LINE);
        values.truncate(start + len);
        Self { values, start }
    }

    /// The first `len` floats, moved to the start of the allocation: the result is not aligned.
    pub(crate) fn into_vec(mut self, len: usize) -> Vec<f32> {
        self.values.copy_within(self.start..self.start + len, 0);
        self.values.truncate(len);
        self.values.shrink_to_fit();
        self.values
    }
}

impl Clone for Aligned {
    fn clone(&self) -> Self {
        let mut copy = Self::zeroed(self.len());
        copy.copy_from_slice(self);
        copy
    }
}

impl Deref for Aligned {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.values[self.start..]
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.values[self.start..]
    }
}

impl PartialEq for Aligned {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

/// Returns free memory to the system that the allocator keeps for later allocations (glibc only).
pub(crate) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `malloc_trim` releases only memory that is not allocated.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Loads an entry of an array into the cache before it is needed. An index out of range is harmless.
/// Does nothing on processors other than x86-64.
#[inline]
pub(crate) fn prefetch<T>(array: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch does not access memory in the sense of the language, and the processor
    // ignores addresses that are not mapped.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(array.as_ptr().wrapping_add(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (array, at);
}

/// Asks for huge pages for the part of an array that consists of whole ones.
#[cfg(target_os = "linux")]
fn advise_huge_pages<T>(array: Range<*const T>) {
    const HUGE: usize = 2 << 20;
    let start = (array.start as usize).next_multiple_of(HUGE);
    let end = array.end as usize / HUGE * HUGE;
    if start < end {
        // SAFETY: the range lies within an allocation of the caller, and starts and ends at page
        // boundaries. The advice affects address translation, never contents. Failure changes
        // nothing, so the result is ignored.
        unsafe {
            libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn advise_huge_pages<T>(_: Range<*const T>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligned_arrays_start_at_a_cache_line_and_keep_their_values() {
        for len in [0, 1, 16, 1000, 1 << 20] {
            let mut array = Aligned::zeroed(len);
            assert_eq!((array.len(), array.as_ptr() as usize % 64), (len, 0));
            assert!(array.iter().all(|value| value.to_bits() == 0));
            array.iter_mut().enumerate().for_each(|(at, value)| *value = at as f32);
            assert_eq!(array.clone(), array);
            let expected = array[..len / 2].to_vec();
            assert_eq!(array.into_vec(len / 2), expected);
        }
    }

    #[test]
    fn filled_arrays_hold_copies() {
        assert_eq!(filled(3, 7), [7; 3]);
        assert!(filled(1 << 20, (1_u64, 2_u64)).iter().all(|pair| *pair == (1, 2)));
        assert!(filled(0, 7).is_empty());
    }
}
