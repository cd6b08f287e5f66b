//! Laws of negatives on a device.

use cudarc::driver::CudaFunction;
use nearfar::Result;
use nearfar::negative::{CellArray, HopRow, LandmarkRow, LawArrays, Proposal};
use nearfar::rng::AliasCell;

use super::buffer::{Address, Argument, Buffer, CellsArgument, NULL};
use super::device::Open;
use crate::shape::Pass;

/// A law, copied to a device.
pub(crate) struct DeviceLaw {
    kernel: CudaFunction,
    tables: Tables,
}

enum Tables {
    Uniform,
    Alias { all: Buffer<u64>, dominant: u32, others: Option<Buffer<u64>> },
    Hops { cells: DeviceCells, powers: Buffer<f64>, rows: Buffer<f64> },
    Landmarks(Box<Landmarks>),
}

struct Landmarks {
    cells: DeviceCells,
    index: Buffer<u64>,
    rows: Buffer<u64>,
    members: Buffer<u32>,
    powers: Buffer<f64>,
    far_powers: Buffer<f64>,
    proposals: Buffer<u64>,
}

/// Distances on a device, as bytes.
pub(crate) struct DeviceCells {
    buffer: Buffer<u8>,
    bytes: u64,
}

impl DeviceLaw {
    /// Copies a law.
    pub(crate) fn new(device: &Open, law: &LawArrays<'_>) -> Result<Self> {
        let (name, tables) = match law {
            LawArrays::Uniform => ("negatives_uniform", Tables::Uniform),
            LawArrays::Alias { all, dominant } => {
                let others = dominant.map(|(_, table)| Buffer::copy(device, &words(table)));
                let all = Buffer::copy(device, &words(all))?;
                let dominant = dominant.map_or(u32::MAX, |(node, _)| node);
                ("negatives_alias", Tables::Alias { all, dominant, others: others.transpose()? })
            }
            LawArrays::Hops(hops) => {
                let numbers = |row: &HopRow| [row.low, row.high, row.bound];
                let rows: Vec<f64> = hops.rows.iter().flat_map(numbers).collect();
                let tables = Tables::Hops {
                    cells: DeviceCells::new(device, hops.cells)?,
                    powers: Buffer::copy(device, hops.powers)?,
                    rows: Buffer::copy(device, &rows)?,
                };
                ("negatives_hops", tables)
            }
            LawArrays::Landmarks(of) => {
                let row = |row: &LandmarkRow| {
                    let both = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
                    let [first, end] = row.members;
                    [row.start, both(row.first, row.len), both(first, end), both(row.proposals, 0)]
                };
                let proposal = |of: &Proposal| [of.bound.to_bits(), of.factor.to_bits(), of.total];
                let rows: Vec<u64> = of.rows.iter().flat_map(row).collect();
                let proposals: Vec<u64> = of.proposals.iter().flat_map(proposal).collect();
                let tables = Landmarks {
                    cells: DeviceCells::new(device, of.cells)?,
                    index: Buffer::copy(device, &of.index)?,
                    rows: Buffer::copy(device, &rows)?,
                    members: Buffer::copy(device, of.members)?,
                    powers: Buffer::copy(device, of.powers)?,
                    far_powers: Buffer::copy(device, of.far_powers)?,
                    proposals: Buffer::copy(device, &proposals)?,
                };
                ("negatives_landmarks", Tables::Landmarks(Box::new(tables)))
            }
        };
        Ok(Self { kernel: device.kernel(name)?, tables })
    }

    /// Bytes of a law on the device.
    pub(crate) fn bytes(law: Option<&LawArrays<'_>>) -> u64 {
        let cells = |cells: &CellArray<'_>| match cells {
            CellArray::U8(cells) => cells.len(),
            CellArray::U16(cells) => 2 * cells.len(),
            CellArray::U32(cells) => 4 * cells.len(),
        };
        let bytes = match law {
            None | Some(LawArrays::Uniform) => 0,
            Some(LawArrays::Alias { all, .. }) => 16 * all.len(),
            Some(LawArrays::Hops(hops)) => cells(&hops.cells) + 24 * hops.rows.len(),
            Some(LawArrays::Landmarks(of)) => {
                cells(&of.cells)
                    + 12 * of.index.len()
                    + 32 * of.rows.len()
                    + 24 * of.proposals.len()
            }
        };
        bytes as u64
    }

    /// Draws the negatives of a pass.
    pub(crate) fn draw(
        &self,
        device: &Open,
        pass: Pass,
        starts: Address,
        entries: Address,
    ) -> Result<()> {
        let blocks = ((pass.nodes as usize).div_ceil(128), 128);
        let mut arguments: Vec<Box<dyn Argument>> =
            vec![Box::new(pass), Box::new(starts), Box::new(entries)];
        match &self.tables {
            Tables::Uniform => {}
            Tables::Alias { all, dominant, others } => {
                let others = others.as_ref().map_or(NULL, |others| others.address(device));
                arguments.push(Box::new(all.address(device)));
                arguments.push(Box::new(*dominant));
                arguments.push(Box::new(others));
            }
            Tables::Hops { cells, powers, rows } => {
                arguments.push(Box::new(cells.argument(device)));
                arguments.push(Box::new(powers.address(device)));
                arguments.push(Box::new(rows.address(device)));
            }
            Tables::Landmarks(of) => {
                arguments.push(Box::new(of.cells.argument(device)));
                let arrays = [
                    of.index.address(device),
                    of.rows.address(device),
                    of.members.address(device),
                    of.powers.address(device),
                    of.far_powers.address(device),
                    of.proposals.address(device),
                ];
                arguments.extend(arrays.map(|array| Box::new(array) as Box<dyn Argument>));
            }
        }
        let arguments: Vec<&dyn Argument> = arguments.iter().map(|argument| &**argument).collect();
        // SAFETY: arrays are those of the law, in the order of the kernel's parameters; starts and
        // entries are those of the pass.
        unsafe { device.launch(&self.kernel, blocks, &arguments) }
    }
}

impl DeviceCells {
    pub(crate) fn new(device: &Open, cells: CellArray<'_>) -> Result<Self> {
        let (buffer, bytes) = match cells {
            CellArray::U8(cells) => (Buffer::copy(device, cells)?, 1),
            CellArray::U16(cells) => {
                let all: Vec<u8> = cells.iter().flat_map(|cell| cell.to_le_bytes()).collect();
                (Buffer::copy(device, &all)?, 2)
            }
            CellArray::U32(cells) => {
                let all: Vec<u8> = cells.iter().flat_map(|cell| cell.to_le_bytes()).collect();
                (Buffer::copy(device, &all)?, 4)
            }
        };
        Ok(Self { buffer, bytes })
    }

    pub(crate) fn argument(&self, device: &Open) -> CellsArgument {
        CellsArgument { cells: self.buffer.address(device), bytes: self.bytes }
    }
}

/// Cells of alias tables as `AliasCell` of the kernels.
pub(crate) fn words(cells: &[AliasCell]) -> Vec<u64> {
    cells.iter().map(|cell| u64::from(cell.alias) << 32 | u64::from(cell.own)).collect()
}
