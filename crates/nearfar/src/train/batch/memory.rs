//! The memory of the batch trainer.

use super::super::plan::TrainPlan;
use super::sampling::{PositivePair, STREAM, STREAMS, SampledCentre};
use super::{READY, network_kind};
use crate::budget::{product, sum};
use crate::encode::{Adam, Network};
use crate::error::{Error, Problem, Result};
use crate::graph::{Graph, Node};
use crate::positive::Walk;
use crate::rng::{Purpose, Rng};

/// Bytes of the encoder, of the batches that are sampled together, and of those that are assembled.
pub(in crate::train) fn bytes(plan: &TrainPlan, graph: &Graph) -> u64 {
    let (n, dim) = (graph.nodes(), plan.dim);
    let floats = |count: usize| product([count, n, dim, size_of::<f32>()]);
    let encoder = match network_kind(plan.model) {
        None => floats(1 + Adam::MOMENTS),
        // The gradient at the vectors; when training ends, a copy of the vectors.
        Some(kind) => sum([Network::bytes(kind, n, dim), floats(2)]),
    };
    let size = BatchSize::estimate(plan, graph);
    let batches = n.div_ceil(plan.batch);
    let (together, ready) = (batches.min(group_size(graph, plan)), batches.min(READY));
    // Order of the nodes, draws by node and stream, and where the draws of each node are.
    let by_node = product([n, 64]);
    // Copies of the centres' rows and their side of the gradient; the gradient of each pair.
    let rows = product([2, size.centres, dim, size_of::<f32>()]);
    let gradients = product([size.near + size.far, size_of::<f32>()]);
    let walks = if plan.model.by_edges() { 0 } else { walk_bytes(plan) };
    let threads = rayon::current_num_threads().min(batches) as u64;
    sum([
        Walk::bytes(graph),
        encoder,
        size.sampled().saturating_mul(together as u64),
        size.assembled(n).saturating_mul(ready as u64),
        walks.saturating_mul(threads),
        by_node,
        rows,
        gradients,
    ])
}

/// Fails if a batch has more pairs than its indices can count.
pub(in crate::train) fn check(plan: &TrainPlan, graph: &Graph) -> Result<()> {
    let (near, far) = most_pairs(graph, plan);
    // The negatives of a centre are counted over the batches of a stream.
    let batches = graph.nodes().div_ceil(plan.batch).min(STREAM) as u64;
    if u32::try_from(near.saturating_add(far).saturating_mul(batches)).is_ok() {
        return Ok(());
    }
    let message = format!("a batch has up to {near} positive and {far} negative pairs, too many");
    Err(Error::conflict(Problem::from(message).lower("batch").lower("walks").lower("k")))
}

/// How many batches are sampled together. The number does not change the result.
pub(super) fn group_size(graph: &Graph, plan: &TrainPlan) -> usize {
    /// Bytes that they may take, if they are more than one stream.
    const BYTES: u64 = 256_000_000;
    let (near, far) = most_pairs(graph, plan);
    let batch = near
        .saturating_mul(size_of::<PositivePair>() as u64)
        .saturating_add(far.saturating_mul(size_of::<Node>() as u64));
    let streams = BYTES / batch.saturating_mul(STREAM as u64).max(1);
    STREAM * (streams as usize).clamp(1, STREAMS)
}

/// The most positive and negative pairs that a batch can have.
fn most_pairs(graph: &Graph, plan: &TrainPlan) -> (u64, u64) {
    let contexts = plan.window - 1;
    let near = if plan.model.by_edges() {
        product([graph.arcs(), plan.batch]) / graph.nodes().max(1) as u64
    } else {
        product([plan.batch, plan.walks, plan.windows(), contexts])
    };
    (near, (near / contexts as u64).saturating_mul(plan.k as u64))
}

/// Bytes of the walks of a batch while its pairs are sorted.
fn walk_bytes(plan: &TrainPlan) -> u64 {
    let pairs = plan.windows() * (plan.window - 1);
    let walk =
        size_of::<Node>() * (plan.length + 1) + size_of::<Rng>() + 2 * size_of::<u64>() * pairs;
    product([plan.batch, plan.walks, walk])
}

/// How much a batch holds.
struct BatchSize {
    /// Different positive pairs.
    near: usize,
    /// Negatives.
    far: usize,
    /// Different centres.
    centres: usize,
}

impl BatchSize {
    /// Walks from few nodes repeat their pairs, so some are taken to count the different ones.
    fn estimate(plan: &TrainPlan, graph: &Graph) -> Self {
        /// So many start nodes show it well enough; where there are more, their pairs are taken to
        /// be different.
        const STARTS: usize = 256;
        let (most_near, most_far) = most_pairs(graph, plan);
        let clamp = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        if plan.model.by_edges() {
            return Self { near: clamp(most_near), far: clamp(most_far), centres: plan.batch };
        }
        let mut order: Vec<Node> = (0..graph.nodes() as Node).collect();
        Rng::new(plan.seed, Purpose::Order, 0, 0).shuffle(&mut order);
        let starts = &order[..plan.batch.min(STARTS)];
        let mut pairs = Vec::new();
        // A thousand walks of a node show which pairs it has.
        let walks = plan.walks.min(1000);
        for &start in starts {
            let mut rng = Rng::new(plan.seed, Purpose::Walk, 0, u64::from(start));
            for _ in 0..walks {
                let walk = walk(graph, start, plan.length, &mut rng.split());
                for window in walk.windows(plan.window) {
                    let pair = |other: &Node| u64::from(window[0]) << 32 | u64::from(*other);
                    pairs.extend(window[1..].iter().map(pair));
                }
            }
            // Bounds the list where walks are many and long.
            if pairs.len() > 1 << 22 {
                pairs.sort_unstable();
                pairs.dedup();
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        let centres = pairs.chunk_by(|a, b| a >> 32 == b >> 32).count();
        let scale =
            |count: usize| (1.1 * count as f64 * plan.batch as f64 / starts.len() as f64) as usize;
        let near = scale(pairs.len()).min(clamp(most_near));
        let centres = scale(centres).min(graph.nodes());
        let far =
            if plan.shared_negatives { clamp(product([centres, plan.k])) } else { clamp(most_far) };
        Self { near, far, centres }
    }

    /// Bytes of a batch as it is sampled.
    fn sampled(&self) -> u64 {
        sum([
            // The list grows as pairs are found, and may have a quarter to spare.
            product([self.near, size_of::<PositivePair>() * 5 / 4]),
            product([self.far, size_of::<Node>()]),
            product([self.centres, size_of::<SampledCentre>()]),
        ])
    }

    /// Bytes of a batch as it is trained: each pair for both of its ends, and what is known of each
    /// node.
    fn assembled(&self, nodes: usize) -> u64 {
        sum([product([self.near + self.far, 16]), product([nodes, 12])])
    }
}

/// A uniform walk; one that cannot continue stays where it is.
fn walk(graph: &Graph, start: Node, length: usize, rng: &mut Rng) -> Vec<Node> {
    let mut walk = vec![start];
    for at in 1..length {
        let neighbours = graph.neighbours(walk[at - 1]);
        let next =
            if neighbours.is_empty() { start } else { neighbours[rng.below(neighbours.len())] };
        walk.push(next);
    }
    walk
}
