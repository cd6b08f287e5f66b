//! The exact trainer on a device: gradient descent on all pairs, with distances in one or two bytes and
//! no matrix of n² floats (`kernels/exact.cuh`).

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use cudarc::driver::CudaFunction;
use cudarc::driver::sys::CUfunction_attribute_enum as Attribute;
use nearfar::error::Problem;
use nearfar::graph::Graph;
use nearfar::negative::{CellArray, LawArrays};
use nearfar::train::exact::{Positives, add_transposed_rows, regularised, step_size};
use nearfar::train::l2::L2Controller;
use nearfar::train::{
    Backend, Device, EpochStats, KeepGoing, Task, TrainPlan, VectorView, initial,
};
use nearfar::{Error, Result};

use super::buffer::{Argument, Buffer, CellsArgument, NULL, WeightsArgument};
use super::device::Open;
use super::law::DeviceCells;
use super::matrices::Products;
use super::memory::{self, Limit};
use super::smooth::smooth;
use super::start::start;

/// Rows of a block, and columns of a tile: those of the kernels.
const ROWS: usize = 64;
const COLUMNS: usize = 32;

/// Blocks that keep a device busy, and the most parts of the columns.
const BLOCKS: usize = 2048;
const PARTS: usize = 8;

/// The trainer.
pub(crate) struct Exact<'a> {
    plan: &'a TrainPlan,
    graph: &'a Arc<Graph>,
    device: Open,
    dense: CudaFunction,
    step: CudaFunction,
    stride: usize,
    /// Parts that columns are divided into, each with a gradient of its own: small graphs have too few
    /// rows to keep a device busy.
    parts: usize,
    weights: DenseWeights,
    positives: SparsePositives,
    /// The vectors, and those after the next step.
    vectors: [Buffer<f32>; 2],
    gradient: Buffer<f32>,
    losses: Buffer<f32>,
    row_losses: Buffer<f64>,
    /// c of centres that are regularised, and the fraction of a step that each node takes.
    regularised: Buffer<f32>,
    sizes: Buffer<f32>,
    /// The sum of all weights.
    mass: f64,
    l2: L2Controller,
    downloaded: OnceLock<Vec<f32>>,
}

/// What weighs a pair that is not positive.
struct DenseWeights {
    hops: Option<DeviceCells>,
    powers: Option<Buffer<f32>>,
    low: Buffer<f32>,
    high: Buffer<f32>,
    factors: Buffer<f32>,
}

/// A, by row.
struct SparsePositives {
    starts: Buffer<u64>,
    columns: Buffer<u32>,
    weights: Buffer<f32>,
}

impl<'a> Exact<'a> {
    /// The trainer of a task.
    pub(crate) fn new(device: Open, task: &Task<'a>, limit: Limit) -> Result<Self> {
        let &Task { plan, graph, negatives, init, .. } = task;
        let n = graph.nodes();
        let stride = if plan.dim <= 64 { 64 } else { 128 };
        let law = negatives.arrays();
        let parts = BLOCKS.div_ceil(n.div_ceil(ROWS)).min(n.div_ceil(COLUMNS)).min(PARTS);
        let tables = 4 * ((2 + parts) * n * stride) as u64;
        let Positives { centres, mut rows } = Positives::new(graph, plan);
        add_transposed_rows(&mut rows);
        let entries: usize = rows.iter().map(Vec::len).sum();
        let hops = match &law {
            Some(LawArrays::Hops(hops)) => match hops.cells {
                CellArray::U8(cells) => cells.len() as u64,
                CellArray::U16(cells) => 2 * cells.len() as u64,
                CellArray::U32(cells) => 4 * cells.len() as u64,
            },
            _ => 0,
        };
        let beside = memory::start_bytes(n, stride, graph);
        let bytes = tables + hops + beside + 8 * entries as u64 + 40 * n as u64;
        memory::check(&device, bytes, limit)?;
        let mut weights = DenseWeights::new(&device, law.as_ref(), n)?;
        let sum = |weights: &DenseWeights, are_known: u32| -> Result<Vec<f64>> {
            let sums = Buffer::<f64>::zeros(&device, n)?;
            let arguments: [&dyn Argument; 4] =
                [&weights.argument(&device), &(n as u32), &are_known, &sums.address(&device)];
            // SAFETY: there is a sum for each row, and the weights are of as many nodes.
            unsafe { device.launch(&device.kernel("sum_weights")?, (n, 256), &arguments)? };
            sums.get(&device, n)
        };
        let masses = sum(&weights, 0)?;
        let factor = |(c, mass): (&f64, &f64)| {
            if *mass > 0.0 { (c * plan.negative_weight / mass) as f32 } else { 0.0 }
        };
        let factors: Vec<f32> = centres.iter().zip(&masses).map(factor).collect();
        weights.factors.set(&device, &factors)?;
        let of_positives =
            rows.iter().map(|row| row.iter().map(|&(_, a)| f64::from(a)).sum::<f64>());
        let sums: Vec<f64> = sum(&weights, 1)?
            .iter()
            .zip(of_positives)
            .map(|(dense, sparse)| dense + sparse)
            .collect();
        let sizes: Vec<f32> = sums.iter().map(|&sum| step_size(sum)).collect();
        let dense = device.kernel(&format!("dense_{stride}"))?;
        let shared = (ROWS + COLUMNS) * (stride + 4) * 4;
        dense
            .set_attribute(
                Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                i32::try_from(shared).unwrap_or(i32::MAX),
            )
            .map_err(|error| device.error(error))?;
        let table = || Buffer::<f32>::zeros(&device, n * stride);
        let mut vectors = [table()?, table()?];
        if init.is_some() {
            let mut rows = vec![0.0; n * stride];
            initial(plan, graph, init, stride, &mut rows);
            vectors[0].set(&device, &rows)?;
        } else {
            start(&device, stride, &mut vectors, task)?;
        }
        Ok(Self {
            plan,
            graph,
            dense,
            step: device.kernel("exact_step")?,
            stride,
            parts,
            weights,
            positives: SparsePositives::new(&device, &rows)?,
            vectors,
            gradient: Buffer::zeros(&device, parts * n * stride)?,
            losses: Buffer::zeros(&device, parts * n)?,
            row_losses: Buffer::zeros(&device, n)?,
            regularised: Buffer::copy(&device, &regularised(&centres, negatives))?,
            sizes: Buffer::copy(&device, &sizes)?,
            mass: sums.iter().sum::<f64>() / 2.0,
            l2: L2Controller::new(plan.l2, graph, plan.dim, plan.kernel),
            downloaded: OnceLock::new(),
            device,
        })
    }

    /// One step with this rate. Returns the mean loss of a pair before it.
    fn step(&mut self, rate: f32) -> Result<f64> {
        let (device, n) = (&self.device, self.graph.nodes());
        let [z, out] = self.vectors.each_ref().map(|table| table.address(device));
        let (gradient, losses) = (self.gradient.address(device), self.losses.address(device));
        let weights = self.weights.argument(device);
        let shared = ((ROWS + COLUMNS) * (self.stride + 4) * 4) as u32;
        let (blocks, count) = (n.div_ceil(ROWS), n as u32);
        let of_part = n.div_ceil(self.parts).next_multiple_of(COLUMNS) as u32;
        let powers = self.weights.powers.as_ref().map_or(0, Buffer::len) as u32;
        let arguments: [&dyn Argument; 7] =
            [&z, &weights, &count, &powers, &of_part, &gradient, &losses];
        let grid = (blocks, self.parts);
        // SAFETY: all tables have `n` rows of `stride` values, the length that the kernel is compiled
        // for; there is a gradient for each part.
        unsafe { device.launch_grid(&self.dense, grid, 128, shared, &arguments)? };
        let SparsePositives { starts, columns, weights } = &self.positives;
        let row_losses = self.row_losses.address(device);
        let arguments: [&dyn Argument; 15] = [
            &z,
            &gradient,
            &losses,
            &(self.parts as u32),
            &count,
            &(self.stride as u32),
            &starts.address(device),
            &columns.address(device),
            &weights.address(device),
            &self.regularised.address(device),
            &self.sizes.address(device),
            &(self.l2.lambda as f32),
            &rate,
            &out,
            &row_losses,
        ];
        // SAFETY: as above; A has a list for each row.
        unsafe { device.launch(&self.step, (n.div_ceil(8), 256), &arguments)? };
        let loss = Products::new(device)?.total(&self.row_losses, n)? / 2.0;
        self.vectors.swap(0, 1);
        Ok(loss / self.mass.max(f64::MIN_POSITIVE))
    }
}

impl DenseWeights {
    fn new(device: &Open, law: Option<&LawArrays<'_>>, n: usize) -> Result<Self> {
        let floats = |values: &mut dyn Iterator<Item = f64>| {
            let values: Vec<f32> = values.map(|value| value as f32).collect();
            Buffer::copy(device, &values)
        };
        let factors = Buffer::zeros(device, n)?;
        match law {
            Some(LawArrays::Uniform) => Ok(Self {
                hops: None,
                powers: None,
                low: Buffer::zeros(device, 1)?,
                high: Buffer::zeros(device, 1)?,
                factors,
            }),
            Some(LawArrays::Hops(of)) => Ok(Self {
                hops: Some(DeviceCells::new(device, of.cells)?),
                powers: Some(floats(&mut of.powers.iter().copied())?),
                low: floats(&mut of.rows.iter().map(|row| row.low))?,
                high: floats(&mut of.rows.iter().map(|row| row.high))?,
                factors,
            }),
            _ => {
                let problem = Problem::from(
                    "the exact trainer takes uniform negatives on a GPU, or those by exact distances \
                     that are stored",
                );
                Err(Error::conflict(problem.set("strategy", "table").set("device", Device::Cpu)))
            }
        }
    }

    fn argument(&self, device: &Open) -> WeightsArgument {
        let none = CellsArgument { cells: NULL, bytes: 1 };
        WeightsArgument {
            hops: self.hops.as_ref().map_or(none, |hops| hops.argument(device)),
            powers: self.powers.as_ref().map_or(NULL, |powers| powers.address(device)),
            low: self.low.address(device),
            high: self.high.address(device),
            factors: self.factors.address(device),
        }
    }
}

impl SparsePositives {
    fn new(device: &Open, rows: &[Vec<(u32, f32)>]) -> Result<Self> {
        let mut starts = vec![0_u64];
        starts.extend(rows.iter().scan(0, |end, row| {
            *end += row.len() as u64;
            Some(*end)
        }));
        let columns: Vec<u32> = rows.iter().flatten().map(|&(column, _)| column).collect();
        let weights: Vec<f32> = rows.iter().flatten().map(|&(_, weight)| weight).collect();
        Ok(Self {
            starts: Buffer::copy(device, &starts)?,
            columns: Buffer::copy(device, &columns)?,
            weights: Buffer::copy(device, &weights)?,
        })
    }
}

impl Backend for Exact<'_> {
    fn epoch(
        &mut self,
        epoch: usize,
        _: &mut KeepGoing<'_>,
    ) -> Result<ControlFlow<(), EpochStats>> {
        let &TrainPlan { dim, epochs, lr, .. } = self.plan;
        self.downloaded = OnceLock::new();
        let l2 = self.l2.lambda;
        let loss = self.step((lr * (1.0 - epoch as f64 / epochs as f64)) as f32)?;
        let mut effective_rank = None;
        if self.l2.is_due(epoch, epochs) {
            let every = self.graph.nodes().div_ceil(1024).max(1);
            let shape = (self.graph.nodes(), self.stride);
            let some = Products::new(&self.device)?.some_rows(&self.vectors[0], shape, every)?;
            effective_rank = self.l2.after(epoch, epochs, some.chunks_exact(self.stride), dim);
        }
        let n = self.graph.nodes() as u64;
        let pairs = n * n.saturating_sub(1);
        Ok(ControlFlow::Continue(EpochStats { pairs, loss, l2, effective_rank }))
    }

    fn vectors(&self) -> VectorView<'_> {
        let all = self.graph.nodes() * self.stride;
        // A device that fails here fails in the next epoch too, which says so.
        let download =
            || self.vectors[0].get(&self.device, all).unwrap_or_else(|_| vec![f32::NAN; all]);
        let values = self.downloaded.get_or_init(download);
        VectorView { values, dim: self.plan.dim, stride: self.stride }
    }

    fn smooth(&mut self, times: usize) -> Result<bool> {
        self.downloaded = OnceLock::new();
        smooth(&self.device, self.stride, &mut self.vectors, self.graph, times)?;
        Ok(true)
    }

    fn into_vectors(self: Box<Self>) -> Vec<f32> {
        self.vectors().to_vec()
    }
}
