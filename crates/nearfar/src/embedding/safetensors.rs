//! Embeddings as Safetensors, `.safetensors`: named tensors after a JSON header.
//!
//! | tensor | type | shape | |
//! |---|---|---|---|
//! | `vectors` | F32 | nodes, dimensions | |
//! | `nodes` | U8 | bytes | the ids in UTF-8, each followed by a newline |
//! | `node_lengths` | I64 | nodes | the bytes of each id, without the newline |
//!
//! The lengths allow ids with newlines. Files without ids, as PyTorch writes them, get the ids 0, 1,
//! 2, …. If no tensor is called `vectors`, the only two-dimensional one is read. The metadata entry
//! `nearfar` is a JSON object of the settings that the vectors were made with.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use rayon::prelude::*;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use super::{Embedding, Ids, PROVENANCE};
use crate::error::{Error, Result};
use crate::file::npy::half;
use crate::file::safetensors::Tensor;
use crate::file::{self, FileSet, read_all};
use crate::graph::{Node, NodeIds};

pub(super) fn write(path: &Path, embedding: &Embedding) -> Result<FileSet> {
    let (nodes, dim) = (embedding.nodes(), embedding.dim());
    let ids = || (0..nodes as Node).map(|node| embedding.ids().get(node));
    let text_bytes = ids().map(|id| id.len() + 1).sum();
    let lengths = |out: &mut dyn Write| {
        ids().try_for_each(|id| out.write_all(&(id.len() as u64).to_le_bytes()))
    };
    let vectors = |mut out: &mut dyn Write| embedding.write_vectors(&mut out);
    let text = |out: &mut dyn Write| ids().try_for_each(|id| writeln!(out, "{id}"));
    let tensors = [
        Tensor { name: "node_lengths", dtype: Dtype::I64, shape: vec![nodes], write: &lengths },
        Tensor { name: "vectors", dtype: Dtype::F32, shape: vec![nodes, dim], write: &vectors },
        Tensor { name: "nodes", dtype: Dtype::U8, shape: vec![text_bytes], write: &text },
    ];
    file::safetensors::write(path, &metadata(embedding), &tensors)
}

pub(super) fn read(path: &Path) -> Result<Embedding> {
    let fail = |message: String| Error::file(path, message);
    let bytes = read_all(path)?;
    let tensors = SafeTensors::deserialize(&bytes).map_err(|error| {
        let reason = format!("{error}; the file is truncated or not safetensors: write it again");
        Error::unreadable(path, reason)
    })?;
    let (_, header) =
        SafeTensors::read_metadata(&bytes).map_err(|error| fail(error.to_string()))?;
    let provenance = header.metadata().as_ref().and_then(|it| it.get(PROVENANCE));
    let table = table(&tensors).map_err(fail)?;
    let (nodes, dim) = (table.shape()[0], table.shape()[1]);
    let names = match (tensors.tensor("nodes"), tensors.tensor("node_lengths")) {
        (Ok(text), Ok(lengths)) => names(&text, &lengths, nodes).map_err(fail)?,
        _ => NodeIds::Range { start: 0, len: nodes },
    };
    let embedding = Embedding::from_file(path, names, dim, floats(&table).map_err(fail)?)?;
    Ok(embedding.with_provenance_text(provenance.map(String::as_str)))
}

/// The record of how the vectors were made, if there is one.
fn metadata(embedding: &Embedding) -> BTreeMap<String, String> {
    let record = embedding.provenance_text().map(|text| (PROVENANCE.to_owned(), text));
    record.into_iter().collect()
}

fn table<'a>(tensors: &'a SafeTensors<'a>) -> Result<TensorView<'a>, String> {
    let is_table = |tensor: &TensorView| tensor.shape().len() == 2;
    if let Ok(table) = tensors.tensor("vectors") {
        return if is_table(&table) {
            Ok(table)
        } else {
            Err(format!("'vectors' has shape {:?}, expected nodes, dimensions", table.shape()))
        };
    }
    let mut tables = tensors.tensors();
    tables.retain(|(_, tensor)| is_table(tensor));
    match <[_; 1]>::try_from(tables) {
        Ok([(_, table)]) => Ok(table),
        Err(tables) => Err(format!(
            "no tensor 'vectors', and {} two-dimensional ones; name the one to read 'vectors'",
            tables.len()
        )),
    }
}

fn floats(tensor: &TensorView) -> Result<Vec<f32>, String> {
    let bytes = tensor.data();
    let halves = || bytes.as_chunks().0.par_iter().map(|&half| u16::from_le_bytes(half));
    Ok(match tensor.dtype() {
        Dtype::F32 => bytes.as_chunks().0.par_iter().map(|&f| f32::from_le_bytes(f)).collect(),
        Dtype::F64 => {
            bytes.as_chunks().0.par_iter().map(|&f| f64::from_le_bytes(f) as f32).collect()
        }
        Dtype::F16 => halves().map(half).collect(),
        // The upper half of a float.
        Dtype::BF16 => halves().map(|bits| f32::from_bits(u32::from(bits) << 16)).collect(),
        other => return Err(format!("vectors of {other:?}; expected F32, F64, F16 or BF16")),
    })
}

fn names(text: &TensorView, lengths: &TensorView, nodes: usize) -> Result<NodeIds, String> {
    if text.dtype() != Dtype::U8 || lengths.dtype() != Dtype::I64 || lengths.shape() != [nodes] {
        return Err(format!("invalid ids; expected U8 'nodes' and {nodes} I64 'node_lengths'"));
    }
    let mut ids = Ids::default();
    let mut rest = text.data();
    for (row, &length) in (1..).zip(lengths.data().as_chunks().0) {
        let length = usize::try_from(i64::from_le_bytes(length)).ok();
        let Some((id, after)) = length.and_then(|length| rest.split_at_checked(length)) else {
            return Err(format!(
                "the id of vector {row} ends beyond 'nodes'; write the file again"
            ));
        };
        rest = after.strip_prefix(b"\n").unwrap_or(after);
        let id = std::str::from_utf8(id).map_err(|_| format!("id {row} is not UTF-8"))?;
        ids.push(id)
            .map_err(|first| format!("duplicate node '{id}' in vectors {} and {row}", first + 1))?;
    }
    if !rest.is_empty() {
        return Err(format!(
            "'nodes' has {} bytes after the last id; write the file again",
            rest.len()
        ));
    }
    Ok(ids.finish())
}
