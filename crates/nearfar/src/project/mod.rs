//! Stage 9, on paper: vectors as points in the plane, for people to look at.
//!
//! t-SNE puts nodes side by side whose vectors are (van der Maaten and Hinton, *Visualizing data
//! using t-SNE*, 2008); distances across the map mean little. PCA is a shadow: far apart in it is
//! far apart, but near in it may be far. Both are functions of the vectors and the seed alone,
//! never of the number of threads.

mod affinity;
mod nearest;
mod principal;
mod tree;
mod tsne;

use ndarray::{Array2, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub(crate) use principal::principal;

use crate::embedding::Embedding;
use crate::error::{Error, Result};
use crate::graph::Node;
use crate::rng::{Purpose, Rng};
use nearest::nearest;

/// How vectors are brought into the plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Method {
    /// t-SNE: neighbours stay neighbours
    #[default]
    Tsne,
    /// The two directions in which vectors differ most
    Pca,
}

/// Which vectors are near each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Metric {
    /// Those of about the same direction
    #[default]
    Cosine,
    /// Those of about the same direction and length
    Euclidean,
}

/// What a projection depends on, beside the vectors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProjectConfig {
    /// The method.
    pub method: Method,
    /// Which vectors are near each other.
    pub metric: Metric,
    /// About how many neighbours of a node t-SNE keeps beside it.
    pub perplexity: f64,
    /// Steps of t-SNE; the first third of them only gathers what belongs together.
    pub steps: usize,
    /// t-SNE is made of this many random nodes if there are more; the others are put among those
    /// whose vectors are most like theirs.
    pub points: usize,
    /// Seed for choosing them.
    pub seed: u64,
}

impl Default for ProjectConfig {
    fn default() -> Self {
        let (method, metric) = (Method::default(), Metric::default());
        Self { method, metric, perplexity: 30.0, steps: 750, points: 20_000, seed: 0 }
    }
}

impl ProjectConfig {
    /// Checks what can be checked without vectors.
    pub fn validate(&self) -> Result<()> {
        let refuse = |message: String| Err(Error::Option(message));
        if !(self.perplexity >= 1.0 && self.perplexity <= 1000.0) {
            return refuse(format!("perplexity is {}; it takes 1 to 1000", self.perplexity));
        }
        if self.points < 10 {
            return refuse(format!("{} points of t-SNE; it takes 10 or more", self.points));
        }
        Ok(())
    }
}

/// Vectors in the plane.
#[derive(Clone, Debug, PartialEq)]
pub struct Projection {
    /// A place for every node.
    pub places: Vec<[f32; 2]>,
    /// How many nodes the method itself placed; fewer than all if the graph is large.
    pub fitted: usize,
}

/// Brings vectors into the plane.
///
/// ```
/// use nearfar::embedding::Embedding;
/// use nearfar::graph::NodeIds;
/// use nearfar::project::{ProjectConfig, project};
/// let vectors = vec![1.0, 0.0, 0.0, 0.9, 0.1, 0.0, 0.0, 0.0, 1.0];
/// let embedding = Embedding::new(NodeIds::Range { start: 0, len: 3 }, 3, vectors)?;
/// let places = project(&embedding, &ProjectConfig::default())?.places;
/// let apart = |a: usize, b: usize| (0..2).map(|x| (places[a][x] - places[b][x]).powi(2)).sum::<f32>();
/// assert!(apart(0, 1) < apart(0, 2));
/// # Ok::<(), nearfar::Error>(())
/// ```
pub fn project(embedding: &Embedding, config: &ProjectConfig) -> Result<Projection> {
    config.validate()?;
    embedding.check_finite()?;
    let n = embedding.nodes();
    let vectors = prepared(embedding, config.metric);
    if config.method == Method::Pca {
        return Ok(Projection { places: shadow(&vectors), fitted: n });
    }
    if n <= config.points {
        return Ok(Projection { places: fit(&vectors, config), fitted: n });
    }
    let mut nodes: Vec<Node> = (0..n as Node).collect();
    Rng::new(config.seed, Purpose::Projection, 0, 0).shuffle(&mut nodes);
    let (chosen, others) = nodes.split_at_mut(config.points);
    chosen.sort_unstable();
    others.sort_unstable();
    let select = |nodes: &[Node]| {
        vectors.select(Axis(0), &nodes.iter().map(|&node| node as usize).collect::<Vec<_>>())
    };
    let fitted_vectors = select(chosen);
    let fitted = fit(&fitted_vectors, config);
    let mut places = vec![[0.0; 2]; n];
    for (&node, place) in chosen.iter().zip(&fitted) {
        places[node as usize] = *place;
    }
    let among = put_among(&select(others), &fitted_vectors, &fitted);
    for (&node, place) in others.iter().zip(among) {
        places[node as usize] = place;
    }
    Ok(Projection { places, fitted: config.points })
}

/// The vectors in a common scale, so that squares of none leave the range of a float; of length 1
/// if only directions count.
fn prepared(embedding: &Embedding, metric: Metric) -> Array2<f32> {
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
            let length = row.iter().map(|x| x * x).sum::<f32>().sqrt();
            for x in row {
                *x /= length;
            }
        }
    });
    vectors
}

/// The two coordinates in which vectors differ most, as much in each direction as they do.
fn shadow(vectors: &Array2<f32>) -> Vec<[f32; 2]> {
    let (mean, directions) = principal(vectors, 2, true);
    let row = |row: &[f32]| {
        [0, 1].map(|axis| {
            let along = row.iter().zip(&mean).zip(directions.row(axis));
            along.map(|((x, mean), direction)| (x - mean) * direction).sum()
        })
    };
    let dim = vectors.ncols();
    vectors.as_slice().unwrap_or_default().par_chunks(dim).map(row).collect()
}

fn fit(vectors: &Array2<f32>, config: &ProjectConfig) -> Vec<[f32; 2]> {
    let n = vectors.nrows();
    if n == 1 {
        return vec![[0.0; 2]];
    }
    let perplexity = config.perplexity.min((n as f64 - 1.0) / 3.0).max(1.0);
    let k = ((3.0 * perplexity) as usize).clamp(1, n - 1);
    let near = nearest(vectors, vectors, k, true);
    let affinities = affinity::affinities(&near, k, perplexity);
    tsne::tsne(&affinities, shadow(vectors), config.steps, config.seed)
}

/// Places for vectors among others that have theirs: the mean of the nearest ones' places, each
/// weighing as the inverse square of its distance.
fn put_among(vectors: &Array2<f32>, fitted: &Array2<f32>, places: &[[f32; 2]]) -> Vec<[f32; 2]> {
    const NEAREST: usize = 5;
    const CLOSEST: f32 = 1e-6;
    let place = |near: &[(Node, f32)]| {
        let mut sums = [0.0; 3];
        for &(node, square) in near {
            let weight = 1.0 / (square + CLOSEST);
            let [x, y] = places[node as usize];
            sums = [sums[0] + weight * x, sums[1] + weight * y, sums[2] + weight];
        }
        [sums[0] / sums[2], sums[1] / sums[2]]
    };
    nearest(vectors, fitted, NEAREST, false).par_chunks(NEAREST).map(place).collect()
}
