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
        Some(kind) => {
            let width = plan.features.map(|features| features.width);
            let features = plan.features.map_or(0, |features| features.bytes);
            sum([Network::bytes(kind, n, width, dim), features, floats(2)])
        }
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

#[cfg(test)]
mod tests {
    use super::super::super::config::{Model, Protocol, TrainConfig, Trainer};
    use super::super::super::settings::Settings;
    use super::*;
    use crate::budget::Budget;
    use crate::graph::{EdgeList, NodeIds};
    use crate::negative::{NegativeConfig, Negatives};

    fn ring(nodes: u32) -> Graph {
        let pairs = (0..nodes).map(|a| (a, (a + 1) % nodes)).collect();
        let ids = NodeIds::Range { start: 0, len: nodes as usize };
        EdgeList { pairs, weights: None, ids }.build().unwrap().0
    }

    fn plan_of(graph: &Graph, law: Negatives, train: &TrainConfig) -> TrainPlan {
        let train = TrainConfig { trainer: Some(Trainer::Batch), ..train.clone() };
        let negatives = NegativeConfig { negatives: law, ..Default::default() };
        TrainPlan::new(&Settings { train, negatives }, graph, &Budget::default()).unwrap()
    }

    fn plan(graph: &Graph, train: &TrainConfig) -> TrainPlan {
        plan_of(graph, Negatives::Uniform, train)
    }

    /// Fifty walks of three nodes from each node of a batch.
    fn walks() -> TrainConfig {
        TrainConfig {
            dim: 20,
            walks: Some(50),
            context: Some(3),
            walk_length: Some(3),
            ..Default::default()
        }
    }

    fn size(plan: &TrainPlan, graph: &Graph) -> (usize, usize, usize) {
        let BatchSize { near, far, centres } = BatchSize::estimate(plan, graph);
        (near, far, centres)
    }

    /// On a ring two steps lead to a node's two neighbours, the two behind them and back: five pairs,
    /// and a tenth for chance.
    #[test]
    fn the_different_pairs_of_a_batch_are_counted() {
        let (small, large) = (ring(100), ring(1000));
        let near = |pairs: f64| (1.1 * pairs) as usize;
        assert_eq!(size(&plan(&small, &walks()), &small), (near(5.0 * 8.0), 8 * 50 * 10, 8));
        // From 256 start nodes to all 300.
        let many = TrainConfig { batch: Some(300), ..walks() };
        assert_eq!(size(&plan(&large, &many), &large), (near(1500.0), 300 * 50 * 10, near(300.0)));
        // Never more than there can be.
        let few = TrainConfig { walks: Some(1), ..walks() };
        assert_eq!(size(&plan(&small, &few), &small), (8 * 2, 8 * 10, 8));
        let whole = TrainConfig { batch: Some(100), ..walks() };
        assert_eq!(size(&plan(&small, &whole), &small), (near(500.0), 100 * 50 * 10, 100));
        // Windows that share their negatives have those of their centre.
        let paper = TrainConfig { protocol: Some(Protocol::Paper), k: Some(10), ..walks() };
        let paper = plan_of(&small, Negatives::Distance, &paper);
        assert_eq!(size(&paper, &small), (near(5.0 * 8.0), 8 * 10, 8));
        // Edges in both directions.
        let edges = TrainConfig { model: Model::Line, batch: Some(30), ..Default::default() };
        assert_eq!(size(&plan(&small, &edges), &small), (60, 600, 30));
    }

    #[test]
    fn a_batch_takes_more_as_it_is_sampled_than_as_it_is_trained() {
        let size = BatchSize { near: 100, far: 1000, centres: 10 };
        let centre = size_of::<SampledCentre>() as u64;
        assert_eq!(size_of::<PositivePair>(), 16);
        assert_eq!(size.sampled(), 100 * 20 + 1000 * 4 + 10 * centre);
        assert_eq!(size.assembled(7), 1100 * 16 + 7 * 12);
    }

    #[test]
    fn every_part_is_counted() {
        let graph = ring(100);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let bytes = |train: &TrainConfig| pool.install(|| bytes(&plan(&graph, train), &graph));
        // 13 batches of 8, which are all sampled together.
        let size = BatchSize { near: 44, far: 4000, centres: 8 };
        let batches = 13 * size.sampled() + READY.min(13) as u64 * size.assembled(100);
        let rng = size_of::<Rng>() as u64;
        let walk = 4 * (3 + 1) + rng + 2 * 8 * 2;
        let of_walks = 3 * 8 * 50 * walk;
        let around = 100 * 64 + 2 * 8 * 20 * 4 + 4044 * 4;
        // Vectors and two moments.
        let table = 3 * 100 * 20 * 4;
        assert_eq!(bytes(&walks()), table + batches + of_walks + around);
        // Three batches of edges need no walks.
        let edges =
            TrainConfig { model: Model::Line, batch: Some(40), dim: 20, ..Default::default() };
        let size = BatchSize { near: 80, far: 800, centres: 40 };
        let batches = 3 * size.sampled() + READY.min(3) as u64 * size.assembled(100);
        let around = 100 * 64 + 2 * 40 * 20 * 4 + 880 * 4;
        assert_eq!(bytes(&edges), table + batches + around);
    }

    /// As many as take 256 MB, from one stream to four.
    #[test]
    fn batches_are_sampled_together_while_they_are_small() {
        let graph = ring(100);
        let group = |walks| {
            let train = TrainConfig { walks: Some(walks), ..Default::default() };
            group_size(&graph, &plan(&graph, &train))
        };
        // 8 · 4 pairs of 16 bytes and 8 · 10 negatives of 4 for each walk.
        let limit = |streams: usize| 256_000_000 / (8 * (4 * 16 + 10 * 4) * STREAM * streams);
        assert_eq!(group(1), 4 * STREAM);
        for streams in 2..=4 {
            assert_eq!(group(limit(streams)), streams * STREAM);
            assert_eq!(group(limit(streams) + 1), (streams - 1) * STREAM);
        }
        assert_eq!(group(2 * limit(1)), STREAM);
    }

    /// Pairs are numbered in 32 bits; those of a centre are counted over 64 batches.
    #[test]
    fn more_pairs_than_can_be_numbered_are_refused() {
        let graph = ring(100);
        for (batch, batches) in [(100, 1), (50, 2), (1, 64)] {
            let train = TrainConfig { batch: Some(batch), ..Default::default() };
            let mut plan = plan(&graph, &train);
            plan.walks = u32::MAX as usize / (14 * batch * batches);
            check(&plan, &graph).unwrap();
            plan.walks += 1;
            let error = check(&plan, &graph).unwrap_err().to_string();
            assert!(error.ends_with("lower --batch, --walks or --k"), "{error}");
        }
    }
}
