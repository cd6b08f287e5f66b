//! Stage 9, projection: vectors as points in the plane.
//!
//! t-SNE preserves neighbourhoods (van der Maaten and Hinton, *Visualizing data using t-SNE*, 2008);
//! large distances in it mean little. PCA is an orthogonal projection: it never increases distances,
//! but distant vectors may coincide. Both depend only on the vectors and the seed, not on the number
//! of threads. [`pivot_layout`] is a layout of the graph instead: of its distances.

mod affinity;
mod barnes_hut;
mod nearest;
mod pca;
mod pivot;
mod tsne;

use ndarray::{Array2, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub(crate) use pca::principal_directions;
pub use pivot::pivot_layout;

use crate::embedding::Embedding;
use crate::error::{Error, Result};
use crate::graph::Node;
use crate::rng::{Purpose, Rng};
use nearest::{nearest, nearest_by_cells};

/// A projection method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Method {
    /// t-SNE: preserves neighbourhoods
    #[default]
    Tsne,
    /// PCA: the two directions of largest variance
    Pca,
}

/// The distance between vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Metric {
    /// Cosine: compares directions
    #[default]
    Cosine,
    /// Euclidean: compares directions and norms
    Euclidean,
}

/// Settings of a projection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProjectConfig {
    /// The method.
    pub method: Method,
    /// The distance between vectors.
    pub metric: Metric,
    /// Perplexity of t-SNE: its effective number of neighbours.
    pub perplexity: f64,
    /// Iterations of t-SNE; the first third with early exaggeration.
    pub steps: usize,
    /// Largest number of nodes to run t-SNE on; in larger graphs it runs on a random sample, and the
    /// other nodes are interpolated.
    pub points: usize,
    /// Seed of the sample and the initial positions.
    pub seed: u64,
}

impl Default for ProjectConfig {
    fn default() -> Self {
        let (method, metric) = (Method::default(), Metric::default());
        Self { method, metric, perplexity: 30.0, steps: 750, points: 20_000, seed: 0 }
    }
}

impl ProjectConfig {
    /// Checks the ranges of the settings.
    pub fn validate(&self) -> Result<()> {
        if !(self.perplexity >= 1.0 && self.perplexity <= 1000.0) {
            return Err(Error::option("perplexity", self.perplexity, "expected 1 to 1000"));
        }
        if self.points < 10 {
            return Err(Error::option("points", self.points, "expected at least 10"));
        }
        Ok(())
    }
}

/// Positions in the plane.
#[derive(Clone, Debug, PartialEq)]
pub struct Projection {
    /// The position of every node.
    pub positions: Vec<[f32; 2]>,
    /// Number of nodes that the method ran on; the others were interpolated.
    pub fitted: usize,
}

/// Projects vectors to the plane.
///
/// ```
/// use nearfar::embedding::Embedding;
/// use nearfar::graph::NodeIds;
/// use nearfar::project::{ProjectConfig, project};
/// let vectors = vec![1.0, 0.0, 0.0, 0.9, 0.1, 0.0, 0.0, 0.0, 1.0];
/// let embedding = Embedding::new(NodeIds::Range { start: 0, len: 3 }, 3, vectors)?;
/// let positions = project(&embedding, &ProjectConfig::default())?.positions;
/// let square = |a: usize, b: usize| -> f32 {
///     (0..2).map(|axis| (positions[a][axis] - positions[b][axis]).powi(2)).sum()
/// };
/// assert!(square(0, 1) < square(0, 2));
/// # Ok::<(), nearfar::Error>(())
/// ```
pub fn project(embedding: &Embedding, config: &ProjectConfig) -> Result<Projection> {
    project_from(embedding, config, None)
}

/// Projects as [`project`] does; t-SNE of a sample starts from given positions of all nodes, so that
/// their arrangement is kept where similarities do not decide.
pub fn project_from(
    embedding: &Embedding,
    config: &ProjectConfig,
    start: Option<&[[f32; 2]]>,
) -> Result<Projection> {
    config.validate()?;
    embedding.check_finite()?;
    let n = embedding.nodes();
    let vectors = normalised(embedding, config.metric);
    if config.method == Method::Pca {
        return Ok(Projection { positions: pca_positions(&vectors), fitted: n });
    }
    if n <= config.points {
        return Ok(Projection { positions: tsne_positions(&vectors, config, None), fitted: n });
    }
    let mut nodes: Vec<Node> = (0..n as Node).collect();
    Rng::new(config.seed, Purpose::Projection, 0, 0).shuffle(&mut nodes);
    let (sample, others) = nodes.split_at_mut(config.points);
    sample.sort_unstable();
    others.sort_unstable();
    let select = |nodes: &[Node]| {
        vectors.select(Axis(0), &nodes.iter().map(|&node| node as usize).collect::<Vec<_>>())
    };
    let fitted_vectors = select(sample);
    let start = start.map(|start| sample.iter().map(|&node| start[node as usize]).collect());
    let fitted = tsne_positions(&fitted_vectors, config, start);
    let mut positions = vec![[0.0; 2]; n];
    for (&node, position) in sample.iter().zip(&fitted) {
        positions[node as usize] = *position;
    }
    let interpolated = interpolate(&select(others), &fitted_vectors, &fitted);
    for (&node, position) in others.iter().zip(interpolated) {
        positions[node as usize] = position;
    }
    Ok(Projection { positions, fitted: config.points })
}

/// The vectors scaled to at most 1 per component, so that no square leaves the range of a float; of
/// norm 1 for the cosine.
fn normalised(embedding: &Embedding, metric: Metric) -> Array2<f32> {
    let largest = embedding.vectors().iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    let mut vectors = Array2::zeros((embedding.nodes(), embedding.dim()));
    let rows = vectors.as_slice_mut().unwrap_or_default().par_chunks_mut(embedding.dim());
    rows.zip(embedding.vectors().par_chunks(embedding.dim())).for_each(|(row, vector)| {
        let largest = match metric {
            Metric::Euclidean => largest,
            Metric::Cosine => vector.iter().fold(0.0_f32, |most, x| most.max(x.abs())),
        };
        if largest == 0.0 {
            return;
        }
        row.iter_mut().zip(vector).for_each(|(to, x)| *to = x / largest);
        if metric == Metric::Cosine {
            let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt();
            for x in row {
                *x /= norm;
            }
        }
    });
    vectors
}

/// The first two principal components.
fn pca_positions(vectors: &Array2<f32>) -> Vec<[f32; 2]> {
    let (mean, directions) = principal_directions(vectors, 2, true);
    let row = |row: &[f32]| {
        [0, 1].map(|axis| {
            let along = row.iter().zip(&mean).zip(directions.row(axis));
            along.map(|((x, mean), direction)| (x - mean) * direction).sum()
        })
    };
    let dim = vectors.ncols();
    vectors.as_slice().unwrap_or_default().par_chunks(dim).map(row).collect()
}

/// t-SNE from given positions, or from the principal components.
fn tsne_positions(
    vectors: &Array2<f32>,
    config: &ProjectConfig,
    start: Option<Vec<[f32; 2]>>,
) -> Vec<[f32; 2]> {
    let n = vectors.nrows();
    if n == 1 {
        return vec![[0.0; 2]];
    }
    let perplexity = config.perplexity.min((n as f64 - 1.0) / 3.0).max(1.0);
    let k = ((3.0 * perplexity) as usize).clamp(1, n - 1);
    let near = nearest(vectors, vectors, k, true);
    let affinities = affinity::affinities(&near, k, perplexity);
    let start = start.unwrap_or_else(|| pca_positions(vectors));
    tsne::tsne(&affinities, start, config.steps, config.seed)
}

/// Positions of vectors outside the sample: the mean position of the nearest sampled ones, weighted by
/// the inverse squared distance.
fn interpolate(
    vectors: &Array2<f32>,
    fitted: &Array2<f32>,
    positions: &[[f32; 2]],
) -> Vec<[f32; 2]> {
    const NEAREST: usize = 5;
    /// Added to squared distances, so that equal vectors have a finite weight.
    const EPSILON: f32 = 1e-6;
    /// From so many vectors on, the nearest are searched for in the nearest cells only.
    const MANY: usize = 100_000;
    let position = |near: &[(Node, f32)]| {
        let mut sums = [0.0; 3];
        for &(node, square) in near {
            let weight = 1.0 / (square + EPSILON);
            let [x, y] = positions[node as usize];
            sums = [sums[0] + weight * x, sums[1] + weight * y, sums[2] + weight];
        }
        [sums[0] / sums[2], sums[1] / sums[2]]
    };
    let near = if vectors.nrows() < MANY {
        nearest(vectors, fitted, NEAREST, false)
    } else {
        nearest_by_cells(vectors, fitted, NEAREST)
    };
    near.par_chunks(NEAREST).map(position).collect()
}
