//! Scores while training goes on: a curve, and an early end for those who want one.

use std::ops::ControlFlow;

use super::classify::{ClassifyConfig, Part, classify};
use crate::embedding::Embedding;
use crate::error::{Error, Result};
use crate::graph::{Graph, Labels, Splits};
use crate::train::{Event, Scores, Sink, State};

/// A sink around another one: after every n-th epoch and after the last, it classifies nodes by
/// their vectors and tells the other one the scores, as [`Event::Scores`] right after the event of
/// the epoch. Training does not notice: its vectors have the same bytes as without it.
///
/// ```
/// use std::sync::Arc;
/// use nearfar::evaluate::PeriodicScores;
/// use nearfar::graph::{ReadOptions, read};
/// use nearfar::negative::{Budget, NegativeConfig, NegativePlan};
/// use nearfar::train::{TrainConfig, embed};
///
/// let dataset = read("builtin:sparse", &ReadOptions::default())?;
/// let (labels, splits) = (dataset.labels.unwrap(), dataset.splits.unwrap());
/// let graph = Arc::new(dataset.graph);
/// let plan = NegativePlan::new(&graph, &NegativeConfig::default(), &Budget::default())?;
/// let config = TrainConfig { dim: 16, epochs: Some(4), ..Default::default() };
/// let mut listener = (); // one that does listen
/// let mut every = PeriodicScores::new(2, &graph, &labels, &splits, &mut listener)?.stop_early(3)?;
/// embed(&graph, &*plan.build(&graph)?, &config, &mut every)?;
/// let best = every.best().unwrap();
/// assert!(best.epoch == 2 || best.epoch == 4);
/// # Ok::<(), nearfar::Error>(())
/// ```
pub struct PeriodicScores<'a> {
    /// Epochs from one scoring to the next.
    interval: usize,
    graph: &'a Graph,
    labels: &'a Labels,
    splits: &'a Splits,
    sink: &'a mut dyn Sink,
    has_val: bool,
    patience: Option<usize>,
    /// Epochs of the run.
    epochs: usize,
    /// Scores that are told when their epoch was.
    pending: Option<Event>,
    best: Option<BestEpoch>,
    /// Scorings since the best one.
    waited: usize,
}

/// The vectors that scored best on validation.
#[derive(Clone, Debug, PartialEq)]
pub struct BestEpoch {
    /// The epoch after which they were there.
    pub epoch: usize,
    /// Their F1-macro on validation.
    pub f1_macro: f64,
    /// The vectors, row by row.
    pub vectors: Vec<f32>,
    /// Whether training was stopped because nothing better came.
    pub stopped: bool,
}

impl<'a> PeriodicScores<'a> {
    /// Scores after every n-th epoch, on these labels and parts. Fails if they do not serve.
    pub fn new(
        every: usize,
        graph: &'a Graph,
        labels: &'a Labels,
        splits: &'a Splits,
        sink: &'a mut dyn Sink,
    ) -> Result<Self> {
        if every == 0 {
            return Err(Error::Option("score-every is 0; it takes at least 1".to_owned()));
        }
        // A zero for each node shows what is wrong with labels and splits before training does.
        let (_, val, _) = score(graph, labels, splits, vec![0.0; graph.nodes()])?;
        Ok(Self {
            interval: every,
            graph,
            labels,
            splits,
            sink,
            has_val: val.is_some(),
            patience: None,
            epochs: 0,
            pending: None,
            best: None,
            waited: 0,
        })
    }

    /// Stops training when F1-macro on validation has not risen for so many scorings, and keeps
    /// the vectors that were best there ([`best`](Self::best)). Test is scored too, and never
    /// looked at.
    pub fn stop_early(self, patience: usize) -> Result<Self> {
        if patience == 0 {
            return Err(Error::Option("stop-early is 0; it takes at least 1".to_owned()));
        }
        if !self.has_val {
            let message = "stop-early looks at validation, and no node is in the val part of the \
                           splits; add lines 'node<TAB>val', or leave --stop-early out";
            return Err(Error::Option(message.to_owned()));
        }
        Ok(Self { patience: Some(patience), ..self })
    }

    /// The best vectors on validation, with [`stop_early`](Self::stop_early): those to go on with,
    /// whether training was stopped or came to its end. `None` before any were scored.
    pub fn best(self) -> Option<BestEpoch> {
        self.best
    }
}

impl Sink for PeriodicScores<'_> {
    fn event(&mut self, event: &Event) -> Result<ControlFlow<()>> {
        if let Event::Started { epochs, .. } = event {
            self.epochs = *epochs;
        }
        let mut answer = self.sink.event(event)?;
        if matches!(event, Event::Epoch { .. })
            && let Some(scores) = self.pending.take()
        {
            if self.sink.event(&scores)?.is_break() {
                answer = ControlFlow::Break(());
            }
            if let (Some(patience), Some(best)) = (self.patience, &mut self.best)
                && self.waited >= patience
            {
                best.stopped = true;
                answer = ControlFlow::Break(());
            }
        }
        Ok(answer)
    }

    fn state(&mut self, state: &State<'_>) -> Result<ControlFlow<()>> {
        let answer = self.sink.state(state)?;
        let epoch = state.epoch;
        if !(epoch.is_multiple_of(self.interval) || epoch == self.epochs) || answer.is_break() {
            return Ok(answer);
        }
        let (vectors, val, test) = score(self.graph, self.labels, self.splits, state.vectors())?;
        if let (Some(_), Some(val)) = (self.patience, val) {
            self.waited += 1;
            let f1_macro = val.f1_macro;
            if self.best.as_ref().is_none_or(|best| f1_macro > best.f1_macro) {
                self.best = Some(BestEpoch { epoch, f1_macro, vectors, stopped: false });
                self.waited = 0;
            }
        }
        self.pending = Some(Event::Scores { epoch, val, test });
        Ok(answer)
    }
}

/// Gives the vectors back with their scores on validation, if there is such a part, and on test.
fn score(
    graph: &Graph,
    labels: &Labels,
    splits: &Splits,
    vectors: Vec<f32>,
) -> Result<(Vec<f32>, Option<Scores>, Scores)> {
    let dim = vectors.len() / graph.nodes().max(1);
    let embedding = Embedding::new(graph.ids().clone(), dim, vectors)?;
    let found = classify(&embedding, labels, Some(splits), &ClassifyConfig::default())?;
    let scores = |part: &Part| Scores {
        f1_macro: part.f1_macro.mean,
        f1_micro: part.f1_micro.mean,
        accuracy: part.accuracy.mean,
    };
    Ok((embedding.into_vectors(), found.val.as_ref().map(scores), scores(&found.test)))
}
