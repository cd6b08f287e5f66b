//! All settings of a run: what a file says of them, what they plan, what a checkpoint remembers.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::config::{TrainConfig, Trainer};
use super::memory;
use crate::error::{Error, Result};
use crate::file::read_text;
use crate::graph::Graph;
use crate::negative::{Budget, NegativeConfig, NegativePlan};

/// All that vectors depend on, beside their graph.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Settings {
    /// Which negatives are drawn.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub negatives: NegativeConfig,
    /// How vectors are trained.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub train: TrainConfig,
}

impl Settings {
    /// Takes settings from a TOML file, named as the options are, but for those that were `given`
    /// otherwise.
    pub fn merge(&mut self, file: &Path, given: impl Fn(&str) -> bool) -> Result<()> {
        let text = read_text(file)?;
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let place = error.span().map_or(0, |span| span.start);
            let line = 1 + text[..place].bytes().filter(|&byte| byte == b'\n').count();
            Error::line(file, line as u64, error.message())
        })?;
        for (key, value) in table {
            let fail = |message: String| Error::file(file, message);
            let value = serde_json::to_value(value).map_err(|error| fail(error.to_string()))?;
            let of_negatives = fields(&self.negatives).contains_key(&key);
            if !of_negatives && !fields(&self.train).contains_key(&key) {
                let all: Vec<String> = self.fields().map(|(key, _)| key).collect();
                let all = all.join(", ");
                return Err(fail(format!("there is no setting '{key}'; there are {all}")));
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

    /// How negatives will be drawn if all may take this much memory, and how much it will be.
    pub fn plan(&self, graph: &Graph, max_memory: u64) -> Result<(NegativePlan, u64)> {
        let graph_bytes = graph.bytes();
        let beside = memory(graph, &self.train, false);
        let ahead = if self.negatives.negatives.may_be_exact() {
            memory(graph, &self.train, true) - beside
        } else {
            0
        };
        let left = max_memory.checked_sub(graph_bytes).filter(|&left| left >= beside);
        let left = left.ok_or_else(|| {
            let way_out = match self.train.trainer() {
                Trainer::Stream => "use fewer --walks or a smaller --dim",
                Trainer::Batch => "use a smaller --batch or --dim",
                Trainer::Exact => "use --trainer stream",
            };
            Error::Budget(format!(
                "vectors and pairs take {} MB, more than --max-memory; {way_out}, or allow more",
                (graph_bytes + beside).div_ceil(1_000_000)
            ))
        })?;
        let budget = Budget { memory: left, beside, ahead, ..Default::default() };
        let plan = NegativePlan::new(graph, &self.negatives, &budget)?;
        let ahead = if plan.strategy.is_some() { ahead } else { 0 };
        let total = graph_bytes + plan.peak(beside + ahead);
        Ok((plan, total))
    }

    /// Settings and graph, as a JSON object: all that vectors depend on.
    pub fn describe(&self, graph: &Graph) -> String {
        let graph = ("graph".to_owned(), format!("{:016x}", graph.fingerprint()).into());
        let all: Map<String, Value> = std::iter::once(graph).chain(self.fields()).collect();
        Value::Object(all).to_string()
    }

    /// PeriodicScores setting by its name.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (String, Value)> {
        fields(&self.negatives).into_iter().chain(fields(&self.train))
    }
}

/// Fails if a state was made with other settings than those of now, and says which.
pub(super) fn check_same(file: &Path, saved: &str, now: &str) -> Result<()> {
    if saved == now {
        return Ok(());
    }
    let refuse = |message: String| Err(Error::file(file, message));
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let (saved, now) = (parse(saved), parse(now));
    for (key, value) in now.as_object().into_iter().flatten() {
        match &saved[key] {
            same if same == value => {}
            _ if key == "graph" => return refuse("the run was on another graph".to_owned()),
            other => {
                return refuse(format!("the run had --{key} {other}, not {value}; use the same"));
            }
        }
    }
    refuse(
        "the run was made by another version of nearfar; start anew in another folder".to_owned(),
    )
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
