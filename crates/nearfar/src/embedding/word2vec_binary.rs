//! The binary format of word2vec, `.bin`, which is read and not written.
//!
//! A line `nodes dimensions`; then for each node its id, a blank and its floats, little end first.
//! The first program wrote a line end after each vector, gensim writes none.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::{Embedding, Ids, text};
use crate::error::{Error, Result};
use crate::file::{open, read_error};

/// Longer ids mean that this is another kind of file.
const LONGEST_ID: u64 = 1 << 16;

pub(super) fn read(path: &Path) -> Result<Embedding> {
    let mut source = BufReader::new(open(path)?);
    let broken = |e: io::Error| read_error(path, &e);
    let mut line = Vec::new();
    source.by_ref().take(64).read_until(b'\n', &mut line).map_err(broken)?;
    let sizes = std::str::from_utf8(&line).ok().filter(|line| line.ends_with('\n'));
    let (nodes, dim) = sizes.and_then(text::sizes).ok_or_else(|| {
        let message = "no file of word2vec: it starts with a line of two numbers, how many nodes \
                       and how many dimensions";
        Error::file(path, message)
    })?;
    let size = (dim as u64).checked_mul(4);
    let size = size.ok_or_else(|| Error::file(path, format!("vectors of {dim} dimensions")))?;
    let mut ids = Ids::default();
    let mut vectors = Vec::new();
    let mut bytes = Vec::new();
    for row in 0..nodes {
        let fail = |message: &str| Error::file(path, format!("vector {}: {message}", row + 1));
        bytes.clear();
        source.by_ref().take(LONGEST_ID).read_until(b' ', &mut bytes).map_err(broken)?;
        let id = match bytes.split_last() {
            Some((b' ', id)) => id,
            _ if (bytes.len() as u64) < LONGEST_ID => {
                return Err(fail(&format!("the file ends before it, and promises {nodes}")));
            }
            _ => return Err(fail("no blank after its id; is this a file of word2vec?")),
        };
        let id = std::str::from_utf8(id).map_err(|_| fail("its id is not UTF-8"))?;
        let id = id.trim_start_matches('\n');
        if id.is_empty() {
            return Err(fail("its id is empty"));
        }
        ids.push(id)
            .map_err(|first| fail(&format!("node '{id}' again, as vector {}", first + 1)))?;
        bytes.clear();
        source.by_ref().take(size).read_to_end(&mut bytes).map_err(broken)?;
        if (bytes.len() as u64) < size {
            return Err(fail("the file ends in the middle of it; fetch or write it again"));
        }
        vectors.extend(bytes.as_chunks().0.iter().map(|&float| f32::from_le_bytes(float)));
    }
    let mut rest = Vec::new();
    source.take(2).read_to_end(&mut rest).map_err(broken)?;
    if !rest.is_empty() && rest != b"\n" {
        let message = format!("more follows after the {nodes} vectors that its first line says");
        return Err(Error::file(path, message));
    }
    Embedding::from_file(path, ids.finish(), dim, vectors)
}
