//! Large arrays that are read at random.
//!
//! A table of distances is looked up at random places. With pages of four kilobytes nearly every
//! look-up also misses the processor's cache of page addresses; with pages of two megabytes
//! hardly any does. Linux gives such pages to whoever asks.
//!
//! What a look-up still waits for is the memory itself, some hundred nanoseconds. Where places are
//! known a little ahead, [`prefetch`] has a dozen such waits go on at a time.

#![allow(unsafe_code)]

use std::ops::{Deref, DerefMut};

/// A zeroed array on huge pages, where the system has them; an ordinary one elsewhere.
pub(crate) fn zeroed<T: Copy + Default>(len: usize) -> Vec<T> {
    // Zeroed memory is handed out page by page as it is touched, so the advice comes in time.
    let array = vec![T::default(); len];
    #[cfg(target_os = "linux")]
    advise_huge_pages(&array);
    array
}

/// A zeroed array that begins at a line of the cache: if rows are so many lines long, no vector of
/// the processor lies across two, which would take twice as long to read.
#[derive(Debug)]
pub(crate) struct Aligned {
    numbers: Vec<f32>,
    start: usize,
}

impl Aligned {
    /// On huge pages, as [`zeroed`].
    pub(crate) fn zeroed(len: usize) -> Self {
        /// Numbers in a line.
        const LINE: usize = 64 / size_of::<f32>();
        let mut numbers: Vec<f32> = zeroed(len + LINE);
        let start = numbers.as_ptr().align_offset(64).min(LINE);
        numbers.truncate(start + len);
        Self { numbers, start }
    }

    /// The first `len` numbers, from the start of an ordinary list.
    pub(crate) fn into_vec(mut self, len: usize) -> Vec<f32> {
        self.numbers.copy_within(self.start..self.start + len, 0);
        self.numbers.truncate(len);
        self.numbers.shrink_to_fit();
        self.numbers
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
        &self.numbers[self.start..]
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.numbers[self.start..]
    }
}

impl PartialEq for Aligned {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

/// Gives memory back that is free but kept for later, where the system's allocator does so: what
/// comes next is of other sizes.
pub(crate) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: only memory that nobody has is given back.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Asks for an entry of an array before it is needed, so that the wait for it is spent on other
/// work. Asking for one that is not there does nothing.
#[inline]
pub(crate) fn prefetch<T>(array: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: an address is named, never looked at; the processor ignores one that is not mapped.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(array.as_ptr().wrapping_add(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (array, at);
}

#[cfg(target_os = "linux")]
fn advise_huge_pages<T>(array: &[T]) {
    const HUGE: usize = 2 << 20;
    let range = array.as_ptr_range();
    let start = (range.start as usize).next_multiple_of(HUGE);
    let end = range.end as usize / HUGE * HUGE;
    if start < end {
        // SAFETY: the range lies within an array that we own, and begins and ends at page
        // boundaries. The advice changes how its addresses are translated, never its contents;
        // if the system cannot follow it, nothing happens, so the result is not looked at.
        unsafe {
            libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE);
        }
    }
}
