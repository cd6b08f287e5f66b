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
pub(crate) use diameter::has_long_distances;
pub use histogram::DistanceHistogram;
pub use hops::hops;
pub use landmarks::Landmarks;
pub use levels::Levels;
pub use outliers::{OutlierConfig, outliers};
pub use summary::DistanceSummary;
pub use table::{HopCell, HopRows, HopTable};

use std::str::FromStr;

use crate::graph::{Components, Graph};

/// The distance assigned to pairs of nodes in different components.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Far {
    /// One more than the largest finite distance in the graph, or than a bound on it where the
    /// diameter takes too many searches.
    #[default]
    Auto,
    /// This many hops.
    Hops(u32),
}

impl Far {
    /// The number of hops: as given, or one more than the diameter. For a connected graph, which
    /// needs none, 1. Where the diameter takes too many searches (rings and the like), one more
    /// than a bound on it.
    pub fn hops(self, graph: &Graph, components: &Components) -> u32 {
        /// Nodes and edges visited, which takes some seconds, and at most so many searches.
        const VISITS: usize = 1_000_000_000;
        const SEARCHES: usize = 2000;
        match self {
            Self::Hops(hops) => hops,
            Self::Auto if components.len() <= 1 => 1,
            Self::Auto => {
                let visits = (graph.nodes() + graph.arcs()).max(1);
                let searches = (VISITS / visits).clamp(64, SEARCHES);
                Diameter::new(graph, components, searches).at_most + 1
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
