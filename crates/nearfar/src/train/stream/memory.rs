//! The memory of the stream trainer, and what it is cut into so that it stays bounded.

use super::super::config::{Model, Trainer};
use super::super::observe::WRITTEN;
use super::super::plan::TrainPlan;
use super::blocks::Blocks;
use super::buckets::Buckets;
use super::disk::Segments;
use super::sampling::at_a_time;
use super::{negatives_ahead, padded};
use crate::budget::{product, sum};
use crate::graph::{Graph, Node};
use crate::positive::{Node2Vec, Walk};
use crate::rng::Rng;

/// Bytes of the tables, of the pairs of a pass, and of what they are sampled with.
pub(in crate::train) fn bytes(plan: &TrainPlan, graph: &Graph) -> u64 {
    let n = graph.nodes();
    let blocks = blocks(plan, n);
    let buckets = Buckets::bytes(product([blocks, blocks]), pairs(plan, n));
    sum([product([plan.order, n, padded(plan), 4]), buckets, sampling_bytes(plan, graph)])
}

/// The same where tables and pairs are in files.
pub(in crate::train) fn disk_bytes(plan: &TrainPlan, graph: &Graph) -> u64 {
    let n = graph.nodes();
    let (blocks, cut) = (blocks(plan, n), Segments::new(plan, n));
    let (segments, of_segment) = (cut.count(), Blocks::rows_for(n, padded(plan)) * cut.blocks());
    let rows = product([cut.in_memory(), of_segment]).min(n as u64);
    let tables = rows.saturating_mul(product([plan.order, padded(plan), 4]));
    // The pairs of the present step and of the next one, of all rows with a column and the reverse; or
    // those of some blocks and one of them as it is written.
    let share = |parts: usize| pairs(plan, n).div_ceil(parts.max(1) as u64);
    let steps = share(segments * segments).saturating_mul(16 * plan.held.min(segments) as u64);
    let some = at_a_time().min(blocks);
    let of_block = Buckets::bytes(blocks as u64, share(blocks));
    let sampled = of_block.saturating_mul(some as u64 + 1);
    let positions = product([blocks, segments + 4, 8]);
    // Pages of the files that are mapped while checkpoints are written.
    let mapped = product([n, padded(plan), 4]).min(WRITTEN as u64);
    sum([tables, steps.max(sampled), positions, mapped, sampling_bytes(plan, graph)])
}

/// The most segments that can be held as rows, where `fits` says whether so many do.
pub(in crate::train) fn held(
    plan: &TrainPlan,
    nodes: usize,
    fits: impl Fn(usize) -> bool,
) -> usize {
    (2..=Segments::new(plan, nodes).count()).take_while(|&held| fits(held)).last().unwrap_or(1)
}

fn blocks(plan: &TrainPlan, n: usize) -> usize {
    n.div_ceil(Blocks::rows_for(n, padded(plan)))
}

fn windows(plan: &TrainPlan, n: usize) -> u64 {
    product([n, plan.walks.div_ceil(plan.passes), plan.windows()])
}

/// Pairs of a pass.
fn pairs(plan: &TrainPlan, n: usize) -> u64 {
    windows(plan, n).saturating_mul((plan.window - 1 + plan.k) as u64)
}

/// Bytes of what pairs are sampled with.
fn sampling_bytes(plan: &TrainPlan, graph: &Graph) -> u64 {
    let n = graph.nodes();
    let (walks, windows) = (plan.walks.div_ceil(plan.passes), windows(plan, n));
    let blocks = blocks(plan, n);
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
    sum([positives, sliding, of_a_thread.saturating_mul(threads as u64)])
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

/// Parts that a table is cut into, of which a machine of a cluster trains two at a time. Tables of less
/// than 256 MB are one part, others at least 8: stages without a common part can run side by side. With more
/// parts each stage takes less memory, and every pass moves the table more often, P times. So both grow with
/// the square root of the table: a part is 48 MB × P.
pub(in crate::train) fn parts(plan: &TrainPlan, nodes: usize) -> usize {
    const SMALL: u64 = 1 << 28;
    const SQUARE: u64 = 48 << 20;
    const FEWEST: u64 = 8;
    let bytes = product([nodes, padded(plan), 4]);
    if plan.trainer != Trainer::Stream || bytes < SMALL {
        return 1;
    }
    (bytes / SQUARE).isqrt().max(FEWEST) as usize
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

#[cfg(test)]
mod tests {
    use super::super::super::config::{L2, TrainConfig};
    use super::super::super::settings::Settings;
    use super::super::super::start::Start;
    use super::*;
    use crate::budget::Budget;
    use crate::graph::{EdgeList, NodeIds};
    use crate::negative::{NegativeConfig, Negatives};

    fn ring(nodes: u32) -> Graph {
        let pairs = (0..nodes).map(|a| (a, (a + 1) % nodes)).collect();
        let ids = NodeIds::Range { start: 0, len: nodes as usize };
        EdgeList { pairs, weights: None, ids }.build().unwrap().0
    }

    fn plan(graph: &Graph, train: &TrainConfig) -> TrainPlan {
        let (start, l2) = (Some(Start::Random), L2::Value(0.0));
        let train = TrainConfig { start, l2, k: Some(10), ..train.clone() };
        let negatives = NegativeConfig { negatives: Negatives::Uniform, ..Default::default() };
        TrainPlan::new(&Settings { train, negatives }, graph, &Budget::default()).unwrap()
    }

    /// Two walks for each of 1000 nodes are one window of 4 contexts and 10 negatives each.
    #[test]
    fn every_part_is_counted() {
        let graph = ring(1000);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let bytes = |train: &TrainConfig| pool.install(|| bytes(&plan(&graph, train), &graph));
        let base = || TrainConfig { dim: 20, walks: Some(4), ..Default::default() };
        // Rows of 32 in 16 blocks of 63, and lists of pairs for each two blocks.
        let table = 1000 * 32 * 4;
        let buckets = |pairs| Buckets::bytes(16 * 16, pairs);
        let rng = size_of::<Rng>() as u64;
        let thread =
            |length: u64, windows: u64| (2 + 64) * (4 * (length + 1) + rng + windows * 10 * 4);
        let one = table + buckets(2000 * 14) + 3 * thread(5, 1);
        assert_eq!(bytes(&base()), one);
        assert_eq!(bytes(&TrainConfig { order: 2, ..base() }), one + table);
        let node2vec = TrainConfig { model: Model::Node2vec, ..base() };
        assert_eq!(bytes(&node2vec), one + Node2Vec::bytes(&graph));
        // Four windows slide along walks of 8: walks, positions, and those of a block by centre.
        let sliding = TrainConfig { walk_length: Some(8), ..base() };
        let windows = 1000 * 2 * 4;
        let walks = 1000 * 2 * 8 * 4 + windows * 4 + 3 * (windows * 8 / 16);
        assert_eq!(bytes(&sliding), table + buckets(windows * 14) + walks + 3 * thread(8, 4));
    }

    #[test]
    fn a_pass_has_two_walks_of_a_node_unless_their_pairs_are_too_many() {
        let graph = ring(50);
        let passes = |walks, nodes| {
            let train = TrainConfig { walks: Some(walks), ..Default::default() };
            passes(&plan(&graph, &train), nodes)
        };
        for (walks, expected) in [(1, 1), (2, 1), (3, 2), (6, 3), (7, 4)] {
            assert_eq!(passes(walks, 50), expected, "{walks} walks");
        }
        // 20 walks of 25 million nodes, each with 14 pairs, are 12 times 600 million.
        assert_eq!(passes(20, 20_000_000), 10);
        assert_eq!(passes(20, 25_000_000), 12);
        assert_eq!(passes(20, usize::MAX), 20);
    }

    #[test]
    fn parts_grow_with_the_square_root_of_the_table() {
        let plan = plan(&ring(50), &TrainConfig::default());
        for (nodes, expected) in [
            (500_000, 1),
            (1_000_000, 8),
            (10_000_000, 10),
            (100_000_000, 31),
            (1_000_000_000, 100),
        ] {
            assert_eq!(parts(&plan, nodes), expected, "{nodes} nodes");
        }
    }

    /// 64 MB, a hundred passes, or the whole run, with 10 negatives of 4 bytes for each of two walks.
    #[test]
    fn negatives_are_drawn_ahead_for_as_many_passes_as_fit() {
        let graph = ring(1000);
        let ahead = |train: &TrainConfig, nodes| passes_ahead(&plan(&graph, train), nodes);
        let base = || TrainConfig { walks: Some(4), epochs: Some(500), ..Default::default() };
        assert_eq!(ahead(&base(), 100), 100);
        assert_eq!(ahead(&base(), 20_000), 40);
        assert_eq!(ahead(&base(), 400_001), 1);
        assert_eq!(ahead(&base(), usize::MAX), 1);
        assert_eq!(ahead(&TrainConfig { epochs: Some(7), ..base() }, 100), 14);
        // How many windows a centre has is not known where passes differ or windows slide.
        assert_eq!(ahead(&TrainConfig { walks: Some(5), ..base() }, 100), 1);
        assert_eq!(ahead(&TrainConfig { walk_length: Some(6), ..base() }, 100), 1);

        let bytes = |train: &TrainConfig| bytes_ahead(&plan(&graph, train), &graph);
        assert_eq!(bytes(&base()), 100 * 1000 * 2 * 10 * 4);
        assert_eq!(bytes(&TrainConfig { epochs: Some(7), ..base() }), 14 * 1000 * 2 * 10 * 4);
        assert_eq!(bytes(&TrainConfig { walks: Some(5), ..base() }), 0);
    }
}
