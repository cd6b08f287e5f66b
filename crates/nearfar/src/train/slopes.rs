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

use super::draw::Batch;
use super::kernel::{Kernel, LANES, Vector, Work, wrong_and_loss};
use crate::encode::{Adam, AdamStep};

/// Centres and nodes that a thread takes at a time.
const CENTRES: usize = 32;
const NODES: usize = 256;
/// Rows are fetched so many pairs before they are used.
const AHEAD: usize = 4;
/// Where rows have the usual length, the compiler gets to know it.
const USUAL: usize = 128;

/// What the first pass finds.
pub(super) struct Slopes<'a> {
    batch: &'a Batch,
    kernel: Kernel,
    dim: usize,
    /// Of every pair, in the order of the batch.
    of_pairs: Vec<f32>,
    /// The rows of the centres as they were.
    rows: Vec<f32>,
    /// The centres' own side of the gradient.
    own: Vec<f32>,
    /// The loss of all pairs.
    pub(super) loss: f64,
}

impl<'a> Slopes<'a> {
    /// Goes over the centres.
    pub(super) fn new(kernel: Kernel, batch: &'a Batch, vectors: &[f32], dim: usize) -> Self {
        assert!(vectors.len() >= batch.nodes() * dim, "every node has a row");
        let centres = batch.centres.len();
        let (mut rows, mut own) = (vec![0.0; centres * dim], vec![0.0; centres * dim]);
        let mut slopes = vec![0.0; batch.len()];
        let mut parts = Vec::with_capacity(centres.div_ceil(CENTRES));
        let mut rest = &mut slopes[..];
        let chunks = rows.chunks_mut(CENTRES * dim).zip(own.chunks_mut(CENTRES * dim));
        for (at, (rows, own)) in chunks.enumerate() {
            let first = at * CENTRES;
            let pairs = (first..first + rows.len() / dim).map(|at| batch.of(at).0.len()).sum();
            let (slopes, behind) = std::mem::take(&mut rest).split_at_mut(pairs);
            rest = behind;
            parts.push(Centres { batch, vectors, dim, first, rows, own, slopes });
        }
        // SAFETY: the work asks for nothing more than the instruction set.
        let losses: Vec<f64> =
            parts.into_par_iter().map(|part| unsafe { kernel.run(part) }).collect();
        let loss = losses.iter().sum();
        Self { batch, kernel, dim, of_pairs: slopes, rows, own, loss }
    }

    /// Writes the gradient at all rows to `out`.
    pub(super) fn gradient(&self, out: &mut [f32]) {
        out.par_chunks_mut(NODES * self.dim).enumerate().for_each(|(at, out)| {
            // SAFETY: the work asks for nothing more than the instruction set.
            unsafe { self.kernel.run(Gradient { slopes: self, first: at * NODES, out }) }
        });
    }

    /// Takes a step of Adam at all rows.
    pub(super) fn step(&self, adam: &mut Adam, rate: f64, vectors: &mut [f32]) {
        let (step, means, squares) = adam.begin(rate);
        let size = NODES * self.dim;
        let lists = (vectors.par_chunks_mut(size), means.par_chunks_mut(size));
        let lists = lists.into_par_iter().zip(squares.par_chunks_mut(size)).enumerate();
        lists.for_each(|(at, ((x, m), v))| {
            let work = Steps { slopes: self, first: at * NODES, step, rows: (x, m, v) };
            // SAFETY: the work asks for nothing more than the instruction set.
            unsafe { self.kernel.run(work) }
        });
    }

    /// Sums up the gradient at a node.
    ///
    /// # Safety
    ///
    /// The processor has the instruction set of the vector.
    #[inline(always)]
    unsafe fn at<V: Vector>(&self, node: usize, dim: usize, out: &mut [f32]) {
        let row = |at: u32| &self.rows[at as usize * dim..][..dim];
        match self.batch.place(node) {
            Some(at) => out.copy_from_slice(&self.own[at * dim..][..dim]),
            None => out.fill(0.0),
        }
        let towards = self.batch.towards(node);
        for (next, &(centre, pair)) in towards.iter().enumerate() {
            if let Some(&(centre, _)) = towards.get(next + AHEAD) {
                // SAFETY: promised by the caller; the row is there.
                unsafe { prefetch::<V>(row(centre).as_ptr(), dim) }
            }
            // SAFETY: promised by the caller.
            unsafe { add::<V>(out, self.of_pairs[pair as usize], row(centre)) }
        }
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
        let mut loss = 0.0;
        let each = rows.chunks_exact_mut(dim).zip(own.chunks_exact_mut(dim));
        for (at, (z, own)) in (first..).zip(each) {
            z.copy_from_slice(row(batch.centres[at]));
            let (others, weights) = batch.of(at);
            let (of_centre, behind) = std::mem::take(&mut slopes).split_at_mut(others.len());
            slopes = behind;
            // SAFETY, for all of it: promised by the caller; the rows are there.
            for (next, (slope, &other)) in of_centre.iter_mut().zip(others).enumerate() {
                if let Some(&other) = others.get(next + AHEAD) {
                    unsafe { prefetch::<V>(row(other).as_ptr(), dim) }
                }
                *slope = unsafe { dot::<V>(z, row(other)) };
            }
            loss += f64::from(slopes_of(of_centre, weights));
            for (slope, &other) in of_centre.iter().zip(others) {
                unsafe { add::<V>(own, *slope, row(other)) }
            }
        }
        loss
    }
}

/// Some nodes, in the second pass, for their gradient.
struct Gradient<'a> {
    slopes: &'a Slopes<'a>,
    first: usize,
    out: &'a mut [f32],
}

impl Work for Gradient<'_> {
    type Out = ();

    #[inline(always)]
    unsafe fn on<V: Vector>(self) {
        for (node, out) in (self.first..).zip(self.out.chunks_exact_mut(self.slopes.dim)) {
            // SAFETY: promised by the caller.
            unsafe { self.slopes.at::<V>(node, self.slopes.dim, out) }
        }
    }
}

/// Some rows of a table, in the second pass, for their step.
struct Steps<'a> {
    slopes: &'a Slopes<'a>,
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
            match self.slopes.dim {
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
        let mut gradient = vec![0.0; dim];
        let rows =
            x.chunks_exact_mut(dim).zip(m.chunks_exact_mut(dim).zip(v.chunks_exact_mut(dim)));
        for (node, (x, (m, v))) in (self.first..).zip(rows) {
            // SAFETY: promised by the caller.
            unsafe { self.slopes.at::<V>(node, dim, &mut gradient) }
            self.step.take(x, &gradient, m, v);
        }
    }
}

/// Puts slopes in the place of products, and returns their loss. Losses are summed in lanes, so
/// that all of it is done to many pairs at a time.
#[inline(always)]
fn slopes_of(products: &mut [f32], weights: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    let one = |s: &mut f32, weight: f32| {
        let (wrong, cost) = wrong_and_loss(if weight > 0.0 { *s } else { -*s });
        *s = -weight * wrong;
        weight.abs() * cost
    };
    let (chunks, rest) = products.as_chunks_mut::<LANES>();
    let (weights, weights_of_rest) = weights.as_chunks::<LANES>();
    for (chunk, weights) in chunks.iter_mut().zip(weights) {
        (0..LANES).for_each(|lane| sums[lane] += one(&mut chunk[lane], weights[lane]));
    }
    for (s, &weight) in rest.iter_mut().zip(weights_of_rest) {
        sums[0] += one(s, weight);
    }
    sums.iter().sum()
}

/// The product of two rows.
///
/// # Safety
///
/// The processor has the instruction set of the vector.
#[inline(always)]
unsafe fn dot<V: Vector>(a: &[f32], b: &[f32]) -> f32 {
    let whole = a.len() / LANES * LANES;
    let b = &b[..a.len()];
    // SAFETY: the caller promises the instruction set; whole vectors lie within both rows.
    let sum = unsafe {
        let mut sums = [V::zero(); 2];
        for at in (0..whole).step_by(LANES) {
            let sum = &mut sums[at / LANES % 2];
            *sum = V::load(a.as_ptr().add(at)).mul_add(V::load(b.as_ptr().add(at)), *sum);
        }
        V::splat(1.0).mul_add(sums[0], sums[1]).sum()
    };
    sum + a[whole..].iter().zip(&b[whole..]).map(|(a, b)| a * b).sum::<f32>()
}

/// Adds a multiple of one row to another.
///
/// # Safety
///
/// The processor has the instruction set of the vector.
#[inline(always)]
unsafe fn add<V: Vector>(out: &mut [f32], factor: f32, x: &[f32]) {
    let whole = out.len() / LANES * LANES;
    let x = &x[..out.len()];
    // SAFETY: the caller promises the instruction set; whole vectors lie within both rows.
    unsafe {
        let factor = V::splat(factor);
        for at in (0..whole).step_by(LANES) {
            let to = out.as_mut_ptr().add(at);
            factor.mul_add(V::load(x.as_ptr().add(at)), V::load(to)).store(to);
        }
    }
    out[whole..].iter_mut().zip(&x[whole..]).for_each(|(out, x)| *out += factor * x);
}

/// Fetches a row that is used soon.
///
/// # Safety
///
/// The processor has the instruction set of the vector, and the row is there.
#[inline(always)]
unsafe fn prefetch<V: Vector>(row: *const f32, dim: usize) {
    for at in (0..dim).step_by(LANES) {
        // SAFETY: promised by the caller.
        unsafe { V::prefetch(row.add(at)) }
    }
}
