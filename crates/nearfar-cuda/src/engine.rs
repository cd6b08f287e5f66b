//! What trains: a GPU, or the plain Rust twin of its kernels.

use std::sync::Arc;

use nearfar::Result;
use nearfar::graph::{Graph, Node};
use nearfar::negative::{LawArrays, NegativeSampler};
use nearfar::train::Task;

use crate::host::Drawn;
use crate::shape::{Pass, Step};

/// Samples passes and takes steps. Both implementations give the same bytes.
pub(crate) trait Engine: Send {
    /// Fills the vectors with initial ones; `false` if that is left to the caller.
    fn start(&mut self, _task: &Task<'_>) -> Result<bool> {
        Ok(false)
    }

    /// Smooths the vectors so many times; `false` if that is left to the caller.
    fn smooth(&mut self, _graph: &Arc<Graph>, _times: usize) -> Result<bool> {
        Ok(false)
    }

    /// Replaces the vectors, and those of nodes as contexts.
    fn set(&mut self, vectors: &[f32], contexts: Option<&[f32]>) -> Result<()>;

    /// Samples the pairs of a pass, given what is drawn on the host.
    fn sample(&mut self, pass: Pass, drawn: &Drawn) -> Result<()>;

    /// Takes a step with the pairs of a minibatch of the pass.
    fn step(&mut self, batch: usize, step: Step) -> Result<()>;

    /// What was trained since the last call.
    fn totals(&mut self) -> Result<Totals>;

    /// Every so many-th vector.
    fn some_rows(&self, every: usize) -> Result<Vec<f32>>;

    /// All vectors.
    fn vectors(&self) -> Result<Vec<f32>>;

    /// All vectors of nodes as contexts.
    fn contexts(&self) -> Result<Option<Vec<f32>>>;

    /// All entries of the pass, by centre: for tests.
    fn entries(&self) -> Result<Vec<(Node, Vec<u32>)>>;
}

/// What was trained.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Totals {
    /// Pairs.
    pub(crate) pairs: u64,
    /// The sum of their losses; not a number if a vector became too large.
    pub(crate) loss: f64,
}

/// The centres whose negatives are drawn on the host, as the arrays of the law leave them out.
pub(crate) fn centres_on_host(
    nodes: usize,
    negatives: &dyn NegativeSampler,
    law: Option<&LawArrays<'_>>,
) -> Vec<Node> {
    let all = 0..nodes as Node;
    match law {
        // A draw needs another node.
        None => all.collect(),
        Some(_) if nodes < 2 => all.collect(),
        Some(LawArrays::Uniform | LawArrays::Alias { .. }) => {
            all.filter(|&node| !negatives.has_negatives(node)).collect()
        }
        Some(LawArrays::Hops(hops)) => {
            all.filter(|&node| hops.rows[node as usize].bound == 0.0).collect()
        }
        Some(LawArrays::Landmarks(landmarks)) => all
            .filter(|&node| {
                let entry = landmarks.index[node as usize];
                let row = landmarks.rows[(entry >> 32) as usize];
                landmarks.proposals[row.proposals as usize + entry as u32 as usize].bound == 0.0
            })
            .collect(),
    }
}
