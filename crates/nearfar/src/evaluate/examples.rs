//! The examples of a classifier, in tiles that fit the cache.

use std::ops::Range;

use rayon::prelude::*;

use crate::products::multiply;

/// Examples that a classifier learns from or is asked about.
#[derive(Clone, Copy)]
pub(super) struct Examples<F> {
    /// How many there are.
    pub(super) count: usize,
    /// Numbers in an example.
    pub(super) dim: usize,
    /// Writes the numbers of one example.
    pub(super) fill: F,
}

/// Examples row by row, for many passes or for one.
pub(super) struct Table<'a, F> {
    examples: &'a Examples<F>,
    /// All numbers, or none: then each tile is written when it is needed.
    kept: Vec<f64>,
}

/// Rows of a tile: 256 of 128 numbers are 256 kB, which fit the cache of one core.
pub(super) const TILE: usize = 256;
/// Parts that threads may share, at most.
const PARTS: usize = 64;
/// Numbers that are kept for many passes: 256 MB of them.
const KEPT: usize = 1 << 25;

impl<'a, F: Fn(usize, &mut [f64]) + Sync> Table<'a, F> {
    /// For one pass.
    pub(super) fn fleeting(examples: &'a Examples<F>) -> Self {
        Self { examples, kept: Vec::new() }
    }

    /// For many passes: keeps the numbers, if they are not too many.
    pub(super) fn keep(examples: &'a Examples<F>) -> Self {
        let size = examples.count.saturating_mul(examples.dim);
        let mut kept = vec![0.0; if size <= KEPT { size } else { 0 }];
        for (example, row) in kept.chunks_mut(examples.dim).enumerate() {
            (examples.fill)(example, row);
        }
        Self { examples, kept }
    }

    /// Calls `work` on runs of examples, on all threads; results are in the order of the runs.
    /// Runs depend on the number of examples alone.
    pub(super) fn parts<T: Send>(&self, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
        let count = self.examples.count;
        let run = count.div_ceil(PARTS).max(TILE);
        let starts = (0..count.div_ceil(run)).into_par_iter();
        starts.map(|part| work(part * run..count.min((part + 1) * run))).collect()
    }

    /// Writes the scores of a tile to `scores`: its rows times the weights, dim × columns, plus
    /// the intercepts in the row after them. Returns the rows, for which there may be `room`.
    pub(super) fn score<'b>(
        &'b self,
        tile: Range<usize>,
        weights: &[f64],
        columns: usize,
        room: &'b mut Vec<f64>,
        scores: &mut [f64],
    ) -> &'b [f64] {
        let dim = self.examples.dim;
        let x = if self.kept.is_empty() {
            room.resize(tile.len() * dim, 0.0);
            for (example, row) in tile.zip(room.chunks_mut(dim)) {
                (self.examples.fill)(example, row);
            }
            &room[..]
        } else {
            &self.kept[tile.start * dim..tile.end * dim]
        };
        let (matrix, intercepts) = weights.split_at(dim * columns);
        multiply(x, matrix, scores, dim, columns);
        for scores in scores.chunks_mut(columns) {
            for (score, intercept) in scores.iter_mut().zip(intercepts) {
                *score += intercept;
            }
        }
        x
    }
}

/// A run of examples in tiles.
pub(super) fn tiles(rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = rows.end;
    rows.step_by(TILE).map(move |start| start..end.min(start + TILE))
}
