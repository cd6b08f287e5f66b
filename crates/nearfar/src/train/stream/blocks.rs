//! A table of vectors, cut into blocks of rows.
//!
//! The number of blocks depends on the graph, never on the machine: the order in which pairs are
//! trained follows from it ([`schedule`](super::schedule)), and with it the result.

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
    /// The values, row by row.
    values: Aligned,
}

impl Blocks {
    /// Rows in a block of a table of n rows. Sixteen blocks make rounds of eight tasks, which two,
    /// four and eight threads divide evenly. Larger tables have 32, so that two blocks are more likely
    /// to fit the second-level cache, but no more unless a block would exceed [`Pair::ROWS`]: with more
    /// blocks, a row has fewer pairs in each task.
    pub fn rows_for(n: usize, dim: usize) -> usize {
        /// About the size of a block.
        const BYTES: usize = 1 << 20;
        /// The number of blocks is a multiple of this.
        const STEP: usize = 16;
        const MOST: usize = 32;
        let count = (n.saturating_mul(dim * 4) / BYTES).next_multiple_of(STEP).clamp(STEP, MOST);
        n.div_ceil(count).clamp(2, Pair::ROWS)
    }

    /// A table of n rows of zeros.
    pub fn new(n: usize, rows: usize, dim: usize) -> Self {
        Self { rows, dim, values: Aligned::zeroed(n * dim) }
    }

    /// All values.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// All values, mutable.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// The first `dim` values of every row, without the padding.
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

    /// All rows in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[f32]> + Clone {
        self.values().chunks_exact(self.dim)
    }
}

/// Finds the block of a node and its row there, without a division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockIndex {
    rows: u32,
    /// 2⁶⁴ / rows, rounded up: the upper half of a product with it is the exact quotient of every
    /// number of 32 bits.
    inverse: u64,
}

impl BlockIndex {
    /// For blocks of so many rows, at least two.
    pub fn new(rows: usize) -> Self {
        Self { rows: rows as u32, inverse: u64::MAX / rows as u64 + 1 }
    }

    /// The block of a node, and its row in it.
    #[inline]
    pub fn locate(self, node: Node) -> (usize, Node) {
        let block = ((u128::from(self.inverse) * u128::from(node)) >> 64) as Node;
        (block as usize, node - block * self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locate_agrees_with_division() {
        for rows in [2, 3, 7, 625, 1024, 32_767, 32_768] {
            let index = BlockIndex::new(rows);
            for node in (0..100_000).chain(Node::MAX - 100..=Node::MAX) {
                let there = (node as usize / rows, node % rows as Node);
                assert_eq!(index.locate(node), there, "{node} in blocks of {rows}");
            }
        }
    }

    /// The order in which pairs are trained, and so the result, follows from the number of blocks: 16
    /// in tables of less than 17 MB, then 32, then as many as have 32 768 rows.
    #[test]
    fn a_table_has_as_many_blocks_as_its_size_asks_for() {
        for (n, dim, rows) in [
            (1, 16, 2),
            (33, 16, 3),
            (1000, 128, 63),
            (32_768, 128, 2048),
            (34_815, 128, 2176),
            (34_816, 128, 1088),
            (65_536, 64, 2048 * 2),
            (1_000_000, 128, 31_250),
            (1_048_577, 128, 32_768),
            (100_000_000, 16, 32_768),
        ] {
            assert_eq!(Blocks::rows_for(n, dim), rows, "{n} rows of {dim}");
        }
    }

    #[test]
    fn rows_lose_their_padding() {
        let mut table = Blocks::new(5, 2, 16);
        for (at, value) in table.values_mut().iter_mut().enumerate() {
            *value = at as f32;
        }
        for dim in [1, 3, 15, 16] {
            let expected: Vec<f32> =
                (0..5).flat_map(|row| (0..dim).map(move |k| (row * 16 + k) as f32)).collect();
            assert_eq!(table.clone().into_rows(dim), expected);
        }
    }
}
