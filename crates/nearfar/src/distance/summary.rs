//! Statistics of a graph: sizes, components and distances.

use std::collections::BTreeMap;

use super::diameter::has_long_distances;
use super::{Diameter, DistanceHistogram, LengthSummary};
use crate::budget::product;
use crate::graph::{Components, Graph, GraphStats};

/// The statistics of the paper's table 1, and more.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct DistanceSummary {
    /// Sizes, degrees and components.
    #[serde(flatten)]
    pub graph: GraphStats,
    /// Whether edges have weights.
    pub weighted: bool,
    /// The number of classes, set by the caller: the graph has no labels.
    pub classes: Option<usize>,
    /// The largest finite distance found.
    pub diameter: u32,
    /// Whether `diameter` is exact, or only a lower bound.
    pub diameter_exact: bool,
    /// The mean distance of connected pairs.
    pub mean_distance: f64,
    /// Ordered pairs of distinct nodes by distance.
    pub distance_histogram: BTreeMap<u32, u64>,
    /// Ordered pairs without a path.
    pub unreachable_pairs: u64,
    /// The number of nodes searched from; all of them if the histogram is exact.
    pub distance_sources: usize,
    /// Distances by length, where edges have lengths. All others are in hops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lengths: Option<LengthSummary>,
}

impl DistanceSummary {
    /// Counts distances from `sources` random nodes, or from all nodes if there are no more.
    /// `None` means all nodes, or 1024 in graphs where that would take minutes.
    pub fn new(graph: &Graph, sources: Option<usize>, seed: u64) -> Self {
        let components = Components::new(graph);
        let histogram = histogram(graph, &components, sources, seed);
        let exact = histogram.sources == graph.nodes();
        let (diameter, diameter_exact) = if exact {
            (histogram.largest(), true)
        } else {
            // A few dozen searches determine the diameter of most real graphs.
            let diameter = Diameter::new(graph, &components, 64);
            (diameter.at_least.max(histogram.largest()), diameter.is_exact())
        };
        Self {
            graph: GraphStats::new(graph, &components),
            weighted: graph.is_weighted(),
            classes: None,
            diameter,
            diameter_exact,
            mean_distance: histogram.mean(),
            distance_histogram: (0..).zip(histogram.pairs).skip(1).collect(),
            unreachable_pairs: histogram.unreachable,
            distance_sources: histogram.sources,
            lengths: graph.has_lengths().then(|| LengthSummary::new(graph, sources, seed)),
        }
    }
}

fn histogram(
    graph: &Graph,
    components: &Components,
    sources: Option<usize>,
    seed: u64,
) -> DistanceHistogram {
    /// Nodes × (nodes + arcs) up to which all distances are counted, one or two minutes on two
    /// cores: by searches from many sources at once, and one by one.
    const TOGETHER: u64 = 400_000_000_000;
    const ALONE: u64 = 40_000_000_000;
    const SAMPLE: usize = 1024;
    let visits = product([graph.nodes(), graph.nodes() + graph.arcs()]);
    let quick = visits <= if has_long_distances(graph, components) { ALONE } else { TOGETHER };
    let count = sources.unwrap_or(if quick { graph.nodes() } else { SAMPLE });
    if count >= graph.nodes() {
        DistanceHistogram::exact(graph)
    } else {
        DistanceHistogram::sampled(graph, count, seed)
    }
}
