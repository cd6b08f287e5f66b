//! Stage 8, is it good: what vectors say about their graph.

pub mod measure;
