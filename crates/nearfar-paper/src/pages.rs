//! The pages of the experiments: a table and a figure each, from what came out of the runs.

use anyhow::Context;
use nearfar::distance::DistanceSummary;
use nearfar::negative::Negatives;

use crate::cells::{Outcome, Results};
use crate::experiments::{Experiment, Group};
use crate::figure::{Figure, Mark, Panel, Point, Series};
use crate::graphs::Graphs;
use crate::page::{Page, table};
use crate::rows::{BENCHMARKS, TABLE_2, table_3};
use crate::scope::{PUBMED_EPOCHS, Scope};

/// A mean and the deviation around it.
#[derive(Clone, Copy, Default)]
struct Mean {
    mean: f64,
    deviation: f64,
}

impl Mean {
    fn of(values: &[f64]) -> Self {
        let n = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / n;
        let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
        Self { mean, deviation: square.sqrt() }
    }
}

/// A group with what came out of its runs.
struct Found<'a> {
    group: &'a Group,
    outcomes: Vec<Outcome>,
}

impl Found<'_> {
    fn mean(&self, value: impl Fn(&Outcome) -> f64) -> Mean {
        Mean::of(&self.outcomes.iter().map(value).collect::<Vec<_>>())
    }

    /// F1 at the epoch chosen on test, chosen on validation, and at the last.
    fn f1(&self) -> [Mean; 3] {
        let choices = [Outcome::chosen_on_test, Outcome::chosen_on_validation, Outcome::last];
        choices.map(|choice| self.mean(choice))
    }
}

/// What pages are made from.
pub(crate) struct Press<'a> {
    pub(crate) scope: &'a Scope,
    pub(crate) graphs: &'a Graphs,
    pub(crate) results: &'a Results,
}

impl Press<'_> {
    /// The page of an experiment whose runs are done.
    pub(crate) fn page(&self, experiment: Experiment, groups: &[Group]) -> anyhow::Result<Page> {
        let mut found = Vec::new();
        for group in groups {
            let outcome = |cell| self.results.get(cell, self.graphs)?.context("a run is missing");
            let outcomes = group.cells.iter().map(outcome).collect::<anyhow::Result<_>>()?;
            found.push(Found { group, outcomes });
        }
        let mut page = match experiment {
            Experiment::Table1 | Experiment::All => self.graphs_page()?,
            Experiment::Table2 => methods_page(&found),
            Experiment::Table3 => scaling_page(&found),
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
        let missing: Vec<&str> = experiment.graphs(self.scope);
        let missing: Vec<&str> =
            missing.into_iter().filter(|graph| !self.graphs.has(graph)).collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            page.text = format!("{}\n\nNot at hand, and left out: {missing}.", page.text);
        }
        if self.scope.quick {
            page.text += "\n\n**A quick look**: few epochs, few walks, one seed. The scores say \
                          nothing about the methods.";
        }
        Ok(page)
    }

    /// Table 1, with the distances of all pairs.
    fn graphs_page(&self) -> anyhow::Result<Page> {
        let head = ["graph", "nodes", "edges, counted twice", "classes", "diameter", "mean degree"];
        let (mut rows, mut legend, mut series) = (Vec::new(), Vec::new(), Vec::new());
        let names = Experiment::Table1.graphs(self.scope);
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
            let share = |(&d, &pairs): (&u32, &u64)| {
                Point::at(f64::from(d), 100.0 * pairs as f64 / all.max(1) as f64)
            };
            let points = stats.distance_histogram.iter().map(share).collect();
            series.push(Series { of: legend.len(), mark: Mark::Line, points });
            legend.push(name.to_owned());
        }
        let (x, y) = ("distance in hops".to_owned(), "pairs, %".to_owned());
        let title = "How far apart nodes are".to_owned();
        let panel = Panel { title, x, y, series, log_x: true, ..Default::default() };
        let figure = Figure { legend, panels: vec![panel], columns: 1, size: (1080, 380) };
        let text = "The graphs of the paper's Table 1, counted by `nearfar stats`. The table says \
                    what the paper's does; the figure shows why distances matter more in some \
                    graphs than in others.";
        Ok(Page {
            title: "Table 1: the graphs".to_owned(),
            text: text.to_owned(),
            head: head.map(str::to_owned).to_vec(),
            rows,
            figure,
            ..Page::default()
        })
    }

    /// Maps of vectors, coloured by class.
    fn maps_page(&self, found: &[Found<'_>]) -> anyhow::Result<Page> {
        let (mut panels, mut legend, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for one in found {
            let labels = &self.graphs.get(one.group.graph, 0)?.labels;
            legend.clone_from(&labels.names);
            let mut series: Vec<Series> = (0..legend.len())
                .map(|of| Series { of, mark: Mark::Dot, points: Vec::new() })
                .collect();
            let places = one.outcomes.first().map_or(&[][..], |outcome| &outcome.places);
            for (place, of) in places.iter().zip(&labels.of) {
                let [x, y] = place.map(f64::from);
                if let Some(&class) = of.first() {
                    series[class as usize].points.push(Point::at(x, y));
                    let class = &legend[class as usize];
                    rows.push(vec![
                        one.group.row.clone(),
                        class.clone(),
                        x.to_string(),
                        y.to_string(),
                    ]);
                }
            }
            panels.push(Panel { title: one.group.row.clone(), series, ..Default::default() });
        }
        let legend = legend.iter().map(|name| format!("class {name}")).collect();
        let figure = Figure { legend, columns: panels.len(), panels, size: (420, 420) };
        let text = "t-SNE of the vectors after the last epoch, coloured by class: the paper's \
                    figure of CiteSeer. What t-SNE puts side by side belongs together; how far \
                    apart clusters lie says little.";
        Ok(Page {
            title: "Maps of CiteSeer".to_owned(),
            text: text.to_owned(),
            head: ["method", "class", "x", "y"].map(str::to_owned).to_vec(),
            rows,
            figure,
            long: true,
            ..Page::default()
        })
    }
}

const CHOICES: [&str; 3] = ["epoch chosen on test", "chosen on validation", "last epoch"];

const CONTEXT: &str = "DeepWalk by the paper's protocol, F1-macro on test at the epoch that is best on test, as the \
     paper has it (the other choices are in the table). Bands are one deviation over the seeds. \
     The paper: distance-aware negatives are ahead at small contexts, and the two meet at large \
     ones.";
const GAMMA: &str = "DeepWalk with negatives ∝ distance^γ by the paper's protocol on its synthetic graphs. γ = 0 \
     is the uniform law; the paper found a deviation from its uniform sampler that it could not \
     explain. Two causes are in its code: at γ = 0 a node was its own negative (0⁰ = 1), which is \
     never so here; and the windows of a node share their negatives in a batch, but for the \
     uniform sampler's, which are drawn anew for every window. The latter is kept, and the \
     deviation with it.";
const ABLATION: &str = "DeepWalk with distance-aware negatives as they are, bounded from above by the uniform \
     probability (min), and from below (max), beside uniform ones. The paper: min follows \
     distance, max follows uniform.";
const OUTLIERS: &str = "Outliers are nodes with one edge far away from a class whose label they carry, added to the \
     training nodes of CiteSeer. The paper: outliers hurt all methods.";

/// Table 2.
fn methods_page(found: &[Found<'_>]) -> Page {
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
        let (f1, paper) = (one.f1(), paper_of(&one.group.row, one.group.graph));
        let mut row = vec![one.group.graph.to_owned(), one.group.row.clone()];
        row.push(one.outcomes.len().to_string());
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
            .map(|of| Series {
                of,
                mark: if of == 3 { Mark::Cross } else { Mark::Disc },
                points: vec![],
            })
            .collect();
        for one in found.iter().filter(|one| one.group.graph == *graph) {
            let place = names.iter().position(|name| *name == one.group.row).unwrap_or(0) as f64;
            for (at, f1) in one.f1().into_iter().enumerate() {
                let y = 0.22 * (1.0 - at as f64) - place;
                series[at].points.push(Point { x: f1.mean, y, deviation: f1.deviation });
            }
            if let Some(paper) = paper_of(&one.group.row, graph) {
                series[3].points.push(Point::at(paper, -place));
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
            let one =
                found.iter().find(|one| (one.group.graph, &*one.group.row) == (*graph, row.name));
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
         validation-chosen / last*: at the epoch that is best on test, which is how the paper's \
         figures (in brackets) were made; at the one that is best on validation; and at the last. \
         Only the latter two are honest. The paper's walks have 30 epochs, here {PUBMED_EPOCHS} of \
         them on PubMed. The rows below *DeepWalk landmark* are not the paper's: an autoencoder \
         with distance-aware negatives, our default trainer, and all pairs at once.\n\n{wide}"
    );
    Page {
        title: "Table 2: classification".to_owned(),
        text,
        head: head.map(|name| name.trim().to_owned()).to_vec(),
        rows,
        figure,
        long: true,
        ..Page::default()
    }
}

/// Table 3.
fn scaling_page(found: &[Found<'_>]) -> Page {
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
        .flat_map(|mark| (0..3).map(move |of| Series { of, mark, points: Vec::new() }))
        .collect();
    let mut rows = Vec::new();
    for (one, scaling) in found.iter().zip(table_3()) {
        let megabytes = one.mean(|outcome| outcome.bytes as f64 / 1e6).mean;
        let (seconds, [test, _, last]) = (one.mean(|outcome| outcome.seconds).mean, one.f1());
        let [paper_size, paper_seconds, paper_f1] = scaling.paper;
        rows.push(vec![
            one.group.row.clone(),
            format!("{megabytes:.1}"),
            paper_size.to_string(),
            format!("{seconds:.2}"),
            paper_seconds.to_string(),
            four(test.mean),
            four(last.mean),
            format!("{paper_f1:.2}"),
        ]);
        let of = match scaling.row.negatives {
            Negatives::LandmarkApprox => 0,
            Negatives::Landmark => 1,
            _ => 2,
        };
        series[of].points.push(Point::at(megabytes, seconds));
        series[of + 3].points.push(Point::at(paper_size, paper_seconds));
    }
    let panel = Panel {
        title: "Size and time of the negatives".to_owned(),
        x: "MB".to_owned(),
        y: "seconds an epoch".to_owned(),
        series,
        log_x: true,
        log_y: true,
        ..Default::default()
    };
    let legend = ["landmark-approx", "landmark", "exact"].map(str::to_owned).to_vec();
    let text = "Landmarks (the paper's DNS-approx and DNS-scalable) against exact distances, by \
                the paper's protocol: discs are ours, on two cores, crosses the paper's, on a \
                Titan RTX. Sizes are those of the negatives' tables.";
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
fn similarity_page(found: &[Found<'_>]) -> Page {
    let mut rows = Vec::new();
    let curve = |one: &Found<'_>| -> Vec<Point> {
        let longest = one.outcomes.iter().map(|outcome| outcome.xi.len()).max().unwrap_or(0);
        let point = |at: usize| {
            let xi = one.mean(|outcome| outcome.xi.get(at).copied().unwrap_or(0.0));
            Point { x: (at + 1) as f64, y: xi.mean, deviation: xi.deviation }
        };
        (0..longest).map(point).collect()
    };
    for one in found {
        for point in curve(one) {
            let (graph, row) = (one.group.graph.to_owned(), one.group.row.clone());
            rows.push(vec![graph, row, point.x.to_string(), four(point.y), four(point.deviation)]);
        }
    }
    let figure =
        panels_by_graph(found, "distance d in hops", "ξ, mean of σ(z·z)", |_, curves| {
            curves.iter().flat_map(|one| curve(one)).collect()
        });
    let text = "The mean similarity ξ of nodes by their distance, after the last epoch of the \
                paper's protocol (context 4). The paper: with distance-aware negatives ξ falls \
                with the distance, like 1/d beyond the context.";
    Page {
        title: "Similarity by distance".to_owned(),
        text: text.to_owned(),
        head: ["graph", "method", "distance", "xi", "deviation"].map(str::to_owned).to_vec(),
        rows,
        figure,
        long: true,
        ..Page::default()
    }
}

/// F1 along a parameter.
fn sweep_page(found: &[Found<'_>], title: &str, x: &str, text: &str) -> Page {
    let head =
        ["graph", "curve", x, "seeds", "test-chosen", "validation-chosen", "last", "deviation"];
    let row = |one: &Found<'_>| {
        let f1 = one.f1();
        let mut row = vec![one.group.graph.to_owned(), one.group.row.clone()];
        row.extend([one.group.x.to_string(), one.outcomes.len().to_string()]);
        row.extend(f1.iter().map(|f1| four(f1.mean)));
        row.push(four(f1[0].deviation));
        row
    };
    let figure = panels_by_graph(found, x, "F1-macro", |_, curve| {
        let point = |one: &&Found<'_>| {
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

/// A panel for each graph, with a line for each row.
fn panels_by_graph<'a>(
    found: &'a [Found<'a>],
    x: &str,
    y: &str,
    points: impl Fn(&str, &[&'a Found<'a>]) -> Vec<Point>,
) -> Figure {
    let mut legend: Vec<String> = Vec::new();
    let mut graphs: Vec<&str> = Vec::new();
    for one in found {
        if !legend.contains(&one.group.row) {
            legend.push(one.group.row.clone());
        }
        if !graphs.contains(&one.group.graph) {
            graphs.push(one.group.graph);
        }
    }
    let panel = |graph: &&str| {
        let series = legend.iter().enumerate().map(|(of, row)| {
            let of_curve = |one: &&Found<'_>| one.group.graph == *graph && one.group.row == *row;
            let curve: Vec<&Found<'_>> = found.iter().filter(of_curve).collect();
            Series { of, mark: Mark::Line, points: points(row, &curve) }
        });
        let series = series.collect();
        let (title, x, y) = ((*graph).to_owned(), x.to_owned(), y.to_owned());
        Panel { title, x, y, series, ..Default::default() }
    };
    let panels: Vec<Panel> = graphs.iter().map(panel).collect();
    Figure { legend, columns: panels.len().max(1), panels, size: (420, 360) }
}

/// Four digits.
fn four(value: f64) -> String {
    format!("{value:.4}")
}
