//! Graphs whose distances are lengths.

use std::path::Path;

use super::super::{Dataset, Distance, EdgeList, Origin, Repeats};
use super::{InputFormat, ReadOptions, edges_of_file, format_of};
use crate::error::{Error, Problem, Result};

/// Reads the lengths as if they were weights; the shortest of a repeated edge counts. Weights are read
/// as well, by a second pass over the file, if an option names their column.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Dataset> {
    if format_of(path, options)? == InputFormat::Packed {
        let dataset = edges_of_file(path, options)?;
        if dataset.graph.has_lengths() {
            return Ok(with_distance(dataset, Distance::Length));
        }
        return Err(Error::file(path, none().omit("length")));
    }
    let of_lengths = ReadOptions { no_weights: false, repeats: Repeats::Min, ..options.clone() };
    let lengths = edges_of_file(path, &of_lengths)?;
    if options.weight.is_none() || options.no_weights {
        let graph = lengths.graph.with_weights_as_lengths();
        let origin = Origin::with_lengths(lengths.origin, None);
        return Ok(with_distance(Dataset { graph, origin, ..lengths }, Distance::Length));
    }
    let of_weights =
        ReadOptions { distance: Some(Distance::Hops), length: None, ..options.clone() };
    let weighted = edges_of_file(path, &of_weights)?;
    let read_bytes = weighted.read_bytes.saturating_add(lengths.graph.bytes());
    let graph = weighted.graph.with_lengths_of(&lengths.graph.with_weights_as_lengths())?;
    let origin = Origin::with_lengths(lengths.origin, Some(weighted.origin));
    let notes = lengths.notes;
    Ok(with_distance(Dataset { graph, origin, notes, read_bytes, ..weighted }, Distance::Length))
}

/// Reads weights; edges of large weight are short.
pub(super) fn of_weights(path: &Path, options: &ReadOptions) -> Result<Dataset> {
    let (given, problem) = match options {
        ReadOptions { length: Some(_), .. } => ("length", "lengths are 1/weight"),
        ReadOptions { no_weights: true, .. } => ("no-weights", "lengths of 1/weight need weights"),
        _ => {
            let dataset = edges_of_file(path, options)?;
            let graph =
                dataset.graph.with_inverse_weights_as_lengths().map_err(|error| match error {
                    Error::Graph(problem) => Error::file(path, *problem),
                    other => other,
                })?;
            return Ok(with_distance(Dataset { graph, ..dataset }, Distance::InverseWeight));
        }
    };
    Err(Error::file(path, Problem::from(problem).omit(given)))
}

/// Fails if an edge between two nodes has no length above 0.
pub(super) fn check(path: &Path, list: &EdgeList) -> Result<()> {
    let Some(lengths) = &list.weights else { return Err(Error::file(path, none())) };
    let bad = |at: &usize| !(lengths[*at].is_normal() && lengths[*at] > 0.0);
    let is_edge = |at: &usize| list.pairs[*at].0 != list.pairs[*at].1;
    match (0..lengths.len()).find(|at| bad(at) && is_edge(at)) {
        None => Ok(()),
        Some(at) => {
            let length = lengths[at];
            let message = format!("edge {} has length {length}", at + 1);
            Err(Error::file(path, format!("{message}; lengths must be finite and > 0")))
        }
    }
}

fn none() -> Problem {
    Problem::from("no lengths found").set("length", "COLUMN").set("distance", "hops")
}

fn with_distance(dataset: Dataset, distance: Distance) -> Dataset {
    let read_bytes = dataset.read_bytes.max(dataset.graph.bytes());
    let origin = Origin { distance, ..dataset.origin };
    Dataset { origin, read_bytes, ..dataset }
}
