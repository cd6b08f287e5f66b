//! Classification scores during training, and early stopping.

use std::ops::ControlFlow;

use super::classify::{ClassifyConfig, SplitScores, classify};
use crate::embedding::Embedding;
use crate::error::{Error, Problem, Result};
use crate::graph::{Graph, Labels, Splits};
use crate::train::{Checkpoint, Event, Scores, Sink, State, TrainPlan};

/// Wraps another sink: after every `interval` epochs and after the last, classifies the nodes by
/// their vectors and passes the scores on as [`Event::Scores`], directly after the event of the
/// epoch. The trained vectors have the same bytes as without it.
///
/// ```
/// use std::sync::Arc;
/// use nearfar::evaluate::PeriodicScores;
/// use nearfar::graph::{ReadOptions, read};
/// use nearfar::train::{Settings, TrainConfig};
/// use nearfar::{Budget, embed};
///
/// let dataset = read("builtin:sparse", &ReadOptions::default())?;
/// let (labels, splits) = (dataset.labels.unwrap(), dataset.splits.unwrap());
/// let graph = Arc::new(dataset.graph);
/// let train = TrainConfig { dim: 16, epochs: Some(4), ..Default::default() };
/// let settings = Settings { train, ..Default::default() };
/// let mut sink = (); // ignores all events
/// let mut scores = PeriodicScores::new(2, &graph, &labels, &splits, &mut sink)?.stop_early(3)?;
/// embed(&graph, &settings, &Budget::default(), &mut scores)?;
/// let best = scores.best().unwrap();
/// assert!(best.epoch == 2 || best.epoch == 4);
/// # Ok::<(), nearfar::Error>(())
/// ```
pub struct PeriodicScores<'a> {
    /// Epochs between two evaluations.
    interval: usize,
    graph: &'a Graph,
    labels: &'a Labels,
    splits: &'a Splits,
    sink: &'a mut dyn Sink,
    /// Whether some nodes are in the validation split.
    has_val: bool,
    /// Evaluations without improvement until training stops.
    patience: Option<usize>,
    /// Epochs of the run.
    epochs: usize,
    /// Scores to pass on after the event of their epoch.
    pending: Option<Event>,
    best: Option<BestEpoch>,
    /// Evaluations since the best one.
    since_best: usize,
}

/// The vectors with the best score on validation.
#[derive(Clone, Debug, PartialEq)]
pub struct BestEpoch {
    /// The epoch after which they were scored.
    pub epoch: usize,
    /// Their F1-macro on validation.
    pub f1_macro: f64,
    /// The vectors in row-major order.
    pub vectors: Vec<f32>,
    /// Whether training was stopped early.
    pub stopped: bool,
}

impl<'a> PeriodicScores<'a> {
    /// Scores after every `interval` epochs with these labels and splits. Fails if a classifier cannot
    /// be trained on them.
    pub fn new(
        interval: usize,
        graph: &'a Graph,
        labels: &'a Labels,
        splits: &'a Splits,
        sink: &'a mut dyn Sink,
    ) -> Result<Self> {
        if interval == 0 {
            return Err(Error::option("score-every", 0, "expected at least 1"));
        }
        // Scoring vectors of zeros reports errors in labels and splits before training starts.
        let (_, val, _) = score(graph, labels, splits, vec![0.0; graph.nodes()])?;
        Ok(Self {
            interval,
            graph,
            labels,
            splits,
            sink,
            has_val: val.is_some(),
            patience: None,
            epochs: 0,
            pending: None,
            best: None,
            since_best: 0,
        })
    }

    /// Stops training when F1-macro on validation has not improved for `patience` evaluations, and
    /// keeps the best vectors ([`best`](Self::best)). Scores on test are reported, never used.
    pub fn stop_early(self, patience: usize) -> Result<Self> {
        if patience == 0 {
            return Err(Error::option("stop-early", 0, "expected at least 1"));
        }
        if !self.has_val {
            let problem = "early stopping needs validation nodes, and no node is in the val split";
            let problem = Problem::from(problem).act("add lines 'node<TAB>val'");
            return Err(Error::conflict(problem.omit("stop-early")));
        }
        Ok(Self { patience: Some(patience), ..self })
    }

    /// With [`stop_early`](Self::stop_early), the best vectors on validation, whether training was
    /// stopped or completed. `None` before the first evaluation.
    pub fn best(self) -> Option<BestEpoch> {
        self.best
    }
}

impl Sink for PeriodicScores<'_> {
    fn event(&mut self, event: &Event) -> Result<ControlFlow<()>> {
        let mut answer = self.sink.event(event)?;
        if matches!(event, Event::Epoch { .. })
            && let Some(scores) = self.pending.take()
        {
            if self.sink.event(&scores)?.is_break() {
                answer = ControlFlow::Break(());
            }
            if let (Some(patience), Some(best)) = (self.patience, &mut self.best)
                && self.since_best >= patience
            {
                best.stopped = true;
                answer = ControlFlow::Break(());
            }
        }
        Ok(answer)
    }

    fn plan(&mut self, plan: &TrainPlan) -> Result<ControlFlow<(), Option<Checkpoint>>> {
        self.epochs = plan.epochs;
        self.sink.plan(plan)
    }

    fn state(&mut self, state: &State<'_>) -> Result<ControlFlow<()>> {
        let answer = self.sink.state(state)?;
        let epoch = state.epoch;
        if !(epoch.is_multiple_of(self.interval) || epoch == self.epochs) || answer.is_break() {
            return Ok(answer);
        }
        let (vectors, val, test) = score(self.graph, self.labels, self.splits, state.result())?;
        if let (Some(_), Some(val)) = (self.patience, val) {
            self.since_best += 1;
            let f1_macro = val.f1_macro;
            if self.best.as_ref().is_none_or(|best| f1_macro > best.f1_macro) {
                self.best = Some(BestEpoch { epoch, f1_macro, vectors, stopped: false });
                self.since_best = 0;
            }
        }
        self.pending = Some(Event::Scores { epoch, val, test });
        Ok(answer)
    }
}

/// Returns the vectors with their scores on validation, if some nodes are in that split, and on
/// test.
fn score(
    graph: &Graph,
    labels: &Labels,
    splits: &Splits,
    vectors: Vec<f32>,
) -> Result<(Vec<f32>, Option<Scores>, Scores)> {
    let dim = vectors.len() / graph.nodes().max(1);
    let embedding = Embedding::new(graph.ids().clone(), dim, vectors)?;
    let result = classify(&embedding, labels, Some(splits), &ClassifyConfig::default())?;
    let scores = |split: &SplitScores| Scores {
        f1_macro: split.f1_macro.mean,
        f1_micro: split.f1_micro.mean,
        accuracy: split.accuracy.mean,
    };
    Ok((embedding.into_vectors(), result.val.as_ref().map(scores), scores(&result.test)))
}
