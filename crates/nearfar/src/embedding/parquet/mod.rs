//! Vectors in Parquet files, `.parquet`: a column `node` of texts and a column `vector` of lists,
//! one row a node. That is one column for a vector, which data frames, databases and vector stores
//! all take, where a column for each dimension would make hundreds.
//!
//! Read are also files with a column for each dimension: all that hold floats, in their order. The
//! ids are the column `node`, `id` or pandas' index, or else the only one of texts or integers; if
//! there is none, they are 0, 1, 2 and so on.

mod read;
mod write;

pub(super) use read::read;
pub(super) use write::write;
