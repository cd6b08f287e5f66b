//! The training objective of any vectors.
//!
//! # Definition
//!
//! It is that of the exact trainer, whose module derives it. A centre i has the loss
//!
//! ```text
//! ℓ_i = Σ_j π_ij log(1 + e^−s_ij) + w Σ_k P(k|i) log(1 + e^s_ik) + (λ/2) ‖z_i‖²,   s_ij = z_i·z_j
//! ```
//!
//! and its pairs have the weight m_i = Σ_j π_ij + w, without w if it has no negatives; it is not
//! regularised then either. With c_i how often i is a centre, the objective is the mean over pairs,
//!
//! ```text
//! L = Σ_i c_i ℓ_i / Σ_i c_i m_i
//! ```
//!
//! The first two terms are the loss that trainers report; the third is what λ adds to it.
//!
//! # Sampling
//!
//! Centres that are drawn with probability ∝ c_i have the means E ℓ = Σ c_i ℓ_i / Σ c_i and
//! E m = Σ c_i m_i / Σ c_i, so L is the ratio of two means, and its variance over N draws is that of
//! ℓ_i − L m_i, divided by N (E m)². Of each centre all pairs are used, with exact probabilities.

use std::sync::Arc;

use rayon::prelude::*;
use serde::Serialize;

use super::summary::{MIN_GROUPS, student};
use super::{MeasureConfig, largest_product};
use crate::budget::Budget;
use crate::embedding::Embedding;
use crate::error::{Error, Result};
use crate::graph::{Graph, Node};
use crate::matrix::multiply_by_transposed;
use crate::negative::{Demand, NegativeConfig, NegativePlan, NegativeSampler, Negatives};
use crate::positive::{CentreWeights, Cooccurrence, CooccurrenceRow};
use crate::rng::{Alias, Purpose, Rng};
use crate::simd::sigmoid_loss;
use crate::train::{L2, TrainConfig};

/// The settings that define the objective, and the centres to compute it from.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectiveConfig {
    /// Nodes in a window.
    pub context: usize,
    /// Weight of the negatives of a window relative to its positives.
    pub negative_weight: f64,
    /// L2 regularisation λ.
    pub l2: f64,
    /// Centres are weighted ∝ their degree to this power.
    pub centre_power: f64,
    /// The law of negatives. `auto` is the law that training chooses.
    pub negatives: NegativeConfig,
    /// Number of centres to draw; `None`: all, or 1024 in graphs where all would take minutes.
    pub centres: Option<usize>,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for ObjectiveConfig {
    fn default() -> Self {
        let train = TrainConfig::default();
        let defaults = train.defaults();
        Self {
            context: defaults.context,
            negative_weight: train.negative_weight,
            l2: 0.1,
            centre_power: defaults.centre_power,
            negatives: NegativeConfig::default(),
            centres: None,
            seed: 0,
        }
    }
}

impl ObjectiveConfig {
    /// Checks the ranges of the settings.
    pub fn validate(&self) -> Result<()> {
        if !(0.0..=2.0).contains(&self.l2) {
            return Err(Error::option("l2", self.l2, "expected 0 to 2"));
        }
        let train = TrainConfig {
            context: Some(self.context),
            negative_weight: self.negative_weight,
            l2: L2::Value(self.l2),
            centre_power: Some(self.centre_power),
            ..Default::default()
        };
        train.validate()?;
        self.negatives.validate()
    }

    /// The number of centres to draw; `None` if all nodes are used, as by default where that takes
    /// about a minute on two cores.
    fn draws(&self, nodes: usize, dim: usize) -> Option<usize> {
        const SAMPLE: usize = 1024;
        /// Nodes × nodes × dimensions.
        const PRODUCTS: f64 = 2e11;
        let affordable = nodes as f64 * nodes as f64 * dim as f64 <= PRODUCTS;
        self.centres.or((!affordable).then_some(SAMPLE)).filter(|&draws| draws < nodes)
    }
}

impl From<&MeasureConfig> for ObjectiveConfig {
    fn from(config: &MeasureConfig) -> Self {
        Self {
            context: config.context,
            negative_weight: config.negative_weight,
            l2: config.l2,
            centre_power: config.centre_power,
            negatives: config.negatives.clone(),
            centres: config.sources,
            seed: config.seed,
        }
    }
}

/// The objective, as a mean over pairs, and the three parts that it is the sum of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Objective {
    /// L.
    pub loss: f64,
    /// The part of positive pairs.
    pub positive: f64,
    /// The part of negative pairs.
    pub negative: f64,
    /// The part of L2 regularisation.
    pub regularisation: f64,
    /// The law of negatives; never [`Negatives::Auto`].
    pub law: Negatives,
    /// Number of centres that it was computed from.
    pub centres: usize,
    /// Half-width of the 95 % confidence interval of `loss`; `None` if all nodes were used as
    /// centres, or too few for an estimate.
    pub interval: Option<f64>,
}

/// Computes the training objective of an embedding. Vectors and nodes are matched by id.
///
/// ```
/// use std::sync::Arc;
/// use nearfar::embedding::Embedding;
/// use nearfar::evaluate::measure::{ObjectiveConfig, objective};
/// use nearfar::graph::{ReadOptions, read};
///
/// let graph = Arc::new(read("builtin:karate", &ReadOptions::default())?.graph);
/// let zero = Embedding::new(graph.ids().clone(), 4, vec![0.0; 34 * 4])?;
/// let found = objective(&zero, &graph, &ObjectiveConfig::default())?;
/// // log σ(0) of every pair.
/// assert!((found.loss - 2_f64.ln()).abs() < 1e-6);
/// # Ok::<(), nearfar::Error>(())
/// ```
pub fn objective(
    embedding: &Embedding,
    graph: &Arc<Graph>,
    config: &ObjectiveConfig,
) -> Result<Objective> {
    config.validate()?;
    embedding.check_finite()?;
    let (n, dim) = (graph.nodes(), embedding.dim());
    let vectors = embedding.in_order_of(graph)?.into_vectors();
    largest_product(&vectors, dim)?;
    let weights = CentreWeights::new(graph, config.centre_power);
    let weights: Vec<f64> = (0..n as Node).map(|node| weights.of(graph, node)).collect();
    let draws = config.draws(n, dim);
    let centres: Vec<(Node, f64)> = match draws {
        Some(draws) => draw(&weights, draws, config.seed),
        None => (0..).zip(weights).collect(),
    };
    let (law, negatives) = negatives(graph, &config.negatives, centres.len())?;
    let rows = Rows {
        vectors: &vectors,
        dim,
        negatives: &*negatives,
        cooccurrence: Cooccurrence::new(graph, config.context),
        config,
    };
    let losses: Vec<CentreLoss> = centres
        .par_chunks(Rows::at_once(n))
        .flat_map_iter(|chunk| rows.losses(chunk).into_iter())
        .collect();
    let mut sum = CentreLoss::default();
    for (loss, &(_, weight)) in losses.iter().zip(&centres) {
        sum.add(weight, loss);
    }
    let mass = sum.mass.max(f64::MIN_POSITIVE);
    let loss = sum.total() / mass;
    let interval = draws.filter(|&draws| draws >= MIN_GROUPS).map(|draws| {
        let squares = losses.iter().map(|of| (of.total() - loss * of.mass).powi(2));
        let freedom = draws as f64 - 1.0;
        let variance = squares.sum::<f64>() / freedom * draws as f64 / (mass * mass);
        student(freedom) * variance.sqrt()
    });
    Ok(Objective {
        loss,
        positive: sum.positive / mass,
        negative: sum.negative / mass,
        regularisation: sum.regularisation / mass,
        law,
        centres: centres.len(),
        interval,
    })
}

/// Nodes drawn with probability ∝ their weights, each counted once per draw.
fn draw(weights: &[f64], draws: usize, seed: u64) -> Vec<(Node, f64)> {
    let mut rng = Rng::new(seed, Purpose::Source, 1, 0);
    let table = Alias::new(weights);
    let mut draw = || table.as_ref().map_or(0, |table| table.draw(&mut rng));
    (0..draws).map(|_| (draw() as Node, 1.0)).collect()
}

/// The law that training would choose, with distances found in the way that is fastest for so many
/// centres.
fn negatives(
    graph: &Arc<Graph>,
    config: &NegativeConfig,
    centres: usize,
) -> Result<(Negatives, Box<dyn NegativeSampler>)> {
    let budget = Budget::default();
    let mut config = config.clone();
    if config.negatives == Negatives::Auto {
        config.negatives = NegativePlan::new(graph, &config, &budget, &Demand::default())?.law;
    }
    let demand = Demand { fills: Some(centres as u64), ..Default::default() };
    let plan = NegativePlan::new(graph, &config, &budget, &demand)?;
    Ok((plan.law, plan.build(graph)?))
}

/// The parts of ℓ_i, and m_i; or sums of these.
#[derive(Clone, Copy, Debug, Default)]
struct CentreLoss {
    positive: f64,
    negative: f64,
    regularisation: f64,
    mass: f64,
}

impl CentreLoss {
    fn total(&self) -> f64 {
        self.positive + self.negative + self.regularisation
    }

    fn add(&mut self, weight: f64, other: &Self) {
        self.positive += weight * other.positive;
        self.negative += weight * other.negative;
        self.regularisation += weight * other.regularisation;
        self.mass += weight * other.mass;
    }
}

/// What the losses of centres are computed from.
struct Rows<'a> {
    vectors: &'a [f32],
    dim: usize,
    negatives: &'a dyn NegativeSampler,
    cooccurrence: Cooccurrence<'a>,
    config: &'a ObjectiveConfig,
}

impl Rows<'_> {
    /// Nodes in one matrix product.
    const COLUMNS: usize = 512;

    /// The number of centres whose products are computed together. Each needs the law of its
    /// negatives, eight bytes for every node: at most 256 MB for all of them, unless one takes more.
    fn at_once(nodes: usize) -> usize {
        ((1 << 25) / nodes.max(1)).clamp(1, 64)
    }

    /// The losses of some centres.
    fn losses(&self, centres: &[(Node, f64)]) -> Vec<CentreLoss> {
        let (dim, n) = (self.dim, self.vectors.len() / self.dim);
        let weight = self.config.negative_weight;
        let row = |node: Node| &self.vectors[node as usize * dim..][..dim];
        let mut contexts = CooccurrenceRow::default();
        let mut own = Vec::with_capacity(centres.len() * dim);
        let mut laws = vec![0.0; centres.len() * n];
        let mut positives = Vec::with_capacity(centres.len());
        let mut losses = Vec::with_capacity(centres.len());
        for (&(centre, _), law) in centres.iter().zip(laws.chunks_exact_mut(n)) {
            own.extend_from_slice(row(centre));
            self.cooccurrence.fill(centre, &mut contexts);
            let mut positive: Vec<(Node, f64)> = contexts.iter().collect();
            positive.sort_unstable_by_key(|&(j, _)| j);
            let mass = positive.iter().map(|(_, p)| p).sum();
            let mut loss = CentreLoss { mass, ..Default::default() };
            if self.negatives.has_negatives(centre) {
                self.negatives.probabilities(centre, law);
                let square: f64 = row(centre).iter().map(|&x| f64::from(x) * f64::from(x)).sum();
                loss.regularisation = self.config.l2 / 2.0 * square;
                loss.mass += weight;
            }
            positives.push(positive);
            losses.push(loss);
        }
        let mut tile = vec![0.0; centres.len() * Self::COLUMNS];
        for (start, others) in
            (0..n).step_by(Self::COLUMNS).zip(self.vectors.chunks(Self::COLUMNS * dim))
        {
            let columns = others.len() / dim;
            let tile = &mut tile[..centres.len() * columns];
            multiply_by_transposed(&own, others, tile, dim);
            for (at, products) in tile.chunks_exact(columns).enumerate() {
                let law = &laws[at * n + start..][..columns];
                losses[at].negative += weight * f64::from(expected_loss(products, law));
                let all = &positives[at];
                let from = all.partition_point(|&(j, _)| (j as usize) < start);
                let inside =
                    all[from..].iter().take_while(|&&(j, _)| (j as usize) < start + columns);
                let terms =
                    inside.map(|&(j, p)| p * f64::from(softplus(-products[j as usize - start])));
                losses[at].positive += terms.sum::<f64>();
            }
        }
        losses
    }
}

/// The sum of P log(1 + eˢ).
fn expected_loss(products: &[f32], law: &[f64]) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0.0; LANES];
    let term = |s: f32, p: f64| p as f32 * softplus(s);
    let (chunks, rest) = products.as_chunks::<LANES>();
    let (laws, law_of_rest) = law.as_chunks::<LANES>();
    for (products, law) in chunks.iter().zip(laws) {
        (0..LANES).for_each(|lane| sums[lane] += term(products[lane], law[lane]));
    }
    rest.iter().zip(law_of_rest).for_each(|(&s, &p)| sums[0] += term(s, p));
    sums.iter().sum()
}

/// log(1 + eˣ). Trainers clamp x, as steps must stay bounded; this is exact for any x.
fn softplus(x: f32) -> f32 {
    x.max(0.0) + sigmoid_loss(x.abs()).1
}
