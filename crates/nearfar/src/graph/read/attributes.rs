//! Which attributes of an edge are read, by name.

use std::path::Path;

use super::columns::{LENGTHS, known_ends};
use super::{Column, ReadOptions};
use crate::error::{Error, Problem, Result};

/// Names of sources and targets.
const ENDS: [(&str, &str); 4] = [("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v")];

/// The attributes that are wanted.
pub(super) struct Wanted<'a> {
    options: &'a ReadOptions,
    /// Names of weights, best first.
    weights: Vec<&'a str>,
}

impl<'a> Wanted<'a> {
    /// Of a format that has its own way to state the ends of an edge.
    pub(super) fn of(path: &Path, options: &'a ReadOptions) -> Result<Self> {
        without(path, options, &["source", "target"])?;
        Self::of_table(path, options)
    }

    /// Of a format in which the ends of an edge have names, too.
    pub(super) fn of_table(path: &Path, options: &'a ReadOptions) -> Result<Self> {
        without(path, options, &["header", "sep"])?;
        let weights = match options.value().1 {
            _ if options.no_weights => Vec::new(),
            Some(name) => vec![name.as_str()],
            None if options.reads_lengths() => [&LENGTHS[..], &["weight", "value"]].concat(),
            None => vec!["weight", "value"],
        };
        Ok(Self { options, weights })
    }

    /// The names of weights, best first.
    pub(super) fn weights(&self) -> &[&'a str] {
        &self.weights
    }

    /// The place of a name among those of weights.
    pub(super) fn rank(&self, name: &str) -> Option<usize> {
        self.weights.iter().position(|wanted| *wanted == name)
    }

    /// The names of the two ends, best first. `keys` are those of the first edge, if they are known.
    pub(super) fn ends(&self, keys: &[String]) -> Vec<(String, String)> {
        let ReadOptions { source, target, .. } = self.options;
        if let (None, None, Some((a, b))) = (source, target, known_ends(keys)) {
            return vec![(keys[a].clone(), keys[b].clone())];
        }
        let name = |column: &Option<Column>, usual: &str| {
            column.as_ref().map_or(usual, |column| column.as_str()).to_owned()
        };
        let mut ends: Vec<(String, String)> =
            ENDS.iter().map(|(a, b)| (name(source, a), name(target, b))).collect();
        ends.dedup();
        ends
    }

    /// The positions of source, target and weight in an array, and whether the user chose one.
    pub(super) fn positions(&self) -> ([usize; 3], bool) {
        let ReadOptions { source, target, .. } = self.options;
        let weight = &self.options.value().1.cloned();
        let mut positions = [0, 1, 2];
        let mut chosen = false;
        for (position, column) in positions.iter_mut().zip([source, target, weight]) {
            if let Some(at) = column.as_ref().and_then(Column::number) {
                (*position, chosen) = (at, true);
            }
        }
        (positions, chosen)
    }
}

/// Fails if an option is given that has no meaning in the format of the file.
pub(super) fn without(path: &Path, options: &ReadOptions, names: &[&'static str]) -> Result<()> {
    match options.given(names) {
        None => Ok(()),
        Some(name) => {
            let problem = Problem::from("this format has no columns to choose from");
            Err(Error::file(path, problem.omit(name)))
        }
    }
}

/// Parses a weight.
pub(super) fn weight(text: &str) -> Result<f32, String> {
    match text.trim().parse::<f32>() {
        Ok(weight) if weight.is_finite() && weight >= 0.0 => Ok(weight),
        Ok(_) => Err(format!("weight {text}; weights must be finite and ≥ 0")),
        Err(_) => Err(format!("'{text}' is not a weight; expected a number ≥ 0")),
    }
}
