//! What can be observed and kept of a run: its events, its states, its log and its checkpoints.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nearfar::graph::{Graph, ReadOptions, read};
use nearfar::negative::Negatives;
use nearfar::train::{
    Backend, Checkpoint, Checkpoints, EpochStats, Event, KeepGoing, Model, Recorder, RunLog, Sink,
    State, TrainConfig, TrainPlan, Trainer, VectorView,
};
use nearfar::{Parts, Result};

use crate::graphs::path;
use crate::trained::{embed, embed_parts};

fn karate() -> Arc<Graph> {
    Arc::new(read("builtin:karate", &ReadOptions::default()).unwrap().graph)
}

fn short() -> TrainConfig {
    TrainConfig { dim: 12, epochs: Some(5), ..Default::default() }
}

/// A recorder as a sink, which also keeps the result that every epoch would have.
struct Recorded {
    recorder: Recorder,
    results: Vec<Vec<f32>>,
}

impl Recorded {
    fn new(log: Option<RunLog>, checkpoints: Option<Checkpoints>) -> Self {
        Self { recorder: Recorder::new(log, checkpoints), results: vec![] }
    }

    fn saving(folder: &Path, resume: bool) -> Self {
        Self::new(None, Some(Checkpoints::new(folder, resume).unwrap()))
    }
}

impl Sink for Recorded {
    fn plan(&mut self, plan: &TrainPlan) -> Result<ControlFlow<(), Option<Checkpoint>>> {
        Ok(ControlFlow::Continue(self.recorder.plan(plan)?))
    }

    fn event(&mut self, event: &Event) -> Result<ControlFlow<()>> {
        self.recorder.event(event)?;
        Ok(ControlFlow::Continue(()))
    }

    fn state(&mut self, state: &State<'_>) -> Result<ControlFlow<()>> {
        self.results.push(state.result());
        self.recorder.state(state, ControlFlow::Continue(()))?;
        Ok(ControlFlow::Continue(()))
    }
}

/// Smoothed where the result is, and whatever trains.
#[test]
fn the_state_after_the_last_epoch_has_the_result() {
    let batch = |model| TrainConfig { model, trainer: Some(Trainer::Batch), ..short() };
    for config in [
        short(),
        batch(Model::Deepwalk),
        batch(Model::Gcn),
        TrainConfig { trainer: Some(Trainer::Exact), ..short() },
    ] {
        let mut sink = Recorded::new(None, None);
        let vectors = embed(&karate(), Negatives::Uniform, &config, &mut sink).unwrap();
        assert_eq!(sink.results.len(), 5);
        assert_eq!(sink.results[4], vectors, "{config:?}");
        assert!(sink.results[3] != vectors, "{config:?}");
    }
}

#[test]
fn the_log_has_a_line_for_each_event_but_progress() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    let mut sink = Recorded::new(Some(RunLog::create(&path).unwrap()), None);
    assert_eq!(sink.recorder.epochs(), 0, "not planned yet");
    embed(&karate(), Negatives::Uniform, &short(), &mut sink).unwrap();
    assert_eq!(sink.recorder.epochs(), 5);
    sink.recorder.event(&Event::Finished { peak_memory: Some(7) }).unwrap();
    sink.recorder.finish().unwrap();
    let log = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    let epochs = vec!["epoch"; 5];
    assert_eq!(kinds, [vec!["started"], epochs, vec!["finished"]].concat());
    assert!(lines.is_sorted_by_key(|line| line["seconds"].as_f64().unwrap()));
}

#[test]
fn time_counts_from_the_start_of_training() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    let mut recorder = Recorder::new(Some(RunLog::create(&path).unwrap()), None);
    std::thread::sleep(Duration::from_millis(400));
    let before = recorder.elapsed();
    assert!(before >= Duration::from_millis(400));
    recorder.event(&Event::Finished { peak_memory: None }).unwrap();
    let (nodes, epochs, walks, memory) = (1, 1, 1, 1);
    let (kernel, settings) = (String::new(), serde_json::Map::new());
    let started = Event::Started { nodes, epochs, walks, kernel, memory, settings };
    recorder.event(&started).unwrap();
    assert!(recorder.elapsed() < before);
    let log = std::fs::read_to_string(&path).unwrap();
    let seconds = |line: &str| {
        serde_json::from_str::<serde_json::Value>(line).unwrap()["seconds"].as_f64().unwrap()
    };
    let seconds: Vec<f64> = log.lines().map(seconds).collect();
    assert!(seconds[0] >= 0.4 && seconds[1] < seconds[0], "{seconds:?}");
}

#[test]
fn the_last_epoch_is_always_saved() {
    let folder = tempfile::tempdir().unwrap();
    let config = TrainConfig { smoothing: Some(0), ..short() };
    let mut sink = Recorded::saving(folder.path(), false);
    let vectors = embed(&karate(), Negatives::Uniform, &config, &mut sink).unwrap();
    let saved = Checkpoint::load(&folder.path().join("checkpoint.safetensors")).unwrap();
    assert_eq!((saved.epoch, saved.vectors.to_vec()), (5, vectors));
}

#[test]
fn a_checkpoint_of_something_else_says_of_what() {
    let graph = karate();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("checkpoint.safetensors");
    let train = |graph: &Arc<Graph>| {
        let mut sink = Recorded::saving(folder.path(), file.exists());
        embed(graph, Negatives::Uniform, &short(), &mut sink)
    };
    train(&graph).unwrap();
    let message = |graph: &Arc<Graph>| {
        train(graph).unwrap_err().to_string().replace(&file.display().to_string(), "FILE")
    };
    let other = Arc::new(path(34));
    assert_eq!(
        message(&other),
        "FILE: the checkpoint is of another graph; use that graph or use another folder"
    );
    train(&graph).unwrap();
}

/// A backend that cannot be saved, as most.
struct Still(Vec<f32>);

impl Backend for Still {
    fn epoch(&mut self, _: usize, _: &mut KeepGoing<'_>) -> Result<ControlFlow<(), EpochStats>> {
        let stats = EpochStats { pairs: 1, loss: 0.5, l2: 0.0, effective_rank: None };
        Ok(ControlFlow::Continue(stats))
    }

    fn vectors(&self) -> VectorView<'_> {
        VectorView { values: &self.0, dim: 12, stride: 12 }
    }

    fn into_vectors(self: Box<Self>) -> Vec<f32> {
        self.0
    }
}

#[test]
fn a_backend_without_a_state_is_neither_saved_nor_resumed() {
    let graph = karate();
    let folder = tempfile::tempdir().unwrap();
    let run = |sink: &mut dyn Sink| {
        let parts = Parts {
            backend: Some(Box::new(|task| Ok(Box::new(Still(vec![0.5; task.graph.nodes() * 12]))))),
            ..Default::default()
        };
        embed_parts(&graph, parts, &short(), sink).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(run(&mut ()), Ok(()));
    let why = "what trains here cannot be saved and resumed; omit --checkpoint";
    assert_eq!(run(&mut Recorded::saving(folder.path(), false)), Err(why.to_owned()));
    let mut saving = Recorded::saving(folder.path(), false);
    embed(&graph, Negatives::Distance, &short(), &mut saving).unwrap();
    assert_eq!(run(&mut Recorded::saving(folder.path(), true)), Err(why.to_owned()));
}

#[test]
fn a_copy_of_vectors_has_no_padding() {
    let values = [1.0, 2.0, 9.0, 3.0, 4.0, 9.0];
    let view = VectorView { values: &values, dim: 2, stride: 3 };
    assert_eq!(view.to_vec(), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(view.rows().collect::<Vec<_>>(), [&[1.0, 2.0], &[3.0, 4.0]]);
}

/// Stops when a fraction of the run is done, and counts the epochs that were completed.
struct StopAt {
    done: f64,
    epochs: usize,
    asked: usize,
}

impl Sink for StopAt {
    fn event(&mut self, event: &Event) -> Result<ControlFlow<()>> {
        let mut stop = false;
        match event {
            Event::Progress { done } => {
                self.asked += 1;
                stop = *done >= self.done;
            }
            Event::Epoch { .. } => self.epochs += 1,
            _ => {}
        }
        Ok(if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

/// Where negatives are drawn ahead, where they are not, and where windows slide.
#[test]
fn a_run_can_be_stopped_within_an_epoch() {
    let graph = karate();
    let sliding = TrainConfig { walk_length: Some(9), ..short() };
    for (law, config) in [
        (Negatives::Uniform, short()),
        (Negatives::Distance, short()),
        (Negatives::Distance, sliding),
    ] {
        for done in [0.0, 0.1, 0.2, 0.5, 0.7, 0.9] {
            let mut sink = StopAt { done, epochs: 0, asked: 0 };
            embed(&graph, law, &config, &mut sink).unwrap();
            assert!(sink.epochs <= (5.0 * done).ceil() as usize, "{law:?}: {done}");
            assert!(sink.asked > 0);
        }
        let mut whole = StopAt { done: 2.0, epochs: 0, asked: 0 };
        embed(&graph, law, &config, &mut whole).unwrap();
        assert_eq!(whole.epochs, 5);
        assert!(whole.asked > 5 * 10, "{law:?}: asked {} times", whole.asked);
    }
}
