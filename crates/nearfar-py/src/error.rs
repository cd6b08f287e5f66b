//! The library's errors as Python exceptions, in one place.

use nearfar::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyMemoryError, PyOSError, PyValueError};

/// The exception for an error, with options as keywords.
pub(crate) fn exception(error: &Error) -> PyErr {
    let message = error.describe(&keyword);
    match error {
        Error::Read { path, .. } if !path.exists() => PyFileNotFoundError::new_err(message),
        Error::Read { .. } | Error::Write { .. } => PyOSError::new_err(message),
        Error::Budget(_) => PyMemoryError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}

/// `walk-length 3` as `walk_length=3`, `trainer batch` as `trainer='batch'`.
pub(crate) fn keyword(name: &str, value: Option<&str>) -> String {
    let name = name.replace('-', "_");
    match value {
        None => name,
        Some(value) if value.parse::<f64>().is_ok() => format!("{name}={value}"),
        Some("true") => format!("{name}=True"),
        Some("false") => format!("{name}=False"),
        Some(value) => format!("{name}='{value}'"),
    }
}
