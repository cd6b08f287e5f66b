//! A GPU.

#![allow(unsafe_code)]

mod buffer;
mod device;
mod engine;
mod exact;
mod law;
mod matrices;
mod memory;
mod smooth;
mod start;

pub(crate) use device::{PTX, Starting};
pub(crate) use engine::Gpu;
pub(crate) use exact::Exact;
