//! Cutting the table of vectors so that threads never meet.
//!
//! The rows are cut into blocks, as many as the *graph* asks for, never the machine. A task is a
//! pair of blocks {p, q} and trains all pairs between them; a round is a set of tasks that share
//! no block, so they can run side by side on any number of threads, in any order, and the result
//! is the same to the bit. Rounds are those of a tournament: everyone meets everyone once. In large
//! tables it is groups of blocks that meet ([`together`]).

use super::kernel::Pair;
use crate::graph::Node;
use crate::memory::Aligned;

/// A table of vectors, cut into blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocks {
    /// Rows in a block; the last one may have fewer.
    pub rows: usize,
    /// The length of a row.
    pub dim: usize,
    /// The numbers, row by row.
    values: Aligned,
}

impl Blocks {
    /// How many rows a block has in a table of n rows. Sixteen blocks make rounds of eight tasks,
    /// which two, four and eight threads share evenly; larger tables have so many more that two
    /// blocks stay in a near cache, until rounds would get too short.
    pub fn rows_for(n: usize, dim: usize) -> usize {
        /// A block is about this large.
        const BYTES: usize = 1 << 20;
        const STEP: usize = 16;
        const MOST: usize = 32;
        let count = (n * dim * 4 / BYTES).next_multiple_of(STEP).clamp(STEP, MOST);
        n.div_ceil(count).clamp(2, Pair::ROWS)
    }

    /// A table of n rows of zeros.
    pub fn new(n: usize, rows: usize, dim: usize) -> Self {
        Self { rows, dim, values: Aligned::zeroed(n * dim) }
    }

    /// All numbers.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// All numbers, to be changed.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// The first `dim` numbers of every row, without what is between them.
    pub fn into_rows(self, dim: usize) -> Vec<f32> {
        let Self { dim: padded, mut values, .. } = self;
        let n = values.len() / padded;
        if dim < padded {
            (0..n).for_each(|row| values.copy_within(row * padded..row * padded + dim, row * dim));
        }
        values.into_vec(n * dim)
    }

    /// How many blocks there are.
    pub fn count(&self) -> usize {
        self.values().len().div_ceil(self.rows * self.dim)
    }

    /// The blocks.
    pub fn blocks(&mut self) -> impl Iterator<Item = &mut [f32]> {
        let size = self.rows * self.dim;
        self.values_mut().chunks_mut(size)
    }

    /// All rows in order.
    pub fn iter(&self) -> impl Iterator<Item = &[f32]> + Clone {
        self.values().chunks_exact(self.dim)
    }
}

/// Finds the block of a node, and its row there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    rows: u32,
    /// 2⁶⁴ / rows, rounded up: the upper half of a product with it is the exact quotient of every
    /// number of 32 bits.
    inverse: u64,
}

impl Cut {
    /// Cuts after so many rows, at least two.
    pub fn new(rows: usize) -> Self {
        Self { rows: rows as u32, inverse: u64::MAX / rows as u64 + 1 }
    }

    /// The block of a node, and its row in it.
    #[inline]
    pub fn place(self, node: Node) -> (usize, Node) {
        let block = ((u128::from(self.inverse) * u128::from(node)) >> 64) as Node;
        (block as usize, node - block * self.rows)
    }
}

/// How many neighbouring blocks a task has on each of its sides, if there are `count` in all. With
/// several, each block of one side is in cache while those of the other side come and go. They are
/// few, and only where a table has many blocks: tasks must suffice for many threads.
pub fn together(count: usize) -> usize {
    (count / 20).clamp(1, 4)
}

/// The order in which a task trains the blocks of its two sides, `left` and `right` of them, as
/// places there: back and forth, so that one of two blocks has always been used just before.
pub fn back_and_forth(left: usize, right: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..right).flat_map(move |q| {
        (0..left).map(move |turn| (if q % 2 == 0 { turn } else { left - 1 - turn }, q))
    })
}

/// The rounds for `count` blocks, or groups of them: in each, pairs that share none; (p, p) stands
/// for a block with itself. PeriodicScores pair is in one round.
pub fn rounds(count: usize) -> Vec<Vec<(usize, usize)>> {
    let mut rounds = vec![(0..count).map(|p| (p, p)).collect::<Vec<_>>()];
    // The circle method: one sits still, the others move on by one seat a round. With an odd
    // count, whoever is drawn against nobody rests.
    let seats = count.next_multiple_of(2);
    for round in 0..seats.saturating_sub(1) {
        let seat = |at: usize| match at {
            0 => 0,
            _ => (at - 1 + round) % (seats - 1) + 1,
        };
        let meet = (0..seats / 2).map(|at| (seat(at), seat(seats - 1 - at)));
        let meet = meet.map(|(p, q)| (p.min(q), p.max(q))).filter(|&(_, q)| q < count);
        rounds.push(meet.collect());
    }
    rounds
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn everyone_meets_everyone_once_and_nobody_twice_in_a_round() {
        for count in 1..20 {
            let mut met = HashSet::new();
            for round in rounds(count) {
                let mut busy = HashSet::new();
                for (p, q) in round {
                    assert!(busy.insert(p) && (p == q || busy.insert(q)), "{count} blocks");
                    assert!(p <= q && q < count && met.insert((p, q)), "{count} blocks");
                }
            }
            assert_eq!(met.len(), count * (count + 1) / 2);
        }
    }

    #[test]
    fn back_and_forth_goes_through_all_and_never_changes_both() {
        for (left, right) in [(1, 1), (4, 4), (4, 1), (1, 3), (3, 2)] {
            let all: Vec<_> = back_and_forth(left, right).collect();
            assert_eq!(all.iter().collect::<HashSet<_>>().len(), left * right);
            assert!(all.iter().all(|&(p, q)| p < left && q < right));
            assert!(all.is_sorted_by(|a, b| a.0 == b.0 || a.1 == b.1), "{all:?}");
        }
    }

    #[test]
    fn tasks_suffice_for_many_threads() {
        for count in 1..1000_usize {
            let groups = count.div_ceil(together(count));
            assert!(groups >= count.min(20), "{count} blocks in {groups} groups");
        }
    }

    #[test]
    fn a_node_is_where_division_says() {
        for rows in [2, 3, 7, 625, 1024, 32_767, 32_768] {
            let cut = Cut::new(rows);
            for node in (0..100_000).chain(Node::MAX - 100..=Node::MAX) {
                let there = (node as usize / rows, node % rows as Node);
                assert_eq!(cut.place(node), there, "{node} in blocks of {rows}");
            }
        }
    }

    #[test]
    fn blocks_hold_all_rows_in_order() {
        for n in [1, 7, 8, 9, 100, 1001] {
            let mut table = Blocks::new(n, Blocks::rows_for(n, 16), 16);
            assert_eq!(table.blocks().count(), table.count());
            for (at, row) in table.blocks().flat_map(|block| block.chunks_exact_mut(16)).enumerate()
            {
                row[0] = at as f32;
            }
            let firsts: Vec<f32> = table.iter().map(|row| row[0]).collect();
            assert_eq!(firsts, (0..n).map(|at| at as f32).collect::<Vec<_>>());
        }
    }
}
