//! Edges in Arrow IPC: files, `.arrow` and `.feather` (version 2), and streams.
//!
//! A file is `ARROW1`, two zeros, messages, and a footer with the schema and the position of each
//! message. What else is between them is not read: polars writes no valid stream there. Columns are
//! chosen as in other tables.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use ::parquet::basic::{Compression, ZstdLevel};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, StreamDecoder, read_footer_length};
use arrow_ipc::{Block, CompressionType, MessageHeader, root_as_footer, root_as_message};
use arrow_schema::{DataType, Schema, SchemaRef};

use super::super::Origin;
use super::attributes::without;
use super::columns::{Columns, Kind, Table};
use super::ids::EdgeCollector;
use super::{EdgeFile, ReadOptions};
use crate::error::{Error, Result};
use crate::file::parquet::has_size;
use crate::file::{Id, caught, read_all};

/// Reads the edges of a file or stream.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<EdgeFile> {
    without(path, options, &["header", "sep"])?;
    // The library panics on some broken files.
    caught(|| read_edges(path, options))
        .unwrap_or_else(|| Err(broken(path, "a message cannot be decoded")))
}

/// The error for a file that the Arrow library cannot decode.
fn broken(path: &Path, error: impl std::fmt::Display) -> Error {
    let reason = format!("{error}; the file is truncated or not Arrow: download or write it again");
    Error::unreadable(path, reason)
}

fn read_edges(path: &Path, options: &ReadOptions) -> Result<EdgeFile> {
    let bytes = Buffer::from_vec(read_all(path)?);
    let size = bytes.len() as u64;
    let mut source = Source::of(bytes).map_err(|error| broken(path, error))?;
    let mut edges = EdgeCollector::with_node_file(options.nodes.as_deref())?;
    let mut chosen = None;
    let mut weights = None;
    let mut row = 0;
    while let Some(batches) = source.next().map_err(|error| broken(path, error))? {
        if chosen.is_none()
            && let Some(schema) = source.schema()
        {
            let choice = table(&schema).choose(options);
            let choice = choice.map_err(|problem| Error::file(path, problem))?;
            check(&schema, &choice.columns).map_err(|message| Error::file(path, message))?;
            weights = choice.columns.weight.map(|_| Vec::new());
            chosen = Some(choice);
        }
        let Some(choice) = &chosen else { continue };
        for batch in batches {
            add(&batch, row, choice.columns, &mut edges, weights.as_mut())
                .map_err(|message| Error::file(path, message))?;
            row += batch.num_rows();
        }
    }
    let Some(choice) = chosen else {
        return Err(Error::file(path, "no edges found"));
    };
    let origin = Origin { format: Some("Arrow"), columns: choice.used, ..Origin::default() };
    Ok(EdgeFile { origin, notes: choice.notes, ..edges.finish(weights, 2 * size) })
}

/// The messages of a stream or file, each with its body. What their headers claim is checked before
/// they are decoded, because the decoder allocates for it.
enum Source {
    Stream {
        rest: Buffer,
        decoder: StreamDecoder,
    },
    /// A file has a footer with the schema and the positions of the messages; what is between
    /// them is not read.
    File {
        bytes: Buffer,
        blocks: VecDeque<(MessageHeader, Block)>,
        schema: SchemaRef,
        decoder: FileDecoder,
    },
}

impl Source {
    fn of(bytes: Buffer) -> Result<Self, String> {
        const MAGIC: &[u8] = b"ARROW1";
        if !bytes.starts_with(MAGIC) {
            return Ok(Self::Stream { rest: bytes, decoder: StreamDecoder::new() });
        }
        // The magic is also at the end, after the length of the footer.
        let missing = || "the footer is missing".to_owned();
        let (before, end) = bytes.split_last_chunk::<10>().ok_or_else(missing)?;
        let length = read_footer_length(*end).map_err(|_| missing())?;
        let start = before.len().checked_sub(length).ok_or_else(missing)?;
        let footer = root_as_footer(&before[start..]).map_err(|error| error.to_string())?;
        let schema = footer.schema().ok_or("the footer has no schema")?;
        let schema = Arc::new(try_fb_to_schema(schema).map_err(|error| error.to_string())?);
        let decoder = FileDecoder::new(Arc::clone(&schema), footer.version());
        let dictionaries = footer.dictionaries().into_iter().flatten();
        let batches = footer.recordBatches().into_iter().flatten();
        let blocks = dictionaries
            .map(|block| (MessageHeader::DictionaryBatch, *block))
            .chain(batches.map(|block| (MessageHeader::RecordBatch, *block)))
            .collect();
        Ok(Self::File { bytes, blocks, schema, decoder })
    }

    /// The schema, once it has been read.
    fn schema(&self) -> Option<SchemaRef> {
        match self {
            Self::Stream { decoder, .. } => decoder.schema(),
            Self::File { schema, .. } => Some(Arc::clone(schema)),
        }
    }

    /// The rows of the next message; none if it has something else.
    fn next(&mut self) -> Result<Option<Vec<RecordBatch>>, String> {
        match self {
            Self::Stream { rest, decoder } => {
                let Some(end) = message_end(rest)? else { return Ok(None) };
                let mut message = rest.slice_with_length(0, end);
                rest.advance(end);
                // A message without a body is decoded only with the next one.
                let mut batches = Vec::new();
                while !message.is_empty() {
                    batches
                        .extend(decoder.decode(&mut message).map_err(|error| error.to_string())?);
                }
                Ok(Some(batches))
            }
            Self::File { bytes, blocks, decoder, .. } => {
                let Some((kind, block)) = blocks.pop_front() else { return Ok(None) };
                let outside = || "the footer names a message outside of the file".to_owned();
                let start = usize::try_from(block.offset()).map_err(|_| outside())?;
                let rest = bytes.get(start..).ok_or_else(outside)?;
                let end = message_end(rest)?.ok_or_else(outside)?;
                let claimed = i64::from(block.metaDataLength()).checked_add(block.bodyLength());
                if claimed.and_then(|length| usize::try_from(length).ok()) != Some(end) {
                    return Err("the footer and a message differ in its length".to_owned());
                }
                let message = bytes.slice_with_length(start, end);
                let batch = if kind == MessageHeader::DictionaryBatch {
                    decoder.read_dictionary(&block, &message).map(|()| None)
                } else {
                    decoder.read_record_batch(&block, &message)
                };
                Ok(Some(batch.map_err(|error| error.to_string())?.into_iter().collect()))
            }
        }
    }
}

/// The length of the first message with its body, after checking what its header claims.
fn message_end(bytes: &[u8]) -> Result<Option<usize>, String> {
    const CONTINUATION: [u8; 4] = [0xff; 4];
    let truncated = || "the stream ends in the middle of a message".to_owned();
    // Before version 0.15, there was no continuation mark.
    let prefix = if bytes.starts_with(&CONTINUATION) { 8 } else { 4 };
    if bytes.is_empty() {
        return Ok(None);
    }
    let length = bytes.get(prefix - 4..prefix).ok_or_else(truncated)?;
    let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
    if length == 0 {
        return Ok(None);
    }
    let header = bytes.get(prefix..prefix + length).ok_or_else(truncated)?;
    let message = root_as_message(header).map_err(|error| error.to_string())?;
    let body = usize::try_from(message.bodyLength()).map_err(|_| truncated())?;
    let end = (prefix + length).checked_add(body).filter(|&end| end <= bytes.len());
    let end = end.ok_or_else(truncated)?;
    let body = &bytes[prefix + length..end];
    let batch = match message.header_type() {
        MessageHeader::RecordBatch => message.header_as_record_batch(),
        MessageHeader::DictionaryBatch => {
            message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data())
        }
        _ => None,
    };
    if let Some(batch) = batch {
        let mut buffers = Vec::new();
        for buffer in batch.buffers().iter().flatten() {
            let range = usize::try_from(buffer.offset())
                .ok()
                .zip(usize::try_from(buffer.length()).ok())
                .and_then(|(start, length)| Some(start..start.checked_add(length)?));
            buffers.push(range.and_then(|range| body.get(range)).ok_or_else(truncated)?);
        }
        if let Some(compression) = batch.compression() {
            check_sizes(&buffers, compression.codec())?;
        }
    }
    Ok(Some(end))
}

/// Checks the sizes that the compressed buffers of a message claim to have.
fn check_sizes(buffers: &[&[u8]], codec: CompressionType) -> Result<(), String> {
    /// Buffers of this size together are not decompressed to see whether they have it.
    const SMALL: u64 = 32 << 20;
    let codec = match codec {
        CompressionType::ZSTD => Compression::ZSTD(ZstdLevel::default()),
        _ => Compression::LZ4,
    };
    // A claim of −1 stands for data that is not compressed.
    let claims = buffers.iter().filter_map(|bytes| {
        let (claim, data) = bytes.split_first_chunk::<8>()?;
        Some((u64::try_from(i64::from_le_bytes(*claim)).unwrap_or(0), data))
    });
    if claims.clone().fold(0, |sum: u64, (claim, _)| sum.saturating_add(claim)) <= SMALL {
        return Ok(());
    }
    for (claim, data) in claims {
        if claim > 0 && !usize::try_from(claim).is_ok_and(|claim| has_size(codec, data, claim)) {
            return Err(format!("a buffer of {} bytes does not hold {claim}", data.len()));
        }
    }
    Ok(())
}

fn table(schema: &Schema) -> Table {
    let names = schema.fields().iter().map(|field| field.name().clone()).collect();
    let kind = |kind: &DataType| match kind {
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => Kind::Time,
        kind if is_integer(kind) || is_float(kind) => Kind::Number,
        _ => Kind::Text,
    };
    let kinds = schema.fields().iter().map(|field| kind(field.data_type())).collect();
    Table { names: Some(names), kinds }
}

fn is_integer(kind: &DataType) -> bool {
    kind.is_integer()
}

fn is_float(kind: &DataType) -> bool {
    matches!(kind, DataType::Float32 | DataType::Float64)
}

fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// Checks the types of the chosen columns.
fn check(schema: &Schema, columns: &Columns) -> Result<(), String> {
    let wrong = |at: usize, expected: &str| {
        let field = schema.field(at);
        let (name, kind) = (field.name(), field.data_type());
        Err(format!("column '{name}' is stored as {kind}; expected {expected}: convert it"))
    };
    for at in [columns.source, columns.target] {
        let kind = match schema.field(at).data_type() {
            DataType::Dictionary(_, values) => values,
            kind => kind,
        };
        if !is_integer(kind) && !is_text(kind) {
            return wrong(at, "integers or text");
        }
    }
    match columns.weight {
        Some(at) => {
            let kind = schema.field(at).data_type();
            if is_integer(kind) || is_float(kind) {
                Ok(())
            } else {
                wrong(at, "floats or integers")
            }
        }
        None => Ok(()),
    }
}

/// Adds the edges of a batch, which `before` rows precede.
fn add(
    batch: &RecordBatch,
    before: usize,
    columns: Columns,
    edges: &mut EdgeCollector,
    mut weights: Option<&mut Vec<f32>>,
) -> Result<(), String> {
    let fail = |at: usize, row: usize, problem: &str| {
        let schema = batch.schema();
        let name = schema.field(at).name().clone();
        format!("column '{name}', row {}: {problem}", before + row + 1)
    };
    let column = |at: usize| batch.column(at).as_ref();
    let expected = "node ids must be integers ≥ 0 or non-empty text; drop or fill such rows";
    for row in 0..batch.num_rows() {
        let end = |at: usize| id(column(at), row).ok_or_else(|| fail(at, row, expected));
        edges.push(end(columns.source)?, end(columns.target)?);
        if let (Some(weights), Some(at)) = (&mut weights, columns.weight) {
            let weight = number(column(at), row);
            weights.push(weight.ok_or_else(|| fail(at, row, "no weight; drop or fill such rows"))?);
        }
    }
    Ok(())
}

/// The node id in a row; none if it is null or cannot be one.
fn id(column: &dyn Array, row: usize) -> Option<Id<'_>> {
    if column.is_null(row) {
        return None;
    }
    let text = match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(row),
        DataType::LargeUtf8 => column.as_string::<i64>().value(row),
        DataType::Utf8View => column.as_string_view().value(row),
        DataType::Dictionary(..) => {
            let dictionary = column.as_any_dictionary();
            let Id::Integer(key) = id(dictionary.keys(), row)? else { return None };
            let values = dictionary.values().as_ref();
            let key = usize::try_from(key).ok().filter(|&key| key < values.len())?;
            // Dictionaries in dictionaries were refused.
            return id(values, key);
        }
        _ => return integer(column, row).map(Id::Integer),
    };
    (!text.is_empty()).then_some(Id::Text(text))
}

fn integer(column: &dyn Array, row: usize) -> Option<u64> {
    match column.data_type() {
        DataType::Int8 => column.as_primitive::<Int8Type>().value(row).try_into().ok(),
        DataType::Int16 => column.as_primitive::<Int16Type>().value(row).try_into().ok(),
        DataType::Int32 => column.as_primitive::<Int32Type>().value(row).try_into().ok(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).try_into().ok(),
        DataType::UInt8 => Some(column.as_primitive::<UInt8Type>().value(row).into()),
        DataType::UInt16 => Some(column.as_primitive::<UInt16Type>().value(row).into()),
        DataType::UInt32 => Some(column.as_primitive::<UInt32Type>().value(row).into()),
        DataType::UInt64 => Some(column.as_primitive::<UInt64Type>().value(row)),
        _ => None,
    }
}

/// The number in a row; NaN where an integer is negative, which is no weight.
fn number(column: &dyn Array, row: usize) -> Option<f32> {
    if column.is_null(row) {
        return None;
    }
    Some(match column.data_type() {
        DataType::Float32 => column.as_primitive::<Float32Type>().value(row),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row) as f32,
        _ => integer(column, row).map_or(f32::NAN, |value| value as f32),
    })
}
