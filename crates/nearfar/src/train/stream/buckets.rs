//! The pairs of one block of centres, by the block of the other node.
//!
//! The length of each list is not known in advance, and lists that double as they grow would take up
//! to twice the memory. So all lists of a block share one array, and take chunks of it as they grow:
//! each list leaves less than a chunk unused. The array has a spare chunk for each list.

use super::kernel::Pair;
use crate::memory;
use crate::simd::PIECE;

/// Lists of pairs, one for each block of other nodes.
#[derive(Default)]
pub struct Buckets {
    /// The chunks of all lists, one after the other.
    pairs: Vec<Pair>,
    /// Pairs in a chunk.
    chunk: usize,
    /// The number of chunks in use.
    used: usize,
    /// The indices of the chunks of each list, in increasing order.
    chunks: Vec<Vec<u32>>,
    /// The index of the next pair of each list; a multiple of the chunk stands for a new one.
    next: Vec<usize>,
}

/// Pairs in a chunk of so many lists with so many pairs: about a sixteenth of a list, so that what lists
/// leave unused stays small. A multiple of the kernel's [`PIECE`], so that a list is trained as if it
/// were contiguous, and a power of two.
fn chunk(lists: u64, pairs: u64) -> u64 {
    let piece = PIECE as u64;
    (pairs / lists.max(1) / 16).next_power_of_two().clamp(4 * piece, 64 * piece)
}

impl Buckets {
    /// About the memory of so many lists with so many pairs in total.
    pub fn bytes(lists: u64, pairs: u64) -> u64 {
        /// Of the list itself: where its chunks are.
        const LIST: u64 = 64;
        let unused = lists.saturating_mul(chunk(lists, pairs));
        let pairs = pairs.saturating_add(unused).saturating_mul(size_of::<Pair>() as u64);
        pairs.saturating_add(lists.saturating_mul(LIST))
    }

    /// Empties all lists, and prepares `lists` of them for so many pairs in total. An array that is
    /// large enough is kept; with more pairs than announced it grows.
    pub(super) fn clear(&mut self, lists: usize, pairs: usize) {
        self.used = 0;
        self.chunk = chunk(lists as u64, pairs as u64) as usize;
        self.chunks.resize_with(lists, Vec::new);
        self.chunks.iter_mut().for_each(Vec::clear);
        self.next.clear();
        self.next.resize(lists, 0);
        let capacity = pairs.next_multiple_of(self.chunk) + lists * self.chunk;
        if self.pairs.len() < capacity {
            // The old array is freed first. `zeroed` writes all of the new one, as `Pair` is not a
            // primitive type: it takes its whole memory at once.
            self.pairs = Vec::new();
            self.pairs = memory::zeroed(capacity);
        }
    }

    /// Appends a pair to a list.
    #[inline]
    pub(super) fn push(&mut self, list: usize, pair: Pair) {
        let mut at = self.next[list];
        if at & (self.chunk - 1) == 0 {
            at = self.add_chunk(list);
        }
        self.pairs[at] = pair;
        self.next[list] = at + 1;
    }

    /// Adds a chunk to a list, and returns the index of its first pair.
    #[cold]
    fn add_chunk(&mut self, list: usize) -> usize {
        let at = self.used * self.chunk;
        if self.pairs.len() < at + self.chunk {
            self.pairs.resize(at + self.chunk, Pair::default());
        }
        self.chunks[list].push(self.used as u32);
        self.used += 1;
        at
    }

    /// The number of pairs in all lists.
    pub fn len(&self) -> usize {
        (0..self.chunks.len()).map(|list| self.length(list)).sum()
    }

    /// The number of pairs in a list.
    pub(super) fn length(&self, list: usize) -> usize {
        self.list(list).map(<[Pair]>::len).sum()
    }

    /// Whether all lists are empty.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// The pairs of a list in their order, in contiguous parts.
    pub fn list(&self, list: usize) -> impl Iterator<Item = &[Pair]> {
        let next = self.next.get(list).copied().unwrap_or(0);
        self.chunks.get(list).into_iter().flatten().map(move |&chunk| {
            let start = chunk as usize * self.chunk;
            let end = start + self.chunk;
            // Only the last chunk can contain `next`; if it is full, `next` is its end.
            &self.pairs[start..if (start..end).contains(&next) { next } else { end }]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    #[test]
    fn lists_keep_pairs_in_order() {
        let mut rng = Rng::new(0, Purpose::Edge, 0, 0);
        let mut buckets = Buckets::default();
        // With as many pairs as announced, with more, and with memory left from before.
        for (lists, count, announced) in [(5, 20_000, 20_000), (3, 50_000, 10), (7, 9000, 9000)] {
            buckets.clear(lists, announced);
            assert!(buckets.is_empty());
            let mut oracle = vec![vec![]; lists];
            for number in 0..count {
                // One list stays empty, one gets half.
                let list = if number % 2 == 0 { 0 } else { rng.below(lists - 1) };
                let pair = Pair::new(number % 32_768, number / 32_768, number % 3 == 0);
                oracle[list].push(pair);
                buckets.push(list, pair);
            }
            for (list, oracle) in oracle.iter().enumerate() {
                let found: Vec<Pair> = buckets.list(list).flatten().copied().collect();
                assert_eq!(&found, oracle, "list {list}");
                let parts: Vec<usize> = buckets.list(list).map(<[Pair]>::len).collect();
                let (_, whole) = parts.split_last().unwrap_or((&0, &[]));
                assert!(whole.iter().all(|length| length % PIECE == 0), "list {list}");
            }
            assert_eq!(buckets.len(), count as usize);
        }
    }

    #[test]
    fn buckets_with_a_pair_are_not_empty() {
        let mut buckets = Buckets::default();
        assert!(buckets.is_empty());
        buckets.clear(3, 1);
        buckets.push(2, Pair::new(0, 1, true));
        assert!(!buckets.is_empty());
        assert_eq!(buckets.len(), 1);
    }

    /// Four bytes for a pair, and for each list a chunk of 64 to 1024 pairs to spare.
    #[test]
    fn memory_is_that_of_the_pairs_and_a_chunk_for_each_list() {
        assert_eq!(Buckets::bytes(0, 1000), 4000);
        assert_eq!(Buckets::bytes(256, 1000), 4000 + 256 * (4 * 64 + 64));
        assert_eq!(Buckets::bytes(10, 40_000), 160_000 + 10 * (4 * 256 + 64));
        assert_eq!(Buckets::bytes(10, 1 << 20), (4 << 20) + 10 * (4 * 1024 + 64));
        assert_eq!(Buckets::bytes(u64::MAX, u64::MAX), u64::MAX);
    }
}
