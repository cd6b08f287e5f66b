//! From sums to measures, and how sure they are if the sources are a sample.

use serde::Serialize;

use super::MeasureConfig;
use super::part::{Part, Sums};
use super::similarity::{Bins, Counts};

/// What was measured. Lists are by distance, from 1 on. Pairs are ordered: (i, j) and (j, i) are
/// two.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measures {
    /// Nodes.
    pub nodes: usize,
    /// Numbers in a vector.
    pub dim: usize,
    /// Whether all pairs were counted.
    pub counted: Counted,
    /// Nodes that were compared with all others.
    pub sources: usize,
    /// From how many walks of each source α was estimated; nothing if it was computed.
    pub alpha_walks: Option<usize>,
    /// The distances that the lists are about.
    pub distance: Vec<u32>,
    /// Pairs; estimated, if the sources are a sample.
    pub pairs: Vec<u64>,
    /// ξ_d, the mean of σ(z_i·z_j).
    pub xi: Vec<f64>,
    /// Its standard deviation over pairs.
    pub xi_std: Vec<f64>,
    /// α_d, the mean probability to be met by a walk.
    pub alpha: Vec<f64>,
    /// β_d of distance-aware negatives.
    pub beta: Vec<f64>,
    /// The paper's corollary: n < D(A)/d, so at this distance distance-aware negatives leave walks
    /// more weight against the negatives than uniform ones do.
    pub corollary: Vec<bool>,
    /// Σ_d α_d Σ log σ(z_i·z_j).
    pub cohesion: f64,
    /// Σ_d β_d Σ log σ(−z_i·z_j) with the β of distance-aware negatives.
    pub separation: f64,
    /// How much heavier the farthest negatives of a node weigh than its neighbours: d_max^γ, where
    /// d_max is the largest distance that was met. Nothing if there is no edge.
    pub separation_power: Option<f64>,
    /// β_dmax / β_1 of the means above. It is lower, because nodes that have others far away have
    /// more of them, and D(i) is large.
    pub separation_power_of_means: Option<f64>,
    /// The same with uniform negatives.
    pub uniform: Uniform,
    /// D(A), the mean over nodes of the sum of distances to all others.
    pub mean_total_distance: f64,
    /// Spearman's rank correlation of distance and similarity: −1 if vectors keep the order of
    /// distances, 0 if they know nothing of it. Nothing if all are equal.
    pub spearman: Option<f64>,
    /// The width of the bins in which similarities x share a rank, as a share of |x| + u, where u
    /// is 1/4, or less if all vectors are short.
    pub resolution: f64,
    /// The pairs without a path, if there are any.
    pub far: Option<FarPairs>,
    /// How sure the estimates are; nothing if all pairs were counted, or too few for this.
    pub interval: Option<Intervals>,
    /// What was asked for.
    pub config: MeasureConfig,
}

/// Which pairs were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// All of them.
    All,
    /// Those of random sources.
    Sampled,
}

/// Measures for uniform negatives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Uniform {
    /// β, the same at every distance.
    pub beta: f64,
    /// Separation with this β.
    pub separation: f64,
    /// 1: all negatives weigh the same.
    pub separation_power: f64,
}

/// Measures of the pairs without a path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FarPairs {
    /// The distance that they count with.
    pub hops: u32,
    /// How many there are.
    pub pairs: u64,
    /// The mean of σ(z_i·z_j).
    pub xi: f64,
    /// Its standard deviation.
    pub xi_std: f64,
    /// β of distance-aware negatives.
    pub beta: f64,
}

/// Half the widths of 95 % confidence intervals, by the jackknife over groups of sources. NaN (in
/// JSON, null) at distances that only one group has met.
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
const FEWEST_GROUPS: usize = 8;

/// How many sources of a sample make a group.
pub(super) fn group(sources: usize) -> usize {
    sources.div_ceil(GROUPS).clamp(1, crate::distance::SOURCES)
}

/// Puts the parts together.
pub(super) fn summarise(
    parts: &[Part],
    counts: &Counts,
    bins: Bins,
    alpha_walks: Option<usize>,
    far: u32,
    (nodes, dim): (usize, usize),
    config: &MeasureConfig,
) -> Measures {
    let mut total = Part::default();
    for part in parts {
        total += part;
    }
    let all = total.sources == nodes;
    let means = Means::new(&total, nodes, config);
    let distances = 1..total.sums.len() as u32;
    let xi_std = |sums: &Sums| {
        (sums.square / sums.pairs - (sums.sigma / sums.pairs).powi(2)).max(0.0).sqrt()
    };
    let beta = |sums: &Sums| factor(config) * sums.negative / sums.pairs;
    let scale = nodes as f64 / total.sources as f64;
    let pairs = |sums: &Sums| (sums.pairs * scale).round() as u64;
    let by_distance = total.sums.get(1..).unwrap_or_default();
    let betas: Vec<f64> = by_distance.iter().map(beta).collect();
    let apart = total.sums.first().filter(|sums| sums.pairs > 0.0);
    let d_a = means.mean_total_distance;
    Measures {
        nodes,
        dim,
        counted: if all { Counted::All } else { Counted::Sampled },
        sources: total.sources,
        alpha_walks,
        corollary: distances.clone().map(|d| (nodes as f64) < d_a / f64::from(d)).collect(),
        separation_power: distances.clone().last().map(|d| f64::from(d).powf(config.gamma)),
        separation_power_of_means: betas.first().zip(betas.last()).map(|(near, far)| far / near),
        distance: distances.collect(),
        pairs: by_distance.iter().map(pairs).collect(),
        xi_std: by_distance.iter().map(xi_std).collect(),
        beta: betas,
        cohesion: means.cohesion,
        separation: means.separation,
        uniform: Uniform {
            beta: uniform(nodes, config),
            separation: means.separation_uniform,
            separation_power: 1.0,
        },
        mean_total_distance: d_a,
        spearman: counts.spearman(),
        resolution: bins.resolution(),
        far: apart.map(|sums| FarPairs {
            hops: far,
            pairs: pairs(sums),
            xi: sums.sigma / sums.pairs,
            xi_std: xi_std(sums),
            beta: beta(sums),
        }),
        interval: (!all && parts.len() >= FEWEST_GROUPS)
            .then(|| intervals(parts, &total, nodes, config)),
        xi: means.xi,
        alpha: means.alpha,
        config: config.clone(),
    }
}

/// K·C.
fn factor(config: &MeasureConfig) -> f64 {
    (config.k * config.context) as f64
}

/// β of uniform negatives.
fn uniform(nodes: usize, config: &MeasureConfig) -> f64 {
    factor(config) / (nodes.saturating_sub(1).max(1)) as f64
}

/// The measures that are estimated from sums.
struct Means {
    xi: Vec<f64>,
    alpha: Vec<f64>,
    cohesion: f64,
    separation: f64,
    separation_uniform: f64,
    mean_total_distance: f64,
}

impl Means {
    fn new(total: &Part, nodes: usize, config: &MeasureConfig) -> Self {
        let sources = total.sources as f64;
        let scale = nodes as f64 / sources;
        let mean = |of: fn(&Sums) -> f64| -> Vec<f64> {
            total.sums.iter().skip(1).map(|sums| of(sums) / sums.pairs).collect()
        };
        // A distance that no source has met adds nothing.
        let sum = |of: &dyn Fn(&Sums) -> f64| -> f64 {
            scale * total.sums.iter().filter(|sums| sums.pairs > 0.0).map(of).sum::<f64>()
        };
        Self {
            xi: mean(|sums| sums.sigma),
            alpha: mean(|sums| sums.met),
            cohesion: sum(&|sums| sums.met / sums.pairs * sums.near),
            separation: factor(config) * sum(&|sums| sums.negative / sums.pairs * sums.far),
            separation_uniform: uniform(nodes, config) * sum(&|sums| sums.far),
            mean_total_distance: total.total_distance / sources,
        }
    }

    fn list(self) -> impl Iterator<Item = f64> {
        let rest =
            [self.cohesion, self.separation, self.separation_uniform, self.mean_total_distance];
        self.xi.into_iter().chain(self.alpha).chain(rest)
    }
}

/// The jackknife: how much the measures change if each group in turn is left out.
fn intervals(parts: &[Part], total: &Part, nodes: usize, config: &MeasureConfig) -> Intervals {
    let without: Vec<Vec<f64>> = parts
        .iter()
        .map(|part| {
            let mut rest = total.clone();
            rest -= part;
            Means::new(&rest, nodes, config).list().collect()
        })
        .collect();
    let groups = parts.len() as f64;
    // Sources are drawn without putting them back: the more there are, the less is left to chance.
    let left = 1.0 - total.sources as f64 / nodes as f64;
    let half = |at: usize| {
        let mean = without.iter().map(|means| means[at]).sum::<f64>() / groups;
        let spread: f64 = without.iter().map(|means| (means[at] - mean).powi(2)).sum();
        student(groups - 1.0) * (left * (groups - 1.0) / groups * spread).sqrt()
    };
    let distances = total.sums.len().saturating_sub(1);
    Intervals {
        xi: (0..distances).map(half).collect(),
        alpha: (distances..2 * distances).map(half).collect(),
        cohesion: half(2 * distances),
        separation: half(2 * distances + 1),
        separation_uniform: half(2 * distances + 2),
        mean_total_distance: half(2 * distances + 3),
    }
}

/// The 97.5 % point of Student's distribution, from that of the normal one (Abramowitz and Stegun
/// 26.7.5); right to a thousandth from 7 degrees of freedom on.
fn student(freedom: f64) -> f64 {
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
    fn students_distribution() {
        for (freedom, exact) in [(7.0, 2.364_624), (15.0, 2.131_450), (31.0, 2.039_513)] {
            assert!((student(freedom) - exact).abs() < 1e-3, "{freedom}");
        }
    }
}
