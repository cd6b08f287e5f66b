//! L2 regularisation: how strong it is, and the effective rank that controls it.

mod controller;
pub mod effective_rank;

pub use controller::{L2Controller, step};
