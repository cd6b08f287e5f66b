//! The memory of the stream trainer, and what it is cut into so that it stays bounded.

use super::super::config::Model;
use super::super::plan::TrainPlan;
use super::blocks::Blocks;
use super::buckets::Buckets;
use super::negatives_ahead;
use crate::budget::{product, sum};
use crate::graph::{Graph, Node};
use crate::positive::{Node2Vec, Walk};
use crate::rng::Rng;
use crate::simd::LANES;

/// Bytes of the tables, of the pairs of a pass, and of what they are sampled with.
pub(in crate::train) fn bytes(plan: &TrainPlan, graph: &Graph) -> u64 {
    let n = graph.nodes();
    let padded = plan.dim.next_multiple_of(LANES);
    let rows = Blocks::rows_for(n, padded);
    let blocks = n.div_ceil(rows);
    let walks = plan.walks.div_ceil(plan.passes);
    let windows = product([n, walks, plan.windows()]);
    let pairs = windows.saturating_mul((plan.window - 1 + plan.k) as u64);
    let buckets = Buckets::bytes(product([blocks, blocks]), pairs);
    let positives = match plan.model {
        Model::Node2vec => Node2Vec::bytes(graph),
        _ => Walk::bytes(graph),
    };
    // Walks that windows slide along are kept, with the position of every window; those of a block
    // are sorted by centre on each thread.
    let threads = rayon::current_num_threads().min(blocks);
    let sliding = if plan.windows() > 1 {
        let sorted = windows.saturating_mul(8).div_ceil(blocks as u64);
        sum([
            product([n, walks, plan.length, size_of::<Node>()]),
            windows.saturating_mul(4),
            sorted.saturating_mul(threads as u64),
        ])
    } else {
        0
    };
    // On each thread the walks that are taken together and the negatives of a centre, which has as
    // many windows as walks start at it; a hub has more.
    let walk = size_of::<Node>() * (plan.length + 1) + size_of::<Rng>();
    let of_a_thread = product([walks + 64, walk + plan.windows() * plan.k * size_of::<Node>()]);
    sum([
        product([plan.order, n, padded, 4]),
        buckets,
        positives,
        sliding,
        of_a_thread.saturating_mul(threads as u64),
    ])
}

/// Bytes of negatives that are drawn ahead, where that is done.
pub(in crate::train) fn bytes_ahead(plan: &TrainPlan, graph: &Graph) -> u64 {
    match plan.passes_ahead {
        0 | 1 => 0,
        passes => product([passes, graph.nodes(), plan.walks / plan.passes, plan.k, 4]),
    }
}

/// Passes of an epoch, each with a part of the walks of every node. Fewer and larger passes are
/// faster, as rows come into cache once a pass; but a pass trains block after block, and a node that
/// moves far by the pairs of one block before it meets the next ends elsewhere than the gradient of
/// all pairs would lead it (`docs/method.md`). So a pass has at most two windows per node, unless
/// windows slide along a walk.
pub(in crate::train) fn passes(plan: &TrainPlan, nodes: usize) -> usize {
    /// Walks per node in a pass.
    const WALKS: usize = 2;
    /// About so many pairs are in a pass.
    const PAIRS: u64 = 600_000_000;
    let pairs = product([nodes, plan.walks, plan.windows(), plan.window - 1 + plan.k]);
    let fit = usize::try_from(pairs.div_ceil(PAIRS)).unwrap_or(usize::MAX);
    fit.max(plan.walks.div_ceil(WALKS)).clamp(1, plan.walks)
}

/// For how many passes negatives are drawn at a time where changing the centre is slow. How often a
/// node is the centre of a sliding window is not known in advance, nor is it where passes differ.
pub(in crate::train) fn passes_ahead(plan: &TrainPlan, nodes: usize) -> usize {
    if plan.windows() > 1 || !plan.walks.is_multiple_of(plan.passes) {
        return 1;
    }
    let bytes = product([nodes, plan.walks / plan.passes, plan.k, size_of::<Node>()]);
    negatives_ahead::passes_ahead(plan.epochs.saturating_mul(plan.passes), bytes)
}
