//! What can be asked of training.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::stream::kernel::Step;
use crate::error::{Error, Result};
use crate::graph::Graph;

/// How vectors are trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct TrainConfig {
    /// What is trained
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t = Self::default().model))]
    pub model: Model,
    /// How it is trained [default: stream; batch for gae, vgae, gcn, sage and --protocol paper]
    #[cfg_attr(feature = "clap", arg(long, value_enum))]
    pub trainer: Option<Trainer>,
    /// Whose settings and whose small print
    #[cfg_attr(feature = "clap", arg(long, value_enum))]
    pub protocol: Option<Protocol>,
    /// Numbers in a vector
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().dim))]
    pub dim: usize,
    /// Nodes in a window: the first one is pulled to the others [default: 5; paper: 4; line, gae
    /// and vgae: 2, an edge]
    #[cfg_attr(feature = "clap", arg(long))]
    pub context: Option<usize>,
    /// Nodes in a walk; windows slide along it [default: one window; paper: 20]
    #[cfg_attr(feature = "clap", arg(long))]
    pub walk_length: Option<usize>,
    /// Walks from every node in an epoch [default: as many as make 60 pairs for every edge and
    /// direction in all, but at least 5; gcn and sage: 5; paper: 50]
    #[cfg_attr(feature = "clap", arg(long))]
    pub walks: Option<usize>,
    /// Negatives for every window [default: 10; paper: 20; gae and vgae: 1]
    #[cfg_attr(feature = "clap", arg(long))]
    pub k: Option<usize>,
    /// Return parameter of node2vec: its walks go back less for larger p
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().p))]
    pub p: f64,
    /// In-out parameter of node2vec: its walks stay near for larger q
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().q))]
    pub q: f64,
    /// 1: a node has one vector; 2: it has another one for when it is the other end of a pair
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().order))]
    pub order: usize,
    /// Times to go through all nodes [default: stream 12, batch 30, exact 60; gae, vgae, gcn and
    /// sage: 400]
    #[cfg_attr(feature = "clap", arg(long))]
    pub epochs: Option<usize>,
    /// Learning rate at the start; it falls to zero, but in batches [default: 0.5; batch 0.01]
    #[cfg_attr(feature = "clap", arg(long))]
    pub lr: Option<f64>,
    /// Nodes whose walks make a step of the batch trainer [default: 8; gae, vgae, gcn and sage: all]
    #[cfg_attr(feature = "clap", arg(long))]
    pub batch: Option<usize>,
    /// Pull to the origin: a number, or `auto`, which finds it while training; none in batches
    #[cfg_attr(feature = "clap", arg(long, value_name = "λ", default_value_t = Self::default().l2))]
    pub l2: L2,
    /// Weight of the negatives of a window against its positives
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().negative_weight))]
    pub negative_weight: f64,
    /// Seed: the same seed gives the same vectors, on any number of threads
    #[cfg_attr(feature = "clap", arg(long, default_value_t = Self::default().seed))]
    pub seed: u64,
}

/// Who is near whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Model {
    /// Nodes on walks that go to any neighbour.
    #[default]
    Deepwalk,
    /// Nodes on walks with a return parameter p and an in-out parameter q.
    Node2vec,
    /// Neighbours.
    Line,
    /// Neighbours; vectors by graph convolutions.
    Gae,
    /// Neighbours; vectors by graph convolutions with a mean and a variance.
    Vgae,
    /// Nodes on walks; vectors by graph convolutions.
    Gcn,
    /// Nodes on walks; vectors by `GraphSAGE` with means.
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

    /// Whether near pairs are edges, not walks.
    pub(super) fn by_edges(self) -> bool {
        matches!(self, Self::Line | Self::Gae | Self::Vgae)
    }

    /// Whether vectors are computed by a network over the graph, not looked up.
    pub(super) fn has_network(self) -> bool {
        matches!(self, Self::Gae | Self::Vgae | Self::Gcn | Self::Sage)
    }
}

/// How vectors are trained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Trainer {
    /// On sampled pairs, one after the other: fast, for graphs of any size.
    #[default]
    Stream,
    /// On sampled pairs, in batches, by Adam: for any model.
    Batch,
    /// On all pairs at once, by exact probabilities: for graphs of up to some ten thousand nodes.
    Exact,
}

/// Settings and small print that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Protocol {
    /// Those of the paper's own code: normal vectors at the start, and negatives that the windows
    /// of a centre share within a batch, but for uniform ones.
    Paper,
}

/// What is not given. The help texts above say the same.
struct Defaults {
    context: usize,
    length: Option<usize>,
    walks: Option<usize>,
    k: usize,
    epochs: usize,
    lr: f64,
}

/// The pull to the origin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum L2 {
    /// Found while training, by the effective rank of the vectors.
    #[default]
    Auto,
    /// This much.
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
            k: None,
            p: 1.0,
            q: 1.0,
            order: 1,
            epochs: None,
            lr: None,
            batch: None,
            l2: L2::Auto,
            negative_weight: 1.0,
            seed: 0,
        }
    }
}

impl TrainConfig {
    /// Checks what can be checked without a graph.
    pub fn validate(&self) -> Result<()> {
        let refuse = |name: &str, value: &dyn std::fmt::Display, takes: &str| {
            Err(Error::Option(format!("{name} is {value}; it takes {takes}")))
        };
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let is_not_one = |value: f64| (value - 1.0).abs() > f64::EPSILON;
        match self {
            c if !(1..=4096).contains(&c.dim) => refuse("dim", &c.dim, "1 to 4096"),
            c if !(2..=1000).contains(&c.window()) => refuse("context", &c.window(), "2 to 1000"),
            c if c.walk_length.is_some_and(|length| !(c.window()..=1000).contains(&length)) => {
                let length = c.walk_length.unwrap_or_default();
                refuse("walk-length", &length, &format!("{} (a window) to 1000", c.window()))
            }
            c if c.walks == Some(0) => refuse("walks", &0, "at least 1"),
            c if !(1..=1000).contains(&c.k()) => refuse("k", &c.k(), "1 to 1000"),
            c if c.batch == Some(0) => refuse("batch", &0, "at least 1"),
            c if !positive(c.p) => refuse("p", &c.p, "a number above 0"),
            c if !positive(c.q) => refuse("q", &c.q, "a number above 0"),
            c if c.model != Model::Node2vec && (is_not_one(c.p) || is_not_one(c.q)) => {
                let message = "p and q belong to node2vec; add --model node2vec";
                Err(Error::Option(message.to_owned()))
            }
            c if !(1..=2).contains(&c.order) => refuse("order", &c.order, "1 or 2"),
            c if c.epochs == Some(0) => refuse("epochs", &0, "at least 1"),
            c if !positive(c.lr()) || c.lr() > 10.0 => {
                refuse("lr", &c.lr(), "a number above 0, up to 10")
            }
            c if !positive(c.negative_weight) => {
                refuse("negative-weight", &c.negative_weight, "a number above 0")
            }
            Self { l2: L2::Value(l2), .. } if !(0.0..=2.0).contains(l2) => {
                refuse("l2", l2, "'auto' or a number from 0 to 2")
            }
            c => c.validate_together(),
        }
    }

    /// Checks what makes no sense together.
    fn validate_together(&self) -> Result<()> {
        let (trainer, name) = (self.trainer(), self.model.name());
        let message = match trainer {
            Trainer::Stream | Trainer::Exact if self.model.has_network() => {
                format!("{name} is trained in batches; use --trainer batch, or leave it out")
            }
            Trainer::Stream | Trainer::Exact if self.protocol.is_some() => {
                let message = "the paper's protocol is one of batches";
                format!("{message}; use --trainer batch, or leave --protocol out")
            }
            Trainer::Exact if self.model == Model::Node2vec => {
                let message = "whom node2vec's walks meet depends on the step before, which the \
                               exact trainer does not follow";
                format!("{message}; use --model deepwalk or --trainer stream")
            }
            Trainer::Batch | Trainer::Exact if self.order == 2 => {
                "only the stream trainer has a second vector for a node; use --order 1 or \
                 --trainer stream"
                    .to_owned()
            }
            Trainer::Batch if self.l2 != L2::Auto => {
                "the batch trainer has no pull to the origin; leave --l2 out, or use --trainer \
                 stream or exact"
                    .to_owned()
            }
            Trainer::Stream | Trainer::Exact if self.batch.is_some() => {
                "only the batch trainer has batches; leave --batch out, or use --trainer batch"
                    .to_owned()
            }
            _ => return Ok(()),
        };
        Err(Error::Option(message))
    }

    fn defaults(&self) -> Defaults {
        let stream = Defaults { context: 5, length: None, walks: None, k: 10, epochs: 12, lr: 0.5 };
        match self.trainer() {
            Trainer::Stream => stream,
            Trainer::Exact => Defaults { epochs: 60, ..stream },
            Trainer::Batch if self.model.has_network() => {
                let k = if self.model.by_edges() { 1 } else { 10 };
                Defaults { walks: Some(5), k, epochs: 400, lr: 0.01, ..stream }
            }
            Trainer::Batch if self.protocol == Some(Protocol::Paper) => {
                let (length, walks) = (Some(20), Some(50));
                Defaults { context: 4, length, walks, k: 20, epochs: 30, lr: 0.01 }
            }
            Trainer::Batch => Defaults { epochs: 30, lr: 0.01, ..stream },
        }
    }

    /// How it is trained.
    pub fn trainer(&self) -> Trainer {
        let batch = self.model.has_network() || self.protocol.is_some();
        self.trainer.unwrap_or(if batch { Trainer::Batch } else { Trainer::Stream })
    }

    /// Times to go through all nodes.
    pub fn epochs(&self) -> usize {
        self.epochs.unwrap_or_else(|| self.defaults().epochs)
    }

    /// The learning rate at the start.
    pub fn lr(&self) -> f64 {
        self.lr.unwrap_or_else(|| self.defaults().lr)
    }

    /// Negatives for every window.
    pub fn k(&self) -> usize {
        self.k.unwrap_or_else(|| self.defaults().k)
    }

    /// Start nodes in a batch, of so many nodes.
    pub(super) fn batch(&self, nodes: usize) -> usize {
        const OF_A_TABLE: usize = 8;
        let usual = if self.model.has_network() { nodes } else { OF_A_TABLE };
        self.batch.unwrap_or(usual).min(nodes).max(1)
    }

    /// The sizes of a step with this pull, when this part of the run is done.
    pub(super) fn step(&self, l2: f64, done: f64) -> Step {
        let rate = self.lr() * (1.0 - done);
        let far = rate / self.k() as f64;
        Step {
            near: (rate / (self.window() - 1) as f64) as f32,
            far: (far * self.negative_weight) as f32,
            shrink: (1.0 - far * l2) as f32,
        }
    }

    /// Nodes in a window.
    pub fn window(&self) -> usize {
        let walk = || self.context.unwrap_or_else(|| self.defaults().context);
        if self.model.by_edges() { 2 } else { walk() }
    }

    /// Nodes in a walk.
    pub fn length(&self) -> usize {
        let usual = || self.defaults().length.filter(|_| !self.model.by_edges());
        let length = self.walk_length.or_else(usual);
        length.unwrap_or(0).max(self.window())
    }

    /// Windows in a walk.
    pub(super) fn windows(&self) -> usize {
        self.length() - self.window() + 1
    }

    /// Parts that an epoch is cut into, so that the pairs of each fit into memory: a share of the
    /// walks of every node. Fewer and larger parts are faster, as rows come into cache once a part.
    pub(super) fn parts(&self, graph: &Graph) -> usize {
        /// About so many pairs have a part.
        const PAIRS: usize = 600_000_000;
        let pairs = graph.nodes() * self.pairs(graph);
        pairs.div_ceil(PAIRS).clamp(1, self.walks(graph))
    }

    /// Pairs that a node has in an epoch, on average.
    pub(super) fn pairs(&self, graph: &Graph) -> usize {
        self.walks(graph) * self.windows() * (self.window() - 1 + self.k())
    }

    /// Walks from every node in an epoch. How many pairs a graph needs grows with its edges: some
    /// 60 for each of them and direction bring sampling near to what all pairs would give.
    pub fn walks(&self, graph: &Graph) -> usize {
        const PAIRS: f64 = 60.0;
        const FEWEST: usize = 5;
        let degree = graph.arcs() as f64 / graph.nodes().max(1) as f64;
        let pairs = self.windows() * (self.window() - 1) * self.epochs();
        let walks = PAIRS * degree / pairs as f64;
        let walks = (walks.round() as usize).clamp(FEWEST.div_ceil(self.windows()), 1000);
        self.walks.or(self.defaults().walks).unwrap_or(walks)
    }
}

impl FromStr for L2 {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "auto" => Ok(Self::Auto),
            Ok(value) => Ok(Self::Value(value)),
            Err(_) => Err("'auto' or a number from 0 to 2".to_owned()),
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
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Value {
            Number(f64),
            Text(String),
        }
        match Value::deserialize(deserializer)? {
            Value::Number(value) => Ok(Self::Value(value)),
            Value::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}
