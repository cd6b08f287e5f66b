//! The ids of nodes.

use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::Node;
use super::mapped_ids::MappedIds;

/// The ids of a graph's nodes, by row. An id is any text; consecutive integers take no memory.
#[derive(Clone, Debug)]
pub enum NodeIds {
    /// Row r has the id `start + r`.
    Range {
        /// The id of row 0: 0, or 1 in formats that count from one.
        start: u32,
        /// The number of rows.
        len: usize,
    },
    /// Each row has a text id.
    StringIds(StringIds),
}

impl NodeIds {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Range { len, .. } => *len,
            Self::StringIds(texts) => texts.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id of a row.
    pub fn get(&self, node: Node) -> Cow<'_, str> {
        match self {
            Self::Range { start, .. } => (u64::from(*start) + u64::from(node)).to_string().into(),
            Self::StringIds(texts) => texts.get(node).into(),
        }
    }

    /// The row of an id.
    pub fn find(&self, id: &str) -> Option<Node> {
        match self {
            Self::Range { start, len } => {
                let row = integer(id.as_bytes())?.checked_sub(*start)?;
                ((row as usize) < *len).then_some(row)
            }
            Self::StringIds(texts) => texts.find(id),
        }
    }

    /// The memory that the ids take: their texts, the ends of the texts, and the hash index.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Range { .. } => 0,
            Self::StringIds(texts) => texts.bytes(),
        }
    }

    /// Gives back memory that was reserved for more ids.
    pub(crate) fn shrink_to_fit(&mut self) {
        if let Self::StringIds(texts) = self {
            texts.shrink_to_fit();
        }
    }

    /// The ids of some rows, in that order.
    pub(crate) fn select(&self, rows: &[Node]) -> Self {
        let mut ids = Self::StringIds(rows.iter().map(|&row| self.get(row)).collect());
        ids.shrink_to_fit();
        ids
    }
}

/// Distinct texts, numbered in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct StringIds {
    owned: OwnedIds,
    /// The texts of a packed graph, instead. The first one that is added makes them owned.
    mapped: Option<MappedIds>,
}

#[derive(Clone, Debug, Default)]
struct OwnedIds {
    text: String,
    ends: Vec<usize>,
    /// The rows of all texts, found by hash.
    rows: HashTable<(u64, Node)>,
}

impl StringIds {
    /// Texts in a mapped file.
    pub(super) fn mapped(ids: MappedIds) -> Self {
        Self { owned: OwnedIds::default(), mapped: Some(ids) }
    }

    /// The number of texts.
    pub fn len(&self) -> usize {
        self.mapped.as_ref().map_or(self.owned.ends.len(), MappedIds::len)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory that the texts take.
    pub fn bytes(&self) -> u64 {
        let OwnedIds { text, ends, rows } = &self.owned;
        let ends = ends.capacity() * size_of::<usize>();
        let owned = (text.capacity() + ends + rows.allocation_size()) as u64;
        owned + self.mapped.as_ref().map_or(0, MappedIds::bytes)
    }

    /// The text with this number.
    pub fn get(&self, row: Node) -> &str {
        match &self.mapped {
            None => text_of(&self.owned.text, &self.owned.ends, row),
            Some(ids) => ids.get(row),
        }
    }

    /// The number of a text.
    pub fn find(&self, id: &str) -> Option<Node> {
        if let Some(ids) = &self.mapped {
            return ids.find(id);
        }
        let hashed = hash(id);
        let same = |&(hash, row): &(u64, Node)| hash == hashed && self.get(row) == id;
        self.owned.rows.find(hashed, same).map(|&(_, row)| row)
    }

    /// The number of a text, which is added if it is new.
    pub fn insert(&mut self, id: &str) -> Node {
        self.insert_hashed(hash(id), id)
    }

    /// [`insert`](Self::insert) with a known [`hash`].
    pub(crate) fn insert_hashed(&mut self, hashed: u64, id: &str) -> Node {
        self.owned().insert_hashed(hashed, id)
    }

    /// Inserts all texts of `others`, whose hashes are given; returns their numbers here.
    pub(crate) fn insert_all(&mut self, others: &Self, hashes: &[u64]) -> Vec<Node> {
        self.owned().insert_all(others, hashes)
    }

    /// Gives back memory that was reserved for more ids.
    fn shrink_to_fit(&mut self) {
        self.owned.text.shrink_to_fit();
        self.owned.ends.shrink_to_fit();
    }

    fn owned(&mut self) -> &mut OwnedIds {
        if let Some(ids) = self.mapped.take() {
            *self = (0..ids.len() as Node).map(|row| ids.get(row)).collect();
        }
        &mut self.owned
    }
}

impl OwnedIds {
    fn insert_hashed(&mut self, hashed: u64, id: &str) -> Node {
        let Self { text, ends, rows } = self;
        let entry = rows.entry(
            hashed,
            |&(hash, row)| hash == hashed && text_of(text, ends, row) == id,
            |&(hash, _)| hash,
        );
        match entry {
            hashbrown::hash_table::Entry::Occupied(found) => found.get().1,
            hashbrown::hash_table::Entry::Vacant(slot) => {
                let row = ends.len() as Node;
                slot.insert((hashed, row));
                text.push_str(id);
                ends.push(text.len());
                row
            }
        }
    }

    /// In a large table every look-up misses the cache three times: at the entry, at the end of
    /// the text, and at the text. Each step is done for a batch before the next one, so that the
    /// misses overlap.
    fn insert_all(&mut self, others: &StringIds, hashes: &[u64]) -> Vec<Node> {
        const BATCH: usize = 64;
        const NONE: Node = Node::MAX;
        let mut numbers = vec![NONE; hashes.len()];
        for (batch, numbers) in numbers.chunks_mut(BATCH).enumerate() {
            let rows = batch * BATCH..;
            for (number, row) in numbers.iter_mut().zip(rows.clone()) {
                let likely = self.rows.find(hashes[row], |&(hash, _)| hash == hashes[row]);
                *number = likely.map_or(NONE, |&(_, row)| row);
            }
            for (number, row) in numbers.iter_mut().zip(rows.clone()) {
                let same =
                    |number| text_of(&self.text, &self.ends, number) == others.get(row as Node);
                if *number != NONE && !same(*number) {
                    *number = NONE;
                }
            }
            for (number, row) in numbers.iter_mut().zip(rows) {
                if *number == NONE {
                    *number = self.insert_hashed(hashes[row], others.get(row as Node));
                }
            }
        }
        numbers
    }
}

impl<S: AsRef<str>> FromIterator<S> for StringIds {
    fn from_iter<I: IntoIterator<Item = S>>(ids: I) -> Self {
        let ids = ids.into_iter();
        let len = ids.size_hint().0;
        let mut texts = OwnedIds {
            text: String::new(),
            ends: Vec::with_capacity(len),
            rows: HashTable::with_capacity(len),
        };
        for id in ids {
            texts.insert_hashed(hash(id.as_ref()), id.as_ref());
        }
        Self { owned: texts, mapped: None }
    }
}

fn text_of<'a>(text: &'a str, ends: &[usize], row: Node) -> &'a str {
    let row = row as usize;
    let start = if row == 0 { 0 } else { ends[row - 1] };
    &text[start..ends[row]]
}

/// The hash of [`StringIds`]. No result depends on it: rows follow the order of insertion.
#[inline]
pub(crate) fn hash(id: &str) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(id.as_bytes());
    hasher.finish()
}

/// Parses an integer in canonical form: no sign, no leading zero.
#[inline]
pub(crate) fn integer(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || digits.len() > 10 || (digits[0] == b'0' && digits.len() > 1) {
        return None;
    }
    let mut value = 0_u64;
    for &digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    // The largest u32 is reserved: it stands for "none".
    (value < u64::from(u32::MAX)).then_some(value as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_numbered_by_first_appearance() {
        let texts: StringIds = ["b", "a", "b", "", "é"].into_iter().collect();
        assert_eq!(texts.len(), 4);
        assert!(texts.bytes() >= 4 + 4 * 8 + 4 * 16);
        assert_eq!((0..4).map(|row| texts.get(row)).collect::<Vec<_>>(), ["b", "a", "", "é"]);
        assert_eq!(texts.find("é"), Some(3));
        assert_eq!(texts.find("c"), None);
    }

    #[test]
    fn insert_all_is_insert_for_each() {
        let mut all: StringIds = (0..500).map(|i| (i * 7 % 1000).to_string()).collect();
        let mut each = all.clone();
        let others: StringIds = (0..900).map(|i| (i * 3 % 1000).to_string()).collect();
        let texts: Vec<&str> = (0..others.len() as Node).map(|row| others.get(row)).collect();
        let hashes: Vec<u64> = texts.iter().map(|text| hash(text)).collect();
        let expected: Vec<Node> = texts.iter().map(|text| each.insert(text)).collect();
        assert_eq!(all.insert_all(&others, &hashes), expected);
        assert_eq!(all.len(), each.len());
        // With equal hashes, the texts are compared.
        let mut collisions = StringIds::default();
        assert_eq!(collisions.insert_all(&others, &vec![7; 900])[..], (0..900).collect::<Vec<_>>());
        assert_eq!(collisions.insert_hashed(7, texts[5]), 5);
    }

    #[test]
    fn a_range_finds_its_ids_and_no_others() {
        let ids = NodeIds::Range { start: 1, len: 3 };
        assert_eq!(ids.get(0), "1");
        assert_eq!(ids.find("3"), Some(2));
        for absent in ["0", "4", "01", "+1", "", "x", "99999999999"] {
            assert_eq!(ids.find(absent), None, "{absent}");
        }
    }

    #[test]
    fn only_canonical_integers_count() {
        assert_eq!(integer(b"0"), Some(0));
        assert_eq!(integer(b"4294967294"), Some(4_294_967_294));
        for text in ["4294967295", "00", "07", "-1", "1.0", "", " 1", "12345678901"] {
            assert_eq!(integer(text.as_bytes()), None, "{text}");
        }
    }
}
