//! Files for what does not fit memory while a run lasts. They have no names: nothing is left of them,
//! however the run ends.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::memory::{Array, Mapped, Plain, bytes_of, bytes_of_mut};

/// A file of numbers that are read and written by position.
#[derive(Debug)]
pub(crate) struct ScratchFile {
    file: File,
    folder: PathBuf,
}

impl ScratchFile {
    /// An empty file in a folder, which exists.
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).map_err(|error| Error::write(folder, error))?;
        Ok(Self { file, folder: folder.to_owned() })
    }

    /// Reads numbers that begin at the position of a number.
    pub(crate) fn read<T: Plain>(&self, at: u64, out: &mut [T]) -> Result<()> {
        let at = at * size_of::<T>() as u64;
        let read = read_exact_at(&self.file, bytes_of_mut(out), at);
        read.map_err(|error| Error::read(&self.folder, error))
    }

    /// Writes numbers from the position of a number on.
    pub(crate) fn write<T: Plain>(&self, at: u64, values: &[T]) -> Result<()> {
        let at = at * size_of::<T>() as u64;
        let written = write_all_at(&self.file, bytes_of(values), at);
        written.map_err(|error| Error::write(&self.folder, error))
    }
}

/// Floats that are written at a time.
const PIECE: usize = 1 << 20;

/// A table of floats in a file.
#[derive(Debug)]
pub(crate) struct FloatFile {
    file: ScratchFile,
    map: Mapped,
    values: Array<f32>,
}

impl FloatFile {
    /// So many floats in a file, all zero and written: where the disk is full, that shows here.
    pub(crate) fn new(folder: &Path, len: usize) -> Result<Self> {
        let file = ScratchFile::new(folder)?;
        let zeros = vec![0.0_f32; PIECE.min(len)];
        for at in (0..len).step_by(PIECE) {
            file.write(at as u64, &zeros[..PIECE.min(len - at)])?;
        }
        let fail = |error| Error::read(folder, error);
        let map = Mapped::new(&file.file).map_err(fail)?;
        let values =
            map.array(0..4 * len).ok_or_else(|| fail(io::ErrorKind::InvalidData.into()))?;
        Ok(Self { file, map, values })
    }

    /// Reads floats from a position on.
    pub(crate) fn read(&self, at: usize, out: &mut [f32]) -> Result<()> {
        self.file.read(at as u64, out)
    }

    /// Writes floats from a position on.
    pub(crate) fn write(&mut self, at: usize, values: &[f32]) -> Result<()> {
        self.file.write(at as u64, values)
    }

    /// All values.
    pub(crate) fn values(&self) -> &[f32] {
        &self.values
    }

    /// Gives the pages of values that were read back to the system.
    pub(crate) fn release(&self) {
        self.map.release();
    }

    /// Replaces all values.
    pub(crate) fn fill(&mut self, mut values: &mut dyn Iterator<Item = f32>) -> Result<()> {
        let mut at = 0;
        loop {
            let piece: Vec<f32> = Iterator::by_ref(&mut values).take(PIECE).collect();
            if piece.is_empty() {
                return Ok(());
            }
            self.write(at, &piece)?;
            at += piece.len();
        }
    }

    /// The first `len` values, which stay in the file.
    pub(crate) fn into_array(self, len: usize) -> Array<f32> {
        self.map.array(0..4 * len).unwrap_or(self.values)
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, out: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, out, at)
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut out: &mut [u8], mut at: u64) -> io::Result<()> {
    while !out.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, out, at)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => (out, at) = (&mut out[read..], at + read as u64),
        }
    }
    Ok(())
}

#[cfg(windows)]
fn write_all_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_write(file, bytes, at)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => (bytes, at) = (&bytes[written..], at + written as u64),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_read_where_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let len = (1 << 20) + 5;
        let mut file = FloatFile::new(folder.path(), len).unwrap();
        file.write(len - 3, &[1.0, 2.0, 3.0]).unwrap();
        let mut out = [9.0; 5];
        file.read(len - 4, &mut out[..4]).unwrap();
        assert_eq!(out.map(f32::to_bits), [0.0, 1.0, 2.0, 3.0, 9.0].map(f32::to_bits));
        // What is mapped follows what is written, also after its pages were given back.
        assert_eq!(file.values()[len - 1].to_bits(), 3.0_f32.to_bits());
        file.release();
        file.write(0, &[7.0]).unwrap();
        assert_eq!(file.values()[..2], [7.0, 0.0]);
        assert!(file.read(len - 1, &mut out).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it has no name");
        assert_eq!(file.into_array(len).into_vec()[len - 3..], [1.0, 2.0, 3.0]);
    }

    #[test]
    fn a_folder_that_does_not_exist_is_named() {
        let error = FloatFile::new(Path::new("missing/folder"), 3).unwrap_err().to_string();
        assert!(error.starts_with("missing/folder: cannot write"), "{error}");
    }
}
