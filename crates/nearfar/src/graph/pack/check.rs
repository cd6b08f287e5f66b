//! What the arrays of a packed graph have to be: a file may come from elsewhere, with checksums that agree.

use rayon::prelude::*;

use super::super::directed::Incoming;
use super::super::{Graph, Node, NodeIds};
use crate::memory::Array;
use crate::rng::mix;

/// Refuses what no graph has.
pub(super) fn check(graph: &Graph) -> Result<(), String> {
    let Graph { offsets, targets, weights, lengths, ids, incoming } = graph;
    check_rows(offsets, targets, "neighbours")?;
    let value = |values: &Option<Array<f32>>, at: usize| {
        values.as_ref().map_or(0, |values| u64::from(values[at].to_bits()))
    };
    let both_ways = if let Some(Incoming { offsets: starts, sources }) = incoming {
        check_rows(starts, sources, "sources")?;
        // The weights of arcs are in one of the two orders only.
        let out = sum(offsets, targets, |source, target, _| mark(source, target, 0));
        out == sum(starts, sources, |target, source, _| mark(source, target, 0))
    } else {
        let of_arc = |row: Node, other: Node, at| {
            let values = value(weights, at) | value(lengths, at) << 32;
            let mark = mark(other.min(row), other.max(row), values);
            if row < other { mark } else { mark.wrapping_neg() }
        };
        sum(offsets, targets, of_arc) == 0
    };
    let is_positive = |value: &f32| value.is_finite() && *value > 0.0;
    let all_positive = |values: &Array<f32>| values.par_iter().all(is_positive);
    if !both_ways || ![weights, lengths].into_iter().flatten().all(all_positive) {
        return Err("the edges are not those of a graph; pack it again".to_owned());
    }
    let NodeIds::StringIds(ids) = ids else { return Ok(()) };
    if ids.are_texts() { Ok(()) } else { Err("the ids are not texts; pack it again".to_owned()) }
}

/// Checks that each row has other nodes in increasing order.
fn check_rows(offsets: &[usize], ends: &[Node], name: &str) -> Result<(), String> {
    let n = offsets.len() - 1;
    let bad_row = offsets.par_windows(2).enumerate().find_any(|(row, bounds)| {
        let Some(ends) = ends.get(bounds[0]..bounds[1]) else { return true };
        !ends.is_sorted_by(|a, b| a < b)
            || ends.last().is_some_and(|&last| last as usize >= n)
            || ends.binary_search(&(*row as Node)).is_ok()
    });
    match bad_row {
        Some((row, _)) => Err(format!("the {name} of node {row} are not those of a graph")),
        None => Ok(()),
    }
}

/// The sum over all arcs of a number that is given its row, its other end and its place.
fn sum(offsets: &[usize], ends: &[Node], of: impl Fn(Node, Node, usize) -> u64 + Sync) -> u64 {
    let of_row = |(row, bounds): (usize, &[usize])| {
        let arcs = (bounds[0]..bounds[1]).zip(&ends[bounds[0]..bounds[1]]);
        arcs.fold(0, |sum: u64, (at, &end)| sum.wrapping_add(of(row as Node, end, at)))
    };
    offsets.par_windows(2).enumerate().map(of_row).reduce(|| 0, u64::wrapping_add)
}

/// A number of 64 bits for an arc and its values. Lists of different arcs have the same sum of them with
/// probability 2^−64.
fn mark(source: Node, target: Node, values: u64) -> u64 {
    mix(mix(u64::from(source) << 32 | u64::from(target)) ^ values)
}
