//! Tables of vectors on a device, and the steps that they take.

use std::sync::Arc;

use cudarc::driver::CudaFunction;
use nearfar::Result;
use nearfar::graph::Graph;
use nearfar::train::Task;

use super::buffer::{Address, Argument, Buffer, ListsArgument, NULL, RowsArgument};
use super::device::Open;
use super::matrices::Products;
use super::smooth::smooth;
use super::start::start;
use crate::shape::{Shape, Step};

/// Longer lists of pairs are trained by a block of threads, not by a warp.
pub(super) const LONG: u32 = 1024;

/// The vectors of nodes, and those of nodes as contexts if they have others: on the device, or in parts.
pub(super) trait Tables: Send {
    /// Fills the vectors with initial ones; `false` if that is left to the caller.
    fn start(&mut self, _device: &Open, _task: &Task<'_>) -> Result<bool> {
        Ok(false)
    }

    /// Smooths the vectors so many times; `false` if that is left to the caller.
    fn smooth(&mut self, _device: &Open, _graph: &Arc<Graph>, _times: usize) -> Result<bool> {
        Ok(false)
    }

    /// Replaces the vectors, and those of nodes as contexts.
    fn set(&mut self, device: &Open, vectors: &[f32], contexts: Option<&[f32]>) -> Result<()>;

    /// Takes a step with the pairs of a minibatch, and adds to the totals.
    fn step(
        &mut self,
        device: &Open,
        lists: ListsArgument,
        step: Step,
        totals: Address,
    ) -> Result<()>;

    /// Every so many-th vector.
    fn some_rows(&self, device: &Open, every: usize) -> Result<Vec<f32>>;

    /// All vectors.
    fn vectors(&self, device: &Open) -> Result<Vec<f32>>;

    /// All vectors of nodes as contexts.
    fn contexts(&self, device: &Open) -> Result<Option<Vec<f32>>>;
}

/// The lists of a table: its number in their order above, and how many there are. With contexts of their
/// own, the rows of nodes have windows, and those of contexts are in windows.
pub(super) fn lists_of(both: ListsArgument, table: usize, tables: usize) -> ListsArgument {
    match (table, tables) {
        (_, 1) => both,
        (0, _) => ListsArgument { incoming_starts: NULL, incoming: NULL, ..both },
        _ => ListsArgument { starts: NULL, entries: NULL, ..both },
    }
}

/// The values of a row that kernels are compiled for, in their names.
pub(super) fn width(stride: usize) -> usize {
    stride.next_power_of_two().max(16)
}

/// Whole tables on the device.
pub(super) struct Resident {
    shape: Shape,
    short_rows: CudaFunction,
    long_rows: CudaFunction,
    /// How many rows are long, and which.
    long: Buffer<u32>,
    /// The vectors and those after the next step, of nodes and of contexts.
    tables: Vec<[Buffer<f32>; 2]>,
    /// Whether there is memory for initial vectors and smoothing.
    has_space: bool,
}

impl Resident {
    pub(super) fn new(device: &Open, shape: Shape, has_space: bool) -> Result<Self> {
        let rows = || Buffer::zeros(device, shape.nodes * shape.stride);
        let tables = (0..shape.tables()).map(|_| Ok([rows()?, rows()?]));
        let width = width(shape.stride);
        Ok(Self {
            shape,
            short_rows: device.kernel(&format!("short_rows_{width}"))?,
            long_rows: device.kernel(&format!("long_rows_{width}"))?,
            long: Buffer::zeros(device, shape.nodes + 1)?,
            tables: tables.collect::<Result<_>>()?,
            has_space,
        })
    }
}

impl Tables for Resident {
    fn start(&mut self, device: &Open, task: &Task<'_>) -> Result<bool> {
        if !self.has_space {
            return Ok(false);
        }
        start(device, self.shape.stride, &mut self.tables[0], task)?;
        if let Some(contexts) = self.tables.get_mut(1) {
            contexts[0].clear(device)?;
        }
        Ok(true)
    }

    fn smooth(&mut self, device: &Open, graph: &Arc<Graph>, times: usize) -> Result<bool> {
        if self.has_space {
            let graph = graph.to_undirected();
            smooth(device, self.shape.stride, &mut self.tables[0], &graph, times)?;
        }
        Ok(self.has_space)
    }

    fn set(&mut self, device: &Open, vectors: &[f32], contexts: Option<&[f32]>) -> Result<()> {
        let given = [Some(vectors), contexts];
        for (table, values) in self.tables.iter_mut().zip(given.into_iter().flatten()) {
            table[0].set(device, values)?;
        }
        Ok(())
    }

    fn step(
        &mut self,
        device: &Open,
        lists: ListsArgument,
        step: Step,
        totals: Address,
    ) -> Result<()> {
        const WARPS: usize = 8;
        let tables = self.tables.len();
        for table in 0..tables {
            let [own, out] = self.tables[table].each_ref().map(|it| it.address(device));
            let others = self.tables[tables - 1 - table][0].address(device);
            let (count, stride) = (self.shape.nodes as u32, self.shape.stride as u32);
            let rows = RowsArgument { own, others, out, count, stride };
            let lists = lists_of(lists, table, tables);
            self.long.clear(device)?;
            let long = self.long.address(device);
            let blocks = (self.shape.nodes.div_ceil(WARPS), 32 * WARPS as u32);
            // SAFETY: rows, lists and counters are those of the shape.
            unsafe {
                let arguments: &[&dyn Argument] = &[&rows, &lists, &step, &LONG, &long, &totals];
                device.launch(&self.short_rows, blocks, arguments)?;
                let arguments: &[&dyn Argument] = &[&rows, &lists, &step, &long, &totals];
                device.launch(&self.long_rows, (256, 512), arguments)?;
            }
        }
        self.tables.iter_mut().for_each(|table| table.swap(0, 1));
        Ok(())
    }

    fn some_rows(&self, device: &Open, every: usize) -> Result<Vec<f32>> {
        let shape = (self.shape.nodes, self.shape.stride);
        Products::new(device)?.some_rows(&self.tables[0][0], shape, every)
    }

    fn vectors(&self, device: &Open) -> Result<Vec<f32>> {
        self.tables[0][0].get(device, self.shape.nodes * self.shape.stride)
    }

    fn contexts(&self, device: &Open) -> Result<Option<Vec<f32>>> {
        let all = self.shape.nodes * self.shape.stride;
        self.tables.get(1).map(|table| table[0].get(device, all)).transpose()
    }
}
