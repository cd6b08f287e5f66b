//! From sums to measures, with confidence intervals if the sources are a sample.

use serde::Serialize;

use super::lengths::Lengths;
use super::similarity::{Bins, SimilarityHistogram};
use super::sums::{DistanceSums, GroupSums};
use super::{MeasureConfig, Objective};

/// The measures of an embedding. Lists are by distance, from 1 on. Pairs are ordered: (i, j) and
/// (j, i) are two.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measures {
    /// Nodes.
    pub nodes: usize,
    /// Dimensions of a vector.
    pub dim: usize,
    /// Whether all pairs were measured or a sample.
    pub counted: Counted,
    /// Number of nodes compared with all others.
    pub sources: usize,
    /// Walks per source that α was estimated from; `None` if it was computed exactly.
    pub alpha_walks: Option<usize>,
    /// The distances of the list elements: hops, or the numbers of bins of lengths.
    pub distance: Vec<u32>,
    /// Where distances are lengths, the largest of each bin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Vec<f64>>,
    /// Number of pairs; an estimate if the sources are a sample.
    pub pairs: Vec<u64>,
    /// ξ_d, the mean of σ(z_i·z_j).
    pub xi: Vec<f64>,
    /// Standard deviation of σ(z_i·z_j) over pairs.
    pub xi_std: Vec<f64>,
    /// α_d, the mean co-occurrence probability in walks.
    pub alpha: Vec<f64>,
    /// β_d of distance-aware negatives.
    pub beta: Vec<f64>,
    /// The paper's corollary n < D(A)/d: at this distance, distance-aware negatives weigh less than
    /// uniform ones.
    pub corollary: Vec<bool>,
    /// Σ_d α_d Σ log σ(z_i·z_j).
    pub cohesion: f64,
    /// Σ_d β_d Σ log σ(−z_i·z_j) with the β of distance-aware negatives.
    pub separation: f64,
    /// Weight of the farthest negatives of a node relative to its neighbours: d_max^γ, where d_max is
    /// the largest distance found. `None` if there is no edge.
    pub separation_power: Option<f64>,
    /// β_dmax / β_1 of the means above. It is lower than `separation_power`, because nodes with far
    /// nodes have many of them, and their D(i) is large.
    pub separation_power_of_means: Option<f64>,
    /// Separation with uniform negatives.
    pub uniform: Uniform,
    /// D(A), the mean over nodes of the sum of distances to all others.
    pub mean_total_distance: f64,
    /// Spearman's rank correlation of distance and similarity: −1 if similarity decreases strictly
    /// with distance, 0 if they are unrelated. `None` if all distances or all similarities are equal.
    pub spearman: Option<f64>,
    /// The width of the bins in which similarities x share a rank, relative to |x| + u, where u is
    /// 1/4, or less if all products are small.
    pub resolution: f64,
    /// Measures of the unconnected pairs, if there are any.
    pub far: Option<FarPairs>,
    /// Confidence intervals; `None` if all pairs were measured, or too few for an estimate.
    pub interval: Option<Intervals>,
    /// The training objective, if it was asked for.
    pub objective: Option<Objective>,
    /// The settings.
    pub config: MeasureConfig,
}

/// Which pairs were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// All pairs.
    All,
    /// The pairs of a random sample of sources.
    Sampled,
}

/// Measures for uniform negatives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Uniform {
    /// β, the same at every distance.
    pub beta: f64,
    /// Separation with this β.
    pub separation: f64,
    /// 1: all negatives have the same weight.
    pub separation_power: f64,
}

/// Measures of the unconnected pairs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FarPairs {
    /// The distance they count with, rounded up where it is a length.
    pub hops: u32,
    /// The distance they count with, where it is a length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<f64>,
    /// Number of pairs.
    pub pairs: u64,
    /// The mean of σ(z_i·z_j).
    pub xi: f64,
    /// Standard deviation of σ(z_i·z_j).
    pub xi_std: f64,
    /// β of distance-aware negatives.
    pub beta: f64,
}

/// Half-widths of 95 % confidence intervals, by the jackknife over groups of sources. NaN (in JSON,
/// null) at distances that occur in one group only.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Intervals {
    /// Of ξ_d.
    pub xi: Vec<f64>,
    /// Of α_d.
    pub alpha: Vec<f64>,
    /// Of cohesion.
    pub cohesion: f64,
    /// Of separation, distance-aware.
    pub separation: f64,
    /// Of separation, uniform.
    pub separation_uniform: f64,
    /// Of D(A).
    pub mean_total_distance: f64,
}

const GROUPS: usize = 32;
pub(super) const MIN_GROUPS: usize = 8;

/// The number of sources of a group.
pub(super) fn group(sources: usize) -> usize {
    sources.div_ceil(GROUPS).clamp(1, crate::distance::SOURCES)
}

/// Computes the measures from the sums of all groups.
pub(super) fn summarise(
    groups: &[GroupSums],
    histogram: &SimilarityHistogram,
    bins: Bins,
    alpha_walks: Option<usize>,
    far: u32,
    (nodes, dim): (usize, usize),
    config: &MeasureConfig,
) -> Measures {
    let mut total = GroupSums::default();
    for group in groups {
        total += group;
    }
    let all = total.sources == nodes;
    let means = Means::new(&total, nodes, config);
    let distances = 1..total.by_distance.len() as u32;
    let xi_std = |sums: &DistanceSums| {
        (sums.square / sums.pairs - (sums.sigma / sums.pairs).powi(2)).max(0.0).sqrt()
    };
    let beta = |sums: &DistanceSums| factor(config) * sums.negative / sums.pairs;
    let scale = nodes as f64 / total.sources as f64;
    let pairs = |sums: &DistanceSums| (sums.pairs * scale).round() as u64;
    let by_distance = total.by_distance.get(1..).unwrap_or_default();
    let betas: Vec<f64> = by_distance.iter().map(beta).collect();
    let unconnected = total.by_distance.first().filter(|sums| sums.pairs > 0.0);
    let d_a = means.mean_total_distance;
    Measures {
        nodes,
        dim,
        counted: if all { Counted::All } else { Counted::Sampled },
        sources: total.sources,
        alpha_walks,
        corollary: distances.clone().map(|d| (nodes as f64) < d_a / f64::from(d)).collect(),
        separation_power: distances
            .clone()
            .last()
            .map(|d| f64::from(d).powf(config.negatives.gamma)),
        separation_power_of_means: betas
            .first()
            .zip(betas.last())
            .map(|(first, last)| last / first),
        distance: distances.collect(),
        length: None,
        pairs: by_distance.iter().map(pairs).collect(),
        xi_std: by_distance.iter().map(xi_std).collect(),
        beta: betas,
        cohesion: means.cohesion,
        separation: means.separation,
        uniform: Uniform {
            beta: uniform_beta(nodes, config),
            separation: means.separation_uniform,
            separation_power: 1.0,
        },
        mean_total_distance: d_a,
        spearman: histogram.spearman(),
        resolution: bins.resolution(),
        far: unconnected.map(|sums| FarPairs {
            hops: far,
            length: None,
            pairs: pairs(sums),
            xi: sums.sigma / sums.pairs,
            xi_std: xi_std(sums),
            beta: beta(sums),
        }),
        interval: (!all && groups.len() >= MIN_GROUPS)
            .then(|| intervals(groups, &total, nodes, config)),
        objective: None,
        xi: means.xi,
        alpha: means.alpha,
        config: config.clone(),
    }
}

impl Measures {
    /// The same measures, with lists by these bins of lengths instead of 1, 2, …
    pub(super) fn by_length(self, lengths: &Lengths, bins: &[u32]) -> Self {
        let upper: Vec<f64> = bins.iter().map(|&bin| lengths.bins.upper(bin)).collect();
        let (nodes, d_a) = (self.nodes as f64, self.mean_total_distance);
        let range = upper.first().zip(upper.last());
        Self {
            distance: bins.to_vec(),
            corollary: upper.iter().map(|d| nodes < d_a / d).collect(),
            separation_power: range.map(|(first, last)| (last / first).powf(lengths.gamma)),
            far: self.far.map(|far| FarPairs { length: Some(lengths.far), ..far }),
            length: Some(upper),
            ..self
        }
    }
}

/// K·C.
fn factor(config: &MeasureConfig) -> f64 {
    (config.k * config.context) as f64
}

/// β of uniform negatives.
fn uniform_beta(nodes: usize, config: &MeasureConfig) -> f64 {
    factor(config) / (nodes.saturating_sub(1).max(1)) as f64
}

/// The measures that are estimated from a sample of sources.
struct Means {
    xi: Vec<f64>,
    alpha: Vec<f64>,
    cohesion: f64,
    separation: f64,
    separation_uniform: f64,
    mean_total_distance: f64,
}

impl Means {
    fn new(total: &GroupSums, nodes: usize, config: &MeasureConfig) -> Self {
        let sources = total.sources as f64;
        let scale = nodes as f64 / sources;
        let mean = |of: fn(&DistanceSums) -> f64| -> Vec<f64> {
            total.by_distance.iter().skip(1).map(|sums| of(sums) / sums.pairs).collect()
        };
        // A distance without pairs adds nothing.
        let sum = |of: &dyn Fn(&DistanceSums) -> f64| -> f64 {
            scale * total.by_distance.iter().filter(|sums| sums.pairs > 0.0).map(of).sum::<f64>()
        };
        Self {
            xi: mean(|sums| sums.sigma),
            alpha: mean(|sums| sums.cooccurrence),
            cohesion: sum(&|sums| sums.cooccurrence / sums.pairs * sums.log_sigma),
            separation: factor(config)
                * sum(&|sums| sums.negative / sums.pairs * sums.log_sigma_neg),
            separation_uniform: uniform_beta(nodes, config) * sum(&|sums| sums.log_sigma_neg),
            mean_total_distance: total.total_distance / sources,
        }
    }

    fn flatten(self) -> impl Iterator<Item = f64> {
        let rest =
            [self.cohesion, self.separation, self.separation_uniform, self.mean_total_distance];
        self.xi.into_iter().chain(self.alpha).chain(rest)
    }
}

/// The jackknife: the variation of the measures when each group in turn is left out.
fn intervals(
    groups: &[GroupSums],
    total: &GroupSums,
    nodes: usize,
    config: &MeasureConfig,
) -> Intervals {
    let without: Vec<Vec<f64>> = groups
        .iter()
        .map(|group| {
            let mut rest = total.clone();
            rest -= group;
            Means::new(&rest, nodes, config).flatten().collect()
        })
        .collect();
    let count = groups.len() as f64;
    // Finite population correction: sources are drawn without replacement.
    let correction = 1.0 - total.sources as f64 / nodes as f64;
    let half_width = |at: usize| {
        let mean = without.iter().map(|means| means[at]).sum::<f64>() / count;
        let spread: f64 = without.iter().map(|means| (means[at] - mean).powi(2)).sum();
        student(count - 1.0) * (correction * (count - 1.0) / count * spread).sqrt()
    };
    let distances = total.by_distance.len().saturating_sub(1);
    Intervals {
        xi: (0..distances).map(half_width).collect(),
        alpha: (distances..2 * distances).map(half_width).collect(),
        cohesion: half_width(2 * distances),
        separation: half_width(2 * distances + 1),
        separation_uniform: half_width(2 * distances + 2),
        mean_total_distance: half_width(2 * distances + 3),
    }
}

/// The 97.5 % quantile of Student's t distribution, from that of the normal distribution (Abramowitz
/// and Stegun 26.7.5); accurate to 0.001 from 7 degrees of freedom on.
pub(super) fn student(freedom: f64) -> f64 {
    let z: f64 = 1.959_964;
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + first / freedom + second / freedom.powi(2) + third / freedom.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_students_distribution() {
        for (freedom, exact) in [(7.0, 2.364_624), (15.0, 2.131_450), (31.0, 2.039_513)] {
            assert!((student(freedom) - exact).abs() < 1e-3, "{freedom}");
        }
    }
}
