//! Options of negative sampling.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::law::Bound;
use crate::distance::Far;
use crate::error::{Error, Result};

/// The laws. i is the centre, k ≠ i its negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Negatives {
    /// `distance` where it fits memory and time, else `landmark-approx`
    #[default]
    Auto,
    /// Every node with the same probability
    Uniform,
    /// ∝ degree of k to the power of --degree-power
    Degree,
    /// ∝ distance of i and k to the power of --gamma
    Distance,
    /// `distance`, with no probability above the uniform one
    DistanceMin,
    /// `distance`, with no probability below the uniform one
    DistanceMax,
    /// ∝ distance through landmarks to the power of --gamma; O(p² + n) memory
    LandmarkApprox,
    /// A landmark ∝ its distance from the landmark of i, then a node of its cluster; O(p² + n) memory
    Landmark,
    /// Every node without an edge to i, with the same probability
    Edge,
}

impl Negatives {
    /// On which side probabilities are clamped.
    pub(super) fn bound(self) -> Bound {
        match self {
            Self::DistanceMin => Bound::Min,
            Self::DistanceMax => Bound::Max,
            _ => Bound::None,
        }
    }

    /// The name, as it is written in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Uniform => "uniform",
            Self::Degree => "degree",
            Self::Distance => "distance",
            Self::DistanceMin => "distance-min",
            Self::DistanceMax => "distance-max",
            Self::LandmarkApprox => "landmark-approx",
            Self::Landmark => "landmark",
            Self::Edge => "edge",
        }
    }
}

/// Where the distances of `distance`, `distance-min` and `distance-max` come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Strategy {
    /// The faster one that fits memory and time
    #[default]
    Auto,
    /// A table of all distances: n² bytes for hops, 4 n² for lengths; the fastest draws
    Table,
    /// A search from each centre: O(n) memory, slower draws
    Levels,
}

/// How many landmarks: a fraction of the nodes or a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LandmarkCount {
    /// A fraction, above 0 and at most 1. Written with a point: `0.1`.
    Fraction(f64),
    /// A number, at least 1. Written without: `1000`.
    Count(usize),
}

/// Which negatives to draw, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args), command(next_help_heading = "Negatives"))]
pub struct NegativeConfig {
    /// Distribution of the negatives of a centre i
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t = Self::default().negatives))]
    pub negatives: Negatives,
    /// Exponent of the distance; negative values draw nearby nodes more often
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().gamma, allow_negative_numbers = true))]
    pub gamma: f64,
    /// Exponent of the degree in `--negatives degree`
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().degree_power))]
    pub degree_power: f64,
    /// Landmarks: a fraction of the nodes (0.1) or a number (1000) [default: 0.1, with at most
    /// 64 MB of distances between landmarks]
    #[cfg_attr(feature = "clap", arg(long))]
    pub landmarks: Option<LandmarkCount>,
    /// Distance of nodes without a path, in hops or as a length; `auto` is one edge, the longest, more
    /// than the diameter; `undirected`, in a directed graph, is the distance without the directions
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().far))]
    pub far: Far,
    /// How exact distances are found
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t = Self::default().strategy))]
    pub strategy: Strategy,
}

impl Default for NegativeConfig {
    fn default() -> Self {
        Self {
            negatives: Negatives::Auto,
            gamma: 1.0,
            degree_power: 0.75,
            landmarks: None,
            far: Far::Auto,
            strategy: Strategy::Auto,
        }
    }
}

impl NegativeConfig {
    /// Checks what can be checked without a graph.
    pub fn validate(&self) -> Result<()> {
        const STEEPEST: f64 = 64.0;
        if !(-STEEPEST..=STEEPEST).contains(&self.gamma) {
            return Err(Error::option("gamma", self.gamma, "expected −64 to 64"));
        }
        if !(0.0..=STEEPEST).contains(&self.degree_power) {
            return Err(Error::option("degree-power", self.degree_power, "expected 0 to 64"));
        }
        match self.landmarks {
            Some(LandmarkCount::Fraction(share)) if !(share > 0.0 && share <= 1.0) => {
                Err(Error::option("landmarks", share, "a fraction is above 0 and at most 1"))
            }
            Some(LandmarkCount::Count(0)) => {
                Err(Error::option("landmarks", 0, "expected at least 1"))
            }
            _ => Ok(()),
        }
    }
}

impl LandmarkCount {
    /// The number in a graph of n nodes.
    pub(super) fn of(self, n: usize) -> Result<usize> {
        match self {
            Self::Fraction(part) => Ok(((n as f64 * part).round() as usize).clamp(1, n)),
            Self::Count(count) if count > n => {
                Err(Error::option("landmarks", count, format!("the graph has {n} nodes")))
            }
            Self::Count(count) => Ok(count),
        }
    }
}

impl FromStr for LandmarkCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(count) = text.parse() {
            return Ok(Self::Count(count));
        }
        let share = text.parse().map(Self::Fraction);
        share.map_err(|_| "expected a fraction such as 0.1 or a number such as 1000".to_owned())
    }
}

impl std::fmt::Display for LandmarkCount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            // A fraction keeps its point: 1.0 is all nodes, 1 is one.
            Self::Fraction(share) => write!(f, "{share:?}"),
            Self::Count(count) => count.fmt(f),
        }
    }
}

/// In files, the number as on the command line.
impl Serialize for LandmarkCount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fraction(share) => serializer.serialize_f64(*share),
            Self::Count(count) => serializer.serialize_u64(*count as u64),
        }
    }
}

impl<'de> Deserialize<'de> for LandmarkCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Number {
            Count(usize),
            Fraction(f64),
        }
        Ok(match Number::deserialize(deserializer)? {
            Number::Count(count) => Self::Count(count),
            Number::Fraction(share) => Self::Fraction(share),
        })
    }
}
