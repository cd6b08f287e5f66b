//! Reading the binary format of word2vec, `.bin`.
//!
//! A line `nodes dimensions`; then for each node its id, a space and its little-endian floats. The
//! original program writes a newline after each vector, gensim does not.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::{Embedding, Ids, text};
use crate::error::{Error, Result};
use crate::file::{open, read_error};

/// Longest id in bytes; longer ones mean that the file has another format.
const MAX_ID: u64 = 1 << 16;

pub(super) fn read(path: &Path) -> Result<Embedding> {
    let mut source = BufReader::new(open(path)?);
    let broken = |e: io::Error| read_error(path, e);
    let mut line = Vec::new();
    source.by_ref().take(64).read_until(b'\n', &mut line).map_err(broken)?;
    let sizes = std::str::from_utf8(&line).ok().filter(|line| line.ends_with('\n'));
    let (nodes, dim) = sizes.and_then(text::sizes).ok_or_else(|| {
        let message = "not in word2vec format; expected a first line with the number of nodes and \
                       of dimensions";
        Error::file(path, message)
    })?;
    let size = (dim as u64).checked_mul(4);
    let size = size.ok_or_else(|| Error::file(path, format!("{dim} dimensions are too many")))?;
    let mut ids = Ids::default();
    let mut vectors = Vec::new();
    let mut bytes = Vec::new();
    for row in 0..nodes {
        let fail = |message: &str| Error::file(path, format!("vector {}: {message}", row + 1));
        bytes.clear();
        source.by_ref().take(MAX_ID).read_until(b' ', &mut bytes).map_err(broken)?;
        let id = match bytes.split_last() {
            Some((b' ', id)) => id,
            _ if (bytes.len() as u64) < MAX_ID => {
                return Err(fail(&format!(
                    "the file ends before it; its first line says {nodes} vectors"
                )));
            }
            _ => return Err(fail("no space after the id; expected word2vec format")),
        };
        let id = std::str::from_utf8(id).map_err(|_| fail("the id is not UTF-8"))?;
        let id = id.trim_start_matches('\n');
        if id.is_empty() {
            return Err(fail("the id is empty"));
        }
        ids.push(id).map_err(|first| {
            fail(&format!("duplicate node '{id}', first in vector {}", first + 1))
        })?;
        bytes.clear();
        source.by_ref().take(size).read_to_end(&mut bytes).map_err(broken)?;
        if (bytes.len() as u64) < size {
            return Err(fail("the file is truncated; download or write it again"));
        }
        vectors.extend(bytes.as_chunks().0.iter().map(|&float| f32::from_le_bytes(float)));
    }
    let mut rest = Vec::new();
    source.take(2).read_to_end(&mut rest).map_err(broken)?;
    if !rest.is_empty() && rest != b"\n" {
        let message = format!("data after the {nodes} vectors announced in the first line");
        return Err(Error::file(path, message));
    }
    Embedding::from_file(path, ids.finish(), dim, vectors)
}
