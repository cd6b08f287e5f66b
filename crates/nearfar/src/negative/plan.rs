//! From what is asked for to what will be done: how, why, and in how much memory.

use std::sync::Arc;

use super::clusters::Clusters;
use super::config::{LandmarkCount, NegativeConfig, Negatives, Strategy};
use super::degree::Degree;
use super::edge::Edge;
use super::landmark::Landmark;
use super::landmark_approx::LandmarkApprox;
use super::law::{Bound, DistanceLaw};
use super::levels::ByLevel;
use super::uniform::Uniform;
use super::{NegativeSampler, table};
use crate::distance::{HopCell, Landmarks, Levels, MultiSourceBfs};
use crate::error::{Error, Result};
use crate::graph::{Components, Graph};
use crate::memory;

/// What the work may take. The plan depends on these numbers and the graph, never on the machine,
/// so that a run can be repeated elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of it that are taken otherwise, but only once the sampler is built: the room that
    /// building needs for a while is free again by then.
    pub beside: u64,
    /// Bytes of it that are taken as well if distances are exact: those laws draw much at a time.
    pub ahead: u64,
    /// Seconds of one core to spend on distances.
    pub seconds: f64,
    /// How many times [`NegativeSampler::fill`] will be called, if that is known.
    pub fills: Option<u64>,
}

impl Default for Budget {
    fn default() -> Self {
        Self { memory: 8_000_000_000, beside: 0, ahead: 0, seconds: 600.0, fills: None }
    }
}

/// Bytes, as people write them: `800MB`, `8GB`, `8e9`. The error says what it takes.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let lower = text.to_lowercase();
    let units =
        [("gb", 1e9), ("g", 1e9), ("mb", 1e6), ("m", 1e6), ("kb", 1e3), ("k", 1e3), ("b", 1.0)];
    let (number, unit) = units
        .iter()
        .find_map(|(name, unit)| lower.strip_suffix(name).map(|number| (number, *unit)))
        .unwrap_or((&lower, 1.0));
    match number.trim().parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok((number * unit) as u64),
        _ => Err("a size such as 800MB or 8GB".to_owned()),
    }
}

impl Budget {
    /// Whether there is room for `bytes` while the sampler is built, and for `kept` afterwards.
    fn has_room(&self, bytes: u64, kept: u64, exact: bool) -> bool {
        let beside = self.beside + if exact { self.ahead } else { 0 };
        bytes <= self.memory && kept + beside <= self.memory
    }
}

/// A law with all choices made.
#[derive(Clone, Debug, PartialEq)]
pub struct NegativePlan {
    /// The law; never [`Negatives::Auto`].
    pub negatives: Negatives,
    /// Where exact distances come from, for laws that need them; never [`Strategy::Auto`].
    pub strategy: Option<Strategy>,
    /// How many nodes of highest degree are landmarks, for laws that need them.
    pub landmarks: Option<usize>,
    /// The memory it will take while it is built, the graph aside.
    pub bytes: u64,
    /// The memory it will take from then on.
    pub kept: u64,
    /// Why these choices, for people.
    pub reason: String,
    config: NegativeConfig,
}

/// Landmarks that nobody asked for take no more memory than this for their distances.
const P2P_CAP: u64 = 64_000_000;

/// Nor do they look at nodes and edges more often than this to find them, some seconds' worth,
/// but for a thousand landmarks.
const LOOKS_CAP: f64 = 10e9;

impl NegativePlan {
    /// Checks the configuration and makes all choices that it leaves open.
    pub fn new(graph: &Graph, config: &NegativeConfig, budget: &Budget) -> Result<Self> {
        config.validate()?;
        if graph.nodes() < 2 {
            return Err(Error::Graph("a graph of one node has no negatives".to_owned()));
        }
        let plan = match config.negatives {
            Negatives::Auto => {
                Self::exact(graph, config, budget, Negatives::Distance).or_else(|why| {
                    let mut plan = Self::by_landmarks(graph, config, Negatives::LandmarkApprox)?;
                    plan.reason = format!("{why}; {}", plan.reason);
                    Ok(plan)
                })
            }
            exact @ (Negatives::Distance | Negatives::DistanceMin | Negatives::DistanceMax) => {
                Self::exact(graph, config, budget, exact).map_err(|why| {
                    Error::Budget(format!("{why}; use --negatives landmark-approx, or allow more"))
                })
            }
            by_landmarks @ (Negatives::LandmarkApprox | Negatives::Landmark) => {
                Self::by_landmarks(graph, config, by_landmarks)
            }
            other @ (Negatives::Uniform | Negatives::Degree | Negatives::Edge) => {
                let bytes = match other {
                    Negatives::Degree => graph.nodes() as u64 * 16,
                    Negatives::Edge => Edge::bytes(graph),
                    _ => 0,
                };
                let config = config.clone();
                let reason = "it was asked for".to_owned();
                Ok(Self {
                    negatives: other,
                    strategy: None,
                    landmarks: None,
                    bytes,
                    kept: bytes,
                    reason,
                    config,
                })
            }
        }?;
        if !budget.has_room(plan.bytes, plan.kept, plan.strategy.is_some()) {
            let beside = if plan.bytes <= budget.memory { budget.beside } else { 0 };
            return Err(Error::Budget(format!(
                "negatives by {} take {}, more than the {} that are allowed; {}",
                plan.negatives.name(),
                megabytes(if beside > 0 { plan.kept } else { plan.bytes }),
                megabytes(budget.memory.saturating_sub(beside)),
                match (plan.strategy, plan.landmarks) {
                    (Some(Strategy::Table), _) => {
                        "use --strategy levels or --negatives landmark-approx, or allow more"
                    }
                    (_, Some(_)) => "use fewer --landmarks, or allow more",
                    _ => "allow more",
                },
            )));
        }
        Ok(plan)
    }

    /// The faster of table and levels that fits; the error says why none does.
    fn exact(
        graph: &Graph,
        config: &NegativeConfig,
        budget: &Budget,
        negatives: Negatives,
    ) -> Result<Self, String> {
        let (n, arcs) = (graph.nodes() as f64, graph.arcs() as f64);
        let table_kept = table::bytes(graph.nodes(), 1);
        let table_bytes = table_kept + 2 * MultiSourceBfs::bytes(graph.nodes());
        // Nanoseconds of one core, measured on graphs that fit its cache and on some that do not:
        // 0.3 to 1 for each node and edge by 512 sources at once, 2 for each cell, and 5 for each
        // edge of a single search.
        let table_seconds = n * ((n + arcs) * if n > 50_000.0 { 1e-9 } else { 0.3e-9 } + n * 2e-9);
        let search = (n + arcs) * 5e-9;
        let levels_seconds = budget.fills.map(|fills| fills as f64 * search);
        let table_fits =
            budget.has_room(table_bytes, table_kept, true) && table_seconds <= budget.seconds;
        let levels_fit = levels_seconds.is_some_and(|seconds| seconds <= budget.seconds);
        let table_cost = format!(
            "a table of all distances takes {} and about {}",
            megabytes(table_bytes),
            time(table_seconds)
        );
        let levels_cost = match levels_seconds {
            Some(seconds) => format!("searches around each centre take about {}", time(seconds)),
            None => "searches around each centre have no end in sight".to_owned(),
        };
        let levels_first = levels_seconds.is_some_and(|seconds| seconds < table_seconds);
        let strategy = match config.strategy {
            Strategy::Auto if levels_fit && (levels_first || !table_fits) => Strategy::Levels,
            Strategy::Auto if table_fits => Strategy::Table,
            Strategy::Auto => {
                return Err(format!(
                    "{table_cost}, {levels_cost}, and {} and {} are allowed",
                    megabytes(budget.memory),
                    time(budget.seconds),
                ));
            }
            forced => forced,
        };
        let reason = match (config.strategy, strategy) {
            (Strategy::Auto, Strategy::Levels) => format!("{levels_cost}; {table_cost}"),
            (Strategy::Auto, _) => format!("{table_cost}; {levels_cost}"),
            _ => "it was asked for".to_owned(),
        };
        let (bytes, kept) = match strategy {
            Strategy::Levels => (Levels::bytes(graph.nodes()), Levels::bytes(graph.nodes())),
            _ => (table_bytes, table_kept),
        };
        let (strategy, config) = (Some(strategy), config.clone());
        Ok(Self { negatives, strategy, landmarks: None, bytes, kept, reason, config })
    }

    fn by_landmarks(graph: &Graph, config: &NegativeConfig, negatives: Negatives) -> Result<Self> {
        let n = graph.nodes();
        let share = |share: f64| (n as f64 * share).round() as usize;
        let tenth = share(0.1).max(2);
        let asked = |count: usize| format!("landmarks as asked for, {count}");
        let (count, reason) = match config.landmarks {
            None => {
                let fit = (P2P_CAP as f64).sqrt() as usize;
                let quick = (LOOKS_CAP / (n + graph.arcs()) as f64).max(1000.0) as usize;
                let count = tenth.min(fit).min(quick);
                let why = match count {
                    _ if count == tenth => format!("{count} landmarks are 10 % of the nodes"),
                    _ if count == fit => format!(
                        "{count} landmarks, not 10 % of the nodes, keep their distances under 64 MB"
                    ),
                    _ => format!(
                        "{count} landmarks, not 10 % of the nodes, are searched from in a few seconds"
                    ),
                };
                (count, why)
            }
            Some(LandmarkCount::Fraction(part)) => {
                let count = share(part).clamp(1, n);
                (count, asked(count))
            }
            Some(LandmarkCount::Count(count)) if count > n => {
                return Err(Error::Option(format!(
                    "{count} landmarks in a graph of {n} nodes; use --landmarks {n} or fewer"
                )));
            }
            Some(LandmarkCount::Count(count)) => (count, asked(count)),
        };
        let kept = (count * count) as u64
            + n as u64 * 8
            + Clusters::<u8>::bytes(n, count)
            + if negatives == Negatives::LandmarkApprox { n as u64 * 12 } else { 0 };
        let bytes = kept + 2 * MultiSourceBfs::bytes(n);
        let (landmarks, config) = (Some(count), config.clone());
        Ok(Self { negatives, strategy: None, landmarks, bytes, kept, reason, config })
    }

    /// The most memory that is in use at a time, if `beside` bytes are taken once the sampler is
    /// built.
    pub fn peak(&self, beside: u64) -> u64 {
        self.bytes.max(self.kept + beside)
    }

    /// In a few words: the law, and how it is drawn.
    pub fn summary(&self) -> String {
        let how = match (self.strategy, self.landmarks) {
            (Some(Strategy::Levels), _) => " by a search around each centre",
            (Some(_), _) => " by a table of all distances",
            _ => "",
        };
        let name = self.negatives.name();
        format!("negatives by {name}{how}, {}: {}", megabytes(self.bytes), self.reason)
    }

    /// Builds the sampler for the graph that the plan was made for.
    pub fn build(&self, graph: &Arc<Graph>) -> Result<Box<dyn NegativeSampler>> {
        let sampler = self.build_law(graph);
        memory::give_back();
        sampler
    }

    fn build_law(&self, graph: &Arc<Graph>) -> Result<Box<dyn NegativeSampler>> {
        let gamma = self.config.gamma;
        let law = |bound| DistanceLaw { gamma, bound };
        match self.negatives {
            Negatives::Uniform => Ok(Box::new(Uniform { nodes: graph.nodes() })),
            Negatives::Degree => Ok(Box::new(Degree::new(graph, self.config.degree_power)?)),
            Negatives::Edge => {
                let n = graph.nodes();
                if graph.arcs() == n * (n - 1) {
                    let message = "every two nodes are linked: there is no pair without an edge";
                    return Err(Error::Graph(message.to_owned()));
                }
                Ok(Box::new(Edge::new(graph)))
            }
            Negatives::LandmarkApprox | Negatives::Landmark => self.build_landmarks(graph),
            Negatives::DistanceMin => self.build_exact(graph, law(Bound::Min)),
            Negatives::DistanceMax => self.build_exact(graph, law(Bound::Max)),
            Negatives::Distance | Negatives::Auto => self.build_exact(graph, law(Bound::None)),
        }
    }

    fn build_exact(
        &self,
        graph: &Arc<Graph>,
        law: DistanceLaw,
    ) -> Result<Box<dyn NegativeSampler>> {
        let components = Components::new(graph);
        match self.strategy {
            Some(Strategy::Levels) => {
                let far = self.config.far.hops(graph, &components)?;
                Ok(Box::new(ByLevel::new(graph, law, far)?))
            }
            _ => table::build(graph, &components, law, self.config.far),
        }
    }

    fn build_landmarks(&self, graph: &Arc<Graph>) -> Result<Box<dyn NegativeSampler>> {
        let components = Components::new(graph);
        let far = self.config.far.hops(graph, &components)?;
        let count = self.landmarks.unwrap_or(1);
        let choose = |count| Landmarks::<u8>::choose(graph, &components, count);
        if let Some(landmarks) = Landmarks::<u8>::new(graph, &components, choose(count)) {
            return self.build_on(landmarks, far);
        }
        // Two bytes a distance: half as many landmarks in each direction stay under the cap.
        let cap = (P2P_CAP as f64 / 2.0).sqrt() as usize;
        let count = if self.config.landmarks.is_none() { count.min(cap) } else { count };
        let landmarks: Option<Landmarks<u16>> = Landmarks::new(graph, &components, choose(count));
        let landmarks = landmarks.ok_or_else(|| {
            Error::Graph("landmarks are over 65 535 hops apart, more than can be stored".to_owned())
        })?;
        self.build_on(landmarks, far)
    }

    fn build_on<T: HopCell>(
        &self,
        landmarks: Landmarks<T>,
        far: u32,
    ) -> Result<Box<dyn NegativeSampler>> {
        let law = DistanceLaw { gamma: self.config.gamma, bound: Bound::None };
        if self.negatives == Negatives::LandmarkApprox && law.gamma == 0.0 {
            return Ok(Box::new(Uniform { nodes: landmarks.nearest.len() }));
        }
        Ok(match self.negatives {
            Negatives::Landmark => Box::new(Landmark::new(landmarks, law, far)?),
            _ => Box::new(LandmarkApprox::new(landmarks, law, far)?),
        })
    }
}

/// Bytes, for people.
fn megabytes(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        1_000_000..1_000_000_000 => format!("{} MB", bytes.div_ceil(1_000_000)),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// Seconds, for people.
fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => format!("{:.0} ms", (s * 1e3).max(1.0)),
        s if s < 600.0 => format!("{s:.0} s"),
        s if s < 36_000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_bytes;

    #[test]
    fn bytes_are_read_as_people_write_them() {
        let cases = [
            ("8GB", 8_000_000_000),
            ("800 mb", 800_000_000),
            ("1.5g", 1_500_000_000),
            ("64k", 64_000),
            ("12b", 12),
            ("4096", 4096),
            ("8e9", 8_000_000_000),
        ];
        for (text, bytes) in cases {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "GB", "-1GB", "0", "inf", "8TB", "nan"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }
}
