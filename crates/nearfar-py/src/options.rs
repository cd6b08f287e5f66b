//! From keyword arguments to the configurations of the library.
//!
//! A configuration serialises to a JSON object with one entry per field. That tells which keywords
//! exist, their defaults, and where each belongs: an option that is added to the library is a keyword
//! here without further code.

use std::path::PathBuf;

use nearfar::evaluate::measure::MeasureConfig;
use nearfar::evaluate::{ClassifyConfig, LinksConfig};
use nearfar::negative::NegativeConfig;
use nearfar::report::ReportConfig;
use nearfar::train::{Device, Settings, TrainConfig};
use nearfar::{Budget, parse_bytes};
use pyo3::PyResult;
use pyo3::exceptions::{PyTypeError, PyValueError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::exception;

/// Threads of a call; by default one per core. Results do not depend on it.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Threads {
    pub(crate) threads: Option<usize>,
}

/// The most memory that a call may use.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Memory {
    /// Bytes, or a string such as 8GB.
    max_memory: Value,
}

/// The most memory of a GPU that a call may use.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct DeviceMemory {
    /// As above; by default what is free.
    device_memory: Option<Value>,
}

/// A file with settings that are not given as keywords.
#[derive(Default, Serialize, Deserialize)]
struct File {
    config: Option<PathBuf>,
}

/// Files that record a run.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Keep {
    pub(crate) log: Option<PathBuf>,
    pub(crate) checkpoint: Option<PathBuf>,
    pub(crate) resume: bool,
    pub(crate) resume_anyway: bool,
}

impl Default for Memory {
    fn default() -> Self {
        Self { max_memory: Budget::default().memory.into() }
    }
}

impl Memory {
    /// In bytes.
    pub(crate) fn bytes(&self) -> PyResult<u64> {
        bytes("max_memory", &self.max_memory)
    }
}

impl DeviceMemory {
    /// In bytes, for a device that has memory of its own.
    pub(crate) fn bytes(&self, device: Device) -> PyResult<Option<u64>> {
        let limit = self.device_memory.as_ref().map(|value| bytes("device_memory", value));
        let limit = limit.transpose()?;
        check(device.check_memory(limit))?;
        Ok(limit)
    }
}

fn bytes(name: &str, value: &Value) -> PyResult<u64> {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    parse_bytes(&text).map_err(|takes| PyValueError::new_err(format!("{name}='{text}': {takes}")))
}

/// The random seed, for calls without other training options.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Seed {
    pub(crate) seed: u64,
}

/// Keywords that no configuration has taken yet.
pub(crate) struct Options(Map<String, Value>);

impl Options {
    /// Parses keywords from a JSON object.
    pub(crate) fn parse(json: &str) -> PyResult<Self> {
        serde_json::from_str(json)
            .map(Self)
            .map_err(|error| PyValueError::new_err(format!("options: {error}")))
    }

    /// Sets the fields of `config` that are given as keywords.
    pub(crate) fn put<T: Serialize + DeserializeOwned>(&mut self, config: T) -> PyResult<T> {
        let mut config = config;
        for name in fields(&config).keys() {
            let Some(value) = self.0.remove(&name.replace('-', "_")) else { continue };
            let mut whole = fields(&config);
            whole.insert(name.clone(), value.clone());
            config = serde_json::from_value(Value::Object(whole)).map_err(|error| {
                let name = name.replace('-', "_");
                PyValueError::new_err(format!("{name}={value}: {error}"))
            })?;
        }
        Ok(config)
    }

    /// The training settings: from keywords, and from a file if `config` names one.
    pub(crate) fn settings(&mut self) -> PyResult<Settings> {
        self.settings_from(Settings::default())
    }

    /// The same, with other defaults.
    pub(crate) fn settings_from(&mut self, defaults: Settings) -> PyResult<Settings> {
        let mut settings = defaults;
        if let Some(file) = self.put(File::default())?.config {
            check(settings.merge(&file, |key| self.0.contains_key(&key.replace('-', "_"))))?;
        }
        let Settings { train, negatives } = settings;
        let settings = Settings { train: self.put(train)?, negatives: self.put(negatives)? };
        check(settings.validate())?;
        Ok(settings)
    }

    /// Fails if a keyword was not taken.
    pub(crate) fn end(self) -> PyResult<()> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => Err(PyTypeError::new_err(format!("unknown option '{name}'"))),
        }
    }
}

/// The keywords with their defaults as JSON, by group: the fields of one configuration, or of a few.
#[pyo3::pyfunction]
pub(crate) fn defaults() -> String {
    let of = |parts: &[&Map<String, Value>]| -> Value {
        let entries = parts.iter().copied().flatten();
        entries.map(|(name, value)| (name.replace('-', "_"), value.clone())).collect()
    };
    let mut negatives = fields(&NegativeConfig::default());
    let mut measure = fields(&MeasureConfig::default());
    measure.retain(|name, _| !negatives.contains_key(name));
    let law: Map<String, Value> = negatives.shift_remove_entry("negatives").into_iter().collect();
    let (threads, memory) = (fields(&Threads::default()), fields(&Memory::default()));
    serde_json::json!({
        "train": of(&[&fields(&TrainConfig::default())]),
        "law": law,
        "negatives": of(&[&negatives]),
        "run": of(&[&threads, &memory, &fields(&File::default())]),
        "gpu": of(&[&fields(&DeviceMemory::default())]),
        "files": of(&[&fields(&Keep::default())]),
        "sampling": of(&[&fields(&Seed::default()), &threads, &memory]),
        "threads": of(&[&threads]),
        "classify": of(&[&fields(&ClassifyConfig::default())]),
        "links": of(&[&fields(&LinksConfig::default())]),
        "measure": of(&[&measure]),
        "report": of(&[&fields(&ReportConfig::default())]),
    })
    .to_string()
}

/// A result of the library as one of Python.
pub(crate) fn check<T>(result: nearfar::Result<T>) -> PyResult<T> {
    result.map_err(|error| exception(&error))
}

/// Parses the name of a choice.
pub(crate) fn parsed<T: DeserializeOwned>(keyword: &str, name: &str) -> PyResult<T> {
    serde_json::from_value(name.into())
        .map_err(|error| PyValueError::new_err(format!("{keyword}: {error}")))
}

/// The fields of a configuration.
pub(crate) fn fields(config: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(config) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}
