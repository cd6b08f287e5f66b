//! Which format a file has, and which ids a format can carry.

use std::io::Read;
use std::path::Path;

use crate::error::{Error, Result};
use crate::file::{self, open, read_error};
use crate::graph::{Node, NodeIds};

/// A format for vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Format {
    /// NumPy array, with the ids in NAME.nodes.tsv beside it
    Npy,
    /// Text of word2vec, as gensim reads it
    Word2vec,
    /// Parquet: a column `node`, a column `vector` of lists
    Parquet,
    /// Safetensors: `vectors`, and the ids in `nodes` and `node_lengths`
    Safetensors,
    /// Text: an id and its numbers, separated by tabs
    Tsv,
}

/// The endings of files, in lower case.
const ENDINGS: [(&str, Format); 6] = [
    ("npy", Format::Npy),
    ("w2v", Format::Word2vec),
    ("txt", Format::Word2vec),
    ("parquet", Format::Parquet),
    ("safetensors", Format::Safetensors),
    ("tsv", Format::Tsv),
];

/// Fails if an embedding of these nodes could not be saved there: an unknown ending, a folder that
/// is missing or closed, an id that the format cannot carry. Ask before the work, not after.
pub fn check_writable(path: &Path, format: Option<Format>, names: &NodeIds) -> Result<()> {
    let format = Format::to_write(path, format)?;
    format.check_ids(path, names)?;
    file::check_writable(path)
}

impl Format {
    /// The format to write a file in: the one asked for, or that of its ending.
    pub(super) fn to_write(path: &Path, format: Option<Self>) -> Result<Self> {
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        let format = format.or_else(|| of_ending(&ending)).ok_or_else(|| {
            Error::Option(format!(
                "{}: its ending says no format; end it in {}, or choose one with --format",
                path.display(),
                endings()
            ))
        })?;
        if cfg!(not(feature = "parquet")) && format == Self::Parquet {
            return Err(no_parquet(path));
        }
        Ok(format)
    }

    /// Fails if this format would not keep an id apart from what is around it.
    pub(super) fn check_ids(self, path: &Path, names: &NodeIds) -> Result<()> {
        let NodeIds::StringIds(words) = names else { return Ok(()) };
        // Readers drop a byte order mark at the start and a carriage return before a line end.
        let parts_lines = |c: char| matches!(c, '\t' | '\n' | '\r' | '\u{feff}');
        let (parts, what): (&dyn Fn(char) -> bool, _) = match self {
            Self::Npy | Self::Tsv => (&parts_lines, "a tab or a line end"),
            Self::Word2vec => (&|c| c.is_whitespace() || parts_lines(c), "a blank"),
            Self::Parquet | Self::Safetensors => return Ok(()),
        };
        let Some(node) = (0..words.len() as Node).find(|&node| words.get(node).contains(parts))
        else {
            return Ok(());
        };
        let reason = format!(
            "node {:?} has {what} in its id, which this format cannot carry; write .parquet or \
             .safetensors",
            words.get(node)
        );
        Err(Error::Write { path: path.to_owned(), reason })
    }
}

/// What a file that is to be read holds.
pub(super) enum Stored {
    As(Format),
    Word2vecBinary,
}

impl Stored {
    pub(super) fn of(path: &Path) -> Result<Self> {
        let ending = file::extension(path);
        if ending == "bin" {
            return Ok(Self::Word2vecBinary);
        }
        if let Some(format) = of_ending(&ending) {
            return Ok(Self::As(format));
        }
        let mut start = Vec::new();
        open(path)?.take(64).read_to_end(&mut start).map_err(|e| read_error(path, &e))?;
        of_content(&start).map(Self::As).ok_or_else(|| {
            let message = format!(
                "neither its ending nor its start says what it holds; vectors are in {}, .bin",
                endings()
            );
            Error::file(path, message)
        })
    }
}

fn of_ending(ending: &str) -> Option<Format> {
    let found = ENDINGS.iter().find(|(known, _)| ending.eq_ignore_ascii_case(known));
    found.map(|&(_, format)| format)
}

fn of_content(start: &[u8]) -> Option<Format> {
    if start.starts_with(b"\x93NUMPY") {
        return Some(Format::Npy);
    }
    if start.starts_with(b"PAR1") {
        return Some(Format::Parquet);
    }
    if start.get(8) == Some(&b'{') && start[4..8] == [0; 4] {
        return Some(Format::Safetensors);
    }
    let line = start.split(|&byte| byte == b'\n').next()?;
    super::text::sizes(std::str::from_utf8(line).ok()?).map(|_| Format::Word2vec)
}

fn endings() -> String {
    ENDINGS.map(|(ending, _)| format!(".{ending}")).join(", ")
}

/// What a build without Parquet says.
pub(super) fn no_parquet(path: &Path) -> Error {
    Error::file(path, "this build has no Parquet; build it with --features parquet")
}
