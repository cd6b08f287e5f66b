//! The container: a header, a table of sections, and the sections.
//!
//! All numbers are little-endian. The first 4096 bytes are the header and the table:
//!
//! | bytes | |
//! |---|---|
//! | 0..8 | `89 4E 46 47 0D 0A 1A 0A`: a transfer as text would change it |
//! | 8..12 | version, u32: that of the oldest reader that understands the file |
//! | 12..16 | number of sections s, u32 |
//! | 16..24 | length of the file in bytes, u64 |
//! | 24..28 | CRC-32 of the first 4096 bytes, with zeros in this place, u32 |
//! | 64 + 64 i .. | section i < s ≤ 63: name (24 bytes, padded with zeros), type (8 bytes: `u8`, `u32`, `u64` or `f32`), start (u64, a multiple of 64), length in bytes (u64), CRC-32 of its bytes (u32), zeros |
//!
//! A reader looks sections up by name and leaves alone those that it does not know. A section without
//! which a file would be misunderstood comes with a new version.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::ops::Range;

use crc32fast::Hasher;
use rayon::prelude::*;

use crate::memory::{self, Array, Mapped, Plain};

pub(in crate::graph) const MAGIC: [u8; 8] = *b"\x89NFG\r\n\x1a\n";
const VERSION: u32 = 1;
/// Bytes of the header and the table.
const HEAD: usize = 4096;
/// Bytes of an entry of the table. The header takes as many.
const ENTRY: usize = 64;
const MOST: usize = HEAD / ENTRY - 1;
/// Where the checksum of the head is.
const CHECKSUM: Range<usize> = 24..28;

/// Numbers that a section can hold.
pub(super) trait Typed: Plain {
    const NAME: &'static str;
}

impl Typed for u8 {
    const NAME: &'static str = "u8";
}
impl Typed for u32 {
    const NAME: &'static str = "u32";
}
impl Typed for usize {
    const NAME: &'static str = "u64";
}
impl Typed for f32 {
    const NAME: &'static str = "f32";
}

#[derive(Debug)]
struct Section {
    name: String,
    kind: String,
    bytes: Range<usize>,
    checksum: u32,
}

/// Whether this machine keeps numbers as files do.
pub(super) fn check_machine() -> Result<(), String> {
    if cfg!(all(target_endian = "little", target_pointer_width = "64")) {
        return Ok(());
    }
    Err("packed graphs are for machines with little-endian numbers and 64-bit addresses; read the \
         graph in another format"
        .to_owned())
}

/// Writes a container, one section after the other.
pub(super) struct Writer<'a, 'f> {
    out: &'a mut BufWriter<&'f File>,
    at: usize,
    sections: Vec<Section>,
    checksum: Hasher,
}

impl<'a, 'f> Writer<'a, 'f> {
    pub(super) fn new(out: &'a mut BufWriter<&'f File>) -> io::Result<Self> {
        out.write_all(&[0; HEAD])?;
        Ok(Self { out, at: HEAD, sections: Vec::new(), checksum: Hasher::new() })
    }

    /// Begins a section, which ends where the next one begins.
    pub(super) fn begin<T: Typed>(&mut self, name: &str) -> io::Result<()> {
        self.end()?;
        let (name, kind) = (name.to_owned(), T::NAME.to_owned());
        self.sections.push(Section { name, kind, bytes: self.at..self.at, checksum: 0 });
        Ok(())
    }

    /// Appends values to the section.
    pub(super) fn write<T: Typed>(&mut self, values: &[T]) -> io::Result<()> {
        self.write_bytes(memory::bytes_of(values))
    }

    pub(super) fn write_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.checksum.update(bytes);
        self.at += bytes.len();
        self.out.write_all(bytes)
    }

    /// A section that is in memory.
    pub(super) fn section<T: Typed>(&mut self, name: &str, values: &[T]) -> io::Result<()> {
        self.begin::<T>(name)?;
        self.write(values)
    }

    fn end(&mut self) -> io::Result<()> {
        let checksum = std::mem::take(&mut self.checksum).finalize();
        if let Some(section) = self.sections.last_mut() {
            section.bytes.end = self.at;
            section.checksum = checksum;
        }
        let aligned = self.at.next_multiple_of(ENTRY);
        self.out.write_all(&[0; ENTRY][..aligned - self.at])?;
        self.at = aligned;
        Ok(())
    }

    /// Writes the header and the table.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.end()?;
        if self.sections.len() > MOST {
            return Err(io::Error::other("too many sections"));
        }
        let mut head = vec![0; HEAD];
        head[..8].copy_from_slice(&MAGIC);
        head[8..12].copy_from_slice(&VERSION.to_le_bytes());
        head[12..16].copy_from_slice(&(self.sections.len() as u32).to_le_bytes());
        head[16..24].copy_from_slice(&(self.at as u64).to_le_bytes());
        for (section, entry) in self.sections.iter().zip(head[ENTRY..].chunks_mut(ENTRY)) {
            entry[..section.name.len()].copy_from_slice(section.name.as_bytes());
            entry[24..24 + section.kind.len()].copy_from_slice(section.kind.as_bytes());
            entry[32..40].copy_from_slice(&(section.bytes.start as u64).to_le_bytes());
            entry[40..48].copy_from_slice(&(section.bytes.len() as u64).to_le_bytes());
            entry[48..52].copy_from_slice(&section.checksum.to_le_bytes());
        }
        let checksum = crc32fast::hash(&head);
        head[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&head)?;
        self.out.seek(SeekFrom::Start(self.at as u64)).map(drop)
    }
}

/// A mapped container, whose head is as it was written.
pub(super) struct Container {
    file: Mapped,
    sections: Vec<Section>,
}

impl Container {
    /// Reads the head of a file; it and the length of the file are checked.
    pub(super) fn open(file: Mapped) -> Result<Self, String> {
        let whole = file.get(..HEAD).and_then(|head| head.strip_prefix(&MAGIC).map(|_| head));
        let head = match whole {
            Some(head) => head,
            None if file.starts_with(&MAGIC) => return Err(cut(file.len(), "at least 4096")),
            None => return Err("not a packed graph; pack it with 'nearfar pack'".to_owned()),
        };
        let version = u32_at(head, 8);
        if version != VERSION {
            return Err(format!(
                "a packed graph of version {version}; this program reads version {VERSION}: update \
                 it, or pack the graph again"
            ));
        }
        let mut unsigned = head.to_vec();
        unsigned[CHECKSUM].fill(0);
        if crc32fast::hash(&unsigned) != u32_at(head, CHECKSUM.start) {
            return Err(damaged("the header"));
        }
        let (count, length) = (u32_at(head, 12) as usize, u64_at(head, 16));
        if file.len() as u64 != length {
            return Err(cut(file.len(), &length.to_string()));
        }
        let sections = head[ENTRY..].chunks(ENTRY).take(count).map(|entry| {
            let text = |bytes: &[u8]| {
                let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
                String::from_utf8_lossy(&bytes[..end]).into_owned()
            };
            let start = u64_at(entry, 32) as usize;
            let end = start.checked_add(u64_at(entry, 40) as usize);
            let end = end.filter(|&end| start >= HEAD && end <= file.len() && count <= MOST);
            let bytes = start..end.ok_or_else(|| damaged("the table of sections"))?;
            let (name, kind) = (text(&entry[..24]), text(&entry[24..32]));
            Ok(Section { name, kind, bytes, checksum: u32_at(entry, 48) })
        });
        let sections = sections.collect::<Result<_, String>>()?;
        Ok(Self { file, sections })
    }

    /// The values of a section, if the file has it.
    pub(super) fn optional<T: Typed>(&self, name: &str) -> Result<Option<Array<T>>, String> {
        let Some(section) = self.sections.iter().find(|section| section.name == name) else {
            return Ok(None);
        };
        let array = self.file.array(section.bytes.clone()).filter(|_| section.kind == T::NAME);
        array.map(Some).ok_or_else(|| format!("section {name} is not of {} numbers", T::NAME))
    }

    /// The values of a section.
    pub(super) fn array<T: Typed>(&self, name: &str) -> Result<Array<T>, String> {
        self.optional(name)?.ok_or_else(|| format!("a packed file without a section {name}"))
    }

    /// Reads every byte, and compares the checksums of all sections.
    pub(super) fn check(&self) -> Result<(), String> {
        const PIECE: usize = 1 << 22;
        for Section { name, bytes, checksum, .. } in &self.sections {
            let pieces = self.file[bytes.clone()].par_chunks(PIECE).map(|piece| {
                let mut hasher = Hasher::new();
                hasher.update(piece);
                hasher
            });
            let join = |mut left: Hasher, right: Hasher| {
                left.combine(&right);
                left
            };
            if pieces.reduce(Hasher::new, join).finalize() != *checksum {
                return Err(damaged(&format!("section {name}")));
            }
        }
        Ok(())
    }
}

fn damaged(what: &str) -> String {
    format!("the file is damaged: {what} has another checksum; copy it or pack the graph again")
}

fn cut(length: usize, expected: &str) -> String {
    format!(
        "the file has {length} bytes and should have {expected}; copy it again, or pack the graph \
         again"
    )
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].as_chunks().0.first().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].as_chunks().0.first().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
