//! Settings in files: `--config`, and what a checkpoint was made with.

use std::path::Path;

use anyhow::{Context, bail};
use clap::parser::ValueSource;
use nearfar::graph::Graph;
use nearfar::negative::NegativeConfig;
use nearfar::train::TrainConfig;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Takes settings from a TOML file, but for those that were given on the command line.
pub(super) fn merge(
    file: &Path,
    given: &clap::ArgMatches,
    negatives: &mut NegativeConfig,
    train: &mut TrainConfig,
) -> anyhow::Result<()> {
    let name = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("--config {name}"))?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let place = error.span().map_or(0, |span| span.start);
        let line = text[..place].lines().count().max(1);
        anyhow::anyhow!("{name}:{line}: {}", error.message())
    })?;
    for (key, value) in table {
        let value = serde_json::to_value(value)?;
        let on_command_line = |key: &str| {
            given.value_source(&key.replace('-', "_")) == Some(ValueSource::CommandLine)
        };
        let known = has(negatives, &key)? || has(train, &key)?;
        if !known {
            let all = [keys(negatives)?, keys(train)?].concat();
            bail!("{name}: there is no setting '{key}'; there are {}", all.join(", "));
        }
        if on_command_line(&key) {
            continue;
        }
        let set = if has(negatives, &key)? {
            set(negatives, &key, value)
        } else {
            set(train, &key, value)
        };
        set.with_context(|| format!("{name}: {key}"))?;
    }
    Ok(())
}

/// All that the vectors depend on, as a JSON object.
pub(super) fn describe(
    graph: &Graph,
    negatives: &NegativeConfig,
    train: &TrainConfig,
) -> anyhow::Result<String> {
    let mut all = serde_json::json!({"graph": format!("{:016x}", graph.fingerprint())});
    for settings in [serde_json::to_value(negatives)?, serde_json::to_value(train)?] {
        for (key, value) in settings.as_object().into_iter().flatten() {
            all[key] = value.clone();
        }
    }
    Ok(all.to_string())
}

/// Fails if a state was made with other settings than those of now, and says which.
pub(super) fn check_same(file: &Path, saved: &str, now: &str) -> anyhow::Result<()> {
    if saved == now {
        return Ok(());
    }
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let (saved, now) = (parse(saved), parse(now));
    let name = file.display();
    for (key, value) in now.as_object().into_iter().flatten() {
        match &saved[key] {
            same if same == value => {}
            _ if key == "graph" => bail!("{name}: the run was on another graph"),
            other => bail!("{name}: the run had --{key} {other}, not {value}; use the same"),
        }
    }
    bail!("{name}: the run was made by another version of nearfar; start anew in another folder")
}

fn keys(settings: &impl Serialize) -> anyhow::Result<Vec<String>> {
    let value = serde_json::to_value(settings)?;
    Ok(value.as_object().into_iter().flat_map(|object| object.keys().cloned()).collect())
}

fn has(settings: &impl Serialize, key: &str) -> anyhow::Result<bool> {
    Ok(keys(settings)?.iter().any(|known| known == key))
}

fn set<T: Serialize + DeserializeOwned>(
    settings: &mut T,
    key: &str,
    new: Value,
) -> anyhow::Result<()> {
    let mut value = serde_json::to_value(&*settings)?;
    value[key] = new;
    *settings = serde_json::from_value(value)?;
    Ok(())
}
