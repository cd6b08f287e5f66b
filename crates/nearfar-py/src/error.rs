//! The library's errors as Python's exceptions, in one place.

use nearfar::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyMemoryError, PyOSError, PyValueError};

use crate::options;

/// The exception that says the same.
pub(crate) fn exception(error: &Error) -> PyErr {
    let message = in_keywords(&error.to_string());
    match error {
        Error::Read { path, .. } if !path.exists() => PyFileNotFoundError::new_err(message),
        Error::Read { .. } | Error::Write { .. } => PyOSError::new_err(message),
        Error::Budget(_) => PyMemoryError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}

/// The library speaks of options as the command line spells them; here they are keywords:
/// `--degree-power` and `degree-power` become `degree_power`.
fn in_keywords(message: &str) -> String {
    let names = options::names();
    let keyword = |word: &str| {
        let end = word.trim_end_matches(|c: char| !c.is_alphanumeric()).len();
        let (name, rest) = word.split_at(end);
        match name.strip_prefix("--") {
            Some(option) => option.replace('-', "_") + rest,
            None if names.iter().any(|known| known == name) => name.replace('-', "_") + rest,
            None => word.to_owned(),
        }
    };
    let message = message.replace(" with -o", "");
    message.split_inclusive(' ').map(keyword).collect()
}
