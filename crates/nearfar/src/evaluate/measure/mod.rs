//! Cohesion and separation: similarity of vectors by distance of their nodes.
//!
//! # Definitions
//!
//! S_d is the set of ordered node pairs (i, j) that are d hops apart, from i to j in a directed graph;
//! where distances are lengths, those in bin d of lengths of one width. Over these pairs,
//!
//! ```text
//! ξ_d         mean of σ(z_i·z_j)
//! α_d         mean of π_ij, the probability that j co-occurs with i in a walk from i
//! β_d         mean of K·C·P_neg(j|i), the weight of j among the negatives of i
//! cohesion    Σ_d α_d Σ_{S_d} log σ( z_i·z_j)      similarity of positive pairs; larger is better
//! separation  Σ_d β_d Σ_{S_d} log σ(−z_i·z_j)      dissimilarity of negative pairs; larger is better
//! D(A)        mean over i of D(i) = Σ_j d(i,j)
//! ```
//!
//! The training objective is defined in [`objective`].
//!
//! Unconnected pairs have no distance and are reported separately; in β, separation and D(A) they
//! count with the distance `far`.

mod config;
mod lengths;
mod objective;
mod pairs;
mod similarity;
mod summary;
mod sums;

use std::sync::Arc;

use ndarray::ArrayView2;

pub use config::MeasureConfig;
pub use objective::{Objective, ObjectiveConfig, objective};
pub use summary::{Counted, FarPairs, Intervals, Measures, Uniform};

use crate::distance::{Far, LengthBins, Levels};
use crate::embedding::Embedding;
use crate::error::{Error, Problem, Result};
use crate::graph::{Components, Graph, Node};
use crate::positive::{Cooccurrence, Walk};
use crate::rng::{Purpose, Rng};
use lengths::Lengths;
use pairs::{PairMeasurement, WalkCooccurrence};
use similarity::Bins;

/// Measures an embedding against its graph. Vectors and nodes are matched by id.
///
/// ```
/// use std::sync::Arc;
/// use nearfar::embedding::Embedding;
/// use nearfar::evaluate::measure::{MeasureConfig, measure};
/// use nearfar::graph::{ReadOptions, read};
///
/// let graph = Arc::new(read("builtin:karate", &ReadOptions::default())?.graph);
/// let zero = Embedding::new(graph.ids().clone(), 4, vec![0.0; 34 * 4])?;
/// let measures = measure(&zero, &graph, &MeasureConfig::default())?;
/// assert_eq!(measures.pairs[0], 156);
/// assert!(measures.xi.iter().all(|xi| *xi == 0.5));
/// # Ok::<(), nearfar::Error>(())
/// ```
pub fn measure(
    embedding: &Embedding,
    graph: &Arc<Graph>,
    config: &MeasureConfig,
) -> Result<Measures> {
    config.validate()?;
    if config.negatives.far == Far::Undirected {
        let problem = Problem::from("measures take one distance for all pairs without a path");
        return Err(Error::conflict(problem.set("far", "auto")));
    }
    let (n, dim) = (graph.nodes(), embedding.dim());
    embedding.check_finite()?;
    let vectors = embedding.in_order_of(graph)?.into_vectors();
    let lengths = graph.has_lengths().then(|| Lengths {
        bins: LengthBins::new(graph),
        gamma: config.negatives.gamma,
        far: config.negatives.far.length(graph),
    });
    let distances = if lengths.is_some() { BINS } else { max_distances(graph) };
    let bins = Bins::new(largest_product(&vectors, dim)?, distances);
    let sources = config.sources(graph, dim);
    // Of an undirected graph, every pair is measured once.
    let all = sources == n && !graph.is_directed();
    let walks = config.walks(graph, sources);
    let cooccurrence = match walks {
        None => WalkCooccurrence::Exact(Cooccurrence::new(graph, config.context)),
        Some(walks) => {
            let (context, seed) = (config.context, config.seed);
            WalkCooccurrence::Sampled { walk: Walk::new(graph), walks, context, seed }
        }
    };
    let far = match &lengths {
        Some(lengths) => Far::Length(lengths.far).hops(graph, &Components::new(graph)),
        None => config.negatives.far.hops(graph, &Components::new(graph)),
    };
    let pairs = PairMeasurement {
        graph,
        vectors: ArrayView2::from_shape((n, dim), &vectors).map_err(|error| {
            Error::conflict(format!("{n} vectors in {dim} dimensions: {error}"))
        })?,
        bins,
        all,
        gamma: config.negatives.gamma,
        far,
        lengths,
        cooccurrence,
    };
    let group = if all { crate::distance::SOURCES } else { summary::group(sources) };
    let chosen = choose(n, sources, group, config.seed);
    let (mut groups, histogram) = pairs.measure(&chosen, group)?;
    let lengths = lengths.map(|lengths| (lengths, lengths::remove_empty_bins(&mut groups)));
    let measures = summary::summarise(&groups, &histogram, bins, walks, far, (n, dim), config);
    let measures = match lengths {
        Some((lengths, bins)) => measures.by_length(&lengths, &bins),
        None => measures,
    };
    let objective = config.objective.then(|| objective(embedding, graph, &config.into()));
    Ok(Measures { objective: objective.transpose()?, ..measures })
}

/// About twice as many bins as lengths have at least.
const BINS: usize = 64;

/// The largest dot product of two vectors: the square of the largest norm.
fn largest_product(vectors: &[f32], dim: usize) -> Result<f64> {
    const LIMIT: f64 = 1e30;
    let square = |row: &[f32]| row.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>();
    let largest = vectors.chunks_exact(dim).map(square).fold(0.0, f64::max);
    if largest > LIMIT {
        return Err(Error::conflict(format!(
            "the largest vector norm is {:.0e}, too large to compare products; training diverged: \
             lower the learning rate",
            largest.sqrt()
        )));
    }
    Ok(largest)
}

/// An estimate of the number of distances: twice the number of levels around a node of the highest
/// degree.
fn max_distances(graph: &Graph) -> usize {
    let centre = (0..graph.nodes() as Node).max_by_key(|&node| graph.degree(node)).unwrap_or(0);
    2 * Levels::new(graph, centre).len()
}

/// The sources: all nodes in order, or a random sample, sorted within each group.
fn choose(n: usize, count: usize, group: usize, seed: u64) -> Vec<Node> {
    let mut nodes: Vec<Node> = (0..n as Node).collect();
    if count < n {
        Rng::new(seed, Purpose::Source, 0, 0).shuffle(&mut nodes);
        nodes.truncate(count);
        nodes.chunks_mut(group).for_each(<[Node]>::sort_unstable);
    }
    nodes
}
