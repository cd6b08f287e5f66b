//! The library against naive references, through its public interface.

mod distances;
mod graphs;
mod naive;
mod negatives;
