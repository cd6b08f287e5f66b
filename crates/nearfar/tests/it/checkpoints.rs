//! Checkpoints: resumed to the same bytes, or refused.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use nearfar::graph::{Graph, ReadOptions, read};
use nearfar::negative::Negatives;
use nearfar::rng::{Purpose, Rng};
use nearfar::simd::InstructionSet;
use nearfar::train::{
    Checkpoint, Checkpoints, Event, Kernel, Model, Recorder, Settings, Sink, State, TrainConfig,
    TrainPlan, Trainer,
};
use nearfar::{Budget, Parts};

use crate::trained::embed;

fn builtin(name: &str) -> Arc<Graph> {
    Arc::new(read(name, &ReadOptions::default()).unwrap().graph)
}

fn short() -> TrainConfig {
    TrainConfig { dim: 24, epochs: Some(3), ..Default::default() }
}

/// Saves checkpoints in a folder, and stops after some epochs.
struct Saver {
    recorder: Recorder,
    after: usize,
}

impl Saver {
    fn new(folder: &Path, resume: bool, after: usize) -> Self {
        let checkpoints = Checkpoints::new(folder, resume).unwrap();
        Self { recorder: Recorder::new(None, Some(checkpoints)), after }
    }
}

impl Sink for Saver {
    fn plan(&mut self, plan: &TrainPlan) -> nearfar::Result<ControlFlow<(), Option<Checkpoint>>> {
        Ok(ControlFlow::Continue(self.recorder.plan(plan)?))
    }

    fn event(&mut self, _: &Event) -> nearfar::Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }

    fn state(&mut self, state: &State<'_>) -> nearfar::Result<ControlFlow<()>> {
        let stop = state.epoch >= self.after;
        let answer = if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        self.recorder.state(state, answer)?;
        Ok(answer)
    }
}

/// Settings of every trainer, and of every network.
fn trainers() -> Vec<TrainConfig> {
    let by = |trainer| TrainConfig { trainer: Some(trainer), ..short() };
    let of = |model| TrainConfig { model, ..short() };
    let mut all = vec![short(), TrainConfig { order: 2, ..short() }];
    all.extend([Trainer::Batch, Trainer::Exact].map(by));
    all.extend([Model::Gcn, Model::Vgae, Model::Sage].map(of));
    all
}

#[test]
fn a_resumed_run_ends_in_the_same_bytes() {
    let graph = builtin("builtin:karate");
    for config in trainers() {
        let config = TrainConfig { epochs: Some(7), ..config };
        let train =
            |sink: &mut dyn Sink| embed(&graph, Negatives::Distance, &config, sink).unwrap();
        let whole = train(&mut ());
        for after in [1, 2, 6] {
            let folder = tempfile::tempdir().unwrap();
            assert!(train(&mut Saver::new(folder.path(), false, after)) != whole);
            let checkpoint = Checkpoint::load(&folder.path().join("checkpoint.safetensors"));
            assert_eq!(checkpoint.unwrap().epoch, after);
            let resumed = train(&mut Saver::new(folder.path(), true, 99));
            assert!(resumed == whole, "resumed after epoch {after}: {config:?}");
        }
    }
}

#[test]
fn a_checkpoint_that_does_not_fit_is_refused() {
    let graph = builtin("builtin:karate");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.safetensors");
    let train = |config: &TrainConfig, resume: bool| {
        let sink = &mut Saver::new(folder.path(), resume, 1);
        embed(&graph, Negatives::Uniform, config, sink)
    };
    train(&short(), false).unwrap();
    let error = train(&short(), false).unwrap_err().to_string();
    assert!(error.contains("give --resume"), "{error}");
    for (name, other) in [
        ("dim 24, not 40", TrainConfig { dim: 40, ..short() }),
        ("order 1, not 2", TrainConfig { order: 2, walks: Some(2), ..short() }),
        ("walks", TrainConfig { walks: Some(77), ..short() }),
    ] {
        let error = train(&other, true).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
    let whole = std::fs::read(&path).unwrap();
    for length in [0, 7, 8, 31, 32, 100, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        let error = Checkpoint::load(&path).unwrap_err().to_string();
        assert!(error.contains("not a checkpoint"), "{error}");
    }
}

/// Every bit counts: header, padding, vectors, state and checksum.
#[test]
fn a_checkpoint_with_a_flipped_bit_is_refused() {
    let graph = builtin("builtin:karate");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.safetensors");
    let train = |resume: bool| {
        embed(&graph, Negatives::Uniform, &short(), &mut Saver::new(folder.path(), resume, 1))
    };
    train(false).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let mut rng = Rng::new(5, Purpose::Negative, 0, 0);
    for _ in 0..200 {
        let (byte, bit) = (rng.below(whole.len()), rng.below(8));
        let mut flipped = whole.clone();
        flipped[byte] ^= 1 << bit;
        std::fs::write(&path, &flipped).unwrap();
        let error = train(true).unwrap_err().to_string();
        assert!(error.contains("the checksum is wrong"), "bit {bit} of byte {byte}: {error}");
    }
    std::fs::write(&path, &whole).unwrap();
    train(true).unwrap();
}

/// Checkpoints from a sink need not come from a file.
struct Resume(Checkpoint);

impl Sink for Resume {
    fn event(&mut self, _: &Event) -> nearfar::Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }

    fn plan(&mut self, _: &TrainPlan) -> nearfar::Result<ControlFlow<(), Option<Checkpoint>>> {
        Ok(ControlFlow::Continue(Some(self.0.clone())))
    }
}

#[test]
fn every_trainer_refuses_a_state_that_is_not_its_own() {
    let graph = builtin("builtin:karate");
    for config in &trainers()[2..] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint.safetensors");
        let train = |sink: &mut dyn Sink| embed(&graph, Negatives::Uniform, config, sink);
        train(&mut Saver::new(folder.path(), false, 1)).unwrap();
        let good = Checkpoint::load(&path).unwrap();
        train(&mut Resume(good.clone())).unwrap();
        let (mut vectors, mut state) = (good.vectors.to_vec(), good.state.to_vec());
        vectors[3] = f32::NAN;
        // Read as single precision, its second half is not a number.
        let last = state.len() - 8;
        state[last..].copy_from_slice(&f64::INFINITY.to_le_bytes());
        let longer = [&good.state[..], &[0]].concat().into();
        let (vectors, state) = (vectors.into(), state.into());
        for bad in [
            Checkpoint { vectors, ..good.clone() },
            Checkpoint { vectors: vec![].into(), ..good.clone() },
            Checkpoint { state: vec![].into(), ..good.clone() },
            Checkpoint { state: longer, ..good.clone() },
            Checkpoint { state, ..good.clone() },
        ] {
            let error = train(&mut Resume(bad)).unwrap_err().to_string();
            assert!(error.contains("a state that this run cannot have"), "{error}: {config:?}");
        }
    }
}

#[test]
fn a_state_that_no_run_can_have_is_refused() {
    let graph = builtin("builtin:karate");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.safetensors");
    let train = |sink: &mut dyn Sink| embed(&graph, Negatives::Uniform, &short(), sink);
    train(&mut Saver::new(folder.path(), false, 1)).unwrap();
    let good = Checkpoint::load(&path).unwrap();
    train(&mut Resume(good.clone())).unwrap();
    let state = |at: usize, value: f64| {
        let mut state = good.state.to_vec();
        state[8 * at..8 * at + 8].copy_from_slice(&value.to_le_bytes());
        Checkpoint { state: state.into(), ..good.clone() }
    };
    let mut vectors = good.vectors.to_vec();
    vectors[3] = f32::NAN;
    let vectors = vectors.into();
    for (bad, says) in [
        (state(0, f64::NAN), "numbers that no run can have"),
        (state(1, f64::NAN), "numbers that no run can have"),
        (state(1, -1.0), "numbers that no run can have"),
        (state(2, f64::INFINITY), "numbers that no run can have"),
        (state(3, f64::NAN), "numbers that no run can have"),
        (Checkpoint { vectors, ..good.clone() }, "numbers that no run can have"),
        (
            Checkpoint { vectors: vec![].into(), ..good.clone() },
            "another graph or of other settings",
        ),
        (Checkpoint { state: vec![].into(), ..good.clone() }, "another graph or of other settings"),
        (Checkpoint { epoch: 4, ..good.clone() }, "after epoch 4, and the run has 3"),
    ] {
        let error = train(&mut Resume(bad)).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_checkpoint_is_resumed_with_its_kernel() {
    let graph = builtin("builtin:karate");
    let Some(&fast) = InstructionSet::available().last() else { return };
    let scalar = InstructionSet::available()[0];
    let settings = |kernel: Kernel| Settings {
        train: TrainConfig { kernel, ..short() },
        ..Default::default()
    };
    let train = |kernel: Kernel, parts: Parts<'_>, sink: &mut dyn Sink| {
        let budget = Budget::default();
        nearfar::embed_with(&graph, &settings(kernel), &budget, parts, sink)
            .map(nearfar::embedding::Embedding::into_vectors)
    };
    let with = |set| Parts { instruction_set: Some(set), ..Default::default() };
    let whole = train(Kernel::Scalar, Parts::default(), &mut ()).unwrap();
    assert!(train(Kernel::Auto, with(scalar), &mut ()).unwrap() == whole);
    let folder = tempfile::tempdir().unwrap();
    let mut first = Saver::new(folder.path(), false, 1);
    // The kernel of the parts is the one that is recorded.
    train(Kernel::Auto, with(scalar), &mut first).unwrap();
    let resumed = train(Kernel::Scalar, Parts::default(), &mut Saver::new(folder.path(), true, 99));
    assert!(resumed.unwrap() == whole);
    if fast == scalar {
        return;
    }
    assert!(train(Kernel::Auto, Parts::default(), &mut ()).unwrap() != whole);
    let folder = tempfile::tempdir().unwrap();
    train(Kernel::Scalar, Parts::default(), &mut Saver::new(folder.path(), false, 1)).unwrap();
    let other = train(Kernel::Auto, Parts::default(), &mut Saver::new(folder.path(), true, 99));
    let error = other.unwrap_err().to_string();
    let says = format!("of kernel scalar, not {}; use --kernel scalar", fast.name());
    assert!(error.contains(&says), "{error}");
    let checkpoints = Checkpoints::new(folder.path(), true).unwrap().on_any_kernel(true);
    let recorder = Recorder::new(None, Some(checkpoints));
    train(Kernel::Auto, Parts::default(), &mut Saver { recorder, after: 99 }).unwrap();
}
