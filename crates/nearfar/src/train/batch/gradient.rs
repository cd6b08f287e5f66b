//! The gradient of a batch, in two passes: one over centres, one over nodes.
//!
//! # Derivation
//!
//! A pair (i, j) of weight c, with s = z_i·z_j, adds −c log σ(s) to the loss if it is positive and
//! −c log σ(−s) if it is negative. The derivative by s, the *pair gradient*, is g = −c (1 − σ(s)) or
//! c σ(s), so the pair adds g z_j to the gradient at z_i and g z_i to that at z_j. The first pass,
//! over centres, computes all g and sums g z_j for each centre i. The second, over nodes, adds g z_i
//! for the incoming pairs of each node j. No two threads write to the same row, and no sum depends
//! on the number of threads.
//!
//! The second pass reads copies of the centres' rows, which are contiguous. So it may update a row
//! as soon as it has its gradient: a table takes its Adam step while the row is in cache.

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

/// Centres and nodes that a thread takes at a time. Few, as threads that finish early have to wait.
const CENTRES: usize = 32;
const NODES: usize = 256;
/// Pairs of a centre whose rows stay in the first-level cache from their products to their sum.
const BLOCK: usize = 4 * PIECE;
/// Rows are prefetched so many pairs before they are used.
const AHEAD: usize = 12;
/// Tables of more floats than this do not fit the lower cache levels, and prefetching pays.
const CACHED: usize = 1 << 19;
/// The usual dimension, for which loops are compiled with a constant length.
const USUAL_DIM: usize = 128;

/// The results of the first pass. The buffers are reused for all batches, as new memory costs as
/// much as filling it.
pub(super) struct PairGradients {
    set: InstructionSet,
    dim: usize,
    /// The gradient of each pair with respect to its product, in the order of the batch.
    gradients: Vec<f32>,
    /// Copies of the rows of the centres, before the step.
    rows: Aligned,
    /// For each centre, the sum over the pairs that it is the centre of.
    own: Aligned,
}

impl PairGradients {
    /// For batches of a graph with so many nodes, and vectors of `dim` dimensions.
    pub(super) fn new(set: InstructionSet, nodes: usize, dim: usize) -> Self {
        let [rows, own] = [0; 2].map(|_| Aligned::zeroed(nodes * dim));
        Self { set, dim, gradients: Vec::new(), rows, own }
    }

    /// Runs the first pass over a batch, and returns the sum of the losses of its pairs.
    pub(super) fn compute(&mut self, batch: &Batch, vectors: &[f32]) -> f64 {
        let (set, dim) = (self.set, self.dim);
        assert!(vectors.len() >= batch.nodes() * dim, "every node has a row");
        self.gradients.resize(batch.len(), 0.0);
        let length = batch.centres.len() * dim;
        let (rows, own) = (&mut self.rows[..length], &mut self.own[..length]);
        let mut parts = Vec::with_capacity(batch.centres.len().div_ceil(CENTRES));
        let mut rest = &mut self.gradients[..];
        let chunks = rows.chunks_mut(CENTRES * dim).zip(own.chunks_mut(CENTRES * dim));
        for (at, (rows, own)) in chunks.enumerate() {
            let first = at * CENTRES;
            let pairs = batch.pairs_of(first..first + rows.len() / dim).len();
            let (gradients, later) = std::mem::take(&mut rest).split_at_mut(pairs);
            rest = later;
            parts.push(CentrePass { batch, vectors, dim, first, rows, own, gradients });
        }
        // SAFETY: the work requires nothing but the instruction set.
        let losses: Vec<f64> =
            parts.into_par_iter().with_max_len(1).map(|part| unsafe { set.run(part) }).collect();
        losses.iter().sum()
    }

    /// Runs the second pass, and writes the gradient at all rows to `out`.
    pub(super) fn write(&self, batch: &Batch, out: &mut [f32]) {
        out.par_chunks_mut(NODES * self.dim).enumerate().for_each(|(at, out)| {
            let work = WritePass { pairs: self, batch, first: at * NODES, out };
            // SAFETY: the work requires nothing but the instruction set.
            unsafe { self.set.run(work) }
        });
    }

    /// Runs the second pass, and takes an Adam step at all rows.
    pub(super) fn step(&self, batch: &Batch, adam: &mut Adam, rate: f64, vectors: &mut [f32]) {
        let (step, means, squares) = adam.begin(rate);
        let size = NODES * self.dim;
        let lists = (vectors.par_chunks_mut(size), means.par_chunks_mut(size));
        let lists = lists.into_par_iter().zip(squares.par_chunks_mut(size)).enumerate();
        lists.with_max_len(1).for_each(|(at, ((x, m), v))| {
            let work = AdamPass { pairs: self, batch, first: at * NODES, step, rows: (x, m, v) };
            // SAFETY: the work requires nothing but the instruction set.
            unsafe { self.set.run(work) }
        });
    }

    /// Computes the gradient at a node.
    ///
    /// # Safety
    ///
    /// The processor supports the instruction set of the vector.
    #[inline(always)]
    unsafe fn at_node<V: Vector>(&self, batch: &Batch, node: usize, dim: usize, out: &mut [f32]) {
        let row = |at: u32| &self.rows[at as usize * dim..][..dim];
        match batch.centre_index(node) {
            Some(at) => out.copy_from_slice(&self.own[at * dim..][..dim]),
            None => out.fill(0.0),
        }
        let (incoming, later) = batch.incoming(node);
        let prefetched = if batch.centres.len() * dim > CACHED { incoming.len() } else { 0 };
        for &Incoming { centre, pair } in later.iter().skip(AHEAD).take(prefetched) {
            // SAFETY: guaranteed by the caller.
            unsafe {
                prefetch::<V>(row(centre));
                prefetch::<V>(&self.gradients[pair as usize..][..1]);
            }
        }
        let terms = incoming.iter().map(|at| (self.gradients[at.pair as usize], row(at.centre)));
        // SAFETY: guaranteed by the caller.
        unsafe { add_all::<V>(out, terms) }
    }
}

/// The first pass over some centres of a batch, from index `first` on.
struct CentrePass<'a> {
    batch: &'a Batch,
    vectors: &'a [f32],
    dim: usize,
    first: usize,
    rows: &'a mut [f32],
    own: &'a mut [f32],
    gradients: &'a mut [f32],
}

impl Work for CentrePass<'_> {
    type Out = f64;

    #[inline(always)]
    unsafe fn on<V: Vector>(self) -> f64 {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.dim {
                USUAL_DIM => self.with_dim::<V>(USUAL_DIM),
                dim => self.with_dim::<V>(dim),
            }
        }
    }
}

impl CentrePass<'_> {
    /// # Safety
    ///
    /// The processor supports the instruction set of the vector.
    #[inline(always)]
    unsafe fn with_dim<V: Vector>(self, dim: usize) -> f64 {
        let Self { batch, vectors, first, rows, own, mut gradients, .. } = self;
        let row = |node: u32| &vectors[node as usize * dim..][..dim];
        let prefetched = vectors.len() > CACHED;
        let mut losses = [0.0; PIECE];
        let each = rows.chunks_exact_mut(dim).zip(own.chunks_exact_mut(dim));
        for (at, (z, own)) in (first..).zip(each) {
            z.copy_from_slice(row(batch.centres[at]));
            let (others, weights) = (batch.of(at).0, batch.weights_from(at));
            let (of_centre, rest) = std::mem::take(&mut gradients).split_at_mut(others.len());
            gradients = rest;
            let later = batch.others_from(at);
            own.fill(0.0);
            // Products and sums of some pairs at a time, while their rows are in cache.
            let blocks = of_centre.chunks_mut(BLOCK).zip(others.chunks(BLOCK)).enumerate();
            for (block, (gradients, others)) in blocks {
                let mut products = [[0.0; PIECE]; BLOCK / PIECE];
                for (piece, (others, products)) in
                    others.chunks(PIECE).zip(&mut products).enumerate()
                {
                    let rows = others.iter().enumerate().map(|(at, &other)| {
                        let next = block * BLOCK + piece * PIECE + at + AHEAD;
                        if prefetched && let Some(&other) = later.get(next) {
                            // SAFETY: guaranteed by the caller.
                            unsafe { prefetch::<V>(row(other)) }
                        }
                        row(other)
                    });
                    // SAFETY: guaranteed by the caller.
                    unsafe { multiply::<V>(z, rows, products) }
                }
                to_gradients(&mut products, &weights[block * BLOCK..], others.len(), &mut losses);
                gradients.copy_from_slice(&products.as_flattened()[..gradients.len()]);
                let terms = gradients.iter().zip(others).map(|(&g, &other)| (g, row(other)));
                // SAFETY: guaranteed by the caller.
                unsafe { add_all::<V>(own, terms) }
            }
        }
        losses.iter().map(|&loss| f64::from(loss)).sum()
    }
}

/// The second pass over some nodes, from `first` on: writes their gradient.
struct WritePass<'a> {
    pairs: &'a PairGradients,
    batch: &'a Batch,
    first: usize,
    out: &'a mut [f32],
}

impl Work for WritePass<'_> {
    type Out = ();

    #[inline(always)]
    unsafe fn on<V: Vector>(self) {
        for (node, out) in (self.first..).zip(self.out.chunks_exact_mut(self.pairs.dim)) {
            // SAFETY: guaranteed by the caller.
            unsafe { self.pairs.at_node::<V>(self.batch, node, self.pairs.dim, out) }
        }
    }
}

/// The second pass over some nodes, from `first` on: takes their Adam step.
struct AdamPass<'a> {
    pairs: &'a PairGradients,
    batch: &'a Batch,
    first: usize,
    step: AdamStep,
    /// Vectors, and their first and second moments.
    rows: (&'a mut [f32], &'a mut [f32], &'a mut [f32]),
}

impl Work for AdamPass<'_> {
    type Out = ();

    #[inline(always)]
    unsafe fn on<V: Vector>(self) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.pairs.dim {
                USUAL_DIM => self.with_dim::<V>(USUAL_DIM),
                dim => self.with_dim::<V>(dim),
            }
        }
    }
}

impl AdamPass<'_> {
    /// # Safety
    ///
    /// The processor supports the instruction set of the vector.
    #[inline(always)]
    unsafe fn with_dim<V: Vector>(self, dim: usize) {
        let (x, m, v) = self.rows;
        let mut gradient = Aligned::zeroed(dim);
        let rows =
            x.chunks_exact_mut(dim).zip(m.chunks_exact_mut(dim).zip(v.chunks_exact_mut(dim)));
        for (node, (x, (m, v))) in (self.first..).zip(rows) {
            // SAFETY: guaranteed by the caller.
            unsafe { self.pairs.at_node::<V>(self.batch, node, dim, &mut gradient) }
            self.step.take(x, &gradient, m, v);
        }
    }
}

/// Replaces `count` products by their pair gradients, and adds to the losses of each lane. The last
/// piece is computed whole, so it needs [`PIECE`] weights; those beyond `count` are taken as zero.
#[inline(always)]
fn to_gradients(
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
            let (error, loss) = sigmoid_loss(if weight > 0.0 { *s } else { -*s });
            *s = -weight * error;
            *sum += weight.abs() * loss;
        }
    }
}

/// The dot products of a row with up to [`PIECE`] others.
///
/// # Safety
///
/// The processor supports the instruction set of the vector.
#[inline(always)]
unsafe fn multiply<'a, V: Vector>(
    z: &[f32],
    others: impl Iterator<Item = &'a [f32]>,
    out: &mut [f32; PIECE],
) {
    let whole = z.len() / LANES * LANES;
    // SAFETY, for the whole function: the caller guarantees the instruction set; whole vectors lie
    // within the rows.
    let mut sums = unsafe { [V::zero(); PIECE] };
    for ((sum, out), other) in sums.iter_mut().zip(&mut *out).zip(others) {
        let other = &other[..z.len()];
        // Two sums: the additions of one do not wait for those of the other.
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

/// Adds multiples of rows to `out`, as many dimensions at a time as the registers hold.
///
/// # Safety
///
/// The processor supports the instruction set of the vector.
#[inline(always)]
unsafe fn add_all<'a, V: Vector>(
    out: &mut [f32],
    terms: impl Iterator<Item = (f32, &'a [f32])> + Clone,
) {
    // SAFETY: guaranteed by the caller.
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

/// Adds in parts of `WIDTH` vectors, from dimension `from` on, and returns where they end.
///
/// # Safety
///
/// The processor supports the instruction set of the vector.
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
        // SAFETY: the caller guarantees the instruction set; the parts lie within the rows.
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

/// Loads a row into the cache before it is needed.
///
/// # Safety
///
/// The processor supports the instruction set of the vector.
#[inline(always)]
unsafe fn prefetch<V: Vector>(row: &[f32]) {
    for part in row.chunks(LANES) {
        // SAFETY: guaranteed by the caller.
        unsafe { V::prefetch(part.as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    /// More nodes and centres than a thread takes at a time; centres with no pairs, with a few, and with
    /// more than a block of them.
    fn batch(nodes: usize) -> (Batch, Vec<(usize, usize, f32)>) {
        let mut rng = Rng::new(6, Purpose::Edge, 0, 0);
        let (mut batch, mut pairs) = (Batch::default(), vec![]);
        batch.clear(nodes);
        for (at, centre) in (0..nodes).step_by(3).enumerate() {
            batch.begin(centre as u32);
            let count = [0, 1, PIECE, PIECE + 1, 3, BLOCK, BLOCK + 5][at % 7];
            for _ in 0..count {
                let other = rng.below(nodes);
                let weight = rng.unit() as f32 - 0.5;
                batch.add(other as u32, weight);
                pairs.push((centre, other, weight));
            }
        }
        batch.sort();
        (batch, pairs)
    }

    fn random(len: usize) -> Vec<f32> {
        let mut rng = Rng::new(7, Purpose::Start, 0, 0);
        (0..len).map(|_| rng.unit() as f32 - 0.5).collect()
    }

    #[test]
    fn gradients_are_those_of_the_formula() {
        let nodes = 2 * NODES + 70;
        let (batch, pairs) = batch(nodes);
        for dim in [5, 21, USUAL_DIM] {
            let vectors = random(nodes * dim);
            let (mut loss, mut expected) = (0.0, vec![0.0; nodes * dim]);
            for &(i, j, weight) in &pairs {
                let dot: f64 = (0..dim)
                    .map(|k| f64::from(vectors[i * dim + k]) * f64::from(vectors[j * dim + k]))
                    .sum();
                // The label is the sign of the weight.
                let (sign, weight) = (f64::from(weight.signum()), f64::from(weight.abs()));
                loss += weight * (-sign * dot).exp().ln_1p();
                let g = -weight * sign / (1.0 + (sign * dot).exp());
                for k in 0..dim {
                    expected[i * dim + k] += g * f64::from(vectors[j * dim + k]);
                    expected[j * dim + k] += g * f64::from(vectors[i * dim + k]);
                }
            }
            for set in InstructionSet::available() {
                let mut gradients = PairGradients::new(set, nodes, dim);
                let found = gradients.compute(&batch, &vectors);
                assert!((found / loss - 1.0).abs() < 1e-5, "{set:?}: {found} for {loss}");
                let mut written = vec![9.0; nodes * dim];
                gradients.write(&batch, &mut written);
                for (at, (found, exact)) in written.iter().zip(&expected).enumerate() {
                    let error = (f64::from(*found) - exact).abs();
                    assert!(error < 1e-4, "{set:?}, node {}: {found} for {exact}", at / dim);
                }
                // A step with the gradient of each row is one with that of all.
                let (mut adam, mut steps) = (Adam::new(nodes * dim), vectors.clone());
                gradients.step(&batch, &mut adam, 0.1, &mut steps);
                let (mut adam, mut expected) = (Adam::new(nodes * dim), vectors.clone());
                adam.step(0.1, &mut expected, &written);
                assert!(steps.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6), "{set:?}");
            }
        }
    }
}
