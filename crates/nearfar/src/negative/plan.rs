//! From the options to a choice: which sampler, and in how much memory.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::by_length::check_unit;
use super::clusters::Clusters;
use super::config::{NegativeConfig, Negatives, Strategy};
use super::costs::Costs;
use super::degree::Degree;
use super::directed::{check_far, far_of_landmarks};
use super::edge::Edge;
use super::landmark::Landmark;
use super::landmark_approx::LandmarkApprox;
use super::law::{Bound, DistanceLaw};
use super::levels::ByLevel;
use super::listed::listed_bytes;
use super::uniform::Uniform;
use super::{NegativeSampler, table};
use crate::budget::{Budget, counted, format_bytes, product, sum};
use crate::distance::{
    Diameter, Far, HopCell, HopRows, Landmarks, Levels, SOURCES, has_long_distances,
};
use crate::error::{Error, Problem, Result};
use crate::graph::{Components, Graph, Node};
use crate::memory;

/// What else the run needs, and how it draws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Bytes that are taken once the sampler is built, when the memory of building it is free
    /// again.
    pub training: u64,
    /// Bytes that are taken as well if distances are exact: those laws draw many negatives ahead.
    pub ahead: u64,
    /// How many times [`NegativeSampler::fill`] will be called, if that is known.
    pub fills: Option<u64>,
}

/// A law with all choices made.
#[derive(Clone, Debug, PartialEq)]
pub struct NegativePlan {
    /// The law; never [`Negatives::Auto`].
    pub law: Negatives,
    /// How exact distances are found, for laws that use them; never [`Strategy::Auto`].
    pub strategy: Option<Strategy>,
    /// How many nodes of highest degree are landmarks, for laws that use them.
    pub landmarks: Option<usize>,
    /// Peak memory while the sampler is built, the graph excluded.
    pub building: u64,
    /// Memory of the sampler.
    pub kept: u64,
    /// Why `auto` did not choose exact distances.
    pub(super) fallback: Option<String>,
    /// Bytes of a stored distance.
    pub(super) cell: usize,
    /// Searches that may run at a time.
    pub(super) searches: usize,
    /// Whether distances are lengths.
    pub(super) lengths: bool,
    pub(super) config: NegativeConfig,
}

/// By default the distances between landmarks take at most this much memory, …
const P2P_BYTES: usize = 64_000_000;

/// … and the searches from them visit at most this many nodes and edges, which takes some seconds;
/// but a thousand landmarks are always allowed. Where distances are long, searches take longer and
/// fewer landmarks leave no node far from all of them beside its distance from others.
const SEARCHED: f64 = 10e9;
pub(super) const SEARCHED_LONG: f64 = 5e8;

/// The choice of a law reckons with so many searches at a time on any machine, so that it does not
/// depend on the number of threads.
pub(super) const NOMINAL_SEARCHES: u64 = 2;

impl NegativePlan {
    /// Checks the options and makes all choices that they leave open.
    pub fn new(
        graph: &Graph,
        config: &NegativeConfig,
        budget: &Budget,
        demand: &Demand,
    ) -> Result<Self> {
        config.validate()?;
        if graph.nodes() < 2 {
            return Err(Error::graph("the graph needs at least two nodes"));
        }
        check_far(graph, config)?;
        check_unit(graph, config)?;
        let plan = match config.negatives {
            Negatives::Auto => Self::exact(graph, config, budget, demand, Negatives::Distance)
                .or_else(|why| {
                    let law = Negatives::LandmarkApprox;
                    let plan = match config.far {
                        Far::Undirected => Err(far_of_landmarks()),
                        _ => Self::landmarks(graph, config, budget, law),
                    };
                    Ok(Self { fallback: Some(why), ..plan? })
                }),
            exact @ (Negatives::Distance | Negatives::DistanceMin | Negatives::DistanceMax) => {
                Self::exact(graph, config, budget, demand, exact).map_err(|why| {
                    let problem = Problem::from(why).set("negatives", "landmark-approx");
                    Error::budget(problem.raise("max-memory"))
                })
            }
            Negatives::Landmark if graph.is_directed() => {
                let problem = Problem::from("landmark is a law of undirected graphs");
                Err(Error::conflict(problem.set("negatives", "landmark-approx").omit("directed")))
            }
            landmarks @ (Negatives::LandmarkApprox | Negatives::Landmark) => {
                Self::landmarks(graph, config, budget, landmarks)
            }
            Negatives::Uniform => Ok(Self::without_distances(config, (0, 0))),
            Negatives::Degree => Ok(Self::without_distances(config, Degree::bytes(graph))),
            Negatives::Edge => {
                let bytes = Edge::bytes(graph);
                Ok(Self::without_distances(config, (bytes, bytes)))
            }
        }?;
        plan.check(budget, demand)?;
        Ok(plan)
    }

    /// The uniform law, which needs no memory.
    pub(crate) fn uniform() -> Self {
        let config = NegativeConfig { negatives: Negatives::Uniform, ..Default::default() };
        Self::without_distances(&config, (0, 0))
    }

    /// A law that takes so many bytes while it is built, and so many from then on.
    pub(super) fn without_distances(config: &NegativeConfig, (building, kept): (u64, u64)) -> Self {
        Self {
            law: config.negatives,
            strategy: None,
            landmarks: None,
            building,
            kept,
            fallback: None,
            cell: 0,
            searches: 0,
            lengths: false,
            config: config.clone(),
        }
    }

    /// The faster of table and searches that fits; the error says why neither does.
    fn exact(
        graph: &Graph,
        config: &NegativeConfig,
        budget: &Budget,
        demand: &Demand,
        law: Negatives,
    ) -> Result<Self, String> {
        if graph.has_lengths() {
            return Self::exact_by_length(graph, config, budget, demand, law);
        }
        let (n, arcs) = (graph.nodes() as f64, graph.arcs() as f64);
        let components = Components::new(graph);
        let diameter = diameter(graph, &components);
        let cell = if diameter.at_most <= u8::MOST { 1 } else { 2 };
        let search = match cell {
            1 => HopRows::<u8>::search_bytes(graph.nodes(), graph.nodes()),
            _ => HopRows::<u16>::search_bytes(graph.nodes(), graph.nodes()),
        };
        let grouped = components.len() > 1 && !graph.is_directed();
        let others = if grouped { product([graph.nodes(), 12]) } else { 0 };
        let kept = sum([table::kept_bytes(graph.nodes(), cell), others]);
        let least = kept.saturating_add(NOMINAL_SEARCHES * search);
        // A table that does not fit anyway needs no closer look.
        let listed = if least <= budget.memory { Self::listed(graph, config, law) } else { 0 };
        let (kept, least) = (kept.saturating_add(listed), least.saturating_add(listed));
        // Nanoseconds of one core, measured on graphs that fit its cache and on some that do not:
        // 0.3 to 1 for each node and edge by 512 sources at once, 2 for each cell, and 5 for each
        // edge of a single search.
        let table_seconds = n * ((n + arcs) * if n > 50_000.0 { 1e-9 } else { 0.3e-9 } + n * 2e-9);
        let levels_seconds = demand.fills.map(|fills| fills as f64 * (n + arcs) * 5e-9);
        let what = "an exact hop table";
        let costs = Costs { what, kept, least, table_seconds, levels_seconds };
        let strategy = costs.strategy(config, budget, demand)?;
        let (building, kept, searches) = if strategy == Strategy::Levels {
            let bytes = product([rayon::current_num_threads()]) * Levels::bytes(graph.nodes());
            (bytes, bytes, 0)
        } else {
            let searches = affordable(graph.nodes(), search, budget.memory.saturating_sub(kept));
            let counts = table::count_bytes(graph.nodes(), diameter.at_most);
            // Undirected distances are measured for some sources at a time.
            let others = match config.far {
                Far::Undirected => sum([
                    product([searches, SOURCES, graph.nodes(), cell]),
                    product([2, graph.arcs(), if graph.is_weighted() { 8 } else { 4 }]),
                ]),
                _ => 0,
            };
            let search = product([searches]).saturating_mul(search);
            let table = sum([kept, search, others]);
            (table.max(kept.saturating_add(counts)), kept, searches)
        };
        Ok(Self {
            law,
            strategy: Some(strategy),
            building,
            kept,
            cell,
            searches,
            ..Self::without_distances(config, (0, 0))
        })
    }

    /// The memory of the lists of heavy nodes beside a table.
    fn listed(graph: &Graph, config: &NegativeConfig, law: Negatives) -> u64 {
        let bound = law.bound();
        let nodes: Vec<Node> = (0..graph.nodes() as Node).collect();
        listed_bytes(graph, &nodes, DistanceLaw { gamma: config.gamma, bound })
    }

    fn landmarks(
        graph: &Graph,
        config: &NegativeConfig,
        budget: &Budget,
        law: Negatives,
    ) -> Result<Self> {
        let n = graph.nodes();
        let fraction = |fraction: f64| (n as f64 * fraction).round() as usize;
        if graph.is_directed() || graph.has_lengths() {
            return Self::routes(graph, config, budget, law);
        }
        let components = Components::new(graph);
        let diameter = diameter(graph, &components);
        let cell = match diameter.at_most {
            hops if hops <= u8::MOST => 1,
            hops if hops <= u16::MOST => 2,
            _ => 4,
        };
        let count = match config.landmarks {
            None => {
                let steps = (n + graph.arcs()) as f64;
                let quick = if has_long_distances(graph, &components) {
                    (SEARCHED_LONG / steps).max(100.0)
                } else {
                    (SEARCHED / steps).max(1000.0)
                };
                fraction(0.1).max(2).min(most_landmarks(1)).min(quick as usize)
            }
            Some(asked) => asked.of(n)?,
        };
        let chosen = Landmarks::<u8>::choose(graph, &components, count);
        let cells = |chosen: &[Node]| Landmarks::<u8>::cells(&components, chosen);
        // With wider cells fewer landmarks stay under the limit, unless they were asked for.
        let wide = match most_landmarks(cell) {
            most if config.landmarks.is_none() && most < count => {
                cells(&Landmarks::<u8>::choose(graph, &components, most))
            }
            _ => cells(&chosen),
        };
        let distances = cells(&chosen).max(wide.saturating_mul(cell as u64));
        let p = chosen.len();
        let sampler = if law == Negatives::LandmarkApprox {
            LandmarkApprox::<u8>::bytes(n, p, diameter.at_most, config.gamma)
        } else {
            let law = DistanceLaw { gamma: config.gamma, bound: Bound::None };
            sum([Clusters::<u8>::bytes(n, p), listed_bytes(graph, &chosen, law)])
        };
        // Landmarks keep the nearest one of every node, the hops to it, and where their rows are.
        let kept = sum([distances, product([n, 8]), product([p, 20]), sampler]);
        let (search, searches) = match Landmarks::<u8>::together(graph, &components, &chosen) {
            0 => (0, 0),
            sources => {
                let search = HopRows::<u16>::search_bytes(n, sources);
                let left = budget.memory.saturating_sub(distances);
                (search, affordable(sources, search, left))
            }
        };
        // Searches from one source at a time take less, but may be as many as there are threads.
        let alone = product([rayon::current_num_threads()]).saturating_mul(Levels::bytes(n));
        let search = product([searches]).saturating_mul(search).max(alone);
        // The column of each node, the nearest landmark and the hops to it.
        let measured = sum([distances, search, product([n, 12])]);
        Ok(Self {
            law,
            landmarks: Some(count),
            building: measured.max(kept.saturating_add(Levels::bytes(n))),
            kept,
            cell,
            searches,
            ..Self::without_distances(config, (0, 0))
        })
    }

    /// Fails if the plan exceeds the budget.
    fn check(&self, budget: &Budget, demand: &Demand) -> Result<()> {
        let (name, total) = (self.law.name(), self.peak(demand));
        if total <= budget.memory {
            return Ok(());
        }
        let problem = Problem::from(format!(
            "negatives by {name} need {}, training {}: {} at their peak, and {} are allowed",
            format_bytes(self.kept),
            format_bytes(demand.training),
            format_bytes(total),
            format_bytes(budget.memory),
        ));
        let problem = match (self.strategy, self.landmarks) {
            (Some(Strategy::Table), _) => {
                problem.set("strategy", "levels").set("negatives", "landmark-approx")
            }
            (_, Some(_)) => problem.lower("landmarks"),
            _ => problem,
        };
        Err(Error::budget(problem.raise("max-memory")))
    }

    /// The resolved options, by name.
    pub(crate) fn provenance(&self) -> Map<String, Value> {
        let NegativeConfig { gamma, degree_power, far, .. } = self.config;
        let fields = json!({
            "negatives": self.law,
            "gamma": gamma,
            "degree-power": degree_power,
            "landmarks": self.landmarks,
            "far": far,
            "strategy": self.strategy,
        });
        match fields {
            Value::Object(mut fields) => {
                if self.lengths {
                    fields.insert("distance".to_owned(), "length".into());
                }
                fields
            }
            _ => Map::new(),
        }
    }

    /// Whether distances are exact.
    pub fn is_exact(&self) -> bool {
        self.strategy.is_some()
    }

    /// The peak memory of sampler and training, the graph excluded.
    pub fn peak(&self, demand: &Demand) -> u64 {
        let ahead = if self.is_exact() { demand.ahead } else { 0 };
        self.building.max(sum([self.kept, demand.training, ahead]))
    }

    /// The law and how it is drawn, in a few words: `distance (exact hop table, 6.2 MB)`.
    pub fn summary(&self) -> String {
        let how = match (self.strategy, self.landmarks) {
            (Some(Strategy::Levels), _) if self.lengths => {
                "search by lengths per centre, ".to_owned()
            }
            (Some(_), _) if self.lengths => "exact table of lengths, ".to_owned(),
            (Some(Strategy::Levels), _) => "breadth-first search per centre, ".to_owned(),
            (Some(_), _) => "exact hop table, ".to_owned(),
            (_, Some(count)) => counted(count, "landmark") + ", ",
            _ => return self.law.name().to_owned(),
        };
        let why = self.fallback.as_ref().map_or(String::new(), |why| format!("; {why}"));
        format!("{} ({how}{}{why})", self.law.name(), format_bytes(self.kept))
    }

    /// Builds the sampler for the graph that the plan was made for.
    pub fn build(&self, graph: &Arc<Graph>) -> Result<Box<dyn NegativeSampler>> {
        let sampler = self.build_law(graph);
        memory::give_back();
        sampler
    }

    fn build_law(&self, graph: &Arc<Graph>) -> Result<Box<dyn NegativeSampler>> {
        let gamma = self.config.gamma;
        let law = DistanceLaw { gamma, bound: self.law.bound() };
        match self.law {
            Negatives::Uniform => Ok(Box::new(Uniform { nodes: graph.nodes() })),
            Negatives::Degree => Ok(Box::new(Degree::new(graph, self.config.degree_power)?)),
            Negatives::Edge => {
                let n = graph.nodes();
                if graph.arcs() == n * (n - 1) {
                    let problem = Problem::from("the graph is complete: no pair lacks an edge");
                    return Err(Error::graph(problem.set("negatives", "uniform")));
                }
                Ok(Box::new(Edge::new(graph)))
            }
            Negatives::LandmarkApprox | Negatives::Landmark => self.build_landmarks(graph),
            Negatives::DistanceMin
            | Negatives::DistanceMax
            | Negatives::Distance
            | Negatives::Auto => self.build_exact(graph, law),
        }
    }

    fn build_exact(
        &self,
        graph: &Arc<Graph>,
        law: DistanceLaw,
    ) -> Result<Box<dyn NegativeSampler>> {
        if graph.has_lengths() {
            return Ok(self.build_by_length(graph, law));
        }
        let components = Components::new(graph);
        match self.strategy {
            Some(Strategy::Levels) => {
                let far = self.config.far.hops(graph, &components);
                Ok(Box::new(ByLevel::new(graph, law, far)?))
            }
            _ => table::build(graph, &components, law, self.config.far, self.cell, self.searches),
        }
    }

    fn build_landmarks(&self, graph: &Arc<Graph>) -> Result<Box<dyn NegativeSampler>> {
        let components = Components::new(graph);
        if graph.has_lengths() {
            return Ok(self.build_routes(graph, &components, self.config.far.length(graph)));
        }
        let far = self.config.far.hops(graph, &components);
        if graph.is_directed() {
            return Ok(self.build_routes(graph, &components, f64::from(far)));
        }
        // The narrowest cells that hold the distances: landmarks are mostly central, and need not
        // be as far apart as the diameter.
        if let Some(landmarks) = self.measure::<u8>(graph, &components) {
            return self.build_on(landmarks, far);
        }
        // What a failed attempt left is returned before the next one.
        memory::give_back();
        if let Some(landmarks) = self.measure::<u16>(graph, &components) {
            return self.build_on(landmarks, far);
        }
        memory::give_back();
        match self.measure::<u32>(graph, &components) {
            Some(landmarks) => self.build_on(landmarks, far),
            None => Err(Error::graph("a distance exceeds 4 294 967 295 hops")),
        }
    }

    fn measure<T: HopCell>(&self, graph: &Graph, components: &Components) -> Option<Landmarks<T>> {
        let count = self.landmarks.unwrap_or(1);
        let most = most_landmarks(size_of::<T>());
        let count = if self.config.landmarks.is_none() { count.min(most) } else { count };
        let chosen = Landmarks::<T>::choose(graph, components, count);
        Landmarks::new(graph, components, chosen, self.searches)
    }

    fn build_on<T: HopCell>(
        &self,
        landmarks: Landmarks<T>,
        far: u32,
    ) -> Result<Box<dyn NegativeSampler>> {
        let law = DistanceLaw { gamma: self.config.gamma, bound: Bound::None };
        if self.law == Negatives::LandmarkApprox && law.gamma == 0.0 {
            return Ok(Box::new(Uniform { nodes: landmarks.nearest.len() }));
        }
        Ok(match self.law {
            Negatives::Landmark => Box::new(Landmark::new(landmarks, law, far)?),
            _ => Box::new(LandmarkApprox::new(landmarks, law, far)?),
        })
    }
}

/// Bounds of the diameter that tell how wide a stored distance has to be.
fn diameter(graph: &Graph, components: &Components) -> Diameter {
    /// Rings and the like would need a search from every node; they get wider cells.
    const SEARCHES: usize = 64;
    let within = |d: Diameter, most: u32| d.at_most <= most || d.at_least > most;
    let enough = |d: Diameter| within(d, u8::MOST) && within(d, u16::MOST);
    Diameter::until(graph, components, SEARCHES, enough)
}

/// As many landmarks as keep the distances between them small.
pub(super) fn most_landmarks(cell: usize) -> usize {
    (P2P_BYTES as f64 / cell as f64).sqrt() as usize
}

/// How many searches at a time the sources and the threads can use, and the memory allows.
fn affordable(sources: usize, search: u64, memory: u64) -> usize {
    let useful = rayon::current_num_threads().min(sources.div_ceil(SOURCES));
    let allowed = usize::try_from(memory / search.max(1)).unwrap_or(usize::MAX);
    useful.min(allowed).max(1)
}

#[cfg(test)]
mod tests;
