//! From options, graph and budget to what will be done: every setting resolved once, and the
//! memory that it takes.
//!
//! Trainers, checkpoints, logs and reports read the plan, never the options. Which law and which
//! trainer are chosen depends on the graph and the budget alone; only the stated memory also
//! depends on the number of threads, each of which has buffers of its own.

mod provenance;

use std::path::PathBuf;

use super::batch;
use super::config::{L2, Model, Protocol, TrainConfig, TrainDefaults, Trainer};
use super::device::Device;
use super::exact::Objective;
use super::given;
use super::l2::effective_rank;
use super::settings::Settings;
use super::start::{self, Start};
use super::stream::{self, kernel::Step};
use super::update;
use super::{pmi, rows, smooth};
use crate::budget::{Budget, counted, format_bytes, product, sum};
use crate::encode::FeatureShape;
use crate::error::{Error, Problem, Result};
use crate::graph::Graph;
use crate::negative::{Demand, NegativePlan, NegativeSampler, Negatives};
use crate::simd::{InstructionSet, LANES};

/// All that will be done.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainPlan {
    /// Positive pairs and encoder.
    pub model: Model,
    /// The optimiser.
    pub trainer: Trainer,
    /// The preset that was asked for.
    pub protocol: Option<Protocol>,
    /// Dimensions of a vector.
    pub dim: usize,
    /// Nodes in a window, the centre included.
    pub window: usize,
    /// Nodes in a walk.
    pub length: usize,
    /// Walks per node and epoch.
    pub walks: usize,
    /// The power of the degree that the number of walks from a node is proportional to.
    pub centre_power: f64,
    /// Negatives per window.
    pub k: usize,
    /// Return parameter of node2vec.
    pub p: f64,
    /// In-out parameter of node2vec.
    pub q: f64,
    /// Vectors per node while training.
    pub order: usize,
    /// Initial vectors.
    pub start: Start,
    /// What identifies the vectors that training starts from, where they are given.
    pub init: Option<u64>,
    /// Epochs.
    pub epochs: usize,
    /// Initial learning rate.
    pub lr: f64,
    /// Start nodes in a batch; all of them unless the batch trainer is used.
    pub batch: usize,
    /// L2 regularisation; none in the batch trainer.
    pub l2: L2,
    /// Smoothing steps after training.
    pub smoothing: usize,
    /// Weight of the vectors of edges that are joined after smoothing.
    pub pmi: f64,
    /// Weight of the negatives of a window relative to its positives.
    pub negative_weight: f64,
    /// Random seed.
    pub seed: u64,
    /// The instruction set of the arithmetic.
    pub kernel: InstructionSet,
    /// Where it is done.
    pub device: Device,
    /// Parts that an epoch is cut into, each sampled and trained by itself, so that no node moves far
    /// in a pass and its pairs fit memory.
    pub passes: usize,
    /// For how many passes negatives are drawn at a time where changing the centre is slow.
    pub passes_ahead: usize,
    /// Parts that the table of vectors is cut into, of which shards of a cluster consist; 1 where tables are
    /// small, and blocks meet in the rounds of a tournament.
    pub parts: usize,
    /// The folder of files where vectors and pairs are, if they do not fit memory.
    pub scratch: Option<PathBuf>,
    /// How many segments of the tables in files are held in memory while all others come by.
    pub(crate) held: usize,
    /// How negatives are drawn.
    pub negatives: NegativePlan,
    /// Bytes of memory at the peak of the run, graph and program included.
    pub memory: u64,
    /// What identifies the graph.
    pub fingerprint: u64,
    /// Whether the graph is directed.
    pub(crate) directed: bool,
    /// Whether the windows of a centre in a batch share their negatives, as in the authors' code,
    /// where all but uniform ones do.
    pub(super) shared_negatives: bool,
    /// Whether negatives come from a sampler that the plan does not know.
    pub(super) custom_negatives: bool,
    /// The number of nodes that an update trains; `None` where all are trained.
    pub(super) updated: Option<usize>,
    /// The features that a network reads.
    pub(crate) features: Option<FeatureShape>,
}

/// What training starts from, other than nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct From {
    /// What identifies the given vectors.
    pub(crate) init: Option<u64>,
    /// The number of nodes whose vectors are trained; `None`: all of them.
    pub(crate) updated: Option<usize>,
    /// The features of the nodes.
    pub(crate) features: Option<FeatureShape>,
}

/// The program itself: its code and that of the system's libraries, the stacks of its threads, and parts
/// too small to be counted. Measured: 10 to 12 MB, of which the writer of Parquet is 1.5; code that is
/// compiled without optimisation takes more.
const PROGRAM: u64 = if cfg!(debug_assertions) { 14_000_000 } else { 11_800_000 };

/// What the allocator holds beyond what was asked of it, in parts of that. Measured: up to 0.08.
const OVERHEAD: f64 = 0.10;

impl TrainPlan {
    /// Resolves the settings for a graph. Fails if they are invalid or exceed the budget.
    pub fn new(settings: &Settings, graph: &Graph, budget: &Budget) -> Result<Self> {
        Self::starting_from(From::default(), settings, graph, budget)
    }

    /// The same for a run that starts from given vectors.
    pub(crate) fn starting_from(
        from: From,
        settings: &Settings,
        graph: &Graph,
        budget: &Budget,
    ) -> Result<Self> {
        settings.validate()?;
        if graph.is_directed() {
            check_directed(&settings.train)?;
        }
        let mut plan = Self::resolve(settings, graph, settings.train.kernel.resolve()?);
        (plan.init, plan.updated, plan.features) = (from.init, from.updated, from.features);
        if from.updated.is_some() && plan.device != Device::Cpu {
            return Err(Error::conflict(Problem::from("updates train on the CPU").omit("device")));
        }
        if plan.features.is_some() && !plan.model.has_network() {
            let name = plan.model.name();
            let problem = Problem::from(format!("{name} reads no features"));
            return Err(Error::conflict(problem.set("model", "sage").omit("features")));
        }
        if from.updated.is_some() {
            update::resolve(&mut plan, settings.train.epochs);
        }
        if plan.trainer == Trainer::Batch {
            batch::check(&plan, graph)?;
        }
        let around = sum([graph.bytes(), PROGRAM, budget.reserved]);
        let (mut training, ahead) = plan.training_bytes(graph);
        let in_memory = with_overhead(around.saturating_add(training));
        if in_memory > budget.memory && plan.can_be_on_disk() {
            plan.scratch.clone_from(&settings.train.scratch);
            training = plan.training_bytes(graph).0;
        }
        let fills = plan.updated.map(|centres| update::fills(&plan, centres));
        let demand = Demand { training, ahead, fills };
        let allowed = (budget.memory as f64 / (1.0 + OVERHEAD)).ceil() as u64;
        let left = allowed.checked_sub(around).filter(|&left| left >= training);
        let needed = with_overhead(around.saturating_add(training));
        let left = left.ok_or_else(|| plan.too_large(needed, budget))?;
        let of_negatives = Budget { memory: left, ..*budget };
        plan.negatives = NegativePlan::new(graph, &settings.negatives, &of_negatives, &demand)?;
        let peak = |plan: &Self, training| {
            let demand = Demand { training, ahead, fills };
            around.saturating_add(plan.negatives.peak(&demand))
        };
        if plan.scratch.is_some() {
            // What is chosen above does not depend on it, and neither do the vectors.
            plan.held = stream::held(&plan, graph.nodes(), |held| {
                let more = Self { held, ..plan.clone() };
                peak(&more, more.training_bytes(graph).0) <= allowed
            });
            training = plan.training_bytes(graph).0;
        }
        plan.memory = with_overhead(peak(&plan, training));
        plan.memory = plan.memory.max(budget.so_far);
        Ok(plan)
    }

    /// The same with a sampler of one's own, whose memory is not known: negatives that are drawn ahead
    /// from it are counted, the sampler itself is not.
    #[must_use]
    pub(crate) fn with_sampler(mut self, sampler: &dyn NegativeSampler, graph: &Graph) -> Self {
        let (_, ahead) = self.training_bytes(graph);
        if sampler.prefers_batches() {
            self.memory = self.memory.saturating_add(with_overhead(ahead));
        }
        self.shared_negatives = self.protocol == Some(Protocol::Paper) && !self.model.by_edges();
        self.custom_negatives = true;
        self
    }

    /// Everything but negatives and memory.
    fn resolve(settings: &Settings, graph: &Graph, kernel: InstructionSet) -> Self {
        let config = &settings.train;
        let defaults = config.defaults();
        let TrainDefaults { k, epochs, lr, .. } = defaults;
        let (window, length) = window_and_length(config, &defaults);
        let epochs = config.epochs.unwrap_or(epochs);
        let trainer = config.resolved_trainer();
        let nodes = graph.nodes();
        let mut plan = Self {
            model: config.model,
            trainer,
            protocol: config.protocol,
            dim: config.dim,
            window,
            length,
            walks: 1,
            centre_power: config.centre_power.unwrap_or(defaults.centre_power),
            k: config.k.unwrap_or_else(|| k_for(trainer, nodes, k)),
            p: config.p,
            q: config.q,
            order: config.order,
            start: config.start.unwrap_or(defaults.start),
            init: None,
            epochs,
            lr: config.lr.unwrap_or(lr),
            batch: batch_size(config, nodes),
            l2: if trainer == Trainer::Batch { L2::Value(0.0) } else { config.l2 },
            smoothing: config.smoothing.unwrap_or(match defaults.smoothing {
                // Smoothing sources alone would part them from their targets.
                _ if graph.is_directed() && config.order == 2 => 0,
                smoothing => smoothing,
            }),
            pmi: 0.0,
            negative_weight: config.negative_weight,
            seed: config.seed,
            kernel,
            device: config.device,
            passes: 1,
            passes_ahead: 1,
            parts: 1,
            scratch: None,
            held: 1,
            negatives: NegativePlan::uniform(),
            memory: 0,
            fingerprint: graph.fingerprint(),
            directed: graph.is_directed(),
            shared_negatives: config.protocol == Some(Protocol::Paper)
                && !config.model.by_edges()
                && settings.negatives.negatives != Negatives::Uniform,
            custom_negatives: false,
            updated: None,
            features: None,
        };
        plan.walks = config
            .walks
            .or(defaults.walks)
            .unwrap_or_else(|| plan.walks_for(graph, defaults.epochs));
        plan.passes = stream::passes(&plan, nodes);
        plan.passes_ahead = stream::passes_ahead(&plan, nodes);
        plan.parts = stream::parts(&plan, nodes);
        plan.pmi = config.pmi.unwrap_or(match defaults.pmi {
            // Joining needs whole tables in memory, and large ones need not be there.
            _ if plan.smoothing == 0 || plan.order == 2 || plan.parts > 1 => 0.0,
            pmi => pmi,
        });
        plan
    }

    /// The number of walks that a graph needs grows with its edges: from a spectral start, some 10
    /// positive pairs for each edge and direction over the default number of epochs; from a random
    /// one, 60. More epochs are more pairs. It is even, so that passes of two walks divide it.
    fn walks_for(&self, graph: &Graph, epochs: usize) -> usize {
        let (pairs, fewest) = match self.start {
            Start::Spectral => (10.0, 2),
            Start::Random => (60.0, 6),
        };
        let degree = graph.arcs() as f64 / graph.nodes().max(1) as f64;
        let of_a_walk = self.windows() * (self.window - 1) * epochs;
        let walks = pairs * degree / of_a_walk as f64;
        let even = 2 * (walks / 2.0).round() as usize;
        even.clamp(usize::div_ceil(fewest, self.windows()), 1000)
    }

    /// Bytes that training takes beside the negatives, and those of negatives that are drawn ahead
    /// if they come from exact distances.
    fn training_bytes(&self, graph: &Graph) -> (u64, u64) {
        if let Some(centres) = self.updated {
            return (update::bytes(self, graph, centres), update::bytes_ahead(self, centres));
        }
        let start = || match self.init {
            Some(_) => given::bytes(graph),
            None => start::bytes(self, graph),
        };
        match self.trainer {
            Trainer::Stream if self.scratch.is_some() => {
                let around = sum([
                    start().max(self.finishing_bytes(graph)),
                    rows::bytes(graph.nodes(), self.dim.next_multiple_of(LANES)),
                ]);
                let training = sum([stream::disk_bytes(self, graph), self.rank_bytes(graph)]);
                (training.max(around), stream::bytes_ahead(self, graph))
            }
            Trainer::Stream => {
                let padded = self.dim.next_multiple_of(LANES);
                let table = product([self.order, graph.nodes(), padded, 4]);
                let training = sum([stream::bytes(self, graph), self.rank_bytes(graph)]);
                let around = sum([table, start().max(self.finishing_bytes(graph))]);
                (training.max(around), stream::bytes_ahead(self, graph))
            }
            Trainer::Batch => (batch::bytes(self, graph), 0),
            // Weights and gradients are on the device.
            Trainer::Exact if self.device != Device::Cpu => {
                let table = product([graph.nodes(), self.dim.next_multiple_of(LANES), 4]);
                let entries = Objective::positive_bytes(graph, self.window);
                (sum([table, table, entries.max(start()).max(self.finishing_bytes(graph))]), 0)
            }
            Trainer::Exact => {
                let tables = product([2, graph.nodes(), self.dim, 4]);
                let finish = self.finishing_bytes(graph);
                let most = Objective::bytes(graph, self.window).max(start()).max(finish);
                (sum([tables, most, self.rank_bytes(graph)]), 0)
            }
        }
    }

    /// Whether vectors and pairs can be in files.
    fn can_be_on_disk(&self) -> bool {
        let nothing_given = self.init.is_none() && self.updated.is_none();
        self.trainer == Trainer::Stream
            && self.device == Device::Cpu
            && self.parts > 1
            && self.pmi == 0.0
            && nothing_given
    }

    /// Bytes of measuring the effective rank, where λ is adjusted.
    fn rank_bytes(&self, graph: &Graph) -> u64 {
        match self.l2 {
            L2::Auto => effective_rank::bytes(graph.nodes(), self.dim),
            L2::Value(_) => 0,
        }
    }

    /// Bytes of what is done with trained vectors, beside them: smoothing, and joining those of edges.
    fn finishing_bytes(&self, graph: &Graph) -> u64 {
        let n = graph.nodes();
        let smoothing = if self.smoothing > 0 { smooth::bytes(n, self.dim) } else { 0 };
        let joining = if self.pmi > 0.0 { pmi::bytes(n, self.dim) } else { 0 };
        match smoothing.max(joining) {
            0 => 0,
            most => most.saturating_add(graph.undirected_bytes()),
        }
    }

    fn too_large(&self, bytes: u64, budget: &Budget) -> Error {
        let (needed, allowed) = (format_bytes(bytes), format_bytes(budget.memory));
        let problem = Problem::from(format!(
            "vectors and pairs need {needed} of memory, and {allowed} are allowed"
        ));
        let problem = match self.trainer {
            Trainer::Stream if self.can_be_on_disk() && self.scratch.is_none() => {
                problem.give("scratch").lower("dim")
            }
            Trainer::Stream => problem.lower("walks").lower("dim"),
            Trainer::Batch => problem.lower("batch").lower("dim"),
            Trainer::Exact => problem.set("trainer", "stream"),
        };
        Error::budget(problem.raise("max-memory"))
    }

    /// Smoothing steps once all vectors are trained. An update smooths those that it trained.
    pub(super) fn smoothing_at_end(&self) -> usize {
        if self.updated.is_some() { 0 } else { self.smoothing }
    }

    /// The weight of the vectors of edges, once all vectors are trained. An update joins none.
    pub(super) fn pmi_at_end(&self) -> f64 {
        if self.updated.is_some() { 0.0 } else { self.pmi }
    }

    /// Windows in a walk.
    pub fn windows(&self) -> usize {
        self.length - self.window + 1
    }

    /// The sizes of an SGD step with this λ, after this fraction of the run.
    pub fn step(&self, l2: f64, done: f64) -> Step {
        let rate = self.lr * (1.0 - done);
        let negative = rate / self.k as f64;
        Step {
            positive: (rate / (self.window - 1) as f64) as f32,
            negative: (negative * self.negative_weight) as f32,
            shrink: (1.0 - negative * l2) as f32,
        }
    }

    /// One line for people: `negatives: distance (exact hop table, 6.2 MB) · memory 21 MB · 12
    /// epochs × 5 walks per node`.
    pub fn summary(&self) -> String {
        let epochs = counted(self.epochs, "epoch");
        let work = match self.trainer {
            Trainer::Exact => format!("{epochs} over all pairs"),
            _ if self.model.by_edges() && self.trainer == Trainer::Batch => {
                format!("{epochs} over all edges")
            }
            _ if self.updated.is_some() => {
                let nodes = counted(self.updated.unwrap_or(0), "changed node");
                format!("{epochs} × {} for each of {nodes}", counted(self.walks, "walk"))
            }
            _ => format!("{epochs} × {} per node", counted(self.walks, "walk")),
        };
        let planned = || self.negatives.summary();
        let negatives = if self.custom_negatives { "custom".to_owned() } else { planned() };
        let memory = format_bytes(self.memory);
        let disk = if self.scratch.is_some() { " · vectors in files" } else { "" };
        format!("negatives: {negatives} · memory {memory}{disk} · {work}")
    }
}

/// Fails if a directed graph cannot be trained with these settings.
fn check_directed(config: &TrainConfig) -> Result<()> {
    let problem = if config.model.has_network() {
        let name = config.model.name();
        Problem::from(format!("{name} passes messages in both directions of an edge"))
            .omit("directed")
            .set("model", "deepwalk")
    } else if config.model == Model::Node2vec {
        Problem::from("second-order walks return along the edge that they came by")
            .omit("directed")
            .set("model", "deepwalk")
    } else if config.resolved_trainer() != Trainer::Stream {
        Problem::from("only the stream trainer trains on directed graphs")
            .set("trainer", "stream")
            .omit("directed")
    } else {
        return Ok(());
    };
    Err(Error::conflict(problem))
}

/// A size with what the allocator adds to it.
fn with_overhead(bytes: u64) -> u64 {
    (bytes as f64 * (1.0 + OVERHEAD)) as u64
}

/// Negatives per window, given the default. Most of the noise in trained vectors is that of sampled
/// negatives; where training takes about a second at most, there are half as many again.
fn k_for(trainer: Trainer, nodes: usize, k: usize) -> usize {
    const SMALL: usize = 20_000;
    if trainer == Trainer::Stream && nodes <= SMALL { k + k / 2 } else { k }
}

/// Nodes in a window and in a walk.
fn window_and_length(config: &TrainConfig, defaults: &TrainDefaults) -> (usize, usize) {
    let by_edges = config.model.by_edges();
    let window = config.context.filter(|_| !by_edges).unwrap_or(defaults.context);
    (window, config.walk_length.or(defaults.length).unwrap_or(0).max(window))
}

/// Start nodes in a batch.
fn batch_size(config: &TrainConfig, nodes: usize) -> usize {
    const OF_A_TABLE: usize = 8;
    let default = match config.resolved_trainer() {
        Trainer::Batch if !config.model.has_network() => OF_A_TABLE,
        _ => nodes,
    };
    config.batch.unwrap_or(default).min(nodes).max(1)
}

#[cfg(test)]
mod tests;
