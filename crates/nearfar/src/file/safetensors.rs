//! Writing safetensors files: a header in JSON, then the tensors one after another.
//!
//! The crate `safetensors` reads these files. It cannot write them here: it takes every tensor as
//! one slice of bytes, which would copy tables that are stored as floats, in padded rows, or as
//! separate ids; its temporary files stay private to their owner; and it writes metadata in random
//! order, so that equal content would give unequal files.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use safetensors::Dtype;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{FileSet, write_whole};
use crate::error::Result;
use crate::memory::Mapped;

/// A tensor to be written.
pub(crate) struct Tensor<'a> {
    pub(crate) name: &'static str,
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<usize>,
    /// Writes the values, little-endian.
    pub(crate) write: &'a dyn Fn(&mut dyn Write) -> io::Result<()>,
}

/// Writes tensors in the given order. No tensor is held in memory. Put types
/// of larger values first, so that each tensor is aligned to the size of its values.
pub(crate) fn write(
    path: &Path,
    metadata: &BTreeMap<String, String>,
    tensors: &[Tensor<'_>],
) -> Result<FileSet> {
    FileSet::of(path, |out| write_tensors(out, &header(metadata, tensors)?, tensors))
}

/// [`write()`], whole or not at all, with a last tensor that holds the SHA-256 of all bytes before it.
pub(crate) fn write_sealed(
    path: &Path,
    metadata: &BTreeMap<String, String>,
    tensors: Vec<Tensor<'_>>,
) -> Result<()> {
    write_whole(path, |out| {
        let nothing = |_: &mut dyn Write| Ok(());
        let seal =
            Tensor { name: SEAL, dtype: Dtype::U8, shape: vec![SEAL_BYTES], write: &nothing };
        let mut tensors = tensors;
        tensors.push(seal);
        let header = header(metadata, &tensors)?;
        tensors.pop();
        let mut hashed = Hashed { out, hash: Sha256::new() };
        write_tensors(&mut hashed, &header, &tensors)?;
        let Hashed { out, hash } = hashed;
        out.write_all(&hash.finalize())
    })
}

/// Whether a file is as [`write_sealed`] wrote it, to the last bit.
pub(crate) fn is_sealed(file: &Mapped) -> bool {
    /// Bytes of the file that are in memory at a time.
    const PIECE: usize = 1 << 24;
    let Some((content, seal)) = file.split_last_chunk::<SEAL_BYTES>() else { return false };
    let mut hash = Sha256::new();
    for piece in content.chunks(PIECE) {
        hash.update(piece);
        file.release();
    }
    hash.finalize()[..] == seal[..]
}

/// The tensor that holds the checksum.
const SEAL: &str = "sha256";
const SEAL_BYTES: usize = 32;

fn write_tensors(out: &mut dyn Write, header: &str, tensors: &[Tensor<'_>]) -> io::Result<()> {
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    for tensor in tensors {
        let mut counted = Counted { out: &mut *out, bytes: 0 };
        (tensor.write)(&mut counted)?;
        if Some(counted.bytes) != bytes(tensor) {
            let Tensor { name, shape, .. } = tensor;
            let message = format!("tensor {name} {shape:?} is {} bytes", counted.bytes);
            return Err(io::Error::other(message));
        }
    }
    Ok(())
}

/// The header, padded to a multiple of 8 bytes.
fn header(metadata: &BTreeMap<String, String>, tensors: &[Tensor<'_>]) -> io::Result<String> {
    let mut header = Map::new();
    if !metadata.is_empty() {
        header.insert("__metadata__".to_owned(), json!(metadata));
    }
    let mut end = 0_usize;
    for tensor in tensors {
        let start = end;
        end = bytes(tensor)
            .and_then(|bytes| start.checked_add(bytes))
            .ok_or_else(|| io::Error::other(format!("tensor {} is too large", tensor.name)))?;
        let about = json!({
            "dtype": tensor.dtype,
            "shape": tensor.shape,
            "data_offsets": [start, end],
        });
        header.insert(tensor.name.to_owned(), about);
    }
    let mut header = Value::Object(header).to_string();
    while !header.len().is_multiple_of(8) {
        header.push(' ');
    }
    Ok(header)
}

/// The size of a tensor; `None` if it overflows.
fn bytes(tensor: &Tensor<'_>) -> Option<usize> {
    let value = tensor.dtype.bitsize() / 8;
    tensor.shape.iter().try_fold(value, |bytes, &len| bytes.checked_mul(len))
}

/// Counts the bytes that pass through.
struct Counted<W> {
    out: W,
    bytes: usize,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.out.write(buffer)?;
        self.bytes += written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Hashes the bytes that pass through.
struct Hashed<W> {
    out: W,
    hash: Sha256,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.out.write(buffer)?;
        self.hash.update(&buffer[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use safetensors::SafeTensors;

    use super::super::npy::write_floats;
    use super::*;

    fn metadata() -> BTreeMap<String, String> {
        [("epoch", "7"), ("settings", "{\"a\": \"é\"}\n")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into()
    }

    #[test]
    fn files_read_back_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.safetensors");
        // Rows of a padded table: not contiguous.
        let padded = [[1.0_f32, 2.0, 0.0, 0.0], [3.0, 4.0, 0.0, 0.0]];
        let rows = |mut out: &mut dyn Write| {
            padded.iter().try_for_each(|row| write_floats(&mut out, &row[..2]))
        };
        let text = |out: &mut dyn Write| out.write_all(b"abc");
        let tensors = [
            Tensor { name: "table", dtype: Dtype::F32, shape: vec![2, 2], write: &rows },
            Tensor { name: "text", dtype: Dtype::U8, shape: vec![3], write: &text },
        ];
        write(&path, &metadata(), &tensors).unwrap().commit().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
        let read: BTreeMap<_, _> = header.metadata().clone().unwrap().into_iter().collect();
        assert_eq!(read, metadata());
        let read = SafeTensors::deserialize(&bytes).unwrap();
        let table = read.tensor("table").unwrap();
        assert_eq!((table.dtype(), table.shape()), (Dtype::F32, &[2, 2][..]));
        let floats = table.data().as_chunks().0.iter().map(|&float| f32::from_le_bytes(float));
        assert_eq!(floats.collect::<Vec<_>>(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(read.tensor("text").unwrap().data(), b"abc");
        write(&path, &metadata(), &tensors).unwrap().commit().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "the same bytes every time");
        write(&path, &BTreeMap::new(), &tensors[1..]).unwrap().commit().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert!(SafeTensors::read_metadata(&bytes).unwrap().1.metadata().is_none());
    }

    #[test]
    fn a_tensor_of_another_size_than_its_shape_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.safetensors");
        let three = |out: &mut dyn Write| out.write_all(b"abc");
        for shape in [vec![2], vec![4], vec![usize::MAX, 2]] {
            let tensors = [Tensor { name: "text", dtype: Dtype::U8, shape, write: &three }];
            assert!(write(&path, &BTreeMap::new(), &tensors).is_err());
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
