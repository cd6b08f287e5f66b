//! Initial vectors on a device: those of `nearfar::train::start`, up to rounding.

use nearfar::Result;
use nearfar::graph::Node;
use nearfar::simd::LANES;
use nearfar::train::start::{SPREAD, Subspace, add_spectral, spectral_columns, spectral_scale};
use nearfar::train::{Start, Task, TrainPlan};

use super::buffer::{Address, Argument, Buffer, NULL};
use super::device::Open;
use super::matrices::{Products, SparseMatrix};

/// Fills the first of two tables with initial vectors.
pub(crate) fn start(
    device: &Open,
    stride: usize,
    vectors: &mut [Buffer<f32>; 2],
    task: &Task<'_>,
) -> Result<()> {
    let (plan, n) = (task.plan, task.graph.nodes());
    let rows = vectors[0].address(device);
    let spread = if plan.start == Start::Spectral { 0.1 * SPREAD } else { SPREAD };
    random(device, plan, 0, spread, (rows, n), (plan.dim, stride))?;
    if plan.start == Start::Random || task.graph.arcs() == 0 {
        return Ok(());
    }
    let graph = task.graph.to_undirected();
    let inverse = |node: Node| {
        let degree = graph.weighted_degree(node) as f32;
        if degree > 0.0 { degree.recip() } else { 0.0 }
    };
    let left: Vec<f32> = (0..n as Node).map(inverse).collect();
    let (scale, steps) = spectral_scale(&graph, plan.window);
    let columns = spectral_columns(plan, n);
    let padded = columns.next_multiple_of(LANES);
    let table = || {
        // SAFETY: X is filled below, the others by the first product.
        unsafe { Buffer::<f32>::uninitialised(device, n * padded) }
    };
    let mut subspace = DeviceSubspace {
        products: Products::new(device)?,
        mean: SparseMatrix::new(device, &graph, &left, None)?,
        scale: Buffer::copy(device, &scale)?,
        steps,
        shape: (n, padded),
        columns,
        tables: [table()?, table()?, table()?],
        rows,
        stride,
    };
    let x = subspace.tables[0].address(device);
    random(device, plan, 1, 0.0, (x, n), (columns, padded))?;
    add_spectral(&mut subspace, n, columns)
}

/// Fills rows with uniform numbers up to `spread`; those of X if it is 0.
fn random(
    device: &Open,
    plan: &TrainPlan,
    stream: u64,
    spread: f64,
    (rows, count): (Address, usize),
    (columns, stride): (usize, usize),
) -> Result<()> {
    let arguments: [&dyn Argument; 7] =
        [&plan.seed, &stream, &spread, &rows, &(count as u32), &(columns as u32), &(stride as u32)];
    // SAFETY: there are `count` rows of `stride` values.
    unsafe { device.launch(&device.kernel("random_rows")?, (count.div_ceil(128), 128), &arguments) }
}

/// The matrices on the device, with columns of zeros to the next multiple of four and more.
struct DeviceSubspace<'a> {
    products: Products<'a>,
    mean: SparseMatrix,
    scale: Buffer<f32>,
    steps: usize,
    /// Rows, and columns with those of zeros.
    shape: (usize, usize),
    columns: usize,
    /// X, Y and space for products.
    tables: [Buffer<f32>; 3],
    rows: Address,
    stride: usize,
}

impl DeviceSubspace<'_> {
    /// Writes a polynomial of P times X, times D, to Y. Horner's rule: X is added after the products for
    /// which `adds` holds, counted from 1.
    fn polynomial(&mut self, adds: impl Fn(usize) -> bool) -> Result<()> {
        let device = self.products.device;
        let scale = self.scale.address(device);
        let x = self.tables[0].address(device);
        let mut from = x;
        for product in 1..=self.steps {
            let to = self.tables[2].address(device);
            let addend = if adds(product) { x } else { NULL };
            let scale = if product == self.steps { scale } else { NULL };
            self.products.sparse(&self.mean, from, (addend, scale, NULL), to, self.shape)?;
            self.tables.swap(1, 2);
            from = to;
        }
        Ok(())
    }

    /// The part of a matrix without columns of zeros.
    fn without_padding(&self, matrix: &[f64]) -> Vec<f64> {
        let rows = matrix.chunks_exact(self.shape.1).take(self.columns);
        rows.flat_map(|row| &row[..self.columns]).copied().collect()
    }

    /// A matrix with rows and columns of zeros, transposed or not.
    fn padded(&self, weights: &[f32], transposed: bool) -> Vec<f32> {
        let (columns, padded) = (self.columns, self.shape.1);
        let mut out = vec![0.0; padded * padded];
        for (at, &weight) in weights.iter().enumerate() {
            let (i, j) = (at / columns, at % columns);
            out[if transposed { j * padded + i } else { i * padded + j }] = weight;
        }
        out
    }
}

impl Subspace for DeviceSubspace<'_> {
    fn filter(&mut self) -> Result<()> {
        self.polynomial(|product| product == 1)?;
        self.tables.swap(0, 1);
        Ok(())
    }

    fn matrix(&mut self) -> Result<()> {
        let steps = self.steps;
        self.polynomial(|product| product < steps)
    }

    fn gram(&mut self) -> Result<Vec<f64>> {
        let x = self.tables[0].address(self.products.device);
        Ok(self.without_padding(&self.products.gram(x, x, self.shape)?))
    }

    fn products(&mut self) -> Result<Vec<f64>> {
        let [x, y, _] = self.tables.each_ref().map(|table| table.address(self.products.device));
        Ok(self.without_padding(&self.products.gram(x, y, self.shape)?))
    }

    fn transform(&mut self, weights: &[f32]) -> Result<()> {
        let [x, _, out] = self.tables.each_ref().map(|table| table.address(self.products.device));
        let weights = self.padded(weights, true);
        self.products.rows(x, self.shape, &weights, 0.0, (out, self.shape.1))?;
        self.tables.swap(0, 2);
        Ok(())
    }

    fn length(&mut self, weights: &[f32]) -> Result<f64> {
        let y = self.tables[1].address(self.products.device);
        self.products.length(y, self.shape, &self.padded(weights, false))
    }

    fn add(&mut self, weights: &[f32], scale: f32) -> Result<()> {
        let y = self.tables[1].address(self.products.device);
        let weights = self.padded(weights, false);
        self.products.rows(y, self.shape, &weights, scale, (self.rows, self.stride))
    }
}
