//! Smoothing on a device: that of `nearfar::train::smooth`, up to rounding.

use std::sync::Arc;

use nearfar::Result;
use nearfar::graph::{Graph, Node};
use nearfar::train::smooth::{EVENING, GROWTH};

use super::buffer::{Address, Argument, Buffer, NULL};
use super::device::Open;
use super::matrices::{Products, SparseMatrix};

/// Smooths the first of two tables so many times, with the matrix of an undirected graph.
pub(crate) fn smooth(
    device: &Open,
    stride: usize,
    vectors: &mut [Buffer<f32>; 2],
    graph: &Arc<Graph>,
    times: usize,
) -> Result<()> {
    let n = graph.nodes();
    let degrees = || (0..n as Node).map(|node| graph.weighted_degree(node));
    let volume: f64 = degrees().sum();
    if volume <= 0.0 {
        return Ok(());
    }
    let q: Vec<f32> = degrees().map(|degree| (degree / volume).sqrt() as f32).collect();
    let root = |degree: f64| if degree > 0.0 { (degree as f32).sqrt().recip() } else { 0.0 };
    let root: Vec<f32> = degrees().map(root).collect();
    let matrix = SparseMatrix::new(device, graph, &root, Some(&root))?;
    let q = Buffer::copy(device, &q)?;
    let at = q.address(device);
    let (products, shape) = (Products::new(device)?, (n, stride));
    let rows = |vectors: &[Buffer<f32>; 2]| vectors[0].address(device);
    let length = products.squares(rows(vectors), at, shape, 1.0)?;
    let along = remove(&products, rows(vectors), at, shape)?;
    let before = products.squares(rows(vectors), at, shape, 1.0)?;
    for _ in 0..times {
        let out = vectors[1].address(device);
        products.sparse(&matrix, rows(vectors), (NULL, NULL, at), out, shape)?;
        vectors.swap(0, 1);
        // S R is orthogonal to q, but for rounding errors, which would grow.
        remove(&products, rows(vectors), at, shape)?;
    }
    let after = products.squares(rows(vectors), at, shape, 1.0)?;
    let factor = if after > 0.0 { (before / after).sqrt() as f32 } else { 0.0 };
    combine(&products, rows(vectors), at, &along, shape, (factor, 1.0))?;
    let evened = products.squares(rows(vectors), at, shape, 1.0 - EVENING)?;
    let squares = Buffer::<f64>::zeros(device, n)?;
    products.squares_to(rows(vectors), at, shape, 1.0, squares.address(device))?;
    let arguments: [&dyn Argument; 7] = [
        &rows(vectors),
        &at,
        &squares.address(device),
        &(n as u32),
        &(stride as u32),
        &(GROWTH * length / evened),
        &EVENING,
    ];
    let kernel = device.kernel("even_lengths")?;
    // SAFETY: there are `n` rows of `stride` values, and as many squares.
    unsafe { device.launch(&kernel, ((n * stride).div_ceil(256), 256), &arguments) }
}

/// Subtracts q qᵀX from X, and returns qᵀX.
fn remove(
    products: &Products<'_>,
    x: Address,
    q: Address,
    shape: (usize, usize),
) -> Result<Vec<f32>> {
    let along: Vec<f32> =
        products.along(x, q, shape)?.into_iter().map(|value| value as f32).collect();
    combine(products, x, q, &along, shape, (1.0, -1.0))?;
    Ok(along)
}

/// X ← factor X + scale q along, in rows with q > 0.
fn combine(
    products: &Products<'_>,
    x: Address,
    q: Address,
    along: &[f32],
    (rows, stride): (usize, usize),
    (factor, scale): (f32, f32),
) -> Result<()> {
    let device = products.device;
    let along = Buffer::copy(device, along)?;
    let arguments: [&dyn Argument; 7] =
        [&x, &q, &along.address(device), &(rows as u32), &(stride as u32), &factor, &scale];
    let kernel = device.kernel("combine")?;
    // SAFETY: there are as many rows, and a number for each column.
    unsafe { device.launch(&kernel, ((rows * stride).div_ceil(256), 256), &arguments) }
}
