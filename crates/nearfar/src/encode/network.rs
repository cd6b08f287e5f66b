//! Two-layer GCN, VGAE and GraphSAGE.
//!
//! # Derivation
//!
//! Node features are one-hot, so the input is the identity matrix and the weights W₀ of the first
//! layer are a table with a row per node. With M of [`propagate`](super::propagate),
//!
//! ```text
//! H = max(0, M W₀ + S₀)        Z = M H W₁ + H S₁
//! ```
//!
//! where S₀ and S₁, the weights of the node itself, are used by GraphSAGE only; for GCN the diagonal
//! of M takes their role. Backward, with dZ the gradient at Z and Q = Mᵀ dZ,
//!
//! ```text
//! dW₁ = Hᵀ Q,   dS₁ = Hᵀ dZ,   dH = Q W₁ᵀ + dZ S₁ᵀ,   dW₀ = Mᵀ (dH where H > 0),   dS₀ = dH where H > 0
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

use super::propagate::Propagation;
use super::{Adam, Encoder};
use crate::graph::Graph;
use crate::matrix::{add_transposed, multiply, multiply_by_transposed};
use crate::rng::{Purpose, Rng};

/// Rows per task; sums over rows are taken chunk by chunk, so that they do not depend on threads.
const CHUNK: usize = 256;

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

/// A two-layer graph neural network.
pub struct Network {
    kind: NetworkKind,
    propagation: Propagation,
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
    /// The memory of a network.
    pub fn bytes(kind: NetworkKind, nodes: usize, dim: usize) -> u64 {
        let parameters = ParameterRanges::new(kind, nodes, hidden(dim), dim).len();
        let rows = nodes * (3 * hidden(dim) + 8 * dim);
        (((2 + Adam::MOMENTS) * parameters + rows) * 4) as u64
    }

    /// A network with random weights (Glorot and Bengio's uniform initialisation).
    pub fn new(kind: NetworkKind, graph: &Arc<Graph>, dim: usize, seed: u64) -> Self {
        let (nodes, hidden) = (graph.nodes(), hidden(dim));
        let propagation = match kind {
            NetworkKind::Sage => Propagation::mean(graph),
            NetworkKind::Gcn | NetworkKind::Variational => Propagation::convolution(graph),
        };
        let ranges = ParameterRanges::new(kind, nodes, hidden, dim);
        let mut parameters = vec![0.0; ranges.len()];
        let mut rng = Rng::new(seed, Purpose::Start, 0, 0);
        let limits = [
            (0..ranges.first_layer(0).end.max(ranges.first_layer(1).end), nodes),
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
        ParameterRanges::new(self.kind, self.nodes, self.hidden, self.dim)
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
        let table = &self.parameters[ranges.first_layer(0)];
        self.propagation.apply(table, &mut self.activations, self.hidden);
        if ranges.self_weights {
            let table = &self.parameters[ranges.first_layer(1)];
            self.activations.iter_mut().zip(table).for_each(|(sum, weight)| *sum += weight);
        }
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
        let (ranges, hidden) = (self.ranges(), self.hidden);
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
        let d_table = &mut self.gradient[ranges.first_layer(0)];
        self.propagation.apply_transposed(&d_hidden, d_table, hidden);
        if ranges.self_weights {
            self.gradient[ranges.first_layer(1)].copy_from_slice(&d_hidden);
        }
    }

    fn step(&mut self, rate: f64) {
        self.adam.step(rate, &mut self.parameters, &self.gradient);
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
    fn new(kind: NetworkKind, nodes: usize, hidden: usize, dim: usize) -> Self {
        let heads = if kind == NetworkKind::Variational { 2 } else { 1 };
        let self_weights = kind == NetworkKind::Sage;
        Self { table: nodes * hidden, matrix: hidden * dim, heads, self_weights }
    }

    fn len(self) -> usize {
        (self.table + self.heads * self.matrix) * self.per_layer()
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
    2 * dim
}

/// out = x w, in parallel over chunks of rows.
fn parallel_multiply(x: &[f32], w: &[f32], out: &mut [f32], inner: usize, columns: usize) {
    let chunks = x.par_chunks(CHUNK * inner).zip(out.par_chunks_mut(CHUNK * columns));
    chunks.for_each(|(x, out)| multiply(x, w, out, inner, columns));
}

/// out = xᵀ y, summed chunk by chunk in order: the same bits on any number of threads.
fn transposed_multiply(x: &[f32], y: &[f32], out: &mut [f32], inner: usize, columns: usize) {
    let chunks = x.par_chunks(CHUNK * inner).zip(y.par_chunks(CHUNK * columns));
    let sums: Vec<Vec<f32>> = chunks
        .map(|(x, y)| {
            let mut sum = vec![0.0; inner * columns];
            add_transposed(x, y, &mut sum, inner, columns);
            sum
        })
        .collect();
    out.fill(0.0);
    for sum in &sums {
        out.iter_mut().zip(sum).for_each(|(out, sum)| *out += sum);
    }
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
        for kind in [NetworkKind::Gcn, NetworkKind::Variational, NetworkKind::Sage] {
            let mut network = Network::new(kind, &graph, 3, 0);
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
