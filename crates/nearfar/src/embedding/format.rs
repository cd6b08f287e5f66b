//! File formats of embeddings: detection, and the ids that each can store.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::npy::node_file;
use crate::error::{Error, Problem, Result};
use crate::file::{self, open, read_error};
use crate::graph::{Node, NodeIds};

/// A file format for vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Format {
    /// NumPy array; ids in NAME.nodes.tsv in the same folder
    Npy,
    /// word2vec text format, readable by gensim
    Word2vec,
    /// Parquet: column `node`, and column `vector` of lists
    Parquet,
    /// Safetensors: tensor `vectors`; ids in `nodes` and `node_lengths`
    Safetensors,
    /// Tab-separated text: an id and its vector
    Tsv,
    /// Comma-separated text: a header, then an id and its vector
    Csv,
}

/// File extensions in lower case.
const EXTENSIONS: [(&str, Format); 7] = [
    ("npy", Format::Npy),
    ("w2v", Format::Word2vec),
    ("txt", Format::Word2vec),
    ("parquet", Format::Parquet),
    ("safetensors", Format::Safetensors),
    ("tsv", Format::Tsv),
    ("csv", Format::Csv),
];

/// Fails if an embedding could not be saved under this name, or if that would replace one of the
/// files that are read: an unknown file extension, a folder that is missing or not writable, or
/// something else than a regular file that stands there. Call it before any work. Returns the files
/// that will be written.
pub fn check_output(
    path: &Path,
    format: Option<Format>,
    inputs: &[PathBuf],
) -> Result<Vec<PathBuf>> {
    let files = Format::to_write(path, format)?.files(path);
    for file in &files {
        file::check_writable(file)?;
        file::check_not_input(file, inputs)?;
    }
    Ok(files)
}

/// [`check_output`], and fails if an id of these nodes cannot be stored in the format. Call it before
/// a long computation.
pub fn check_writable(path: &Path, format: Option<Format>, ids: &NodeIds) -> Result<()> {
    check_output(path, format, &[])?;
    Format::to_write(path, format)?.check_ids(path, ids)
}

impl Format {
    /// The format to write a file in: the given one, or that of the file extension.
    pub(super) fn to_write(path: &Path, format: Option<Self>) -> Result<Self> {
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        let format = format.or_else(|| of_extension(&extension)).ok_or_else(|| {
            let unknown = if extension.is_empty() {
                "no file extension".to_owned()
            } else {
                format!("unknown file extension '.{extension}'")
            };
            let problem = Problem::from(unknown).act(format!("use one of {}", extensions()));
            Error::file(path, problem.give("format"))
        })?;
        if cfg!(not(feature = "parquet")) && format == Self::Parquet {
            return Err(no_parquet(path));
        }
        Ok(format)
    }

    /// The files that vectors are stored in.
    fn files(self, path: &Path) -> Vec<PathBuf> {
        let ids = (self == Self::Npy).then(|| node_file(path));
        std::iter::once(path.to_owned()).chain(ids).collect()
    }

    /// Fails if an id has characters that this format uses as separators.
    pub(super) fn check_ids(self, path: &Path, ids: &NodeIds) -> Result<()> {
        let NodeIds::StringIds(ids) = ids else { return Ok(()) };
        // Readers drop a leading byte order mark and a carriage return before a newline.
        let separates_lines = |c: char| matches!(c, '\t' | '\n' | '\r' | '\u{feff}');
        let (separates, what): (&dyn Fn(char) -> bool, _) = match self {
            Self::Npy | Self::Tsv => (&separates_lines, "a tab or a line break"),
            Self::Csv => (&|c| matches!(c, '\n' | '\r' | '\u{feff}'), "a line break"),
            Self::Word2vec => (&|c| c.is_whitespace() || separates_lines(c), "whitespace"),
            Self::Parquet | Self::Safetensors => return Ok(()),
        };
        let Some(node) = (0..ids.len() as Node).find(|&node| ids.get(node).contains(separates))
        else {
            return Ok(());
        };
        let reason = format!(
            "node id {:?} contains {what}, which this format cannot store; write .parquet or \
             .safetensors",
            ids.get(node)
        );
        Err(Error::unwritable(path, reason))
    }
}

/// The format of a file to read.
pub(super) enum InputFormat {
    Format(Format),
    Word2vecBinary,
}

impl InputFormat {
    pub(super) fn of(path: &Path) -> Result<Self> {
        let extension = file::extension(path);
        if extension == "bin" {
            return Ok(Self::Word2vecBinary);
        }
        if let Some(format) = of_extension(&extension) {
            return Ok(Self::Format(format));
        }
        let mut start = Vec::new();
        open(path)?.take(64).read_to_end(&mut start).map_err(|e| read_error(path, e))?;
        of_content(&start).map(Self::Format).ok_or_else(|| {
            let message = format!(
                "unknown file extension and content; expected one of {}, .bin",
                extensions()
            );
            Error::file(path, message)
        })
    }
}

fn of_extension(extension: &str) -> Option<Format> {
    let found = EXTENSIONS.iter().find(|(known, _)| extension.eq_ignore_ascii_case(known));
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

fn extensions() -> String {
    EXTENSIONS.map(|(extension, _)| format!(".{extension}")).join(", ")
}

/// The error of a build without Parquet.
pub(super) fn no_parquet(path: &Path) -> Error {
    Error::file(path, "this build does not support Parquet; build it with --features parquet")
}
