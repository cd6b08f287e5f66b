//! The matrix products of logistic regression on SIMD tiles: S = X W and Xᵀ R.
//!
//! # Layout
//!
//! Examples are stored in tiles of [`LANES`], feature by feature: the first feature of all examples
//! of the tile, then the second, and so on. So one instruction processes several examples, however
//! few columns there are, without shuffles, and exp and ln of all scores are plain loops. A tile of
//! 128 features fits the L1 cache. The last tile is padded with examples of zeros, which add nothing
//! to any sum.
//!
//! Sums stay in registers: those of scores in blocks of some examples × [`BLOCK`] columns, those
//! of products in blocks of rows × columns, summed over the lanes at the end. Rows and columns are
//! padded with zeros to a multiple of [`BLOCK`].

#![allow(unsafe_code)]
#![allow(clippy::inline_always, reason = "vectors stay in registers only in inlined code")]

use crate::simd::{LANES as WIDTH, Vector};

/// Examples in a tile.
pub(super) const LANES: usize = 4 * WIDTH;
/// The rows of a tile and the columns are multiples of this.
pub(super) const BLOCK: usize = 4;

/// One feature, score or residual of every example of a tile.
pub(super) type Lanes = [f32; LANES];

/// Writes the scores of a tile, column by column. `weights` holds, for every [`BLOCK`] columns, the
/// weights of each row of the tile.
///
/// # Safety
///
/// The processor supports the instruction set of `V`.
#[inline(always)]
pub(super) unsafe fn write_scores<V: Vector>(
    tile: &[Lanes],
    weights: &[[f32; BLOCK]],
    scores: &mut [Lanes],
) {
    let blocks = weights.chunks_exact(tile.len()).zip(scores.chunks_exact_mut(BLOCK));
    for (weights, scores) in blocks {
        // SAFETY: the caller guarantees the instruction set.
        unsafe {
            if V::MANY {
                write_block::<V, 4>(tile, weights, scores);
            } else {
                write_block::<V, 1>(tile, weights, scores);
            }
        }
    }
}

/// The scores of [`BLOCK`] columns, `WIDE` vectors of examples at a time.
///
/// # Safety
///
/// As for [`write_scores`].
#[inline(always)]
unsafe fn write_block<V: Vector, const WIDE: usize>(
    tile: &[Lanes],
    weights: &[[f32; BLOCK]],
    scores: &mut [Lanes],
) {
    for start in (0..LANES).step_by(WIDE * WIDTH) {
        // SAFETY: the caller guarantees the instruction set; WIDE vectors from `start` on lie
        // within the lanes, because WIDE × WIDTH divides LANES.
        unsafe {
            let mut sums = [[V::zero(); WIDE]; BLOCK];
            for (row, weights) in tile.iter().zip(weights) {
                let row = row.as_ptr().add(start);
                let row: [V; WIDE] = std::array::from_fn(|at| V::load(row.add(at * WIDTH)));
                for (sums, weight) in sums.iter_mut().zip(weights) {
                    let weight = V::splat(*weight);
                    for (sum, x) in sums.iter_mut().zip(row) {
                        *sum = x.mul_add(weight, *sum);
                    }
                }
            }
            for (scores, sums) in scores.iter_mut().zip(sums) {
                let scores = scores.as_mut_ptr().add(start);
                for (at, sum) in sums.into_iter().enumerate() {
                    sum.store(scores.add(at * WIDTH));
                }
            }
        }
    }
}

/// Adds Xᵀ R to `sums`, rows × columns: the product of every row and every column, summed over the
/// examples of all tiles.
///
/// # Safety
///
/// The processor supports the instruction set of `V`.
#[inline(always)]
pub(super) unsafe fn add_products<V: Vector>(
    (tiles, rows): (&[Lanes], usize),
    (residuals, columns): (&[Lanes], usize),
    sums: &mut [f64],
) {
    // SAFETY: the caller guarantees the instruction set.
    unsafe {
        if V::MANY {
            add_blocks::<V, 4>((tiles, rows), (residuals, columns), sums);
        } else {
            add_blocks::<V, 2>((tiles, rows), (residuals, columns), sums);
        }
    }
}

/// [`add_products`] in blocks of `SIZE` rows × `SIZE` columns.
///
/// # Safety
///
/// As for [`add_products`].
#[inline(always)]
unsafe fn add_blocks<V: Vector, const SIZE: usize>(
    (tiles, rows): (&[Lanes], usize),
    (residuals, columns): (&[Lanes], usize),
    sums: &mut [f64],
) {
    assert!(rows.is_multiple_of(BLOCK) && columns.is_multiple_of(BLOCK));
    for (row, column) in
        (0..rows).step_by(SIZE).flat_map(|row| (0..columns).step_by(SIZE).map(move |c| (row, c)))
    {
        // SAFETY: the caller guarantees the instruction set; a vector from `start` on lies within
        // the lanes.
        unsafe {
            let mut block = [[V::zero(); SIZE]; SIZE];
            for (tile, residuals) in tiles.chunks_exact(rows).zip(residuals.chunks_exact(columns)) {
                let (tile, residuals) = (&tile[row..row + SIZE], &residuals[column..column + SIZE]);
                for start in (0..LANES).step_by(WIDTH) {
                    let load = |lanes: &[Lanes], at: usize| V::load(lanes[at].as_ptr().add(start));
                    let x: [V; SIZE] = std::array::from_fn(|at| load(tile, at));
                    let r: [V; SIZE] = std::array::from_fn(|at| load(residuals, at));
                    for (sums, x) in block.iter_mut().zip(x) {
                        for (sum, r) in sums.iter_mut().zip(r) {
                            *sum = x.mul_add(r, *sum);
                        }
                    }
                }
            }
            for (at, block) in block.into_iter().enumerate() {
                let sums = &mut sums[(row + at) * columns + column..];
                for (sum, lanes) in sums.iter_mut().zip(block) {
                    *sum += f64::from(lanes.sum());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::simd::{InstructionSet, Work};

    /// Small integers, so that every order of summation gives the same result.
    fn numbers(count: usize, seed: usize) -> Vec<Lanes> {
        let number = |at: usize| ((at * 37 + seed * 11) % 19) as f32 - 9.0;
        (0..count).map(|at| std::array::from_fn(|lane| number(at * LANES + lane))).collect()
    }

    struct BothProducts<'a> {
        tiles: &'a [Lanes],
        rows: usize,
        weights: &'a [[f32; BLOCK]],
        columns: usize,
    }

    impl Work for BothProducts<'_> {
        type Out = (Vec<Lanes>, Vec<f64>);

        #[inline(always)]
        unsafe fn on<V: Vector>(self) -> Self::Out {
            let Self { tiles, rows, weights, columns } = self;
            let mut scores = vec![[f32::NAN; LANES]; tiles.len() / rows * columns];
            let mut sums = vec![3.0; rows * columns];
            // SAFETY: the caller guarantees the instruction set.
            unsafe {
                for (tile, scores) in tiles.chunks(rows).zip(scores.chunks_mut(columns)) {
                    write_scores::<V>(tile, weights, scores);
                }
                add_products::<V>((tiles, rows), (&scores, columns), &mut sums);
            }
            (scores, sums)
        }
    }

    proptest! {
        #[test]
        fn products_match_naive_sums(
            count in 1_usize..4,
            row_blocks in 1_usize..5,
            column_blocks in 1_usize..4,
        ) {
            let (rows, columns) = (row_blocks * BLOCK, column_blocks * BLOCK);
            let tiles = numbers(count * rows, 3);
            let weight = |row: usize, column: usize| ((row * 5 + column * 3) % 7) as f32 - 3.0;
            let weights: Vec<[f32; BLOCK]> = (0..column_blocks)
                .flat_map(|block| (0..rows).map(move |row| (block, row)))
                .map(|(block, row)| std::array::from_fn(|at| weight(row, block * BLOCK + at)))
                .collect();
            for set in InstructionSet::available() {
                let work = BothProducts { tiles: &tiles, rows, weights: &weights, columns };
                // SAFETY: the work needs nothing but the instruction set.
                let (scores, sums) = unsafe { set.run(work) };
                let score = |tile: usize, column: usize, lane: usize| -> f32 {
                    (0..rows).map(|row| tiles[tile * rows + row][lane] * weight(row, column)).sum()
                };
                for column in 0..columns {
                    for tile in 0..count {
                        let found = scores[tile * columns + column].iter().enumerate();
                        for (lane, found) in found {
                            prop_assert!((found - score(tile, column, lane)).abs() < 1e-6);
                        }
                    }
                    for row in 0..rows {
                        let naive: f32 = (0..count * LANES)
                            .map(|at| (at / LANES, at % LANES))
                            .map(|(tile, lane)| tiles[tile * rows + row][lane] * score(tile, column, lane))
                            .sum();
                        let found = sums[row * columns + column];
                        prop_assert!((found - 3.0 - f64::from(naive)).abs() < 1e-6);
                    }
                }
            }
        }
    }
}
