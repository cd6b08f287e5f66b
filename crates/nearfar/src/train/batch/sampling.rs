//! Sampling batches: the positive pairs of some start nodes, and the negatives of their centres.

use std::sync::Arc;

use rayon::prelude::*;

use super::super::plan::TrainPlan;
use super::pairs::Batch;
use super::radix;
use crate::graph::{Graph, Node};
use crate::memory::{prefetch, zeroed};
use crate::negative::NegativeSampler;
use crate::positive::PositiveSource;
use crate::rng::{Purpose, Rng};

/// Consecutive batches whose negatives of a centre come from one stream.
pub(super) const STREAM: usize = 64;
/// How many such streams of a centre are drawn from at a time, at most. The number does not change
/// the result.
pub(super) const STREAMS: usize = 4;

/// Samples the pairs of batches.
pub(super) struct BatchSampler<'a> {
    pub(super) plan: &'a TrainPlan,
    pub(super) graph: Arc<Graph>,
    /// Walks; `None` if the positive pairs are the edges.
    pub(super) positives: Option<Box<dyn PositiveSource>>,
    pub(super) negatives: &'a dyn NegativeSampler,
    /// Whether the windows of a centre in a batch share their negatives.
    pub(super) shared_negatives: bool,
}

/// The samples of some consecutive batches, before they are assembled. Where the distances of a
/// centre come from a large table or a search, changing the centre takes longer than drawing: so the
/// negatives of a centre are drawn for all of them at a time.
#[derive(Default)]
pub(super) struct BatchGroup {
    batches: Vec<SampledBatch>,
    /// The negatives of all batches, by centre.
    negatives: Vec<Node>,
}

/// The samples of a batch.
#[derive(Default)]
struct SampledBatch {
    /// Its distinct positive pairs, in increasing order.
    positives: Vec<PositivePair>,
    centres: Vec<SampledCentre>,
}

/// A centre of a batch.
pub(super) struct SampledCentre {
    node: Node,
    /// Number of its distinct positive pairs, and of the windows that they come from.
    positives: usize,
    windows: usize,
    /// Where its negatives begin in those of the group, and their number.
    start: usize,
    negatives: usize,
}

/// A positive pair.
pub(super) struct PositivePair {
    /// centre << 32 | other.
    key: u64,
    /// How often it was sampled.
    times: u32,
    weight: f32,
}

impl BatchGroup {
    /// The number of batches.
    pub(super) fn len(&self) -> usize {
        self.batches.len()
    }
}

impl BatchSampler<'_> {
    /// Samples up to [`STREAMS`] times [`STREAM`] batches of an epoch, each given by its start nodes.
    /// `first` is the number of the first batch, where a stream begins.
    pub(super) fn group(
        &self,
        epoch: usize,
        first: usize,
        batches: &[&[Node]],
        group: &mut BatchGroup,
    ) {
        group.batches.resize_with(batches.len(), SampledBatch::default);
        group.batches.par_iter_mut().zip(batches).with_max_len(1).for_each(|(sampled, starts)| {
            let pairs = &mut sampled.positives;
            match &self.positives {
                Some(positives) => self.windows(epoch, starts, &**positives, pairs),
                None => self.edges(starts, pairs),
            }
            self.centres(sampled);
        });
        let n = self.graph.nodes();
        // How many negatives each stream of a centre fills, and where its list ends.
        let mut counts = vec![[0_u32; STREAMS]; n];
        for (at, sampled) in group.batches.iter().enumerate() {
            for centre in &sampled.centres {
                counts[centre.node as usize][at / STREAM] += centre.negatives as u32;
            }
        }
        let mut ends = vec![0; n + 1];
        for (node, counts) in counts.iter().enumerate() {
            ends[node + 1] = ends[node] + counts.iter().map(|&count| count as usize).sum::<usize>();
        }
        if group.negatives.len() < ends[n] {
            group.negatives = zeroed(ends[n] + ends[n] / 8);
        }
        let mut lists = Vec::new();
        let mut rest = &mut group.negatives[..];
        for (centre, ends) in ends.windows(2).enumerate().filter(|(_, ends)| ends[0] < ends[1]) {
            let (list, later) = rest.split_at_mut(ends[1] - ends[0]);
            rest = later;
            lists.push((centre as Node, list));
        }
        lists.into_par_iter().with_min_len(64).with_max_len(64).for_each(|(centre, mut list)| {
            let parts = counts[centre as usize].into_iter().enumerate().map(|(at, count)| {
                let name = ((first + at * STREAM) as u64) << 32 | u64::from(centre);
                let rng = Rng::new(self.plan.seed, Purpose::Negative, epoch as u64, name);
                (rng, list.split_off_mut(..count as usize).unwrap_or_default())
            });
            let mut parts: Vec<(Rng, &mut [Node])> = parts.collect();
            self.negatives.fill_each(centre, &mut parts);
        });
        let mut next = ends;
        for centre in group.batches.iter_mut().flat_map(|sampled| &mut sampled.centres) {
            centre.start = next[centre.node as usize];
            next[centre.node as usize] += centre.negatives;
        }
    }

    /// Assembles the pairs of a batch.
    pub(super) fn batch(&self, group: &BatchGroup, at: usize, batch: &mut Batch) {
        /// Lists of negatives are scattered in memory, and are prefetched so many centres before they
        /// are used.
        const AHEAD: usize = 4;
        batch.clear(self.graph.nodes());
        let SampledBatch { positives, centres } = &group.batches[at];
        let total: f64 = positives.iter().map(|pair| f64::from(pair.weight)).sum();
        let windows: usize = centres.iter().map(|centre| centre.windows).sum();
        let of_a_draw = self.plan.negative_weight / (windows * self.plan.k) as f64;
        let mut rest = &positives[..];
        for (at, centre) in centres.iter().enumerate() {
            if let Some(later) = centres.get(at + AHEAD) {
                let line = 64 / size_of::<Node>();
                (0..later.negatives)
                    .step_by(line)
                    .for_each(|at| prefetch(&group.negatives, later.start + at));
            }
            let (pairs, later) = rest.split_at(centre.positives);
            rest = later;
            let negatives = &group.negatives[centre.start..][..centre.negatives];
            let windows = if self.shared_negatives { centre.windows as f64 } else { 1.0 };
            let weight = of_a_draw * windows;
            batch.begin(centre.node);
            for pair in pairs {
                batch.add(pair.key as Node, (f64::from(pair.weight) / total) as f32);
                batch.pairs += u64::from(pair.times);
            }
            batch.add_negatives(negatives, weight as f32);
            batch.pairs +=
                if negatives.is_empty() { 0 } else { (centre.windows * self.plan.k) as u64 };
        }
        batch.sort();
    }

    /// Finds the centres of the positive pairs of a batch, and the number of negatives of each.
    fn centres(&self, sampled: &mut SampledBatch) {
        let (contexts, k) = (self.plan.window - 1, self.plan.k);
        sampled.centres.clear();
        for pairs in sampled.positives.chunk_by(|a, b| a.key >> 32 == b.key >> 32) {
            let node = (pairs[0].key >> 32) as Node;
            let windows = pairs.iter().map(|pair| pair.times as usize).sum::<usize>() / contexts;
            let lists = if self.shared_negatives { 1 } else { windows };
            let negatives = usize::from(self.negatives.has_negatives(node)) * lists * k;
            let positives = pairs.len();
            sampled.centres.push(SampledCentre { node, positives, windows, start: 0, negatives });
        }
    }

    /// The pairs of windows in increasing order, each with weight one. A walk may return to its
    /// centre; that counts as any other pair.
    fn windows(
        &self,
        epoch: usize,
        starts: &[Node],
        positives: &dyn PositiveSource,
        out: &mut Vec<PositivePair>,
    ) {
        let &TrainPlan { walks, length, window, .. } = self.plan;
        let windows = self.plan.windows();
        let (mut from, mut rngs) = (Vec::new(), Vec::new());
        for &start in starts {
            let mut rng = Rng::new(self.plan.seed, Purpose::Walk, epoch as u64, u64::from(start));
            for _ in 0..walks {
                from.push(start);
                rngs.push(rng.split());
            }
        }
        let mut nodes = vec![0; from.len() * length];
        positives.walks(&from, &mut rngs, &mut nodes);
        let node = |walk: usize, at: usize| u64::from(nodes[at * from.len() + walk]);
        // Bits of a node id.
        let bits = usize::BITS - self.graph.nodes().leading_zeros();
        let mut pairs = Vec::with_capacity(from.len() * windows * (window - 1));
        for walk in 0..from.len() {
            for at in 0..windows {
                let centre = node(walk, at) << bits;
                pairs.extend((1..window).map(|step| centre | node(walk, at + step)));
            }
        }
        radix::sort(&mut pairs, 2 * bits);
        out.clear();
        out.extend(pairs.chunk_by(|a, b| a == b).map(|same| PositivePair {
            key: same[0] >> bits << 32 | same[0] & ((1 << bits) - 1),
            times: same.len() as u32,
            weight: same.len() as f32,
        }));
    }

    /// All edges of the start nodes in increasing order, with their weights.
    fn edges(&self, starts: &[Node], out: &mut Vec<PositivePair>) {
        out.clear();
        for &start in starts {
            let weights = self.graph.weights(start);
            for (at, &other) in self.graph.neighbours(start).iter().enumerate() {
                let weight = weights.map_or(1.0, |weights| weights[at]);
                let key = u64::from(start) << 32 | u64::from(other);
                out.push(PositivePair { key, times: 1, weight });
            }
        }
        out.sort_unstable_by_key(|pair| pair.key);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::config::{Model, Protocol, TrainConfig, Trainer};
    use super::super::super::settings::Settings;
    use super::super::pairs::Incoming;
    use super::*;
    use crate::budget::Budget;
    use crate::graph::{ReadOptions, read};
    use crate::negative::{NegativeConfig, Negatives};
    use crate::positive::Walk;

    /// Calls `test` with a sampler on a small graph.
    fn with<T>(
        law: Negatives,
        train: &TrainConfig,
        test: impl FnOnce(&BatchSampler<'_>) -> T,
    ) -> T {
        let graph = Arc::new(read("builtin:karate", &ReadOptions::default()).unwrap().graph);
        let negatives = NegativeConfig { negatives: law, ..Default::default() };
        let train = TrainConfig { trainer: Some(Trainer::Batch), ..train.clone() };
        let settings = Settings { train, negatives };
        let plan = &TrainPlan::new(&settings, &graph, &Budget::default()).unwrap();
        let negatives = &*plan.negatives.build(&graph).unwrap();
        let walk: Box<dyn PositiveSource> = Box::new(Walk::new(&graph));
        let positives = (!plan.model.by_edges()).then_some(walk);
        let shared_negatives = plan.shared_negatives;
        test(&BatchSampler { plan, graph, positives, negatives, shared_negatives })
    }

    /// The pairs of a batch: (centre, other, weight).
    fn pairs(batch: &Batch) -> Vec<(Node, Node, f32)> {
        let of = |at: usize| {
            let (others, weights) = batch.of(at);
            let centre = batch.centres[at];
            others.iter().zip(weights).map(move |(&other, &weight)| (centre, other, weight))
        };
        (0..batch.centres.len()).flat_map(of).collect()
    }

    /// The positive and the negative pairs of the first batch of two nodes.
    fn sampled(law: Negatives, config: &TrainConfig) -> [Vec<(Node, Node, f32)>; 2] {
        let (mut batch, mut group) = (Batch::default(), BatchGroup::default());
        with(law, config, |sampler| {
            sampler.group(0, 0, &[&[3, 16]], &mut group);
            sampler.batch(&group, 0, &mut batch);
        });
        let all = pairs(&batch);
        // The incoming pairs of all nodes are the same pairs.
        let mut incoming = 0;
        for node in 0..34 {
            for &Incoming { centre, pair } in batch.incoming(node).0 {
                let (from, to, _) = all[pair as usize];
                assert_eq!((from, to), (batch.centres[centre as usize], node as Node));
                incoming += 1;
            }
        }
        assert_eq!(incoming, all.len());
        let (positives, negatives) = all.into_iter().partition(|&(_, _, weight)| weight > 0.0);
        [positives, negatives]
    }

    /// The number of draws in the weights of negative pairs, where each draw weighs `unit`.
    fn draws<'a>(pairs: impl Iterator<Item = &'a (Node, Node, f32)>, unit: f32) -> usize {
        pairs
            .map(|&(_, _, weight)| {
                let times = -weight / unit;
                assert!((times - times.round()).abs() < 1e-2, "{times}");
                times.round() as usize
            })
            .sum()
    }

    fn paper() -> TrainConfig {
        TrainConfig { protocol: Some(Protocol::Paper), ..Default::default() }
    }

    #[test]
    fn positives_and_negatives_have_weight_one_each() {
        for law in [Negatives::Uniform, Negatives::Distance] {
            for pairs in sampled(law, &paper()) {
                let total: f64 = pairs.iter().map(|pair| f64::from(pair.2.abs())).sum();
                assert!((total - 1.0).abs() < 1e-4, "{law:?}: {total}");
            }
        }
    }

    #[test]
    fn windows_of_a_centre_share_negatives_except_uniform_ones() {
        let windows = 2 * 50 * 17;
        let unit = 1.0 / (20 * windows) as f32;
        let [positives, negatives] = sampled(Negatives::Distance, &paper());
        let mut centres: Vec<Node> = positives.iter().map(|&(centre, _, _)| centre).collect();
        centres.dedup();
        for &centre in &centres {
            let own: f32 =
                positives.iter().filter(|pair| pair.0 == centre).map(|pair| pair.2).sum();
            let of_centre = || negatives.iter().filter(|pair| pair.0 == centre);
            assert_eq!(draws(of_centre(), own / 20.0), 20);
            // Each other node occurs once.
            let mut others: Vec<Node> = of_centre().map(|pair| pair.1).collect();
            let all = others.len();
            others.sort_unstable();
            others.dedup();
            assert_eq!(others.len(), all);
        }
        let [_, negatives] = sampled(Negatives::Uniform, &paper());
        assert_eq!(draws(negatives.iter(), unit), 20 * windows);
        let own = TrainConfig { walks: Some(3), ..TrainConfig::default() };
        let [_, negatives] = sampled(Negatives::Distance, &own);
        assert_eq!(draws(negatives.iter(), 1.0 / 60.0), 10 * 2 * 3);
    }

    #[test]
    fn samples_do_not_depend_on_the_group_size() {
        let starts: Vec<[Node; 1]> = (0..3 * STREAM as Node).map(|at| [at % 34]).collect();
        let starts: Vec<&[Node]> = starts.iter().map(|starts| &starts[..]).collect();
        for law in [Negatives::Uniform, Negatives::Distance] {
            with(law, &paper(), |sampler| {
                let [mut all, mut part] = [BatchGroup::default(), BatchGroup::default()];
                let [mut batch, mut alone] = [Batch::default(), Batch::default()];
                sampler.group(1, 0, &starts, &mut all);
                for first in (0..starts.len()).step_by(STREAM) {
                    sampler.group(1, first, &starts[first..first + STREAM], &mut part);
                    for at in 0..STREAM {
                        sampler.batch(&all, first + at, &mut batch);
                        sampler.batch(&part, at, &mut alone);
                        assert_eq!(pairs(&batch), pairs(&alone), "{law:?}, batch {}", first + at);
                    }
                }
            });
        }
    }

    #[test]
    fn every_edge_is_sampled_once() {
        let config = TrainConfig { model: Model::Gae, ..paper() };
        let [positives, negatives] = sampled(Negatives::Edge, &config);
        let others = |centre: Node| -> Vec<Node> {
            positives.iter().filter(|pair| pair.0 == centre).map(|pair| pair.1).collect()
        };
        assert_eq!((others(3), others(16)), (vec![0, 1, 2, 7, 12, 13], vec![5, 6]));
        assert_eq!(draws(negatives.iter(), 1.0 / 8.0), 8);
    }

    /// Centres, and the streams of one centre, draw independently of each other: no two lists of twenty
    /// negatives are alike.
    #[test]
    fn every_stream_draws_its_own_negatives() {
        let starts: Vec<[Node; 2]> = (0..4 * STREAM).map(|_| [3, 16]).collect();
        let starts: Vec<&[Node]> = starts.iter().map(|starts| &starts[..]).collect();
        let config = TrainConfig { model: Model::Gae, k: Some(20), ..paper() };
        with(Negatives::Uniform, &config, |sampler| {
            let mut seen = std::collections::HashSet::new();
            for (epoch, first) in [(0, 0), (0, 4 * STREAM), (1, 0)] {
                let mut group = BatchGroup::default();
                sampler.group(epoch, first, &starts, &mut group);
                assert_eq!(group.len(), 4 * STREAM);
                for sampled in group.batches.iter().step_by(STREAM) {
                    for centre in &sampled.centres {
                        let drawn = &group.negatives[centre.start..][..20];
                        // The same draws name other nodes after the centre.
                        let draws = drawn.iter().map(|&k| k - Node::from(k > centre.node));
                        assert!(seen.insert(draws.collect::<Vec<_>>()), "{}", centre.node);
                    }
                }
            }
        });
    }

    #[test]
    fn pairs_are_counted_before_equal_ones_are_merged() {
        let count = |law, config: &TrainConfig| {
            let (mut batch, mut group) = (Batch::default(), BatchGroup::default());
            with(law, config, |sampler| {
                sampler.group(0, 0, &[&[3, 16]], &mut group);
                sampler.batch(&group, 0, &mut batch);
            });
            batch.pairs
        };
        // Two nodes, 50 walks of 17 windows, each with 3 contexts and 20 negatives, shared or not.
        let windows = 2 * 50 * 17;
        assert_eq!(count(Negatives::Uniform, &paper()), windows * 23);
        assert_eq!(count(Negatives::Distance, &paper()), windows * 23);
        let edges = TrainConfig { model: Model::Gae, ..paper() };
        assert_eq!(count(Negatives::Uniform, &edges), 8 * 2);
    }
}
