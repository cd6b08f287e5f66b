//! The settings of a run, from options and from a file.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::config::TrainConfig;
use crate::embedding::Embedding;
use crate::error::{Error, Result};
use crate::file::read_text;
use crate::graph::Graph;
use crate::negative::NegativeConfig;

/// All options that the vectors of a graph depend on.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Settings {
    /// How vectors are trained.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub train: TrainConfig,
    /// Which negatives are drawn.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub negatives: NegativeConfig,
}

impl Settings {
    /// The settings that are recorded with vectors, as far as an update of them needs the same; the
    /// defaults where nothing is recorded. Parquet and safetensors files have a record.
    pub fn recorded(vectors: &Embedding) -> Self {
        const KEYS: [&str; 14] = [
            "model",
            "context",
            "walk-length",
            "centre-power",
            "k",
            "p",
            "q",
            "smoothing",
            "negative-weight",
            "seed",
            "negatives",
            "gamma",
            "degree-power",
            "far",
        ];
        let mut settings = Self::default();
        settings.train.dim = vectors.dim();
        for key in KEYS {
            let Some(value) = vectors.provenance().get(key).filter(|value| !value.is_null()) else {
                continue;
            };
            // A record that this version does not understand says nothing.
            let _ = set(&mut settings.train, key, value.clone());
            let _ = set(&mut settings.negatives, key, value.clone());
        }
        settings
    }

    /// Takes all settings from `others`, except those that were `given` otherwise.
    pub fn fill(&mut self, others: &Self, given: impl Fn(&str) -> bool) {
        for (key, value) in fields(&others.train).into_iter().filter(|(key, _)| !given(key)) {
            // What was serialised can be read again.
            let _ = set(&mut self.train, &key, value);
        }
        for (key, value) in fields(&others.negatives).into_iter().filter(|(key, _)| !given(key)) {
            let _ = set(&mut self.negatives, &key, value);
        }
    }

    /// Takes settings from a TOML file, named as the options are, except those that were `given`
    /// otherwise.
    pub fn merge(&mut self, file: &Path, given: impl Fn(&str) -> bool) -> Result<()> {
        let text = read_text(file)?;
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let start = error.span().map_or(0, |span| span.start);
            let line = 1 + text[..start].bytes().filter(|&byte| byte == b'\n').count();
            Error::line(file, line as u64, error.message())
        })?;
        for (key, value) in table {
            let fail = |message: String| Error::file(file, message);
            let value = serde_json::to_value(value).map_err(|error| fail(error.to_string()))?;
            let of_negatives = fields(&self.negatives).contains_key(&key);
            if !of_negatives && !fields(&self.train).contains_key(&key) {
                let all: Vec<String> = self.fields().map(|(key, _)| key).collect();
                let all = all.join(", ");
                return Err(fail(format!("unknown setting '{key}'; expected one of {all}")));
            }
            if given(&key) {
                continue;
            }
            let set = if of_negatives {
                set(&mut self.negatives, &key, value)
            } else {
                set(&mut self.train, &key, value)
            };
            set.map_err(|error| fail(format!("{key}: {error}")))?;
        }
        Ok(())
    }

    /// Checks what can be checked without a graph.
    pub fn validate(&self) -> Result<()> {
        self.train.validate()?;
        self.negatives.validate()
    }

    /// Every setting by its name.
    fn fields(&self) -> impl Iterator<Item = (String, Value)> {
        fields(&self.negatives).into_iter().chain(fields(&self.train))
    }

    /// The settings as given, and the graph, as a JSON object: what identifies a run.
    pub fn describe(&self, graph: &Graph) -> Value {
        let graph = ("graph".to_owned(), format!("{:016x}", graph.fingerprint()).into());
        let fields = self.fields().filter(|(key, _)| key != "scratch");
        Value::Object(std::iter::once(graph).chain(fields).collect())
    }
}

fn fields(settings: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(settings) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

fn set<T: Serialize + DeserializeOwned>(
    settings: &mut T,
    key: &str,
    new: Value,
) -> serde_json::Result<()> {
    let mut all = fields(settings);
    all.insert(key.to_owned(), new);
    *settings = serde_json::from_value(Value::Object(all))?;
    Ok(())
}
