//! Text ids in a mapped file, with the hash index that finds them.
//!
//! The index is an array of rows, as long as a power of two and with room to spare. The row of an id
//! is in the slot that the lower bits of its [`hash`] name or, where that is taken, in the next free
//! one; the last slot is followed by the first.

use super::Node;
use crate::memory::Array;

/// A slot without a row.
const FREE: Node = Node::MAX;

/// Distinct texts in three arrays. What a damaged file may hold is never out of bounds: a text that
/// is not there is empty.
#[derive(Clone, Debug)]
pub(super) struct MappedIds {
    /// The texts, one after the other.
    pub(super) text: Array<u8>,
    /// The end of each text.
    pub(super) ends: Array<usize>,
    /// The rows of all texts, by hash.
    pub(super) slots: Array<Node>,
}

impl MappedIds {
    /// The number of texts.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The memory that the texts take once all are in use.
    pub(super) fn bytes(&self) -> u64 {
        let ends = size_of_val(&*self.ends);
        (self.text.len() + ends + size_of_val(&*self.slots)) as u64
    }

    /// The text with this number.
    pub(super) fn get(&self, row: Node) -> &str {
        let row = row as usize;
        let start = if row == 0 { Some(0) } else { self.ends.get(row - 1).copied() };
        let text =
            start.zip(self.ends.get(row)).and_then(|(start, &end)| self.text.get(start..end));
        text.and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default()
    }

    /// The number of a text.
    pub(super) fn find(&self, id: &str) -> Option<Node> {
        let rows = probes(&self.slots, id).map(|at| self.slots[at]);
        let mut taken = rows.take_while(|&row| row != FREE);
        taken.find(|&row| (row as usize) < self.len() && self.get(row) == id)
    }
}

/// The index of these texts, which are distinct.
pub(super) fn slots<'a>(texts: impl ExactSizeIterator<Item = &'a str>) -> Vec<Node> {
    let len = (texts.len() + texts.len() / 3 + 1).next_power_of_two();
    let mut slots = vec![FREE; len];
    for (row, id) in texts.enumerate() {
        // There are more slots than texts: one is free.
        if let Some(at) = probes(&slots, id).find(|&at| slots[at] == FREE) {
            slots[at] = row as Node;
        }
    }
    slots
}

/// The slots in which a text may be, in the order in which they are tried; none if their number is
/// no power of two.
fn probes(slots: &[Node], id: &str) -> impl Iterator<Item = usize> + use<> {
    let len = if slots.len().is_power_of_two() { slots.len() } else { 0 };
    let first = hash(id) as usize;
    (0..len).map(move |step| first.wrapping_add(step) & (len - 1))
}

/// FNV-1a of 64 bits, whose halves are then mixed: lower bits alone would depend on few characters.
/// Files hold what follows from it, so it never changes.
fn hash(id: &str) -> u64 {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let hash = id.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step);
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(texts: &[String]) -> MappedIds {
        let ends = texts.iter().scan(0, |end, text| {
            *end += text.len();
            Some(*end)
        });
        let ends: Vec<usize> = ends.collect();
        let slots = slots(texts.iter().map(String::as_str));
        let text = texts.concat().into_bytes();
        MappedIds { text: text.into(), ends: ends.into(), slots: slots.into() }
    }

    #[test]
    fn every_text_is_found_and_no_other() {
        for count in [0, 1, 2, 3, 1000] {
            let texts: Vec<String> = (0..count).map(|at| format!("{at}é")).collect();
            let ids = mapped(&texts);
            assert_eq!(ids.len(), texts.len());
            for (row, text) in texts.iter().enumerate() {
                assert_eq!((ids.get(row as Node), ids.find(text)), (&text[..], Some(row as Node)));
            }
            assert_eq!((ids.find(""), ids.find("0")), (None, None));
        }
    }

    /// As published: <http://www.isthe.com/chongo/tech/comp/fnv/>, 85944171f73967e8 for "foobar".
    #[test]
    fn the_hash_never_changes() {
        let fnv = 0x8594_4171_f739_67e8_u64;
        assert_eq!(hash("foobar"), fnv ^ (fnv >> 32));
    }

    #[test]
    fn damaged_arrays_hold_empty_texts() {
        let whole = mapped(&["ab".to_owned(), "c".to_owned()]);
        for ends in [vec![5, 9], vec![2, 1], vec![usize::MAX, 0]] {
            let ids = MappedIds { ends: ends.into(), ..whole.clone() };
            assert_eq!(ids.get(1), "");
        }
        let ids = MappedIds { text: vec![0xff; 3].into(), ..whole.clone() };
        assert_eq!((ids.get(0), ids.get(7)), ("", ""));
        for slots in [vec![], vec![7; 3], vec![9; 4]] {
            assert_eq!(MappedIds { slots: slots.into(), ..whole.clone() }.find("ab"), None);
        }
    }
}
