//! Stage 2, distances: hop distances between all pairs, from some nodes, or bounds on them.

mod bfs;
mod diameter;
mod histogram;
mod hops;
mod landmarks;
mod length_bins;
mod levels;
mod outliers;
mod routes;
mod shortest;
mod summary;
mod table;

pub use bfs::{MultiSourceBfs, SOURCES, SourceSet};
pub use diameter::Diameter;
pub(crate) use diameter::has_long_distances;
pub use histogram::DistanceHistogram;
pub use hops::hops;
pub use landmarks::Landmarks;
pub use length_bins::{LengthBins, LengthSummary};
pub use levels::Levels;
pub use outliers::{OutlierConfig, outliers};
pub use routes::Routes;
pub use shortest::{Along, LengthRows, ShortestPaths, lengths};
pub use summary::DistanceSummary;
pub use table::{CellArray, HopCell, HopRows, HopTable};

use std::str::FromStr;

use crate::graph::{Components, Graph};

/// The distance assigned to pairs of nodes without a path: in different components or, in a directed
/// graph, against the arcs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Far {
    /// The largest finite distance in the graph and the longest edge, or a bound on it where the
    /// diameter takes too many searches. Edges of one hop: one more than the diameter.
    #[default]
    Auto,
    /// This many hops, or this length.
    Hops(u32),
    /// This length.
    Length(f64),
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
            Self::Length(length) => length.ceil() as u32,
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

impl Far {
    /// The distance where distances are lengths: as given, or the largest finite one and the longest
    /// edge. In graphs that are too large for a search from every node, the largest that some searches
    /// find.
    pub fn length(self, graph: &Graph) -> f64 {
        match self {
            Self::Hops(hops) => f64::from(hops),
            Self::Length(length) => length,
            Self::Auto | Self::Undirected => {
                shortest::longest_distance(graph) + graph.length_range().1
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
            _ => match text.parse() {
                Ok(length) if f64::is_normal(length) && length > 0.0 => Ok(Self::Length(length)),
                _ => Err("expected 'auto', 'undirected' or a number above 0".to_owned()),
            },
        }
    }
}

impl std::fmt::Display for Far {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Undirected => f.write_str("undirected"),
            Self::Hops(hops) => hops.fmt(f),
            Self::Length(length) => length.fmt(f),
        }
    }
}

impl serde::Serialize for Far {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Undirected => serializer.serialize_str("undirected"),
            Self::Hops(hops) => serializer.serialize_u32(*hops),
            Self::Length(length) => serializer.serialize_f64(*length),
        }
    }
}

impl<'de> serde::Deserialize<'de> for Far {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::setting::parsed(deserializer)
    }
}
