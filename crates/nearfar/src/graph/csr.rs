//! Adjacency matrices in compressed sparse rows (CSR).
//!
//! Most have both directions of every edge, in sorted rows without duplicates: then they are a
//! graph already, except for self-loops. Checking that takes a third of the time of building.

use std::ops::Range;

use rayon::prelude::*;

use super::{
    Dataset, Direction, Dropped, EdgeList, Graph, Node, NodeIds, Origin, Repeats, Storage,
};
use crate::error::{Error, Result};

/// Compressed sparse rows: the neighbours of row r are `targets[offsets[r]..offsets[r + 1]]`.
///
/// ```
/// use nearfar::graph::{CsrRows, NodeIds};
/// let ids = NodeIds::Range { start: 0, len: 3 };
/// let (offsets, targets) = (vec![0, 1, 3, 4], vec![1, 0, 2, 1]);
/// let (graph, dropped) = CsrRows { offsets, targets, weights: None, ids }.build()?;
/// assert_eq!((graph.edges(), graph.neighbours(1), dropped.repeats), (2, &[0, 2][..], 0));
/// # Ok::<(), nearfar::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CsrRows {
    /// The start of each row, and the end of the last one.
    pub offsets: Vec<usize>,
    /// The neighbours.
    pub targets: Vec<Node>,
    /// One weight per neighbour, or `None`.
    pub weights: Option<Vec<f32>>,
    /// The ids of all nodes.
    pub ids: NodeIds,
}

impl CsrRows {
    /// Builds the graph that [`EdgeList::build`] would build from all entries in order.
    pub fn build(self) -> Result<(Graph, Dropped)> {
        let Dataset { graph, dropped, .. } = self.dataset(Repeats::default())?;
        Ok((graph, dropped))
    }

    /// The graph as a dataset of a matrix; the weights of repeated entries, and of the two entries of
    /// an edge if they differ, are merged as given.
    pub fn dataset(self, repeats: Repeats) -> Result<Dataset> {
        let origin = Origin { direction: Direction::Entries, repeats, ..Origin::default() };
        self.check()?;
        let Self { targets, weights, .. } = &self;
        if weights.as_ref().is_none_or(|weights| weights.len() == targets.len()) && self.is_graph()
        {
            let (graph, dropped) = self.without_loops();
            let origin = Origin { storage: Storage::Both, ..origin };
            return Ok(Dataset { dropped, origin, ..Dataset::of(graph) });
        }
        self.into_list().dataset(origin)
    }

    fn check(&self) -> Result<()> {
        let Self { offsets, targets, ids, .. } = self;
        let increasing = offsets.is_sorted() && offsets.first() == Some(&0);
        if !increasing || offsets.len() != ids.len() + 1 || offsets.last() != Some(&targets.len()) {
            let message = "row offsets must start at 0, never decrease, have one more entry than \
                           nodes, and end at the number of targets";
            return Err(Error::graph(message));
        }
        Ok(())
    }

    /// The entries as a list.
    fn into_list(self) -> EdgeList {
        let Self { offsets, targets, weights, ids } = self;
        let row = |(row, bounds): (usize, &[usize])| {
            let row = row as Node;
            targets[bounds[0]..bounds[1]].iter().map(move |&target| (row, target))
        };
        let pairs = offsets.windows(2).enumerate().flat_map(row).collect();
        EdgeList { pairs, weights, ids }
    }

    /// The directed graph of a matrix, whose entry (i, j) is an arc from i to j.
    pub fn directed(self, repeats: Repeats) -> Result<Dataset> {
        let origin =
            Origin { direction: Direction::Entries, directed: true, repeats, ..Origin::default() };
        self.check()?;
        self.into_list().dataset(origin)
    }

    /// Whether this is a graph already, except for self-loops.
    fn is_graph(&self) -> bool {
        let n = self.ids.len();
        let in_order = |bounds: &[usize]| {
            let row = &self.targets[bounds[0]..bounds[1]];
            row.is_sorted_by(|a, b| a < b) && row.last().is_none_or(|&last| (last as usize) < n)
        };
        let counts = |weight: &f32| weight.is_finite() && *weight > 0.0;
        let len = n.div_ceil(rayon::current_num_threads()).max(1);
        self.offsets.par_windows(2).all(in_order)
            && self.weights.as_ref().is_none_or(|weights| weights.par_iter().all(counts))
            && (0..n.div_ceil(len))
                .into_par_iter()
                .all(|at| self.is_symmetric(at * len..n.min((at + 1) * len)))
    }

    /// Whether, for each of these rows, the neighbours before it are exactly the rows that have it
    /// as a neighbour. Rows are sorted and scanned in order, so the rows that name a row come in
    /// the order in which it names them.
    fn is_symmetric(&self, rows: Range<usize>) -> bool {
        let mut next = self.offsets[rows.clone()].to_vec();
        for (row, bounds) in self.offsets.windows(2).enumerate() {
            for at in bounds[0]..bounds[1] {
                let target = self.targets[at] as usize;
                // Rows before the range wrap around to large numbers, out of range like those after.
                let Some(next) = next.get_mut(target.wrapping_sub(rows.start)) else { continue };
                if target <= row {
                    continue;
                }
                let found = *next < self.offsets[target + 1] && self.targets[*next] as usize == row;
                if !found || self.weight(*next) != self.weight(at) {
                    return false;
                }
                *next += 1;
            }
        }
        let before = |row: usize, next: usize| (self.targets[next] as usize) < row;
        rows.zip(next).all(|(row, next)| next == self.offsets[row + 1] || !before(row, next))
    }

    /// The graph, if [`is_graph`](Self::is_graph).
    fn without_loops(self) -> (Graph, Dropped) {
        let Self { mut offsets, mut targets, mut weights, ids } = self;
        let loops: Vec<usize> = (0..ids.len())
            .into_par_iter()
            .filter_map(|row| {
                let bounds = offsets[row]..offsets[row + 1];
                let at = targets[bounds.clone()].binary_search(&(row as Node)).ok()?;
                Some(bounds.start + at)
            })
            .collect();
        if !loops.is_empty() {
            remove_positions(&mut targets, &loops);
            if let Some(weights) = &mut weights {
                remove_positions(weights, &loops);
            }
            let mut dropped = 0;
            for offset in &mut offsets {
                dropped += loops[dropped..].iter().take_while(|at| **at < *offset).count();
                *offset -= dropped;
            }
        }
        let dropped = Dropped { self_loops: loops.len(), ..Dropped::default() };
        (Graph::of_rows(offsets, targets, weights, ids), dropped)
    }

    fn weight(&self, at: usize) -> Option<u32> {
        self.weights.as_ref().map(|weights| weights[at].to_bits())
    }
}

/// Removes the values at these positions, which are increasing.
fn remove_positions<T: Copy>(values: &mut Vec<T>, positions: &[usize]) {
    let ends = positions[1..].iter().copied().chain([values.len()]);
    let mut kept = positions[0];
    for (&position, end) in positions.iter().zip(ends) {
        values.copy_within(position + 1..end, kept);
        kept += end - position - 1;
    }
    values.truncate(kept);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Cells = Vec<Vec<(Node, f32)>>;

    fn rows(cells: &[Vec<(Node, f32)>], weighted: bool) -> CsrRows {
        let mut offsets = vec![0];
        offsets.extend(cells.iter().scan(0, |end, row| {
            *end += row.len();
            Some(*end)
        }));
        let targets = cells.iter().flatten().map(|cell| cell.0).collect();
        let weights = weighted.then(|| cells.iter().flatten().map(|cell| cell.1).collect());
        let ids = NodeIds::Range { start: 0, len: cells.len() };
        CsrRows { offsets, targets, weights, ids }
    }

    /// Both directions of every edge, in sorted rows.
    fn symmetric(edges: &[(Node, Node)]) -> Cells {
        let mut cells = vec![Vec::new(); 12];
        for &(a, b) in edges.iter().filter(|(a, b)| a != b) {
            cells[a as usize].push((b, (a + b + 1) as f32));
            cells[b as usize].push((a, (a + b + 1) as f32));
        }
        for row in &mut cells {
            row.sort_by_key(|cell| cell.0);
            row.dedup();
        }
        cells
    }

    #[test]
    fn only_symmetric_sorted_rows_are_a_graph() {
        let whole = symmetric(&[(0, 1), (1, 2), (0, 3), (2, 3), (5, 2)]);
        assert!(rows(&whole, true).is_graph());
        let changes: [fn(&mut Cells); 6] = [
            |cells| cells[3].truncate(1),
            |cells| cells[0].retain(|cell| cell.0 != 1),
            |cells| cells[2].reverse(),
            |cells| cells[1].push((2, 1.0)),
            |cells| cells[5].push((99, 1.0)),
            |cells| cells[1][0].1 = 7.0,
        ];
        for (at, change) in changes.iter().enumerate() {
            let mut cells = whole.clone();
            change(&mut cells);
            assert!(!rows(&cells, true).is_graph(), "change {at}");
        }
        let mut looped = whole.clone();
        looped[5].push((5, 1.0));
        looped[0].insert(0, (0, 2.0));
        let looped = rows(&looped, true);
        assert!(looped.is_graph());
        let (graph, dropped) = looped.build().unwrap();
        assert_eq!(dropped, Dropped { self_loops: 2, repeats: 0, zero_weights: 0 });
        assert_eq!((graph.neighbours(0), graph.neighbours(5)), (&[1, 3][..], &[2][..]));
    }

    #[test]
    fn invalid_offsets_are_refused() {
        for offsets in [vec![], vec![0, 1], vec![1, 1, 2], vec![0, 2, 1], vec![0, 1, 3]] {
            let ids = NodeIds::Range { start: 0, len: 2 };
            let rows = CsrRows { offsets, targets: vec![1, 0], weights: None, ids };
            assert!(rows.build().is_err());
        }
    }

    proptest! {
        #[test]
        fn rows_give_the_same_graph_as_their_edges(
            edges in prop::collection::vec((0_u32..12, 0_u32..12), 0..40),
            loops in prop::collection::btree_set(0_u32..12, 0..4),
            extra in prop::collection::vec((0_usize..12, 0_u32..12, 0_u8..3), 0..3),
            weighted: bool,
        ) {
            let mut cells = symmetric(&edges);
            for row in loops {
                let cells = &mut cells[row as usize];
                cells.push((row, 2.0));
                cells.sort_by_key(|cell| cell.0);
            }
            for (row, target, weight) in extra {
                cells[row].push((target, f32::from(weight)));
            }
            let rows = rows(&cells, weighted);
            let pairs = (0..).zip(&cells).flat_map(|(row, cells)| {
                cells.iter().map(move |cell| (row, cell.0))
            });
            let (pairs, ids) = (pairs.collect(), rows.ids.clone());
            let list = EdgeList { pairs, weights: rows.weights.clone(), ids };
            let (expected, expected_dropped) = list.build().unwrap();
            let (graph, dropped) = rows.build().unwrap();
            prop_assert_eq!(dropped, expected_dropped);
            prop_assert_eq!(graph.offsets, expected.offsets);
            prop_assert_eq!(graph.targets, expected.targets);
            prop_assert_eq!(graph.weights, expected.weights);
        }
    }
}
