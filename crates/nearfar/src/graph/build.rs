//! From a list of edges to compressed sparse rows, on all threads.
//!
//! Every thread scans the whole list and takes what belongs to its own range of rows. The list is
//! read several times, but sequentially, which is cheap; no two threads write to the same row, and
//! every row receives its neighbours in list order, for any number of threads.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::storage::{Direction, Storage, storage};
use super::{Dataset, Graph, Node, NodeIds, Origin, directed};
use crate::error::{Error, Problem, Result};
use crate::memory;

/// Edges as read from a file: their ends, optional weights, and the ids of all nodes.
#[derive(Clone, Debug)]
pub struct EdgeList {
    /// The ends of each edge, as rows.
    pub pairs: Vec<(Node, Node)>,
    /// One weight per edge, or `None`.
    pub weights: Option<Vec<f32>>,
    /// The ids of all nodes, isolated ones included.
    pub ids: NodeIds,
}

/// The weight of an edge that is listed more than once, in the same or the other direction. In a
/// graph without weights, it is one edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Repeats {
    /// The sum of the weights
    #[default]
    Sum,
    /// The largest weight
    Max,
    /// The smallest weight
    Min,
    /// The weight that is listed first
    First,
}

impl Repeats {
    /// The weight of an edge that is listed with these weights, in list order.
    pub(super) fn merge(self, mut weights: impl Iterator<Item = f32>) -> f32 {
        match self {
            Self::Sum => weights.map(f64::from).sum::<f64>() as f32,
            Self::Max => weights.fold(0.0, f32::max),
            Self::Min => weights.fold(f32::INFINITY, f32::min),
            Self::First => weights.next().unwrap_or_default(),
        }
    }

    /// What to say of a sum that is no number.
    pub(super) fn too_large() -> Problem {
        let problem = "the weights of a repeated edge add up to more than 3.4e38, the largest \
                       32-bit number";
        Problem::from(problem).set("repeats", "max")
    }
}

/// Numbers of edges that are in a list and not in its graph, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// Edges from a node to itself.
    pub self_loops: usize,
    /// Duplicates of an earlier edge, in the same or the other direction, whose weights were merged
    /// with its own. The second half of a list that is stored in [both](Storage::Both) directions
    /// does not count.
    pub repeats: usize,
    /// Edges of weight zero.
    pub zero_weights: usize,
}

/// A graph, and how its list was understood.
pub(crate) struct Built {
    pub(crate) graph: Graph,
    pub(crate) dropped: Dropped,
    pub(crate) storage: Storage,
}

impl EdgeList {
    /// The memory of the list.
    pub(crate) fn bytes(&self) -> u64 {
        let edge = if self.weights.is_some() { 12 } else { 8 };
        (self.pairs.len() as u64).saturating_mul(edge).saturating_add(self.ids.bytes())
    }

    /// The memory at the peak of [`build`](Self::build), the list included. For each node: its
    /// offset and, while arcs are scattered, the position of its next arc. For each edge: its two
    /// arcs as targets; with weights, also as target and index in one u64 and as row weights, all
    /// alive at once.
    pub(crate) fn build_bytes(&self) -> u64 {
        let edge = if self.weights.is_some() { 32 } else { 8 };
        let arcs = (self.pairs.len() as u64).saturating_mul(edge);
        let nodes = (self.ids.len() as u64).saturating_mul(16);
        self.bytes().saturating_add(arcs).saturating_add(nodes)
    }

    /// The same for a directed graph: for each arc its key and place in the list while they are sorted,
    /// and its two ends in rows; each edge is two arcs at most.
    pub(crate) fn directed_bytes(&self) -> u64 {
        let arcs = (self.pairs.len() as u64).saturating_mul(24);
        let nodes = (self.ids.len() as u64).saturating_mul(24);
        self.bytes().saturating_add(arcs).saturating_add(nodes)
    }

    /// Builds the graph; adds the weights of repeated edges. Fails if an end is not a row, or a
    /// weight is not a finite number ≥ 0.
    pub fn build(self) -> Result<(Graph, Dropped)> {
        let built = self.build_as(Direction::default(), Repeats::default())?;
        Ok((built.graph, built.dropped))
    }

    /// The graph as a dataset. `origin` says how the edges were stated: their direction, and how
    /// weights of repeated edges are merged.
    ///
    /// ```
    /// use nearfar::graph::{EdgeList, NodeIds, Origin, Repeats};
    /// let ids = NodeIds::Range { start: 0, len: 2 };
    /// let list = EdgeList { pairs: vec![(0, 1); 2], weights: Some(vec![3.0, 4.0]), ids };
    /// let origin = Origin { repeats: Repeats::Max, ..Origin::default() };
    /// assert_eq!(list.dataset(origin)?.graph.weights(0), Some(&[4.0][..]));
    /// # Ok::<(), nearfar::Error>(())
    /// ```
    pub fn dataset(self, origin: Origin) -> Result<Dataset> {
        let Built { graph, dropped, storage } = if origin.directed {
            self.build_directed(origin.direction, origin.repeats)?
        } else {
            self.build_as(origin.direction, origin.repeats)?
        };
        Ok(Dataset { dropped, origin: Origin { storage, ..origin }, ..Dataset::of(graph) })
    }

    /// Builds the directed graph of a list; merges repeated arcs by this rule. An edge is two arcs if
    /// the list says that it is undirected, else one from its first end to its second.
    pub(crate) fn build_directed(
        mut self,
        direction: Direction,
        repeats: Repeats,
    ) -> Result<Built> {
        let dropped = self.check()?;
        let Self { pairs, weights, ids } = self;
        let built = directed::build(pairs, weights, ids, direction, repeats);
        check_sums(built.graph.weights.as_deref())?;
        let dropped = Dropped { repeats: built.dropped.repeats, ..dropped };
        Ok(Built { dropped, ..built })
    }

    /// Fails if an end is not a row or a weight not a number ≥ 0; drops loops and zeros.
    fn check(&mut self) -> Result<Dropped> {
        let n = self.ids.len();
        if n > Node::MAX as usize || self.pairs.len() > Node::MAX as usize {
            return Err(Error::graph("more than 4294967294 nodes or edges"));
        }
        if let Some(&(a, b)) = self.pairs.par_iter().find_any(|(a, b)| *a.max(b) as usize >= n) {
            return Err(Error::graph(format!(
                "edge {a}–{b} has a row that is not below {n}, the number of nodes"
            )));
        }
        drop_loops_and_zeros(&mut self.pairs, self.weights.as_mut())
    }

    /// Builds the graph of a list with this direction; merges repeated edges by this rule.
    pub(crate) fn build_as(mut self, direction: Direction, repeats: Repeats) -> Result<Built> {
        let dropped = self.check()?;
        let n = self.ids.len();
        let Self { pairs, weights, ids } = self;
        let storage = storage(direction, &pairs, weights.as_deref());
        let mut offsets = offsets(n, &pairs);
        let (mut targets, mut row_weights) = match &weights {
            None => (scatter_targets(&offsets, &pairs), None),
            Some(weights) => {
                let merge = Merge { pairs: &pairs, weights, storage, repeats };
                let (targets, weights) = scatter_weighted(&offsets, &merge);
                (targets, Some(weights))
            }
        };
        let listed = if storage == Storage::Both { pairs.len() / 2 } else { pairs.len() };
        drop((pairs, weights));
        remove_duplicates(&mut offsets, &mut targets, row_weights.as_mut());
        check_sums(row_weights.as_deref())?;
        let repeats = listed - targets.len() / 2;
        let graph = Graph::of_rows(offsets, targets, row_weights, ids);
        Ok(Built { graph, dropped: Dropped { repeats, ..dropped }, storage })
    }
}

/// Fails if the weights of a repeated edge add up to infinity.
fn check_sums(weights: Option<&[f32]>) -> Result<()> {
    if weights.is_none_or(|weights| weights.par_iter().all(|weight| weight.is_finite())) {
        return Ok(());
    }
    Err(Error::graph(Repeats::too_large()))
}

/// Marks a duplicate in a row.
const DUPLICATE: Node = Node::MAX;

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
                format!("edge {} has weight {weight}; weights must be finite and ≥ 0", at + 1);
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
    let len = n.div_ceil(rayon::current_num_threads()).max(1);
    degrees.par_chunks_mut(len).enumerate().for_each(|(at, degrees)| {
        let first = (at * len) as Node;
        for &(a, b) in pairs {
            for node in [a, b] {
                // Nodes before `first` wrap around to large numbers, out of range like those after.
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

/// Writes `arc(neighbour, edge index)` to the rows of both ends of every edge, then sorts each row.
fn scatter<T: Copy + Default + Ord + Send>(
    offsets: &[usize],
    pairs: &[(Node, Node)],
    arc: impl Fn(Node, usize) -> T + Sync,
) -> Vec<T> {
    let mut arcs: Vec<T> = memory::zeroed(2 * pairs.len());
    let size = arcs.len().div_ceil(rayon::current_num_threads()).max(1);
    for_each_row_range(offsets, size, &mut arcs, |first, bounds, arcs| {
        let mut next: Vec<usize> =
            bounds[..bounds.len() - 1].iter().map(|at| at - bounds[0]).collect();
        for (edge, &(a, b)) in pairs.iter().enumerate() {
            for (from, to) in [(a, b), (b, a)] {
                if let Some(next) = next.get_mut(from.wrapping_sub(first) as usize) {
                    arcs[*next] = arc(to, edge);
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
    for_each_row(offsets, &mut targets, mark_duplicates);
    targets
}

/// The weights of the edges of a list, and how those of repeated edges are merged.
struct Merge<'a> {
    pairs: &'a [(Node, Node)],
    weights: &'a [f32],
    storage: Storage,
    repeats: Repeats,
}

impl Merge<'_> {
    /// The weight of the edge that these entries of the list state, which are in list order. Both
    /// of its ends get the same bits.
    fn weight(&self, edges: impl Iterator<Item = usize> + Clone) -> f32 {
        // Of a list that has every edge in both directions, one of them counts.
        let one_way = |&edge: &usize| {
            self.storage != Storage::Both || self.pairs[edge].0 < self.pairs[edge].1
        };
        self.repeats.merge(edges.filter(one_way).map(|edge| self.weights[edge]))
    }
}

fn scatter_weighted(offsets: &[usize], merge: &Merge) -> (Vec<Node>, Vec<f32>) {
    // The neighbour in the high half, the index of the edge in the low half: sorting brings
    // duplicates together, in list order.
    let pack = |to: Node, low: u32| u64::from(to) << 32 | u64::from(low);
    let target = |arc: u64| (arc >> 32) as Node;
    let mut arcs = scatter(offsets, merge.pairs, |to, edge| pack(to, edge as u32));
    // Then the weight in the low half.
    for_each_row(offsets, &mut arcs, |row| {
        let mut start = 0;
        while start < row.len() {
            let to = target(row[start]);
            let mut end = start + 1;
            while end < row.len() && target(row[end]) == to {
                end += 1;
            }
            let mut weight = merge.weights[row[start] as u32 as usize];
            if end > start + 1 {
                weight = merge.weight(row[start..end].iter().map(|&arc| arc as u32 as usize));
                row[start + 1..end].fill(pack(DUPLICATE, 0));
            }
            row[start] = pack(to, weight.to_bits());
            start = end;
        }
    });
    arcs.par_iter().map(|&arc| (target(arc), f32::from_bits(arc as u32))).unzip()
}

fn mark_duplicates(row: &mut [Node]) {
    let mut last = DUPLICATE;
    for target in row {
        if *target == last {
            *target = DUPLICATE;
        } else {
            last = *target;
        }
    }
}

/// Calls `work(first row, offsets, entries)` on ranges of rows with about `size` entries each, on
/// all threads.
fn for_each_row_range<T: Send>(
    offsets: &[usize],
    size: usize,
    mut rest: &mut [T],
    work: impl Fn(Node, &[usize], &mut [T]) + Sync,
) {
    let mut ranges = Vec::new();
    let mut first = 0;
    while first + 1 < offsets.len() {
        let end = offsets[first] + size;
        let rows = offsets[first + 1..].partition_point(|&at| at < end) + 1;
        let bounds = &offsets[first..=(first + rows).min(offsets.len() - 1)];
        let (entries, tail) = rest.split_at_mut(bounds[bounds.len() - 1] - bounds[0]);
        ranges.push((first as Node, bounds, entries));
        rest = tail;
        first += bounds.len() - 1;
    }
    ranges.into_par_iter().for_each(|(first, bounds, entries)| work(first, bounds, entries));
}

/// Calls `work` on every row, on all threads.
pub(super) fn for_each_row<T: Send>(
    offsets: &[usize],
    entries: &mut [T],
    work: impl Fn(&mut [T]) + Sync,
) {
    for_each_row_range(offsets, 1 << 14, entries, |_, bounds, mut rest| {
        for row in bounds.windows(2) {
            let (row, tail) = rest.split_at_mut(row[1] - row[0]);
            work(row);
            rest = tail;
        }
    });
}

/// Removes the marked duplicates.
fn remove_duplicates(
    offsets: &mut [usize],
    targets: &mut Vec<Node>,
    mut weights: Option<&mut Vec<f32>>,
) {
    let (mut start, mut kept) = (0, 0);
    for end in &mut offsets[1..] {
        for at in start..*end {
            if targets[at] != DUPLICATE {
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
mod tests;
