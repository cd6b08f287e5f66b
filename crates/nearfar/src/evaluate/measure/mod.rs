//! Cohesion and separation: how the similarity of vectors goes with the distance of their nodes.
//!
//! # Definitions
//!
//! S_d are the ordered pairs (i, j) of nodes that are d hops apart. Over all of them,
//!
//! ```text
//! ξ_d         mean of σ(z_i·z_j)
//! α_d         mean of π_ij, the probability that a walk from i meets j
//! β_d         mean of K·C·P_neg(j|i), the weight of j among the negatives of i
//! cohesion    Σ_d α_d Σ_{S_d} log σ( z_i·z_j)      near nodes near: the larger, the better
//! separation  Σ_d β_d Σ_{S_d} log σ(−z_i·z_j)      far nodes far: the larger, the better
//! D(A)        mean over i of D(i) = Σ_j d(i,j)
//! ```
//!
//! Pairs without a path have no distance. They are reported by themselves; as negatives they count
//! with the distance `far`, in β, separation and D(A).

mod config;
mod pairs;
mod part;
mod similarity;
mod summary;

use std::sync::Arc;

use ndarray::ArrayView2;

pub use config::MeasureConfig;
pub use summary::{Counted, FarPairs, Intervals, Measures, Uniform};

use crate::distance::Levels;
use crate::embedding::Embedding;
use crate::error::{Error, Result};
use crate::graph::{Components, Graph, Node};
use crate::positive::{Cooccurrence, Walk};
use crate::rng::{Purpose, Rng};
use pairs::{Met, Pairs};
use similarity::Bins;

/// Measures an embedding by its graph. Vectors and nodes are matched by id.
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
    let (n, dim) = (graph.nodes(), embedding.dim());
    embedding.check_finite()?;
    let vectors = embedding.in_order_of(graph)?.into_vectors();
    let bins = Bins::new(longest(&vectors, dim)?, depth(graph));
    let sources = config.sources(graph, dim);
    let all = sources == n;
    let walks = config.walks(graph, sources);
    let met = match walks {
        None => Met::Exactly(Cooccurrence::new(graph, config.context)),
        Some(walks) => {
            let (context, seed) = (config.context, config.seed);
            Met::ByWalks { walk: Walk::new(graph), walks, context, seed }
        }
    };
    let far = config.far.hops(graph, &Components::new(graph))?;
    let pairs = Pairs {
        graph,
        vectors: ArrayView2::from_shape((n, dim), &vectors)
            .map_err(|error| Error::Option(format!("{n} vectors in {dim} dimensions: {error}")))?,
        bins,
        all,
        gamma: config.gamma,
        far,
        met,
    };
    let group = if all { crate::distance::SOURCES } else { summary::group(sources) };
    let chosen = choose(n, sources, group, config.seed);
    let (parts, counts) = pairs.parts(&chosen, group)?;
    Ok(summary::summarise(&parts, &counts, bins, walks, far, (n, dim), config))
}

/// The largest product of two vectors: the square of the longest one's length.
fn longest(vectors: &[f32], dim: usize) -> Result<f64> {
    const LIMIT: f64 = 1e30;
    let square = |row: &[f32]| row.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>();
    let longest = vectors.chunks_exact(dim).map(square).fold(0.0, f64::max);
    if longest > LIMIT {
        return Err(Error::Option(format!(
            "the longest vector has a length of {:.0e}; products of such are not compared: \
             training went astray, lower the learning rate",
            longest.sqrt()
        )));
    }
    Ok(longest)
}

/// About how many distances there are: those from a node of the highest degree, twice.
fn depth(graph: &Graph) -> usize {
    let centre = (0..graph.nodes() as Node).max_by_key(|&node| graph.degree(node)).unwrap_or(0);
    2 * Levels::new(graph, centre).len()
}

/// The sources: all in their order, or random ones, each group of them sorted.
fn choose(n: usize, count: usize, group: usize, seed: u64) -> Vec<Node> {
    let mut nodes: Vec<Node> = (0..n as Node).collect();
    if count < n {
        Rng::new(seed, Purpose::Source, 0, 0).shuffle(&mut nodes);
        nodes.truncate(count);
        nodes.chunks_mut(group).for_each(<[Node]>::sort_unstable);
    }
    nodes
}
