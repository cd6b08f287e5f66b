//! Embeddings as Parquet, `.parquet`: a string column `node` and a list column `vector`, one row per
//! node. Data frames, databases and vector stores read such a list column.
//!
//! Files with one float column per dimension are read too, in column order. The ids are the column
//! `node`, `id` or pandas' index, or else the only string or integer column; without one they are
//! 0, 1, 2, ….

mod read;
mod write;

pub(super) use read::read;
pub(super) use write::write;
