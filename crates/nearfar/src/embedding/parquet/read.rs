//! Reading vectors from Parquet.

use std::path::Path;

use ::parquet::basic::Type;
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::DataType;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use ::parquet::schema::types::SchemaDescriptor;

use super::super::{Embedding, Ids, PROVENANCE};
use crate::error::{Error, Result};
use crate::file::parquet::{CheckedFile, Column, broken, column_reader, is_id, is_plain};
use crate::file::{Id, caught};
use crate::graph::NodeIds;

/// Lists that are read at a time.
const BATCH: usize = 1 << 12;

/// Reads the vectors of a file.
pub(in super::super) fn read(path: &Path) -> Result<Embedding> {
    // As for graphs: the library panics on some broken files.
    caught(|| read_rows(path)).unwrap_or_else(|| Err(broken(path, "a page cannot be decoded")))
}

fn read_rows(path: &Path) -> Result<Embedding> {
    let fail = |message: String| Error::file(path, message);
    let broken = |error: ParquetError| broken(path, error);
    let checked = CheckedFile::open(path)?;
    let file = SerializedFileReader::new(checked.clone()).map_err(broken)?;
    let schema = file.metadata().file_metadata().schema_descr();
    let layout = Layout::of(schema).map_err(fail)?;
    let mut table = Table::default();
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group).map_err(broken)?;
        let group = Group { file: &checked, reader: &*group, schema };
        let before = table.rows;
        match &layout.values {
            Values::Lists(at) => table.read_lists(&group, *at),
            Values::Columns(columns) => table.read_columns(&group, columns),
        }
        .map_err(broken)?
        .map_err(fail)?;
        if let Some(at) = layout.ids {
            table.read_ids(&group, at, before).map_err(broken)?.map_err(fail)?;
        }
    }
    let names = match layout.ids {
        Some(_) => table.ids.finish(),
        None => NodeIds::Range { start: 0, len: table.rows },
    };
    let metadata = file.metadata().file_metadata().key_value_metadata();
    let record = metadata.and_then(|entries| entries.iter().find(|it| it.key == PROVENANCE));
    let record = record.and_then(|entry| entry.value.as_deref());
    let embedding = Embedding::from_file(path, names, table.dim, table.vectors)?;
    Ok(embedding.with_provenance_text(record))
}

/// Which columns are what.
struct Layout {
    ids: Option<usize>,
    values: Values,
}

enum Values {
    Lists(usize),
    Columns(Vec<usize>),
}

impl Layout {
    fn of(schema: &SchemaDescriptor) -> Result<Self, String> {
        let columns = schema.columns();
        let is_float =
            |at: &usize| matches!(columns[*at].physical_type(), Type::FLOAT | Type::DOUBLE);
        let lists = |at: &usize| columns[*at].max_rep_level() == 1;
        let plain = |at: &usize| is_plain(&columns[*at]);
        let ids: Vec<usize> = (0..columns.len())
            .filter(|at| plain(at) && is_id(columns[*at].physical_type()))
            .collect();
        let named = |name: &str| {
            ids.iter().copied().find(|&at| columns[at].name().eq_ignore_ascii_case(name))
        };
        let id = ["node", "id", "__index_level_0__"].into_iter().find_map(named);
        let id = match (id, &ids[..]) {
            (Some(at), _) | (None, &[at]) => Some(at),
            (None, []) => None,
            _ => return Err("several columns may hold the ids; name one 'node'".to_owned()),
        };
        let floats: Vec<usize> = (0..columns.len()).filter(is_float).collect();
        let values = match floats.iter().copied().filter(lists).collect::<Vec<_>>()[..] {
            [at] => Values::Lists(at),
            [] => Values::Columns(floats.into_iter().filter(plain).collect()),
            _ => return Err("several columns are lists of floats; keep one, 'vector'".to_owned()),
        };
        if matches!(&values, Values::Columns(columns) if columns.is_empty()) {
            let names: Vec<String> = columns.iter().map(|column| column.path().string()).collect();
            return Err(format!(
                "no column of floats or lists of floats; found: {}",
                names.join(", ")
            ));
        }
        Ok(Self { ids: id, values })
    }
}

/// A row group of a file.
struct Group<'a> {
    file: &'a CheckedFile,
    reader: &'a dyn RowGroupReader,
    schema: &'a SchemaDescriptor,
}

impl Group<'_> {
    fn column(&self, at: usize) -> Result<Column, ParquetError> {
        Column::open(self.file, self.reader, self.schema, at)
    }
}

/// What was read so far.
#[derive(Default)]
struct Table {
    ids: Ids,
    dim: usize,
    rows: usize,
    vectors: Vec<f32>,
}

/// Outside, what the library says; inside, what we do.
type Read = Result<Result<(), String>, ParquetError>;

impl Table {
    fn read_ids(&mut self, group: &Group<'_>, at: usize, before: usize) -> Read {
        let mut column = group.column(at)?;
        let mut row = before;
        loop {
            let rows = match column.next_batch(row)? {
                Ok(0) => break,
                Ok(rows) => rows,
                Err(message) => return Ok(Err(message)),
            };
            for at in 0..rows {
                let pushed = match column.id(at, row) {
                    Ok(Id::Integer(id)) => self.ids.push(itoa::Buffer::new().format(id)),
                    Ok(Id::Text(id)) => self.ids.push(id),
                    Err(message) => return Ok(Err(message)),
                };
                if let Err(first) = pushed {
                    let (first, again) = (first + 1, row + at + 1);
                    return Ok(Err(format!("rows {first} and {again} have the same id")));
                }
            }
            row += rows;
        }
        let missing = || format!("{} ids for {} vectors; write the file again", row, self.rows);
        Ok(if row == self.rows { Ok(()) } else { Err(missing()) })
    }

    fn read_columns(&mut self, group: &Group<'_>, columns: &[usize]) -> Read {
        self.dim = columns.len();
        let open = |&at: &usize| group.column(at);
        let mut columns = columns.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        loop {
            let mut rows = None;
            for column in &mut columns {
                let read = match column.next_batch(self.rows)? {
                    Ok(read) => read,
                    Err(message) => return Ok(Err(message)),
                };
                if *rows.get_or_insert(read) != read {
                    return Ok(Err("columns differ in length; write the file again".to_owned()));
                }
            }
            let Some(rows @ 1..) = rows else { return Ok(Ok(())) };
            // Every column has these rows: the table grows by what was read, not by a claim.
            for row in 0..rows {
                self.vectors.extend(columns.iter().map(|column| column.number(row) as f32));
            }
            self.rows += rows;
        }
    }

    fn read_lists(&mut self, group: &Group<'_>, at: usize) -> Read {
        let present = group.schema.column(at).max_def_level();
        match column_reader(group.file, group.reader, group.schema, at)? {
            ColumnReader::FloatColumnReader(lists) => self.push_lists(lists, present, |v| v),
            ColumnReader::DoubleColumnReader(lists) => {
                self.push_lists(lists, present, |v| v as f32)
            }
            _ => Err(ParquetError::General("a column changes its type".to_owned())),
        }
    }

    fn push_lists<T: DataType>(
        &mut self,
        mut lists: ColumnReaderImpl<T>,
        present: i16,
        float: impl Fn(T::T) -> f32,
    ) -> Read {
        let (mut levels, mut repeats, mut values) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            levels.clear();
            repeats.clear();
            values.clear();
            let (rows, ..) =
                lists.read_records(BATCH, Some(&mut levels), Some(&mut repeats), &mut values)?;
            if rows == 0 {
                return Ok(Ok(()));
            }
            let row_of = |at: usize| {
                self.rows + repeats[..=at].iter().filter(|&&repeat| repeat == 0).count()
            };
            if let Some(at) = levels.iter().position(|&level| level < present) {
                let row = row_of(at);
                return Ok(Err(format!("the vector in row {row} is empty or has nulls")));
            }
            if self.dim == 0 {
                let next = repeats.iter().skip(1).position(|&repeat| repeat == 0);
                self.dim = next.map_or(repeats.len(), |next| next + 1);
            }
            let dim = self.dim;
            let starts = |at: usize| at.is_multiple_of(dim);
            let wrong = repeats.iter().enumerate().position(|(at, &r)| (r == 0) != starts(at));
            if wrong.is_some() || repeats.len() != rows * dim || values.len() != repeats.len() {
                let row =
                    wrong.map_or(self.rows + rows, |at| self.rows + at.saturating_sub(1) / dim + 1);
                return Ok(Err(format!(
                    "the vector in row {row} does not have {dim} values like the first row"
                )));
            }
            self.rows += rows;
            self.vectors.extend(values.drain(..).map(&float));
        }
    }
}
