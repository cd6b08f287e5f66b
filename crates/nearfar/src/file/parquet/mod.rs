//! Columns of Parquet files, read batch by batch in the type that they are stored in.

mod checked;
mod thrift;

use std::path::Path;

use ::parquet::basic::{ConvertedType, Type};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::RowGroupReader;
use ::parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use super::Id;
use super::lines::narrow;
use crate::error::Error;

pub(crate) use checked::{CheckedFile, column_reader, has_size};

/// Rows that a column reads at a time.
const BATCH: usize = 1 << 16;

/// The error for a file that the Parquet library cannot decode.
pub(crate) fn broken(path: &Path, error: impl std::fmt::Display) -> Error {
    let reason =
        format!("{error}; the file is truncated or not Parquet: download or write it again");
    Error::unreadable(path, reason)
}

/// Whether values stored in this type can be node ids.
pub(crate) fn is_id(stored: Type) -> bool {
    matches!(stored, Type::INT32 | Type::INT64 | Type::BYTE_ARRAY)
}

/// Whether a column has one value per row, and its values mean what they are stored as: no dates,
/// no decimals.
pub(crate) fn is_plain(column: &ColumnDescriptor) -> bool {
    use ConvertedType as T;
    let meaning = column.converted_type();
    column.max_rep_level() == 0
        && (matches!(
            meaning,
            T::NONE | T::UTF8 | T::ENUM | T::INT_8 | T::INT_16 | T::INT_32 | T::INT_64
        ) || is_unsigned(column))
}

fn is_unsigned(column: &ColumnDescriptor) -> bool {
    use ConvertedType as T;
    matches!(column.converted_type(), T::UINT_8 | T::UINT_16 | T::UINT_32 | T::UINT_64)
}

/// A column of one row group.
pub(crate) struct Column {
    name: String,
    unsigned: bool,
    /// The definition level of a value that is not null.
    present: i16,
    values: Values,
}

enum Values {
    Int32(Typed<Int32Type>),
    Int64(Typed<Int64Type>),
    Float(Typed<FloatType>),
    Double(Typed<DoubleType>),
    Text(Typed<ByteArrayType>),
}

struct Typed<T: DataType> {
    reader: ColumnReaderImpl<T>,
    levels: Vec<i16>,
    values: Vec<T::T>,
}

impl Column {
    pub(crate) fn open(
        file: &CheckedFile,
        group: &dyn RowGroupReader,
        schema: &SchemaDescriptor,
        at: usize,
    ) -> Result<Self, ParquetError> {
        let column = schema.column(at);
        let values = match column_reader(file, group, schema, at)? {
            ColumnReader::Int32ColumnReader(reader) => Values::Int32(Typed::new(reader)),
            ColumnReader::Int64ColumnReader(reader) => Values::Int64(Typed::new(reader)),
            ColumnReader::FloatColumnReader(reader) => Values::Float(Typed::new(reader)),
            ColumnReader::DoubleColumnReader(reader) => Values::Double(Typed::new(reader)),
            ColumnReader::ByteArrayColumnReader(reader) => Values::Text(Typed::new(reader)),
            _ => return Err(ParquetError::General("a column changes its type".to_owned())),
        };
        let (name, unsigned) = (column.name().to_owned(), is_unsigned(&column));
        Ok(Self { name, unsigned, present: column.max_def_level(), values })
    }

    /// Reads the next rows, after `before` earlier ones of the file; returns their number. The
    /// outer error is the library's, the inner one is about the content.
    pub(crate) fn next_batch(
        &mut self,
        before: usize,
    ) -> Result<Result<usize, String>, ParquetError> {
        let (rows, null) = match &mut self.values {
            Values::Int32(values) => values.next_batch(self.present)?,
            Values::Int64(values) => values.next_batch(self.present)?,
            Values::Float(values) => values.next_batch(self.present)?,
            Values::Double(values) => values.next_batch(self.present)?,
            Values::Text(values) => values.next_batch(self.present)?,
        };
        Ok(match null {
            None => Ok(rows),
            Some(at) => Err(format!(
                "column '{}' is null in row {}; drop or fill such rows",
                self.name,
                before + at + 1
            )),
        })
    }

    /// The id in row `at` of the batch, which `before` rows of the file precede.
    pub(crate) fn id(&self, at: usize, before: usize) -> Result<Id<'_>, String> {
        let id = match &self.values {
            Values::Int32(column) if self.unsigned => {
                Some(Id::Integer(column.values[at].cast_unsigned().into()))
            }
            Values::Int64(column) if self.unsigned => {
                Some(Id::Integer(column.values[at].cast_unsigned()))
            }
            Values::Int32(column) => column.values[at].try_into().ok().map(Id::Integer),
            Values::Int64(column) => column.values[at].try_into().ok().map(Id::Integer),
            Values::Text(column) => {
                let text = std::str::from_utf8(column.values[at].data()).ok();
                text.filter(|text| !text.is_empty()).map(Id::Text)
            }
            Values::Float(_) | Values::Double(_) => None,
        };
        id.ok_or_else(|| {
            format!(
                "column '{}', row {}: node ids must be integers ≥ 0 or non-empty UTF-8 text",
                self.name,
                before + at + 1
            )
        })
    }

    /// The weight in row `at` of the batch, which `before` rows of the file precede.
    pub(crate) fn weight(&self, at: usize, before: usize) -> Result<f32, String> {
        narrow(self.number(at)).map_err(|message| format!("row {}: {message}", before + at + 1))
    }

    /// The number in row `at` of the batch.
    pub(crate) fn number(&self, at: usize) -> f64 {
        match &self.values {
            Values::Int32(column) if self.unsigned => column.values[at].cast_unsigned().into(),
            Values::Int64(column) if self.unsigned => column.values[at].cast_unsigned() as f64,
            Values::Int32(column) => column.values[at].into(),
            Values::Int64(column) => column.values[at] as f64,
            Values::Float(column) => column.values[at].into(),
            Values::Double(column) => column.values[at],
            Values::Text(_) => f64::NAN,
        }
    }
}

impl<T: DataType> Typed<T> {
    fn new(reader: ColumnReaderImpl<T>) -> Self {
        Self { reader, levels: Vec::new(), values: Vec::new() }
    }

    /// Reads the next rows; returns their number and the position of the first null.
    fn next_batch(&mut self, present: i16) -> Result<(usize, Option<usize>), ParquetError> {
        self.levels.clear();
        self.values.clear();
        let levels = Some(&mut self.levels);
        let (rows, ..) = self.reader.read_records(BATCH, levels, None, &mut self.values)?;
        let null = self.levels.iter().position(|&level| level < present);
        if null.is_none() && self.values.len() != rows {
            return Err(ParquetError::EOF("fewer values than rows".to_owned()));
        }
        Ok((rows, null))
    }
}
