//! The memory of a run on a device.

use nearfar::graph::Graph;
use nearfar::negative::LawArrays;
use nearfar::positive::WalkArrays;
use nearfar::{Error, Result, format_bytes};

use super::device::Open;
use super::law::DeviceLaw;
use crate::shape::Shape;

/// What the driver takes beside the arrays, measured.
const DRIVER: u64 = 600_000_000;

/// Bytes of initial vectors, or of smoothing, beside the tables: three matrices, and the sparse one.
pub(crate) fn start_bytes(nodes: usize, stride: usize, graph: &Graph) -> u64 {
    let arc = if graph.is_weighted() { 8 } else { 4 };
    12 * (nodes * stride) as u64 + 24 * nodes as u64 + arc * graph.arcs() as u64
}

/// Bytes of all arrays of a run: both copies of the tables, the graph, the law, and a pass.
pub(crate) fn bytes(
    shape: Shape,
    graph: &Graph,
    walks: Option<&WalkArrays<'_>>,
    law: Option<&LawArrays<'_>>,
) -> u64 {
    let (n, windows, slots) = (shape.nodes as u64, shape.windows as u64, shape.slots() as u64);
    let tables = 2 * (1 + u64::from(shape.has_contexts)) * n * 4 * shape.stride as u64;
    let of_walks = walks.map_or(0, |walks| {
        let arc = if walks.tables.is_some() { 12 } else { 4 };
        8 * (n + 1) + arc * walks.targets.len() as u64 + walks.centres.as_ref().map_or(0, |_| 8 * n)
    });
    // Starts, entries and centres of all windows; ranks and the other list of a minibatch.
    let pass = 4 * (n * shape.batches as u64 + windows * (slots + 1));
    let batch = 8 * batch_entries(shape) as u64 + 12 * n;
    let drawn = if walks.is_none() { 4 * windows * slots } else { 0 };
    let start = start_bytes(shape.nodes, shape.stride, graph);
    tables + of_walks + DeviceLaw::bytes(law) + pass + batch + drawn + start
}

/// The most entries of a minibatch: its windows are those of all nodes, divided and rounded up.
pub(crate) fn batch_entries(shape: Shape) -> usize {
    (shape.windows.div_ceil(shape.batches) + shape.nodes).min(shape.windows) * shape.slots()
}

/// Fails if a run does not fit the device.
pub(crate) fn check(device: &Open, bytes: u64) -> Result<()> {
    let (free, _) = device.context.mem_get_info().map_err(|error| device.error(error))?;
    let needed = bytes.saturating_add(DRIVER);
    if needed <= free as u64 {
        return Ok(());
    }
    let (needed, free) = (format_bytes(needed), format_bytes(free as u64));
    let message = format!(
        "the run needs {needed} of the GPU's memory, and {free} are free; lower --dim, or use --device cpu"
    );
    Err(Error::option("device", nearfar::train::Device::Cuda(device.number), message))
}
