//! A GPU.

#![allow(unsafe_code)]

mod buffer;
mod device;
mod engine;
mod exact;
mod law;
mod matrices;
mod memory;
mod parts;
mod smooth;
mod start;
mod tables;

pub(crate) use device::{PTX, Starting};
pub(crate) use engine::Gpu;
pub(crate) use exact::Exact;
pub(crate) use memory::Limit;
