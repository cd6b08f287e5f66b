//! Training on NVIDIA GPUs, for [`nearfar`].
//!
//! ```no_run
//! use std::sync::Arc;
//! use nearfar::graph::{ReadOptions, read};
//! use nearfar::train::{Device, Settings, TrainConfig};
//! use nearfar::{Budget, Parts};
//!
//! let graph = Arc::new(read("builtin:karate", &ReadOptions::default())?.graph);
//! let train = TrainConfig { device: Device::Cuda(0), ..Default::default() };
//! let settings = Settings { train, ..Default::default() };
//! let parts = Parts { backend: nearfar_cuda::backend(settings.train.device, None), ..Default::default() };
//! let embedding = nearfar::embed_with(&graph, &settings, &Budget::default(), parts, &mut ())?;
//! # Ok::<(), nearfar::Error>(())
//! ```
//!
//! Neither building nor running it needs the CUDA toolkit: the driver is loaded at run time, and the
//! kernels are PTX that is part of the program (`scripts/make-kernels`).

mod engine;
mod gpu;
mod host;
mod shape;
mod stream;
#[doc(hidden)]
pub mod testing;
mod twin;

use nearfar::BuildBackend;
use nearfar::train::{Device, Trainer};

use gpu::{Exact, Gpu, Limit, Starting};
use stream::Stream;

/// What builds the trainer of a device; `None` for the CPU. It takes at most so many bytes of the device's
/// memory, or all that is free. A GPU starts at once, in the background, as its driver takes about as long as
/// reading a graph.
pub fn backend(device: Device, memory: Option<u64>) -> Option<BuildBackend<'static>> {
    let Device::Cuda(number) = device else { return None };
    Some(build(number, Limit::Bytes(memory)))
}

fn build(number: usize, limit: Limit) -> BuildBackend<'static> {
    let starting = Starting::new(number);
    Box::new(move |task| {
        let device = starting.finish()?;
        if task.plan.trainer == Trainer::Exact {
            return Ok(Box::new(Exact::new(device, &task, limit)?));
        }
        let stream = Stream::new(task, |shape, task| Gpu::new(device, shape, task, limit))?;
        Ok(Box::new(stream))
    })
}
