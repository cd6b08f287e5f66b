//! Text in blocks that end at line ends and are parsed in parallel.

use std::io::Read;
use std::path::Path;

use memchr::memchr;
use rayon::prelude::*;

use super::{LONGEST, open, read_error};
use crate::error::{Error, Result};

/// Bytes of a block: small enough for its ids to stay in the cache.
const BLOCK: usize = 1 << 18;

/// The line within the block, counted from 1, and the message.
pub(crate) type LineError = (u64, String);

/// The number of lines of a block and its content.
pub(crate) type Parsed<T> = Result<(u64, T), LineError>;

/// The number of blocks that are parsed at a time.
fn batch_blocks() -> usize {
    rayon::current_num_threads().max(1) * 2
}

/// Reads a file in blocks that end at line ends.
pub(crate) struct Blocks<'a> {
    source: Box<dyn Read + Send>,
    path: &'a Path,
    rest: Vec<u8>,
    ended: bool,
    /// The number of lines that were skipped.
    line: u64,
    /// The number of bytes that were read, decompressed.
    read: u64,
}

impl<'a> Blocks<'a> {
    pub(crate) fn open(path: &'a Path) -> Result<Self> {
        Ok(Self { source: open(path)?, path, rest: Vec::new(), ended: false, line: 0, read: 0 })
    }

    /// The first block, without a byte order mark.
    pub(crate) fn first(&mut self) -> Result<Vec<u8>> {
        self.first_if_any()?.ok_or_else(|| Error::file(self.path, "the file is empty"))
    }

    /// The same, where a file may be empty.
    pub(crate) fn first_if_any(&mut self) -> Result<Option<Vec<u8>>> {
        let mut first = self.next()?;
        if let Some(first) = &mut first
            && first.starts_with(b"\xef\xbb\xbf")
        {
            first.drain(..3);
        }
        Ok(first)
    }

    /// The file.
    pub(crate) fn path(&self) -> &'a Path {
        self.path
    }

    /// The number of lines before what [`parse`](Self::parse) gets.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Counts lines that are not parsed.
    pub(crate) fn skip(&mut self, lines: &[u8]) {
        self.line += memchr::memchr_iter(b'\n', lines).count() as u64;
    }

    /// Parses the blocks after `first` in parallel and merges all of them in file order, one batch
    /// while the next one is being parsed. Returns the size of the text.
    pub(crate) fn parse<T: Send>(
        mut self,
        first: Parsed<T>,
        parse: impl Fn(&[u8]) -> Parsed<T> + Sync,
        mut merge: impl FnMut(T) -> Result<()> + Send,
    ) -> Result<u64> {
        let path = self.path;
        let mut line = self.line;
        let mut parsed = vec![first];
        while !parsed.is_empty() {
            let (merged, next) = rayon::join(
                || {
                    for block in parsed {
                        let (lines, block) =
                            block.map_err(|(at, message)| Error::line(path, line + at, message))?;
                        line += lines;
                        merge(block)?;
                    }
                    Ok(())
                },
                || {
                    let blocks = self.batch(batch_blocks())?;
                    Ok(blocks.par_iter().map(|block| parse(block)).collect::<Vec<_>>())
                },
            );
            merged?;
            parsed = next?;
        }
        Ok(self.read)
    }

    /// Memory that [`parse`](Self::parse) takes besides what it merges: of a text of this size, one
    /// batch as text and two parsed ones, whose size is `parsed` times that of their text.
    pub(crate) fn bytes(text: u64, parsed: u64) -> u64 {
        let batch = batch_blocks() as u64 * BLOCK as u64;
        text.min(batch) + text.min(2 * batch) * parsed
    }

    /// The next block; `None` at the end of the file.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let mut block = std::mem::take(&mut self.rest);
        while !self.ended {
            let want = (BLOCK as u64).max(block.len() as u64);
            let got = self.source.by_ref().take(want).read_to_end(&mut block);
            let got = got.map_err(|e| read_error(self.path, e))?;
            self.read += got as u64;
            self.ended = got == 0;
            if let Some(end) = memchr::memrchr(b'\n', &block) {
                if !self.ended {
                    self.rest = block.split_off(end + 1);
                }
                break;
            }
            if block.len() > LONGEST {
                let reason = "a line of more than 1 GB; expected a text with an entry per line";
                return Err(Error::file(self.path, reason));
            }
        }
        Ok((!block.is_empty()).then_some(block))
    }

    fn batch(&mut self, count: usize) -> Result<Vec<Vec<u8>>> {
        let mut blocks = Vec::new();
        while blocks.len() < count {
            let Some(block) = self.next()? else { break };
            blocks.push(block);
        }
        Ok(blocks)
    }
}

/// The lines of a block with their numbers, counted from 1, without line ends.
pub(crate) struct Lines<'a> {
    rest: &'a [u8],
    number: u64,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(block: &'a [u8]) -> Self {
        Self { rest: block, number: 0 }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = (u64, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let end = memchr(b'\n', self.rest).unwrap_or(self.rest.len());
        let line = &self.rest[..end];
        self.rest = self.rest.get(end + 1..).unwrap_or_default();
        self.number += 1;
        Some((self.number, line.strip_suffix(b"\r").unwrap_or(line)))
    }
}

/// Checks that a block is UTF-8.
pub(crate) fn is_utf8(bytes: &[u8]) -> Result<(), LineError> {
    std::str::from_utf8(bytes).map(|_| ()).map_err(|error| {
        let line = memchr::memchr_iter(b'\n', &bytes[..error.valid_up_to()]).count() as u64 + 1;
        (line, "this is not UTF-8 text; save the file as UTF-8".to_owned())
    })
}

/// Parses a weight.
pub(crate) fn weight(field: &[u8]) -> Result<f32, String> {
    let text = String::from_utf8_lossy(field);
    match text.parse::<f32>() {
        Ok(weight) if weight.is_normal() && weight > 0.0 => Ok(weight),
        Ok(_) => match narrow(text.parse().unwrap_or(f64::NAN))? {
            weight if weight.is_finite() && weight >= 0.0 => Ok(weight),
            _ => Err(format!("weight {text}; weights must be finite and ≥ 0")),
        },
        Err(_) => {
            Err(format!("'{text}' is not a weight; write a number, or leave the third column out"))
        }
    }
}

/// Parses a length.
pub(crate) fn length(field: &[u8]) -> Result<f32, String> {
    let text = String::from_utf8_lossy(field);
    match text.parse::<f32>() {
        Ok(length) if length.is_normal() && length > 0.0 => Ok(length),
        Ok(_) => Err(format!("length {text}; lengths must be finite and > 0")),
        Err(_) => Err(format!("'{text}' is not a length; expected a number > 0")),
    }
}

/// A weight as a 32-bit number. One that is too large or too small for it is not rounded to
/// infinity or zero.
pub(crate) fn narrow(weight: f64) -> Result<f32, String> {
    let narrow = weight as f32;
    let scale = "scale the weights";
    if narrow == 0.0 && weight != 0.0 {
        return Err(format!("weight {weight:e} is too small for a 32-bit number; {scale}"));
    }
    if narrow.is_infinite() && weight.is_finite() {
        return Err(format!("weight {weight:e} is too large for a 32-bit number; {scale}"));
    }
    Ok(narrow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_an_end_is_no_text() {
        let path = Path::new("endless");
        let source = Box::new(std::io::repeat(b'0'));
        let mut blocks = Blocks { source, path, rest: Vec::new(), ended: false, line: 0, read: 0 };
        let error = blocks.first().unwrap_err().to_string();
        assert!(error.starts_with("endless: a line of more than"), "{error}");
        assert!(blocks.read < 3 * LONGEST as u64, "{}", blocks.read);
    }
}
