//! The arithmetic of training: a list of pairs, some to pull together and some to push apart.
//!
//! # Derivation
//!
//! A pair (i, j) with label y = 1 (near) or 0 (far) adds −log σ(z_i·z_j) or −log σ(−z_i·z_j) to the
//! loss. In both cases the gradient is (σ(z_i·z_j) − y) z_j at z_i, and the same with i and j
//! exchanged at z_j. So with g = rate · (y − σ(z_i·z_j)) a step is
//!
//! ```text
//! z_i += g z_j        z_j += g z_i
//! ```
//!
//! and a far pair also pulls its centre to the origin, z_i *= shrink. (Pairs of one centre that
//! follow one another do this together, after their steps.)
//!
//! Done pair by pair, each would wait for its own product, sigmoid and update before the next
//! could begin. So pairs are taken [`PIECE`] at a time, in three passes: all products, all g, all
//! updates. Within a pass no pair waits for another; the rows of a piece stay in the nearest
//! cache between the passes. The g of a piece are those of the vectors before it. Pairs of one
//! centre should follow one another: it then stays in registers, and the other ends see it as it
//! was before. (If they saw it as it moves, a node that meets its centre ten times in a piece
//! would feed its own steps back to itself, and around hubs vectors would explode.)
//!
//! The algorithm is written once, over a [`Vector`] of any instruction set ([`crate::simd`]).

#![allow(unsafe_code)]
#![allow(clippy::inline_always, reason = "a vector that is not inlined is not in a register")]

use crate::simd::{InstructionSet, LANES, PIECE, Vector, Work, sigmoid_loss};

/// The sizes of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The rate for pairs that are near.
    pub near: f32,
    /// The rate for pairs that are far.
    pub far: f32,
    /// What the centre is multiplied with for each far pair.
    pub shrink: f32,
}

/// A pair in 31 bits: the row of its centre, the row of its other end, and whether it is near.
/// Rows are counted from the start of their block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pair(u32);

impl Pair {
    /// The most rows that a block can have.
    pub const ROWS: usize = 1 << 15;

    /// A pair; rows are below [`ROWS`](Self::ROWS).
    #[inline]
    pub fn new(centre: u32, other: u32, near: bool) -> Self {
        debug_assert!(centre < Self::ROWS as u32 && other < Self::ROWS as u32);
        Self(centre << 16 | other << 1 | u32::from(near))
    }

    /// The row of the centre.
    #[inline]
    pub fn centre(self) -> usize {
        (self.0 >> 16) as usize
    }

    /// The row of the other end.
    #[inline]
    pub fn other(self) -> usize {
        (self.0 >> 1 & 0x7fff) as usize
    }

    /// Whether it is to be pulled together.
    #[inline]
    pub fn near(self) -> bool {
        self.0 & 1 == 1
    }
}

/// Where the rows of pairs are: those of the centres, and of the other ends if they are elsewhere.
#[derive(Debug)]
pub struct Rows<'a> {
    /// Numbers in a row, a multiple of [`LANES`].
    pub dim: usize,
    /// The block of the centres.
    pub centres: &'a mut [f32],
    /// The block of the other ends; `None` if it is the same one.
    pub others: Option<&'a mut [f32]>,
}

/// Trains pairs in their order. Returns the sum of their losses, each before its step.
///
/// # Panics
///
/// If a pair is outside of the rows, or the length of a row is not a multiple of [`LANES`].
pub fn train_pairs(set: InstructionSet, rows: Rows<'_>, pairs: &[Pair], step: Step) -> f64 {
    let Rows { dim, centres, others } = rows;
    assert!(dim > 0 && dim.is_multiple_of(LANES), "rows are padded");
    let count = centres.len() / dim;
    let centres = centres.as_mut_ptr();
    let (others, other_count) = match others {
        Some(others) => (others.as_mut_ptr(), others.len() / dim),
        None => (centres, count),
    };
    // SAFETY: nothing is asked for.
    let (centre, other) = unsafe { set.run(Farthest { pairs }) };
    assert!(pairs.is_empty() || (centre < count && other < other_count), "pairs are in their rows");
    let place = Place { dim, centres, others };
    // SAFETY: the pairs were just checked to lie in the rows, which we have borrowed for
    // writing.
    unsafe { set.run(Train { place, pairs, step }) }
}

/// The largest row of a centre and of another end.
struct Farthest<'a> {
    pairs: &'a [Pair],
}

impl Work for Farthest<'_> {
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

/// Pairs to be trained, all of them in their rows.
struct Train<'a> {
    place: Place,
    pairs: &'a [Pair],
    step: Step,
}

impl Work for Train<'_> {
    type Out = f64;

    #[inline(always)]
    unsafe fn on<V: Vector>(self) -> f64 {
        // SAFETY: promised by the caller, and by whoever made this.
        unsafe { train_rows_of_any_length::<V>(self.place, self.pairs, self.step) }
    }
}

/// [`Rows`] as addresses: centres and others may be the same.
#[derive(Clone, Copy)]
struct Place {
    dim: usize,
    centres: *mut f32,
    others: *mut f32,
}

impl Place {
    /// The addresses of the two rows of a pair.
    ///
    /// # Safety
    ///
    /// Both rows are there.
    #[inline(always)]
    unsafe fn of(self, pair: Pair) -> (*mut f32, *mut f32) {
        // SAFETY: promised by the caller.
        unsafe {
            (self.centres.add(pair.centre() * self.dim), self.others.add(pair.other() * self.dim))
        }
    }
}

/// The algorithm, for any [`Vector`]. Where the length of a row is a usual one, the compiler gets
/// to know it.
///
/// # Safety
///
/// As for [`Vector`]; and every pair lies in the rows.
#[inline(always)]
unsafe fn train_rows_of_any_length<V: Vector>(place: Place, pairs: &[Pair], step: Step) -> f64 {
    // SAFETY: promised by the caller.
    unsafe {
        match place.dim {
            64 => train_rows::<V>(Place { dim: 64, ..place }, pairs, step),
            128 => train_rows::<V>(Place { dim: 128, ..place }, pairs, step),
            _ => train_rows::<V>(place, pairs, step),
        }
    }
}

/// Runs a pass over rows of any length: in panels of eight vectors, then of four, two and one.
/// Usual lengths are one panel.
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
unsafe fn train_rows<V: Vector>(place: Place, pairs: &[Pair], step: Step) -> f64 {
    let (pieces, rest) = pairs.as_chunks::<PIECE>();
    let mut loss = 0.0;
    for (at, piece) in pieces.iter().enumerate() {
        let next = pieces.get(at + 1).unwrap_or(piece);
        // SAFETY: promised by the caller.
        loss += f64::from(unsafe { train_piece::<V>(place, piece, next, step) });
    }
    // SAFETY: promised by the caller.
    loss + f64::from(unsafe { train_piece::<V>(place, rest, rest, step) })
}

/// Trains a piece, while the rows of the next one are fetched. Returns the sum of losses.
///
/// # Safety
///
/// That of [`train_rows_of_any_length`]; the next piece is as long as this one.
#[inline(always)]
unsafe fn train_piece<V: Vector>(place: Place, piece: &[Pair], next: &[Pair], step: Step) -> f32 {
    // SAFETY: promised by the caller.
    unsafe {
        let mut products = [V::zero(); PIECE];
        in_panels!(place.dim, multiply::<V>(place, piece, &mut products));
        let mut x = V::sums(&products);
        // y − σ(z_i·z_j) is 1 − σ(x) with x = z_i·z_j for a near pair; with x = −z_i·z_j for a far
        // one it is the same but for the sign.
        let (mut g, mut losses) = ([0.0; PIECE], [0.0; PIECE]);
        for (pair, (x, g)) in piece.iter().zip(x.iter_mut().zip(&mut g)) {
            (*x, *g) = if pair.near() { (*x, step.near) } else { (-*x, -step.far) };
        }
        for ((x, g), loss) in x.iter().zip(&mut g).zip(&mut losses) {
            let (wrong, cost) = sigmoid_loss(*x);
            *g *= wrong;
            *loss = cost;
        }
        losses[piece.len()..].fill(0.0);
        in_panels!(place.dim, update::<V>(place, piece, next, &g, step.shrink));
        V::load(losses.as_ptr()).sum()
    }
}

/// Adds to z_i·z_j of every pair of a piece what `WIDTH` vectors of each row from `from` on make of
/// it. A centre stays in registers as long as its pairs follow one another.
///
/// # Safety
///
/// That of [`train_rows_of_any_length`], and rows go on for so long.
#[inline(always)]
unsafe fn multiply<V: Vector, const WIDTH: usize>(
    from: usize,
    place: Place,
    piece: &[Pair],
    products: &mut [V; PIECE],
) {
    let mut at = 0;
    while at < piece.len() {
        let row = piece[at].centre();
        // SAFETY: the caller promises that all rows are there.
        unsafe {
            let centre = place.of(piece[at]).0.add(from);
            let centre: [V; WIDTH] = std::array::from_fn(|part| V::load(centre.add(part * LANES)));
            while at < piece.len() && piece[at].centre() == row {
                let other = place.of(piece[at]).1.add(from);
                // Two sums, so that neither waits long for itself.
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

/// The steps of a piece, in `WIDTH` vectors of each row from `from` on.
///
/// # Safety
///
/// That of [`train_rows_of_any_length`], and rows go on for so long.
#[inline(always)]
unsafe fn update<V: Vector, const WIDTH: usize>(
    from: usize,
    place: Place,
    piece: &[Pair],
    next: &[Pair],
    g: &[f32; PIECE],
    shrink: f32,
) {
    let mut at = 0;
    while at < piece.len() {
        let row = piece[at].centre();
        // SAFETY: the caller promises that all rows are there.
        unsafe {
            let centre = place.of(piece[at]).0.add(from);
            let old: [V; WIDTH] = std::array::from_fn(|part| V::load(centre.add(part * LANES)));
            let (mut new, mut pull) = (old, 1.0);
            while at < piece.len() && piece[at].centre() == row {
                let (near_by, far_off) = place.of(next[at]);
                (0..WIDTH).for_each(|part| V::prefetch(far_off.add(from + part * LANES)));
                // In a large table a bucket has few pairs for each centre.
                if at == 0 || next[at].centre() != next[at - 1].centre() {
                    (0..WIDTH).for_each(|part| V::prefetch(near_by.add(from + part * LANES)));
                }
                let other = place.of(piece[at]).1.add(from);
                pull *= if piece[at].near() { 1.0 } else { shrink };
                let g = V::splat(g[at]);
                for (part, (old, new)) in old.iter().zip(&mut new).enumerate() {
                    let b = V::load(other.add(part * LANES));
                    g.mul_add(*old, b).store(other.add(part * LANES));
                    *new = g.mul_add(b, *new);
                }
                at += 1;
            }
            let pull = V::splat(pull);
            for (part, new) in new.iter().enumerate() {
                pull.mul(*new).store(centre.add(part * LANES));
            }
        }
    }
}

#[cfg(test)]
mod tests;
