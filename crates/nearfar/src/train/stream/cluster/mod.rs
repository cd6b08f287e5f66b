//! The work of a run as pure functions, for machines that share no memory.
//!
//! The table is cut into shards of consecutive parts. [`Tasks::sample`] samples the pairs whose centres are
//! in one shard, [`Tasks::train`] trains all pairs between two shards, given their rows. Both depend on
//! nothing but their arguments, the plan and the graph. Of two tasks of a pass that share a shard, the
//! later one takes the rows that the earlier one returned; others may run at the same time.
//!
//! The vectors are those of a local run, to the byte, wherever tasks run, however often, and with any
//! number of shards: a pair of shards is a rectangle of tasks, which can be trained once those above it and
//! to its left are done ([`schedule`](super::schedule)).

mod pairs;
mod run;

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use pairs::{Between, Lists, append};
pub use run::{AllRows, Run};

use super::blocks::Blocks;
use super::padded;
use super::sampling::{EpochPairs, PairSources, Sampling};
use super::schedule::{Order, Scheduled, Stage};
use super::tasks::{self, BlockRows, Losses, Training};
use crate::cancel;
use crate::error::{Error, Problem, Result};
use crate::graph::Graph;
use crate::memory;
use crate::negative::NegativeSampler;
use crate::positive::PositiveSource;
use crate::train::backend::positives;
use crate::train::{Device, TrainPlan, Trainer, initial};

/// What tasks of a run have in common.
pub struct Tasks {
    plan: TrainPlan,
    graph: Arc<Graph>,
    positives: Box<dyn PositiveSource>,
    negatives: Box<dyn NegativeSampler>,
    order: Order,
    /// Rows in a block.
    rows: usize,
}

impl Tasks {
    /// The tasks of a plan. Fails unless the stream trainer trains, with windows that are whole walks: those
    /// that slide need the walks of all nodes.
    pub fn new(plan: TrainPlan, graph: &Arc<Graph>) -> Result<Self> {
        if plan.trainer != Trainer::Stream {
            let problem = Problem::from("only the stream trainer trains on a cluster");
            return Err(Error::conflict(problem.set("trainer", "stream")));
        }
        if plan.windows() > 1 {
            let problem =
                Problem::from("windows that slide along walks need the walks of all nodes");
            return Err(Error::conflict(problem.omit("walk-length")));
        }
        if plan.scratch.is_some() {
            let problem = Problem::from("vectors are in memory where a cluster trains them");
            return Err(Error::conflict(problem.omit("scratch")));
        }
        if plan.device != Device::Cpu {
            return Err(Error::conflict(
                Problem::from("the machines of a cluster train on their CPUs").omit("device"),
            ));
        }
        let (negatives, positives) = (plan.negatives.build(graph)?, positives(&plan, graph)?);
        let rows = Blocks::rows_for(graph.nodes(), padded(&plan));
        let order = Order::new(graph.nodes().div_ceil(rows), plan.parts);
        Ok(Self { plan, graph: Arc::clone(graph), positives, negatives, order, rows })
    }

    /// The plan.
    pub fn plan(&self) -> &TrainPlan {
        &self.plan
    }

    /// The graph.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// Numbers in a row.
    pub fn stride(&self) -> usize {
        padded(&self.plan)
    }

    /// The shards of the table: as many as it is cut into, at most one for each part.
    pub fn shards(&self, count: usize) -> Shards {
        Shards { order: self.order, count: count.clamp(1, self.order.parts()) }
    }

    /// The nodes of a shard.
    pub fn nodes(&self, shards: Shards, shard: usize) -> Range<usize> {
        let blocks = shards.blocks(shard);
        blocks.start * self.rows..self.graph.nodes().min(blocks.end * self.rows)
    }

    /// The initial vectors, in padded rows. Context vectors start at zero.
    pub fn start(&self) -> Vec<f32> {
        let mut rows = vec![0.0; self.graph.nodes() * self.stride()];
        initial(&self.plan, &self.graph, None, self.stride(), &mut rows);
        rows
    }

    /// Samples the pairs of a pass, counted over the run, whose centres are in one shard: for each shard
    /// of other nodes, the lists as [`train`](Self::train) takes them. Returns the number of pairs, too.
    pub fn sample(
        &self,
        pass: usize,
        shards: Shards,
        shard: usize,
    ) -> Result<(Vec<Vec<u32>>, u64)> {
        let TrainPlan { walks, passes, length, window, k, seed, .. } = self.plan;
        let more = usize::from(pass % passes < walks % passes);
        let sampling = Sampling {
            walks: walks / passes + more,
            length,
            context: window,
            negatives: k,
            ahead: 1,
            seed,
        };
        let (positives, negatives) = (&*self.positives, &*self.negatives);
        let (nodes, rows) = (self.graph.nodes(), self.rows);
        let sources = PairSources { positives, negatives, nodes, rows };
        // About as many pairs for each shard, and some more.
        let most = self.nodes(shards, shard).len() * sampling.walks * (window - 1 + k);
        let room = most.div_ceil(shards.count) * 5 / 4;
        let room = || memory::with_capacity(room);
        let mut lists: Vec<Vec<u32>> = std::iter::repeat_with(room).take(shards.count).collect();
        let mut pairs = EpochPairs::default();
        let take = |_, block: &_| {
            for (others, numbers) in lists.iter_mut().enumerate() {
                append(block, shards.blocks(others), numbers);
            }
            Ok(())
        };
        let blocks = shards.blocks(shard);
        // Nothing but the end of the call stops it.
        let _ =
            pairs.sample_some(sources, sampling, pass as u64, blocks, take, unless_cancelled)?;
        Ok((lists, pairs.count))
    }

    /// Trains the pairs between two shards in a pass with this λ. `rows` are those of the shards, of one
    /// if they are the same: of the vectors and, in second-order models, of the context vectors. `there`
    /// are the pairs with centres in the first shard, `back` those of the second one. Returns the sum of
    /// losses of each row of groups, by stage.
    pub fn train(
        &self,
        (pass, l2): (usize, f64),
        shards: Shards,
        (a, b): (usize, usize),
        rows: &mut [Vec<&mut [f32]>],
        (there, back): (&[u32], &[u32]),
    ) -> Result<Vec<(Stage, Vec<f64>)>> {
        let Self { plan, order, .. } = self;
        let here: &[usize] = if a == b { &[a] } else { &[a, b] };
        let size = |shard: usize| self.nodes(shards, shard).len() * self.stride();
        let fits = |(shard, tables): (&usize, &Vec<&mut [f32]>)| {
            tables.len() == plan.order && tables.iter().all(|table| table.len() == size(*shard))
        };
        let is_valid = a <= b
            && b < shards.count
            && rows.len() == here.len()
            && here.iter().zip(&*rows).all(fits);
        let other = || Error::conflict("rows or pairs are not those of the shards");
        if !is_valid {
            return Err(other());
        }
        let lists = |centres, others, numbers| {
            Lists::parse(shards.blocks(centres), shards.blocks(others), numbers).ok_or_else(other)
        };
        let there = lists(a, b, there)?;
        let back = if a == b { None } else { Some(lists(b, a, back)?) };
        let pairs = Between { there, back };

        let step = |within: f64| {
            let (epoch, of_epoch) = (pass / plan.passes, (pass % plan.passes) as f64);
            let done =
                (epoch as f64 + (of_epoch + within) / plan.passes as f64) / plan.epochs as f64;
            plan.step(l2, done)
        };
        let mut groups: Vec<Vec<BlockRows>> = vec![];
        groups.resize_with(order.groups(), Vec::new);
        for (&shard, tables) in here.iter().zip(rows) {
            let tables = tables.iter_mut().map(|table| &mut **table).collect();
            let mut blocks = tasks::blocks(tables, self.rows * self.stride()).into_iter();
            for group in shards.groups(shard) {
                groups[group] = blocks.by_ref().take(order.group).collect();
            }
        }
        let mut groups: Vec<_> = groups.iter_mut().map(Vec::as_mut_slice).collect();
        let training =
            Training { set: plan.kernel, dim: self.stride(), order: *order, pairs: &pairs };
        let tasks = shards.tasks((a, b));
        let of_tasks = training.run(&tasks, step, &mut groups, unless_cancelled)?;
        let mut losses = Losses::new(*order);
        losses.add(&tasks, &of_tasks.continue_value().unwrap_or_default());
        let of_stage = |stage| (stage, losses.of_stage(stage).collect());
        Ok(shards.stages((a, b)).map(of_stage).collect())
    }
}

/// How tasks share the table: each shard is some consecutive parts, about as many as the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shards {
    order: Order,
    count: usize,
}

impl Shards {
    /// The number of shards.
    pub fn count(self) -> usize {
        self.count
    }

    fn parts(self, shard: usize) -> Range<usize> {
        let first = |shard: usize| shard * self.order.parts() / self.count;
        first(shard)..first(shard + 1)
    }

    fn groups(self, shard: usize) -> Range<usize> {
        let Range { start, end } = self.parts(shard);
        self.order.groups_of(start).start..self.order.groups_of(end - 1).end
    }

    fn blocks(self, shard: usize) -> Range<usize> {
        let Range { start, end } = self.parts(shard);
        self.order.blocks_of(start).start..self.order.blocks_of(end - 1).end
    }

    /// The stages between two shards.
    fn stages(self, (a, b): (usize, usize)) -> impl Iterator<Item = Stage> {
        let (left, right) = (self.parts(a), self.parts(b));
        self.order.stages().filter(move |stage| left.contains(&stage.0) && right.contains(&stage.1))
    }

    /// The tasks between two shards, in order.
    fn tasks(self, (a, b): (usize, usize)) -> Vec<Scheduled> {
        if self.order.parts() == 1 {
            return self.order.tasks();
        }
        self.order.rectangle(self.groups(a), self.groups(b)).collect()
    }
}

/// Work goes on unless nobody waits for it any more.
#[expect(clippy::unnecessary_wraps, reason = "what asks can also be told of errors")]
fn unless_cancelled(_done: f64) -> Result<ControlFlow<()>> {
    cancel::check();
    Ok(ControlFlow::Continue(()))
}

#[cfg(test)]
mod tests {
    use super::super::schedule::levels;
    use super::*;
    use crate::budget::Budget;
    use crate::graph::{EdgeList, NodeIds};
    use crate::negative::{NegativeConfig, Negatives};
    use crate::train::{L2, Settings, TrainConfig};

    /// Stages that run beside each other, on copies of the rows, leave the bytes of a local run.
    #[test]
    fn tasks_in_another_order_train_the_vectors_of_a_local_run() {
        let nodes = 700;
        let pairs = (0..nodes).flat_map(|a| [(a, (a + 1) % nodes), (a, (a * a + 7) % nodes)]);
        let ids = NodeIds::Range { start: 0, len: nodes as usize };
        let edges = EdgeList { pairs: pairs.collect(), weights: None, ids };
        let graph = Arc::new(edges.build().unwrap().0);
        let l2 = 0.05;
        let train = TrainConfig {
            dim: 20,
            order: 2,
            walks: Some(3),
            epochs: Some(2),
            l2: L2::Value(l2),
            smoothing: Some(0),
            start: Some(crate::train::Start::Random),
            ..Default::default()
        };
        let negatives = NegativeConfig { negatives: Negatives::Degree, ..Default::default() };
        let plan = |parts| {
            let settings = Settings { train: train.clone(), negatives: negatives.clone() };
            let plan = TrainPlan::new(&settings, &graph, &Budget::default()).unwrap();
            TrainPlan { parts, ..plan }
        };
        let tasks = Tasks::new(plan(5), &graph).unwrap();
        let parts = tasks.order.parts();
        assert!(parts == 4 || parts == 5, "{parts}");
        let expected = super::super::tests::local(&plan(5), &graph);
        for count in 1..=parts {
            assert!(trained(&tasks, tasks.shards(count), l2) == expected, "{count} shards");
        }
        // The same lists again, whoever asks; others are refused.
        let shards = tasks.shards(3);
        let (lists, count) = tasks.sample(1, shards, 2).unwrap();
        assert_eq!((&lists, count), (&tasks.sample(1, shards, 2).unwrap().0, count));
        assert!(count > 0);
        let mut rows = vec![vec![0.0; tasks.nodes(shards, 2).len() * tasks.stride()]; 2];
        let mut train = |pair, lists: &[u32]| {
            let mut rows = [rows.iter_mut().map(Vec::as_mut_slice).collect()];
            tasks.train((1, l2), shards, pair, &mut rows, (lists, &[])).is_ok()
        };
        assert!(train((2, 2), &lists[2]));
        assert!(!train((2, 2), &lists[2][1..]) && !train((3, 3), &lists[2]));
        assert!(!train((0, 2), &lists[2]));
    }

    /// The rows after all tasks, those that share no shard in reverse order.
    fn trained(tasks: &Tasks, shards: Shards, l2: f64) -> Vec<f32> {
        let (start, stride) = (tasks.start(), tasks.stride());
        let of_shard = |shard| {
            let nodes = tasks.nodes(shards, shard);
            let centres = start[nodes.start * stride..nodes.end * stride].to_vec();
            vec![centres, vec![0.0; nodes.len() * stride]]
        };
        let mut all: Vec<Vec<Vec<f32>>> = (0..shards.count()).map(of_shard).collect();
        let pairs = (0..shards.count()).flat_map(|a| (a..shards.count()).map(move |b| (a, b)));
        let pairs: Vec<_> = pairs.collect();
        for pass in 0..tasks.plan().epochs * tasks.plan().passes {
            let sample = |shard| tasks.sample(pass, shards, shard).unwrap().0;
            let lists: Vec<_> = (0..shards.count()).map(sample).collect();
            for level in levels(pairs.iter().copied(), shards.count()) {
                for &task in level.iter().rev() {
                    let (a, b) = pairs[task];
                    let mut here: Vec<_> = [a, b].map(|shard| all[shard].clone()).into();
                    here.truncate(if a == b { 1 } else { 2 });
                    let mut views: Vec<Vec<&mut [f32]>> = here
                        .iter_mut()
                        .map(|tables| tables.iter_mut().map(Vec::as_mut_slice).collect())
                        .collect();
                    let lists = (&lists[a][b][..], &lists[b][a][..]);
                    tasks.train((pass, l2), shards, (a, b), &mut views, lists).unwrap();
                    for (shard, new) in [a, b].into_iter().zip(here) {
                        all[shard] = new;
                    }
                }
            }
        }
        all.iter().flat_map(|tables| &tables[0]).copied().collect()
    }
}
