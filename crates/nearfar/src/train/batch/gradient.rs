//! The gradient of a batch, in two passes: one over centres, one over nodes.
//!
//! # Derivation
//!
//! A pair (i, j) of weight c pulls both of its ends: with its slope g = −c (1 − σ(s)) if it is
//! near and c σ(s) if it is far, s = z_i·z_j, the gradient at z_i is Σ g z_j over all pairs of i,
//! on either side. The first pass goes over centres: it finds the slopes, and sums up the centres'
//! own side. The second goes over nodes, and sums up the other. No two threads write to the same
//! row, and no sum depends on how many there are.
//!
//! The second pass reads copies of the centres' rows, which lie close together; so it may change
//! the rows themselves as soon as it has their gradient, and a table takes its step of Adam while
//! a row is at hand.

#![allow(unsafe_code)]
#![allow(
    clippy::inline_always,
    reason = "loops are compiled for the instruction set of the caller"
)]

use rayon::prelude::*;

use super::pairs::{Batch, Incoming};
use crate::encode::{Adam, AdamStep};
use crate::memory::Aligned;
use crate::simd::{InstructionSet, LANES, PIECE, Vector, Work, sigmoid_loss};

/// Centres and nodes that a thread takes at a time, and no more: whoever is done waits for the others.
const CENTRES: usize = 32;
const NODES: usize = 256;
/// Pairs of a centre whose rows stay in the nearest cache from their products to their sum.
const BLOCK: usize = 4 * PIECE;
/// Rows are fetched so many pairs before they are used.
const AHEAD: usize = 12;
/// Tables of more numbers than these do not fit the near caches, and fetching pays.
const NEAR: usize = 1 << 19;
/// Where rows have the usual length, the compiler gets to know it.
const USUAL: usize = 128;

/// What the first pass finds, and room for it: the same from batch to batch, as new memory costs
/// as much as filling it.
pub(super) struct Gradients {
    set: InstructionSet,
    dim: usize,
    /// Of every pair, in the order of the batch.
    of_pairs: Vec<f32>,
    /// The rows of the centres as they were.
    rows: Aligned,
    /// The centres' own side of the gradient.
    own: Aligned,
}

impl Gradients {
    /// For batches of a graph with so many nodes, and rows of `dim` numbers.
    pub(super) fn new(set: InstructionSet, nodes: usize, dim: usize) -> Self {
        let [rows, own] = [0; 2].map(|_| Aligned::zeroed(nodes * dim));
        Self { set, dim, of_pairs: Vec::new(), rows, own }
    }

    /// Goes over the centres of a batch, and returns the loss of all pairs.
    pub(super) fn compute(&mut self, batch: &Batch, vectors: &[f32]) -> f64 {
        let (set, dim) = (self.set, self.dim);
        assert!(vectors.len() >= batch.nodes() * dim, "every node has a row");
        self.of_pairs.resize(batch.len(), 0.0);
        let length = batch.centres.len() * dim;
        let (rows, own) = (&mut self.rows[..length], &mut self.own[..length]);
        let mut parts = Vec::with_capacity(batch.centres.len().div_ceil(CENTRES));
        let mut rest = &mut self.of_pairs[..];
        let chunks = rows.chunks_mut(CENTRES * dim).zip(own.chunks_mut(CENTRES * dim));
        for (at, (rows, own)) in chunks.enumerate() {
            let first = at * CENTRES;
            let pairs = batch.pairs_of(first..first + rows.len() / dim).len();
            let (slopes, behind) = std::mem::take(&mut rest).split_at_mut(pairs);
            rest = behind;
            parts.push(Centres { batch, vectors, dim, first, rows, own, slopes });
        }
        // SAFETY: the work asks for nothing more than the instruction set.
        let losses: Vec<f64> =
            parts.into_par_iter().with_max_len(1).map(|part| unsafe { set.run(part) }).collect();
        losses.iter().sum()
    }

    /// Writes the gradient of the batch at all rows to `out`.
    pub(super) fn write(&self, batch: &Batch, out: &mut [f32]) {
        out.par_chunks_mut(NODES * self.dim).enumerate().for_each(|(at, out)| {
            let work = Gradient { gradients: self, batch, first: at * NODES, out };
            // SAFETY: the work asks for nothing more than the instruction set.
            unsafe { self.set.run(work) }
        });
    }

    /// Takes a step of Adam at all rows.
    pub(super) fn step(&self, batch: &Batch, adam: &mut Adam, rate: f64, vectors: &mut [f32]) {
        let (step, means, squares) = adam.begin(rate);
        let size = NODES * self.dim;
        let lists = (vectors.par_chunks_mut(size), means.par_chunks_mut(size));
        let lists = lists.into_par_iter().zip(squares.par_chunks_mut(size)).enumerate();
        lists.with_max_len(1).for_each(|(at, ((x, m), v))| {
            let work = Steps { gradients: self, batch, first: at * NODES, step, rows: (x, m, v) };
            // SAFETY: the work asks for nothing more than the instruction set.
            unsafe { self.set.run(work) }
        });
    }

    /// Sums up the gradient at a node.
    ///
    /// # Safety
    ///
    /// The processor has the instruction set of the vector.
    #[inline(always)]
    unsafe fn at<V: Vector>(&self, batch: &Batch, node: usize, dim: usize, out: &mut [f32]) {
        let row = |at: u32| &self.rows[at as usize * dim..][..dim];
        match batch.place(node) {
            Some(at) => out.copy_from_slice(&self.own[at * dim..][..dim]),
            None => out.fill(0.0),
        }
        let (towards, later) = batch.towards(node);
        let fetched = if batch.centres.len() * dim > NEAR { towards.len() } else { 0 };
        for &Incoming { centre, pair } in later.iter().skip(AHEAD).take(fetched) {
            // SAFETY: promised by the caller.
            unsafe {
                prefetch::<V>(row(centre));
                prefetch::<V>(&self.of_pairs[pair as usize..][..1]);
            }
        }
        let terms = towards.iter().map(|at| (self.of_pairs[at.pair as usize], row(at.centre)));
        // SAFETY: promised by the caller.
        unsafe { add_all::<V>(out, terms) }
    }
}

/// Some centres of a batch, in the first pass.
struct Centres<'a> {
    batch: &'a Batch,
    vectors: &'a [f32],
    dim: usize,
    first: usize,
    rows: &'a mut [f32],
    own: &'a mut [f32],
    slopes: &'a mut [f32],
}

impl Work for Centres<'_> {
    type Out = f64;

    #[inline(always)]
    unsafe fn on<V: Vector>(self) -> f64 {
        // SAFETY: promised by the caller.
        unsafe {
            match self.dim {
                USUAL => self.with::<V>(USUAL),
                dim => self.with::<V>(dim),
            }
        }
    }
}

impl Centres<'_> {
    /// # Safety
    ///
    /// The processor has the instruction set of the vector.
    #[inline(always)]
    unsafe fn with<V: Vector>(self, dim: usize) -> f64 {
        let Self { batch, vectors, first, rows, own, mut slopes, .. } = self;
        let row = |node: u32| &vectors[node as usize * dim..][..dim];
        let fetch = vectors.len() > NEAR;
        let mut losses = [0.0; PIECE];
        let each = rows.chunks_exact_mut(dim).zip(own.chunks_exact_mut(dim));
        for (at, (z, own)) in (first..).zip(each) {
            z.copy_from_slice(row(batch.centres[at]));
            let (others, weights) = (batch.of(at).0, batch.weights_from(at));
            let (of_centre, behind) = std::mem::take(&mut slopes).split_at_mut(others.len());
            slopes = behind;
            let later = batch.others_from(at);
            own.fill(0.0);
            // All of it for some pairs at a time, while their rows are at hand.
            let blocks = of_centre.chunks_mut(BLOCK).zip(others.chunks(BLOCK)).enumerate();
            for (block, (slopes, others)) in blocks {
                let mut found = [[0.0; PIECE]; BLOCK / PIECE];
                for (piece, (others, products)) in others.chunks(PIECE).zip(&mut found).enumerate()
                {
                    let rows = others.iter().enumerate().map(|(at, &other)| {
                        let next = block * BLOCK + piece * PIECE + at + AHEAD;
                        if fetch && let Some(&other) = later.get(next) {
                            // SAFETY: promised by the caller.
                            unsafe { prefetch::<V>(row(other)) }
                        }
                        row(other)
                    });
                    // SAFETY: promised by the caller.
                    unsafe { multiply::<V>(z, rows, products) }
                }
                slopes_of(&mut found, &weights[block * BLOCK..], others.len(), &mut losses);
                slopes.copy_from_slice(&found.as_flattened()[..slopes.len()]);
                let terms = slopes.iter().zip(others).map(|(&slope, &other)| (slope, row(other)));
                // SAFETY: promised by the caller.
                unsafe { add_all::<V>(own, terms) }
            }
        }
        losses.iter().map(|&loss| f64::from(loss)).sum()
    }
}

/// Some nodes, in the second pass, for their gradient.
struct Gradient<'a> {
    gradients: &'a Gradients,
    batch: &'a Batch,
    first: usize,
    out: &'a mut [f32],
}

impl Work for Gradient<'_> {
    type Out = ();

    #[inline(always)]
    unsafe fn on<V: Vector>(self) {
        for (node, out) in (self.first..).zip(self.out.chunks_exact_mut(self.gradients.dim)) {
            // SAFETY: promised by the caller.
            unsafe { self.gradients.at::<V>(self.batch, node, self.gradients.dim, out) }
        }
    }
}

/// Some rows of a table, in the second pass, for their step.
struct Steps<'a> {
    gradients: &'a Gradients,
    batch: &'a Batch,
    first: usize,
    step: AdamStep,
    /// Vectors, means and squares.
    rows: (&'a mut [f32], &'a mut [f32], &'a mut [f32]),
}

impl Work for Steps<'_> {
    type Out = ();

    #[inline(always)]
    unsafe fn on<V: Vector>(self) {
        // SAFETY: promised by the caller.
        unsafe {
            match self.gradients.dim {
                USUAL => self.with::<V>(USUAL),
                dim => self.with::<V>(dim),
            }
        }
    }
}

impl Steps<'_> {
    /// # Safety
    ///
    /// The processor has the instruction set of the vector.
    #[inline(always)]
    unsafe fn with<V: Vector>(self, dim: usize) {
        let (x, m, v) = self.rows;
        let mut gradient = Aligned::zeroed(dim);
        let rows =
            x.chunks_exact_mut(dim).zip(m.chunks_exact_mut(dim).zip(v.chunks_exact_mut(dim)));
        for (node, (x, (m, v))) in (self.first..).zip(rows) {
            // SAFETY: promised by the caller.
            unsafe { self.gradients.at::<V>(self.batch, node, dim, &mut gradient) }
            self.step.take(x, &gradient, m, v);
        }
    }
}

/// Puts slopes in the place of `count` products, and adds to the losses of each lane. The last piece
/// is computed whole, so there are as many weights; those behind the end count as nothing.
#[inline(always)]
fn slopes_of(
    products: &mut [[f32; PIECE]; BLOCK / PIECE],
    weights: &[f32],
    count: usize,
    losses: &mut [f32; PIECE],
) {
    let pieces = products.iter_mut().zip(weights.as_chunks::<PIECE>().0);
    for (piece, (products, weights)) in pieces.enumerate().take(count.div_ceil(PIECE)) {
        let left = count - piece * PIECE;
        for (lane, ((s, &weight), sum)) in
            products.iter_mut().zip(weights).zip(&mut *losses).enumerate()
        {
            let weight = if lane < left { weight } else { 0.0 };
            let (wrong, cost) = sigmoid_loss(if weight > 0.0 { *s } else { -*s });
            *s = -weight * wrong;
            *sum += weight.abs() * cost;
        }
    }
}

/// The products of a row with up to [`PIECE`] others.
///
/// # Safety
///
/// The processor has the instruction set of the vector.
#[inline(always)]
unsafe fn multiply<'a, V: Vector>(
    z: &[f32],
    others: impl Iterator<Item = &'a [f32]>,
    out: &mut [f32; PIECE],
) {
    let whole = z.len() / LANES * LANES;
    // SAFETY, for all of it: the caller promises the instruction set; whole vectors lie within
    // the rows.
    let mut sums = unsafe { [V::zero(); PIECE] };
    for ((sum, out), other) in sums.iter_mut().zip(&mut *out).zip(others) {
        let other = &other[..z.len()];
        // Two sums, so that neither waits for each of its terms.
        let mut halves = unsafe { [V::zero(); 2] };
        for at in (0..whole).step_by(LANES) {
            let half = &mut halves[at / LANES % 2];
            *half = unsafe {
                V::load(z.as_ptr().add(at)).mul_add(V::load(other.as_ptr().add(at)), *half)
            };
        }
        *sum = unsafe { V::splat(1.0).mul_add(halves[0], halves[1]) };
        *out = z[whole..].iter().zip(&other[whole..]).map(|(a, b)| a * b).sum();
    }
    for (out, sum) in out.iter_mut().zip(unsafe { V::sums(&sums) }) {
        *out += sum;
    }
}

/// Adds multiples of rows to another, as much of it at a time as the registers hold.
///
/// # Safety
///
/// The processor has the instruction set of the vector.
#[inline(always)]
unsafe fn add_all<'a, V: Vector>(
    out: &mut [f32],
    terms: impl Iterator<Item = (f32, &'a [f32])> + Clone,
) {
    // SAFETY: promised by the caller.
    unsafe {
        let done = if V::MANY { add_parts::<V, 8>(out, 0, &terms) } else { 0 };
        let done = add_parts::<V, 4>(out, done, &terms);
        let done = add_parts::<V, 1>(out, done, &terms);
        for (factor, row) in terms {
            let rest = out[done..].iter_mut().zip(&row[done..]);
            rest.for_each(|(out, x)| *out += factor * x);
        }
    }
}

/// Adds in parts of `WIDTH` vectors, from a place on, and returns where they end.
///
/// # Safety
///
/// The processor has the instruction set of the vector.
#[inline(always)]
unsafe fn add_parts<'a, V: Vector, const WIDTH: usize>(
    out: &mut [f32],
    from: usize,
    terms: &(impl Iterator<Item = (f32, &'a [f32])> + Clone),
) -> usize {
    let width = WIDTH * LANES;
    let end = from + (out.len() - from) / width * width;
    for start in (from..end).step_by(width) {
        let to = out[start..start + width].as_mut_ptr();
        // SAFETY: the caller promises the instruction set; the parts lie within the rows.
        unsafe {
            let mut sums = [V::zero(); WIDTH];
            for (at, sum) in sums.iter_mut().enumerate() {
                *sum = V::load(to.add(at * LANES));
            }
            for (factor, row) in terms.clone() {
                let factor = V::splat(factor);
                let row = row[start..start + width].as_ptr();
                for (at, sum) in sums.iter_mut().enumerate() {
                    *sum = factor.mul_add(V::load(row.add(at * LANES)), *sum);
                }
            }
            for (at, sum) in sums.into_iter().enumerate() {
                sum.store(to.add(at * LANES));
            }
        }
    }
    end
}

/// Fetches a row that is used soon.
///
/// # Safety
///
/// The processor has the instruction set of the vector.
#[inline(always)]
unsafe fn prefetch<V: Vector>(row: &[f32]) {
    for part in row.chunks(LANES) {
        // SAFETY: promised by the caller.
        unsafe { V::prefetch(part.as_ptr()) }
    }
}
