//! Directed graphs: arcs in compressed sparse rows by their source, and the sources by target.

use rayon::prelude::*;

use super::build::{Built, Repeats};
use super::{Direction, Dropped, Graph, Node, NodeIds, Storage};
use crate::memory::{self, Array};

/// The arcs into each node: those of node k come from `sources[offsets[k]..offsets[k + 1]]`, in
/// increasing order.
#[derive(Clone, Debug)]
pub(super) struct Incoming {
    pub(super) offsets: Array<usize>,
    pub(super) sources: Array<Node>,
}

impl Incoming {
    /// The memory for so many nodes and arcs.
    pub(super) fn bytes(&self) -> u64 {
        (self.offsets.len() * 8 + self.sources.len() * 4) as u64
    }

    /// Turns rows of targets around.
    pub(super) fn new(offsets: &[usize], targets: &[Node]) -> Self {
        let n = offsets.len() - 1;
        let mut starts: Vec<usize> = memory::zeroed(n + 1);
        for &target in targets {
            starts[target as usize + 1] += 1;
        }
        for node in 0..n {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut sources: Vec<Node> = memory::zeroed(targets.len());
        // Rows are read in order, so the sources of a node come in order.
        for (source, row) in offsets.windows(2).enumerate() {
            for &target in &targets[row[0]..row[1]] {
                let next = &mut next[target as usize];
                sources[*next] = source as Node;
                *next += 1;
            }
        }
        Self { offsets: starts.into(), sources: sources.into() }
    }

    #[inline]
    pub(super) fn of(&self, node: Node) -> &[Node] {
        &self.sources[self.offsets[node as usize]..self.offsets[node as usize + 1]]
    }
}

/// Builds the graph of these arcs, which have no loops and no zero weights. An edge of an undirected
/// list is two arcs; equal arcs are merged.
pub(super) fn build(
    mut pairs: Vec<(Node, Node)>,
    mut weights: Option<Vec<f32>>,
    ids: NodeIds,
    direction: Direction,
    repeats: Repeats,
) -> Built {
    if direction == Direction::Undirected {
        let back: Vec<(Node, Node)> = pairs.iter().map(|&(a, b)| (b, a)).collect();
        pairs.extend(back);
        if let Some(weights) = &mut weights {
            weights.extend_from_within(..);
        }
    }
    // By source and target, then in list order.
    let key = |(at, &(a, b)): (usize, &(Node, Node))| (u64::from(a) << 32 | u64::from(b), at);
    let mut order: Vec<(u64, usize)> = pairs.par_iter().enumerate().map(key).collect();
    drop(pairs);
    order.par_sort_unstable();
    let mut offsets: Vec<usize> = memory::zeroed(ids.len() + 1);
    let (mut targets, mut merged) = (Vec::new(), weights.as_ref().map(|_| Vec::new()));
    for arc in order.chunk_by(|a, b| a.0 == b.0) {
        offsets[(arc[0].0 >> 32) as usize + 1] += 1;
        targets.push(arc[0].0 as Node);
        if let (Some(merged), Some(weights)) = (&mut merged, &weights) {
            merged.push(repeats.merge(arc.iter().map(|&(_, at)| weights[at])));
        }
    }
    for node in 0..ids.len() {
        offsets[node + 1] += offsets[node];
    }
    let copies = if direction == Direction::Undirected { 2 } else { 1 };
    let repeats = (order.len() - targets.len()) / copies;
    drop(order);
    let incoming = Some(Incoming::new(&offsets, &targets));
    let graph = Graph { incoming, ..Graph::of_rows(offsets, targets, merged, ids) };
    let dropped = Dropped { repeats, ..Dropped::default() };
    Built { graph, dropped, storage: Storage::Once }
}

/// The undirected graph of a directed one: an edge for every pair of nodes with an arc, in whatever
/// direction. The weights of two opposite arcs are added; the shorter length counts.
pub(super) fn undirected(graph: &Graph) -> Graph {
    let mut offsets = Vec::with_capacity(graph.nodes() + 1);
    offsets.push(0);
    let mut targets = Vec::with_capacity(2 * graph.arcs());
    let mut weights = graph.is_weighted().then(Vec::new);
    let mut lengths = graph.has_lengths().then(Vec::new);
    for node in 0..graph.nodes() as Node {
        let (mut there, mut back) = (graph.neighbours(node), graph.incoming(node));
        loop {
            let next = match (there.first(), back.first()) {
                (None, None) => break,
                (Some(&a), Some(&b)) => a.min(b),
                (Some(&only), None) | (None, Some(&only)) => only,
            };
            targets.push(next);
            there = there.strip_prefix(&[next]).unwrap_or(there);
            back = back.strip_prefix(&[next]).unwrap_or(back);
            if let Some(weights) = &mut weights {
                let both = graph.arc_weight(node, next) + graph.arc_weight(next, node);
                weights.push(both.min(f32::MAX));
            }
            if let Some(lengths) = &mut lengths {
                lengths.push(graph.edge_length(node, next).min(graph.edge_length(next, node)));
            }
        }
        offsets.push(targets.len());
    }
    let lengths = lengths.map(Array::from);
    Graph { lengths, ..Graph::of_rows(offsets, targets, weights, graph.ids.clone()) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::super::EdgeList;
    use super::*;

    proptest! {
        #[test]
        fn rows_agree_with_a_map_of_arcs(
            arcs in prop::collection::vec((0_u32..30, 0_u32..30, 1_u8..5), 0..200),
        ) {
            let pairs: Vec<_> = arcs.iter().map(|&(a, b, _)| (a, b)).collect();
            let weights: Vec<f32> = arcs.iter().map(|&(_, _, w)| f32::from(w)).collect();
            let ids = NodeIds::Range { start: 0, len: 30 };
            for repeats in [Repeats::Sum, Repeats::Max, Repeats::Min, Repeats::First] {
                let mut oracle: BTreeMap<(u32, u32), f32> = BTreeMap::new();
                for &(a, b, w) in arcs.iter().filter(|&&(a, b, _)| a != b) {
                    let w = f32::from(w);
                    let all = oracle.entry((a, b));
                    all.and_modify(|all| match repeats {
                        Repeats::Sum => *all += w,
                        Repeats::Max => *all = all.max(w),
                    Repeats::Min => *all = all.min(w),
                        Repeats::First => {}
                    })
                    .or_insert(w);
                }
                let list =
                    EdgeList { pairs: pairs.clone(), weights: Some(weights.clone()), ids: ids.clone() };
                let graph = list.build_directed(Direction::Unstated, repeats).unwrap().graph;
                prop_assert_eq!((graph.edges(), graph.arcs()), (oracle.len(), oracle.len()));
                let listed: Vec<_> =
                    graph.edges_once().map(|(a, b, w)| ((a, b), w.unwrap())).collect();
                let expected: Vec<_> = oracle.iter().map(|(&arc, &w)| (arc, w)).collect();
                prop_assert_eq!(listed, expected);
                for k in 0..30 {
                    let sources: Vec<Node> =
                        oracle.keys().filter(|arc| arc.1 == k).map(|arc| arc.0).collect();
                    prop_assert_eq!(graph.incoming(k), sources);
                }
                let both = Arc::new(graph.clone()).to_undirected();
                prop_assert!(!both.is_directed());
                for a in 0..30 {
                    for b in 0..30 {
                        let weight = |a, b| oracle.get(&(a, b)).copied().unwrap_or(0.0);
                        prop_assert_eq!(graph.has_edge(a, b), oracle.contains_key(&(a, b)));
                        let sum: f32 = weight(a, b) + weight(b, a);
                        prop_assert!((both.arc_weight(a, b) - sum).abs() <= f32::EPSILON * sum);
                    }
                }
                let rows: Vec<Node> = (0..30).filter(|row| row % 3 > 0).collect();
                let part = graph.induced(&rows);
                for (a, &from) in (0..).zip(&rows) {
                    for (b, &to) in (0..).zip(&rows) {
                        prop_assert_eq!(part.has_edge(a, b), graph.has_edge(from, to));
                        prop_assert_eq!(part.incoming(b).contains(&a), graph.has_edge(from, to));
                    }
                }
            }
        }
    }

    #[test]
    fn an_edge_of_an_undirected_list_is_two_arcs() {
        let ids = NodeIds::Range { start: 0, len: 3 };
        let pairs = vec![(0, 1), (1, 2), (1, 0), (2, 2)];
        let list = EdgeList { pairs, weights: Some(vec![1.0, 2.0, 4.0, 8.0]), ids };
        let built = list.build_directed(Direction::Undirected, Repeats::Sum).unwrap();
        assert_eq!(built.dropped, Dropped { self_loops: 1, repeats: 1, zero_weights: 0 });
        let arcs: Vec<_> = built.graph.edges_once().collect();
        let expected = [(0, 1, 5.0), (1, 0, 5.0), (1, 2, 2.0), (2, 1, 2.0)];
        assert_eq!(arcs, expected.map(|(a, b, w)| (a, b, Some(w))));
    }
}
