//! Files: written whole or not at all, also several together; and what graph files and embedding
//! files share: compression, lines of text, and the formats that both are stored in.
//!
//! A header is a claim. No reader here allocates for what a header says before the bytes that it
//! speaks of have been read.

mod caught;
mod compression;
pub(crate) mod lines;
pub(crate) mod npy;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
pub(crate) mod safetensors;
mod scratch;
mod target;
mod temporary;
mod write;

#[cfg(feature = "parquet")]
pub(crate) use caught::caught;
pub use caught::is_panic_caught;
pub(crate) use compression::{
    check_input, extension, head, inner_extension, open, open_seekable, read_all, read_error,
    read_text, spool,
};
pub(crate) use scratch::{FloatFile, ScratchFile};
pub use target::check_not_input;
pub use temporary::remove_temporaries;
pub(crate) use write::{DATASET_FILES, read_set, settle, write_whole};
pub use write::{FileSet, check_writable, commit_all, write_together};

/// Bytes of the longest line, and of the longest file that is read whole from a pipe: what is longer
/// may never end.
const LONGEST: usize = if cfg!(test) { 10_000_000 } else { 1_000_000_000 };

/// A node id in a format whose values have types. `Integer(7)` and `Text("7")` are the same node.
#[derive(Clone, Copy)]
pub(crate) enum Id<'a> {
    Integer(u64),
    #[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "only Parquet has texts"))]
    Text(&'a str),
}
