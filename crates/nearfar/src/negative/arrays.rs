//! Laws as arrays, for backends that draw negatives themselves.
//!
//! A backend on another device cannot call [`NegativeSampler::fill`](super::NegativeSampler::fill). It
//! takes what the law is made of, and draws the same negatives from the same streams. What each law does
//! with its arrays is said at its type; `nearfar-cuda` has it twice, in plain Rust and for a GPU, and
//! tests both against `fill`.

use crate::distance::CellArray;
use crate::graph::Node;
use crate::rng::AliasCell;

/// What a law is made of.
#[derive(Debug)]
pub enum LawArrays<'a> {
    /// One of the n − 1 other nodes, by one number below n − 1.
    Uniform,
    /// Draws from an alias table, again while it is the centre.
    Alias {
        /// One cell for each node.
        all: &'a [AliasCell],
        /// A node, and the table that is used where it is the centre.
        dominant: Option<(Node, &'a [AliasCell])>,
    },
    /// By rejection in the centre's row of a table.
    Hops(HopArrays<'a>),
    /// By rejection with distances through landmarks.
    Landmarks(LandmarkArrays<'a>),
}

/// A table of distances. Proposals are uniform nodes, each with a uniform number u; k is accepted if
/// `u * bound < weight`, with its weight `powers[cell]`, at least `low` and at most `high` of the row, or
/// 0 for the centre.
#[derive(Debug)]
pub struct HopArrays<'a> {
    /// n × n distances.
    pub cells: CellArray<'a>,
    /// The weight of each value of a cell.
    pub powers: &'a [f64],
    /// One for each centre.
    pub rows: Vec<HopRow>,
}

/// How the proposals of a centre are accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct HopRow {
    /// The least weight.
    pub low: f64,
    /// The largest weight.
    pub high: f64,
    /// The bound on all weights; 0 if the centre is not drawn for in this way.
    pub bound: f64,
}

/// Distances a + b + h through landmarks: a and h are the depths of centre and node, b the cell of
/// their landmarks. Proposals are numbers below `total` with a uniform number u; those from n on are nodes
/// of the centre's landmark, in turn. k is accepted if `u * bound < weight`; the weight is
/// `powers[a + b + h]`, divided by `factor` within the landmark, or `far_powers[a + h]` between
/// components, or 0 for the centre.
#[derive(Debug)]
pub struct LandmarkArrays<'a> {
    /// For each node its landmark (high 32 bits) and its depth.
    pub index: Vec<u64>,
    /// The distances between landmarks, by row.
    pub cells: CellArray<'a>,
    /// The rows of the landmarks.
    pub rows: Vec<LandmarkRow>,
    /// The nodes in the order of their landmarks.
    pub members: &'a [Node],
    /// The weight of each distance.
    pub powers: &'a [f64],
    /// The weight of each a + h between components.
    pub far_powers: &'a [f64],
    /// How proposals are accepted, by landmark and the centre's depth.
    pub proposals: Vec<Proposal>,
}

/// One landmark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct LandmarkRow {
    /// Where its distances begin in `cells`.
    pub start: u64,
    /// The first landmark of its component, which its first distance is to.
    pub first: u32,
    /// How many distances it has.
    pub len: u32,
    /// Its nodes in `members`: the first, and the end.
    pub members: [u32; 2],
    /// Its first entry in `proposals`, for depth 0.
    pub proposals: u32,
    /// Unused.
    pub padding: u32,
}

/// How the proposals of centres are accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Proposal {
    /// The bound on weights; 0 if these centres are not drawn for in this way.
    pub bound: f64,
    /// What weights within the centre's landmark are divided by.
    pub factor: f64,
    /// Nodes and further proposals from the centre's landmark.
    pub total: u64,
}
