//! Stage 2, distances: hop distances between all pairs, from some nodes, or bounds on them.

mod bfs;
mod diameter;
mod histogram;
mod hops;
mod landmarks;
mod levels;
mod outliers;
mod summary;
mod table;

pub use bfs::{MultiSourceBfs, SOURCES, SourceSet};
pub use diameter::Diameter;
pub use histogram::DistanceHistogram;
pub use hops::hops;
pub use landmarks::Landmarks;
pub use levels::Levels;
pub use outliers::{OutlierConfig, outliers};
pub use summary::DistanceSummary;
pub use table::{HopCell, HopRows, HopTable};

use std::str::FromStr;

use crate::error::{Error, Problem, Result};
use crate::graph::{Components, Graph};

/// The distance assigned to pairs of nodes in different components.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Far {
    /// One more than the largest finite distance in the graph.
    #[default]
    Auto,
    /// This many hops.
    Hops(u32),
}

impl Far {
    /// The number of hops: as given, or one more than the diameter. For a connected graph, which
    /// needs none, 1.
    pub fn hops(self, graph: &Graph, components: &Components) -> Result<u32> {
        /// The most searches spent on the diameter.
        const SEARCHES: usize = 2000;
        match self {
            Self::Hops(hops) => Ok(hops),
            Self::Auto if components.len() <= 1 => Ok(1),
            Self::Auto => {
                let diameter = Diameter::new(graph, components, SEARCHES);
                if !diameter.is_exact() {
                    let problem = Problem::from(format!(
                        "unconnected nodes need a distance, and after {SEARCHES} searches the \
                         diameter of the graph is only known to be between {} and {}",
                        diameter.at_least, diameter.at_most
                    ));
                    return Err(Error::budget(problem.give("far")));
                }
                Ok(diameter.at_least + 1)
            }
        }
    }
}

impl FromStr for Far {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "auto" => Ok(Self::Auto),
            Ok(hops) if hops > 0 => Ok(Self::Hops(hops)),
            _ => Err("expected 'auto' or a number of hops ≥ 1".to_owned()),
        }
    }
}

impl std::fmt::Display for Far {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Hops(hops) => hops.fmt(f),
        }
    }
}

impl serde::Serialize for Far {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Hops(hops) => serializer.serialize_u32(*hops),
        }
    }
}

impl<'de> serde::Deserialize<'de> for Far {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::setting::parsed(deserializer)
    }
}
