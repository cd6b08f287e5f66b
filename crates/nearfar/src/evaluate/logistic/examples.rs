//! The examples of a classifier, laid out in the tiles of [`products`](super::products).

use std::ops::Range;

use rayon::prelude::*;

use super::products::{BLOCK, LANES, Lanes};

/// Examples to train or to apply a classifier on.
#[derive(Clone, Copy)]
pub(in crate::evaluate) struct Examples<F> {
    /// Number of examples.
    pub(in crate::evaluate) count: usize,
    /// Features of an example.
    pub(in crate::evaluate) dim: usize,
    /// Writes the features of one example.
    pub(in crate::evaluate) fill: F,
}

/// Examples in tiles. The features of an example are followed by a one, whose weights are the
/// intercepts, and padded with zeros.
pub(in crate::evaluate) struct TiledExamples<'a, F> {
    examples: &'a Examples<F>,
    /// Rows of a tile: features, intercept and padding.
    pub(in crate::evaluate) rows: usize,
    /// All tiles, or none: then tiles are written on each access.
    cached: Vec<Lanes>,
}

/// Consecutive tiles.
pub(in crate::evaluate) struct TileRange<'a> {
    /// The rows of the first tile, then of the next.
    pub(in crate::evaluate) tiles: &'a [Lanes],
    /// The examples in these tiles.
    pub(in crate::evaluate) examples: Range<usize>,
}

/// Tiles processed at a time: 16 of 128 rows are 512 kB, which fit the L2 cache of one core.
const TILES: usize = 16;
/// Largest number of tasks in a pass.
const TASKS: usize = 64;
/// Largest number of floats to cache: 256 MB.
const CACHE: usize = 1 << 26;

impl<'a, F: Fn(usize, &mut [f32]) + Sync> TiledExamples<'a, F> {
    /// For a single pass: tiles are written on each access.
    pub(in crate::evaluate) fn streaming(examples: &'a Examples<F>) -> Self {
        let rows = (examples.dim + 1).next_multiple_of(BLOCK);
        Self { examples, rows, cached: Vec::new() }
    }

    /// For many passes: caches the tiles if they fit [`CACHE`].
    pub(in crate::evaluate) fn cached(examples: &'a Examples<F>) -> Self {
        let mut tiled = Self::streaming(examples);
        let tiles = tiled.tiles();
        if tiles.saturating_mul(tiled.rows * LANES) <= CACHE {
            let mut cached = Vec::new();
            tiled.write(0..tiles, &mut cached);
            tiled.cached = cached;
        }
        tiled
    }

    /// The number of tiles.
    pub(in crate::evaluate) fn tiles(&self) -> usize {
        self.examples.count.div_ceil(LANES)
    }

    /// Folds `work` over the tiles, with one accumulator a task, on all threads. The tasks and the
    /// order within them depend only on the number of examples.
    pub(in crate::evaluate) fn fold<T: Send>(
        &self,
        zero: impl Fn() -> T + Sync,
        work: impl Fn(&mut T, TileRange<'_>) + Sync,
    ) -> Vec<T> {
        let tiles = self.tiles();
        let per_task = tiles.div_ceil(TASKS).next_multiple_of(TILES);
        let tasks = (0..tiles.div_ceil(per_task.max(1))).into_par_iter();
        let sums = tasks.map(|task| {
            let (mut sum, mut buffer) = (zero(), Vec::new());
            let end = tiles.min((task + 1) * per_task);
            for start in (task * per_task..end).step_by(TILES) {
                work(&mut sum, self.range(start..end.min(start + TILES), &mut buffer));
            }
            sum
        });
        sums.collect()
    }

    /// Some tiles, from the cache or written to `buffer`.
    pub(in crate::evaluate) fn range<'b>(
        &'b self,
        tiles: Range<usize>,
        buffer: &'b mut Vec<Lanes>,
    ) -> TileRange<'b> {
        let examples = tiles.start * LANES..self.examples.count.min(tiles.end * LANES);
        let tiles = if self.cached.is_empty() {
            self.write(tiles, buffer);
            &buffer[..]
        } else {
            &self.cached[tiles.start * self.rows..tiles.end * self.rows]
        };
        TileRange { tiles, examples }
    }

    fn write(&self, tiles: Range<usize>, buffer: &mut Vec<Lanes>) {
        let dim = self.examples.dim;
        buffer.clear();
        buffer.resize(tiles.len() * self.rows, [0.0; LANES]);
        let mut features = vec![0.0; dim];
        for (tile, rows) in tiles.zip(buffer.chunks_exact_mut(self.rows)) {
            let start = tile * LANES;
            for lane in 0..LANES.min(self.examples.count - start) {
                (self.examples.fill)(start + lane, &mut features);
                for (row, feature) in rows.iter_mut().zip(&features) {
                    row[lane] = *feature;
                }
                rows[dim][lane] = 1.0;
            }
        }
    }
}
