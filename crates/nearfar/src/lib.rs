#![doc = include_str!("../../../README.md")]

pub mod error;
mod file;
mod matrix;
mod memory;
pub mod rng;
pub mod simd;

pub mod graph;

pub mod distance;

pub mod positive;

pub mod negative;

pub mod embedding;

pub mod encode;

pub mod train;

pub mod evaluate;

pub mod project;

pub mod report;

pub use error::{Error, Result};
