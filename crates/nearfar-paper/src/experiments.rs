//! The experiments of the paper, each a list of training runs.

use nearfar::negative::LandmarkCount;
use nearfar::train::Settings;

use crate::graphs::Graphs;
use crate::grid::Grid;
use crate::methods::{
    ABLATION, BENCHMARKS, DISTANCE, GAE, Method, SYNTHETIC, TABLE_2, UNIFORM, table_3,
};
use crate::runs::{Output, TrainingRun};

/// A table or figure of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Experiment {
    /// Statistics of the graphs: nodes, edges, classes, diameter
    Table1,
    /// F1 of every method on every benchmark graph
    Table2,
    /// Memory, time and F1 of landmark sampling on PubMed
    Table3,
    /// F1 by context size, uniform and distance-aware negatives
    Context,
    /// F1 by the exponent γ of the distance
    Gamma,
    /// Distance-aware negatives with bounded probabilities
    Ablation,
    /// Similarity of vectors by distance of their nodes
    Similarity,
    /// t-SNE maps of CiteSeer
    Tsne,
    /// F1 by number of outliers among the training nodes
    Outliers,
    /// All of the above, and an index page
    All,
}

/// Runs that differ only in their seed: an entry of a table, a point of a curve.
pub(crate) struct Group {
    pub(crate) graph: &'static str,
    /// Row of the table or curve of the figure.
    pub(crate) method: String,
    /// The parameter that the experiment varies.
    pub(crate) x: f64,
    pub(crate) runs: Vec<TrainingRun>,
}

impl Experiment {
    /// All experiments except `all`.
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

    /// The name, also of its output files.
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

    /// The graphs of the experiment.
    pub(crate) fn graphs(self, grid: &Grid) -> Vec<&'static str> {
        match self {
            Self::Table1 => BENCHMARKS.into_iter().chain(SYNTHETIC).collect(),
            Self::Table2 => BENCHMARKS.into_iter().filter(|graph| grid.includes(graph)).collect(),
            Self::Table3 => vec![if grid.quick { "citeseer" } else { "pubmed" }],
            Self::Context => vec!["citeseer", "cora", "ppi"],
            Self::Gamma | Self::Ablation | Self::Similarity => SYNTHETIC.to_vec(),
            Self::Tsne | Self::Outliers => vec!["citeseer"],
            Self::All => vec![],
        }
    }

    /// The runs on the available graphs, grouped by seed.
    pub(crate) fn groups(self, grid: &Grid, graphs: &Graphs) -> Vec<Group> {
        let mut list = RunList { grid, sweep: self != Self::Table2, groups: Vec::new() };
        for graph in self.graphs(grid).into_iter().filter(|graph| graphs.has(graph)) {
            self.add_runs(graph, &mut list);
        }
        list.groups
    }

    fn add_runs(self, graph: &'static str, list: &mut RunList<'_>) {
        let grid = list.grid;
        match self {
            Self::Table1 | Self::All => {}
            Self::Table2 => {
                for method in TABLE_2.iter().filter(|method| Grid::supports(method, graph)) {
                    let settings = |seed| method.settings(seed);
                    list.add(graph, method.name.to_owned(), 0.0, Output::Scores, settings);
                }
            }
            Self::Table3 => {
                for row in table_3() {
                    let settings = |seed| {
                        let mut settings = row.method.settings(seed);
                        settings.negatives.landmarks = row.landmarks.map(LandmarkCount::Fraction);
                        settings
                    };
                    let fraction = row.landmarks.unwrap_or(1.0);
                    list.add(graph, row.name(), fraction, Output::Scores, settings);
                }
            }
            Self::Context => list.add_contexts(graph, &[UNIFORM, DISTANCE], &grid.contexts()),
            Self::Gamma => {
                for (&gamma, context) in product(&grid.gammas(), &grid.coarse_contexts()) {
                    let settings = |seed| {
                        let mut settings = with_context(&DISTANCE, context, seed);
                        settings.negatives.gamma = gamma;
                        settings
                    };
                    list.add(
                        graph,
                        format!("γ = {gamma}"),
                        context as f64,
                        Output::Scores,
                        settings,
                    );
                }
            }
            Self::Ablation => list.add_contexts(graph, &ABLATION, &grid.coarse_contexts()),
            Self::Similarity => {
                for method in [UNIFORM, DISTANCE] {
                    let settings = |seed| method.settings(seed);
                    list.add(graph, method.name.to_owned(), 0.0, Output::Similarity, settings);
                }
            }
            Self::Tsne => {
                for method in [DISTANCE, UNIFORM, GAE] {
                    let settings = |seed| method.settings(seed);
                    list.add(graph, method.name.to_owned(), 0.0, Output::Map, settings);
                    list.groups.iter_mut().for_each(|group| group.runs.truncate(1));
                }
            }
            Self::Outliers => {
                for (method, count) in product(&[UNIFORM, DISTANCE], &grid.outliers()) {
                    let settings = |seed| method.settings(seed);
                    list.add(graph, method.name.to_owned(), count as f64, Output::Scores, settings);
                    let added =
                        list.groups.last_mut().into_iter().flat_map(|group| &mut group.runs);
                    added.for_each(|run| run.outliers = count);
                }
            }
        }
    }
}

struct RunList<'a> {
    grid: &'a Grid,
    sweep: bool,
    groups: Vec<Group>,
}

impl RunList<'_> {
    fn add(
        &mut self,
        graph: &'static str,
        method: String,
        x: f64,
        output: Output,
        settings: impl Fn(u64) -> Settings,
    ) {
        let run = |seed| {
            let settings = self.grid.adjust(settings(seed), graph);
            let method = if x > 0.0 { format!("{method} ({x})") } else { method.clone() };
            TrainingRun { method, graph, outliers: 0, settings, output }
        };
        let runs = (0..self.grid.seeds(graph, self.sweep)).map(run).collect();
        self.groups.push(Group { graph, method, x, runs });
    }

    /// Every method with every context.
    fn add_contexts(&mut self, graph: &'static str, methods: &[Method], contexts: &[usize]) {
        for (method, context) in product(methods, contexts) {
            let settings = |seed| with_context(method, context, seed);
            self.add(graph, method.name.to_owned(), context as f64, Output::Scores, settings);
        }
    }
}

/// The method with another context. The default context stays unset, so that a sweep and a table
/// share the run.
fn with_context(method: &Method, context: usize, seed: u64) -> Settings {
    let mut settings = method.settings(seed);
    let default = settings.train.context.unwrap_or(settings.train.defaults().context);
    settings.train.context = Some(context).filter(|&context| context != default);
    settings
}

/// All pairs of a curve and a value of x.
fn product<'a, T>(curves: &'a [T], values: &[usize]) -> impl Iterator<Item = (&'a T, usize)> {
    curves.iter().flat_map(move |curve| values.iter().map(move |&value| (curve, value)))
}
