//! Settings that are a number or a word, such as `auto`, in files and as Python keywords.

use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// Reads a number or a word, and parses it as on the command line.
pub(crate) fn parsed<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err = String>,
    D: Deserializer<'de>,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Value {
        Number(f64),
        Word(String),
    }
    let text = match Value::deserialize(deserializer)? {
        // The shortest text that is read as the same number.
        Value::Number(number) => number.to_string(),
        Value::Word(word) => word,
    };
    text.parse().map_err(D::Error::custom)
}
