//! Edges in Parquet files, `.parquet`: a column of sources, a column of targets, and perhaps one
//! of weights.
//!
//! The file is read in batches of rows, each column as the type it is stored in. Ids are integers
//! or texts, even in one file: 7 and "7" are the same node.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use ::parquet::basic::{ConvertedType, Type};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use ::parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use super::super::EdgeList;
use super::ids::{Id, Ids};
use super::open_seekable;
use crate::error::{Error, Result};

const BATCH: usize = 1 << 16;
const ENDS: [(&str, &str); 3] = [("source", "target"), ("src", "dst"), ("from", "to")];

/// Reads the edges of a file.
pub(super) fn read(path: &Path, nodes: Option<&Path>) -> Result<EdgeList> {
    // The library panics on some broken files, such as one that lost its dictionary page. Nothing
    // outlives a failed read, so there is no half-changed state to see.
    catch_unwind(AssertUnwindSafe(|| read_edges(path, nodes)))
        .unwrap_or_else(|_| Err(broken(path, "a page that cannot be decoded")))
}

pub(crate) fn broken(path: &Path, error: impl std::fmt::Display) -> Error {
    let reason = format!("{error}; the file is cut off or no Parquet: fetch or write it again");
    Error::Read { path: path.to_owned(), reason }
}

fn read_edges(path: &Path, nodes: Option<&Path>) -> Result<EdgeList> {
    let fail = |message: String| Error::file(path, message);
    let broken = |error: ParquetError| broken(path, error);
    let file = SerializedFileReader::new(open_seekable(path)?).map_err(broken)?;
    let schema = file.metadata().file_metadata().schema_descr();
    let chosen = choose(schema).map_err(fail)?;
    let mut ids = Ids::with_node_file(nodes)?;
    let mut weights = (chosen.len() == 3).then(Vec::new);
    let mut row = 0;
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group).map_err(broken)?;
        let open = |&at: &usize| Column::open(&*group, schema, at).map_err(broken);
        let mut columns = chosen.iter().map(open).collect::<Result<Vec<_>>>()?;
        loop {
            let mut rows = Vec::new();
            for column in &mut columns {
                rows.push(column.next_batch(row).map_err(broken)?.map_err(fail)?);
            }
            if rows.iter().any(|&other| other != rows[0]) {
                return Err(fail("its columns differ in length; write the file again".to_owned()));
            }
            if rows[0] == 0 {
                break;
            }
            for at in 0..rows[0] {
                let id = |column: usize| columns[column].id(at, row).map_err(fail);
                ids.push(id(0)?, id(1)?);
                if let Some(weights) = &mut weights {
                    weights.push(columns[2].number(at));
                }
            }
            row += rows[0];
        }
    }
    Ok(ids.finish(weights))
}

/// The places of the columns of sources, targets and, if there is one, weights.
fn choose(schema: &SchemaDescriptor) -> Result<Vec<usize>, String> {
    let columns = schema.columns();
    let find = |name: &str| {
        columns.iter().position(|column| column.path().string().eq_ignore_ascii_case(name))
    };
    let ends = ENDS.iter().find_map(|(source, target)| Some([find(source)?, find(target)?]));
    let Some(ends) = ends else {
        let ids: Vec<String> = columns.iter().map(|column| column.path().string()).collect();
        return Err(format!(
            "no columns 'source' and 'target' (or src and dst, from and to); it has: {}",
            ids.join(", ")
        ));
    };
    let weight = find("weight");
    for at in ends {
        check(&columns[at], is_id, "ids are integers or texts")?;
    }
    if let Some(at) = weight {
        let is_weight =
            |kind| matches!(kind, Type::FLOAT | Type::DOUBLE | Type::INT32 | Type::INT64);
        check(&columns[at], is_weight, "weights are floats or integers")?;
    }
    Ok(ends.into_iter().chain(weight).collect())
}

fn check(
    column: &ColumnDescriptor,
    fits: impl Fn(Type) -> bool,
    expected: &str,
) -> Result<(), String> {
    let (stored, meant) = (column.physical_type(), column.converted_type());
    if is_plain(column) && fits(stored) {
        return Ok(());
    }
    let meant = if meant == ConvertedType::NONE { String::new() } else { format!(" ({meant})") };
    let name = column.name();
    Err(format!("column '{name}' is stored as {stored}{meant}; {expected}: convert it"))
}

/// Whether the values of this type can be ids.
pub(crate) fn is_id(stored: Type) -> bool {
    matches!(stored, Type::INT32 | Type::INT64 | Type::BYTE_ARRAY)
}

/// Whether a column holds one value a row, which means what it is stored as: no date, no decimal.
pub(crate) fn is_plain(column: &ColumnDescriptor) -> bool {
    use ConvertedType as T;
    let meant = column.converted_type();
    column.max_rep_level() == 0
        && (matches!(
            meant,
            T::NONE | T::UTF8 | T::ENUM | T::INT_8 | T::INT_16 | T::INT_32 | T::INT_64
        ) || is_unsigned(column))
}

fn is_unsigned(column: &ColumnDescriptor) -> bool {
    use ConvertedType as T;
    matches!(column.converted_type(), T::UINT_8 | T::UINT_16 | T::UINT_32 | T::UINT_64)
}

/// A column of one row group, read batch by batch.
pub(crate) struct Column {
    name: String,
    unsigned: bool,
    /// The level at which a value is there, and is not null.
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
        group: &dyn RowGroupReader,
        schema: &SchemaDescriptor,
        at: usize,
    ) -> Result<Self, ParquetError> {
        let column = schema.column(at);
        let values = match group.get_column_reader(at)? {
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

    /// Reads the next rows, of which `before` were read already; returns how many there are.
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
                "column '{}' is null in row {}; drop such rows or fill them",
                self.name,
                before + at + 1
            )),
        })
    }

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
                "column '{}' in row {}: ids are integers ≥ 0, or texts in UTF-8 that are not empty",
                self.name,
                before + at + 1
            )
        })
    }

    pub(crate) fn number(&self, at: usize) -> f32 {
        match &self.values {
            Values::Int32(column) if self.unsigned => column.values[at].cast_unsigned() as f32,
            Values::Int64(column) if self.unsigned => column.values[at].cast_unsigned() as f32,
            Values::Int32(column) => column.values[at] as f32,
            Values::Int64(column) => column.values[at] as f32,
            Values::Float(column) => column.values[at],
            Values::Double(column) => column.values[at] as f32,
            Values::Text(_) => f32::NAN,
        }
    }
}

impl<T: DataType> Typed<T> {
    fn new(reader: ColumnReaderImpl<T>) -> Self {
        Self { reader, levels: Vec::new(), values: Vec::new() }
    }

    /// Reads the next rows; returns how many there are and where the first null is.
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
