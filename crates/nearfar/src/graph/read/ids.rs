//! From ids to rows.
//!
//! Rows follow the first appearance of each id, unless the ids are exactly the integers 0..n−1;
//! then row = id. Which of the two it is shows only at the end, so integers are kept as they are
//! for as long as there is nothing else.

use std::path::Path;

use super::super::ids::integer;
use super::super::{EdgeList, Node, NodeIds, StringIds};
use super::node_ids;
use crate::error::Result;

/// The id of one end of an edge, in a format that has types.
#[derive(Clone, Copy)]
pub(crate) enum Id<'a> {
    Integer(u64),
    #[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "only Parquet has texts"))]
    Text(&'a str),
}

impl Id<'_> {
    /// The id as an integer that can serve as a row.
    fn small(self) -> Option<u32> {
        match self {
            // The largest u32 is left free, as in `integer`.
            Self::Integer(id) => u32::try_from(id).ok().filter(|&id| id < u32::MAX),
            Self::Text(id) => integer(id.as_bytes()),
        }
    }

    fn insert_into(self, words: &mut StringIds) -> Node {
        match self {
            Self::Integer(id) => words.insert(itoa::Buffer::new().format(id)),
            Self::Text(id) => words.insert(id),
        }
    }
}

/// Edges whose ends are given by id.
#[derive(Default)]
pub(super) struct Ids {
    /// Integer ids that were named before any edge, in order.
    nodes: Vec<u32>,
    /// The ends of the edges: ids while `words` is empty, else rows.
    pairs: Vec<(u32, u32)>,
    /// Set once an id is not an integer.
    words: Option<StringIds>,
}

impl Ids {
    /// Starts with the nodes that are known to exist.
    fn with_nodes(ids: &[String]) -> Self {
        let mut all = Self::default();
        match ids.iter().map(|id| integer(id.as_bytes())).collect() {
            Some(integers) => all.nodes = integers,
            None => all.words = Some(ids.iter().collect()),
        }
        all
    }

    /// Starts with the nodes that a file lists, if there is one.
    pub(super) fn with_node_file(nodes: Option<&Path>) -> Result<Self> {
        Ok(match nodes {
            Some(path) => Self::with_nodes(&node_ids(path)?),
            None => Self::default(),
        })
    }

    /// Adds one edge.
    pub(super) fn push(&mut self, a: Id<'_>, b: Id<'_>) {
        let pair = if let (None, Some(a), Some(b)) = (&self.words, a.small(), b.small()) {
            (a, b)
        } else {
            let words = self.words();
            (a.insert_into(words), b.insert_into(words))
        };
        self.pairs.push(pair);
    }

    /// Whether all ids so far are integers.
    pub(super) fn all_integers(&self) -> bool {
        self.words.is_none()
    }

    /// Adds edges between integer ids.
    pub(super) fn extend_integers(&mut self, pairs: &[(u32, u32)]) {
        match &mut self.words {
            None => self.pairs.extend_from_slice(pairs),
            Some(words) => {
                let mut digits = itoa::Buffer::new();
                self.pairs.extend(pairs.iter().map(|&(a, b)| {
                    let a = words.insert(digits.format(a));
                    (a, words.insert(digits.format(b)))
                }));
            }
        }
    }

    /// The texts seen so far, for a caller that has ids other than integers.
    pub(super) fn words(&mut self) -> &mut StringIds {
        self.words.get_or_insert_with(|| {
            let mut words = StringIds::default();
            let mut digits = itoa::Buffer::new();
            for &id in &self.nodes {
                words.insert(digits.format(id));
            }
            for (a, b) in &mut self.pairs {
                *a = words.insert(digits.format(*a));
                *b = words.insert(digits.format(*b));
            }
            words
        })
    }

    /// Adds edges between rows of [`words`](Self::words).
    pub(super) fn extend_rows(&mut self, pairs: impl Iterator<Item = (Node, Node)>) {
        self.words();
        self.pairs.extend(pairs);
    }

    /// The number of edges so far.
    pub(super) fn edges(&self) -> usize {
        self.pairs.len()
    }

    /// Settles the rows.
    pub(super) fn finish(mut self, weights: Option<Vec<f32>>) -> EdgeList {
        let ids = match self.words {
            Some(words) => NodeIds::StringIds(words),
            None => self.integer_rows(),
        };
        EdgeList { pairs: self.pairs, weights, ids }
    }

    fn integer_rows(&mut self) -> NodeIds {
        const NONE: u32 = u32::MAX;
        let largest = |(a, b): &(u32, u32)| *a.max(b);
        let largest = self.pairs.iter().map(largest).chain(self.nodes.iter().copied()).max();
        let Some(largest) = largest.map(|id| id as usize) else {
            return NodeIds::Range { start: 0, len: 0 };
        };
        let seen = 2 * self.pairs.len() + self.nodes.len();
        if largest / 16 > seen {
            // A table of all integers up to the largest would be mostly empty.
            return NodeIds::StringIds(std::mem::take(self.words()));
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
        if order.len() == largest + 1 {
            return NodeIds::Range { start: 0, len: order.len() };
        }
        for (a, b) in &mut self.pairs {
            *a = row_of[*a as usize];
            *b = row_of[*b as usize];
        }
        let mut digits = itoa::Buffer::new();
        let mut words = StringIds::default();
        for id in order {
            words.insert(digits.format(id));
        }
        NodeIds::StringIds(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(nodes: &[&str], pairs: &[(u32, u32)]) -> (Vec<String>, Vec<(u32, u32)>) {
        let nodes: Vec<String> = nodes.iter().map(|&id| id.to_owned()).collect();
        let mut ids = Ids::with_nodes(&nodes);
        ids.extend_integers(pairs);
        let list = ids.finish(None);
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
    fn huge_integers_take_no_huge_table() {
        let (ids, pairs) = rows(&[], &[(4_000_000_000, 7), (7, 5)]);
        assert_eq!(ids, ["4000000000", "7", "5"]);
        assert_eq!(pairs, [(0, 1), (1, 2)]);
    }

    #[test]
    fn one_id_is_one_row_however_it_is_written() {
        let mut ids = Ids::default();
        ids.push(Id::Integer(7), Id::Text("0"));
        assert!(ids.all_integers());
        ids.push(Id::Integer(u64::from(u32::MAX)), Id::Text("7"));
        ids.push(Id::Text("07"), Id::Integer(0));
        let list = ids.finish(None);
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
