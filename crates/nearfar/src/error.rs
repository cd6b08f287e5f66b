//! One error type. Every message says what is wrong, where, and what to change.
//!
//! Options are named as data, not in the text: the command line shows `--walk-length 3`, Python
//! `walk_length=3`, from the same [`Problem`].

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

/// The cause of an error that another library or the system reported.
pub type Source = Box<dyn std::error::Error + Send + Sync>;

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, for the person who can fix it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder could not be read.
    #[error("{}: cannot read: {problem}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system or the decoder said, and the way out.
        problem: Box<Problem>,
        /// The cause, if another library or the system reported it.
        source: Option<Source>,
    },
    /// A file or folder could not be written.
    #[error("{}: cannot write: {problem}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said, and the way out.
        problem: Box<Problem>,
        /// The cause, if another library or the system reported it.
        source: Option<Source>,
    },
    /// A line of a text file is invalid.
    #[error("{}:{line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What was found and what was expected.
        problem: Box<Problem>,
    },
    /// A file as a whole is invalid.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What was found and what was expected.
        problem: Box<Problem>,
    },
    /// The graph does not meet a requirement.
    #[error("{0}")]
    Graph(Box<Problem>),
    /// An option has an invalid value, alone or with this graph.
    #[error("{0}")]
    Option(Box<Problem>),
    /// The work would exceed the memory or the time that is allowed.
    #[error("{0}")]
    Budget(Box<Problem>),
}

/// A message, the option that it is about, and what to change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong. Names no option.
    pub message: String,
    /// The option concerned and its value.
    pub option: Option<(&'static str, String)>,
    /// What to change; any one of them helps.
    pub remedies: Vec<Remedy>,
}

/// A change, mostly of an option, that avoids the problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Give the option this value.
    Set(&'static str, String),
    /// Give two options these values.
    SetBoth((&'static str, String), (&'static str, String)),
    /// Give the option.
    Give(&'static str),
    /// Leave the option out.
    Omit(&'static str),
    /// Give the option a smaller value.
    Lower(&'static str),
    /// Give the option a larger value.
    Raise(&'static str),
    /// Do something else, such as `remove the file`.
    Act(String),
}

impl Error {
    pub(crate) fn read(path: &Path, source: std::io::Error) -> Self {
        let problem = match source.kind() {
            std::io::ErrorKind::NotFound => "no such file; check the name".into(),
            _ => source.to_string().into(),
        };
        Self::Read {
            path: path.to_owned(),
            problem: Box::new(problem),
            source: Some(source.into()),
        }
    }

    pub(crate) fn write(path: &Path, source: std::io::Error) -> Self {
        let way_out = match source.kind() {
            std::io::ErrorKind::StorageFull => {
                "free some space, or choose a folder on another disk"
            }
            _ => "choose a folder that exists and can be written",
        };
        let problem = format!("{source}; {way_out}");
        let problem = Box::new(problem.into());
        Self::Write { path: path.to_owned(), problem, source: Some(source.into()) }
    }

    pub(crate) fn line(path: &Path, line: u64, problem: impl Into<Problem>) -> Self {
        Self::Line { path: path.to_owned(), line, problem: Box::new(problem.into()) }
    }

    pub(crate) fn file(path: &Path, problem: impl Into<Problem>) -> Self {
        Self::File { path: path.to_owned(), problem: Box::new(problem.into()) }
    }

    /// A file that cannot be read, for a reason that is not the system's.
    pub(crate) fn unreadable(path: &Path, problem: impl Into<Problem>) -> Self {
        Self::Read { path: path.to_owned(), problem: Box::new(problem.into()), source: None }
    }

    /// A file that cannot be written, for a reason that is not the system's.
    pub(crate) fn unwritable(path: &Path, problem: impl Into<Problem>) -> Self {
        Self::Write { path: path.to_owned(), problem: Box::new(problem.into()), source: None }
    }

    pub(crate) fn budget(problem: impl Into<Problem>) -> Self {
        Self::Budget(Box::new(problem.into()))
    }

    pub(crate) fn graph(problem: impl Into<Problem>) -> Self {
        Self::Graph(Box::new(problem.into()))
    }

    /// An option that is invalid together with others, or with this graph.
    pub fn conflict(problem: impl Into<Problem>) -> Self {
        Self::Option(Box::new(problem.into()))
    }

    /// An option with an invalid value.
    pub fn option(name: &'static str, value: impl Display, message: impl Into<String>) -> Self {
        let option = Some((name, value.to_string()));
        Self::conflict(Problem { message: message.into(), option, remedies: vec![] })
    }

    /// The same error, if it is about a copy, about the file that the user knows.
    pub(crate) fn renamed(mut self, copy: &Path, name: &Path) -> Self {
        if let Self::Read { path, .. } | Self::Line { path, .. } | Self::File { path, .. } =
            &mut self
            && path == copy
        {
            name.clone_into(path);
        }
        self
    }

    /// The whole message, with every option as `spell(name, value)` writes it.
    pub fn describe(&self, spell: &dyn Fn(&str, Option<&str>) -> String) -> String {
        match self {
            Self::Read { path, problem, .. } => {
                format!("{}: cannot read: {}", path.display(), problem.describe(spell))
            }
            Self::Write { path, problem, .. } => {
                format!("{}: cannot write: {}", path.display(), problem.describe(spell))
            }
            Self::Line { path, line, problem } => {
                format!("{}:{line}: {}", path.display(), problem.describe(spell))
            }
            Self::File { path, problem } => {
                format!("{}: {}", path.display(), problem.describe(spell))
            }
            Self::Graph(problem) | Self::Option(problem) | Self::Budget(problem) => {
                problem.describe(spell)
            }
        }
    }
}

impl Problem {
    /// Adds a remedy: this value.
    #[must_use]
    pub fn set(self, option: &'static str, value: impl Display) -> Self {
        self.remedy(Remedy::Set(option, value.to_string()))
    }

    /// Adds a remedy: two options with these values.
    #[must_use]
    pub fn set_both(self, a: (&'static str, String), b: (&'static str, String)) -> Self {
        self.remedy(Remedy::SetBoth(a, b))
    }

    /// Adds a remedy: giving the option.
    #[must_use]
    pub fn give(self, option: &'static str) -> Self {
        self.remedy(Remedy::Give(option))
    }

    /// Adds a remedy: leaving the option out.
    #[must_use]
    pub fn omit(self, option: &'static str) -> Self {
        self.remedy(Remedy::Omit(option))
    }

    /// Adds a remedy: a smaller value.
    #[must_use]
    pub fn lower(self, option: &'static str) -> Self {
        self.remedy(Remedy::Lower(option))
    }

    /// Adds a remedy: a larger value.
    #[must_use]
    pub fn raise(self, option: &'static str) -> Self {
        self.remedy(Remedy::Raise(option))
    }

    /// Adds a remedy that is not the change of an option, in the imperative.
    #[must_use]
    pub fn act(self, action: impl Into<String>) -> Self {
        self.remedy(Remedy::Act(action.into()))
    }

    fn remedy(mut self, remedy: Remedy) -> Self {
        self.remedies.push(remedy);
        self
    }

    /// The text, with every option as `spell(name, value)` writes it.
    pub fn describe(&self, spell: &dyn Fn(&str, Option<&str>) -> String) -> String {
        let mut text = match &self.option {
            Some((name, value)) => format!("{}: {}", spell(name, Some(value)), self.message),
            None => self.message.clone(),
        };
        let phrase = |remedy: &Remedy| match remedy {
            Remedy::Set(name, value) => ("use", spell(name, Some(value))),
            Remedy::SetBoth(a, b) => {
                let both = [a, b].map(|(name, value)| spell(name, Some(value)));
                ("use", both.join(" and "))
            }
            Remedy::Give(name) => ("give", spell(name, None)),
            Remedy::Omit(name) => ("omit", spell(name, None)),
            Remedy::Lower(name) => ("lower", spell(name, None)),
            Remedy::Raise(name) => ("raise", spell(name, None)),
            Remedy::Act(action) => ("", action.clone()),
        };
        let mut last = "";
        for (at, (verb, option)) in self.remedies.iter().map(phrase).enumerate() {
            text.push_str(match at {
                0 => "; ",
                _ if at + 1 == self.remedies.len() => " or ",
                _ => ", ",
            });
            // "lower --walks, --dim or raise --max-memory": a verb is not repeated.
            if verb != std::mem::replace(&mut last, verb) && !verb.is_empty() {
                text.push_str(verb);
                text.push(' ');
            }
            text.push_str(&option);
        }
        text
    }
}

/// With options as the command line spells them.
impl Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spell = |name: &str, value: Option<&str>| match value {
            Some(value) => format!("--{name} {value}"),
            None => format!("--{name}"),
        };
        f.write_str(&self.describe(&spell))
    }
}

impl From<String> for Problem {
    fn from(message: String) -> Self {
        Self { message, ..Self::default() }
    }
}

impl From<&str> for Problem {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_spelled_by_whoever_shows_the_error() {
        let error = Error::option("walk-length", 3, "expected 5 to 1000");
        assert_eq!(error.to_string(), "--walk-length 3: expected 5 to 1000");
        let problem = Problem::from("vectors and pairs need 3 MB").lower("walks").lower("dim");
        let error = Error::budget(problem.raise("max-memory"));
        let text = "vectors and pairs need 3 MB; lower --walks, --dim or raise --max-memory";
        assert_eq!(error.to_string(), text);
        let keyword = |name: &str, value: Option<&str>| {
            name.replace('-', "_") + &value.map_or(String::new(), |value| format!("={value}"))
        };
        let error = Error::file(Path::new("a.toml"), Problem::from("no such").set("l2", "auto"));
        assert_eq!(error.describe(&keyword), "a.toml: no such; use l2=auto");
        let error = Error::graph(Problem::from("no label").act("add one").omit("splits"));
        assert_eq!(error.to_string(), "no label; add one or omit --splits");
    }

    #[test]
    fn the_source_is_kept() {
        let source = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        let error = Error::read(Path::new("a.tsv"), source);
        assert!(std::error::Error::source(&error).is_some());
    }
}
