//! The library against naive references, through its public interface.

mod bad_files;
mod bad_vectors;
mod batches;
mod chi_square;
mod distances;
mod exact;
mod formats;
mod graphs;
mod measures;
mod naive;
mod negative_plans;
mod negatives;
mod neighbours;
mod objectives;
mod observed;
mod plans;
mod positives;
mod projections;
mod reports;
mod scores;
mod seams;
mod settings;
mod tidy;
mod trained;
mod training;
mod vector_files;
