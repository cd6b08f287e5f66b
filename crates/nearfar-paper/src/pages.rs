//! The pages of the experiments: a table and a figure each, from the results of the runs.

use anyhow::Context;
use nearfar::distance::DistanceSummary;
use nearfar::negative::Negatives;

use crate::experiments::{Experiment, Group};
use crate::figure::{Figure, Mark, Panel, Point, Series};
use crate::graphs::Graphs;
use crate::grid::{Grid, PUBMED_EPOCHS};
use crate::methods::{BENCHMARKS, TABLE_2, table_3};
use crate::page::{Page, table};
use crate::runs::{Results, RunResult};

/// A mean and its standard deviation.
#[derive(Clone, Copy, Default)]
struct Mean {
    mean: f64,
    deviation: f64,
}

impl Mean {
    fn of(values: &[f64]) -> Self {
        let n = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
        Self { mean, deviation: variance.sqrt() }
    }
}

/// The results of the runs of a group.
struct GroupResults<'a> {
    group: &'a Group,
    results: Vec<RunResult>,
}

impl GroupResults<'_> {
    fn mean(&self, value: impl Fn(&RunResult) -> f64) -> Mean {
        Mean::of(&self.results.iter().map(value).collect::<Vec<_>>())
    }

    /// F1 at the epoch chosen on test, chosen on validation, and at the last.
    fn f1(&self) -> [Mean; 3] {
        let choices = [RunResult::chosen_on_test, RunResult::chosen_on_validation, RunResult::last];
        choices.map(|choice| self.mean(choice))
    }
}

/// Builds pages from results.
pub(crate) struct PageBuilder<'a> {
    pub(crate) grid: &'a Grid,
    pub(crate) graphs: &'a Graphs,
    pub(crate) results: &'a Results,
}

impl PageBuilder<'_> {
    /// The page of an experiment whose runs are finished.
    pub(crate) fn page(&self, experiment: Experiment, groups: &[Group]) -> anyhow::Result<Page> {
        let mut found = Vec::new();
        for group in groups {
            let result = |run| self.results.get(run, self.graphs)?.context("a run is missing");
            let results = group.runs.iter().map(result).collect::<anyhow::Result<_>>()?;
            found.push(GroupResults { group, results });
        }
        let mut page = match experiment {
            Experiment::Table1 | Experiment::All => self.graphs_page()?,
            Experiment::Table2 => methods_page(&found),
            Experiment::Table3 => landmarks_page(&found),
            Experiment::Similarity => similarity_page(&found),
            Experiment::Tsne => self.maps_page(&found)?,
            Experiment::Context => {
                sweep_page(&found, "F1 against the context", "context C", CONTEXT)
            }
            Experiment::Gamma => sweep_page(&found, "The exponent γ", "context C", GAMMA),
            Experiment::Ablation => sweep_page(&found, "Bounded distances", "context C", ABLATION),
            Experiment::Outliers => sweep_page(&found, "Outliers", "outliers", OUTLIERS),
        };
        page.name = experiment.name();
        let missing: Vec<&str> = experiment.graphs(self.grid);
        let missing: Vec<&str> =
            missing.into_iter().filter(|graph| !self.graphs.has(graph)).collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            page.text = format!("{}\n\nNot available, left out: {missing}.", page.text);
        }
        if self.grid.quick {
            page.text += "\n\n**Reduced version** (`--quick`): few epochs, few walks, one seed. The \
                          scores do not compare the methods.";
        }
        Ok(page)
    }

    /// Table 1, with the distribution of distances.
    fn graphs_page(&self) -> anyhow::Result<Page> {
        let head = ["graph", "nodes", "edges, counted twice", "classes", "diameter", "mean degree"];
        let (mut rows, mut legend, mut series) = (Vec::new(), Vec::new(), Vec::new());
        let names = Experiment::Table1.graphs(self.grid);
        for name in names.into_iter().filter(|name| self.graphs.has(name)) {
            let labelled = self.graphs.get(name, 0)?;
            let stats = DistanceSummary::new(&labelled.graph, None, 0);
            rows.push(vec![
                name.to_owned(),
                stats.graph.nodes.to_string(),
                stats.graph.edges_directed.to_string(),
                labelled.labels.classes().to_string(),
                stats.diameter.to_string(),
                format!("{:.2}", stats.graph.mean_degree),
            ]);
            let all: u64 = stats.distance_histogram.values().sum();
            let percentage = |(&d, &pairs): (&u32, &u64)| {
                Point::at(f64::from(d), 100.0 * pairs as f64 / all.max(1) as f64)
            };
            let points = stats.distance_histogram.iter().map(percentage).collect();
            series.push(Series { legend_index: legend.len(), mark: Mark::Line, points });
            legend.push(name.to_owned());
        }
        let (x, y) = ("distance in hops".to_owned(), "pairs, %".to_owned());
        let title = "Distances between nodes".to_owned();
        let panel = Panel { title, x, y, series, log_x: true, ..Default::default() };
        let figure = Figure { legend, panels: vec![panel], columns: 1, size: (1080, 380) };
        let text = "The graphs of the paper's table 1, with the statistics that `nearfar stats` \
                    prints. The figure shows the distribution of distances over all pairs of nodes.";
        Ok(Page {
            title: "Table 1: the graphs".to_owned(),
            text: text.to_owned(),
            head: head.map(str::to_owned).to_vec(),
            rows,
            figure,
            ..Page::default()
        })
    }

    /// t-SNE maps, coloured by class.
    fn maps_page(&self, found: &[GroupResults<'_>]) -> anyhow::Result<Page> {
        let (mut panels, mut legend, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for one in found {
            let labels = &self.graphs.get(one.group.graph, 0)?.labels;
            legend.clone_from(&labels.names);
            let mut series: Vec<Series> = (0..legend.len())
                .map(|legend_index| Series { legend_index, mark: Mark::Dot, points: Vec::new() })
                .collect();
            let positions = one.results.first().map_or(&[][..], |result| &result.positions);
            for (position, classes) in positions.iter().zip(&labels.of) {
                let [x, y] = position.map(f64::from);
                if let Some(&class) = classes.first() {
                    series[class as usize].points.push(Point::at(x, y));
                    let class = &legend[class as usize];
                    rows.push(vec![
                        one.group.method.clone(),
                        class.clone(),
                        x.to_string(),
                        y.to_string(),
                    ]);
                }
            }
            panels.push(Panel { title: one.group.method.clone(), series, ..Default::default() });
        }
        let legend = legend.iter().map(|name| format!("class {name}")).collect();
        let figure = Figure { legend, columns: panels.len(), panels, size: (420, 420) };
        let text = "t-SNE of the vectors after the last epoch, coloured by class: the paper's \
                    figure of CiteSeer. Points close together have similar vectors; distances \
                    between clusters carry little information.";
        Ok(Page {
            title: "t-SNE maps of CiteSeer".to_owned(),
            text: text.to_owned(),
            head: ["method", "class", "x", "y"].map(str::to_owned).to_vec(),
            rows,
            figure,
            csv_only: true,
            ..Page::default()
        })
    }
}

const CHOICES: [&str; 3] = ["epoch chosen on test", "chosen on validation", "last epoch"];

const CONTEXT: &str = "DeepWalk with the paper's protocol, F1-macro on test at the epoch that is best on test, as in \
     the paper; the table has the other choices. Bands are one standard deviation over the seeds. \
     The paper: distance-aware negatives score higher at small contexts, and the two meet at large \
     ones.";
const GAMMA: &str = "DeepWalk with negatives ∝ distance^γ, with the paper's protocol on its synthetic graphs. γ = 0 \
     is the uniform distribution; the paper found a deviation from its uniform sampler that it \
     could not explain. Two causes are in its code: at γ = 0 a node was its own negative (0⁰ = 1), \
     which never happens here; and the windows of a node share their negatives within a batch, \
     except those of the uniform sampler, which are drawn for every window. The latter is \
     reproduced here, and so is the deviation.";
const ABLATION: &str = "DeepWalk with distance-aware negatives, unbounded, with probabilities bounded from above by \
     the uniform probability (min) and from below (max), compared with uniform negatives. The \
     paper: min follows distance, max follows uniform.";
const OUTLIERS: &str = "Outliers are nodes with one edge, attached far away from the class whose label they carry and \
     added to the training nodes of CiteSeer. The paper: outliers lower the scores of all methods.";

/// Table 2.
fn methods_page(found: &[GroupResults<'_>]) -> Page {
    let head = [
        "graph",
        "method",
        "seeds",
        "test-chosen",
        "±",
        "validation-chosen",
        "± ",
        "last",
        "±  ",
        "paper",
        "difference",
    ];
    let paper_of = |row: &str, graph: &str| {
        let column = BENCHMARKS.iter().position(|name| *name == graph)?;
        TABLE_2.iter().find(|other| other.name == row)?.paper.map(|paper| paper[column])
    };
    let mut rows = Vec::new();
    for one in found {
        let (f1, paper) = (one.f1(), paper_of(&one.group.method, one.group.graph));
        let mut row = vec![one.group.graph.to_owned(), one.group.method.clone()];
        row.push(one.results.len().to_string());
        row.extend(f1.iter().flat_map(|f1| [f1.mean, f1.deviation]).map(four));
        row.push(paper.map_or(String::new(), |paper| format!("{paper:.2}")));
        row.push(paper.map_or(String::new(), |paper| format!("{:+.3}", f1[0].mean - paper)));
        rows.push(row);
    }
    let graphs: Vec<&str> = BENCHMARKS
        .into_iter()
        .filter(|name| found.iter().any(|one| one.group.graph == *name))
        .collect();
    let names: Vec<String> = TABLE_2.iter().map(|row| row.name.to_owned()).collect();
    let panel = |graph: &&str| {
        let mut series: Vec<Series> = (0..4)
            .map(|legend_index| Series {
                legend_index,
                mark: if legend_index == 3 { Mark::Cross } else { Mark::Disc },
                points: vec![],
            })
            .collect();
        for one in found.iter().filter(|one| one.group.graph == *graph) {
            let row = names.iter().position(|name| *name == one.group.method).unwrap_or(0) as f64;
            for (choice, f1) in one.f1().into_iter().enumerate() {
                let y = 0.22 * (1.0 - choice as f64) - row;
                series[choice].points.push(Point { x: f1.mean, y, deviation: f1.deviation });
            }
            if let Some(paper) = paper_of(&one.group.method, graph) {
                series[3].points.push(Point::at(paper, -row));
            }
        }
        let (title, names) = ((*graph).to_owned(), names.clone());
        Panel { title, x: "F1-macro".to_owned(), series, names, ..Default::default() }
    };
    let panels: Vec<Panel> = graphs.iter().map(panel).collect();
    let legend = CHOICES.into_iter().chain(["the paper"]).map(str::to_owned).collect();
    let figure = Figure { legend, panels, columns: 2, size: (620, 560) };
    let wide_head = std::iter::once("method").chain(graphs.iter().copied()).map(str::to_owned);
    let wide = TABLE_2.iter().map(|row| {
        let cell = |graph: &&str| {
            let one = found
                .iter()
                .find(|one| (one.group.graph, &*one.group.method) == (*graph, row.name));
            one.map_or("–".to_owned(), |one| {
                let [test, val, last] = one.f1().map(|f1| format!("{:.3}", f1.mean));
                let paper = paper_of(row.name, graph);
                let paper = paper.map_or(String::new(), |paper| format!(" ({paper:.2})"));
                format!("{test} / {val} / {last}{paper}")
            })
        };
        std::iter::once(row.name.to_owned()).chain(graphs.iter().map(cell)).collect()
    });
    let wide = table(&wide_head.collect::<Vec<_>>(), &wide.collect::<Vec<Vec<String>>>());
    let text = format!(
        "F1-macro of a linear classifier on the vectors, mean over seeds, as *test-chosen / \
         validation-chosen / last*: at the epoch that is best on test, as in the paper (its scores \
         are in brackets); at the epoch that is best on validation; and at the last. Only the latter \
         two do not select on test. Walk-based methods train for 30 epochs as in the paper, except \
         {PUBMED_EPOCHS} on PubMed. The rows below *DeepWalk landmark* are not in the paper: an \
         autoencoder with distance-aware negatives, the stream trainer with its defaults, and the \
         exact trainer.\n\n{wide}"
    );
    Page {
        title: "Table 2: classification".to_owned(),
        text,
        head: head.map(|name| name.trim().to_owned()).to_vec(),
        rows,
        figure,
        csv_only: true,
        ..Page::default()
    }
}

/// Table 3.
fn landmarks_page(found: &[GroupResults<'_>]) -> Page {
    let head = [
        "negatives",
        "MB",
        "paper's MB",
        "seconds an epoch",
        "paper's seconds",
        "F1, test-chosen",
        "F1, last",
        "paper's F1",
    ];
    let marks = [Mark::Disc, Mark::Cross].into_iter();
    let mut series: Vec<Series> = marks
        .flat_map(|mark| {
            (0..3).map(move |legend_index| Series { legend_index, mark, points: Vec::new() })
        })
        .collect();
    let mut rows = Vec::new();
    for (one, row) in found.iter().zip(table_3()) {
        let megabytes = one.mean(|result| result.bytes as f64 / 1e6).mean;
        let (seconds, [test, _, last]) = (one.mean(|result| result.seconds).mean, one.f1());
        let [paper_size, paper_seconds, paper_f1] = row.paper;
        rows.push(vec![
            one.group.method.clone(),
            format!("{megabytes:.1}"),
            paper_size.to_string(),
            format!("{seconds:.2}"),
            paper_seconds.to_string(),
            four(test.mean),
            four(last.mean),
            format!("{paper_f1:.2}"),
        ]);
        let index = match row.method.negatives {
            Negatives::LandmarkApprox => 0,
            Negatives::Landmark => 1,
            _ => 2,
        };
        series[index].points.push(Point::at(megabytes, seconds));
        series[index + 3].points.push(Point::at(paper_size, paper_seconds));
    }
    let panel = Panel {
        title: "Memory and time by sampler".to_owned(),
        x: "MB".to_owned(),
        y: "seconds an epoch".to_owned(),
        series,
        log_x: true,
        log_y: true,
        ..Default::default()
    };
    let legend = ["landmark-approx", "landmark", "exact"].map(str::to_owned).to_vec();
    let text = "Landmarks (DNS-approx and DNS-scalable in the paper) and exact distances, with the \
                paper's protocol. Discs: this program, on two cores; crosses: the paper, on a \
                Titan RTX. MB is the memory of the negative sampler.";
    Page {
        title: "Table 3: landmarks".to_owned(),
        text: text.to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows,
        figure: Figure { legend, panels: vec![panel], columns: 1, size: (720, 420) },
        ..Page::default()
    }
}

/// ξ by distance.
fn similarity_page(found: &[GroupResults<'_>]) -> Page {
    let mut rows = Vec::new();
    let curve = |one: &GroupResults<'_>| -> Vec<Point> {
        let longest = one.results.iter().map(|result| result.xi.len()).max().unwrap_or(0);
        let point = |index: usize| {
            let xi = one.mean(|result| result.xi.get(index).copied().unwrap_or(0.0));
            Point { x: (index + 1) as f64, y: xi.mean, deviation: xi.deviation }
        };
        (0..longest).map(point).collect()
    };
    for one in found {
        for point in curve(one) {
            let (graph, method) = (one.group.graph.to_owned(), one.group.method.clone());
            rows.push(vec![
                graph,
                method,
                point.x.to_string(),
                four(point.y),
                four(point.deviation),
            ]);
        }
    }
    let figure = panels_by_graph(found, "distance d in hops", "ξ, mean of σ(z·z)", |curves| {
        curves.iter().flat_map(|one| curve(one)).collect()
    });
    let text = "The mean similarity ξ of the vectors of two nodes by their distance, after the last \
                epoch of the paper's protocol (context 4). The paper: with distance-aware \
                negatives ξ falls with the distance, as 1/d beyond the context.";
    Page {
        title: "Similarity by distance".to_owned(),
        text: text.to_owned(),
        head: ["graph", "method", "distance", "xi", "deviation"].map(str::to_owned).to_vec(),
        rows,
        figure,
        csv_only: true,
        ..Page::default()
    }
}

/// F1 by the parameter that the experiment varies.
fn sweep_page(found: &[GroupResults<'_>], title: &str, x: &str, text: &str) -> Page {
    let head =
        ["graph", "curve", x, "seeds", "test-chosen", "validation-chosen", "last", "deviation"];
    let row = |one: &GroupResults<'_>| {
        let f1 = one.f1();
        let mut row = vec![one.group.graph.to_owned(), one.group.method.clone()];
        row.extend([one.group.x.to_string(), one.results.len().to_string()]);
        row.extend(f1.iter().map(|f1| four(f1.mean)));
        row.push(four(f1[0].deviation));
        row
    };
    let figure = panels_by_graph(found, x, "F1-macro", |curve| {
        let point = |one: &&GroupResults<'_>| {
            let f1 = one.f1()[0];
            Point { x: one.group.x, y: f1.mean, deviation: f1.deviation }
        };
        curve.iter().map(point).collect()
    });
    Page {
        title: title.to_owned(),
        text: text.to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: found.iter().map(row).collect(),
        figure,
        ..Page::default()
    }
}

/// A panel per graph, with a line per method.
fn panels_by_graph<'a>(
    found: &'a [GroupResults<'a>],
    x: &str,
    y: &str,
    points: impl Fn(&[&'a GroupResults<'a>]) -> Vec<Point>,
) -> Figure {
    let mut legend: Vec<String> = Vec::new();
    let mut graphs: Vec<&str> = Vec::new();
    for one in found {
        if !legend.contains(&one.group.method) {
            legend.push(one.group.method.clone());
        }
        if !graphs.contains(&one.group.graph) {
            graphs.push(one.group.graph);
        }
    }
    let panel = |graph: &&str| {
        let series = legend.iter().enumerate().map(|(legend_index, method)| {
            let on_curve =
                |one: &&GroupResults<'_>| one.group.graph == *graph && one.group.method == *method;
            let curve: Vec<&GroupResults<'_>> = found.iter().filter(on_curve).collect();
            Series { legend_index, mark: Mark::Line, points: points(&curve) }
        });
        let series = series.collect();
        let (title, x, y) = ((*graph).to_owned(), x.to_owned(), y.to_owned());
        Panel { title, x, y, series, ..Default::default() }
    };
    let panels: Vec<Panel> = graphs.iter().map(panel).collect();
    Figure { legend, columns: panels.len().max(1), panels, size: (420, 360) }
}

/// Four decimals.
fn four(value: f64) -> String {
    format!("{value:.4}")
}
