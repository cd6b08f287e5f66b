//! Parquet files whose headers claim no more than the file bears out.
//!
//! The library allocates what headers claim before it has the bytes: children of a node of the
//! schema, uncompressed pages, entries of dictionaries, lengths of texts. Here the claims are
//! checked first. What remains is real: data that is repeated, or compresses very well, may still
//! become many times as large as its file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use ::bytes::Bytes;
use ::parquet::basic::{Compression, Encoding};
use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::column::reader::{ColumnReader, get_column_reader};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::reader::{ChunkReader, Length, RowGroupReader};
use ::parquet::schema::types::SchemaDescriptor;

use super::super::{open_seekable, read_error};
use super::thrift::{Cursor, Item, walk};
use crate::error::Result;

/// Pages up to this size, in bytes, are not decompressed to see whether they are as large as claimed.
/// Most writers make pages of 1 MB.
const SMALL_PAGE: usize = 8 << 20;

fn broken(message: impl Into<String>) -> ParquetError {
    ParquetError::General(message.into())
}

/// A file of which no more bytes are asked than it has.
#[derive(Clone)]
pub(crate) struct CheckedFile {
    file: Arc<File>,
    len: u64,
}

impl CheckedFile {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = open_seekable(path)?;
        let len = file.metadata().map_err(|error| read_error(path, error))?.len();
        let file = Self { file: file.into(), len };
        file.check_footer().map_err(|error| super::broken(path, error))?;
        Ok(file)
    }

    /// Checks the schema, which the library builds by recursion.
    fn check_footer(&self) -> Result<(), ParquetError> {
        /// The length of the footer, and the magic bytes.
        const END: u64 = 8;
        const DEPTH: usize = 64;
        let end = self.get_bytes(self.len.saturating_sub(END), END as usize)?;
        if !matches!(&end[4..], b"PAR1" | b"PARE") {
            return Err(broken("the file does not end with the magic bytes PAR1"));
        }
        let length = u32::from_le_bytes([end[0], end[1], end[2], end[3]]);
        let start = (self.len - END).checked_sub(length.into());
        let start = start.ok_or_else(|| broken("the footer is longer than the file"))?;
        let footer = self.get_bytes(start, length as usize)?;
        // The nodes of the schema, each followed by its children.
        let mut children = Vec::new();
        walk(&footer, &mut |path, item| match (path, item) {
            ([2], Item::Struct) => children.push(0),
            ([2, 5], Item::Integer(count)) => {
                if let Some(last) = children.last_mut() {
                    *last = count;
                }
            }
            _ => {}
        });
        let mut left = Vec::new();
        for &count in &children {
            while left.last() == Some(&0) {
                left.pop();
            }
            if let Some(siblings) = left.last_mut() {
                *siblings -= 1;
            }
            left.push(count);
            if left.len() > DEPTH
                || !usize::try_from(count).is_ok_and(|count| count < children.len())
            {
                return Err(broken("a schema that no table has"));
            }
        }
        Ok(())
    }

    /// How many values a page can have: more are not written, even where all are equal.
    fn most_values(&self) -> u64 {
        1_000_000 + 1000 * self.len
    }

    /// Checks the pages of a column.
    fn check_pages(&self, column: &ColumnChunkMetaData) -> Result<(), ParquetError> {
        let (mut at, length) = column.byte_range();
        let end = at.checked_add(length).filter(|&end| end <= self.len);
        let end = end.ok_or_else(|| broken("a column ends after the file"))?;
        while at < end {
            let (header, start) = self.page_header(at, end)?;
            let size = usize::try_from(header.compressed);
            let size = size.map_err(|_| broken("a page of negative size"))?;
            at = start.saturating_add(size as u64);
            if at > end {
                return Err(broken("a page ends after its column"));
            }
            let plain = usize::try_from(header.levels).unwrap_or(usize::MAX);
            let claim = usize::try_from(header.uncompressed).unwrap_or(usize::MAX);
            if claim > SMALL_PAGE && header.is_compressed {
                let page = self.get_bytes(start, size)?;
                let (Some(page), Some(claim)) = (page.get(plain..), claim.checked_sub(plain))
                else {
                    return Err(broken("levels are longer than their page"));
                };
                if !has_size(column.compression(), page, claim) {
                    let message = format!("a page of {size} bytes does not hold {claim}");
                    return Err(broken(message));
                }
            }
        }
        Ok(())
    }

    /// The header of the page at `at`, and where the page begins.
    fn page_header(&self, at: u64, end: u64) -> Result<(PageHeader, u64), ParquetError> {
        let mut window = 128;
        loop {
            let length = window.min(end - at);
            let bytes = self.get_bytes(at, length as usize)?;
            let mut header = PageHeader { is_compressed: true, ..PageHeader::default() };
            if let Some(rest) = walk(&bytes, &mut |path, item| header.set(path, &item)) {
                return Ok((header, at + length - rest.len() as u64));
            }
            if length < window {
                return Err(broken("the header of a page cannot be decoded"));
            }
            window *= 8;
        }
    }
}

impl Length for CheckedFile {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for CheckedFile {
    type T = <File as ChunkReader>::T;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        self.file.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        if start.saturating_add(length as u64) > self.len {
            let message = format!("{length} bytes claimed at {start} of {}", self.len);
            return Err(ParquetError::EOF(message));
        }
        self.file.get_bytes(start, length)
    }
}

/// What the header of a page claims.
#[derive(Default)]
struct PageHeader {
    uncompressed: i64,
    compressed: i64,
    /// The bytes of levels, which pages of version 2 never compress.
    levels: i64,
    is_compressed: bool,
}

impl PageHeader {
    fn set(&mut self, path: &[i16], item: &Item) {
        match (path, item) {
            ([2], Item::Integer(size)) => self.uncompressed = *size,
            ([3], Item::Integer(size)) => self.compressed = *size,
            ([8, 5 | 6], Item::Integer(size)) => self.levels = self.levels.saturating_add(*size),
            ([8, 7], Item::Bool(is_compressed)) => self.is_compressed = *is_compressed,
            _ => {}
        }
    }
}

/// Whether compressed data can have this size.
pub(crate) fn has_size(codec: Compression, page: &[u8], size: usize) -> bool {
    let counts = |source: &mut dyn Read| {
        let copied = io::copy(&mut source.take((size as u64).saturating_add(1)), &mut io::sink());
        copied.is_ok_and(|copied| copied == size as u64)
    };
    match codec {
        Compression::UNCOMPRESSED | Compression::LZO => true,
        // At most 64 bytes for three.
        Compression::SNAPPY => size / 22 <= page.len(),
        // At most 255 bytes for one.
        Compression::LZ4 | Compression::LZ4_RAW => size / 256 <= page.len(),
        Compression::GZIP(_) => counts(&mut flate2::read::MultiGzDecoder::new(page)),
        Compression::BROTLI(_) => counts(&mut brotli::Decompressor::new(page, 1 << 12)),
        Compression::ZSTD(_) => {
            zstd::Decoder::with_buffer(page).is_ok_and(|mut source| counts(&mut source))
        }
    }
}

/// The reader of column `at` of a row group. Use this instead of the row group's own method, which
/// believes page headers.
pub(crate) fn column_reader(
    file: &CheckedFile,
    group: &dyn RowGroupReader,
    schema: &SchemaDescriptor,
    at: usize,
) -> Result<ColumnReader, ParquetError> {
    file.check_pages(group.metadata().column(at))?;
    let has_levels = schema.column(at).max_def_level() > 0;
    let most_values = file.most_values();
    let pages = CheckedPages { pages: group.get_column_page_reader(at)?, has_levels, most_values };
    Ok(get_column_reader(schema.column(at), Box::new(pages)))
}

/// Pages with no more values than their content can have.
struct CheckedPages {
    pages: Box<dyn PageReader>,
    /// Whether the pages say which values are null.
    has_levels: bool,
    most_values: u64,
}

impl CheckedPages {
    fn check(&self, page: Page) -> Result<Page, ParquetError> {
        /// The shortest entry of the types read here: an INT32, a FLOAT, or the length of a text.
        const SHORTEST: usize = 4;
        let (values, buf) = (page.num_values(), page.buffer());
        let is_dictionary = page.is_dictionary_page();
        if (is_dictionary && values as usize > buf.len() / SHORTEST)
            || u64::from(values) > self.most_values
        {
            let message = format!("a page of {values} values in {} bytes", buf.len());
            return Err(broken(message));
        }
        // Texts begin with their lengths, or with those of their prefixes and of the rests.
        let lists = match page.encoding() {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
            Encoding::DELTA_BYTE_ARRAY => 2,
            _ => 0,
        };
        let mut rest = Cursor(buf.get(self.levels(&page)..).unwrap_or_default());
        for _ in 0..lists {
            let count = skip_integers(&mut rest);
            if count.is_none_or(|count| count > u64::from(values)) {
                return Err(broken(format!("a page of {values} texts with other lengths")));
            }
        }
        Ok(page)
    }

    /// The bytes of a page before its values, in a column without lists.
    fn levels(&self, page: &Page) -> usize {
        match page {
            Page::DataPage { buf, .. } if self.has_levels => {
                let length = buf.first_chunk::<4>().map_or(0, |&bytes| u32::from_le_bytes(bytes));
                4 + length as usize
            }
            Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
                *def_levels_byte_len as usize + *rep_levels_byte_len as usize
            }
            _ => 0,
        }
    }
}

/// Skips integers that are stored as differences, and returns their number: after a header, blocks
/// of equal length, each with its smallest difference and the widths in bits of its parts.
fn skip_integers(bytes: &mut Cursor<'_>) -> Option<u64> {
    let (block, parts, count) = (bytes.varint()?, bytes.varint()?, bytes.varint()?);
    bytes.varint()?;
    let part = block.checked_div(parts).filter(|&part| part > 0)?;
    let mut left = count.saturating_sub(1);
    while left > 0 {
        bytes.varint()?;
        let widths = bytes.0.get(..usize::try_from(parts).ok()?)?;
        bytes.skip(widths.len())?;
        for &width in widths {
            // The widths of unused parts mean nothing.
            if left > 0 {
                let bits = part.checked_mul(width.into())?;
                bytes.skip(usize::try_from(bits / 8).ok()?)?;
            }
            left = left.saturating_sub(part);
        }
    }
    Some(count)
}

impl Iterator for CheckedPages {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        self.pages.get_next_page()?.map(|page| self.check(page)).transpose()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool, ParquetError> {
        self.pages.at_record_boundary()
    }
}
