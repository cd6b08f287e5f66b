//! The library against naive references, through its public interface.

mod bad_files;
mod bad_vectors;
mod batches;
mod cancel;
mod checkpoints;
mod chi_square;
mod distances;
mod exact;
mod formats;
mod graphs;
mod measures;
mod naive;
mod negatives;
mod neighbours;
mod objectives;
mod plans;
mod positives;
mod projections;
mod reports;
mod scores;
mod seams;
mod tidy;
mod trained;
mod training;
mod vector_files;
