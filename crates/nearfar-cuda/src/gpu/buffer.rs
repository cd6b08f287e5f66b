//! Arrays on a device, and arguments of kernels.

use std::ffi::c_void;
use std::ops::Range;

use cudarc::driver::{
    CudaFunction, CudaSlice, DevicePtr, DeviceRepr, LaunchConfig, PushKernelArg, ValidAsZeroBits,
};
use nearfar::Result;

use super::device::Open;
use crate::shape::{Pass, Step};

/// An array on a device.
pub(crate) struct Buffer<T>(CudaSlice<T>);

/// The address of an array on a device, as kernels take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Address(pub u64);

/// In place of an array that there is none of.
pub(crate) const NULL: Address = Address(0);

/// `Cells` of the kernels.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct CellsArgument {
    pub(crate) cells: Address,
    pub(crate) bytes: u64,
}

/// `Lists` of the kernels.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct ListsArgument {
    pub(crate) starts: Address,
    pub(crate) entries: Address,
    pub(crate) incoming_starts: Address,
    pub(crate) incoming: Address,
    pub(crate) slots: u32,
    pub(crate) padding: u32,
}

/// `Rows` of the kernels.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct RowsArgument {
    pub(crate) own: Address,
    pub(crate) others: Address,
    pub(crate) out: Address,
    pub(crate) count: u32,
    pub(crate) stride: u32,
}

/// `Part` of the kernels: some rows of a table.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct PartArgument {
    pub(crate) first: u32,
    pub(crate) count: u32,
}

impl PartArgument {
    /// Where their values are in the table.
    pub(crate) fn values(self, stride: usize) -> Range<usize> {
        let (first, count) = (self.first as usize, self.count as usize);
        first * stride..(first + count) * stride
    }
}

/// A value that kernels take as it is.
///
/// # Safety
///
/// Its bytes are those of the kernel's parameter.
pub(crate) unsafe trait Argument {
    fn pointer(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast::<c_void>().cast_mut()
    }
}

macro_rules! arguments {
    ($($name:ty),*) => {
        $(
            // SAFETY: the struct has the layout of C and the fields of its namesake in the kernels.
            unsafe impl Argument for $name {}
            // SAFETY: as above.
            unsafe impl DeviceRepr for $name {}
        )*
    };
}

arguments!(
    Address,
    Pass,
    Step,
    CellsArgument,
    ListsArgument,
    PartArgument,
    RowsArgument,
    SparseArgument,
    WeightsArgument
);

/// `Sparse` of the kernels.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct SparseArgument {
    pub(crate) offsets: Address,
    pub(crate) targets: Address,
    pub(crate) weights: Address,
    pub(crate) left: Address,
    pub(crate) right: Address,
    pub(crate) scale: Address,
    pub(crate) keep: Address,
}

/// `Weights` of the kernels.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct WeightsArgument {
    pub(crate) hops: CellsArgument,
    pub(crate) powers: Address,
    pub(crate) low: Address,
    pub(crate) high: Address,
    pub(crate) factors: Address,
}

// SAFETY: the numbers of CUDA have the same sizes.
unsafe impl Argument for u32 {}
// SAFETY: as above.
unsafe impl Argument for u64 {}
// SAFETY: as above.
unsafe impl Argument for f32 {}
// SAFETY: as above.
unsafe impl Argument for f64 {}

impl<T: DeviceRepr> Buffer<T> {
    /// A copy of an array.
    pub(crate) fn copy(device: &Open, values: &[T]) -> Result<Self> {
        // An array of no elements has no address.
        if values.is_empty() {
            // SAFETY: nothing reads it.
            let empty = unsafe { device.stream.alloc(1) };
            return empty.map(Self).map_err(|error| device.error(error));
        }
        device.stream.clone_htod(values).map(Self).map_err(|error| device.error(error))
    }

    /// An array of whatever is in memory.
    ///
    /// # Safety
    ///
    /// It is written before it is read.
    pub(crate) unsafe fn uninitialised(device: &Open, len: usize) -> Result<Self> {
        // SAFETY: guaranteed by the caller.
        let slice = unsafe { device.stream.alloc(len.max(1)) };
        slice.map(Self).map_err(|error| device.error(error))
    }

    /// Its address.
    pub(crate) fn address(&self, device: &Open) -> Address {
        Address(self.0.device_ptr(&device.stream).0)
    }

    /// Replaces the first elements.
    pub(crate) fn set(&mut self, device: &Open, values: &[T]) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        let mut part = self.0.slice_mut(..values.len());
        device.stream.memcpy_htod(values, &mut part).map_err(|error| device.error(error))
    }

    /// The first elements.
    pub(crate) fn get(&self, device: &Open, len: usize) -> Result<Vec<T>>
    where
        T: Clone + Default,
    {
        if len == 0 {
            return Ok(Vec::new());
        }
        let mut out = vec![T::default(); len];
        let part = self.0.slice(..len);
        device.stream.memcpy_dtoh(&part, &mut out).map_err(|error| device.error(error))?;
        device.stream.synchronize().map_err(|error| device.error(error))?;
        Ok(out)
    }

    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl<T: DeviceRepr + ValidAsZeroBits> Buffer<T> {
    /// An array of zeros.
    pub(crate) fn zeros(device: &Open, len: usize) -> Result<Self> {
        device.stream.alloc_zeros(len.max(1)).map(Self).map_err(|error| device.error(error))
    }

    /// Sets all elements to zero.
    pub(crate) fn clear(&mut self, device: &Open) -> Result<()> {
        device.stream.memset_zeros(&mut self.0).map_err(|error| device.error(error))
    }
}

impl Open {
    /// Runs a kernel with blocks of so many threads.
    ///
    /// # Safety
    ///
    /// The arguments are those of the kernel, and arrays are as large as it takes them to be.
    pub(crate) unsafe fn launch(
        &self,
        kernel: &CudaFunction,
        (blocks, threads): (usize, u32),
        arguments: &[&dyn Argument],
    ) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.launch_with(kernel, (blocks, threads), 0, arguments) }
    }

    /// The same with so many bytes of shared memory.
    ///
    /// # Safety
    ///
    /// As for [`launch`](Self::launch).
    pub(crate) unsafe fn launch_with(
        &self,
        kernel: &CudaFunction,
        (blocks, threads): (usize, u32),
        shared: u32,
        arguments: &[&dyn Argument],
    ) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.launch_grid(kernel, (blocks, 1), threads, shared, arguments) }
    }

    /// The same with blocks in two dimensions.
    ///
    /// # Safety
    ///
    /// As for [`launch`](Self::launch).
    pub(crate) unsafe fn launch_grid(
        &self,
        kernel: &CudaFunction,
        (blocks, parts): (usize, usize),
        threads: u32,
        shared: u32,
        arguments: &[&dyn Argument],
    ) -> Result<()> {
        if blocks == 0 {
            return Ok(());
        }
        let mut launch = self.stream.launch_builder(kernel);
        for argument in arguments {
            // SAFETY: a launch copies as many bytes from there as the parameter has.
            launch.arg(unsafe { &*argument.pointer().cast::<u8>() });
        }
        let grid_dim = (blocks as u32, parts as u32, 1);
        let config =
            LaunchConfig { grid_dim, block_dim: (threads, 1, 1), shared_mem_bytes: shared };
        // SAFETY: guaranteed by the caller.
        unsafe { launch.launch(config) }.map_err(|error| self.error(error))?;
        Ok(())
    }
}
