//! Stage 2, distances: hop distances between all pairs, from some nodes, or bounds on them.

mod bfs;
mod diameter;
mod histogram;
mod hops;
mod landmarks;
mod levels;
mod outliers;
mod paths;
mod routes;
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
pub use paths::{Along, ShortestPaths};
pub use routes::Routes;
pub use summary::DistanceSummary;
pub use table::{CellArray, HopCell, HopRows, HopTable};

use std::str::FromStr;

use crate::graph::{Components, Graph};

/// The distance assigned to pairs of nodes without a path: in different components or, in a directed
/// graph, against the arcs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Far {
    /// One more than the largest finite distance in the graph, or than a bound on it where the
    /// diameter takes too many searches.
    #[default]
    Auto,
    /// This many hops.
    Hops(u32),
    /// The distance in the undirected graph, and `Auto` where that has no path either.
    Undirected,
}

impl Far {
    /// The number of hops: as given, or one more than the diameter. For a connected graph, which
    /// needs none, 1. Where the diameter takes too many searches (rings and the like), one more
    /// than an upper bound on it; in a directed graph, than the largest distance found.
    pub fn hops(self, graph: &Graph, components: &Components) -> u32 {
        /// Nodes and edges visited, which takes some seconds, and at most so many searches.
        const VISITS: usize = 1_000_000_000;
        const SEARCHES: usize = 2000;
        match self {
            Self::Hops(hops) => hops,
            Self::Auto | Self::Undirected if components.len() <= 1 && !graph.is_directed() => 1,
            Self::Auto | Self::Undirected => {
                let visits = (graph.nodes() + graph.arcs()).max(1);
                let searches = (VISITS / visits).clamp(64, SEARCHES);
                let diameter = Diameter::new(graph, components, searches);
                1 + if graph.is_directed() { diameter.at_least } else { diameter.at_most }
            }
        }
    }
}

impl FromStr for Far {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "auto" => Ok(Self::Auto),
            _ if text == "undirected" => Ok(Self::Undirected),
            Ok(hops) if hops > 0 => Ok(Self::Hops(hops)),
            _ => Err("expected 'auto', 'undirected' or a number of hops ≥ 1".to_owned()),
        }
    }
}

impl std::fmt::Display for Far {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Undirected => f.write_str("undirected"),
            Self::Hops(hops) => hops.fmt(f),
        }
    }
}

impl serde::Serialize for Far {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Undirected => serializer.serialize_str("undirected"),
            Self::Hops(hops) => serializer.serialize_u32(*hops),
        }
    }
}

impl<'de> serde::Deserialize<'de> for Far {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::setting::parsed(deserializer)
    }
}
