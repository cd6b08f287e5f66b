//! Lengths of edges: what the distance of two nodes adds up along a path.

use std::fmt;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Graph, Node};
use crate::error::{Error, Problem, Result};

/// What the distance of two nodes is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Distance {
    /// The number of edges on a shortest path
    #[default]
    #[serde(rename = "hops")]
    Hops,
    /// The sum of the lengths of its edges, read from the column --length
    #[serde(rename = "length")]
    Length,
    /// The sum of 1/weight of its edges
    #[serde(rename = "1/weight")]
    #[cfg_attr(feature = "clap", value(name = "1/weight"))]
    InverseWeight,
}

impl Distance {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
    pub(super) fn is_hops(&self) -> bool {
        *self == Self::Hops
    }

    /// The name, as it is written in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hops => "hops",
            Self::Length => "length",
            Self::InverseWeight => "1/weight",
        }
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Graph {
    /// This graph with the lengths of another that has the same nodes and, at least, the same edges.
    pub fn with_lengths_of(self, other: &Self) -> Result<Self> {
        let length = |from, _, to| other.edge_length(from, to);
        if self.nodes() == other.nodes() {
            let graph = self.with_lengths(length);
            if graph.length_range().1.is_finite() {
                return Ok(graph);
            }
        }
        Err(Error::graph("the lengths are those of other nodes or edges"))
    }

    /// This graph without its weights; lengths stay.
    #[must_use]
    pub fn without_weights(self) -> Self {
        Self { weights: None, ..self }
    }

    /// This graph with distances in hops.
    #[must_use]
    pub(crate) fn without_lengths(&self) -> Self {
        Self { lengths: None, ..self.clone() }
    }

    /// This graph with its weights as lengths, and no weights. Edges without weights have length 1.
    #[must_use]
    pub fn with_weights_as_lengths(mut self) -> Self {
        let weights = self.weights.take();
        let ones = || vec![1.0; self.arcs()].into();
        Self { lengths: Some(weights.unwrap_or_else(ones)), ..self }
    }

    /// This graph with edges of length 1/weight, which keep their weights. Fails if there are no
    /// weights, or if the inverse of one is not a 32-bit number.
    pub fn with_inverse_weights_as_lengths(self) -> Result<Self> {
        let Some(weights) = self.weights.as_deref() else {
            let problem = Problem::from("edges have no weights to take 1/weight of");
            return Err(Error::graph(problem.set("distance", "hops").give("weight")));
        };
        let inverse = |weight: &f32| (1.0 / f64::from(*weight)) as f32;
        if let Some(weight) = weights.par_iter().find_first(|&w| !inverse(w).is_normal()) {
            let message = format!("1/weight of an edge of weight {weight:e} is no 32-bit number");
            return Err(Error::graph(format!("{message}; scale the weights")));
        }
        Ok(self.with_lengths(|from, at, _| {
            self.weights(from).map_or(1.0, |weights| inverse(&weights[at]))
        }))
    }

    /// `length(from, place among its neighbours, to)` of every arc.
    fn with_lengths(&self, length: impl Fn(Node, usize, Node) -> f32 + Sync) -> Self {
        let rows = (0..self.nodes() as Node).into_par_iter();
        let lengths: Vec<f32> = rows
            .flat_map_iter(|from| {
                let length = &length;
                let targets = self.neighbours(from).iter().enumerate();
                targets.map(move |(at, &to)| length(from, at, to))
            })
            .collect();
        Self { lengths: Some(lengths.into()), ..self.clone() }
    }

    /// The lengths of the shortest and the longest edge; 1 and 1 where distances are hops.
    pub(crate) fn length_range(&self) -> (f64, f64) {
        let Some(lengths) = self.lengths.as_deref().filter(|lengths| !lengths.is_empty()) else {
            return (1.0, 1.0);
        };
        let ends = lengths.par_iter().fold(
            || (f32::INFINITY, 0.0_f32),
            |(low, high), &length| (low.min(length), high.max(length)),
        );
        let (low, high) = ends.reduce(|| (f32::INFINITY, 0.0), |a, b| (a.0.min(b.0), a.1.max(b.1)));
        (f64::from(low), f64::from(high))
    }
}
