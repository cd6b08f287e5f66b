//! What can be asked for.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::distance::Far;
use crate::error::{Error, Result};

/// The laws. i is the centre, k its negative, never i itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Negatives {
    /// `distance` where it fits memory and time, else `landmark-approx`
    #[default]
    Auto,
    /// PeriodicScores node alike
    Uniform,
    /// ∝ degree of k to the power of --degree-power
    Degree,
    /// ∝ hop distance of i and k to the power of --gamma
    Distance,
    /// `distance`, but no node above the uniform probability
    DistanceMin,
    /// `distance`, but no node below the uniform probability
    DistanceMax,
    /// ∝ distance through landmarks, to the power of --gamma; little memory
    LandmarkApprox,
    /// A landmark ∝ its distance from that of i, then any node near it; little memory
    Landmark,
    /// PeriodicScores node alike that has no edge to i
    Edge,
}

impl Negatives {
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

    /// Whether it may ask for exact distances.
    pub(crate) fn may_be_exact(self) -> bool {
        use Negatives::{Auto, Distance, DistanceMax, DistanceMin};
        matches!(self, Auto | Distance | DistanceMin | DistanceMax)
    }
}

/// Where the distances of `distance`, `distance-min` and `distance-max` come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Strategy {
    /// The faster one of those that fit memory and time
    #[default]
    Auto,
    /// A table of all distances: n² bytes, and the fastest draws
    Table,
    /// A search around every centre that is asked for: little memory, and a search each time
    Levels,
}

/// A share of the nodes or a number of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LandmarkCount {
    /// A share, above 0 and at most 1. Written with a point: `0.1`.
    Fraction(f64),
    /// A number, at least 1. Written without: `1000`.
    Count(usize),
}

/// Which negatives to draw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct NegativeConfig {
    /// The law that negatives are drawn from
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t = Self::default().negatives))]
    pub negatives: Negatives,
    /// Exponent of the distance; negative values draw nearby nodes more often
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().gamma, allow_negative_numbers = true))]
    pub gamma: f64,
    /// Exponent of the degree in `--negatives degree`
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().degree_power))]
    pub degree_power: f64,
    /// Landmarks: a share of the nodes (0.1) or a number (1000) [default: 0.1, but no more than
    /// 64 MB of distances between them]
    #[cfg_attr(feature = "clap", arg(long))]
    pub landmarks: Option<LandmarkCount>,
    /// Distance of nodes without a path: a number of hops, or `auto`, one more than the largest
    /// distance in the graph
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().far))]
    pub far: Far,
    /// Where exact distances come from
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
        let refuse = |message: String| Err(Error::Option(message));
        if !(-STEEPEST..=STEEPEST).contains(&self.gamma) {
            return refuse(format!("gamma is {}; it takes a number from −64 to 64", self.gamma));
        }
        if !(0.0..=STEEPEST).contains(&self.degree_power) {
            let power = self.degree_power;
            return refuse(format!("degree-power is {power}; it takes a number from 0 to 64"));
        }
        match self.landmarks {
            Some(LandmarkCount::Fraction(share)) if !(share > 0.0 && share <= 1.0) => {
                refuse(format!("landmarks is {share}; a share is above 0 and at most 1"))
            }
            Some(LandmarkCount::Count(0)) => {
                refuse("landmarks is 0; it takes at least 1".to_owned())
            }
            _ => Ok(()),
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
        share.map_err(|_| "a share such as 0.1 or a number such as 1000".to_owned())
    }
}

impl std::fmt::Display for LandmarkCount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            // A share keeps its point: 1.0 is all nodes, 1 is one.
            Self::Fraction(share) => write!(f, "{share:?}"),
            Self::Count(count) => count.fmt(f),
        }
    }
}

/// In files, an amount is the number that is written on the command line.
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
