//! What a batch is made of: the pairs of some start nodes, each with its weight.

use std::sync::Arc;

use super::config::TrainConfig;
use crate::graph::{Graph, Node};
use crate::negative::{NegativeSampler, Negatives};
use crate::positive::PositiveSource;
use crate::rng::{Purpose, Rng};

/// Where the pairs of batches come from.
pub(super) struct Draws<'a> {
    pub(super) graph: Arc<Graph>,
    /// Walks; `None` if the near pairs are the edges.
    pub(super) positives: Option<Box<dyn PositiveSource>>,
    pub(super) negatives: &'a dyn NegativeSampler,
    pub(super) config: &'a TrainConfig,
}

/// The pairs of a batch, from both sides.
pub(super) struct Batch {
    /// How many pairs there were before equal ones were put together.
    pub(super) pairs: u64,
    /// The nodes that are centres, in rising order.
    pub(super) centres: Vec<Node>,
    /// Where the others of each centre begin, and the end.
    starts: Vec<usize>,
    others: Vec<Node>,
    /// Of every pair: above zero of near ones, below of far ones.
    weights: Vec<f32>,
    /// Where the pairs towards each node begin, and the end.
    incoming: Vec<u32>,
    /// Place of the centre in `centres`, and of the pair in `others`.
    pairs_in: Vec<(u32, u32)>,
    /// Place of each node in `centres`; `NOT` for others.
    places: Vec<u32>,
}

/// The place of a node that is no centre.
const NOT: u32 = u32::MAX;

/// A pair of nodes that is met, as centre << 32 | other.
struct Near {
    key: u64,
    /// How often.
    times: usize,
    weight: f64,
}

impl Batch {
    /// Sorts pairs of (centre, other end, weight), whose centres come in rising order.
    pub(super) fn new(nodes: usize, list: Vec<(Node, Node, f32)>, pairs: u64) -> Self {
        let (mut centres, mut starts) = (Vec::new(), Vec::new());
        let (mut incoming, mut places) = (vec![0_u32; nodes + 1], vec![NOT; nodes]);
        for (at, &(centre, other, _)) in list.iter().enumerate() {
            if centres.last() != Some(&centre) {
                places[centre as usize] = centres.len() as u32;
                centres.push(centre);
                starts.push(at);
            }
            incoming[other as usize + 1] += 1;
        }
        starts.push(list.len());
        for node in 0..nodes {
            incoming[node + 1] += incoming[node];
        }
        let mut next = incoming.clone();
        let mut pairs_in = vec![(0, 0); list.len()];
        let mut at_centre = 0;
        for (pair, &(_, other, _)) in list.iter().enumerate() {
            at_centre += usize::from(pair == starts[at_centre + 1]);
            let slot = &mut next[other as usize];
            pairs_in[*slot as usize] = (at_centre as u32, pair as u32);
            *slot += 1;
        }
        let (others, weights) = list.into_iter().map(|(_, other, weight)| (other, weight)).unzip();
        Self { pairs, centres, starts, others, weights, incoming, pairs_in, places }
    }

    /// Nodes of the graph.
    pub(super) fn nodes(&self) -> usize {
        self.places.len()
    }

    /// Pairs, equal ones put together.
    pub(super) fn len(&self) -> usize {
        self.others.len()
    }

    /// The place of a node among the centres.
    pub(super) fn place(&self, node: usize) -> Option<usize> {
        Some(self.places[node]).filter(|&place| place != NOT).map(|place| place as usize)
    }

    /// The other ends of the centre at a place, and the weights of these pairs.
    pub(super) fn of(&self, at: usize) -> (&[Node], &[f32]) {
        let range = self.starts[at]..self.starts[at + 1];
        (&self.others[range.clone()], &self.weights[range])
    }

    /// The pairs that a node is the other end of: places of centre and pair.
    pub(super) fn towards(&self, node: usize) -> &[(u32, u32)] {
        &self.pairs_in[self.incoming[node] as usize..self.incoming[node + 1] as usize]
    }
}

impl Draws<'_> {
    /// The pairs of some start nodes. `number` is that of the batch in its epoch.
    pub(super) fn batch(&self, epoch: usize, number: usize, starts: &[Node]) -> Batch {
        let near = match &self.positives {
            Some(positives) => self.windows(epoch, starts, &**positives),
            None => self.edges(starts),
        };
        let total: f64 = near.iter().map(|pair| pair.weight).sum();
        let count: usize = near.iter().map(|pair| pair.times).sum();
        let each = self.config.window() - 1;
        let (k, windows) = (self.config.k(), count / each);
        let mut far = Vec::new();
        let mut pairs = (count + windows * k) as u64;
        let mut list = Vec::with_capacity(count + windows * k);
        for of_centre in near.chunk_by(|a, b| a.key >> 32 == b.key >> 32) {
            let centre = (of_centre[0].key >> 32) as Node;
            let weighed = |pair: &Near| (centre, pair.key as Node, (pair.weight / total) as f32);
            list.extend(of_centre.iter().map(weighed));
            let own = of_centre.iter().map(|pair| pair.times).sum::<usize>() / each;
            if !self.negatives.has_negatives(centre) {
                pairs -= (own * k) as u64;
                continue;
            }
            let (draws, share) = if self.shared() { (k, own) } else { (k * own, 1) };
            far.resize(draws, 0);
            let name = (number as u64) << 32 | u64::from(centre);
            let mut rng = Rng::new(self.config.seed, Purpose::Negative, epoch as u64, name);
            self.negatives.fill(centre, &mut rng, &mut far);
            let weight = self.config.negative_weight * share as f64 / (windows * k) as f64;
            list.extend(far.iter().map(|&other| (centre, other, -weight as f32)));
        }
        Batch::new(self.graph.nodes(), list, pairs)
    }

    /// Whether the windows of a centre share their negatives. In the paper's code they do, but for
    /// uniform ones; edges have their own.
    fn shared(&self) -> bool {
        let paper = self.config.protocol.is_some() && self.positives.is_some();
        paper && self.negatives.law() != Negatives::Uniform
    }

    /// The pairs of windows in rising order, each weighing one. A walk may come back to its
    /// centre; that counts as any other pair.
    fn windows(&self, epoch: usize, starts: &[Node], positives: &dyn PositiveSource) -> Vec<Near> {
        let (walks, length) = (self.config.walks(&self.graph), self.config.length());
        let (window, windows) = (self.config.window(), self.config.windows());
        let (mut from, mut rngs) = (Vec::new(), Vec::new());
        for &start in starts {
            let mut rng = Rng::new(self.config.seed, Purpose::Walk, epoch as u64, u64::from(start));
            for _ in 0..walks {
                from.push(start);
                rngs.push(rng.split());
            }
        }
        let mut nodes = vec![0; from.len() * length];
        positives.walks(&from, &mut rngs, &mut nodes);
        let node = |walk: usize, at: usize| u64::from(nodes[at * from.len() + walk]);
        let mut pairs = Vec::with_capacity(from.len() * windows * (window - 1));
        for walk in 0..from.len() {
            for at in 0..windows {
                let centre = node(walk, at) << 32;
                pairs.extend((1..window).map(|step| centre | node(walk, at + step)));
            }
        }
        pairs.sort_unstable();
        let same = pairs.chunk_by(|a, b| a == b);
        same.map(|same| Near { key: same[0], times: same.len(), weight: same.len() as f64 })
            .collect()
    }

    /// All edges at the start nodes in rising order, by their weights.
    fn edges(&self, starts: &[Node]) -> Vec<Near> {
        let mut pairs = Vec::new();
        for &start in starts {
            let weights = self.graph.weights(start);
            for (at, &other) in self.graph.neighbours(start).iter().enumerate() {
                let weight = weights.map_or(1.0, |weights| f64::from(weights[at]));
                let key = u64::from(start) << 32 | u64::from(other);
                pairs.push(Near { key, times: 1, weight });
            }
        }
        pairs.sort_unstable_by_key(|pair| pair.key);
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::{Model, Protocol};
    use super::*;
    use crate::graph::{ReadOptions, read};
    use crate::negative::{Budget, NegativeConfig, NegativePlan};
    use crate::positive::Walk;

    /// The near and the far pairs of the first batch of two nodes: (centre, other, weight).
    fn drawn(law: Negatives, config: &TrainConfig) -> [Vec<(Node, Node, f32)>; 2] {
        let graph = Arc::new(read("builtin:karate", &ReadOptions::default()).unwrap().graph);
        let negatives = NegativeConfig { negatives: law, ..Default::default() };
        let plan = NegativePlan::new(&graph, &negatives, &Budget::default()).unwrap();
        let negatives = plan.build(&graph).unwrap();
        let walk: Box<dyn PositiveSource> = Box::new(Walk::new(&graph));
        let positives = (!config.model.by_edges()).then_some(walk);
        let draws = Draws { graph, positives, negatives: &*negatives, config };
        let batch = draws.batch(0, 0, &[3, 16]);
        let all: Vec<_> = (0..batch.centres.len())
            .flat_map(|at| {
                let (others, weights) = batch.of(at);
                let centre = batch.centres[at];
                others.iter().zip(weights).map(move |(&other, &weight)| (centre, other, weight))
            })
            .collect();
        // The other side of the batch has the same pairs.
        let mut towards = 0;
        for node in 0..34 {
            for &(centre, pair) in batch.towards(node) {
                let (from, to, _) = all[pair as usize];
                assert_eq!((from, to), (batch.centres[centre as usize], node as Node));
                towards += 1;
            }
        }
        assert_eq!(towards, all.len());
        let (near, far) = all.into_iter().partition(|&(_, _, weight)| weight > 0.0);
        [near, far]
    }

    fn paper() -> TrainConfig {
        TrainConfig { protocol: Some(Protocol::Paper), ..Default::default() }
    }

    #[test]
    fn near_and_far_weigh_one_each() {
        for law in [Negatives::Uniform, Negatives::Distance] {
            for pairs in drawn(law, &paper()) {
                let total: f64 = pairs.iter().map(|pair| f64::from(pair.2.abs())).sum();
                assert!((total - 1.0).abs() < 1e-4, "{law:?}: {total}");
            }
        }
    }

    #[test]
    fn windows_of_a_centre_share_negatives_but_for_uniform_ones() {
        let windows = 2 * 50 * 17;
        let [near, far] = drawn(Negatives::Distance, &paper());
        let mut centres: Vec<Node> = near.iter().map(|&(centre, _, _)| centre).collect();
        centres.dedup();
        assert_eq!(far.len(), 20 * centres.len());
        // A centre's negatives weigh as much as its near pairs.
        for &centre in &centres {
            let of = |pairs: &[(Node, Node, f32)]| -> f32 {
                let own = pairs.iter().filter(|pair| pair.0 == centre);
                own.map(|&(_, _, weight)| weight.abs()).sum()
            };
            assert!((of(&near) - of(&far)).abs() < 1e-5);
        }
        let [_, far] = drawn(Negatives::Uniform, &paper());
        assert_eq!(far.len(), 20 * windows);
        let own = TrainConfig { walks: Some(3), ..TrainConfig::default() };
        let [_, far] = drawn(Negatives::Distance, &own);
        assert_eq!(far.len(), 10 * 2 * 3);
    }

    #[test]
    fn edges_are_taken_all_and_once() {
        let [near, far] = drawn(Negatives::Edge, &TrainConfig { model: Model::Gae, ..paper() });
        let others = |centre: Node| -> Vec<Node> {
            near.iter().filter(|pair| pair.0 == centre).map(|pair| pair.1).collect()
        };
        assert_eq!((others(3), others(16)), (vec![0, 1, 2, 7, 12, 13], vec![5, 6]));
        assert_eq!(far.len(), 8);
    }
}
