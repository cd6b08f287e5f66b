//! Two-layer GCN, VGAE and GraphSAGE.
//!
//! # Derivation
//!
//! With X the features of the nodes and M of [`propagate`](super::propagate),
//!
//! ```text
//! H = max(0, M X W₀ + X S₀)        Z = M H W₁ + H S₁
//! ```
//!
//! Without features, nodes are one-hot: X is the identity, and the weights W₀ of the first layer are a
//! table with a row per node.
//!
//! where S₀ and S₁, the weights of the node itself, are used by GraphSAGE only; for GCN the diagonal
//! of M takes their role. Backward, with dZ the gradient at Z and Q = Mᵀ dZ,
//!
//! ```text
//! dW₁ = Hᵀ Q,   dS₁ = Hᵀ dZ,   dH = Q W₁ᵀ + dZ S₁ᵀ where H > 0,   dW₀ = Xᵀ Mᵀ dH,   dS₀ = Xᵀ dH
//! ```
//!
//! A variational network (VGAE) has two second layers, for the mean μ and the log-variance v, and
//! samples Z = μ + e^(v/2) ε with ε ~ N(0, 1). Its loss adds the KL divergence from the standard
//! normal distribution, (1/n²) Σ ½ (e^v + μ² − 1 − v) over all elements (n² as in the authors' code,
//! whose other terms are means), so
//!
//! ```text
//! dμ = dZ + μ / n²,            dv = dZ ε e^(v/2) / 2 + (e^v − 1) / (2 n²)
//! ```

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::products::{CHUNK, parallel_multiply, transposed_multiply};
use super::propagate::Propagation;
use super::{Adam, Encoder, Features, append, take};
use crate::budget::{product, sum};
use crate::graph::Graph;
use crate::matrix::multiply_by_transposed;
use crate::rng::{Purpose, Rng};

/// The architecture of a [`Network`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkKind {
    /// Graph convolutional network (GCN).
    Gcn,
    /// GCN with a mean and a variance per vector (VGAE).
    Variational,
    /// GraphSAGE with the mean aggregator.
    Sage,
}

impl NetworkKind {
    const NAMES: [(Self, &'static str); 3] =
        [(Self::Gcn, "gcn"), (Self::Variational, "vgae"), (Self::Sage, "sage")];

    pub(super) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    pub(super) fn of_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, other)| *other == name).map(|(kind, _)| *kind)
    }
}

/// A two-layer graph neural network.
pub struct Network {
    kind: NetworkKind,
    propagation: Propagation,
    /// X; the identity without them.
    features: Option<Arc<Features>>,
    nodes: usize,
    hidden: usize,
    dim: usize,
    /// W₀, S₀, then W₁ and S₁ of each second layer.
    parameters: Vec<f32>,
    gradient: Vec<f32>,
    adam: Adam,
    /// H.
    activations: Vec<f32>,
    /// The results of the second layers.
    outputs: Vec<Vec<f32>>,
    /// ε of a variational network.
    noise: Vec<f32>,
    vectors: Vec<f32>,
}

impl Network {
    /// The memory of a network, without that of its features, of which a node has so many; as many as
    /// there are nodes without any.
    pub fn bytes(kind: NetworkKind, nodes: usize, features: Option<usize>, dim: usize) -> u64 {
        let parameters = Self::parameter_count(kind, features.unwrap_or(nodes), dim);
        // Products with features, and the sums of chunks of rows for the gradient of their weights.
        let products = features.map_or(0, |width| {
            let chunks = nodes.div_ceil(CHUNK);
            sum([product([2, nodes, hidden(dim)]), product([chunks, width, hidden(dim)])])
        });
        let rows = product([nodes, 3 * hidden(dim) + 8 * dim]);
        let parameters = product([2 + Adam::MOMENTS, parameters]);
        sum([parameters, rows, products]).saturating_mul(4)
    }

    /// The number of weights of a network whose nodes have so many features.
    pub(super) fn parameter_count(kind: NetworkKind, features: usize, dim: usize) -> usize {
        ParameterRanges::new(kind, features, hidden(dim), dim).len()
    }

    /// A network with random weights (Glorot and Bengio's uniform initialisation).
    pub fn new(kind: NetworkKind, graph: &Arc<Graph>, dim: usize, seed: u64) -> Self {
        Self::with_inputs(kind, graph, None, dim, seed)
    }

    /// The same for nodes with features.
    pub fn with_inputs(
        kind: NetworkKind,
        graph: &Arc<Graph>,
        features: Option<Arc<Features>>,
        dim: usize,
        seed: u64,
    ) -> Self {
        let (nodes, hidden) = (graph.nodes(), hidden(dim));
        let inputs = features.as_ref().map_or(nodes, |features| features.width());
        let propagation = match kind {
            NetworkKind::Sage => Propagation::mean(graph),
            NetworkKind::Gcn | NetworkKind::Variational => Propagation::convolution(graph),
        };
        let ranges = ParameterRanges::new(kind, inputs, hidden, dim);
        let mut parameters = vec![0.0; ranges.len()];
        let mut rng = Rng::new(seed, Purpose::Start, 0, 0);
        let limits = [
            (0..ranges.first_layer(0).end.max(ranges.first_layer(1).end), inputs),
            (ranges.second_layer(0, 0).start..ranges.len(), dim),
        ];
        for (range, side) in limits {
            let limit = (6.0 / (side + hidden) as f64).sqrt();
            for weight in &mut parameters[range] {
                *weight = ((rng.unit() * 2.0 - 1.0) * limit) as f32;
            }
        }
        Self {
            kind,
            propagation,
            features,
            nodes,
            hidden,
            dim,
            gradient: vec![0.0; ranges.len()],
            adam: Adam::new(ranges.len()),
            parameters,
            activations: vec![0.0; nodes * hidden],
            outputs: vec![vec![0.0; nodes * dim]; ranges.heads],
            noise: vec![0.0; if kind == NetworkKind::Variational { nodes * dim } else { 0 }],
            vectors: vec![0.0; nodes * dim],
        }
    }

    fn ranges(&self) -> ParameterRanges {
        let inputs = self.features.as_ref().map_or(self.nodes, |features| features.width());
        ParameterRanges::new(self.kind, inputs, self.hidden, self.dim)
    }

    /// Replaces the weights.
    pub(super) fn set_parameters(&mut self, parameters: &[f32]) {
        self.parameters.copy_from_slice(parameters);
    }

    /// M X W₀ + X S₀, to the activations.
    fn forward_first_layer(&mut self) {
        let (ranges, hidden) = (self.ranges(), self.hidden);
        let table = &self.parameters[ranges.first_layer(0)];
        let own = ranges.self_weights.then(|| &self.parameters[ranges.first_layer(1)]);
        let out = &mut self.activations;
        let Some(features) = &self.features else {
            self.propagation.apply(table, out, hidden);
            if let Some(own) = own {
                out.iter_mut().zip(own).for_each(|(sum, weight)| *sum += weight);
            }
            return;
        };
        let mut product = vec![0.0; out.len()];
        features.times(table, &mut product, hidden);
        self.propagation.apply(&product, out, hidden);
        if let Some(own) = own {
            features.times(own, &mut product, hidden);
            out.iter_mut().zip(&product).for_each(|(sum, product)| *sum += product);
        }
    }

    /// The gradient of W₀ and S₀, from that of the activations.
    fn backward_first_layer(&mut self, d_hidden: &[f32]) {
        let (ranges, hidden) = (self.ranges(), self.hidden);
        let Some(features) = &self.features else {
            let d_table = &mut self.gradient[ranges.first_layer(0)];
            self.propagation.apply_transposed(d_hidden, d_table, hidden);
            if ranges.self_weights {
                self.gradient[ranges.first_layer(1)].copy_from_slice(d_hidden);
            }
            return;
        };
        let mut propagated = vec![0.0; d_hidden.len()];
        self.propagation.apply_transposed(d_hidden, &mut propagated, hidden);
        let d_table = &mut self.gradient[ranges.first_layer(0)];
        features.transposed_times(&propagated, d_table, hidden);
        if ranges.self_weights {
            let d_own = &mut self.gradient[ranges.first_layer(1)];
            features.transposed_times(d_hidden, d_own, hidden);
        }
    }

    fn forward_second_layer(&mut self, head: usize) {
        let (ranges, hidden, dim) = (self.ranges(), self.hidden, self.dim);
        let mut product = vec![0.0; self.nodes * dim];
        let weights = &self.parameters[ranges.second_layer(head, 0)];
        parallel_multiply(&self.activations, weights, &mut product, hidden, dim);
        let out = &mut self.outputs[head];
        self.propagation.apply(&product, out, dim);
        if ranges.self_weights {
            let weights = &self.parameters[ranges.second_layer(head, 1)];
            parallel_multiply(&self.activations, weights, &mut product, hidden, dim);
            out.iter_mut().zip(&product).for_each(|(out, product)| *out += product);
        }
    }

    /// Backpropagates the gradient at a second layer's result: computes the gradient of its
    /// weights, and adds to dH.
    fn backward_second_layer(&mut self, head: usize, gradient: &[f32], d_hidden: &mut [f32]) {
        let (ranges, hidden, dim) = (self.ranges(), self.hidden, self.dim);
        let mut propagated = vec![0.0; gradient.len()];
        self.propagation.apply_transposed(gradient, &mut propagated, dim);
        let mut backward = |which: usize, gradient: &[f32]| {
            let range = ranges.second_layer(head, which);
            let weights = &self.parameters[range.clone()];
            let mut product = vec![0.0; d_hidden.len()];
            let chunks =
                product.par_chunks_mut(CHUNK * hidden).zip(gradient.par_chunks(CHUNK * dim));
            chunks.for_each(|(out, rows)| multiply_by_transposed(rows, weights, out, dim));
            d_hidden.iter_mut().zip(product).for_each(|(sum, product)| *sum += product);
            transposed_multiply(
                &self.activations,
                gradient,
                &mut self.gradient[range],
                hidden,
                dim,
            );
        };
        backward(0, &propagated);
        if ranges.self_weights {
            backward(1, gradient);
        }
    }
}

impl Encoder for Network {
    fn forward(&mut self, noise: Option<&mut Rng>) {
        let ranges = self.ranges();
        self.forward_first_layer();
        self.activations.iter_mut().for_each(|activation| *activation = activation.max(0.0));
        (0..ranges.heads).for_each(|head| self.forward_second_layer(head));
        self.vectors.copy_from_slice(&self.outputs[0]);
        if self.kind != NetworkKind::Variational {
            return;
        }
        match noise {
            Some(rng) => self.noise.iter_mut().for_each(|noise| *noise = rng.normal() as f32),
            None => self.noise.fill(0.0),
        }
        let scaled = self.outputs[1].iter().zip(&self.noise);
        self.vectors.iter_mut().zip(scaled).for_each(|(z, (v, e))| *z += (v / 2.0).exp() * e);
    }

    fn vectors(&self) -> &[f32] {
        &self.vectors
    }

    fn backward(&mut self, gradient: &mut Vec<f32>) {
        let mut d_hidden = vec![0.0; self.activations.len()];
        if self.kind == NetworkKind::Variational {
            let scale = (self.nodes as f32).powi(2).recip();
            let d_log_variance = |(dz, (v, noise)): (&f32, (&f32, &f32))| {
                f32::midpoint(dz * noise * (v / 2.0).exp(), scale * (v.exp() - 1.0))
            };
            let samples = self.outputs[1].iter().zip(&self.noise);
            let variance: Vec<f32> = gradient.iter().zip(samples).map(d_log_variance).collect();
            gradient.iter_mut().zip(&self.outputs[0]).for_each(|(dz, mean)| *dz += scale * mean);
            self.backward_second_layer(1, &variance, &mut d_hidden);
        }
        self.backward_second_layer(0, gradient, &mut d_hidden);
        for (gradient, activation) in d_hidden.iter_mut().zip(&self.activations) {
            *gradient = if *activation > 0.0 { *gradient } else { 0.0 };
        }
        self.backward_first_layer(&d_hidden);
    }

    fn parameters(&self) -> Option<&[f32]> {
        Some(&self.parameters)
    }

    fn step(&mut self, rate: f64) {
        self.adam.step(rate, &mut self.parameters, &self.gradient);
    }

    fn state(&self) -> Option<Vec<u8>> {
        let mut state = Vec::new();
        append(&mut state, &self.parameters);
        self.adam.append(&mut state);
        Some(state)
    }

    fn restore(&mut self, mut state: &[u8]) -> Option<()> {
        take(&mut state, &mut self.parameters)?;
        self.adam.take(&mut state)?;
        self.forward(None);
        state.is_empty().then_some(())
    }
}

/// The ranges of the weight matrices in the list of parameters.
#[derive(Clone, Copy)]
struct ParameterRanges {
    /// Elements of W₀.
    table: usize,
    /// Elements of W₁.
    matrix: usize,
    /// Second layers.
    heads: usize,
    /// Whether there are S₀ and S₁.
    self_weights: bool,
}

impl ParameterRanges {
    fn new(kind: NetworkKind, inputs: usize, hidden: usize, dim: usize) -> Self {
        let heads = if kind == NetworkKind::Variational { 2 } else { 1 };
        let self_weights = kind == NetworkKind::Sage;
        // What a file claims may be any number.
        let (table, matrix) = (inputs.saturating_mul(hidden), hidden.saturating_mul(dim));
        Self { table, matrix, heads, self_weights }
    }

    fn len(self) -> usize {
        let heads = self.heads.saturating_mul(self.matrix);
        self.table.saturating_add(heads).saturating_mul(self.per_layer())
    }

    /// The weight matrices of a layer: W and S, or W alone.
    fn per_layer(self) -> usize {
        1 + usize::from(self.self_weights)
    }

    /// W₀ (0) or S₀ (1); the latter is empty if there is none.
    fn first_layer(self, which: usize) -> Range<usize> {
        which * self.table..if which < self.per_layer() {
            (which + 1) * self.table
        } else {
            which * self.table
        }
    }

    /// W₁ (0) or S₁ (1) of a second layer.
    fn second_layer(self, head: usize, which: usize) -> Range<usize> {
        let each = self.per_layer();
        let start = each * self.table + (head * each + which) * self.matrix;
        start..start + self.matrix
    }
}

/// Dimensions of the hidden layer: twice those of a vector.
fn hidden(dim: usize) -> usize {
    dim.saturating_mul(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{ReadOptions, read};

    /// The sum of all elements times fixed factors, plus the KL divergence.
    fn loss(network: &mut Network, factors: &[f32]) -> f64 {
        network.forward(Some(&mut Rng::new(1, Purpose::Noise, 0, 0)));
        let sum: f64 =
            network.vectors.iter().zip(factors).map(|(z, f)| f64::from(*z) * f64::from(*f)).sum();
        if network.kind != NetworkKind::Variational {
            return sum;
        }
        let samples = network.outputs[0].iter().zip(&network.outputs[1]);
        let divergence = samples.map(|(&mean, &v)| {
            let (mean, v) = (f64::from(mean), f64::from(v));
            (v.exp() + mean * mean - 1.0 - v) / 2.0
        });
        sum + divergence.sum::<f64>() / (network.nodes as f64).powi(2)
    }

    #[test]
    fn gradients_match_finite_differences() {
        const H: f32 = 1e-2;
        let graph = Arc::new(read("builtin:karate", &ReadOptions::default()).unwrap().graph);
        let mut rng = Rng::new(3, Purpose::Start, 0, 0);
        let dense = (0..34 * 5).map(|_| rng.unit() as f32 - 0.3).collect();
        let dense = Arc::new(Features::dense(34, 5, dense).unwrap());
        let columns = (0..34).map(|node| node % 7).collect();
        let sparse = Features::sparse(7, (0..=34).collect(), columns, vec![1.5; 34]).unwrap();
        let inputs = [None, Some(dense), Some(Arc::new(sparse))];
        let kinds = [NetworkKind::Gcn, NetworkKind::Variational, NetworkKind::Sage];
        for (kind, inputs) in kinds.into_iter().flat_map(|kind| inputs.clone().map(|x| (kind, x))) {
            let mut network = Network::with_inputs(kind, &graph, inputs, 3, 0);
            let mut rng = Rng::new(2, Purpose::Start, 0, 0);
            let factors: Vec<f32> = (0..34 * 3).map(|_| rng.unit() as f32 - 0.5).collect();
            let active = |network: &Network| -> Vec<bool> {
                network.activations.iter().map(|&activation| activation > 0.0).collect()
            };
            loss(&mut network, &factors);
            let before = active(&network);
            network.backward(&mut factors.clone());
            let mut compared = 0;
            for i in 0..network.parameters.len() {
                let mut smooth = true;
                let mut shifted = |by: f32| {
                    network.parameters[i] += by;
                    let loss = loss(&mut network, &factors);
                    network.parameters[i] -= by;
                    smooth &= active(&network) == before;
                    loss
                };
                let exact = (shifted(H) - shifted(-H)) / f64::from(2.0 * H);
                // Where the sign of an activation changes, ReLU is not differentiable.
                if smooth {
                    let found = f64::from(network.gradient[i]);
                    assert!((found - exact).abs() < 1e-3, "{kind:?}, {i}: {found} {exact}");
                    compared += 1;
                }
            }
            assert!(2 * compared > network.parameters.len(), "{kind:?}: {compared}");
        }
    }
}
