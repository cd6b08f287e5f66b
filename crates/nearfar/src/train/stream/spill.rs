//! The pairs of a pass in a file, by the parts of their two nodes.
//!
//! For each block of centres and each part of other nodes, the file has the lengths of the lists of the
//! blocks of that part, then their pairs. In memory is one position for each block and part.

use std::ops::Range;
use std::path::Path;

use super::buckets::Buckets;
use super::kernel::Pair;
use super::schedule::{Order, Stage};
use super::tasks::PairLists;
use crate::error::Result;
use crate::file::ScratchFile;

/// The pairs of a pass in a file.
pub(super) struct Spill {
    order: Order,
    file: ScratchFile,
    /// Where the lists of a block of centres begin, for each part.
    starts: Vec<Vec<u64>>,
    /// Where the file ends, in numbers.
    end: u64,
    /// A buffer for what is written.
    numbers: Vec<u32>,
}

/// Pairs with centres in one part and other nodes in another.
pub(super) struct Lists {
    /// The first block of either part, and the number of blocks of the second one.
    first: (usize, usize),
    columns: usize,
    /// Where each list begins, and where the last one ends.
    starts: Vec<usize>,
    pairs: Vec<Pair>,
}

/// The pairs of a stage.
pub(super) struct StagePairs {
    pub(super) there: Lists,
    /// Those with centres in the second part; `None` within a part.
    pub(super) back: Option<Lists>,
}

impl Spill {
    /// A file in this folder.
    pub(super) fn new(folder: &Path, order: Order) -> Result<Self> {
        let file = ScratchFile::new(folder)?;
        Ok(Self { order, file, starts: vec![], end: 0, numbers: vec![] })
    }

    /// Forgets the pairs of the pass before.
    pub(super) fn clear(&mut self) {
        self.starts.clear();
        self.end = 0;
    }

    /// Adds the pairs of the next block of centres.
    pub(super) fn add(&mut self, pairs: &Buckets) -> Result<()> {
        let Self { order, numbers, .. } = self;
        let mut starts = vec![];
        numbers.clear();
        for part in 0..order.parts() {
            starts.push(self.end + numbers.len() as u64);
            append(pairs, order.blocks_of(part), numbers);
        }
        self.file.write(self.end, numbers)?;
        self.end += numbers.len() as u64;
        starts.push(self.end);
        self.starts.push(starts);
        Ok(())
    }

    /// Reads the pairs of a stage.
    pub(super) fn stage(&self, (a, b): Stage) -> Result<StagePairs> {
        let back = if a == b { None } else { Some(self.lists(b, a)?) };
        Ok(StagePairs { there: self.lists(a, b)?, back })
    }

    /// Reads the pairs with centres in one part and other nodes in another.
    fn lists(&self, centres: usize, others: usize) -> Result<Lists> {
        let (rows, columns) = (self.order.blocks_of(centres), self.order.blocks_of(others));
        let (first, columns) = ((rows.start, columns.start), columns.len());
        let ranges = || self.starts[rows.clone()].iter().map(|of| of[others]..of[others + 1]);
        let count = ranges().map(|range| (range.end - range.start) as usize - columns).sum();
        let mut lists = Lists { first, columns, starts: vec![0], pairs: Vec::with_capacity(count) };
        for range in ranges() {
            let mut lengths = vec![0_u32; columns];
            self.file.read(range.start, &mut lengths)?;
            let from = lists.pairs.len();
            let mut end = from;
            lists.starts.extend(lengths.iter().map(|&length| {
                end += length as usize;
                end
            }));
            lists.pairs.resize(end, Pair::default());
            self.file.read(range.start + columns as u64, &mut lists.pairs[from..])?;
        }
        Ok(lists)
    }
}

/// Appends the lengths of some lists, then their pairs.
pub(super) fn append(pairs: &Buckets, lists: Range<usize>, numbers: &mut Vec<u32>) {
    numbers.extend(lists.clone().map(|list| pairs.length(list) as u32));
    lists.for_each(|list| numbers.extend(pairs.list(list).flatten().map(|pair| pair.bits())));
}

impl Lists {
    fn list(&self, p: usize, q: usize) -> &[Pair] {
        let at = (p - self.first.0) * self.columns + (q - self.first.1);
        &self.pairs[self.starts[at]..self.starts[at + 1]]
    }

    /// Whether these are the pairs of centres in block p.
    fn is_of(&self, p: usize) -> bool {
        let rows = (self.starts.len() - 1) / self.columns;
        (self.first.0..self.first.0 + rows).contains(&p)
    }
}

impl PairLists for StagePairs {
    fn list(&self, p: usize, q: usize) -> impl Iterator<Item = &[Pair]> {
        let back = self.back.as_ref().filter(|back| back.is_of(p));
        std::iter::once(back.unwrap_or(&self.there).list(p, q))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    #[test]
    fn stages_have_the_pairs_that_were_added() {
        let order = Order::new(7, 3);
        let folder = tempfile::tempdir().unwrap();
        let mut spill = Spill::new(folder.path(), order).unwrap();
        let mut rng = Rng::new(0, Purpose::Edge, 0, 0);
        // The second time in the same file.
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
            for (a, b) in order.stages() {
                let pairs = spill.stage((a, b)).unwrap();
                for (p, q) in
                    order.blocks_of(a).flat_map(|p| order.blocks_of(b).map(move |q| (p, q)))
                {
                    for (p, q) in [(p, q), (q, p)] {
                        let exact: Vec<Pair> = blocks[p].list(q).flatten().copied().collect();
                        let found: Vec<Pair> = pairs.list(p, q).flatten().copied().collect();
                        assert_eq!(found, exact, "blocks {p} and {q}");
                    }
                }
            }
        }
    }
}
