//! The ids in a file of vectors.

use crate::graph::{Node, NodeIds, StringIds, integer};

/// The ids of a file, row by row; each may stand there once.
#[derive(Default)]
pub(super) struct Ids(StringIds);

impl Ids {
    /// Adds the id of the next row; fails with the row that has it already.
    pub(super) fn push(&mut self, id: &str) -> Result<(), Node> {
        let next = self.0.len();
        let row = self.0.insert(id);
        if row as usize == next { Ok(()) } else { Err(row) }
    }

    /// The number of rows so far.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Consecutive integers take no memory.
    pub(super) fn finish(self) -> NodeIds {
        let words = self.0;
        let Some(start) = (!words.is_empty()).then(|| integer(words.get(0).as_bytes())).flatten()
        else {
            return NodeIds::StringIds(words);
        };
        let follows = |row: Node| {
            integer(words.get(row).as_bytes()).and_then(|id| id.checked_sub(start)) == Some(row)
        };
        if (0..words.len() as Node).all(follows) {
            return NodeIds::Range { start, len: words.len() };
        }
        NodeIds::StringIds(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_integers_become_a_range() {
        let names = |ids: &[&str]| {
            let mut all = Ids::default();
            for id in ids {
                all.push(id).unwrap();
            }
            all.finish()
        };
        assert!(matches!(names(&["0", "1"]), NodeIds::Range { start: 0, len: 2 }));
        assert!(matches!(names(&["7", "8", "9"]), NodeIds::Range { start: 7, len: 3 }));
        for ids in [&["0", "2"][..], &["1", "0"], &["0", "01"], &["a"], &[]] {
            assert!(matches!(names(ids), NodeIds::StringIds(_)), "{ids:?}");
        }
    }
}
