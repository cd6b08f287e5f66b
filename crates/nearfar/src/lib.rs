#![doc = include_str!("../README.md")]

pub mod error;

mod budget;
pub mod cancel;
mod memory;
mod setting;

pub mod simd;

mod matrix;

pub mod file;

pub mod rng;

pub mod graph;

pub mod distance;

pub mod positive;

pub mod negative;

pub mod embedding;

pub mod encode;

pub mod train;

mod pipeline;

mod update;

pub mod evaluate;

pub mod project;

pub mod report;

pub use budget::{Budget, format_bytes, grouped, parse_bytes};
pub use error::{Error, Result};
pub use pipeline::{BuildBackend, Parts, embed, embed_with};
pub use update::update;

// The code of these pages, compiled and run as documentation tests.

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../CONTRIBUTING.md")]
struct Contributing;
