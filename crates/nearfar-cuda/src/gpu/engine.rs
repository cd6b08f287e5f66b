//! Sampling and training on a device.

use std::sync::Arc;

use cudarc::driver::CudaFunction;
use nearfar::error::Problem;
use nearfar::graph::{Graph, Node};
use nearfar::train::{Device, Task};
use nearfar::{Error, Result};

use super::buffer::{Address, Argument, Buffer, ListsArgument, NULL};
use super::device::Open;
use super::law::{DeviceLaw, words};
use super::memory::{self, Limit, Needs, Placement};
use super::parts::Parts;
use super::tables::{Resident, Tables};
use crate::engine::{Engine, Totals};
use crate::host::Drawn;
use crate::shape::{Pass, SCALE, Shape, Step};
use crate::stream::device_walks;

/// `COUNTERS` of the kernels.
const COUNTERS: usize = 64;

/// Numbers that a block of threads adds in a prefix sum: `SCAN` of the kernels.
const SCAN: usize = 4096;

/// A device with all arrays of a run.
pub(crate) struct Gpu {
    device: Open,
    shape: Shape,
    kernels: Kernels,
    walks: Option<DeviceWalks>,
    law: Option<DeviceLaw>,
    tables: Box<dyn Tables>,
    /// Where the windows of each node in each minibatch begin, and the end.
    starts: Buffer<u32>,
    /// The slots of all windows, and the centre of each window.
    entries: Buffer<u32>,
    centres: Buffer<u32>,
    /// Of a minibatch: the ranks of entries among those of their node, where those of a node begin, and
    /// the entries by node.
    ranks: Buffer<u32>,
    incoming_starts: Buffer<u32>,
    incoming: Buffer<u32>,
    /// Sums of blocks in prefix sums.
    sums: Buffer<u32>,
    /// Sums of losses and pairs, and whether a value is too large.
    totals: Buffer<u64>,
    /// The last pass.
    pass: Pass,
}

/// What walks are made of, on the device.
struct DeviceWalks {
    offsets: Buffer<u64>,
    targets: Buffer<u32>,
    tables: Option<Buffer<u64>>,
    centres: Option<Buffer<f64>>,
}

struct Kernels {
    count_windows: CudaFunction,
    sample_walks: CudaFunction,
    place: CudaFunction,
    place_centres: CudaFunction,
    scan: [CudaFunction; 3],
    rank_entries: CudaFunction,
    place_entries: CudaFunction,
}

impl Kernels {
    fn new(device: &Open) -> Result<Self> {
        let kernel = |name: &str| device.kernel(name);
        Ok(Self {
            count_windows: kernel("count_windows")?,
            sample_walks: kernel("sample_walks")?,
            place: kernel("place")?,
            place_centres: kernel("place_centres")?,
            scan: [kernel("scan_sums")?, kernel("scan_blocks")?, kernel("scan_numbers")?],
            rank_entries: kernel("rank_entries")?,
            place_entries: kernel("place_entries")?,
        })
    }
}

impl Gpu {
    /// Takes memory for a run, and copies the graph and the law.
    pub(crate) fn new(device: Open, shape: Shape, task: &Task<'_>, limit: Limit) -> Result<Self> {
        let walks = device_walks(task.plan, task);
        let law = task.negatives.arrays().filter(|_| shape.nodes > 1);
        let needs = Needs::new(shape, task.graph, walks.as_ref(), law.as_ref());
        let placement = needs.placement(&device, limit)?;
        let (n, windows) = (shape.nodes, shape.windows);
        if windows.saturating_mul(shape.slots()) > u32::MAX as usize {
            let problem = Problem::from("a pass has more than 2^32 pairs").lower("k");
            return Err(Error::conflict(problem.set("device", Device::Cpu)));
        }
        let walks = walks.map(|walks| -> Result<DeviceWalks> {
            let offsets: Vec<u64> = walks.offsets.iter().map(|&at| at as u64).collect();
            let tables = walks.tables.as_ref().map(|cells| Buffer::copy(&device, &words(cells)));
            let centres = walks.centres.as_ref().map(|centres| Buffer::copy(&device, centres));
            Ok(DeviceWalks {
                offsets: Buffer::copy(&device, &offsets)?,
                targets: Buffer::copy(&device, walks.targets)?,
                tables: tables.transpose()?,
                centres: centres.transpose()?,
            })
        });
        let law = law.as_ref().map(|law| DeviceLaw::new(&device, law));
        let tables: Box<dyn Tables> = match placement {
            Placement::Resident { has_space } => {
                Box::new(Resident::new(&device, shape, has_space)?)
            }
            Placement::Parts(rows) => Box::new(Parts::new(&device, shape, rows)?),
        };
        let of_batch = memory::batch_entries(shape);
        let numbers = |len| {
            // SAFETY: kernels write what they read later.
            unsafe { Buffer::<u32>::uninitialised(&device, len) }
        };
        Ok(Self {
            kernels: Kernels::new(&device)?,
            walks: walks.transpose()?,
            law: law.transpose()?,
            tables,
            starts: Buffer::zeros(&device, shape.batches * n + 1)?,
            entries: numbers(windows * shape.slots())?,
            centres: numbers(windows)?,
            ranks: numbers(of_batch)?,
            incoming_starts: Buffer::zeros(&device, n + 1)?,
            incoming: numbers(of_batch)?,
            sums: numbers((shape.batches * n + 1).div_ceil(SCAN) + 1)?,
            totals: Buffer::zeros(&device, 2 * COUNTERS + 1)?,
            pass: shape.pass(0, 0),
            device,
            shape,
        })
    }

    /// Runs a kernel with a thread for each of so many items.
    ///
    /// # Safety
    ///
    /// The arguments are those of the kernel, and arrays are as large as it takes them to be.
    unsafe fn each(
        &self,
        kernel: &CudaFunction,
        items: usize,
        arguments: &[&dyn Argument],
    ) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.device.launch(kernel, (items.div_ceil(128), 128), arguments) }
    }

    /// Replaces numbers by the sums of those before them.
    fn scan(&self, numbers: Address, count: usize) -> Result<()> {
        let (blocks, count) = ((count + 1).div_ceil(SCAN), count as u32);
        let sums = self.sums.address(&self.device);
        let [of_blocks, over_blocks, of_numbers] = &self.kernels.scan;
        // SAFETY: there are `count` + 1 numbers, and at least as many sums as blocks.
        unsafe {
            self.device.launch(of_blocks, (blocks, 512), &[&numbers, &count, &sums])?;
            self.device.launch(over_blocks, (1, 512), &[&sums, &(blocks as u32)])?;
            self.device.launch(of_numbers, (blocks, 512), &[&numbers, &count, &sums])
        }
    }

    /// Counts the windows of the pass on the device, or takes them from the host.
    fn place_windows(&mut self, pass: Pass, drawn: &Drawn) -> Result<()> {
        let (n, batches) = (self.shape.nodes, self.shape.batches);
        let starts = self.starts.address(&self.device);
        if let Some(windows) = &drawn.windows {
            let of = |count: u64, batch: u64| count * batch / batches as u64;
            let mut counts = Vec::with_capacity(n * batches);
            for batch in 0..batches as u64 {
                let of_batch = |&count: &u32| of(count.into(), batch + 1) - of(count.into(), batch);
                counts.extend(windows.counts.iter().map(of_batch).map(|count| count as u32));
            }
            self.starts.set(&self.device, &counts)?;
        } else if let Some(walks) = &self.walks {
            let centres = walks.centres.as_ref().map_or(NULL, |all| all.address(&self.device));
            // SAFETY: `starts` has a number for each node in each minibatch.
            unsafe { self.each(&self.kernels.count_windows, n, &[&pass, &centres, &starts])? };
        }
        self.scan(starts, n * batches)
    }

    /// Copies what the host drew for some nodes into the slots of their windows.
    fn place(
        &self,
        nodes: &[Node],
        offsets: &[u64],
        drawn: &[u32],
        from: usize,
        count: usize,
    ) -> Result<()> {
        let device = &self.device;
        let (nodes, len) = (Buffer::copy(device, nodes)?, nodes.len());
        let (offsets, drawn) = (Buffer::copy(device, offsets)?, Buffer::copy(device, drawn)?);
        let arguments: [&dyn Argument; 9] = [
            &self.pass,
            &self.starts.address(device),
            &self.entries.address(device),
            &(len as u32),
            &nodes.address(device),
            &offsets.address(device),
            &drawn.address(device),
            &(from as u32),
            &(count as u32),
        ];
        // SAFETY: the host drew `count` entries for each window of these nodes.
        unsafe { self.each(&self.kernels.place, len, &arguments)? };
        // The copies are freed in the order of the stream, after the kernel.
        Ok(())
    }
}

impl Engine for Gpu {
    fn start(&mut self, task: &Task<'_>) -> Result<bool> {
        self.tables.start(&self.device, task)
    }

    fn smooth(&mut self, graph: &Arc<Graph>, times: usize) -> Result<bool> {
        self.tables.smooth(&self.device, graph, times)
    }

    fn set(&mut self, vectors: &[f32], contexts: Option<&[f32]>) -> Result<()> {
        self.tables.set(&self.device, vectors, contexts)
    }

    fn sample(&mut self, pass: Pass, drawn: &Drawn) -> Result<()> {
        self.pass = pass;
        self.place_windows(pass, drawn)?;
        let (n, device) = (self.shape.nodes, &self.device);
        let (starts, entries, centres) = (
            self.starts.address(device),
            self.entries.address(device),
            self.centres.address(device),
        );
        if let Some(windows) = &drawn.windows {
            // SAFETY: `centres` has room for all windows.
            unsafe { self.each(&self.kernels.place_centres, n, &[&pass, &starts, &centres])? };
            let nodes: Vec<Node> = (0..n as Node).collect();
            let offsets = windows.counts.iter().scan(0, |end, &count| {
                let start = *end;
                *end += u64::from(count) * self.shape.contexts as u64;
                Some(start)
            });
            let offsets: Vec<u64> = offsets.collect();
            self.place(&nodes, &offsets, &windows.contexts, 0, self.shape.contexts)?;
        } else if let Some(walks) = &self.walks {
            let address =
                |buffer: Option<&Buffer<u64>>| buffer.map_or(NULL, |it| it.address(device));
            let of_centres = walks.centres.as_ref().map_or(NULL, |all| all.address(device));
            let arguments: [&dyn Argument; 8] = [
                &pass,
                &of_centres,
                &walks.offsets.address(device),
                &walks.targets.address(device),
                &address(walks.tables.as_ref()),
                &starts,
                &centres,
                &entries,
            ];
            // SAFETY: `entries` and `centres` have room for all windows.
            unsafe { self.each(&self.kernels.sample_walks, n, &arguments)? };
        }
        if let Some(law) = &self.law {
            law.draw(device, pass, starts, entries)?;
        }
        if !drawn.centres.is_empty() {
            let k = self.shape.negatives;
            self.place(&drawn.centres, &drawn.starts, &drawn.negatives, self.shape.contexts, k)?;
        }
        Ok(())
    }

    fn step(&mut self, batch: usize, step: Step) -> Result<()> {
        const BLOCKS: (usize, u32) = (2048, 256);
        let (n, pass) = (self.shape.nodes, self.pass);
        self.incoming_starts.clear(&self.device)?;
        let device = &self.device;
        let [starts, entries, centres, ranks, incoming_starts, incoming] = [
            &self.starts,
            &self.entries,
            &self.centres,
            &self.ranks,
            &self.incoming_starts,
            &self.incoming,
        ]
        .map(|buffer| buffer.address(device));
        let number = batch as u32;
        // SAFETY: a minibatch has at most as many entries as `ranks` and `incoming` have room for.
        unsafe {
            let arguments: [&dyn Argument; 6] =
                [&pass, &number, &starts, &entries, &ranks, &incoming_starts];
            device.launch(&self.kernels.rank_entries, BLOCKS, &arguments)?;
            self.scan(incoming_starts, n)?;
            let arguments: [&dyn Argument; 8] =
                [&pass, &number, &starts, &entries, &centres, &ranks, &incoming_starts, &incoming];
            device.launch(&self.kernels.place_entries, BLOCKS, &arguments)?;
        }
        let lists = ListsArgument {
            starts: Address(starts.0 + 4 * (batch * n) as u64),
            entries,
            incoming_starts,
            incoming,
            slots: self.shape.slots() as u32,
            padding: 0,
        };
        self.tables.step(device, lists, step, self.totals.address(device))
    }

    fn totals(&mut self) -> Result<Totals> {
        let totals = self.totals.get(&self.device, 2 * COUNTERS + 1)?;
        self.totals.clear(&self.device)?;
        let sum = |from: usize| totals[from..from + COUNTERS].iter().sum::<u64>();
        let loss =
            if totals[2 * COUNTERS] > 0 { f64::NAN } else { sum(0) as f64 / f64::from(SCALE) };
        Ok(Totals { pairs: sum(COUNTERS), loss })
    }

    fn some_rows(&self, every: usize) -> Result<Vec<f32>> {
        self.tables.some_rows(&self.device, every)
    }

    fn vectors(&self) -> Result<Vec<f32>> {
        self.tables.vectors(&self.device)
    }

    fn contexts(&self) -> Result<Option<Vec<f32>>> {
        self.tables.contexts(&self.device)
    }

    fn entries(&self) -> Result<Vec<(Node, Vec<u32>)>> {
        let (n, slots) = (self.shape.nodes, self.shape.slots());
        let starts = self.starts.get(&self.device, self.starts.len())?;
        let windows = starts[n * self.shape.batches] as usize;
        let entries = self.entries.get(&self.device, windows * slots)?;
        let of = |node: usize| {
            let range = |batch: usize| {
                let at = batch * n + node;
                &entries[starts[at] as usize * slots..starts[at + 1] as usize * slots]
            };
            (node as Node, (0..self.shape.batches).flat_map(range).copied().collect())
        };
        Ok((0..n).map(of).collect())
    }
}
