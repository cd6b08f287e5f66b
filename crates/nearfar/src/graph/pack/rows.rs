//! The rows of a list of edges, sorted range by range.

use std::io;

use super::super::build::for_each_row;
use super::super::{Node, Repeats};
use super::edges::{Pairs, Scratch};
use super::format::Writer;
use crate::error::{Error, Result};

/// Ranges of rows, and the arcs of each in a temporary file.
pub(super) struct Ranges {
    index: RangeIndex,
    files: Vec<Pairs>,
    /// The degree of every row: of the list, then of the graph.
    degrees: Vec<u32>,
    /// Where weights are kept until all targets are written; `None` without weights.
    weights: Option<Pairs>,
}

/// Why the rows are not written.
pub(super) enum Failure {
    /// The packed file cannot be written.
    Output(io::Error),
    /// Something else.
    Other(Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// An arc of a row: the neighbour and the weight.
type Arc = (Node, f32);

impl Ranges {
    /// Cuts rows of these degrees, the arcs of which are to be [added](Self::add).
    pub(super) fn new(
        scratch: &Scratch,
        degrees: Vec<u32>,
        weighted: bool,
        memory: u64,
    ) -> Result<Self> {
        /// Memory for an arc of the range that is sorted: the arc, and room to sort.
        const BYTES: u64 = 32;
        /// As many files are open.
        const MOST: u64 = 500;
        let all: u64 = degrees.iter().map(|&degree| u64::from(degree)).sum();
        let most = (memory / BYTES).max(all / MOST).max(1);
        let mut bounds = vec![0];
        let mut arcs = 0;
        for (row, &degree) in degrees.iter().enumerate() {
            if arcs > 0 && arcs + u64::from(degree) > most {
                bounds.push(row);
                arcs = 0;
            }
            arcs += u64::from(degree);
        }
        bounds.push(degrees.len());
        let files = (1..bounds.len()).map(|_| Pairs::new(scratch, weighted));
        let files = files.collect::<Result<_>>()?;
        let weights = weighted.then(|| Pairs::new(scratch, false)).transpose()?;
        Ok(Self { index: RangeIndex::new(bounds), files, degrees, weights })
    }

    /// Adds the two arcs of an edge.
    #[inline]
    pub(super) fn add(&mut self, (a, b): (Node, Node), weight: Option<f32>) -> Result<()> {
        self.files[self.index.of(a)].push((a, b), weight)?;
        self.files[self.index.of(b)].push((b, a), weight)
    }

    /// The number of arcs, once they are written.
    pub(super) fn arcs(&self) -> u64 {
        self.degrees.iter().map(|&degree| u64::from(degree)).sum()
    }

    /// Writes targets, weights and offsets.
    pub(super) fn write(&mut self, repeats: Repeats, out: &mut Writer) -> Result<(), Failure> {
        out.begin::<Node>("targets")?;
        // Each file goes as soon as it is sorted.
        for (at, file) in std::mem::take(&mut self.files).into_iter().enumerate() {
            let arcs = self.sort(at, file, repeats)?;
            for piece in arcs.chunks(PIECE) {
                let targets: Vec<Node> = piece.iter().map(|arc| arc.0).collect();
                out.write(&targets)?;
            }
            if let Some(weights) = &mut self.weights {
                arcs.iter().try_for_each(|arc| weights.push((arc.1.to_bits(), 0), None))?;
            }
        }
        if let Some(mut weights) = self.weights.take() {
            out.begin::<f32>("weights")?;
            let mut written = Ok(());
            weights.for_each(|(bits, _), _| {
                if written.is_ok() {
                    written = out.write(&[f32::from_bits(bits)]);
                }
                Ok(())
            })?;
            written?;
        }
        out.begin::<usize>("offsets")?;
        out.write(&[0_usize])?;
        let mut end = 0;
        for degrees in self.degrees.chunks(PIECE) {
            let ends = degrees.iter().map(|&degree| {
                end += degree as usize;
                end
            });
            out.write(&ends.collect::<Vec<usize>>())?;
        }
        Ok(())
    }

    /// The arcs of a range, row by row, each row sorted and without duplicates.
    fn sort(&mut self, at: usize, mut file: Pairs, repeats: Repeats) -> Result<Vec<Arc>> {
        let bounds = &self.index.bounds;
        let first = bounds[at];
        let degrees = &mut self.degrees[first..bounds[at + 1]];
        let mut offsets = vec![0];
        offsets.extend(degrees.iter().scan(0, |end, &degree| {
            *end += degree as usize;
            Some(*end)
        }));
        let mut next = offsets.clone();
        let mut arcs: Vec<Arc> = vec![(0, 0.0); offsets[degrees.len()]];
        file.for_each(|(row, target), weight| {
            let next = &mut next[row as usize - first];
            arcs[*next] = (target, weight.unwrap_or_default());
            *next += 1;
            Ok(())
        })?;
        // Weights of repeated edges are merged in the order of the list.
        for_each_row(&offsets, &mut arcs, |row| row.sort_by_key(|arc| arc.0));
        let mut kept = 0;
        for (degree, bounds) in degrees.iter_mut().zip(offsets.windows(2)) {
            let (mut start, before) = (bounds[0], kept);
            while start < bounds[1] {
                let row = &arcs[start..bounds[1]];
                let same = row.iter().take_while(|arc| arc.0 == row[0].0).count();
                let weight = repeats.merge(row[..same].iter().map(|arc| arc.1));
                if weight.is_infinite() {
                    return Err(Error::graph(Repeats::too_large()));
                }
                arcs[kept] = (row[0].0, weight);
                kept += 1;
                start += same;
            }
            *degree = (kept - before) as u32;
        }
        arcs.truncate(kept);
        Ok(arcs)
    }
}

/// Numbers that are written at a time.
const PIECE: usize = 1 << 16;

/// Finds the range of a row: by a table of the upper bits, then in a few steps.
struct RangeIndex {
    /// The first row of each range, and the end of the last one.
    bounds: Vec<usize>,
    shift: u32,
    first: Vec<u16>,
}

impl RangeIndex {
    fn new(bounds: Vec<usize>) -> Self {
        /// Entries of the table, about.
        const ENTRIES: usize = 1 << 12;
        let rows = bounds[bounds.len() - 1];
        let shift = rows.div_ceil(ENTRIES).next_power_of_two().trailing_zeros();
        let range = |row: usize| bounds[1..].partition_point(|&end| end <= row) as u16;
        let first = (0..=rows >> shift).map(|at| range(at << shift)).collect();
        Self { bounds, shift, first }
    }

    #[inline]
    fn of(&self, row: Node) -> usize {
        let row = row as usize;
        let mut range = usize::from(self.first[row >> self.shift]);
        while self.bounds[range + 1] <= row {
            range += 1;
        }
        range
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_its_range() {
        for bounds in [vec![0, 1], vec![0, 3, 4, 9], (0..=400).map(|at| at * 37).collect()] {
            let index = RangeIndex::new(bounds.clone());
            for row in 0..bounds[bounds.len() - 1] {
                let range = index.of(row as Node);
                assert!((bounds[range]..bounds[range + 1]).contains(&row), "{row} in {range}");
            }
        }
    }
}
