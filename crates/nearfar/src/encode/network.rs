//! Two layers of listening to the neighbours: GCN, its variational sibling, and GraphSAGE.
//!
//! # Derivation
//!
//! Nodes have no features but their own names, so the first layer multiplies with the identity,
//! and its weights are a table. With M of [`propagate`](super::propagate),
//!
//! ```text
//! H = max(0, M W₀ + S₀)        Z = M H W₁ + H S₁
//! ```
//!
//! where the matrices S, of what a node tells itself, are those of GraphSAGE; Â of graph
//! convolutions has that in M. Backwards, with dZ the gradient at Z and Q = Mᵀ dZ,
//!
//! ```text
//! dW₁ = Hᵀ Q,   dS₁ = Hᵀ dZ,   dH = Q W₁ᵀ + dZ S₁ᵀ,   dW₀ = Mᵀ (dH where H > 0),   dS₀ = dH where H > 0
//! ```
//!
//! A variational network has two second layers, for the mean μ and the logarithm v of the
//! variance, and draws Z = μ + e^(v/2) ε with normal ε. Its loss has the divergence from the
//! normal law beside it, (1/n²) Σ ½ (e^v + μ² − 1 − v) over all numbers (n² as in the authors'
//! code, whose other terms are means), so
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

/// Rows that are multiplied at a time; sums over rows are taken in the order of such parts.
const PART: usize = 256;

/// Which network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Graph convolutions.
    Gcn,
    /// Graph convolutions with a mean and a variance.
    Variational,
    /// GraphSAGE with means.
    Sage,
}

/// The network of a graph.
pub struct Network {
    kind: Kind,
    messages: Propagation,
    nodes: usize,
    hidden: usize,
    dim: usize,
    /// W₀, S₀, then for each second layer W₁ and S₁.
    parameters: Vec<f32>,
    gradient: Vec<f32>,
    adam: Adam,
    /// H.
    inner: Vec<f32>,
    /// The results of the second layers.
    outputs: Vec<Vec<f32>>,
    noise: Vec<f32>,
    vectors: Vec<f32>,
}

impl Network {
    /// The memory of a network.
    pub fn bytes(kind: Kind, nodes: usize, dim: usize) -> u64 {
        let parameters = Shape::new(kind, nodes, hidden(dim), dim).len();
        let rows = nodes * (3 * hidden(dim) + 8 * dim);
        (((2 + Adam::NUMBERS) * parameters + rows) * 4) as u64
    }

    /// A network with random weights (uniform, by Glorot and Bengio's rule).
    pub fn new(kind: Kind, graph: &Arc<Graph>, dim: usize, seed: u64) -> Self {
        let (nodes, hidden) = (graph.nodes(), hidden(dim));
        let messages = match kind {
            Kind::Sage => Propagation::mean(graph),
            Kind::Gcn | Kind::Variational => Propagation::convolution(graph),
        };
        let shape = Shape::new(kind, nodes, hidden, dim);
        let mut parameters = vec![0.0; shape.len()];
        let mut rng = Rng::new(seed, Purpose::Start, 0, 0);
        let limits = [
            (0..shape.inner(0).end.max(shape.inner(1).end), nodes),
            (shape.outer(0, 0).start..shape.len(), dim),
        ];
        for (range, side) in limits {
            let limit = (6.0 / (side + hidden) as f64).sqrt();
            for weight in &mut parameters[range] {
                *weight = ((rng.unit() * 2.0 - 1.0) * limit) as f32;
            }
        }
        Self {
            kind,
            messages,
            nodes,
            hidden,
            dim,
            gradient: vec![0.0; shape.len()],
            adam: Adam::new(shape.len()),
            parameters,
            inner: vec![0.0; nodes * hidden],
            outputs: vec![vec![0.0; nodes * dim]; shape.heads],
            noise: vec![0.0; if kind == Kind::Variational { nodes * dim } else { 0 }],
            vectors: vec![0.0; nodes * dim],
        }
    }

    fn shape(&self) -> Shape {
        Shape::new(self.kind, self.nodes, self.hidden, self.dim)
    }

    fn second_layer(&mut self, head: usize) {
        let (shape, hidden, dim) = (self.shape(), self.hidden, self.dim);
        let mut messages = vec![0.0; self.nodes * dim];
        rows_times(&self.inner, &self.parameters[shape.outer(head, 0)], &mut messages, hidden, dim);
        let out = &mut self.outputs[head];
        self.messages.apply(&messages, out, dim);
        if shape.own {
            rows_times(
                &self.inner,
                &self.parameters[shape.outer(head, 1)],
                &mut messages,
                hidden,
                dim,
            );
            out.iter_mut().zip(&messages).for_each(|(out, own)| *out += own);
        }
    }

    /// Adds to dH what comes back through a second layer, whose weights get their gradient.
    fn second_layer_back(&mut self, head: usize, gradient: &[f32], inner: &mut [f32]) {
        let (shape, hidden, dim) = (self.shape(), self.hidden, self.dim);
        let mut back = vec![0.0; gradient.len()];
        self.messages.apply_transposed(gradient, &mut back, dim);
        let mut through = |which: usize, back: &[f32]| {
            let range = shape.outer(head, which);
            let weights = &self.parameters[range.clone()];
            let mut one = vec![0.0; inner.len()];
            let parts = one.par_chunks_mut(PART * hidden).zip(back.par_chunks(PART * dim));
            parts.for_each(|(out, back)| multiply_by_transposed(back, weights, out, dim));
            inner.iter_mut().zip(one).for_each(|(inner, one)| *inner += one);
            sum_of_products(&self.inner, back, &mut self.gradient[range], hidden, dim);
        };
        through(0, &back);
        if shape.own {
            through(1, gradient);
        }
    }
}

impl Encoder for Network {
    fn forward(&mut self, noise: Option<&mut Rng>) {
        let shape = self.shape();
        self.messages.apply(&self.parameters[shape.inner(0)], &mut self.inner, self.hidden);
        if shape.own {
            let own = &self.parameters[shape.inner(1)];
            self.inner.iter_mut().zip(own).for_each(|(inner, own)| *inner += own);
        }
        self.inner.iter_mut().for_each(|inner| *inner = inner.max(0.0));
        (0..shape.heads).for_each(|head| self.second_layer(head));
        self.vectors.copy_from_slice(&self.outputs[0]);
        if self.kind != Kind::Variational {
            return;
        }
        match noise {
            Some(rng) => self.noise.iter_mut().for_each(|noise| *noise = rng.normal() as f32),
            None => self.noise.fill(0.0),
        }
        let law = self.outputs[1].iter().zip(&self.noise);
        self.vectors.iter_mut().zip(law).for_each(|(z, (v, noise))| *z += (v / 2.0).exp() * noise);
    }

    fn vectors(&self) -> &[f32] {
        &self.vectors
    }

    fn backward(&mut self, gradient: &mut Vec<f32>) {
        let (shape, hidden) = (self.shape(), self.hidden);
        let mut inner = vec![0.0; self.inner.len()];
        if self.kind == Kind::Variational {
            let share = (self.nodes as f32).powi(2).recip();
            let of_variance = |(dz, (v, noise)): (&f32, (&f32, &f32))| {
                f32::midpoint(dz * noise * (v / 2.0).exp(), share * (v.exp() - 1.0))
            };
            let law = self.outputs[1].iter().zip(&self.noise);
            let variance: Vec<f32> = gradient.iter().zip(law).map(of_variance).collect();
            gradient.iter_mut().zip(&self.outputs[0]).for_each(|(dz, mean)| *dz += share * mean);
            self.second_layer_back(1, &variance, &mut inner);
        }
        self.second_layer_back(0, gradient, &mut inner);
        for (back, inner) in inner.iter_mut().zip(&self.inner) {
            *back = if *inner > 0.0 { *back } else { 0.0 };
        }
        self.messages.apply_transposed(&inner, &mut self.gradient[shape.inner(0)], hidden);
        if shape.own {
            self.gradient[shape.inner(1)].copy_from_slice(&inner);
        }
    }

    fn step(&mut self, rate: f64) {
        self.adam.step(rate, &mut self.parameters, &self.gradient);
    }
}

/// Where the weights are among the parameters.
#[derive(Clone, Copy)]
struct Shape {
    table: usize,
    matrix: usize,
    heads: usize,
    /// Whether nodes have weights for themselves.
    own: bool,
}

impl Shape {
    fn new(kind: Kind, nodes: usize, hidden: usize, dim: usize) -> Self {
        let heads = if kind == Kind::Variational { 2 } else { 1 };
        Self { table: nodes * hidden, matrix: hidden * dim, heads, own: kind == Kind::Sage }
    }

    fn len(self) -> usize {
        (self.table + self.heads * self.matrix) * self.each()
    }

    /// W and S, or W alone.
    fn each(self) -> usize {
        1 + usize::from(self.own)
    }

    /// W₀ (0) or S₀ (1); the latter is empty if there is none.
    fn inner(self, which: usize) -> Range<usize> {
        which * self.table..if which < self.each() {
            (which + 1) * self.table
        } else {
            which * self.table
        }
    }

    /// W₁ (0) or S₁ (1) of a second layer.
    fn outer(self, head: usize, which: usize) -> Range<usize> {
        let start = self.each() * self.table + (head * self.each() + which) * self.matrix;
        start..start + self.matrix
    }
}

/// Numbers between the layers: twice those of a vector.
fn hidden(dim: usize) -> usize {
    2 * dim
}

/// out = x w, side by side.
fn rows_times(x: &[f32], w: &[f32], out: &mut [f32], inner: usize, columns: usize) {
    let parts = x.par_chunks(PART * inner).zip(out.par_chunks_mut(PART * columns));
    parts.for_each(|(x, out)| multiply(x, w, out, inner, columns));
}

/// out = xᵀ y, part by part, the same on any number of threads.
fn sum_of_products(x: &[f32], y: &[f32], out: &mut [f32], inner: usize, columns: usize) {
    let parts = x.par_chunks(PART * inner).zip(y.par_chunks(PART * columns));
    let sums: Vec<Vec<f32>> = parts
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

    /// Σ of all numbers times fixed factors, and the divergence.
    fn loss(network: &mut Network, factors: &[f32]) -> f64 {
        network.forward(Some(&mut Rng::new(1, Purpose::Noise, 0, 0)));
        let sum: f64 =
            network.vectors.iter().zip(factors).map(|(z, f)| f64::from(*z) * f64::from(*f)).sum();
        if network.kind != Kind::Variational {
            return sum;
        }
        let law = network.outputs[0].iter().zip(&network.outputs[1]);
        let divergence = law.map(|(&mean, &v)| {
            let (mean, v) = (f64::from(mean), f64::from(v));
            (v.exp() + mean * mean - 1.0 - v) / 2.0
        });
        sum + divergence.sum::<f64>() / (network.nodes as f64).powi(2)
    }

    #[test]
    fn gradients_are_differences() {
        const H: f32 = 1e-2;
        let graph = Arc::new(read("builtin:karate", &ReadOptions::default()).unwrap().graph);
        for kind in [Kind::Gcn, Kind::Variational, Kind::Sage] {
            let mut network = Network::new(kind, &graph, 3, 0);
            let mut rng = Rng::new(2, Purpose::Start, 0, 0);
            let factors: Vec<f32> = (0..34 * 3).map(|_| rng.unit() as f32 - 0.5).collect();
            let heard = |network: &Network| -> Vec<bool> {
                network.inner.iter().map(|&inner| inner > 0.0).collect()
            };
            loss(&mut network, &factors);
            let before = heard(&network);
            network.backward(&mut factors.clone());
            let mut compared = 0;
            for at in 0..network.parameters.len() {
                let mut smooth = true;
                let mut shifted = |by: f32| {
                    network.parameters[at] += by;
                    let loss = loss(&mut network, &factors);
                    network.parameters[at] -= by;
                    smooth &= heard(&network) == before;
                    loss
                };
                let exact = (shifted(H) - shifted(-H)) / f64::from(2.0 * H);
                // Across a corner of max(0, x) there is no gradient.
                if smooth {
                    let found = f64::from(network.gradient[at]);
                    assert!((found - exact).abs() < 1e-3, "{kind:?}, {at}: {found} {exact}");
                    compared += 1;
                }
            }
            assert!(2 * compared > network.parameters.len(), "{kind:?}: {compared}");
        }
    }
}
