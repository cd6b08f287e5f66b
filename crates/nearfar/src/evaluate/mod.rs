//! Stage 8, evaluation: scores and measures of vectors from any source.

mod classify;
pub mod decisions;
mod links;
mod logistic;
mod mean_std;
pub mod measure;
mod periodic;
pub mod ranking;

pub use classify::{
    ClassScores, Classification, ClassifyConfig, ConfusionTable, F1, InverseL2, SplitMethod,
    SplitScores, classify, read_labels, read_splits, splits_in,
};
pub use links::{HeldOut, LinkScores, LinksConfig, Operator, Operators, Ranking, hold_out, links};
pub use mean_std::MeanStd;
pub use periodic::{BestEpoch, PeriodicScores};
