//! Whether a list holds each edge once, or in both directions, as a symmetric matrix does.

use std::hash::{BuildHasher, Hasher};

use rayon::prelude::*;
use serde::Serialize;

use super::Node;

/// What a list of edges says about their direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Nothing, as most edge lists.
    #[default]
    Unstated,
    /// Edges are undirected.
    Undirected,
    /// Edges are directed.
    Directed,
    /// Pairs are the entries (i, j) of a matrix, in which an undirected edge has two.
    Entries,
}

/// How often a list holds each edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Storage {
    /// Once, or several times if it has repeats.
    #[default]
    Once,
    /// Each edge once in either direction, with the same weight: a symmetric matrix. The two are
    /// one edge.
    Both,
    /// The entries of a matrix that is neither symmetric nor triangular. (i, j) and (j, i) are
    /// merged by the rule for repeats.
    Asymmetric,
}

/// How the list stores its edges. Symmetry is a property of the whole list: as many edges (a, b) of
/// weight w as edges (b, a) of weight w, for all a, b and w.
pub(super) fn storage(
    direction: Direction,
    pairs: &[(Node, Node)],
    weights: Option<&[f32]>,
) -> Storage {
    if matches!(direction, Direction::Undirected | Direction::Directed) || pairs.is_empty() {
        return Storage::Once;
    }
    let forward = pairs.par_iter().filter(|(a, b)| a < b).count();
    if 2 * forward == pairs.len() && is_symmetric(pairs, weights) {
        return Storage::Both;
    }
    let is_triangular = forward == 0 || forward == pairs.len();
    if direction == Direction::Entries && !is_triangular {
        return Storage::Asymmetric;
    }
    Storage::Once
}

/// Whether every edge has its mirror image: the [`difference`]s of all add up to zero.
pub(super) fn is_symmetric(pairs: &[(Node, Node)], weights: Option<&[f32]>) -> bool {
    let weight = |at: usize| weights.map(|weights| weights[at].to_bits());
    let differences = pairs.par_iter().enumerate().map(|(at, &pair)| difference(pair, weight(at)));
    differences.reduce(|| 0, u64::wrapping_add) == 0
}

/// The hash of an edge less that of its mirror image. Sums of hashes of two different lists agree with
/// probability 2^−64.
pub(super) fn difference((a, b): (Node, Node), weight: Option<u32>) -> u64 {
    let hash = |(a, b): (Node, Node)| {
        let mut hasher = foldhash::quality::FixedState::with_seed(0).build_hasher();
        hasher.write_u64(u64::from(a) << 32 | u64::from(b));
        hasher.write_u32(weight.unwrap_or(0));
        hasher.finish()
    };
    hash((a, b)).wrapping_sub(hash((b, a)))
}
