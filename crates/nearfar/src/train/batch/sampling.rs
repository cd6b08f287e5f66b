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

/// Batches whose negatives of a centre come from one stream.
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
pub(super) struct Group {
    batches: Vec<SampledBatch>,
    /// The negatives of all batches, by centre.
    far: Vec<Node>,
}

/// The samples of a batch.
#[derive(Default)]
struct SampledBatch {
    /// Its positive pairs, in increasing order.
    near: Vec<NearPair>,
    centres: Vec<Centre>,
}

/// A centre of a batch.
pub(super) struct Centre {
    node: Node,
    /// Its different positive pairs, and the windows that they come from.
    near: usize,
    windows: usize,
    /// Its negatives: where they begin, and how many there are.
    start: usize,
    far: usize,
}

/// A positive pair, as centre << 32 | other.
pub(super) struct NearPair {
    key: u64,
    /// How often.
    times: u32,
    weight: f32,
}

impl Group {
    /// Batches in it.
    pub(super) fn len(&self) -> usize {
        self.batches.len()
    }
}

impl BatchSampler<'_> {
    /// BatchSampler for some batches of an epoch, each with its start nodes, up to [`STREAMS`] times
    /// [`STREAM`] of them; `first` is the number of the first one, where a stream begins.
    pub(super) fn group(&self, epoch: usize, first: usize, batches: &[&[Node]], group: &mut Group) {
        group.batches.resize_with(batches.len(), SampledBatch::default);
        group.batches.par_iter_mut().zip(batches).with_max_len(1).for_each(|(drawn, starts)| {
            match &self.positives {
                Some(positives) => self.windows(epoch, starts, &**positives, &mut drawn.near),
                None => self.edges(starts, &mut drawn.near),
            }
            self.centres(drawn);
        });
        let n = self.graph.nodes();
        // How many negatives each stream of a centre fills, and where its list ends.
        let mut counts = vec![[0_u32; STREAMS]; n];
        for (at, drawn) in group.batches.iter().enumerate() {
            for centre in &drawn.centres {
                counts[centre.node as usize][at / STREAM] += centre.far as u32;
            }
        }
        let mut ends = vec![0; n + 1];
        for (node, counts) in counts.iter().enumerate() {
            ends[node + 1] = ends[node] + counts.iter().map(|&count| count as usize).sum::<usize>();
        }
        if group.far.len() < ends[n] {
            group.far = zeroed(ends[n] + ends[n] / 8);
        }
        let mut lists = Vec::new();
        let mut rest = &mut group.far[..];
        for (centre, ends) in ends.windows(2).enumerate().filter(|(_, ends)| ends[0] < ends[1]) {
            let (list, behind) = rest.split_at_mut(ends[1] - ends[0]);
            rest = behind;
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
        for centre in group.batches.iter_mut().flat_map(|drawn| &mut drawn.centres) {
            centre.start = next[centre.node as usize];
            next[centre.node as usize] += centre.far;
        }
    }

    /// Assembles the pairs of a batch.
    pub(super) fn batch(&self, group: &Group, at: usize, batch: &mut Batch) {
        /// Lists of negatives are far from each other in memory, and are fetched so many centres
        /// before they are used.
        const AHEAD: usize = 4;
        batch.clear(self.graph.nodes());
        let SampledBatch { near, centres } = &group.batches[at];
        let total: f64 = near.iter().map(|pair| f64::from(pair.weight)).sum();
        let windows: usize = centres.iter().map(|centre| centre.windows).sum();
        let all = self.plan.negative_weight / (windows * self.plan.k) as f64;
        let mut rest = &near[..];
        for (at, centre) in centres.iter().enumerate() {
            if let Some(later) = centres.get(at + AHEAD) {
                let line = 64 / size_of::<Node>();
                (0..later.far).step_by(line).for_each(|at| prefetch(&group.far, later.start + at));
            }
            let (pairs, behind) = rest.split_at(centre.near);
            rest = behind;
            let far = &group.far[centre.start..][..centre.far];
            let weight = all * if self.shared_negatives { centre.windows as f64 } else { 1.0 };
            batch.begin(centre.node);
            for pair in pairs {
                batch.add(pair.key as Node, (f64::from(pair.weight) / total) as f32);
                batch.pairs += u64::from(pair.times);
            }
            batch.add_far(far, weight as f32);
            batch.pairs += if far.is_empty() { 0 } else { (centre.windows * self.plan.k) as u64 };
        }
        batch.sort();
    }

    /// Finds the centres of the positive pairs of a batch, and how many negatives each has.
    fn centres(&self, drawn: &mut SampledBatch) {
        let (contexts, k) = (self.plan.window - 1, self.plan.k);
        drawn.centres.clear();
        for pairs in drawn.near.chunk_by(|a, b| a.key >> 32 == b.key >> 32) {
            let node = (pairs[0].key >> 32) as Node;
            let windows = pairs.iter().map(|pair| pair.times as usize).sum::<usize>() / contexts;
            let lists = if self.shared_negatives { 1 } else { windows };
            let far = usize::from(self.negatives.has_negatives(node)) * lists * k;
            drawn.centres.push(Centre { node, near: pairs.len(), windows, start: 0, far });
        }
    }

    /// The pairs of windows in increasing order, each with weight one. A walk may return to its
    /// centre; that counts as any other pair.
    fn windows(
        &self,
        epoch: usize,
        starts: &[Node],
        positives: &dyn PositiveSource,
        near: &mut Vec<NearPair>,
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
        // Bits of a node.
        let bits = usize::BITS - self.graph.nodes().leading_zeros();
        let mut pairs = Vec::with_capacity(from.len() * windows * (window - 1));
        for walk in 0..from.len() {
            for at in 0..windows {
                let centre = node(walk, at) << bits;
                pairs.extend((1..window).map(|step| centre | node(walk, at + step)));
            }
        }
        radix::sort(&mut pairs, 2 * bits);
        near.clear();
        near.extend(pairs.chunk_by(|a, b| a == b).map(|same| NearPair {
            key: same[0] >> bits << 32 | same[0] & ((1 << bits) - 1),
            times: same.len() as u32,
            weight: same.len() as f32,
        }));
    }

    /// All edges of the start nodes in increasing order, with their weights.
    fn edges(&self, starts: &[Node], near: &mut Vec<NearPair>) {
        near.clear();
        for &start in starts {
            let weights = self.graph.weights(start);
            for (at, &other) in self.graph.neighbours(start).iter().enumerate() {
                let weight = weights.map_or(1.0, |weights| weights[at]);
                let key = u64::from(start) << 32 | u64::from(other);
                near.push(NearPair { key, times: 1, weight });
            }
        }
        near.sort_unstable_by_key(|pair| pair.key);
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
        let (mut batch, mut group) = (Batch::default(), Group::default());
        with(law, config, |sampler| {
            sampler.group(0, 0, &[&[3, 16]], &mut group);
            sampler.batch(&group, 0, &mut batch);
        });
        let all = pairs(&batch);
        // The other side of the batch has the same pairs.
        let mut towards = 0;
        for node in 0..34 {
            for &Incoming { centre, pair } in batch.towards(node).0 {
                let (from, to, _) = all[pair as usize];
                assert_eq!((from, to), (batch.centres[centre as usize], node as Node));
                towards += 1;
            }
        }
        assert_eq!(towards, all.len());
        let (near, far) = all.into_iter().partition(|&(_, _, weight)| weight > 0.0);
        [near, far]
    }

    /// How many draws the weights of negative pairs stand for, where each weighs `unit`.
    fn draws<'a>(far: impl Iterator<Item = &'a (Node, Node, f32)>, unit: f32) -> usize {
        far.map(|&(_, _, weight)| {
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
        let [near, far] = sampled(Negatives::Distance, &paper());
        let mut centres: Vec<Node> = near.iter().map(|&(centre, _, _)| centre).collect();
        centres.dedup();
        for &centre in &centres {
            let own: f32 = near.iter().filter(|pair| pair.0 == centre).map(|pair| pair.2).sum();
            let of_centre = || far.iter().filter(|pair| pair.0 == centre);
            assert_eq!(draws(of_centre(), own / 20.0), 20);
            // Each other node occurs once.
            let mut others: Vec<Node> = of_centre().map(|pair| pair.1).collect();
            let all = others.len();
            others.sort_unstable();
            others.dedup();
            assert_eq!(others.len(), all);
        }
        let [_, far] = sampled(Negatives::Uniform, &paper());
        assert_eq!(draws(far.iter(), unit), 20 * windows);
        let own = TrainConfig { walks: Some(3), ..TrainConfig::default() };
        let [_, far] = sampled(Negatives::Distance, &own);
        assert_eq!(draws(far.iter(), 1.0 / 60.0), 10 * 2 * 3);
    }

    #[test]
    fn samples_do_not_depend_on_the_group_size() {
        let starts: Vec<[Node; 1]> = (0..3 * STREAM as Node).map(|at| [at % 34]).collect();
        let starts: Vec<&[Node]> = starts.iter().map(|starts| &starts[..]).collect();
        for law in [Negatives::Uniform, Negatives::Distance] {
            with(law, &paper(), |sampler| {
                let [mut all, mut part] = [Group::default(), Group::default()];
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
        let [near, far] = sampled(Negatives::Edge, &TrainConfig { model: Model::Gae, ..paper() });
        let others = |centre: Node| -> Vec<Node> {
            near.iter().filter(|pair| pair.0 == centre).map(|pair| pair.1).collect()
        };
        assert_eq!((others(3), others(16)), (vec![0, 1, 2, 7, 12, 13], vec![5, 6]));
        assert_eq!(draws(far.iter(), 1.0 / 8.0), 8);
    }
}
