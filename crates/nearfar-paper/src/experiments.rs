//! The experiments as lists of training runs.

use nearfar::negative::LandmarkCount;
use nearfar::train::Settings;

use crate::cells::{Cell, Want};
use crate::graphs::Graphs;
use crate::rows::{ABLATION, BENCHMARKS, DISTANCE, GAE, Row, SYNTHETIC, TABLE_2, UNIFORM, table_3};
use crate::scope::Scope;

/// What can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Experiment {
    /// The graphs: sizes, degrees, diameters
    Table1,
    /// F1 of every method on every graph
    Table2,
    /// Size, time and F1 of landmarks on PubMed
    Table3,
    /// F1 against the context, uniform and distance-aware
    Context,
    /// F1 against the exponent of the distance
    Gamma,
    /// Distance-aware negatives bounded from above and from below
    Ablation,
    /// Similarity of vectors by the distance of their nodes
    Similarity,
    /// Maps of the vectors of CiteSeer
    Tsne,
    /// F1 with outliers among the training nodes
    Outliers,
    /// All of them, and an index
    All,
}

/// The same run at several seeds: a cell of a table, a point of a curve.
pub(crate) struct Group {
    pub(crate) graph: &'static str,
    pub(crate) row: String,
    /// Its place on a curve.
    pub(crate) x: f64,
    pub(crate) cells: Vec<Cell>,
}

impl Experiment {
    /// All experiments but `all`.
    pub(crate) const EACH: [Self; 9] = [
        Self::Table1,
        Self::Table2,
        Self::Table3,
        Self::Context,
        Self::Gamma,
        Self::Ablation,
        Self::Similarity,
        Self::Tsne,
        Self::Outliers,
    ];

    /// Its name, and that of its files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Table1 => "table1",
            Self::Table2 => "table2",
            Self::Table3 => "table3",
            Self::Context => "context",
            Self::Gamma => "gamma",
            Self::Ablation => "ablation",
            Self::Similarity => "similarity",
            Self::Tsne => "tsne",
            Self::Outliers => "outliers",
            Self::All => "index",
        }
    }

    /// The graphs that it is about.
    pub(crate) fn graphs(self, scope: &Scope) -> Vec<&'static str> {
        match self {
            Self::Table1 => BENCHMARKS.into_iter().chain(SYNTHETIC).collect(),
            Self::Table2 => BENCHMARKS.into_iter().filter(|graph| scope.takes(graph)).collect(),
            Self::Table3 => vec![if scope.quick { "citeseer" } else { "pubmed" }],
            Self::Context => vec!["citeseer", "cora", "ppi"],
            Self::Gamma | Self::Ablation | Self::Similarity => SYNTHETIC.to_vec(),
            Self::Tsne | Self::Outliers => vec!["citeseer"],
            Self::All => vec![],
        }
    }

    /// Its runs, on those graphs that are there.
    pub(crate) fn groups(self, scope: &Scope, graphs: &Graphs) -> Vec<Group> {
        let mut runs = Runs { scope, sweep: self != Self::Table2, groups: Vec::new() };
        for graph in self.graphs(scope).into_iter().filter(|graph| graphs.has(graph)) {
            self.on(graph, &mut runs);
        }
        runs.groups
    }

    fn on(self, graph: &'static str, runs: &mut Runs<'_>) {
        let scope = runs.scope;
        match self {
            Self::Table1 | Self::All => {}
            Self::Table2 => {
                for row in TABLE_2.iter().filter(|row| Scope::can(row, graph)) {
                    runs.add(graph, row.name.to_owned(), 0.0, Want::Scores, |seed| {
                        row.settings(seed)
                    });
                }
            }
            Self::Table3 => {
                for scaling in table_3() {
                    let settings = |seed| {
                        let mut settings = scaling.row.settings(seed);
                        settings.negatives.landmarks =
                            scaling.landmarks.map(LandmarkCount::Fraction);
                        settings
                    };
                    let share = scaling.landmarks.unwrap_or(1.0);
                    runs.add(graph, scaling.name(), share, Want::Scores, settings);
                }
            }
            Self::Context => {
                for (row, context) in pairs(&[UNIFORM, DISTANCE], &scope.contexts()) {
                    let settings = |seed| with_context(row, context, seed);
                    runs.add(graph, row.name.to_owned(), context as f64, Want::Scores, settings);
                }
            }
            Self::Gamma => {
                for (&gamma, context) in pairs(&scope.gammas(), &scope.few_contexts()) {
                    let settings = |seed| {
                        let mut settings = with_context(&DISTANCE, context, seed);
                        settings.negatives.gamma = gamma;
                        settings
                    };
                    runs.add(graph, format!("γ = {gamma}"), context as f64, Want::Scores, settings);
                }
            }
            Self::Ablation => {
                for (row, context) in pairs(&ABLATION, &scope.few_contexts()) {
                    let settings = |seed| with_context(row, context, seed);
                    runs.add(graph, row.name.to_owned(), context as f64, Want::Scores, settings);
                }
            }
            Self::Similarity => {
                for row in [UNIFORM, DISTANCE] {
                    let settings = |seed| row.settings(seed);
                    runs.add(graph, row.name.to_owned(), 0.0, Want::Similarity, settings);
                }
            }
            Self::Tsne => {
                for row in [DISTANCE, UNIFORM, GAE] {
                    runs.add(graph, row.name.to_owned(), 0.0, Want::Map, |seed| row.settings(seed));
                    runs.groups.iter_mut().for_each(|group| group.cells.truncate(1));
                }
            }
            Self::Outliers => {
                for (row, count) in pairs(&[UNIFORM, DISTANCE], &scope.outliers()) {
                    let settings = |seed| row.settings(seed);
                    runs.add(graph, row.name.to_owned(), count as f64, Want::Scores, settings);
                    let added =
                        runs.groups.last_mut().into_iter().flat_map(|group| &mut group.cells);
                    added.for_each(|cell| cell.outliers = count);
                }
            }
        }
    }
}

struct Runs<'a> {
    scope: &'a Scope,
    sweep: bool,
    groups: Vec<Group>,
}

impl Runs<'_> {
    fn add(
        &mut self,
        graph: &'static str,
        row: String,
        x: f64,
        want: Want,
        settings: impl Fn(u64) -> Settings,
    ) {
        let cell = |seed| {
            let settings = self.scope.adjusted(settings(seed), graph);
            let name = if x > 0.0 { format!("{row} ({x})") } else { row.clone() };
            Cell { row: name, graph, outliers: 0, settings, want }
        };
        let cells = (0..self.scope.seeds(graph, self.sweep)).map(cell).collect();
        self.groups.push(Group { graph, row, x, cells });
    }
}

/// The row with another context. The usual one is left as it is, so that it is one run in sweeps and
/// in tables.
fn with_context(row: &Row, context: usize, seed: u64) -> Settings {
    let mut settings = row.settings(seed);
    let usual = settings.train.window();
    settings.train.context = Some(context).filter(|&context| context != usual);
    settings
}

fn pairs<'a, T>(curves: &'a [T], places: &[usize]) -> impl Iterator<Item = (&'a T, usize)> {
    curves.iter().flat_map(move |curve| places.iter().map(move |&place| (curve, place)))
}
