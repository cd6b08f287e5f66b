//! L2 regularisation: how strong it is, and the effective rank that it is controlled by.

mod controller;
pub mod effective_rank;

pub(super) use controller::{Look, Pull};
