//! The arithmetic of training: SGD steps for a list of positive and negative pairs.
//!
//! # Derivation
//!
//! A pair (i, j) with label y = 1 (positive) or 0 (negative) adds −log σ(z_i·z_j) or −log σ(−z_i·z_j)
//! to the loss. In both cases the gradient is (σ(z_i·z_j) − y) z_j at z_i, and the same with i and j
//! exchanged at z_j. So with g = rate · (y − σ(z_i·z_j)) a step is
//!
//! ```text
//! z_i += g z_j        z_j += g z_i
//! ```
//!
//! L2 regularisation is applied at negative pairs, to the centre: z_i *= shrink. (For consecutive
//! pairs of one centre within a piece, once, after their steps.)
//!
//! Pair by pair, each product, sigmoid and update would wait for those before it. So pairs are
//! taken [`PIECE`] at a time, in three passes: all products, all g, all updates. Within a pass no
//! pair waits for another, and between passes the rows of a piece stay in the first-level cache. All
//! g of a piece are computed from the vectors before it. Pairs of one centre should be consecutive:
//! the centre then stays in registers, and the other nodes are updated with its old value. (With its
//! new value, a node that is paired with its centre ten times in a piece would amplify its own
//! steps, and around hubs training would diverge.)
//!
//! The algorithm is written once, over a `Vector` of any instruction set ([`crate::simd`]).

#![allow(unsafe_code)]
#![allow(clippy::inline_always, reason = "vectors stay in registers only if inlined")]

use crate::memory::Plain;
use crate::simd::{InstructionSet, LANES, PIECE, Vector, Work, sigmoid_loss};

/// The sizes of an SGD step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The learning rate of positive pairs.
    pub positive: f32,
    /// The learning rate of negative pairs.
    pub negative: f32,
    /// The regularisation factor: the centre is multiplied by it for each negative pair.
    pub shrink: f32,
}

/// A pair in 31 bits: the row of its centre, the row of its other node, and whether it is positive.
/// Rows are counted from the start of their block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Pair(u32);

impl Plain for Pair {}

impl Pair {
    /// The maximum number of rows in a block.
    pub const ROWS: usize = 1 << 15;

    /// A pair; rows are below [`ROWS`](Self::ROWS).
    #[inline]
    pub fn new(centre: u32, other: u32, positive: bool) -> Self {
        debug_assert!(centre < Self::ROWS as u32 && other < Self::ROWS as u32);
        Self(centre << 16 | other << 1 | u32::from(positive))
    }

    /// The pair as a number.
    #[inline]
    pub(super) fn bits(self) -> u32 {
        self.0
    }

    /// The pairs of numbers.
    pub(super) fn of_bits(bits: &[u32]) -> &[Self] {
        // SAFETY: a pair is a number in memory, and every number is a pair; they are borrowed for as long
        // as the result is.
        unsafe { std::slice::from_raw_parts(bits.as_ptr().cast(), bits.len()) }
    }

    /// The row of the centre.
    #[inline]
    pub fn centre(self) -> usize {
        (self.0 >> 16) as usize
    }

    /// The row of the other node.
    #[inline]
    pub fn other(self) -> usize {
        (self.0 >> 1 & 0x7fff) as usize
    }

    /// Whether the pair is positive.
    #[inline]
    pub fn is_positive(self) -> bool {
        self.0 & 1 == 1
    }
}

/// The blocks that contain the rows of pairs.
#[derive(Debug)]
pub struct PairRows<'a> {
    /// Length of a row, a multiple of [`LANES`].
    pub dim: usize,
    /// The block of the centres.
    pub centres: &'a mut [f32],
    /// The block of the other nodes; `None` if it is the same one.
    pub others: Option<&'a mut [f32]>,
}

/// Trains pairs in order. Returns the sum of their losses, each before its step.
///
/// # Panics
///
/// If a row of a pair is out of range, or the length of a row is not a multiple of [`LANES`].
pub fn train_pairs(set: InstructionSet, rows: PairRows<'_>, pairs: &[Pair], step: Step) -> f64 {
    let PairRows { dim, centres, others } = rows;
    assert!(dim > 0 && dim.is_multiple_of(LANES), "rows are padded");
    let count = centres.len() / dim;
    let centres = centres.as_mut_ptr();
    let (others, other_count) = match others {
        Some(others) => (others.as_mut_ptr(), others.len() / dim),
        None => (centres, count),
    };
    // SAFETY: the work requires nothing but the instruction set.
    let (centre, other) = unsafe { set.run(LargestRows { pairs }) };
    assert!(pairs.is_empty() || (centre < count && other < other_count), "pairs are in range");
    let rows = RowPointers { dim, centres, others };
    // SAFETY: the rows of all pairs were just checked to be in range, and both blocks are borrowed
    // mutably.
    unsafe { set.run(TrainPairs { rows, pairs, step }) }
}

/// The largest row of a centre, and of another node.
struct LargestRows<'a> {
    pairs: &'a [Pair],
}

impl Work for LargestRows<'_> {
    type Out = (usize, usize);

    #[inline(always)]
    unsafe fn on<V: Vector>(self) -> (usize, usize) {
        let (mut centre, mut other) = (0, 0);
        for &Pair(bits) in self.pairs {
            centre = centre.max(bits >> 16);
            other = other.max(bits & 0xffff);
        }
        (centre as usize, other as usize >> 1)
    }
}

/// Pairs to be trained, with all their rows in range.
struct TrainPairs<'a> {
    rows: RowPointers,
    pairs: &'a [Pair],
    step: Step,
}

impl Work for TrainPairs<'_> {
    type Out = f64;

    #[inline(always)]
    unsafe fn on<V: Vector>(self) -> f64 {
        // SAFETY: the caller guarantees the instruction set; `train_pairs`, the rows.
        unsafe { train_rows_of_any_length::<V>(self.rows, self.pairs, self.step) }
    }
}

/// [`PairRows`] as pointers, as centres and others may be the same block.
#[derive(Clone, Copy)]
struct RowPointers {
    dim: usize,
    centres: *mut f32,
    others: *mut f32,
}

impl RowPointers {
    /// The rows of the centre and of the other node of a pair.
    ///
    /// # Safety
    ///
    /// Both rows are in range.
    #[inline(always)]
    unsafe fn of(self, pair: Pair) -> (*mut f32, *mut f32) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            (self.centres.add(pair.centre() * self.dim), self.others.add(pair.other() * self.dim))
        }
    }
}

/// The algorithm, for any [`Vector`]. For usual lengths of a row it is compiled with a constant.
///
/// # Safety
///
/// As for [`Vector`]; and the rows of all pairs are in range.
#[inline(always)]
unsafe fn train_rows_of_any_length<V: Vector>(
    rows: RowPointers,
    pairs: &[Pair],
    step: Step,
) -> f64 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match rows.dim {
            64 => train_rows::<V>(RowPointers { dim: 64, ..rows }, pairs, step),
            128 => train_rows::<V>(RowPointers { dim: 128, ..rows }, pairs, step),
            _ => train_rows::<V>(rows, pairs, step),
        }
    }
}

/// Runs a pass over rows of any length: in panels of eight vectors, then of four, two and one.
/// Rows of 16, 32, 64 and 128 floats are one panel.
macro_rules! in_panels {
    ($dim:expr, $pass:ident::<$vector:ident>($($argument:expr),*)) => {{
        let (mut from, vectors) = (0, $dim / LANES);
        while vectors - from >= 8 {
            $pass::<$vector, 8>(from * LANES, $($argument),*);
            from += 8;
        }
        if vectors & 4 != 0 {
            $pass::<$vector, 4>(from * LANES, $($argument),*);
            from += 4;
        }
        if vectors & 2 != 0 {
            $pass::<$vector, 2>(from * LANES, $($argument),*);
            from += 2;
        }
        if vectors & 1 != 0 {
            $pass::<$vector, 1>(from * LANES, $($argument),*);
        }
    }};
}

/// # Safety
///
/// That of [`train_rows_of_any_length`].
#[inline(always)]
unsafe fn train_rows<V: Vector>(rows: RowPointers, pairs: &[Pair], step: Step) -> f64 {
    let (pieces, rest) = pairs.as_chunks::<PIECE>();
    let mut loss = 0.0;
    for (at, piece) in pieces.iter().enumerate() {
        let next = pieces.get(at + 1).unwrap_or(piece);
        // SAFETY: guaranteed by the caller.
        loss += f64::from(unsafe { train_piece::<V>(rows, piece, next, step) });
    }
    // SAFETY: guaranteed by the caller.
    loss + f64::from(unsafe { train_piece::<V>(rows, rest, rest, step) })
}

/// Trains a piece, and prefetches the rows of the next one. Returns the sum of losses.
///
/// # Safety
///
/// That of [`train_rows_of_any_length`]; the next piece is as long as this one.
#[inline(always)]
unsafe fn train_piece<V: Vector>(
    rows: RowPointers,
    piece: &[Pair],
    next: &[Pair],
    step: Step,
) -> f32 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut products = [V::zero(); PIECE];
        in_panels!(rows.dim, multiply::<V>(rows, piece, &mut products));
        let mut x = V::sums(&products);
        // y − σ(z_i·z_j) is 1 − σ(x) with x = z_i·z_j for a positive pair, and −(1 − σ(x)) with
        // x = −z_i·z_j for a negative one.
        let (mut g, mut losses) = ([0.0; PIECE], [0.0; PIECE]);
        for (pair, (x, g)) in piece.iter().zip(x.iter_mut().zip(&mut g)) {
            (*x, *g) = if pair.is_positive() { (*x, step.positive) } else { (-*x, -step.negative) };
        }
        for ((x, g), loss) in x.iter().zip(&mut g).zip(&mut losses) {
            let (error, of_pair) = sigmoid_loss(*x);
            *g *= error;
            *loss = of_pair;
        }
        losses[piece.len()..].fill(0.0);
        in_panels!(rows.dim, update::<V>(rows, piece, next, &g, step.shrink));
        V::load(losses.as_ptr()).sum()
    }
}

/// Adds to z_i·z_j of every pair of a piece the products of `WIDTH` vectors, from dimension `from` on.
/// A centre stays in registers while its pairs are consecutive.
///
/// # Safety
///
/// That of [`train_rows_of_any_length`], and rows have at least `from` + `WIDTH` · [`LANES`] elements.
#[inline(always)]
unsafe fn multiply<V: Vector, const WIDTH: usize>(
    from: usize,
    rows: RowPointers,
    piece: &[Pair],
    products: &mut [V; PIECE],
) {
    let mut at = 0;
    while at < piece.len() {
        let row = piece[at].centre();
        // SAFETY: the caller guarantees that all rows are in range.
        unsafe {
            let centre = rows.of(piece[at]).0.add(from);
            let centre: [V; WIDTH] = std::array::from_fn(|part| V::load(centre.add(part * LANES)));
            while at < piece.len() && piece[at].centre() == row {
                let other = rows.of(piece[at]).1.add(from);
                // Two sums: the additions of one do not wait for those of the other.
                let mut sums = [products[at], V::zero()];
                for (part, centre) in centre.iter().enumerate() {
                    let other = V::load(other.add(part * LANES));
                    sums[part % 2] = centre.mul_add(other, sums[part % 2]);
                }
                products[at] = V::splat(1.0).mul_add(sums[0], sums[1]);
                at += 1;
            }
        }
    }
}

/// Takes the steps of a piece in `WIDTH` vectors of each row, from dimension `from` on.
///
/// # Safety
///
/// That of [`train_rows_of_any_length`], and rows have at least `from` + `WIDTH` · [`LANES`] elements;
/// the next piece is as long as this one.
#[inline(always)]
unsafe fn update<V: Vector, const WIDTH: usize>(
    from: usize,
    rows: RowPointers,
    piece: &[Pair],
    next: &[Pair],
    g: &[f32; PIECE],
    shrink: f32,
) {
    let mut at = 0;
    while at < piece.len() {
        let row = piece[at].centre();
        // SAFETY: the caller guarantees that all rows are in range.
        unsafe {
            let centre = rows.of(piece[at]).0.add(from);
            let old: [V; WIDTH] = std::array::from_fn(|part| V::load(centre.add(part * LANES)));
            let (mut new, mut factor) = (old, 1.0);
            while at < piece.len() && piece[at].centre() == row {
                let (next_centre, next_other) = rows.of(next[at]);
                (0..WIDTH).for_each(|part| V::prefetch(next_other.add(from + part * LANES)));
                // In a large table a bucket has few pairs for each centre.
                if at == 0 || next[at].centre() != next[at - 1].centre() {
                    (0..WIDTH).for_each(|part| V::prefetch(next_centre.add(from + part * LANES)));
                }
                let other = rows.of(piece[at]).1.add(from);
                factor *= if piece[at].is_positive() { 1.0 } else { shrink };
                let g = V::splat(g[at]);
                for (part, (old, new)) in old.iter().zip(&mut new).enumerate() {
                    let b = V::load(other.add(part * LANES));
                    g.mul_add(*old, b).store(other.add(part * LANES));
                    *new = g.mul_add(b, *new);
                }
                at += 1;
            }
            let factor = V::splat(factor);
            for (part, new) in new.iter().enumerate() {
                factor.mul(*new).store(centre.add(part * LANES));
            }
        }
    }
}

#[cfg(test)]
mod tests;
