//! Edges in Parquet files, `.parquet`: a column of sources, a column of targets, and optionally one
//! of weights, chosen like those of a table of text.
//!
//! The file is read in batches of rows, each column in the type it is stored in. Ids are integers
//! or text, even within one file: 7 and "7" are the same node.

use std::path::Path;

use ::parquet::basic::{ConvertedType, Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use super::columns::{Choice, Columns, Kind, Table};
use super::dialect::are_times;
use super::ids::EdgeCollector;
use super::{EdgeFile, ReadOptions};
use crate::error::{Error, Result};
use crate::file::parquet::{CheckedFile, Column, broken, is_id, is_plain};
use crate::file::{Id, caught};

/// Batches, pages and dictionaries of three columns, in bytes, and what a row takes of them at most.
const BUFFERS: u64 = 16 << 20;
const ROW: u64 = 256;

/// Reads the edges of a file.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<EdgeFile> {
    // The library panics on some broken files, such as one without its dictionary page.
    caught(|| read_edges(path, options))
        .unwrap_or_else(|| Err(broken(path, "a page cannot be decoded")))
}

fn read_edges(path: &Path, options: &ReadOptions) -> Result<EdgeFile> {
    let fail = |message: String| Error::file(path, message);
    let broken = |error: ParquetError| broken(path, error);
    let checked = CheckedFile::open(path)?;
    let file = SerializedFileReader::new(checked.clone()).map_err(broken)?;
    let schema = file.metadata().file_metadata().schema_descr();
    let choice = choose(path, &checked, &file, options)?;
    let Columns { source, target, weight, .. } = choice.columns;
    let chosen: Vec<usize> = [source, target].into_iter().chain(weight).collect();
    let mut edges = EdgeCollector::with_node_file(options.nodes.as_deref())?;
    let mut weights = (chosen.len() == 3).then(Vec::new);
    let mut row = 0;
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group).map_err(broken)?;
        let open = |&at: &usize| Column::open(&checked, &*group, schema, at).map_err(broken);
        let mut columns = chosen.iter().map(open).collect::<Result<Vec<_>>>()?;
        loop {
            let mut rows = Vec::new();
            for column in &mut columns {
                rows.push(column.next_batch(row).map_err(broken)?.map_err(fail)?);
            }
            if rows.iter().any(|&other| other != rows[0]) {
                return Err(fail("columns differ in length; write the file again".to_owned()));
            }
            if rows[0] == 0 {
                break;
            }
            for at in 0..rows[0] {
                let id = |column: usize| columns[column].id(at, row).map_err(fail);
                edges.push(id(0)?, id(1)?);
                if let Some(weights) = &mut weights {
                    weights.push(columns[2].weight(at, row).map_err(fail)?);
                }
            }
            row += rows[0];
        }
    }
    let mut file = edges.finish(weights, BUFFERS.min(row as u64 * ROW));
    file.origin.columns = choice.used;
    file.notes.extend(choice.notes);
    Ok(file)
}

/// The columns of sources, targets and, if there is one, weights.
fn choose(
    path: &Path,
    checked: &CheckedFile,
    file: &SerializedFileReader<CheckedFile>,
    options: &ReadOptions,
) -> Result<Choice> {
    let schema = file.metadata().file_metadata().schema_descr();
    let columns = schema.columns();
    let mut kinds = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        kinds.push(kind(checked, file, schema, at, column).map_err(|error| broken(path, error))?);
    }
    let names = columns.iter().map(|column| column.path().string()).collect();
    let table = Table { names: Some(names), kinds };
    let choice = table.choose(options).map_err(|problem| Error::file(path, problem))?;
    let fail = |message: String| Error::file(path, message);
    for at in [choice.columns.source, choice.columns.target] {
        check(&columns[at], is_id, "expected integers or text").map_err(fail)?;
    }
    if let Some(at) = choice.columns.weight {
        let is_weight =
            |kind| matches!(kind, Type::FLOAT | Type::DOUBLE | Type::INT32 | Type::INT64);
        check(&columns[at], is_weight, "expected floats or integers").map_err(fail)?;
    }
    Ok(choice)
}

/// What a column holds, by its type and, for integers, by its first values.
fn kind(
    checked: &CheckedFile,
    file: &SerializedFileReader<CheckedFile>,
    schema: &SchemaDescriptor,
    at: usize,
    column: &ColumnDescriptor,
) -> Result<Kind, ParquetError> {
    use ConvertedType as T;
    let is_time = matches!(
        column.converted_type(),
        T::DATE | T::TIMESTAMP_MILLIS | T::TIMESTAMP_MICROS | T::TIME_MILLIS | T::TIME_MICROS
    );
    match column.physical_type() {
        _ if is_time => Ok(Kind::Time),
        _ if !is_plain(column) => Ok(Kind::Text),
        Type::INT64 if file.num_row_groups() > 0 => {
            let group = file.get_row_group(0)?;
            let mut values = Column::open(checked, &*group, schema, at)?;
            let Ok(rows) = values.next_batch(0)? else { return Ok(Kind::Number) };
            let integer = |at| match values.id(at, 0) {
                Ok(Id::Integer(value)) => Some(value),
                _ => None,
            };
            let integers: Option<Vec<u64>> = (0..rows).map(integer).collect();
            let is_time = integers.is_some_and(|integers| are_times(&integers));
            Ok(if is_time { Kind::Time } else { Kind::Number })
        }
        Type::FLOAT | Type::DOUBLE | Type::INT32 | Type::INT64 => Ok(Kind::Number),
        _ => Ok(Kind::Text),
    }
}

fn check(
    column: &ColumnDescriptor,
    fits: impl Fn(Type) -> bool,
    expected: &str,
) -> Result<(), String> {
    let (stored, meaning) = (column.physical_type(), column.converted_type());
    if is_plain(column) && fits(stored) {
        return Ok(());
    }
    let meaning =
        if meaning == ConvertedType::NONE { String::new() } else { format!(" ({meaning})") };
    let name = column.name();
    Err(format!("column '{name}' is stored as {stored}{meaning}; {expected}: convert it"))
}
