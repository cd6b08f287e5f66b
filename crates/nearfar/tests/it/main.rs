//! The library against naive references, through its public interface.

mod bad_files;
mod chi_square;
mod distances;
mod formats;
mod graphs;
mod naive;
mod negatives;
mod positives;
mod tidy;
mod training;
