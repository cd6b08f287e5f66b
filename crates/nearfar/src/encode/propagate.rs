//! Neighbour aggregation: products with a propagation matrix M.
//!
//! M is sparse, with M_ij = left_i · w_ij · right_j for each edge, and a diagonal that may be 0:
//!
//! - GCN: M = D^−½ (A + I) D^−½, D being the degrees of A + I (Kipf and Welling, ICLR 2017);
//! - mean: M = D⁻¹ A, D being the degrees of A (Hamilton et al., *GraphSAGE*, NeurIPS 2017);
//! - symmetric: M = D^−½ A D^−½.
//!
//! As A is symmetric, Mᵀ is M with left and right exchanged.

use std::sync::Arc;

use rayon::prelude::*;

use crate::graph::{Graph, Node};

/// The matrix M of a graph.
pub(crate) struct Propagation {
    graph: Arc<Graph>,
    left: Vec<f32>,
    right: Vec<f32>,
    diagonal: Vec<f32>,
}

impl Propagation {
    /// M of GCN.
    pub(crate) fn convolution(graph: &Arc<Graph>) -> Self {
        let root: Vec<f32> = degrees(graph).map(|degree| (degree + 1.0).sqrt().recip()).collect();
        let diagonal = root.iter().map(|root| root * root).collect();
        Self { graph: Arc::clone(graph), left: root.clone(), right: root, diagonal }
    }

    /// The mean over the neighbours; rows of nodes without neighbours are 0.
    pub(crate) fn mean(graph: &Arc<Graph>) -> Self {
        let n = graph.nodes();
        let inverse = |degree: f32| if degree > 0.0 { degree.recip() } else { 0.0 };
        let left = degrees(graph).map(inverse).collect();
        Self { graph: Arc::clone(graph), left, right: vec![1.0; n], diagonal: vec![0.0; n] }
    }

    /// D^−½ A D^−½; rows of nodes without neighbours are 0.
    pub(crate) fn symmetric(graph: &Arc<Graph>) -> Self {
        let inverse = |degree: f32| if degree > 0.0 { degree.sqrt().recip() } else { 0.0 };
        let root: Vec<f32> = degrees(graph).map(inverse).collect();
        let diagonal = vec![0.0; graph.nodes()];
        Self { graph: Arc::clone(graph), left: root.clone(), right: root, diagonal }
    }

    /// Writes M x to `out`; both have rows of `dim` values.
    pub(crate) fn apply(&self, x: &[f32], out: &mut [f32], dim: usize) {
        self.product(&self.left, &self.right, x, out, dim);
    }

    /// Writes Mᵀ x to `out`.
    pub(crate) fn apply_transposed(&self, x: &[f32], out: &mut [f32], dim: usize) {
        self.product(&self.right, &self.left, x, out, dim);
    }

    fn product(&self, left: &[f32], right: &[f32], x: &[f32], out: &mut [f32], dim: usize) {
        let row = |node: usize| &x[node * dim..(node + 1) * dim];
        out.par_chunks_exact_mut(dim).enumerate().for_each(|(i, out)| {
            let diagonal = self.diagonal[i];
            out.iter_mut().zip(row(i)).for_each(|(out, x)| *out = diagonal * x);
            let weights = self.graph.weights(i as Node);
            for (edge, &j) in self.graph.neighbours(i as Node).iter().enumerate() {
                let weight = weights.map_or(1.0, |weights| weights[edge]);
                let factor = left[i] * weight * right[j as usize];
                out.iter_mut().zip(row(j as usize)).for_each(|(out, x)| *out += factor * x);
            }
        });
    }
}

/// The weighted degree of each node.
fn degrees(graph: &Graph) -> impl Iterator<Item = f32> {
    (0..graph.nodes() as Node).map(|node| match graph.weights(node) {
        Some(weights) => weights.iter().sum(),
        None => graph.degree(node) as f32,
    })
}
