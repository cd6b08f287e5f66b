//! A GPU.

#![allow(unsafe_code)]

mod buffer;
mod device;
mod engine;
mod law;
mod memory;

pub(crate) use device::{PTX, Starting};
pub(crate) use engine::Gpu;
