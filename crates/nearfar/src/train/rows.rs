//! A table of rows, in memory or in a file, for work that goes over all of it: initial vectors and
//! smoothing. Chunks of rows are always the same, so that sums over them are.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::error::Result;
use crate::file::FloatFile;

/// Rows of a chunk.
pub(crate) const CHUNK: usize = 4096;

/// Rows of so many numbers.
pub(crate) enum Rows<'a> {
    /// In memory.
    Memory(&'a mut [f32], usize),
    /// In a file.
    File(&'a mut FloatFile, usize),
}

impl Rows<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Memory(values, _) => values.len(),
            Self::File(file, _) => file.values().len(),
        }
    }

    /// Numbers in a row.
    pub(crate) fn stride(&self) -> usize {
        let (Self::Memory(_, stride) | Self::File(_, stride)) = self;
        *stride
    }

    /// The number of chunks.
    fn chunks(&self) -> usize {
        self.len().div_ceil(CHUNK * self.stride())
    }

    /// A chunk.
    pub(crate) fn chunk(&self, at: usize) -> Result<Cow<'_, [f32]>> {
        let size = CHUNK * self.stride();
        let range = at * size..self.len().min((at + 1) * size);
        match self {
            Self::Memory(values, _) => Ok(Cow::Borrowed(&values[range])),
            Self::File(file, _) => {
                let mut values = vec![0.0; range.len()];
                file.read(range.start, &mut values)?;
                Ok(Cow::Owned(values))
            }
        }
    }

    /// A value of each chunk, in order.
    pub(crate) fn map<T: Send>(&self, f: impl Fn(usize, &[f32]) -> T + Sync) -> Result<Vec<T>> {
        (0..self.chunks()).into_par_iter().map(|at| Ok(f(at, &*self.chunk(at)?))).collect()
    }

    /// Changes chunks, and returns a value of each.
    pub(crate) fn update<T: Send>(
        &mut self,
        f: impl Fn(usize, &mut [f32]) -> T + Sync,
    ) -> Result<Vec<T>> {
        let (count, size) = (self.chunks(), CHUNK * self.stride());
        match self {
            Self::Memory(values, _) => {
                let chunks = values.par_chunks_mut(size).enumerate();
                Ok(chunks.map(|(at, chunk)| f(at, chunk)).collect())
            }
            Self::File(..) => {
                let (mut all, some) = (Vec::with_capacity(count), rayon::current_num_threads());
                for first in (0..count).step_by(some) {
                    let chunks = (first..count.min(first + some)).into_par_iter();
                    let changed = chunks.map(|at| {
                        let mut chunk = self.chunk(at)?.into_owned();
                        Ok((f(at, &mut chunk), chunk))
                    });
                    let changed = changed.collect::<Result<Vec<_>>>()?;
                    for (at, (value, chunk)) in (first..).zip(changed) {
                        if let Self::File(file, _) = self {
                            file.write(at * size, &chunk)?;
                        }
                        all.push(value);
                    }
                }
                Ok(all)
            }
        }
    }

    /// Copies some columns, from this one on, to a panel whose rows have as many.
    pub(crate) fn load(&self, first: usize, width: usize, panel: &mut [f32]) -> Result<()> {
        let stride = self.stride();
        panel.par_chunks_mut(CHUNK * width).enumerate().try_for_each(|(at, panel)| {
            let chunk = self.chunk(at)?;
            let rows = panel.chunks_exact_mut(width).zip(chunk.chunks_exact(stride));
            rows.for_each(|(panel, row)| panel.copy_from_slice(&row[first..first + width]));
            Ok(())
        })
    }

    /// Changes some columns, from this one on: `f` sees the number of a row, its columns there, and its
    /// row of the panel.
    pub(crate) fn store(
        &mut self,
        first: usize,
        width: usize,
        panel: &[f32],
        f: impl Fn(usize, &mut [f32], &[f32]) + Sync,
    ) -> Result<()> {
        let stride = self.stride();
        let store = |at: usize, chunk: &mut [f32]| {
            let panel = &panel[at * CHUNK * width..];
            let rows = chunk.chunks_exact_mut(stride).zip(panel.chunks_exact(width)).enumerate();
            rows.for_each(|(row, (values, panel))| {
                f(at * CHUNK + row, &mut values[first..first + width], panel);
            });
        };
        self.update(store).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_the_same_in_memory_and_in_a_file() {
        let (n, stride) = (2 * CHUNK + 77, 5);
        let start: Vec<f32> = (0..n * stride).map(|at| at as f32).collect();
        let folder = tempfile::tempdir().unwrap();
        let mut file = FloatFile::new(folder.path(), n * stride).unwrap();
        file.write(0, &start).unwrap();
        let mut memory = start;
        let run = |mut rows: Rows<'_>| {
            let mut panel = vec![0.0; n * 2];
            rows.load(3, 2, &mut panel).unwrap();
            assert_eq!(panel[2 * 4097..][..2], [20_488.0, 20_489.0]);
            rows.store(1, 2, &panel, |row, values, panel| {
                values.copy_from_slice(&[panel[1], row as f32]);
            })
            .unwrap();
            let firsts = rows.update(|at, chunk| {
                chunk[0] -= 1.0;
                (at, chunk.len())
            });
            assert_eq!(firsts.unwrap(), [(0, 20_480), (1, 20_480), (2, 385)]);
            rows.map(|_, chunk| chunk.iter().sum::<f32>()).unwrap()
        };
        let sums = run(Rows::Memory(&mut memory, stride));
        assert_eq!(run(Rows::File(&mut file, stride)), sums);
        assert_eq!(file.values(), memory);
        assert_eq!(memory[5 * 4097..][..5], [20_485.0, 20_489.0, 4097.0, 20_488.0, 20_489.0]);
    }
}
