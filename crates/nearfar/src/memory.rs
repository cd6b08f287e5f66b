//! Large arrays for random access, and arrays in mapped files ([`Array`]).
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

use std::any::Any;
use std::fmt::{self, Debug};
use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;
use std::sync::Arc;

use memmap2::Mmap;

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
    let mut array = with_capacity(len);
    array.resize(len, value);
    array
}

/// An empty array with room for so many values, on huge pages where possible.
pub(crate) fn with_capacity<T>(len: usize) -> Vec<T> {
    let mut array = Vec::with_capacity(len);
    advise_huge_pages(array.spare_capacity_mut().as_ptr_range());
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

/// A file that is mapped into memory: its bytes are read from the disk when they are first used, and
/// processes that map the same file share them.
#[derive(Clone, Debug)]
pub(crate) struct Mapped(Arc<Mmap>);

impl Mapped {
    /// Maps a whole file. A file that is being read should be replaced, never written to: where its
    /// bytes change, so do those of arrays, and where it is cut, reading them ends the process.
    pub(crate) fn new(file: &File) -> io::Result<Self> {
        // SAFETY: the language has no word about memory that another process writes to. Files of
        // this program are replaced by renaming, which leaves the mapped one as it is, and of what is
        // read no value is invalid (`Plain`).
        unsafe { Mmap::map(file) }.map(|map| Self(Arc::new(map)))
    }

    /// The bytes in this range as an array; `None` if the file does not have them, or if they are
    /// not aligned or not whole values.
    pub(crate) fn array<T: Plain>(&self, bytes: Range<usize>) -> Option<Array<T>> {
        let bytes = self.0.get(bytes)?;
        let start = bytes.as_ptr().cast::<T>();
        if !start.is_aligned() || !bytes.len().is_multiple_of(size_of::<T>()) {
            return None;
        }
        let start = NonNull::new(start.cast_mut())?;
        let values = NonNull::slice_from_raw_parts(start, bytes.len() / size_of::<T>());
        Some(Array { values, owner: self.0.clone() })
    }

    /// Gives the pages that were read back to the system; they are read again when they are used.
    pub(crate) fn release(&self) {
        release(&self.0);
    }
}

/// Gives pages of a file back to the system.
fn release(map: &Mmap) {
    #[cfg(unix)]
    // SAFETY: the pages are those of a file that is mapped for reading, and come from there again.
    unsafe {
        let _ = map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed);
    }
    #[cfg(not(unix))]
    let _ = map;
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// Numbers of which every pattern of bits is a value.
pub trait Plain: Copy + Send + Sync + 'static {}

impl Plain for u8 {}
impl Plain for u32 {}
impl Plain for usize {}
impl Plain for f32 {}

/// The bytes of numbers, as they are in memory.
pub(crate) fn bytes_of<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: numbers have no padding, so all of their bytes are initialised; they are borrowed for
    // as long as the result is.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The same, to be overwritten.
pub(crate) fn bytes_of_mut<T: Plain>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: as above; every pattern of bits is a value, and they are borrowed mutably for as long as
    // the result is.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

/// An array that never changes: owned, or a part of a mapped file. Clones share it. Access costs as
/// much as that of a `Vec`, whichever it is.
pub struct Array<T> {
    /// The values, which lie in what `owner` keeps alive.
    values: NonNull<[T]>,
    owner: Arc<dyn Any + Send + Sync>,
}

// SAFETY: an array is read only, its owner can be sent and shared, and so can plain numbers.
unsafe impl<T: Plain> Send for Array<T> {}
// SAFETY: as above.
unsafe impl<T: Plain> Sync for Array<T> {}

impl<T: Plain> From<Vec<T>> for Array<T> {
    fn from(values: Vec<T>) -> Self {
        let owner = Arc::new(values);
        Self { values: NonNull::from(owner.as_slice()), owner }
    }
}

impl<T: Plain> Array<T> {
    /// The values; copied if they are in a file or shared.
    pub fn into_vec(self) -> Vec<T> {
        let Self { values, owner } = self;
        let owned = owner.clone().downcast::<Vec<T>>();
        match owned {
            Ok(shared) => {
                drop(owner);
                Arc::try_unwrap(shared).unwrap_or_else(|shared| shared.to_vec())
            }
            Err(_) => Self { values, owner }.to_vec(),
        }
    }

    /// The values in pieces of so many. An array in a file may be larger than memory: before each piece, the
    /// pages of those before it are given back to the system.
    pub(crate) fn pieces(&self, len: usize) -> impl Iterator<Item = &[T]> {
        self.chunks(len).inspect(|_| self.release())
    }

    /// Gives pages of a file that were read back to the system.
    pub(crate) fn release(&self) {
        if let Some(map) = self.owner.downcast_ref::<Mmap>() {
            release(map);
        }
    }
}

impl<T> Deref for Array<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the values are aligned and initialised, they stay where they are for as long as
        // their owner lives, and nothing changes them, as only this array and its clones see it.
        unsafe { self.values.as_ref() }
    }
}

impl<T> Clone for Array<T> {
    fn clone(&self) -> Self {
        Self { values: self.values, owner: self.owner.clone() }
    }
}

impl<T: Debug> Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: PartialEq> PartialEq for Array<T> {
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
    fn arrays_are_owned_or_parts_of_a_file() {
        use std::io::Write;
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 128, 63, 9]).unwrap();
        let mapped = Mapped::new(&file).unwrap();
        let integers: Array<u32> = mapped.array(0..8).unwrap();
        let floats: Array<f32> = mapped.array(8..12).unwrap();
        let bytes: Array<u8> = mapped.array(12..13).unwrap();
        // None of them is aligned, whole, or within the file.
        for range in [1..5, 0..6, 8..16, 16..20] {
            assert!(mapped.array::<u32>(range).is_none());
        }
        drop(mapped);
        assert_eq!(integers, Array::from(vec![1_u32.to_le(), 2_u32.to_le()]));
        let copy = integers.clone();
        drop(integers);
        let read = std::thread::spawn(move || copy.to_vec()).join().unwrap();
        assert_eq!(read, [1_u32.to_le(), 2_u32.to_le()]);
        if cfg!(target_endian = "little") {
            assert_eq!(*floats, [1.0]);
        }
        assert_eq!(format!("{bytes:?}"), "[9]");
        assert!(Array::from(Vec::<f32>::new()).is_empty());
    }

    #[test]
    fn filled_arrays_hold_copies() {
        assert_eq!(filled(3, 7), [7; 3]);
        assert!(filled(1 << 20, (1_u64, 2_u64)).iter().all(|pair| *pair == (1, 2)));
        assert!(filled(0, 7).is_empty());
    }
}
