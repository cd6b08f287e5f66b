//! Keywords as configurations.
//!
//! A configuration of the library is a struct that can be written as JSON, with one entry for each
//! of its fields. That is enough to know which keywords there are, what they are without being
//! given, and where each belongs: an option that is added to the library is one here too.

use nearfar::negative::{Budget, NegativeConfig, parse_bytes};
use nearfar::train::TrainConfig;
use pyo3::PyResult;
use pyo3::exceptions::{PyTypeError, PyValueError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::exception;

/// What a call may use of the machine. Results do not depend on it, but for what fits.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Resources {
    /// Threads to work with; all cores if not given.
    pub(crate) threads: Option<usize>,
    /// Bytes, or a text such as 8GB.
    max_memory: Value,
}

impl Default for Resources {
    fn default() -> Self {
        Self { threads: None, max_memory: Budget::default().memory.into() }
    }
}

impl Resources {
    /// The memory that may be used, in bytes.
    pub(crate) fn memory(&self) -> PyResult<u64> {
        let text = match &self.max_memory {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        parse_bytes(&text).map_err(|takes| {
            PyValueError::new_err(format!("max_memory is {text}; it takes {takes}"))
        })
    }
}

/// The seed, where it is the only thing to be asked.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Seed {
    pub(crate) seed: u64,
}

/// Keywords that are still to be put into configurations.
pub(crate) struct Options(Map<String, Value>);

impl Options {
    /// Takes keywords as a JSON object.
    pub(crate) fn parse(json: &str) -> PyResult<Self> {
        serde_json::from_str(json)
            .map(Self)
            .map_err(|error| PyValueError::new_err(format!("options: {error}")))
    }

    /// Puts the keywords that have a place in `config` there.
    pub(crate) fn put<T: Serialize + DeserializeOwned>(&mut self, config: T) -> PyResult<T> {
        let mut config = config;
        for name in fields(&config).keys() {
            let Some(value) = self.0.remove(&name.replace('-', "_")) else { continue };
            let mut whole = fields(&config);
            whole.insert(name.clone(), value.clone());
            config = serde_json::from_value(Value::Object(whole)).map_err(|error| {
                let name = name.replace('-', "_");
                PyValueError::new_err(format!("{name} cannot be {value}: {error}"))
            })?;
        }
        Ok(config)
    }

    /// The end: every keyword has found its place.
    pub(crate) fn end(self) -> PyResult<()> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => Err(PyTypeError::new_err(format!("unknown option '{name}'"))),
        }
    }
}

/// The keywords of `embed` and of `NegativeSampler` with their values when not given, as JSON.
#[pyo3::pyfunction]
pub(crate) fn defaults() -> String {
    let of = |parts: &[Map<String, Value>]| -> Value {
        let entries = parts.iter().flatten();
        entries.map(|(name, value)| (name.replace('-', "_"), value.clone())).collect()
    };
    let (negatives, resources) =
        (fields(&NegativeConfig::default()), fields(&Resources::default()));
    serde_json::json!({
        "embed": of(&[fields(&TrainConfig::default()), negatives.clone(), resources.clone()]),
        "sampler": of(&[negatives, fields(&Seed::default()), resources]),
    })
    .to_string()
}

/// The options of several words, as the library spells them.
pub(crate) fn names() -> Vec<String> {
    let train = fields(&TrainConfig::default());
    let all = train.into_iter().chain(fields(&NegativeConfig::default()));
    all.map(|(name, _)| name).filter(|name| name.contains('-')).collect()
}

/// Checks what `NegativeConfig` and `TrainConfig` can check without a graph.
pub(crate) fn check(result: nearfar::Result<()>) -> PyResult<()> {
    result.map_err(|error| exception(&error))
}

fn fields(config: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(config) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}
