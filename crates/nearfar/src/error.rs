//! One error type. PeriodicScores message says what is wrong, where, and what to change.

use std::path::{Path, PathBuf};

/// What went wrong, in words meant for the person who can mend it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder could not be read.
    #[error("{}: cannot read: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system or the decoder said, and the way out.
        reason: String,
    },
    /// A file or folder could not be written.
    #[error("{}: cannot write: {reason}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said, and the way out.
        reason: String,
    },
    /// A line of a text file is not what it should be.
    #[error("{}:{line}: {message}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What was found and what was expected.
        message: String,
    },
    /// A file as a whole is not what it should be.
    #[error("{}: {message}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What was found and what was expected.
        message: String,
    },
    /// The graph cannot serve what is asked of it.
    #[error("{0}")]
    Graph(String),
    /// An option has a value that makes no sense, alone or with this graph.
    #[error("{0}")]
    Option(String),
    /// The work would take more memory or time than it may.
    #[error("{0}")]
    Budget(String),
}

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn read(path: &Path, source: &std::io::Error) -> Self {
        let reason = match source.kind() {
            std::io::ErrorKind::NotFound => "no such file; check the name".to_owned(),
            _ => source.to_string(),
        };
        Self::Read { path: path.to_owned(), reason }
    }

    pub(crate) fn write(path: &Path, source: &std::io::Error) -> Self {
        let reason = format!("{source}; choose a place that can be written with -o");
        Self::Write { path: path.to_owned(), reason }
    }

    pub(crate) fn line(path: &Path, line: u64, message: impl Into<String>) -> Self {
        Self::Line { path: path.to_owned(), line, message: message.into() }
    }

    pub(crate) fn file(path: &Path, message: impl Into<String>) -> Self {
        Self::File { path: path.to_owned(), message: message.into() }
    }
}
