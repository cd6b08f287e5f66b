//! The library against naive references, through its public interface.

mod chi_square;
mod distances;
mod graphs;
mod naive;
mod negatives;
