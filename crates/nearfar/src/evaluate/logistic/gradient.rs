//! Passes over all examples: losses and gradient, scores, and the Gram matrix.

#![allow(unsafe_code)]
#![allow(clippy::inline_always, reason = "only inlined code is compiled for the instruction set")]

use rayon::prelude::*;

use super::examples::{TileRange, TiledExamples};
use super::loss::Loss;
use super::products::{BLOCK, LANES, Lanes, add_products, write_scores};
use crate::simd::{InstructionSet, Vector, Work};

/// Tiles in the sample of the Gram matrix.
const SAMPLED_TILES: usize = 64;

/// The losses of the columns and their gradient at these weights, (dim + 1) × columns, summed over all
/// examples.
pub(super) fn losses_and_gradient<F: Fn(usize, &mut [f32]) + Sync>(
    examples: &TiledExamples<F>,
    weights: &[f64],
    columns: usize,
    loss: &impl Loss,
) -> (Vec<f64>, Vec<f64>) {
    let set = InstructionSet::detect();
    let packed = PackedWeights::new(weights, columns, examples.rows);
    let zero = || GradientSums {
        losses: vec![0.0; columns],
        products: vec![0.0; examples.rows * packed.columns],
        residuals: Vec::new(),
    };
    let sums = examples.fold(zero, |sums, range| {
        // SAFETY: the work needs nothing but the instruction set.
        unsafe { set.run(AddGradient { range, weights: &packed, loss, sums }) }
    });
    let mut losses = vec![0.0; columns];
    let mut gradient = vec![0.0; weights.len()];
    for sums in sums {
        add(&mut losses, &sums.losses);
        let rows = sums.products.chunks(packed.columns);
        for (gradient, products) in gradient.chunks_mut(columns).zip(rows) {
            add(gradient, products);
        }
    }
    (losses, gradient)
}

/// The scores of all examples, one row per example.
pub(super) fn scores<F: Fn(usize, &mut [f32]) + Sync>(
    examples: &TiledExamples<F>,
    weights: &[f64],
    columns: usize,
) -> Vec<f64> {
    let set = InstructionSet::detect();
    let packed = PackedWeights::new(weights, columns, examples.rows);
    let scores = examples.fold(Vec::new, |scores: &mut Vec<f64>, range| {
        let count = range.examples.len();
        // SAFETY: the work needs nothing but the instruction set.
        let tiles = unsafe { set.run(Score { range, weights: &packed }) };
        scores.extend((0..count).flat_map(|at| {
            let tile = &tiles[at / LANES * packed.columns..][..columns];
            tile.iter().map(move |column| f64::from(column[at % LANES]))
        }));
    });
    scores.concat()
}

/// The Gram matrix XᵀX / n, `height` × `height`, of all examples, or of an evenly spaced sample of
/// about [`SAMPLED_TILES`] tiles if there are more.
pub(super) fn gram<F: Fn(usize, &mut [f32]) + Sync>(
    examples: &TiledExamples<F>,
    height: usize,
) -> Vec<f64> {
    /// Tiles of one task.
    const TILES: usize = 16;
    let set = InstructionSet::detect();
    let (rows, mut buffer) = (examples.rows, Vec::new());
    let (mut tiles, mut count) = (Vec::new(), 0);
    let step = examples.tiles().div_ceil(SAMPLED_TILES).max(1);
    for tile in (0..examples.tiles()).step_by(step) {
        let range = examples.range(tile..tile + 1, &mut buffer);
        tiles.extend_from_slice(range.tiles);
        count += range.examples.len();
    }
    let sums: Vec<Vec<f64>> = tiles
        .par_chunks(TILES * rows)
        // SAFETY: the work needs nothing but the instruction set.
        .map(|tiles| unsafe { set.run(Gram { tiles, rows }) })
        .collect();
    let mut gram = vec![0.0; height * height];
    for sums in sums {
        for (gram, products) in gram.chunks_mut(height).zip(sums.chunks(rows)) {
            add(gram, products);
        }
    }
    for cell in &mut gram {
        *cell /= count as f64;
    }
    gram
}

/// Weights in the order in which the products read them.
struct PackedWeights {
    /// For every [`BLOCK`] columns, the weights of each row.
    blocks: Vec<[f32; BLOCK]>,
    /// Columns, with padding.
    columns: usize,
    rows: usize,
}

impl PackedWeights {
    fn new(weights: &[f64], columns: usize, rows: usize) -> Self {
        let padded = columns.next_multiple_of(BLOCK);
        let mut blocks = vec![[0.0; BLOCK]; rows * padded / BLOCK];
        for (row, weights) in weights.chunks(columns).enumerate() {
            for (block, weights) in weights.chunks(BLOCK).enumerate() {
                for (to, weight) in blocks[block * rows + row].iter_mut().zip(weights) {
                    *to = *weight as f32;
                }
            }
        }
        Self { blocks, columns: padded, rows }
    }
}

/// Sums over examples, and a buffer for the residuals of some tiles.
struct GradientSums {
    losses: Vec<f64>,
    products: Vec<f64>,
    residuals: Vec<Lanes>,
}

/// Adds the losses and gradients of some tiles.
struct AddGradient<'a, L> {
    range: TileRange<'a>,
    weights: &'a PackedWeights,
    loss: &'a L,
    sums: &'a mut GradientSums,
}

impl<L: Loss> Work for AddGradient<'_, L> {
    type Out = ();

    #[inline(always)]
    unsafe fn on<V: Vector>(self) {
        let Self { range: TileRange { tiles, examples }, weights, loss, sums } = self;
        let (rows, columns) = (weights.rows, weights.columns);
        sums.residuals.resize(tiles.len() / rows * columns, [0.0; LANES]);
        let firsts = examples.clone().step_by(LANES);
        let residuals = sums.residuals.chunks_exact_mut(columns);
        for ((first, tile), residuals) in firsts.zip(tiles.chunks_exact(rows)).zip(residuals) {
            // SAFETY: the caller guarantees the instruction set.
            unsafe { write_scores::<V>(tile, &weights.blocks, residuals) };
            let count = LANES.min(examples.end - first);
            loss.residuals(first, count, residuals, &mut sums.losses);
        }
        let residuals = (&sums.residuals[..], columns);
        // SAFETY: the caller guarantees the instruction set.
        unsafe { add_products::<V>((tiles, rows), residuals, &mut sums.products) };
    }
}

/// The Gram matrix of some tiles.
struct Gram<'a> {
    tiles: &'a [Lanes],
    rows: usize,
}

impl Work for Gram<'_> {
    type Out = Vec<f64>;

    #[inline(always)]
    unsafe fn on<V: Vector>(self) -> Vec<f64> {
        let mut products = vec![0.0; self.rows * self.rows];
        let features = (self.tiles, self.rows);
        // SAFETY: the caller guarantees the instruction set.
        unsafe { add_products::<V>(features, features, &mut products) };
        products
    }
}

/// The scores of some tiles.
struct Score<'a> {
    range: TileRange<'a>,
    weights: &'a PackedWeights,
}

impl Work for Score<'_> {
    type Out = Vec<Lanes>;

    #[inline(always)]
    unsafe fn on<V: Vector>(self) -> Vec<Lanes> {
        let PackedWeights { blocks, columns, rows } = self.weights;
        let tiles = self.range.tiles;
        let mut scores = vec![[0.0; LANES]; tiles.len() / rows * columns];
        for (tile, scores) in tiles.chunks_exact(*rows).zip(scores.chunks_exact_mut(*columns)) {
            // SAFETY: the caller guarantees the instruction set.
            unsafe { write_scores::<V>(tile, blocks, scores) };
        }
        scores
    }
}

fn add(to: &mut [f64], x: &[f64]) {
    for (to, x) in to.iter_mut().zip(x) {
        *to += x;
    }
}
