//! A table of rows, in memory or in a file, for work that goes over all of it: initial vectors and
//! smoothing. Chunks of rows are always the same, so that sums over them are.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use crate::budget::product;
use crate::error::Result;
use crate::file::FloatFile;

/// Rows of a chunk.
pub(crate) const CHUNK: usize = 4096;

/// Bytes of the chunks of n rows in a file that are in memory at a time: one for each thread.
pub(crate) fn bytes(n: usize, stride: usize) -> u64 {
    product([rayon::current_num_threads(), CHUNK.min(n), stride, 4])
}

/// Rows of so many numbers.
pub(crate) enum Rows<'a> {
    /// In memory.
    Memory(&'a mut [f32], usize),
    /// In a file, one after the other.
    File(&'a mut FloatFile, usize),
    /// In a file, some columns of all rows, then the next ones.
    Panels(&'a mut FloatFile, Panels),
}

/// How a table is stored by columns.
#[derive(Clone, Copy)]
pub(crate) struct Panels {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Columns of a panel; the last one may have fewer.
    pub(crate) width: usize,
}

impl Rows<'_> {
    /// The number of rows.
    fn len(&self) -> usize {
        match self {
            Self::Memory(values, stride) => values.len() / stride,
            Self::File(file, stride) => file.values().len() / stride,
            Self::Panels(_, Panels { rows, .. }) => *rows,
        }
    }

    /// Numbers in a row.
    pub(crate) fn stride(&self) -> usize {
        match self {
            Self::Memory(_, stride) | Self::File(_, stride) => *stride,
            Self::Panels(_, Panels { columns, .. }) => *columns,
        }
    }

    /// The rows of each chunk.
    fn chunks(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let rows = self.len();
        (0..rows).step_by(CHUNK).map(move |first| first..rows.min(first + CHUNK))
    }

    /// A chunk.
    pub(crate) fn chunk(&self, at: usize) -> Result<Cow<'_, [f32]>> {
        let stride = self.stride();
        let rows = at * CHUNK..self.len().min((at + 1) * CHUNK);
        match self {
            Self::Memory(values, _) => {
                Ok(Cow::Borrowed(&values[rows.start * stride..rows.end * stride]))
            }
            Self::File(file, _) => {
                let mut values = vec![0.0; rows.len() * stride];
                file.read(rows.start * stride, &mut values)?;
                Ok(Cow::Owned(values))
            }
            Self::Panels(file, panels) => {
                let mut values = vec![0.0; rows.len() * stride];
                panels.each(|first, width| {
                    let mut panel = vec![0.0; rows.len() * width];
                    file.read(panels.place(first, width, rows.start), &mut panel)?;
                    let rows = values.chunks_exact_mut(stride).zip(panel.chunks_exact(width));
                    rows.for_each(|(row, panel)| row[first..first + width].copy_from_slice(panel));
                    Ok(())
                })?;
                Ok(Cow::Owned(values))
            }
        }
    }

    /// Replaces a chunk of a file.
    fn write(&mut self, first_row: usize, values: &[f32]) -> Result<()> {
        let stride = self.stride();
        match self {
            Self::Memory(..) => Ok(()),
            Self::File(file, _) => file.write(first_row * stride, values),
            Self::Panels(file, panels) => panels.each(|first, width| {
                let rows = values.chunks_exact(stride);
                let panel: Vec<f32> =
                    rows.flat_map(|row| &row[first..first + width]).copied().collect();
                file.write(panels.place(first, width, first_row), &panel)
            }),
        }
    }

    /// A value of each chunk, in order.
    pub(crate) fn map<T: Send>(&self, f: impl Fn(usize, &[f32]) -> T + Sync) -> Result<Vec<T>> {
        let chunks = (0..self.chunks().count()).into_par_iter();
        chunks.map(|at| Ok(f(at, &self.chunk(at)?))).collect()
    }

    /// Changes chunks, and returns a value of each.
    pub(crate) fn update<T: Send>(
        &mut self,
        f: impl Fn(usize, &mut [f32]) -> T + Sync,
    ) -> Result<Vec<T>> {
        if let Self::Memory(values, stride) = self {
            let chunks = values.par_chunks_mut(CHUNK * *stride).enumerate();
            return Ok(chunks.map(|(at, chunk)| f(at, chunk)).collect());
        }
        // As many at a time as there are threads.
        let (count, some) = (self.chunks().count(), rayon::current_num_threads());
        let mut all = Vec::with_capacity(count);
        for first in (0..count).step_by(some) {
            let changed = (first..count.min(first + some)).into_par_iter().map(|at| {
                let mut chunk = self.chunk(at)?.into_owned();
                Ok((f(at, &mut chunk), chunk))
            });
            for (at, (value, chunk)) in (first..).zip(changed.collect::<Result<Vec<_>>>()?) {
                self.write(at * CHUNK, &chunk)?;
                all.push(value);
            }
        }
        Ok(all)
    }

    /// Copies some columns, from this one on, to a panel whose rows have as many.
    pub(crate) fn load(&self, first: usize, width: usize, panel: &mut [f32]) -> Result<()> {
        if let Self::Panels(file, panels) = self {
            return file.read(panels.place(first, width, 0), panel);
        }
        let stride = self.stride();
        panel.par_chunks_mut(CHUNK * width).enumerate().try_for_each(|(at, panel)| {
            let chunk = self.chunk(at)?;
            let rows = panel.chunks_exact_mut(width).zip(chunk.chunks_exact(stride));
            rows.for_each(|(panel, row)| panel.copy_from_slice(&row[first..first + width]));
            Ok(())
        })
    }

    /// Replaces some columns, from this one on, in the rows for which `is_changed` holds.
    pub(crate) fn store(
        &mut self,
        first: usize,
        width: usize,
        panel: &[f32],
        is_changed: impl Fn(usize) -> bool + Sync,
    ) -> Result<()> {
        if let Self::Panels(file, panels) = self {
            return file.write(panels.place(first, width, 0), panel);
        }
        let stride = self.stride();
        let store = |at: usize, chunk: &mut [f32]| {
            let panel = panel[at * CHUNK * width..].chunks_exact(width);
            for (row, (values, panel)) in chunk.chunks_exact_mut(stride).zip(panel).enumerate() {
                if is_changed(at * CHUNK + row) {
                    values[first..first + width].copy_from_slice(panel);
                }
            }
        };
        self.update(store).map(drop)
    }
}

impl Panels {
    /// Where the columns of a row begin.
    fn place(self, first: usize, width: usize, row: usize) -> usize {
        debug_assert!(
            first.is_multiple_of(self.width) && width == self.width.min(self.columns - first)
        );
        first * self.rows + row * width
    }

    /// Calls a function with the first column of each panel and their number.
    fn each(self, mut f: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
        let mut firsts = (0..self.columns).step_by(self.width);
        firsts.try_for_each(|first| f(first, self.width.min(self.columns - first)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_the_same_in_memory_and_in_files() {
        let (n, stride) = (2 * CHUNK + 77, 5);
        let start: Vec<f32> = (0..n * stride).map(|at| at as f32).collect();
        let fill = |at: usize, chunk: &mut [f32]| {
            chunk.copy_from_slice(&start[at * CHUNK * stride..][..chunk.len()]);
        };
        let run = |mut rows: Rows<'_>| {
            rows.update(fill).unwrap();
            let mut panel = vec![0.0; n * 2];
            rows.load(2, 2, &mut panel).unwrap();
            assert_eq!(panel[2 * 4097..][..2], [20_487.0, 20_488.0]);
            for value in &mut panel {
                *value -= 1.0;
            }
            rows.store(2, 2, &panel, |_| true).unwrap();
            let firsts = rows.update(|at, chunk| {
                chunk[0] -= 1.0;
                (at, chunk.len())
            });
            assert_eq!(firsts.unwrap(), [(0, 20_480), (1, 20_480), (2, 385)]);
            rows.map(|_, chunk| chunk.to_vec()).unwrap().concat()
        };
        let folder = tempfile::tempdir().unwrap();
        let file = || FloatFile::new(folder.path(), n * stride).unwrap();
        let found = run(Rows::Memory(&mut start.clone(), stride));
        assert_eq!(found[5 * 4097..][..5], [20_485.0, 20_486.0, 20_486.0, 20_487.0, 20_489.0]);
        assert!(run(Rows::File(&mut file(), stride)) == found);
        let panels = Panels { rows: n, columns: stride, width: 2 };
        assert!(run(Rows::Panels(&mut file(), panels)) == found);
        // Some rows stay as they are.
        let mut memory = vec![1.0, 2.0, 3.0, 4.0];
        Rows::Memory(&mut memory, 2).store(1, 1, &[8.0, 9.0], |row| row == 1).unwrap();
        assert_eq!(memory, [1.0, 2.0, 3.0, 9.0]);
    }
}
