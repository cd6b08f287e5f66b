//! For tests and benchmarks: the twin as a trainer, and what devices sample.

use nearfar::train::{Backend, Device, Task};
use nearfar::{BuildBackend, Result};

use crate::engine::Engine;
use crate::gpu::{Gpu, Limit, Starting};
use crate::stream::{Stream, device_walks};
use crate::twin::Twin;

/// The kernels, as they are compiled.
pub const PTX: &str = crate::gpu::PTX;

/// What builds the twin, which sums the terms of rows over so many parts of the others.
pub fn twin(parts: usize) -> BuildBackend<'static> {
    Box::new(move |task| Ok(Box::new(stream_of_twin(task, parts)?) as Box<dyn Backend>))
}

/// What builds the trainer of a GPU, with tables on the host and so many parts of their rows on the device.
pub fn gpu_in_parts(number: usize, parts: usize) -> BuildBackend<'static> {
    crate::build(number, Limit::Parts(parts))
}

fn stream_of_twin(task: Task<'_>, parts: usize) -> Result<Stream<'_, Twin>> {
    Stream::new(task, |shape, task| {
        let (walks, law) = (device_walks(task.plan, task), task.negatives.arrays());
        Ok(Twin::new(shape, walks.as_ref(), law.as_ref(), parts))
    })
}

/// The entries of a pass, counted over the whole run, by centre.
pub fn entries(task: Task<'_>, device: Device, number: usize) -> Result<Vec<(u32, Vec<u32>)>> {
    match device {
        Device::Cpu => {
            let mut stream = stream_of_twin(task, 1)?;
            stream.sample(number)?;
            stream.engine().entries()
        }
        Device::Cuda(ordinal) => {
            let device = Starting::new(ordinal).finish()?;
            let mut stream =
                Stream::new(task, |shape, task| Gpu::new(device, shape, task, Limit::Bytes(None)))?;
            stream.sample(number)?;
            stream.engine().entries()
        }
    }
}
