//! Headers in Thrift's compact protocol, as far as their numbers concern us: the footer and the page
//! headers of Parquet files.
//!
//! A struct is a list of fields: a byte with the type in its low half, and in its high half the
//! difference from the last field's number, or 0 before a number of its own; a zero byte ends it.
//! Integers are zigzag varints.

/// What a header contains, in order.
pub(super) enum Item {
    /// A struct begins.
    Struct,
    Integer(i64),
    Bool(bool),
}

/// Calls `visit` with each item of a struct and its path: the numbers of the fields that lead to it. The
/// elements of a list have the path of the list. Returns the bytes after the struct; `None` if it is
/// not complete.
pub(super) fn walk<'a>(bytes: &'a [u8], visit: &mut impl FnMut(&[i16], Item)) -> Option<&'a [u8]> {
    let mut header = Header { bytes: Cursor(bytes), path: Vec::new() };
    header.fields(visit)?;
    Some(header.bytes.0)
}

struct Header<'a> {
    bytes: Cursor<'a>,
    path: Vec<i16>,
}

/// Structs of Parquet are nested less deeply.
const DEPTH: usize = 16;

impl Header<'_> {
    fn fields(&mut self, visit: &mut impl FnMut(&[i16], Item)) -> Option<()> {
        let mut number = 0_i16;
        loop {
            let start = self.bytes.byte()?;
            if start == 0 {
                return Some(());
            }
            number = match start >> 4 {
                0 => i16::try_from(self.bytes.integer()?).ok()?,
                step => number.checked_add(i16::from(step))?,
            };
            self.path.push(number);
            match start & 15 {
                kind @ (1 | 2) => visit(&self.path, Item::Bool(kind == 1)),
                kind => self.value(kind, visit)?,
            }
            self.path.pop();
        }
    }

    fn value(&mut self, kind: u8, visit: &mut impl FnMut(&[i16], Item)) -> Option<()> {
        match kind {
            // A bool of a list, or a byte.
            1..=3 => drop(self.bytes.byte()?),
            4..=6 => visit(&self.path, Item::Integer(self.bytes.integer()?)),
            7 => self.bytes.skip(8)?,
            8 => {
                let length = self.bytes.varint()?;
                self.bytes.skip(usize::try_from(length).ok()?)?;
            }
            9 | 10 => {
                let start = self.bytes.byte()?;
                let count = match start >> 4 {
                    15 => self.bytes.varint()?,
                    count => u64::from(count),
                };
                for _ in 0..count {
                    self.value(start & 15, visit)?;
                }
            }
            12 if self.path.len() < DEPTH => {
                visit(&self.path, Item::Struct);
                self.fields(visit)?;
            }
            _ => return None,
        }
        Some(())
    }
}

/// The bytes that were not read yet.
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl Cursor<'_> {
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    pub(super) fn skip(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.get(count..)?;
        Some(())
    }

    pub(super) fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn integer(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_have_the_paths_of_their_fields() {
        // {1: -3, 2: [{1: true}, {}], 20: "ab", 21: 300}
        let bytes = [0x15, 5, 0x19, 0x2c, 0x11, 0, 0, 0x08, 40, 2, b'a', b'b', 0x15, 0xd8, 4, 0, 9];
        let mut found = Vec::new();
        let rest = walk(&bytes, &mut |path, item| {
            found.push(match item {
                Item::Struct => format!("{path:?} struct"),
                Item::Integer(value) => format!("{path:?} {value}"),
                Item::Bool(value) => format!("{path:?} {value}"),
            });
        });
        assert_eq!(rest, Some(&[9][..]));
        assert_eq!(found, ["[1] -3", "[2] struct", "[2, 1] true", "[2] struct", "[21] 300"]);
        for end in 0..bytes.len() - 1 {
            assert!(walk(&bytes[..end], &mut |_, _| ()).is_none(), "{end}");
        }
    }
}
