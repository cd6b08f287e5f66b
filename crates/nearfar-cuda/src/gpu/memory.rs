//! The memory of a run on a device: planned before anything is copied.

use nearfar::error::Problem;
use nearfar::graph::Graph;
use nearfar::negative::LawArrays;
use nearfar::positive::WalkArrays;
use nearfar::train::Device;
use nearfar::{Error, Result, format_bytes};

use super::device::Open;
use super::law::DeviceLaw;
use crate::shape::Shape;

/// What the driver takes beside the arrays, measured.
const DRIVER: u64 = 600_000_000;

/// The most parts of a table. It is copied to the device as often in every step.
const PARTS: usize = 64;

/// How much of the memory of a device a run may take.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    /// All that is free, or so many bytes.
    Bytes(Option<u64>),
    /// What so many parts of the tables take, whatever there is: for tests.
    Parts(usize),
}

/// Where tables are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// On the device, with space for initial vectors and smoothing or without.
    Resident { has_space: bool },
    /// On the host, and in parts on the device.
    Parts(PartRows),
}

/// Rows of a part: of those that are trained, and of those that they are paired with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartRows {
    pub(crate) own: usize,
    pub(crate) others: usize,
}

/// What a run needs: bytes of tables, of initial vectors and smoothing, and of all else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needs {
    shape: Shape,
    tables: u64,
    start: u64,
    beside: u64,
}

/// The memory of a device for arrays: what it has when nobody else uses it, and what is free.
#[derive(Clone, Copy, Debug)]
struct Memory {
    capacity: u64,
    free: u64,
}

impl Memory {
    fn of(device: &Open, limit: Limit) -> Result<Self> {
        let (free, total) = device.context.mem_get_info().map_err(|error| device.error(error))?;
        let limit = if let Limit::Bytes(Some(limit)) = limit { limit } else { u64::MAX };
        let capacity = limit.min((total as u64).saturating_sub(DRIVER)).saturating_sub(DRIVER);
        Ok(Self { capacity, free: capacity.min((free as u64).saturating_sub(DRIVER)) })
    }
}

/// Bytes of initial vectors, or of smoothing, beside the tables: three matrices, and the sparse one.
pub(crate) fn start_bytes(nodes: usize, stride: usize, graph: &Graph) -> u64 {
    let arc = if graph.is_weighted() { 8 } else { 4 };
    12 * (nodes * stride) as u64 + 24 * nodes as u64 + arc * graph.arcs() as u64
}

/// The most entries of a minibatch: its windows are those of all nodes, divided and rounded up.
pub(crate) fn batch_entries(shape: Shape) -> usize {
    (shape.windows.div_ceil(shape.batches) + shape.nodes).min(shape.windows) * shape.slots()
}

/// Fails if a run that cannot be cut into parts does not fit a device.
pub(crate) fn check(device: &Open, bytes: u64, limit: Limit) -> Result<()> {
    let Memory { free, .. } = Memory::of(device, limit)?;
    let problem = || too_large(bytes, free).set("trainer", "stream");
    if bytes <= free { Ok(()) } else { Err(Error::Budget(Box::new(problem()))) }
}

fn too_large(bytes: u64, free: u64) -> Problem {
    let (bytes, free) = (format_bytes(bytes), format_bytes(free));
    Problem::from(format!("the run needs {bytes} of the GPU's memory, and it can have {free}"))
        .set("device", Device::Cpu)
}

impl Needs {
    pub(crate) fn new(
        shape: Shape,
        graph: &Graph,
        walks: Option<&WalkArrays<'_>>,
        law: Option<&LawArrays<'_>>,
    ) -> Self {
        let (n, windows, slots) = (shape.nodes as u64, shape.windows as u64, shape.slots() as u64);
        let of_walks = walks.map_or(0, |walks| {
            let arc = if walks.tables.is_some() { 12 } else { 4 };
            let centres = walks.centres.as_ref().map_or(0, |_| 8 * n);
            8 * (n + 1) + arc * walks.targets.len() as u64 + centres
        });
        // Starts, entries and centres of all windows; ranks and the other list of a minibatch.
        let pass = 4 * (n * shape.batches as u64 + windows * (slots + 1));
        let batch = 8 * batch_entries(shape) as u64 + 12 * n;
        let drawn = if walks.is_none() { 4 * windows * slots } else { 0 };
        Self {
            shape,
            tables: 2 * 4 * (shape.tables() * shape.values()) as u64,
            start: start_bytes(shape.nodes, shape.stride, graph),
            beside: of_walks + DeviceLaw::bytes(law) + pass + batch + drawn,
        }
    }

    /// Where tables are, on a device with so much memory.
    pub(crate) fn placement(&self, device: &Open, limit: Limit) -> Result<Placement> {
        let nodes = self.shape.nodes;
        if let Limit::Parts(parts) = limit {
            return Ok(Placement::Parts(PartRows::of(nodes, parts)));
        }
        let memory = Memory::of(device, limit)?;
        self.place(memory).map_err(|needed| {
            let problem = too_large(needed, memory.free);
            Error::Budget(Box::new(if needed <= memory.capacity {
                problem.act("end other programs on the GPU").give("device-memory")
            } else {
                problem.lower("walks").lower("dim")
            }))
        })
    }

    /// The same, or the bytes that are needed at least.
    ///
    /// Vectors depend on where initial ones are computed, as sums are rounded in another order. So that
    /// depends on the device alone and not on what others leave free of it. How many parts there are does
    /// not change a bit of the vectors, so it may.
    fn place(&self, Memory { capacity, free }: Memory) -> Result<Placement, u64> {
        let resident = self.tables + self.beside;
        let with_space = resident + self.start;
        if with_space <= capacity {
            let place = Placement::Resident { has_space: true };
            return if with_space <= free { Ok(place) } else { Err(with_space) };
        }
        if resident <= free {
            return Ok(Placement::Resident { has_space: false });
        }
        let nodes = self.shape.nodes;
        let bytes = PartRows::bytes_of_own(self.shape.stride);
        let rows = (free.saturating_sub(self.beside) / bytes) as usize;
        match nodes.div_ceil(rows.max(1)) {
            parts @ ..=PARTS => Ok(Placement::Parts(PartRows::of(nodes, parts))),
            _ => Err(self.beside + nodes.div_ceil(PARTS) as u64 * bytes),
        }
    }
}

impl PartRows {
    /// Own rows for each row of another part. There are fewer copies of the table the more rows are own ones,
    /// but lists are read once for every other part.
    const SHARE: usize = 4;

    /// Rows of so many parts.
    fn of(nodes: usize, parts: usize) -> Self {
        let own = nodes.div_ceil(parts);
        Self { own, others: own.div_ceil(Self::SHARE) }
    }

    /// Bytes for each own row: its values, sums and three numbers, and its share of two buffers of others.
    fn bytes_of_own(stride: usize) -> u64 {
        (2 * 4 * stride + 12 + 2 * 4 * stride.div_ceil(Self::SHARE)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A million nodes whose tables take 1024 MB, initial vectors 1500 MB, and all else 400 MB.
    fn needs() -> Needs {
        let shape = Shape {
            nodes: 1_000_000,
            stride: 128,
            contexts: 4,
            negatives: 10,
            batches: 2,
            windows: 2_000_000,
            has_contexts: false,
            seed: 0,
        };
        let (tables, start, beside) = (1_024_000_000, 1_500_000_000, 400_000_000);
        Needs { shape, tables, start, beside }
    }

    fn place(capacity: u64, free: u64) -> Result<Placement, u64> {
        let mb = 1_000_000;
        needs().place(Memory { capacity: capacity * mb, free: free * mb })
    }

    #[test]
    fn tables_are_on_the_device_where_they_fit() {
        assert_eq!(place(2924, 2924), Ok(Placement::Resident { has_space: true }));
        assert_eq!(place(2923, 2923), Ok(Placement::Resident { has_space: false }));
        assert_eq!(place(2923, 1424), Ok(Placement::Resident { has_space: false }));
    }

    /// Others may use the GPU; that changes neither where a run starts nor its bytes.
    #[test]
    fn where_a_run_starts_does_not_depend_on_what_is_free() {
        assert_eq!(place(2924, 2923), Err(2_924_000_000));
    }

    #[test]
    fn larger_tables_are_in_as_few_parts_as_fit() {
        for (free, parts) in [(1423, 2), (1100, 2), (1000, 3), (500, 13), (425, 52)] {
            let Ok(Placement::Parts(rows)) = place(free, free) else { panic!("{free} MB") };
            assert_eq!(1_000_000_usize.div_ceil(rows.own), parts, "{free} MB");
            let PartRows { own, others } = rows;
            let bytes = 2 * 512 * own + 12 * own + 2 * 512 * others;
            assert!(bytes as u64 + 400_000_000 <= free * 1_000_000 + 2 * 512, "{free} MB");
        }
        assert!(place(420, 420).is_err_and(|needed| needed > 420_000_000));
        assert!(place(100, 100).is_err());
    }
}
