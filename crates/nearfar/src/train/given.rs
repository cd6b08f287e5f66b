//! Initial vectors from given ones.
//!
//! Vectors are matched by the ids of their nodes. A node without one starts at the mean of its
//! neighbours' vectors, hop by hop from the given ones ([`Embedding::extend`]); a node without a path
//! to any starts small and random. Vectors of nodes that the graph does not have are left out.

use std::sync::Arc;

use super::plan::TrainPlan;
use super::start::{SPREAD, small_vectors, start};
use crate::budget::product;
use crate::embedding::Embedding;
use crate::error::{Error, Problem, Result};
use crate::graph::Graph;

/// Fails if training cannot start from these vectors.
pub(crate) fn check(given: &Embedding, plan: &TrainPlan, graph: &Graph) -> Result<()> {
    if plan.model.has_network() {
        let name = plan.model.name();
        let problem = Problem::from(format!("{name} computes its vectors and starts from none"));
        return Err(Error::conflict(problem.omit("init").set("model", "deepwalk")));
    }
    if given.dim() != plan.dim {
        let problem = Problem {
            message: format!("the given vectors have {} dimensions", given.dim()),
            option: Some(("dim", plan.dim.to_string())),
            remedies: vec![],
        };
        return Err(Error::conflict(problem.set("dim", given.dim())));
    }
    given.check_known(graph)
}

/// The memory in addition to the vectors, the given ones excluded.
pub(super) fn bytes(graph: &Graph) -> u64 {
    product([graph.nodes(), 16]).saturating_add(graph.undirected_bytes())
}

/// Fills rows of `stride` numbers with initial vectors: from given ones, or else as planned.
pub fn initial(
    plan: &TrainPlan,
    graph: &Arc<Graph>,
    given: Option<&Embedding>,
    stride: usize,
    rows: &mut [f32],
) {
    let Some(given) = given else { return start(plan, graph, stride, rows) };
    small_vectors(plan, stride, rows, SPREAD);
    given.extend(graph, &given.rows_of(graph), stride, rows);
}
