//! Collecting the ids of a file of vectors.

use crate::graph::{Node, NodeIds, StringIds, integer};

/// The ids of a file in row order; each may occur once.
#[derive(Default)]
pub(super) struct Ids(StringIds);

impl Ids {
    /// Adds the id of the next row; fails with the row of the same id.
    pub(super) fn push(&mut self, id: &str) -> Result<(), Node> {
        let next = self.0.len();
        let row = self.0.insert(id);
        if row as usize == next { Ok(()) } else { Err(row) }
    }

    /// The number of rows so far.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The collected ids; consecutive integers become a range, which takes no memory.
    pub(super) fn finish(self) -> NodeIds {
        let ids = self.0;
        let Some(start) = (!ids.is_empty()).then(|| integer(ids.get(0).as_bytes())).flatten()
        else {
            return NodeIds::StringIds(ids);
        };
        let is_next = |row: Node| {
            integer(ids.get(row).as_bytes()).and_then(|id| id.checked_sub(start)) == Some(row)
        };
        if (0..ids.len() as Node).all(is_next) {
            return NodeIds::Range { start, len: ids.len() };
        }
        NodeIds::StringIds(ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_integers_become_a_range() {
        let finish = |ids: &[&str]| {
            let mut all = Ids::default();
            for id in ids {
                all.push(id).unwrap();
            }
            all.finish()
        };
        assert!(matches!(finish(&["0", "1"]), NodeIds::Range { start: 0, len: 2 }));
        assert!(matches!(finish(&["7", "8", "9"]), NodeIds::Range { start: 7, len: 3 }));
        for ids in [&["0", "2"][..], &["1", "0"], &["0", "01"], &["a"], &[]] {
            assert!(matches!(finish(ids), NodeIds::StringIds(_)), "{ids:?}");
        }
    }
}
