//! The pairs of one block's centres, by the block of their other end.
//!
//! How many pairs go where is not known before, and lists that double as they grow would take up to
//! twice the memory. So all lists of a block share one array, and take from it a sheet at a time:
//! what is taken in vain is less than a sheet a list.

use super::kernel::Pair;
use crate::memory;
use crate::simd::PIECE;

/// Lists of pairs, one for each block of other ends.
#[derive(Default)]
pub struct Buckets {
    /// The sheets, one after the other.
    pairs: Vec<Pair>,
    /// How many of them are taken.
    taken: usize,
    /// The sheets of each list, in its order.
    sheets: Vec<Vec<u32>>,
    /// Where the next pair of each list goes; a multiple of [`SHEET`] means to a new sheet.
    next: Vec<usize>,
}

/// Pairs in a sheet: some whole pieces of the kernel, so that a list is trained as if it were in
/// one.
const SHEET: usize = 64 * PIECE;

impl Buckets {
    /// The memory of so many lists with so many pairs in all.
    pub fn bytes(lists: u64, pairs: u64) -> u64 {
        // The last sheet of a list is half empty on average.
        (pairs + lists * SHEET as u64 / 2) * size_of::<Pair>() as u64
    }

    /// Empties all lists, of which there will be `lists` with about so many pairs in all.
    pub(super) fn clear(&mut self, lists: usize, pairs: usize) {
        self.taken = 0;
        self.sheets.resize_with(lists, Vec::new);
        self.sheets.iter_mut().for_each(Vec::clear);
        self.next.clear();
        self.next.resize(lists, 0);
        // Where nothing is written yet, nothing is taken from the system.
        let room = pairs.next_multiple_of(SHEET) + lists * SHEET;
        if self.pairs.len() < room {
            self.pairs = Vec::new();
            self.pairs = memory::zeroed(room);
        }
    }

    /// Puts a pair at the end of a list.
    #[inline]
    pub(super) fn put(&mut self, list: usize, pair: Pair) {
        let mut at = self.next[list];
        if at.is_multiple_of(SHEET) {
            at = self.sheet(list);
        }
        self.pairs[at] = pair;
        self.next[list] = at + 1;
    }

    /// Takes a sheet for a list; returns where it begins.
    #[cold]
    fn sheet(&mut self, list: usize) -> usize {
        let at = self.taken * SHEET;
        if self.pairs.len() < at + SHEET {
            self.pairs.resize(at + SHEET, Pair::default());
        }
        self.sheets[list].push(self.taken as u32);
        self.taken += 1;
        at
    }

    /// How many pairs there are in all lists.
    pub fn len(&self) -> usize {
        (0..self.sheets.len()).flat_map(|list| self.list(list)).map(<[Pair]>::len).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.taken == 0
    }

    /// The pairs of a list in their order, in pieces.
    pub fn list(&self, list: usize) -> impl Iterator<Item = &[Pair]> {
        let next = self.next.get(list).copied().unwrap_or(0);
        self.sheets.get(list).into_iter().flatten().map(move |&sheet| {
            let start = sheet as usize * SHEET;
            let end = start + SHEET;
            // The last one is where the next pair goes, unless it is full.
            &self.pairs[start..if (start..end).contains(&next) { next } else { end }]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    #[test]
    fn lists_hold_what_was_put_in_its_order() {
        let mut rng = Rng::new(0, Purpose::Edge, 0, 0);
        let mut buckets = Buckets::default();
        // With the room that was announced, with too little, and with room left from before.
        for (lists, count, announced) in [(5, 20_000, 20_000), (3, 50_000, 10), (7, 9000, 9000)] {
            buckets.clear(lists, announced);
            assert!(buckets.is_empty());
            let mut oracle = vec![vec![]; lists];
            for number in 0..count {
                // One list stays empty, one gets half.
                let list = if number % 2 == 0 { 0 } else { rng.below(lists - 1) };
                let pair = Pair::new(number % 32_768, number / 32_768, number % 3 == 0);
                oracle[list].push(pair);
                buckets.put(list, pair);
            }
            for (list, oracle) in oracle.iter().enumerate() {
                let found: Vec<Pair> = buckets.list(list).flatten().copied().collect();
                assert_eq!(&found, oracle, "list {list}");
                let pieces: Vec<usize> = buckets.list(list).map(<[Pair]>::len).collect();
                let (_, whole) = pieces.split_last().unwrap_or((&0, &[]));
                assert!(whole.iter().all(|length| length % PIECE == 0), "list {list}");
            }
            assert_eq!(buckets.len(), count as usize);
        }
    }
}
