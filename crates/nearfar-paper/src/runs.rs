//! Training runs and their results. A finished run is a line of `runs.jsonl` and is not repeated.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use nearfar::evaluate::PeriodicScores;
use nearfar::evaluate::measure::{MeasureConfig, measure};
use nearfar::project::{ProjectConfig, project};
use nearfar::train::{Checkpoint, Event, Settings, Sink, State, TrainPlan};
use nearfar::{Budget, embed};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::graphs::Graphs;

/// A training run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TrainingRun {
    /// The name of the method, for messages.
    pub(crate) method: String,
    pub(crate) graph: &'static str,
    /// Number of outliers to add to the graph.
    pub(crate) outliers: usize,
    pub(crate) settings: Settings,
    pub(crate) output: Output,
}

/// What is computed from the vectors, in addition to their scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Output {
    Scores,
    /// ξ by distance.
    Similarity,
    /// Positions in the plane, by t-SNE.
    Map,
}

/// The result of a run. The names of the fields are those of `runs.jsonl`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunResult {
    /// Epoch, and F1-macro on validation and on test after it.
    pub(crate) curve: Vec<(usize, f64, f64)>,
    /// Training time of an epoch, without scoring, in seconds.
    pub(crate) seconds: f64,
    /// Memory of the negative sampler.
    pub(crate) bytes: u64,
    /// Time of the run, scoring included, divided by the number of runs side by side, in seconds.
    #[serde(default, rename = "machine")]
    pub(crate) machine_seconds: f64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) xi: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "places")]
    pub(crate) positions: Vec<[f32; 2]>,
}

impl RunResult {
    /// F1 on test at the epoch that is best on test, as in the paper.
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

    /// F1 on test after the last epoch.
    pub(crate) fn last(&self) -> f64 {
        self.curve.last().map_or(0.0, |&(_, _, test)| test)
    }
}

/// Results by run, and the file that stores them.
pub(crate) struct Results {
    file: Mutex<File>,
    by_key: Mutex<HashMap<String, RunResult>>,
}

/// A line of `runs.jsonl`.
#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(rename = "cell")]
    key: Value,
    #[serde(rename = "outcome")]
    result: RunResult,
}

impl Results {
    /// Opens the file and reads the finished runs. An incomplete last line is removed.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            text => text.with_context(|| path.display().to_string())?,
        };
        let complete = text.rfind('\n').map_or(0, |end| end + 1);
        let mut by_key = HashMap::new();
        for (index, line) in text[..complete].lines().enumerate() {
            let line: Line = serde_json::from_str(line).with_context(|| {
                let position = format!("{}:{}", path.display(), index + 1);
                format!("{position}: not a run; delete the line or choose another folder with -o")
            })?;
            by_key.insert(line.key.to_string(), line.result);
        }
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.with_context(|| path.display().to_string())?;
        file.set_len(complete as u64)?;
        Ok(Self { file: Mutex::new(file), by_key: Mutex::new(by_key) })
    }

    /// The result of a run, if it is finished.
    pub(crate) fn get(
        &self,
        run: &TrainingRun,
        graphs: &Graphs,
    ) -> anyhow::Result<Option<RunResult>> {
        let key = run.key(graphs)?.to_string();
        Ok(self.by_key.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned())
    }

    /// Total time of all runs, in seconds.
    pub(crate) fn machine_seconds(&self) -> f64 {
        let by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        by_key.values().map(|result| result.machine_seconds).sum()
    }

    fn put(&self, key: Value, result: RunResult) -> anyhow::Result<()> {
        let line = Line { key, result };
        let text = serde_json::to_string(&line)? + "\n";
        self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(text.as_bytes())?;
        let mut by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        by_key.insert(line.key.to_string(), line.result);
        Ok(())
    }

    /// Performs all runs that are not finished. Results do not depend on the number of threads, so
    /// runs go side by side on one thread each. Runs on large graphs go one at a time on all
    /// threads: two of them would compete for the cache, and table 3 reports their time.
    pub(crate) fn run(
        &self,
        runs: &[TrainingRun],
        graphs: &Graphs,
        message: &(dyn Fn(&str) + Sync),
    ) -> anyhow::Result<()> {
        /// Nodes from which on a graph is large.
        const LARGE: usize = 10_000;
        let mut pending: Vec<&TrainingRun> = Vec::new();
        for run in runs {
            if self.get(run, graphs)?.is_none() && !pending.iter().any(|other| other.same_key(run))
            {
                pending.push(run);
            }
        }
        let (mut sequential, mut parallel) = (Vec::new(), Vec::new());
        for &run in &pending {
            let large = graphs.get(run.graph, run.outliers)?.graph.nodes() >= LARGE;
            if large { &mut sequential } else { &mut parallel }.push(run);
        }
        let (start, done, total) = (Instant::now(), AtomicUsize::new(0), pending.len());
        let threads = rayon::current_num_threads();
        let perform = |run: &TrainingRun, concurrency: usize| -> anyhow::Result<()> {
            let begin = Instant::now();
            let mut result = run.perform(graphs).with_context(|| run.to_string())?;
            let seconds = begin.elapsed().as_secs_f64();
            result.machine_seconds = seconds / concurrency as f64;
            let f1 = result.chosen_on_test();
            self.put(run.key(graphs)?, result)?;
            let done = done.fetch_add(1, Relaxed) + 1;
            let left = start.elapsed().as_secs_f64() * (total - done) as f64 / done as f64 / 60.0;
            message(&format!(
                "[{done}/{total}] {run}: F1 {f1:.3}, {seconds:.1} s; about {left:.0} min left"
            ));
            Ok(())
        };
        let next = AtomicUsize::new(0);
        let worker = || -> anyhow::Result<()> {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
            while let Some(run) = parallel.get(next.fetch_add(1, Relaxed)) {
                pool.install(|| perform(run, threads))?;
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
            let mut results = workers.into_iter().map(|worker| match worker.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            results.try_for_each(|result| result)
        })?;
        sequential.into_iter().try_for_each(|run| perform(run, 1))
    }
}

impl TrainingRun {
    /// Everything that the result depends on, under the names of `runs.jsonl`.
    fn key(&self, graphs: &Graphs) -> anyhow::Result<Value> {
        let dataset = graphs.get(self.graph, self.outliers)?;
        let settings = self.settings.describe(&dataset.graph);
        Ok(json!({
            "graph": self.graph,
            "outliers": self.outliers,
            "want": self.output,
            "settings": settings,
        }))
    }

    fn same_key(&self, other: &Self) -> bool {
        (self.graph, self.outliers, self.output) == (other.graph, other.outliers, other.output)
            && self.settings == other.settings
    }

    fn perform(&self, graphs: &Graphs) -> anyhow::Result<RunResult> {
        /// A run is scored about this many times, as often as in the paper.
        const SCORINGS: usize = 30;
        let dataset = graphs.get(self.graph, self.outliers)?;
        let (graph, train) = (&dataset.graph, &self.settings.train);
        let (labels, splits) = (&dataset.labels, &dataset.splits);
        let budget = Budget { memory: 16_000_000_000, ..Default::default() };
        let mut recorder = Recorder::default();
        let epochs = train.epochs.unwrap_or(train.defaults().epochs);
        let every = epochs.div_ceil(SCORINGS);
        let mut scored = PeriodicScores::new(every, graph, labels, splits, &mut recorder)?;
        let embedding = embed(graph, &self.settings, &budget, &mut scored)?;
        let Recorder { curve, training, bytes, .. } = recorder;
        let seconds = training.as_secs_f64() / epochs as f64;
        let result = RunResult { curve, seconds, bytes, ..Default::default() };
        Ok(match self.output {
            Output::Scores => result,
            Output::Map => {
                let config = ProjectConfig { seed: train.seed, ..Default::default() };
                let positions = project(&embedding, &config)?.positions;
                RunResult { positions, ..result }
            }
            Output::Similarity => {
                let xi = measure(&embedding, graph, &MeasureConfig::default())?.xi;
                RunResult { xi, ..result }
            }
        })
    }
}

impl std::fmt::Display for TrainingRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}, seed {}", self.graph, self.method, self.settings.train.seed)
    }
}

/// Records the scores during training, and the training time without scoring.
#[derive(Default)]
struct Recorder {
    curve: Vec<(usize, f64, f64)>,
    training: Duration,
    /// Memory of the negative sampler.
    bytes: u64,
    epoch_start: Option<Instant>,
}

impl Sink for Recorder {
    fn plan(&mut self, plan: &TrainPlan) -> nearfar::Result<ControlFlow<(), Option<Checkpoint>>> {
        self.bytes = plan.negatives.kept;
        Ok(ControlFlow::Continue(None))
    }

    fn event(&mut self, event: &Event) -> nearfar::Result<ControlFlow<()>> {
        match event {
            Event::Started { .. } | Event::Epoch { .. } => self.epoch_start = Some(Instant::now()),
            Event::Scores { epoch, val, test } => {
                let val = val.map_or(test.f1_macro, |val| val.f1_macro);
                self.curve.push((*epoch, val, test.f1_macro));
            }
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn state(&mut self, _: &State<'_>) -> nearfar::Result<ControlFlow<()>> {
        // The state is reported at the end of an epoch; scoring follows, and then the epoch's event.
        self.training += self.epoch_start.map_or(Duration::ZERO, |start| start.elapsed());
        Ok(ControlFlow::Continue(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_at_the_best_epochs_and_the_last() {
        let curve = vec![(1, 0.5, 0.4), (2, 0.7, 0.6), (3, 0.7, 0.8), (4, 0.6, 0.7)];
        let result = RunResult { curve, ..Default::default() };
        let scores = [result.chosen_on_test(), result.chosen_on_validation(), result.last()];
        assert_eq!(scores.map(|f1| (f1 * 10.0) as u32), [8, 6, 7]);
    }
}
