//! Options of training.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::device::Device;
use super::start::Start;
use crate::error::{Error, Problem, Result};
use crate::setting::parsed;
use crate::simd::InstructionSet;

/// Which model is trained, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args), command(next_help_heading = "Model"))]
pub struct TrainConfig {
    /// Model
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t = Self::default().model))]
    pub model: Model,
    /// Trainer [default: stream; gae, vgae, gcn, sage and --protocol paper: batch]
    #[cfg_attr(feature = "clap", arg(long, value_enum))]
    pub trainer: Option<Trainer>,
    /// Preset: `paper` reproduces the authors' code
    #[cfg_attr(feature = "clap", arg(long, value_enum))]
    pub protocol: Option<Protocol>,
    /// Dimensions of a vector
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().dim))]
    pub dim: usize,
    /// Nodes in a window: a centre and the context nodes after it [default: 5; paper: 4; line, gae
    /// and vgae: 2, an edge]
    #[cfg_attr(feature = "clap", arg(long))]
    pub context: Option<usize>,
    /// Nodes in a walk, along which the window slides [default: the context; paper: 20]
    #[cfg_attr(feature = "clap", arg(long))]
    pub walk_length: Option<usize>,
    /// Walks per node and epoch, on average [default: as many as make 10 positive pairs for each edge
    /// and direction in the default number of epochs, at least 2; from a random start 60 pairs, at
    /// least 6; gcn and sage: 5; paper: 50]
    #[cfg_attr(feature = "clap", arg(long))]
    pub walks: Option<usize>,
    /// Walks from a node are ∝ its degree to this power: 0, equally many from every node; 1, as often
    /// as long walks visit it [default: 0.5; line: 1; batch: 0]
    #[cfg_attr(feature = "clap", arg(long, value_name = "POWER"))]
    pub centre_power: Option<f64>,
    /// Negatives per window [default: 10, on graphs of up to 20 000 nodes 15; paper: 20; gae and vgae:
    /// 1; other batches: 10]
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Negatives"))]
    pub k: Option<usize>,
    /// Return parameter of node2vec: larger values revisit less
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().p))]
    pub p: f64,
    /// In-out parameter of node2vec: larger values stay closer to the start
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().q))]
    pub q: f64,
    /// 1: one vector per node; 2: a second vector per node as context
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().order))]
    pub order: usize,
    /// Initial vectors [default: spectral; batch and --order 2: random]
    #[cfg_attr(feature = "clap", arg(long, value_enum, help_heading = "Training"))]
    pub start: Option<Start>,
    /// Epochs [default: stream 30, batch 30, exact 60; gae, vgae, gcn and sage: 400]
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Training"))]
    pub epochs: Option<usize>,
    /// Initial learning rate; falls linearly to 0, except with batch [default: 0.5; batch: 0.01]
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Training"))]
    pub lr: Option<f64>,
    /// Start nodes in a batch of the batch trainer [default: 8; gae, vgae, gcn and sage: all]
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Training"))]
    pub batch: Option<usize>,
    /// L2 regularisation λ: a number, or `auto`, which adjusts it while training; batch has none
    #[cfg_attr(feature = "clap", arg(long, value_name = "λ", help_heading = "Training", default_value_t = Self::default().l2))]
    pub l2: L2,
    /// Products of the trained vectors with the normalised adjacency matrix [default: 2; batch: 0]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", help_heading = "Training"))]
    pub smoothing: Option<usize>,
    /// Weight of vectors of the pointwise mutual information (PMI) of edges that are joined to the
    /// trained ones [default: 0.3; batch, --order 2, --smoothing 0 and tables from 256 MB on: 0]
    #[cfg_attr(feature = "clap", arg(long, value_name = "WEIGHT", help_heading = "Training"))]
    pub pmi: Option<f64>,
    /// Weight of the negatives of a window relative to its positives
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Negatives", default_value_t = Self::default().negative_weight))]
    pub negative_weight: f64,
    /// Instruction set of the arithmetic. Sets differ in the order of sums; the same set gives the same
    /// vectors on other machines [default: the fastest of this machine]
    #[cfg_attr(feature = "clap", arg(long, value_enum, help_heading = "Training", hide_default_value = true, default_value_t = Self::default().kernel))]
    pub kernel: Kernel,
    /// Device that trains: `cpu`, `cuda` or, of several GPUs, `cuda:N`. Vectors of a GPU are not those of
    /// the CPU
    #[cfg_attr(feature = "clap", arg(long, value_name = "DEVICE", help_heading = "Training", default_value_t = Self::default().device))]
    pub device: Device,
    /// Folder for files of vectors and pairs where they do not fit --max-memory. The result is the same
    #[cfg_attr(feature = "clap", arg(long, value_name = "DIR", help_heading = "Training"))]
    pub scratch: Option<PathBuf>,
    /// Random seed; the result does not depend on the number of threads
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Training", default_value_t = Self::default().seed))]
    pub seed: u64,
}

/// Which pairs of nodes are positive, and how a node becomes a vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Model {
    /// DeepWalk: pairs on first-order random walks
    #[default]
    Deepwalk,
    /// node2vec: pairs on second-order random walks with parameters p and q
    Node2vec,
    /// LINE: adjacent nodes
    Line,
    /// Graph autoencoder: adjacent nodes; two-layer GCN
    Gae,
    /// Variational graph autoencoder: adjacent nodes; two-layer GCN with mean and variance
    Vgae,
    /// Pairs on random walks; two-layer GCN
    Gcn,
    /// Pairs on random walks; two-layer GraphSAGE with mean aggregation
    Sage,
}

impl Model {
    /// The name, as it is written in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deepwalk => "deepwalk",
            Self::Node2vec => "node2vec",
            Self::Line => "line",
            Self::Gae => "gae",
            Self::Vgae => "vgae",
            Self::Gcn => "gcn",
            Self::Sage => "sage",
        }
    }

    /// Whether positive pairs are edges, not pairs on walks.
    pub(super) fn by_edges(self) -> bool {
        matches!(self, Self::Line | Self::Gae | Self::Vgae)
    }

    /// Whether vectors are computed by a network, not looked up in a table.
    pub(crate) fn has_network(self) -> bool {
        matches!(self, Self::Gae | Self::Vgae | Self::Gcn | Self::Sage)
    }
}

/// The optimiser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Trainer {
    /// SGD on sampled pairs: fast, for graphs of any size
    #[default]
    Stream,
    /// Adam on minibatches of sampled pairs: for any model
    Batch,
    /// Gradient descent on all pairs with exact probabilities: up to some ten thousand nodes
    Exact,
}

/// The instruction set of the arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Kernel {
    /// The fastest of this machine
    #[default]
    Auto,
    /// Plain code, on every machine
    Scalar,
    /// x86-64 with AVX2 and FMA
    Avx2,
    /// x86-64 with AVX-512
    Avx512,
    /// ARM
    Neon,
}

impl Kernel {
    /// The instruction set. Fails if this machine does not have it.
    pub fn resolve(self) -> Result<InstructionSet> {
        let name = match self {
            Self::Auto => return Ok(InstructionSet::detect()),
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Neon => "neon",
        };
        let all = InstructionSet::available();
        all.iter().find(|set| set.name() == name).copied().ok_or_else(|| {
            let names: Vec<String> = all.iter().map(|set| set.name()).collect();
            let has = format!("this machine does not have it; it has {}", names.join(", "));
            Error::option("kernel", name, has)
        })
    }
}

/// A preset of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Protocol {
    /// The settings of the paper's code: vectors start from N(0, 1), and the windows of a centre in a
    /// batch share their negatives, except uniform ones
    Paper,
}

/// The values of options that are not given and that depend on the model, the trainer and the
/// protocol. The help texts above say the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainDefaults {
    /// Nodes in a window.
    pub context: usize,
    /// Nodes in a walk; `None`: as many as in a window.
    pub length: Option<usize>,
    /// Walks per node and epoch; `None`: by the number of edges.
    pub walks: Option<usize>,
    /// Negatives per window; the stream trainer takes half as many again on small graphs.
    pub k: usize,
    /// Epochs.
    pub epochs: usize,
    /// Initial learning rate.
    pub lr: f64,
    /// The power of the degree that centres are weighted with.
    pub centre_power: f64,
    /// Initial vectors.
    pub start: Start,
    /// Smoothing steps after training.
    pub smoothing: usize,
    /// Weight of the vectors of edges.
    pub pmi: f64,
}

/// L2 regularisation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum L2 {
    /// Adjusted while training, by the effective rank of the vectors.
    #[default]
    Auto,
    /// A constant λ.
    Value(f64),
}

impl Default for TrainConfig {
    fn default() -> Self {
        Self {
            model: Model::Deepwalk,
            trainer: None,
            protocol: None,
            dim: 128,
            context: None,
            walk_length: None,
            walks: None,
            centre_power: None,
            k: None,
            p: 1.0,
            q: 1.0,
            order: 1,
            start: None,
            epochs: None,
            lr: None,
            batch: None,
            l2: L2::Auto,
            smoothing: None,
            pmi: None,
            negative_weight: 1.0,
            kernel: Kernel::Auto,
            device: Device::Cpu,
            scratch: None,
            seed: 0,
        }
    }
}

impl TrainConfig {
    /// Checks what can be checked without a graph.
    pub fn validate(&self) -> Result<()> {
        let expect = |valid: bool, name, value: &dyn Display, range: &str| {
            if valid {
                return Ok(());
            }
            Err(Error::option(name, value, format!("expected {range}")))
        };
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let TrainDefaults { context, k, lr, .. } = self.defaults();
        let context = self.context.filter(|_| !self.model.by_edges()).unwrap_or(context);
        expect((1..=4096).contains(&self.dim), "dim", &self.dim, "1 to 4096")?;
        expect((2..=1000).contains(&context), "context", &context, "2 to 1000")?;
        if let Some(length) = self.walk_length {
            let range = format!("{context} (the context) to 1000");
            expect((context..=1000).contains(&length), "walk-length", &length, &range)?;
        }
        for (name, value) in [("walks", self.walks), ("epochs", self.epochs)] {
            let value = value.unwrap_or(1);
            expect((1..=1_000_000_000).contains(&value), name, &value, "1 to 1000000000")?;
        }
        if let Some(power) = self.centre_power {
            expect((0.0..=2.0).contains(&power), "centre-power", &power, "0 to 2")?;
        }
        if let Some(times) = self.smoothing {
            expect(times <= 100, "smoothing", &times, "0 to 100")?;
        }
        if let Some(weight) = self.pmi {
            expect((0.0..=10.0).contains(&weight), "pmi", &weight, "0 to 10")?;
        }
        let k = self.k.unwrap_or(k);
        expect((1..=1000).contains(&k), "k", &k, "1 to 1000")?;
        expect(self.batch != Some(0), "batch", &0, "at least 1")?;
        expect(positive(self.p), "p", &self.p, "a number above 0")?;
        expect(positive(self.q), "q", &self.q, "a number above 0")?;
        expect((1..=2).contains(&self.order), "order", &self.order, "1 or 2")?;
        let lr = self.lr.unwrap_or(lr);
        expect(positive(lr) && lr <= 10.0, "lr", &lr, "a number above 0, at most 10")?;
        let weight = self.negative_weight;
        expect(positive(weight), "negative-weight", &weight, "a number above 0")?;
        if let L2::Value(l2) = self.l2 {
            expect((0.0..=2.0).contains(&l2), "l2", &l2, "'auto' or a number from 0 to 2")?;
        }
        self.validate_together()
    }

    /// Checks the options against each other.
    fn validate_together(&self) -> Result<()> {
        let is_not_one = |value: f64| (value - 1.0).abs() > f64::EPSILON;
        let (trainer, name) = (self.resolved_trainer(), self.model.name());
        let text = |text: &str| Problem::from(text);
        let problem = match trainer {
            _ if self.model != Model::Node2vec && (is_not_one(self.p) || is_not_one(self.q)) => {
                text("p and q are parameters of node2vec").set("model", "node2vec")
            }
            Trainer::Stream | Trainer::Exact if self.model.has_network() => {
                Problem::from(format!("{name} needs the batch trainer"))
                    .set("trainer", "batch")
                    .omit("trainer")
            }
            Trainer::Stream | Trainer::Exact if self.protocol.is_some() => {
                text("the paper's protocol needs the batch trainer")
                    .set("trainer", "batch")
                    .omit("protocol")
            }
            Trainer::Exact if self.model == Model::Node2vec => {
                text("the exact trainer does not support second-order walks")
                    .set("model", "deepwalk")
                    .set("trainer", "stream")
            }
            Trainer::Batch | Trainer::Exact if self.order == 2 => {
                text("only the stream trainer has context vectors")
                    .set("order", 1)
                    .set("trainer", "stream")
            }
            _ if self.order == 2 && self.pmi.is_some_and(|weight| weight > 0.0) => {
                text("vectors with others as contexts are not joined").omit("pmi").set("order", 1)
            }
            Trainer::Batch if self.device != Device::Cpu => {
                text("the batch trainer trains on the CPU").omit("device").set("trainer", "stream")
            }
            trainer if self.device != Device::Cpu && self.dim > self.device.most_dims(trainer) => {
                text("a GPU does not train as many dimensions with this trainer")
                    .omit("device")
                    .set("dim", self.device.most_dims(trainer))
            }
            Trainer::Batch if self.l2 != L2::Auto => {
                text("the batch trainer has no L2 regularisation")
                    .omit("l2")
                    .set("trainer", "stream")
            }
            Trainer::Batch if self.centre_power.is_some_and(|power| power != 0.0) => {
                text("the batch trainer takes as many walks from every node")
                    .omit("centre-power")
                    .set("trainer", "stream")
            }
            Trainer::Batch if self.start == Some(Start::Spectral) => {
                text("the batch trainer starts from random vectors")
                    .omit("start")
                    .set("trainer", "stream")
            }
            Trainer::Stream | Trainer::Exact if self.batch.is_some() => {
                text("only the batch trainer has batches").omit("batch").set("trainer", "batch")
            }
            _ => return Ok(()),
        };
        Err(Error::conflict(problem))
    }

    /// The trainer: as given, or the one that the model and the protocol need.
    pub(crate) fn resolved_trainer(&self) -> Trainer {
        let batch = self.model.has_network() || self.protocol.is_some();
        self.trainer.unwrap_or(if batch { Trainer::Batch } else { Trainer::Stream })
    }

    /// What is used where nothing is given.
    pub fn defaults(&self) -> TrainDefaults {
        let context = if self.model.by_edges() { 2 } else { 5 };
        let stream = TrainDefaults {
            context,
            length: None,
            walks: None,
            k: 10,
            epochs: 30,
            lr: 0.5,
            centre_power: if self.model.by_edges() { 1.0 } else { 0.5 },
            start: if self.order == 1 { Start::Spectral } else { Start::Random },
            smoothing: 2,
            pmi: 0.3,
        };
        let batch = TrainDefaults {
            lr: 0.01,
            centre_power: 0.0,
            start: Start::Random,
            smoothing: 0,
            pmi: 0.0,
            ..stream
        };
        match self.resolved_trainer() {
            Trainer::Stream => stream,
            Trainer::Exact => TrainDefaults { epochs: 60, ..stream },
            Trainer::Batch if self.model.has_network() => {
                let k = if self.model.by_edges() { 1 } else { 10 };
                TrainDefaults { walks: Some(5), k, epochs: 400, ..batch }
            }
            Trainer::Batch if self.protocol == Some(Protocol::Paper) => {
                let (context, length) =
                    if self.model.by_edges() { (2, None) } else { (4, Some(20)) };
                TrainDefaults { context, length, walks: Some(50), k: 20, ..batch }
            }
            Trainer::Batch => batch,
        }
    }
}

impl FromStr for L2 {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "auto" => Ok(Self::Auto),
            Ok(value) => Ok(Self::Value(value)),
            Err(_) => Err("expected 'auto' or a number from 0 to 2".to_owned()),
        }
    }
}

impl std::fmt::Display for L2 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Value(value) => value.fmt(f),
        }
    }
}

impl Serialize for L2 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Value(value) => serializer.serialize_f64(*value),
        }
    }
}

impl<'de> Deserialize<'de> for L2 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer)
    }
}
