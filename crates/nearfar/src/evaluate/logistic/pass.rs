//! A pass over all examples: scores, losses and their gradient.

#![allow(unsafe_code)]
#![allow(clippy::inline_always, reason = "what is not inlined is not compiled for the set")]

use rayon::prelude::*;

use super::examples::{Run, Table};
use super::loss::Loss;
use super::products::{BLOCK, LANES, Lanes, add_products, write_scores};
use crate::simd::{InstructionSet, Vector, Work};

/// The losses of columns at these weights, dim + 1 rows × columns, and their gradient, summed over all
/// examples.
pub(super) fn pass<F: Fn(usize, &mut [f32]) + Sync>(
    table: &Table<F>,
    weights: &[f64],
    columns: usize,
    loss: &impl Loss,
) -> (Vec<f64>, Vec<f64>) {
    let (set, packed) = (InstructionSet::detect(), Weights::new(weights, columns, table.rows));
    let zero = || Sums {
        losses: vec![0.0; columns],
        products: vec![0.0; table.rows * packed.columns],
        residuals: Vec::new(),
    };
    let parts = table.parts(zero, |sums, run| {
        // SAFETY: the work asks for nothing but the instruction set.
        unsafe { set.run(Learn { run, weights: &packed, loss, sums }) }
    });
    let mut losses = vec![0.0; columns];
    let mut gradient = vec![0.0; weights.len()];
    for part in parts {
        add(&mut losses, &part.losses);
        let rows = part.products.chunks(packed.columns);
        for (gradient, products) in gradient.chunks_mut(columns).zip(rows) {
            add(gradient, products);
        }
    }
    (losses, gradient)
}

/// The scores of all examples, one row each.
pub(super) fn scores<F: Fn(usize, &mut [f32]) + Sync>(
    table: &Table<F>,
    weights: &[f64],
    columns: usize,
) -> Vec<f64> {
    let (set, packed) = (InstructionSet::detect(), Weights::new(weights, columns, table.rows));
    let parts = table.parts(Vec::new, |scores: &mut Vec<f64>, run| {
        let count = run.examples.len();
        // SAFETY: the work asks for nothing but the instruction set.
        let tiles = unsafe { set.run(Score { run, weights: &packed }) };
        scores.extend((0..count).flat_map(|at| {
            let tile = &tiles[at / LANES * packed.columns..][..columns];
            tile.iter().map(move |column| f64::from(column[at % LANES]))
        }));
    });
    parts.concat()
}

/// The mean over examples of the products of their numbers, dim + 1 rows × as many: of all
/// examples, or of some four thousand, spread evenly, if there are more.
pub(super) fn gram<F: Fn(usize, &mut [f32]) + Sync>(table: &Table<F>, height: usize) -> Vec<f64> {
    /// Tiles in all, and those that one thread takes.
    const TILES: (usize, usize) = (64, 16);
    let set = InstructionSet::detect();
    let (rows, mut room) = (table.rows, Vec::new());
    let (mut tiles, mut count) = (Vec::new(), 0);
    for tile in (0..table.tiles()).step_by(table.tiles().div_ceil(TILES.0).max(1)) {
        let run = table.run(tile..tile + 1, &mut room);
        tiles.extend_from_slice(run.tiles);
        count += run.examples.len();
    }
    let parts: Vec<Vec<f64>> = tiles
        .par_chunks(TILES.1 * rows)
        // SAFETY: the work asks for nothing but the instruction set.
        .map(|tiles| unsafe { set.run(Gram { tiles, rows }) })
        .collect();
    let mut gram = vec![0.0; height * height];
    for part in parts {
        for (gram, products) in gram.chunks_mut(height).zip(part.chunks(rows)) {
            add(gram, products);
        }
    }
    for cell in &mut gram {
        *cell /= count as f64;
    }
    gram
}

/// Weights in the order in which products read them.
struct Weights {
    /// For every [`BLOCK`] columns, as many numbers for each row.
    blocks: Vec<[f32; BLOCK]>,
    /// The number of columns, filled up.
    columns: usize,
    rows: usize,
}

impl Weights {
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

/// What is summed over examples, and room for the residuals of a run.
struct Sums {
    losses: Vec<f64>,
    products: Vec<f64>,
    residuals: Vec<Lanes>,
}

struct Learn<'a, L> {
    run: Run<'a>,
    weights: &'a Weights,
    loss: &'a L,
    sums: &'a mut Sums,
}

impl<L: Loss> Work for Learn<'_, L> {
    type Out = ();

    #[inline(always)]
    unsafe fn on<V: Vector>(self) {
        let Self { run: Run { tiles, examples }, weights, loss, sums } = self;
        let (rows, columns) = (weights.rows, weights.columns);
        sums.residuals.resize(tiles.len() / rows * columns, [0.0; LANES]);
        let firsts = examples.clone().step_by(LANES);
        let residuals = sums.residuals.chunks_exact_mut(columns);
        for ((first, tile), residuals) in firsts.zip(tiles.chunks_exact(rows)).zip(residuals) {
            // SAFETY: promised by the caller.
            unsafe { write_scores::<V>(tile, &weights.blocks, residuals) };
            let count = LANES.min(examples.end - first);
            loss.residuals(first, count, residuals, &mut sums.losses);
        }
        let residuals = (&sums.residuals[..], columns);
        // SAFETY: promised by the caller.
        unsafe { add_products::<V>((tiles, rows), residuals, &mut sums.products) };
    }
}

struct Gram<'a> {
    tiles: &'a [Lanes],
    rows: usize,
}

impl Work for Gram<'_> {
    type Out = Vec<f64>;

    #[inline(always)]
    unsafe fn on<V: Vector>(self) -> Vec<f64> {
        let mut products = vec![0.0; self.rows * self.rows];
        let numbers = (self.tiles, self.rows);
        // SAFETY: promised by the caller.
        unsafe { add_products::<V>(numbers, numbers, &mut products) };
        products
    }
}

struct Score<'a> {
    run: Run<'a>,
    weights: &'a Weights,
}

impl Work for Score<'_> {
    type Out = Vec<Lanes>;

    #[inline(always)]
    unsafe fn on<V: Vector>(self) -> Vec<Lanes> {
        let Weights { blocks, columns, rows } = self.weights;
        let mut scores = vec![[0.0; LANES]; self.run.tiles.len() / rows * columns];
        for (tile, scores) in
            self.run.tiles.chunks_exact(*rows).zip(scores.chunks_exact_mut(*columns))
        {
            // SAFETY: promised by the caller.
            unsafe { write_scores::<V>(tile, blocks, scores) };
        }
        scores
    }
}

fn add(to: &mut [f64], what: &[f64]) {
    for (to, what) in to.iter_mut().zip(what) {
        *to += what;
    }
}
