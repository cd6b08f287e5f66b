//! Edges in Parquet files, `.parquet`: a column of sources, a column of targets, and optionally one
//! of weights.
//!
//! The file is read in batches of rows, each column in the type it is stored in. Ids are integers
//! or text, even within one file: 7 and "7" are the same node.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use ::parquet::basic::{ConvertedType, Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use super::ids::EdgeCollector;
use super::{EdgeFile, ReadOptions};
use crate::error::{Error, Result};
use crate::file::open_seekable;
use crate::file::parquet::{Column, broken, is_id, is_plain};

/// Batches, pages and dictionaries of three columns, in bytes.
const BUFFERS: u64 = 16 << 20;
/// Names of the columns of sources and targets.
const ENDS: [(&str, &str); 3] = [("source", "target"), ("src", "dst"), ("from", "to")];

/// Reads the edges of a file.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<EdgeFile> {
    // The library panics on some broken files, such as one without its dictionary page. A failed
    // read leaves nothing behind, so unwinding is safe.
    catch_unwind(AssertUnwindSafe(|| read_edges(path, options)))
        .unwrap_or_else(|_| Err(broken(path, "a page cannot be decoded")))
}

fn read_edges(path: &Path, options: &ReadOptions) -> Result<EdgeFile> {
    let fail = |message: String| Error::file(path, message);
    let broken = |error: ParquetError| broken(path, error);
    let file = SerializedFileReader::new(open_seekable(path)?).map_err(broken)?;
    let schema = file.metadata().file_metadata().schema_descr();
    let chosen = choose(schema).map_err(fail)?;
    let mut edges = EdgeCollector::with_node_file(options.nodes.as_deref())?;
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
                return Err(fail("columns differ in length; write the file again".to_owned()));
            }
            if rows[0] == 0 {
                break;
            }
            for at in 0..rows[0] {
                let id = |column: usize| columns[column].id(at, row).map_err(fail);
                edges.push(id(0)?, id(1)?);
                if let Some(weights) = &mut weights {
                    weights.push(columns[2].number(at));
                }
            }
            row += rows[0];
        }
    }
    Ok(edges.finish(weights, BUFFERS))
}

/// The indices of the columns of sources, targets and, if there is one, weights.
fn choose(schema: &SchemaDescriptor) -> Result<Vec<usize>, String> {
    let columns = schema.columns();
    let find = |name: &str| {
        columns.iter().position(|column| column.path().string().eq_ignore_ascii_case(name))
    };
    let ends = ENDS.iter().find_map(|(source, target)| Some([find(source)?, find(target)?]));
    let Some(ends) = ends else {
        let names: Vec<String> = columns.iter().map(|column| column.path().string()).collect();
        return Err(format!(
            "no columns 'source' and 'target' (or src and dst, from and to); found: {}",
            names.join(", ")
        ));
    };
    let weight = find("weight");
    for at in ends {
        check(&columns[at], is_id, "expected integers or text")?;
    }
    if let Some(at) = weight {
        let is_weight =
            |kind| matches!(kind, Type::FLOAT | Type::DOUBLE | Type::INT32 | Type::INT64);
        check(&columns[at], is_weight, "expected floats or integers")?;
    }
    Ok(ends.into_iter().chain(weight).collect())
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
