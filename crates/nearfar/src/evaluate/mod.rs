//! Stage 8, is it good: scores of vectors, anyone's vectors.

mod classify;
pub mod decisions;
mod every;
mod links;
mod logistic;
pub mod measure;
pub mod ranking;
mod summary;

pub use classify::{
    ClassScores, Classification, ClassifyConfig, ConfusionTable, F1, Part, Protocol, classify,
    read_labels, read_splits, splits_in,
};
pub use every::{Best, Every};
pub use links::{HeldOut, LinkScores, LinksConfig, Operator, Operators, Ranking, hold_out, links};
pub use summary::Summary;
