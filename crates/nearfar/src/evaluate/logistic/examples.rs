//! The examples of a classifier, in the tiles of [`products`](super::products).

use std::ops::Range;

use rayon::prelude::*;

use super::products::{BLOCK, LANES, Lanes};

/// Examples that a classifier learns from or is asked about.
#[derive(Clone, Copy)]
pub(in crate::evaluate) struct Examples<F> {
    /// How many there are.
    pub(in crate::evaluate) count: usize,
    /// Numbers in an example.
    pub(in crate::evaluate) dim: usize,
    /// Writes the numbers of one example.
    pub(in crate::evaluate) fill: F,
}

/// Examples in tiles, for many passes or for one. After its numbers an example has a one, which
/// intercepts are the weights of, and then zeros.
pub(in crate::evaluate) struct Table<'a, F> {
    examples: &'a Examples<F>,
    /// Numbers in an example, filled up.
    pub(in crate::evaluate) rows: usize,
    /// All tiles, or none: then each is written when it is needed.
    kept: Vec<Lanes>,
}

/// Some tiles that follow one another.
pub(in crate::evaluate) struct Run<'a> {
    /// Row by row, tile by tile.
    pub(in crate::evaluate) tiles: &'a [Lanes],
    /// The examples in them.
    pub(in crate::evaluate) examples: Range<usize>,
}

/// Tiles of a run: 16 of 128 numbers are 512 kB, which fit the cache of one core.
const TILES: usize = 16;
/// Parts that threads may share, at most.
const PARTS: usize = 64;
/// Numbers that are kept for many passes: 256 MB of them.
const KEPT: usize = 1 << 26;

impl<'a, F: Fn(usize, &mut [f32]) + Sync> Table<'a, F> {
    /// For one pass.
    pub(in crate::evaluate) fn fleeting(examples: &'a Examples<F>) -> Self {
        let rows = (examples.dim + 1).next_multiple_of(BLOCK);
        Self { examples, rows, kept: Vec::new() }
    }

    /// For many passes: keeps the tiles, if they are not too many.
    pub(in crate::evaluate) fn keep(examples: &'a Examples<F>) -> Self {
        let mut table = Self::fleeting(examples);
        let tiles = table.tiles();
        if tiles.saturating_mul(table.rows * LANES) <= KEPT {
            let mut kept = Vec::new();
            table.write(0..tiles, &mut kept);
            table.kept = kept;
        }
        table
    }

    /// The number of tiles.
    pub(in crate::evaluate) fn tiles(&self) -> usize {
        self.examples.count.div_ceil(LANES)
    }

    /// Calls `work` on runs of tiles and adds up what comes out, on all threads. Runs and the
    /// order of sums depend on the number of examples alone.
    pub(in crate::evaluate) fn parts<T: Send>(
        &self,
        zero: impl Fn() -> T + Sync,
        work: impl Fn(&mut T, Run<'_>) + Sync,
    ) -> Vec<T> {
        let tiles = self.tiles();
        let part = tiles.div_ceil(PARTS).next_multiple_of(TILES);
        let parts = (0..tiles.div_ceil(part.max(1))).into_par_iter();
        let parts = parts.map(|at| {
            let (mut sum, mut room) = (zero(), Vec::new());
            let end = tiles.min((at + 1) * part);
            for start in (at * part..end).step_by(TILES) {
                work(&mut sum, self.run(start..end.min(start + TILES), &mut room));
            }
            sum
        });
        parts.collect()
    }

    /// Some tiles, for which there may be `room`.
    pub(in crate::evaluate) fn run<'b>(
        &'b self,
        tiles: Range<usize>,
        room: &'b mut Vec<Lanes>,
    ) -> Run<'b> {
        let examples = tiles.start * LANES..self.examples.count.min(tiles.end * LANES);
        let tiles = if self.kept.is_empty() {
            self.write(tiles, room);
            &room[..]
        } else {
            &self.kept[tiles.start * self.rows..tiles.end * self.rows]
        };
        Run { tiles, examples }
    }

    fn write(&self, tiles: Range<usize>, room: &mut Vec<Lanes>) {
        let dim = self.examples.dim;
        room.clear();
        room.resize(tiles.len() * self.rows, [0.0; LANES]);
        let mut numbers = vec![0.0; dim];
        for (tile, rows) in tiles.zip(room.chunks_exact_mut(self.rows)) {
            let start = tile * LANES;
            for lane in 0..LANES.min(self.examples.count - start) {
                (self.examples.fill)(start + lane, &mut numbers);
                for (row, number) in rows.iter_mut().zip(&numbers) {
                    row[lane] = *number;
                }
                rows[dim][lane] = 1.0;
            }
        }
    }
}
