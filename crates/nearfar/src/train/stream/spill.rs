//! The pairs of a pass in files, by the blocks of their two nodes.
//!
//! One file has the length of every list, for each block of centres and each block of other nodes. The
//! other one has the pairs, block of centres by block of centres. In memory is where the pairs of each block
//! of centres with each segment of other blocks begin.

use std::ops::Range;
use std::path::Path;

use super::buckets::Buckets;
use super::kernel::Pair;
use super::tasks::PairLists;
use crate::error::Result;
use crate::file::ScratchFile;
use crate::memory::zeroed;

/// The pairs of a pass in files.
pub(super) struct Spill {
    /// The number of blocks, and how many are a segment.
    blocks: usize,
    segment: usize,
    lengths: ScratchFile,
    pairs: ScratchFile,
    /// For each block of centres, where the pairs with each segment of other blocks begin.
    starts: Vec<Vec<u64>>,
    /// How many pairs there are.
    end: u64,
    /// A buffer for what is written.
    buffer: Vec<Pair>,
}

/// Pairs with centres in some blocks and other nodes in others.
pub(super) struct Lists {
    centres: Range<usize>,
    others: Range<usize>,
    /// Where each list begins, and where the last one ends.
    starts: Vec<usize>,
    pairs: Vec<Pair>,
}

impl Spill {
    /// Files in this folder, for so many blocks in segments.
    pub(super) fn new(folder: &Path, blocks: usize, segment: usize) -> Result<Self> {
        let [lengths, pairs] = [ScratchFile::new(folder)?, ScratchFile::new(folder)?];
        Ok(Self { blocks, segment, lengths, pairs, starts: vec![], end: 0, buffer: vec![] })
    }

    /// Forgets the pairs of the pass before.
    pub(super) fn clear(&mut self) {
        self.starts.clear();
        self.end = 0;
    }

    /// Adds the pairs of the next block of centres.
    pub(super) fn add(&mut self, pairs: &Buckets) -> Result<()> {
        let (mut lengths, mut starts) = (vec![], vec![]);
        self.buffer.clear();
        for list in 0..self.blocks {
            if list % self.segment == 0 {
                starts.push(self.end + self.buffer.len() as u64);
            }
            let before = self.buffer.len();
            pairs.list(list).for_each(|pairs| self.buffer.extend_from_slice(pairs));
            lengths.push((self.buffer.len() - before) as u32);
        }
        self.lengths.write((self.starts.len() * self.blocks) as u64, &lengths)?;
        self.pairs.write(self.end, &self.buffer)?;
        self.end += self.buffer.len() as u64;
        self.starts.push(starts);
        Ok(())
    }

    /// Reads the pairs with centres in some blocks and other nodes in others, which are whole segments.
    pub(super) fn lists(&self, centres: Range<usize>, others: Range<usize>) -> Result<Lists> {
        let (mut lengths, columns) = (vec![0_u32; centres.len() * others.len()], others.len());
        for (block, lengths) in centres.clone().zip(lengths.chunks_mut(columns.max(1))) {
            self.lengths.read((block * self.blocks + others.start) as u64, lengths)?;
        }
        let starts = starts(&lengths);
        let mut pairs = zeroed(starts[lengths.len()]);
        for (at, block) in centres.clone().enumerate() {
            let list = &mut pairs[starts[at * columns]..starts[(at + 1) * columns]];
            if !list.is_empty() {
                self.pairs.read(self.starts[block][others.start / self.segment], list)?;
            }
        }
        Ok(Lists { centres, others, starts, pairs })
    }
}

/// Where lists of these lengths begin, and where the last one ends.
fn starts(lengths: &[u32]) -> Vec<usize> {
    let ends = lengths.iter().scan(0, |end, &length| {
        *end += length as usize;
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

impl Lists {
    /// The pairs with centres in block p and other nodes in block q, if they are here.
    fn list(&self, p: usize, q: usize) -> Option<&[Pair]> {
        if !self.centres.contains(&p) || !self.others.contains(&q) {
            return None;
        }
        let at = (p - self.centres.start) * self.others.len() + (q - self.others.start);
        Some(&self.pairs[self.starts[at]..self.starts[at + 1]])
    }
}

impl PairLists for Vec<Lists> {
    fn list(&self, p: usize, q: usize) -> impl Iterator<Item = &[Pair]> {
        self.iter().find_map(|lists| lists.list(p, q)).into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    #[test]
    fn lists_have_the_pairs_that_were_added() {
        let folder = tempfile::tempdir().unwrap();
        let mut spill = Spill::new(folder.path(), 7, 3).unwrap();
        let mut rng = Rng::new(0, Purpose::Edge, 0, 0);
        // The second time in the same files.
        for count in [900, 500] {
            spill.clear();
            let blocks: Vec<Buckets> = (0..7)
                .map(|_| {
                    let mut buckets = Buckets::default();
                    buckets.clear(7, count);
                    for number in 0..count as u32 {
                        // One list stays empty.
                        buckets.push(rng.below(6), Pair::new(number, 7, number % 2 == 0));
                    }
                    buckets
                })
                .collect();
            for block in &blocks {
                spill.add(block).unwrap();
            }
            for (centres, others) in [(0..7, 0..7), (2..5, 3..6), (6..7, 6..7), (0..2, 0..6)] {
                let lists = vec![spill.lists(centres.clone(), others.clone()).unwrap()];
                for (p, q) in (0..7).flat_map(|p| (0..7).map(move |q| (p, q))) {
                    let found: Vec<Pair> = lists.list(p, q).flatten().copied().collect();
                    let exact = blocks[p].list(q).flatten().copied();
                    let is_here = centres.contains(&p) && others.contains(&q);
                    assert!(exact.filter(|_| is_here).eq(found), "blocks {p} and {q}");
                }
            }
        }
    }
}
