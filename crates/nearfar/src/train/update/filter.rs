//! Smoothing of some rows only: as [`smooth`](super::super::smooth), where the rest is smooth already.
//!
//! ```text
//! Y = q qᵀU + a (S − q qᵀ)ˢ U,   a such that the smoothed part of the rows asked for keeps its length
//! ```
//!
//! A row of (S − q qᵀ)ˢ U depends on the rows up to s hops away, and no others are read, but for the
//! sum qᵀU over all of them.

use rayon::prelude::*;

use crate::graph::{Graph, Node};

/// Rows over which sums are taken, then added in order.
const CHUNK: usize = 4096;

/// In place of a position where a node has none.
const NONE: u32 = u32::MAX;

/// The smoothed rows of some nodes, without padding; `rows` have `stride` numbers, `dim` of them used.
/// A node without edges keeps its row.
pub(super) fn filtered(
    graph: &Graph,
    rows: &[f32],
    (dim, stride): (usize, usize),
    nodes: &[Node],
    times: usize,
) -> Vec<f32> {
    let degrees: Vec<f64> = (0..graph.nodes() as Node)
        .into_par_iter()
        .map(|node| graph.weighted_degree(node))
        .collect();
    let volume: f64 = degrees.iter().sum();
    let row = |node: Node| &rows[node as usize * stride..][..dim];
    let own: Vec<f32> = nodes.iter().flat_map(|&node| row(node)).copied().collect();
    if times == 0 || volume <= 0.0 {
        return own;
    }
    let q = |node: Node| (degrees[node as usize] / volume).sqrt() as f32;
    let along = along(rows, (dim, stride), &degrees, volume);
    let rest = |node: Node, out: &mut [f32]| {
        let q = q(node);
        out.iter_mut()
            .zip(row(node))
            .zip(&along)
            .for_each(|((out, x), along)| *out = x - q * along);
    };
    // The nodes whose rows are needed after each product, from the last product to none.
    let mut needed = vec![nodes.to_vec()];
    for _ in 0..times {
        needed.push(with_neighbours(graph, &needed[needed.len() - 1]));
    }
    let mut position = vec![NONE; graph.nodes()];
    let mut widest = needed.pop().unwrap_or_default();
    let mut x = vec![0.0; widest.len() * dim];
    x.par_chunks_exact_mut(dim).zip(&widest).for_each(|(out, &node)| rest(node, out));
    let mut before = vec![0.0; own.len()];
    before.par_chunks_exact_mut(dim).zip(nodes).for_each(|(out, &node)| rest(node, out));
    while let Some(inner) = needed.pop() {
        widest.iter().enumerate().for_each(|(at, &node)| position[node as usize] = at as u32);
        let mut next = vec![0.0; inner.len() * dim];
        next.par_chunks_exact_mut(dim).zip(&inner).for_each(|(out, &node)| {
            let weights = graph.weights(node);
            for (at, &other) in graph.neighbours(node).iter().enumerate() {
                let weight = weights.map_or(1.0, |weights| f64::from(weights[at]));
                let degrees = degrees[node as usize] * degrees[other as usize];
                let factor = (weight / degrees.sqrt()) as f32;
                let from = &x[position[other as usize] as usize * dim..][..dim];
                out.iter_mut().zip(from).for_each(|(out, x)| *out += factor * x);
            }
        });
        (x, widest) = (next, inner);
    }
    let (before, after) = (squares(&before), squares(&x));
    let factor = if after > 0.0 { (before / after).sqrt() as f32 } else { 0.0 };
    x.par_chunks_exact_mut(dim).zip(nodes).for_each(|(out, &node)| {
        if graph.degree(node) == 0 {
            out.copy_from_slice(row(node));
            return;
        }
        let q = q(node);
        out.iter_mut().zip(&along).for_each(|(x, along)| *x = q * along + factor * *x);
    });
    x
}

/// Some nodes and their neighbours, in increasing order.
fn with_neighbours(graph: &Graph, nodes: &[Node]) -> Vec<Node> {
    let mut is_in = vec![false; graph.nodes()];
    for &node in nodes {
        is_in[node as usize] = true;
        graph.neighbours(node).iter().for_each(|&other| is_in[other as usize] = true);
    }
    (0..graph.nodes() as Node).filter(|&node| is_in[node as usize]).collect()
}

/// qᵀU.
fn along(rows: &[f32], (dim, stride): (usize, usize), degrees: &[f64], volume: f64) -> Vec<f32> {
    let of_chunk = |(rows, degrees): (&[f32], &[f64])| {
        let mut sums = vec![0.0_f64; dim];
        for (row, degree) in rows.chunks_exact(stride).zip(degrees) {
            let q = (degree / volume).sqrt();
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += q * f64::from(*x));
        }
        sums
    };
    let chunks = (rows.par_chunks(CHUNK * stride), degrees.par_chunks(CHUNK)).into_par_iter();
    let mut total = vec![0.0; dim];
    for sums in chunks.map(of_chunk).collect::<Vec<_>>() {
        total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
    }
    total.into_iter().map(|sum| sum as f32).collect()
}

fn squares(x: &[f32]) -> f64 {
    let sums: Vec<f64> =
        x.par_chunks(CHUNK).map(|x| x.iter().map(|x| f64::from(x * x)).sum()).collect();
    sums.iter().sum()
}
