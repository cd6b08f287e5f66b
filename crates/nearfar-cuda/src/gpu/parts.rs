//! Tables that are larger than the device's memory: on the host, and on the device in parts.
//!
//! # Derivation
//!
//! A step moves all rows from the vectors before it, so the rows of a part can be trained while all others
//! stay on the host. Their terms are sums over pairs with all rows. These rows stream through the device in
//! parts of their own, and as terms are summed as integers, in units of 2⁻¹⁶, sums over parts are those
//! over all, bit for bit:
//!
//! ```text
//! for each part of the rows                  own rows ← host, sums ← 0
//!     for each part of the other rows            others ← host
//!         sums += terms of pairs with it
//!     own rows ← step with the sums              host ← own rows
//! ```
//!
//! Other rows have two buffers and copies a stream of their own, so that a part is copied while the pairs
//! with the one before it are computed. With p parts of own rows, the table is copied p times a step. That
//! is the time of a step, so own rows take most of the memory.

use std::sync::Arc;

use cudarc::driver::{CudaEvent, CudaFunction, CudaStream, PinnedHostSlice, result};
use nearfar::Result;

use super::buffer::{Address, Argument, Buffer, ListsArgument, NULL, PartArgument};
use super::device::Open;
use super::memory::PartRows;
use super::tables::{LONG, Tables, lists_of, width};
use crate::shape::{Shape, Step};

/// Blocks that keep a device busy, and their threads: `PART_THREADS` of the kernels.
const BLOCKS: usize = 4096;
const THREADS: u32 = 256;

/// The tables, and what is on the device of one of them.
pub(super) struct Parts {
    shape: Shape,
    rows: PartRows,
    weigh_rows: CudaFunction,
    add_terms: CudaFunction,
    finish_rows: CudaFunction,
    copies: Arc<CudaStream>,
    /// The vectors and those after the next step, of nodes and of contexts.
    tables: Vec<[PinnedHostSlice<f32>; 2]>,
    /// Of the own rows: their values, the sums of their terms, the fraction of a step that each takes, by
    /// what the old value is multiplied, and which have many pairs.
    own: Buffer<f32>,
    sums: Buffer<u32>,
    sizes: Buffer<f32>,
    keeps: Buffer<f32>,
    long: Buffer<u32>,
    others: [Others; 2],
}

/// Other rows.
struct Others {
    rows: Buffer<f32>,
    /// When the last kernel has read them.
    read: Option<CudaEvent>,
}

impl Parts {
    pub(super) fn new(device: &Open, shape: Shape, rows: PartRows) -> Result<Self> {
        let table = || {
            // SAFETY: all of it is written before a reference to its values is made.
            let memory = unsafe { device.context.alloc_pinned_with_flags(shape.values(), 0) };
            let mut table = memory.map_err(|_| device.host_memory(4 * shape.values() as u64))?;
            let start = table.as_mut_ptr().map_err(|error| device.error(error))?;
            // SAFETY: the memory has room for as many values, for which zeros are numbers.
            unsafe { std::ptr::write_bytes::<f32>(start, 0, shape.values()) };
            Ok(table)
        };
        let tables = (0..shape.tables()).map(|_| Ok([table()?, table()?]));
        let values = |rows: usize| {
            // SAFETY: they are copied from the host before kernels read them.
            unsafe { Buffer::uninitialised(device, rows * shape.stride) }
        };
        let others = || Ok::<_, nearfar::Error>(Others { rows: values(rows.others)?, read: None });
        let parts = Self {
            shape,
            rows,
            weigh_rows: device.kernel("weigh_rows")?,
            add_terms: device.kernel(&format!("add_terms_{}", width(shape.stride)))?,
            finish_rows: device.kernel("finish_rows")?,
            copies: device.context.new_stream().map_err(|error| device.error(error))?,
            tables: tables.collect::<Result<_>>()?,
            own: values(rows.own)?,
            sums: Buffer::zeros(device, rows.own * shape.stride)?,
            sizes: Buffer::zeros(device, rows.own)?,
            keeps: Buffer::zeros(device, rows.own)?,
            long: Buffer::zeros(device, rows.own + 1)?,
            others: [others()?, others()?],
        };
        // Arrays are taken in the order of the other stream.
        device.stream.synchronize().map_err(|error| device.error(error))?;
        Ok(parts)
    }

    /// Trains the own rows of a part of a table, from its values on the device, which it replaces.
    fn train(
        &mut self,
        device: &Open,
        table: usize,
        own: PartArgument,
        (lists, step, totals): (ListsArgument, Step, Address),
    ) -> Result<()> {
        let stride = self.shape.stride as u32;
        let (rows, sums) = (self.own.address(device), self.sums.address(device));
        let (sizes, keeps) = (self.sizes.address(device), self.keeps.address(device));
        self.sums.clear(device)?;
        self.long.clear(device)?;
        let long = self.long.address(device);
        let count = own.count as usize;
        let arguments: [&dyn Argument; 8] =
            [&own, &lists, &step, &LONG, &sizes, &keeps, &long, &totals];
        // SAFETY: there are lists of all rows, and numbers for each row of a part.
        unsafe { device.launch(&self.weigh_rows, (count.div_ceil(8), THREADS), &arguments)? };
        for (at, part) in parts(self.shape.nodes, self.rows.others).enumerate() {
            let buffer = at % 2;
            self.upload_others(device, self.tables.len() - 1 - table, part, buffer)?;
            let others = self.others[buffer].rows.address(device);
            for long_rows in [NULL, long] {
                let arguments: [&dyn Argument; 12] = [
                    &rows, &own, &others, &part, &stride, &lists, &step, &sizes, &LONG, &long_rows,
                    &sums, &totals,
                ];
                let blocks = (count.div_ceil(8).min(BLOCKS), THREADS);
                // SAFETY: as above; buffers have room for the rows of both parts, which are copied.
                unsafe { device.launch(&self.add_terms, blocks, &arguments)? };
            }
            let read = device.stream.record_event(None).map_err(|error| device.error(error))?;
            self.others[buffer].read = Some(read);
        }
        let values = count * self.shape.stride;
        let arguments: [&dyn Argument; 7] =
            [&rows, &own.count, &stride, &step, &sums, &keeps, &totals];
        // SAFETY: as above.
        unsafe { device.launch(&self.finish_rows, (values.div_ceil(256), 256), &arguments) }
    }

    /// Copies a part to one of two buffers, once kernels have read what is in it. Later kernels wait for it.
    fn upload_others(
        &self,
        device: &Open,
        table: usize,
        part: PartArgument,
        buffer: usize,
    ) -> Result<()> {
        let Others { rows, read } = &self.others[buffer];
        let waits = read.as_ref().map(|read| self.copies.wait(read));
        waits.transpose().map_err(|error| device.error(error))?;
        self.upload(device, table, part, rows)?;
        device.stream.join(&self.copies).map_err(|error| device.error(error))
    }

    /// Copies a part of the vectors to the device, in the stream of copies.
    fn upload(
        &self,
        device: &Open,
        table: usize,
        part: PartArgument,
        to: &Buffer<f32>,
    ) -> Result<()> {
        let from = self.tables[table][0].as_slice().map_err(|error| device.error(error))?;
        let (from, to) = (&from[part.values(self.shape.stride)], to.address(device));
        // SAFETY: the buffer has room for a part. Nothing writes to these vectors before the copies of this
        // step are done: those of the next step and `set` come after them.
        unsafe { result::memcpy_htod_async(to.0, from, self.copies.cu_stream()) }
            .map_err(|error| device.error(error))
    }

    /// Copies the own rows to the vectors after the step, once kernels have written them.
    fn download(&mut self, device: &Open, table: usize, part: PartArgument) -> Result<()> {
        let from = self.own.address(device);
        self.copies.join(&device.stream).map_err(|error| device.error(error))?;
        let to = self.tables[table][1].as_mut_slice().map_err(|error| device.error(error))?;
        let to = &mut to[part.values(self.shape.stride)];
        // SAFETY: the buffer has as many values. Vectors after the step are read once copies are waited for.
        unsafe { result::memcpy_dtoh_async(to, from.0, self.copies.cu_stream()) }
            .map_err(|error| device.error(error))
    }

    /// The vectors of a table, once all copies are done.
    fn table(&self, device: &Open, table: usize) -> Result<&[f32]> {
        self.copies.synchronize().map_err(|error| device.error(error))?;
        self.tables[table][0].as_slice().map_err(|error| device.error(error))
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        // Copies from and to memory that is freed now; they wait for kernels. An error was reported, or
        // concerns nobody any more.
        let _ = self.copies.synchronize();
    }
}

impl Tables for Parts {
    fn set(&mut self, device: &Open, vectors: &[f32], contexts: Option<&[f32]>) -> Result<()> {
        self.copies.synchronize().map_err(|error| device.error(error))?;
        let given = [Some(vectors), contexts];
        for (table, values) in self.tables.iter_mut().zip(given.into_iter().flatten()) {
            let table = table[0].as_mut_slice().map_err(|error| device.error(error))?;
            table[..values.len()].copy_from_slice(values);
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
        for table in 0..self.tables.len() {
            let lists = lists_of(lists, table, self.tables.len());
            for own in parts(self.shape.nodes, self.rows.own) {
                // After the copy of the part before it to the host, in the same stream.
                self.upload(device, table, own, &self.own)?;
                device.stream.join(&self.copies).map_err(|error| device.error(error))?;
                self.train(device, table, own, (lists, step, totals))?;
                self.download(device, table, own)?;
            }
        }
        self.tables.iter_mut().for_each(|table| table.swap(0, 1));
        Ok(())
    }

    fn some_rows(&self, device: &Open, every: usize) -> Result<Vec<f32>> {
        let rows = self.table(device, 0)?.chunks_exact(self.shape.stride).step_by(every);
        Ok(rows.flatten().copied().collect())
    }

    fn vectors(&self, device: &Open) -> Result<Vec<f32>> {
        Ok(self.table(device, 0)?.to_vec())
    }

    fn contexts(&self, device: &Open) -> Result<Option<Vec<f32>>> {
        let all = || Ok(self.table(device, 1)?.to_vec());
        (self.tables.len() > 1).then(all).transpose()
    }
}

/// Rows in parts of so many.
fn parts(rows: usize, of_part: usize) -> impl Iterator<Item = PartArgument> {
    let part = move |first: usize| PartArgument {
        first: first as u32,
        count: of_part.min(rows - first) as u32,
    };
    (0..rows).step_by(of_part).map(part)
}
