//! Writing vectors to Parquet.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;

use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::data_type::{ByteArray, ByteArrayType, FloatType};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use ::parquet::schema::types::ColumnPath;

use super::super::{Embedding, PROVENANCE};
use crate::error::Result;
use crate::file::FileSet;
use crate::graph::Node;

const SCHEMA: &str = "message nearfar {
    required binary node (UTF8);
    required group vector (LIST) { repeated group list { required float element; } }
}";
/// Numbers in a row group: 64 MB of them.
const GROUP: usize = 1 << 24;
/// Numbers that are handed over at a time.
const BATCH: usize = 1 << 12;

pub(in super::super) fn write(path: &Path, embedding: &Embedding) -> Result<FileSet> {
    FileSet::of(path, |out| write_rows(out, embedding).map_err(io::Error::other))
}

fn write_rows(out: &mut BufWriter<&File>, embedding: &Embedding) -> Result<(), ParquetError> {
    // The digits of floats are as good as random: neither a dictionary nor packing makes them less.
    let vector = || ColumnPath::new(["vector", "list", "element"].map(str::to_owned).to_vec());
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_column_compression(vector(), Compression::UNCOMPRESSED)
        .set_column_dictionary_enabled(vector(), false)
        .set_column_statistics_enabled(vector(), EnabledStatistics::None);
    let record = embedding.provenance_text();
    let record = record.map(|text| vec![KeyValue::new(PROVENANCE.to_owned(), text)]);
    let properties = properties.set_key_value_metadata(record);
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let mut file = SerializedFileWriter::new(out, schema, Arc::new(properties.build()))?;
    let dim = embedding.dim();
    let missing = || ParquetError::General("a column of the schema is missing".to_owned());
    // Each number is there; the first of each row starts a new list.
    let rows = (BATCH / dim).max(1);
    let present = vec![1; rows * dim];
    let repeats: Vec<i16> = (0..rows * dim).map(|at| i16::from(at % dim > 0)).collect();
    let per_group = (GROUP / dim).max(1);
    for (at, vectors) in embedding.vectors().chunks(per_group * dim).enumerate() {
        let first = (at * per_group) as Node;
        let nodes = first..first + (vectors.len() / dim) as Node;
        let name = |node| ByteArray::from(embedding.ids().get(node).into_owned().into_bytes());
        let ids: Vec<ByteArray> = nodes.map(name).collect();
        let mut group = file.next_row_group()?;
        let mut column = group.next_column()?.ok_or_else(missing)?;
        column.typed::<ByteArrayType>().write_batch(&ids, None, None)?;
        column.close()?;
        let mut column = group.next_column()?.ok_or_else(missing)?;
        for values in vectors.chunks(rows * dim) {
            let (present, repeats) = (&present[..values.len()], &repeats[..values.len()]);
            column.typed::<FloatType>().write_batch(values, Some(present), Some(repeats))?;
        }
        column.close()?;
        group.close()?;
        embedding.release();
    }
    file.close().map(drop)
}
