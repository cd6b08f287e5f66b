//! For tests and benchmarks: the twin as a trainer, and what devices sample.

use nearfar::train::{Backend, Device, Task};
use nearfar::{BuildBackend, Result};

use crate::engine::Engine;
use crate::gpu::{Gpu, Starting};
use crate::stream::{Stream, device_walks};
use crate::twin::Twin;

/// The kernels, as they are compiled.
pub const PTX: &str = crate::gpu::PTX;

/// What builds the twin.
pub fn twin() -> BuildBackend<'static> {
    Box::new(|task| Ok(Box::new(stream_of_twin(task)?) as Box<dyn Backend>))
}

fn stream_of_twin(task: Task<'_>) -> Result<Stream<'_, Twin>> {
    Stream::new(task, |shape, task| {
        let (walks, law) = (device_walks(task.plan, task), task.negatives.arrays());
        Ok(Twin::new(shape, walks.as_ref(), law.as_ref()))
    })
}

/// The entries of a pass, counted over the whole run, by centre.
pub fn entries(task: Task<'_>, device: Device, number: usize) -> Result<Vec<(u32, Vec<u32>)>> {
    match device {
        Device::Cpu => {
            let mut stream = stream_of_twin(task)?;
            stream.sample(number)?;
            stream.engine().entries()
        }
        Device::Cuda(ordinal) => {
            let device = Starting::new(ordinal).finish()?;
            let mut stream = Stream::new(task, |shape, task| Gpu::new(device, shape, task))?;
            stream.sample(number)?;
            stream.engine().entries()
        }
    }
}
