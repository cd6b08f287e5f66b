//! From a list of edges to compressed rows, on all threads.
//!
//! Every thread goes through the whole list and takes what belongs to its own run of rows. That
//! reads the list several times, in order, which is cheap; and no two threads ever write to the
//! same place, and every row receives its neighbours in the order of the list, whatever the
//! number of threads.

use rayon::prelude::*;

use super::{Graph, Node, NodeIds};
use crate::error::{Error, Result};
use crate::memory;

/// Edges as they were read: ends, weights if there are any, and the ids of all nodes.
#[derive(Clone, Debug)]
pub struct EdgeList {
    /// The two ends of each edge, as rows.
    pub pairs: Vec<(Node, Node)>,
    /// One weight for each edge, or none at all.
    pub weights: Option<Vec<f32>>,
    /// The ids of all nodes, isolated ones too.
    pub ids: NodeIds,
}

/// How many edges of a list are not in the graph, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Edges from a node to itself.
    pub self_loops: usize,
    /// Edges that were there already, in this or the other direction. The first one counts, with
    /// its weight.
    pub repeats: usize,
    /// Edges of weight zero, which is to say none.
    pub zero_weights: usize,
}

impl EdgeList {
    /// Builds the graph. Fails if an end is not a row, or a weight is not a finite number ≥ 0.
    pub fn build(self) -> Result<(Graph, Dropped)> {
        let n = self.ids.len();
        let Self { mut pairs, mut weights, ids } = self;
        if n > Node::MAX as usize || pairs.len() > Node::MAX as usize {
            return Err(Error::graph("more than 4 294 967 294 nodes or edges".to_owned()));
        }
        if let Some(&(a, b)) = pairs.par_iter().find_any(|(a, b)| *a.max(b) as usize >= n) {
            return Err(Error::graph(format!("edge {a}–{b} in a graph of {n} nodes")));
        }
        let dropped = drop_loops_and_zeros(&mut pairs, weights.as_mut())?;
        let mut offsets = offsets(n, &pairs);
        let (mut targets, mut row_weights) = match &weights {
            None => (scatter_targets(&offsets, &pairs), None),
            Some(weights) => {
                let (targets, weights) = scatter_weighted(&offsets, &pairs, weights);
                (targets, Some(weights))
            }
        };
        drop((pairs, weights));
        let before = targets.len();
        close_gaps(&mut offsets, &mut targets, row_weights.as_mut());
        let repeats = (before - targets.len()) / 2;
        let graph = Graph { offsets, targets, weights: row_weights, ids };
        Ok((graph, Dropped { repeats, ..dropped }))
    }
}

/// Marks a place in a row that held a repeat.
const REPEAT: Node = Node::MAX;

fn drop_loops_and_zeros(
    pairs: &mut Vec<(Node, Node)>,
    weights: Option<&mut Vec<f32>>,
) -> Result<Dropped> {
    let mut dropped = Dropped::default();
    let Some(weights) = weights else {
        let before = pairs.len();
        pairs.retain(|(a, b)| a != b);
        dropped.self_loops = before - pairs.len();
        return Ok(dropped);
    };
    if weights.len() != pairs.len() {
        let message = format!("{} weights for {} edges", weights.len(), pairs.len());
        return Err(Error::graph(message));
    }
    let mut kept = 0;
    for at in 0..pairs.len() {
        let ((a, b), weight) = (pairs[at], weights[at]);
        if !(weight.is_finite() && weight >= 0.0) {
            let message =
                format!("edge {} has weight {weight}; weights are finite and ≥ 0", at + 1);
            return Err(Error::graph(message));
        }
        if a == b {
            dropped.self_loops += 1;
        } else if weight == 0.0 {
            dropped.zero_weights += 1;
        } else {
            pairs[kept] = (a, b);
            weights[kept] = weight;
            kept += 1;
        }
    }
    pairs.truncate(kept);
    weights.truncate(kept);
    Ok(dropped)
}

fn offsets(n: usize, pairs: &[(Node, Node)]) -> Vec<usize> {
    let mut degrees = vec![0_u32; n];
    let run = n.div_ceil(rayon::current_num_threads()).max(1);
    degrees.par_chunks_mut(run).enumerate().for_each(|(at, degrees)| {
        let first = (at * run) as Node;
        for &(a, b) in pairs {
            for node in [a, b] {
                // Nodes before the run wrap around to large numbers, out of range like those after.
                if let Some(degree) = degrees.get_mut(node.wrapping_sub(first) as usize) {
                    *degree += 1;
                }
            }
        }
    });
    let mut offsets = memory::zeroed(n + 1);
    let mut total = 0;
    for (end, degree) in offsets[1..].iter_mut().zip(degrees) {
        total += degree as usize;
        *end = total;
    }
    offsets
}

/// Puts what `arc(neighbour, edge)` makes into the rows of both ends of every edge, then sorts
/// every row.
fn scatter<T: Copy + Default + Ord + Send>(
    offsets: &[usize],
    pairs: &[(Node, Node)],
    arc: impl Fn(Node, usize) -> T + Sync,
) -> Vec<T> {
    let mut arcs: Vec<T> = memory::zeroed(2 * pairs.len());
    let share = arcs.len().div_ceil(rayon::current_num_threads()).max(1);
    for_each_run(offsets, share, &mut arcs, |first, bounds, run| {
        let mut next: Vec<usize> =
            bounds[..bounds.len() - 1].iter().map(|at| at - bounds[0]).collect();
        for (edge, &(a, b)) in pairs.iter().enumerate() {
            for (from, to) in [(a, b), (b, a)] {
                if let Some(next) = next.get_mut(from.wrapping_sub(first) as usize) {
                    run[*next] = arc(to, edge);
                    *next += 1;
                }
            }
        }
    });
    for_each_row(offsets, &mut arcs, <[T]>::sort_unstable);
    arcs
}

fn scatter_targets(offsets: &[usize], pairs: &[(Node, Node)]) -> Vec<Node> {
    let mut targets = scatter(offsets, pairs, |to, _| to);
    for_each_row(offsets, &mut targets, mark_repeats);
    targets
}

fn scatter_weighted(
    offsets: &[usize],
    pairs: &[(Node, Node)],
    weights: &[f32],
) -> (Vec<Node>, Vec<f32>) {
    // The neighbour in the high half and the edge's place in the list in the low one: sorting
    // brings repeats together, the first of them first.
    let arcs = scatter(offsets, pairs, |to, edge| u64::from(to) << 32 | edge as u64);
    let mut targets: Vec<Node> = arcs.par_iter().map(|arc| (arc >> 32) as Node).collect();
    let row_weights = arcs.par_iter().map(|&arc| weights[arc as u32 as usize]).collect();
    for_each_row(offsets, &mut targets, mark_repeats);
    (targets, row_weights)
}

fn mark_repeats(row: &mut [Node]) {
    let mut last = REPEAT;
    for target in row {
        if *target == last {
            *target = REPEAT;
        } else {
            last = *target;
        }
    }
}

/// Calls `work(first row, offsets, cells)` on runs of rows with about `share` cells each, on all
/// threads.
fn for_each_run<T: Send>(
    offsets: &[usize],
    share: usize,
    mut rest: &mut [T],
    work: impl Fn(Node, &[usize], &mut [T]) + Sync,
) {
    let mut runs = Vec::new();
    let mut first = 0;
    while first + 1 < offsets.len() {
        let end = offsets[first] + share;
        let rows = offsets[first + 1..].partition_point(|&at| at < end) + 1;
        let bounds = &offsets[first..=(first + rows).min(offsets.len() - 1)];
        let (run, tail) = rest.split_at_mut(bounds[bounds.len() - 1] - bounds[0]);
        runs.push((first as Node, bounds, run));
        rest = tail;
        first += bounds.len() - 1;
    }
    runs.into_par_iter().for_each(|(first, bounds, run)| work(first, bounds, run));
}

/// Calls `work` on every row, on all threads.
fn for_each_row<T: Send>(offsets: &[usize], cells: &mut [T], work: impl Fn(&mut [T]) + Sync) {
    for_each_run(offsets, 1 << 14, cells, |_, bounds, mut run| {
        for row in bounds.windows(2) {
            let (row, tail) = run.split_at_mut(row[1] - row[0]);
            work(row);
            run = tail;
        }
    });
}

/// Moves the rows together over the places of dropped repeats.
fn close_gaps(offsets: &mut [usize], targets: &mut Vec<Node>, mut weights: Option<&mut Vec<f32>>) {
    let (mut start, mut kept) = (0, 0);
    for end in &mut offsets[1..] {
        for at in start..*end {
            if targets[at] != REPEAT {
                targets[kept] = targets[at];
                if let Some(weights) = &mut weights {
                    weights[kept] = weights[at];
                }
                kept += 1;
            }
        }
        start = std::mem::replace(end, kept);
    }
    targets.truncate(kept);
    if let Some(weights) = weights {
        weights.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn list(n: usize, pairs: &[(Node, Node)], weights: Option<Vec<f32>>) -> EdgeList {
        EdgeList { pairs: pairs.to_vec(), weights, ids: NodeIds::Range { start: 0, len: n } }
    }

    #[test]
    fn loops_repeats_and_zeros_are_dropped_and_counted() {
        let pairs = [(0, 1), (1, 0), (2, 2), (1, 2), (0, 1), (0, 2)];
        let weights = vec![3.0, 4.0, 1.0, 5.0, 6.0, 0.0];
        let (graph, dropped) = list(4, &pairs, Some(weights)).build().unwrap();
        assert_eq!(dropped, Dropped { self_loops: 1, repeats: 2, zero_weights: 1 });
        assert_eq!(graph.nodes(), 4);
        assert_eq!(graph.edges(), 2);
        assert_eq!(graph.neighbours(1), [0, 2]);
        assert_eq!(graph.weights(1), Some(&[3.0, 5.0][..]), "the first weight counts");
        assert_eq!(graph.degree(3), 0);
    }

    #[test]
    fn bad_weights_and_ends_are_refused() {
        for weight in [f32::NAN, f32::INFINITY, -1.0] {
            assert!(list(2, &[(0, 1)], Some(vec![weight])).build().is_err(), "{weight}");
        }
        assert!(list(2, &[(0, 2)], None).build().is_err());
        assert!(list(2, &[(0, 1)], Some(vec![])).build().is_err());
    }

    proptest! {
        #[test]
        fn rows_agree_with_a_map_of_edges(
            edges in prop::collection::vec((0_u32..30, 0_u32..30, 1_u8..5), 0..200),
        ) {
            let pairs: Vec<_> = edges.iter().map(|&(a, b, _)| (a, b)).collect();
            let weights: Vec<f32> = edges.iter().map(|&(_, _, w)| f32::from(w)).collect();
            let mut oracle = BTreeMap::new();
            for (&(a, b), &w) in pairs.iter().zip(&weights) {
                if a != b {
                    oracle.entry((a.min(b), a.max(b))).or_insert(w);
                }
            }
            let (plain, _) = list(30, &pairs, None).build().unwrap();
            let (weighted, _) = list(30, &pairs, Some(weights)).build().unwrap();
            prop_assert_eq!(&plain.targets, &weighted.targets);
            prop_assert_eq!(&plain.offsets, &weighted.offsets);
            prop_assert_eq!(plain.edges(), oracle.len());
            for ((a, b), w) in oracle {
                for (from, to) in [(a, b), (b, a)] {
                    let at = weighted.neighbours(from).binary_search(&to).unwrap();
                    prop_assert_eq!(weighted.weights(from).unwrap()[at].to_bits(), w.to_bits());
                }
            }
        }
    }
}
