//! Interning ids: from edges between ids to edges between rows.
//!
//! Rows follow the first appearance of each id, unless the ids are exactly the integers 0..n−1;
//! then row = id. Which of the two applies is known only at the end, so integers are kept as they
//! are until a text id appears.

use std::path::Path;

use super::super::ids::integer;
use super::super::{EdgeList, Node, NodeIds, StringIds};
use super::{EdgeFile, node_list};
use crate::error::{Problem, Result};
use crate::file::Id;

/// The id as an integer that can serve as a row.
fn small_integer(id: Id<'_>) -> Option<u32> {
    match id {
        // The largest u32 is left free, as in `integer`.
        Id::Integer(id) => u32::try_from(id).ok().filter(|&id| id < u32::MAX),
        Id::Text(id) => integer(id.as_bytes()),
    }
}

fn insert(id: Id<'_>, texts: &mut StringIds) -> Node {
    match id {
        Id::Integer(id) => texts.insert(itoa::Buffer::new().format(id)),
        Id::Text(id) => texts.insert(id),
    }
}

/// Collects edges whose ends are given by id.
#[derive(Default)]
pub(super) struct EdgeCollector {
    /// Integer ids that were listed before any edge, in order.
    nodes: Vec<u32>,
    /// The ends of the edges: integer ids while `texts` is `None`, else rows.
    pairs: Vec<(u32, u32)>,
    /// All ids, once one of them is not an integer.
    texts: Option<StringIds>,
    /// What to tell the user about the file of nodes.
    notes: Vec<Problem>,
}

impl EdgeCollector {
    /// Starts with nodes that may have no edge.
    fn with_nodes(ids: &[String]) -> Self {
        let mut all = Self::default();
        match ids.iter().map(|id| integer(id.as_bytes())).collect() {
            Some(integers) => all.nodes = integers,
            None => all.texts = Some(ids.iter().collect()),
        }
        all
    }

    /// Starts with the nodes listed in a file, if there is one.
    pub(super) fn with_node_file(nodes: Option<&Path>) -> Result<Self> {
        Ok(match nodes {
            Some(path) => {
                let (ids, notes) = node_list::read(path)?;
                Self { notes, ..Self::with_nodes(&ids) }
            }
            None => Self::default(),
        })
    }

    /// Adds one edge.
    pub(super) fn push(&mut self, a: Id<'_>, b: Id<'_>) {
        let pair =
            if let (None, Some(a), Some(b)) = (&self.texts, small_integer(a), small_integer(b)) {
                (a, b)
            } else {
                let texts = self.texts();
                (insert(a, texts), insert(b, texts))
            };
        self.pairs.push(pair);
    }

    /// Adds a node that may have no edge.
    pub(super) fn add_node(&mut self, id: Id<'_>) {
        match (&self.texts, small_integer(id)) {
            (None, Some(id)) => self.nodes.push(id),
            _ => {
                insert(id, self.texts());
            }
        }
    }

    /// Adds nodes that may have no edge, and edges between them, given as indices into `ids`.
    pub(super) fn extend_nodes(&mut self, ids: &StringIds, pairs: &[(u32, u32)]) {
        let all = || (0..ids.len() as u32).map(|at| ids.get(at));
        let integers: Option<Vec<u32>> = all().map(|id| integer(id.as_bytes())).collect();
        if let (None, true, Some(integers)) = (&self.texts, self.pairs.is_empty(), integers) {
            self.pairs
                .extend(pairs.iter().map(|&(a, b)| (integers[a as usize], integers[b as usize])));
            self.nodes.extend(integers);
            return;
        }
        let texts = self.texts();
        let rows: Vec<Node> = all().map(|id| texts.insert(id)).collect();
        self.extend_rows(pairs.iter().map(|&(a, b)| (rows[a as usize], rows[b as usize])));
    }

    /// Whether all ids so far are integers.
    pub(super) fn all_integers(&self) -> bool {
        self.texts.is_none()
    }

    /// Adds edges between integer ids.
    pub(super) fn extend_integers(&mut self, pairs: &[(u32, u32)]) {
        match &mut self.texts {
            None => self.pairs.extend_from_slice(pairs),
            Some(texts) => {
                let mut digits = itoa::Buffer::new();
                self.pairs.extend(pairs.iter().map(|&(a, b)| {
                    let a = texts.insert(digits.format(a));
                    (a, texts.insert(digits.format(b)))
                }));
            }
        }
    }

    /// The interner for text ids. From the first call on, edges are kept as rows.
    pub(super) fn texts(&mut self) -> &mut StringIds {
        self.texts.get_or_insert_with(|| {
            let mut texts = StringIds::default();
            let mut digits = itoa::Buffer::new();
            for &id in &self.nodes {
                texts.insert(digits.format(id));
            }
            for (a, b) in &mut self.pairs {
                *a = texts.insert(digits.format(*a));
                *b = texts.insert(digits.format(*b));
            }
            texts
        })
    }

    /// Adds edges between rows of [`texts`](Self::texts).
    pub(super) fn extend_rows(&mut self, pairs: impl Iterator<Item = (Node, Node)>) {
        self.texts();
        self.pairs.extend(pairs);
    }

    /// The number of edges so far.
    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Assigns the rows. `buffers` is the memory that the reader has held so far besides edges and
    /// ids.
    pub(super) fn finish(mut self, weights: Option<Vec<f32>>, buffers: u64) -> EdgeFile {
        let (mut ids, scratch) = match self.texts {
            Some(texts) => (NodeIds::StringIds(texts), 0),
            None => self.integer_rows(),
        };
        ids.shrink_to_fit();
        let list = EdgeList { pairs: self.pairs, weights, ids };
        EdgeFile { notes: self.notes, ..EdgeFile::of(list, buffers.max(scratch)) }
    }

    /// The ids, and the memory that assigning the rows took besides them.
    fn integer_rows(&mut self) -> (NodeIds, u64) {
        const NONE: u32 = u32::MAX;
        let largest = |(a, b): &(u32, u32)| *a.max(b);
        let largest = self.pairs.iter().map(largest).chain(self.nodes.iter().copied()).max();
        let Some(largest) = largest.map(|id| id as usize) else {
            return (NodeIds::Range { start: 0, len: 0 }, 0);
        };
        let seen = 2 * self.pairs.len() + self.nodes.len();
        if largest / 16 > seen {
            // A table of all integers up to the largest would be mostly empty.
            return (NodeIds::StringIds(std::mem::take(self.texts())), 0);
        }
        let mut row_of = vec![NONE; largest + 1];
        let mut order = Vec::new();
        let ends = self.pairs.iter().flat_map(|&(a, b)| [a, b]);
        for id in self.nodes.iter().copied().chain(ends) {
            if row_of[id as usize] == NONE {
                row_of[id as usize] = order.len() as u32;
                order.push(id);
            }
        }
        let scratch = 4 * (row_of.len() + order.len()) as u64;
        if order.len() == largest + 1 {
            return (NodeIds::Range { start: 0, len: order.len() }, scratch);
        }
        for (a, b) in &mut self.pairs {
            *a = row_of[*a as usize];
            *b = row_of[*b as usize];
        }
        let mut digits = itoa::Buffer::new();
        let mut texts = StringIds::default();
        for id in order {
            texts.insert(digits.format(id));
        }
        (NodeIds::StringIds(texts), scratch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(nodes: &[&str], pairs: &[(u32, u32)]) -> (Vec<String>, Vec<(u32, u32)>) {
        let nodes: Vec<String> = nodes.iter().map(|&id| id.to_owned()).collect();
        let mut ids = EdgeCollector::with_nodes(&nodes);
        ids.extend_integers(pairs);
        let list = ids.finish(None, 0).list;
        let n = list.ids.len() as Node;
        ((0..n).map(|row| list.ids.get(row).into_owned()).collect(), list.pairs)
    }

    #[test]
    fn integers_without_gaps_are_their_own_rows() {
        let (ids, pairs) = rows(&[], &[(2, 0), (1, 2)]);
        assert_eq!(ids, ["0", "1", "2"]);
        assert_eq!(pairs, [(2, 0), (1, 2)]);
    }

    #[test]
    fn a_gap_makes_rows_follow_first_appearance() {
        let (ids, pairs) = rows(&[], &[(3, 0), (1, 3)]);
        assert_eq!(ids, ["3", "0", "1"]);
        assert_eq!(pairs, [(0, 1), (2, 0)]);
    }

    #[test]
    fn sparse_integers_need_no_large_table() {
        let (ids, pairs) = rows(&[], &[(4_000_000_000, 7), (7, 5)]);
        assert_eq!(ids, ["4000000000", "7", "5"]);
        assert_eq!(pairs, [(0, 1), (1, 2)]);
    }

    #[test]
    fn integers_and_texts_with_the_same_digits_are_one_node() {
        let mut ids = EdgeCollector::default();
        ids.push(Id::Integer(7), Id::Text("0"));
        assert!(ids.all_integers());
        ids.push(Id::Integer(u64::from(u32::MAX)), Id::Text("7"));
        ids.push(Id::Text("07"), Id::Integer(0));
        let list = ids.finish(None, 0).list;
        let ids: Vec<_> = (0..4).map(|row| list.ids.get(row)).collect();
        assert_eq!(ids, ["7", "0", "4294967295", "07"]);
        assert_eq!(list.pairs, [(0, 1), (2, 0), (3, 1)]);
    }

    #[test]
    fn listed_nodes_close_gaps_and_come_first() {
        let (ids, _) = rows(&["2", "1", "0"], &[(0, 1)]);
        assert_eq!(ids, ["0", "1", "2"]);
        let (ids, pairs) = rows(&["x", "7"], &[(7, 8)]);
        assert_eq!(ids, ["x", "7", "8"]);
        assert_eq!(pairs, [(1, 2)]);
    }
}
