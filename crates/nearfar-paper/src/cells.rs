//! Cells: one training run each, and what came out of it. A cell that is done is a line of a file,
//! and is never run again.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use nearfar::embedding::Embedding;
use nearfar::evaluate::PeriodicScores;
use nearfar::evaluate::measure::{MeasureConfig, measure};
use nearfar::negative::parse_bytes;
use nearfar::project::{ProjectConfig, project};
use nearfar::train::{Event, Settings, Sink, State, embed};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::graphs::Graphs;

/// A training run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cell {
    /// What people know it by.
    pub(crate) row: String,
    pub(crate) graph: &'static str,
    /// Outliers that are added to the graph.
    pub(crate) outliers: usize,
    pub(crate) settings: Settings,
    pub(crate) want: Want,
}

/// What is wanted of the vectors, beside their scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Want {
    Scores,
    /// ξ by distance.
    Similarity,
    /// A map of them.
    Map,
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// Epoch, and F1-macro on validation and on test after it.
    pub(crate) curve: Vec<(usize, f64, f64)>,
    /// Seconds of an epoch of training.
    pub(crate) seconds: f64,
    /// Memory of the negatives.
    pub(crate) bytes: u64,
    /// Seconds of the whole machine that the run took, scoring and all.
    #[serde(default)]
    pub(crate) machine: f64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) xi: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) places: Vec<[f32; 2]>,
}

impl Outcome {
    /// F1 at the epoch that is best on test, as in the paper.
    pub(crate) fn chosen_on_test(&self) -> f64 {
        self.curve.iter().map(|&(_, _, test)| test).fold(0.0, f64::max)
    }

    /// F1 on test at the first epoch that is best on validation.
    pub(crate) fn chosen_on_validation(&self) -> f64 {
        let better = |best: (f64, f64), &(_, val, test): &(usize, f64, f64)| {
            if val > best.0 { (val, test) } else { best }
        };
        self.curve.iter().fold((f64::MIN, 0.0), better).1
    }

    /// F1 after the last epoch.
    pub(crate) fn last(&self) -> f64 {
        self.curve.last().map_or(0.0, |&(_, _, test)| test)
    }
}

/// Outcomes by cell, and the file that keeps them.
pub(crate) struct Results {
    file: Mutex<File>,
    by_key: Mutex<HashMap<String, Outcome>>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    cell: Value,
    outcome: Outcome,
}

impl Results {
    /// Opens the file, and reads what is there. A line that was not finished is cut off.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            text => text.with_context(|| path.display().to_string())?,
        };
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut by_key = HashMap::new();
        for (at, line) in text[..whole].lines().enumerate() {
            let line: Line = serde_json::from_str(line).with_context(|| {
                let place = format!("{}, line {}", path.display(), at + 1);
                format!("{place}: not a result; remove the line, or choose another folder")
            })?;
            by_key.insert(line.cell.to_string(), line.outcome);
        }
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.with_context(|| path.display().to_string())?;
        file.set_len(whole as u64)?;
        Ok(Self { file: Mutex::new(file), by_key: Mutex::new(by_key) })
    }

    /// What came out of a cell, if it was run.
    pub(crate) fn get(&self, cell: &Cell, graphs: &Graphs) -> anyhow::Result<Option<Outcome>> {
        let key = cell.key(graphs)?.to_string();
        Ok(self.by_key.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned())
    }

    /// Seconds that all runs took together.
    pub(crate) fn machine(&self) -> f64 {
        let by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        by_key.values().map(|outcome| outcome.machine).sum()
    }

    fn put(&self, key: Value, outcome: Outcome) -> anyhow::Result<()> {
        let line = Line { cell: key, outcome };
        let text = serde_json::to_string(&line)? + "\n";
        self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(text.as_bytes())?;
        let mut by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        by_key.insert(line.cell.to_string(), line.outcome);
        Ok(())
    }

    /// Runs all cells that were not run before. Results do not depend on the number of threads, so
    /// cells run side by side on one thread each, but for those of large graphs: two of these would
    /// push each other out of the cache, and theirs is the time of table 3.
    pub(crate) fn run(
        &self,
        cells: &[Cell],
        graphs: &Graphs,
        message: &(dyn Fn(&str) + Sync),
    ) -> anyhow::Result<()> {
        const LARGE: usize = 10_000;
        let mut missing: Vec<&Cell> = Vec::new();
        for cell in cells {
            if self.get(cell, graphs)?.is_none() && !missing.iter().any(|other| other.same(cell)) {
                missing.push(cell);
            }
        }
        let (mut alone, mut together) = (Vec::new(), Vec::new());
        for &cell in &missing {
            let large = graphs.get(cell.graph, cell.outliers)?.graph.nodes() >= LARGE;
            if large { &mut alone } else { &mut together }.push(cell);
        }
        let (start, done, all) = (Instant::now(), AtomicUsize::new(0), missing.len());
        let threads = rayon::current_num_threads();
        let one = |cell: &Cell, beside: usize| -> anyhow::Result<()> {
            let begin = Instant::now();
            let mut outcome = cell.run(graphs).with_context(|| cell.to_string())?;
            let seconds = begin.elapsed().as_secs_f64();
            outcome.machine = seconds / beside as f64;
            let f1 = outcome.chosen_on_test();
            self.put(cell.key(graphs)?, outcome)?;
            let done = done.fetch_add(1, Relaxed) + 1;
            let left = start.elapsed().as_secs_f64() * (all - done) as f64 / done as f64 / 60.0;
            message(&format!(
                "[{done}/{all}] {cell}: F1 {f1:.3}, {seconds:.1} s; about {left:.0} min left"
            ));
            Ok(())
        };
        let next = AtomicUsize::new(0);
        let worker = || -> anyhow::Result<()> {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
            while let Some(cell) = together.get(next.fetch_add(1, Relaxed)) {
                pool.install(|| one(cell, threads))?;
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
            let mut ended = workers.into_iter().map(|worker| match worker.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            ended.try_for_each(|result| result)
        })?;
        alone.into_iter().try_for_each(|cell| one(cell, 1))
    }
}

impl Cell {
    /// All that the outcome depends on.
    fn key(&self, graphs: &Graphs) -> anyhow::Result<Value> {
        let dataset = graphs.get(self.graph, self.outliers)?;
        let settings: Value = serde_json::from_str(&self.settings.describe(&dataset.graph))?;
        Ok(
            json!({"graph": self.graph, "outliers": self.outliers, "want": self.want, "settings": settings}),
        )
    }

    fn same(&self, other: &Self) -> bool {
        (self.graph, self.outliers, self.want) == (other.graph, other.outliers, other.want)
            && self.settings == other.settings
    }

    fn run(&self, graphs: &Graphs) -> anyhow::Result<Outcome> {
        /// A run is scored about so many times, as often as the paper's.
        const SCORINGS: usize = 30;
        let dataset = graphs.get(self.graph, self.outliers)?;
        let (graph, train) = (&dataset.graph, &self.settings.train);
        let (labels, splits) = (&dataset.labels, &dataset.splits);
        let (plan, _) =
            self.settings.plan(graph, parse_bytes("16GB").map_err(anyhow::Error::msg)?)?;
        let mut watch = Watch::default();
        let every = train.epochs().div_ceil(SCORINGS);
        let mut scored = PeriodicScores::new(every, graph, labels, splits, &mut watch)?;
        let vectors = embed(graph, &*plan.build(graph)?, train, &mut scored)?;
        let seconds = watch.training.as_secs_f64() / train.epochs() as f64;
        let outcome =
            Outcome { curve: watch.curve, seconds, bytes: plan.bytes, ..Default::default() };
        let embedding = |vectors| Embedding::new(graph.ids().clone(), train.dim, vectors);
        Ok(match self.want {
            Want::Scores => outcome,
            Want::Map => {
                let config = ProjectConfig { seed: train.seed, ..Default::default() };
                let places = project(&embedding(vectors)?, &config)?.positions;
                Outcome { places, ..outcome }
            }
            Want::Similarity => {
                let xi = measure(&embedding(vectors)?, graph, &MeasureConfig::default())?.xi;
                Outcome { xi, ..outcome }
            }
        })
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}, seed {}", self.graph, self.row, self.settings.train.seed)
    }
}

/// Listens to training: the scores, and the time that it takes without them.
#[derive(Default)]
struct Watch {
    curve: Vec<(usize, f64, f64)>,
    training: Duration,
    since: Option<Instant>,
}

impl Sink for Watch {
    fn event(&mut self, event: &Event) -> nearfar::Result<ControlFlow<()>> {
        match event {
            Event::Started { .. } | Event::Epoch { .. } => self.since = Some(Instant::now()),
            Event::Scores { epoch, val, test } => {
                let val = val.map_or(test.f1_macro, |val| val.f1_macro);
                self.curve.push((*epoch, val, test.f1_macro));
            }
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn state(&mut self, _: &State<'_>) -> nearfar::Result<ControlFlow<()>> {
        // The epoch is over; what follows until its event is scoring.
        self.training += self.since.map_or(Duration::ZERO, |since| since.elapsed());
        Ok(ControlFlow::Continue(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_are_chosen_on_test_on_validation_or_not_at_all() {
        let curve = vec![(1, 0.5, 0.4), (2, 0.7, 0.6), (3, 0.7, 0.8), (4, 0.6, 0.7)];
        let outcome = Outcome { curve, ..Default::default() };
        let chosen = [outcome.chosen_on_test(), outcome.chosen_on_validation(), outcome.last()];
        assert_eq!(chosen.map(|f1| (f1 * 10.0) as u32), [8, 6, 7]);
    }
}
