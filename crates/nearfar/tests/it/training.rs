//! Training as a whole.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use nearfar::graph::{Graph, Node, ReadOptions, read};
use nearfar::negative::{
    Budget, NegativeConfig, NegativePlan, NegativeSampler, Negatives, Strategy,
};
use nearfar::rng::{Purpose, Rng};
use nearfar::simd::InstructionSet;
use nearfar::train::{
    Checkpoint, Event, L2, Model, Sink, Start, State, TrainConfig, embed, embed_from,
};

use crate::graphs::{graph, islands};

fn builtin(name: &str) -> Arc<Graph> {
    Arc::new(read(name, &ReadOptions::default()).unwrap().graph)
}

pub(crate) fn sampler(graph: &Arc<Graph>, negatives: Negatives) -> Box<dyn NegativeSampler> {
    let config = NegativeConfig { negatives, ..Default::default() };
    NegativePlan::new(graph, &config, &Budget::default()).unwrap().build(graph).unwrap()
}

fn short() -> TrainConfig {
    TrainConfig { dim: 24, epochs: Some(3), ..Default::default() }
}

#[test]
fn the_same_bytes_on_any_number_of_threads() {
    let graph = builtin("builtin:sparse");
    for negatives in [Negatives::Uniform, Negatives::Distance, Negatives::LandmarkApprox] {
        let train = |threads: usize| -> Vec<u32> {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let vectors = embed(&graph, &*sampler(&graph, negatives), &short(), &mut ());
                vectors.unwrap().into_iter().map(f32::to_bits).collect()
            })
        };
        let one = train(1);
        for threads in [2, 3, 8] {
            assert!(train(threads) == one, "{negatives:?} on {threads} threads");
        }
    }
}

#[test]
fn every_model_gives_the_same_bytes_on_any_number_of_threads() {
    let graph = builtin("builtin:sparse");
    let negatives = sampler(&graph, Negatives::Uniform);
    let base = || TrainConfig { walks: Some(2), epochs: Some(2), ..short() };
    for config in [
        TrainConfig { walk_length: Some(12), context: Some(4), ..base() },
        TrainConfig { model: Model::Node2vec, p: 0.5, q: 2.0, ..base() },
        TrainConfig { model: Model::Line, ..base() },
        TrainConfig { model: Model::Line, order: 2, ..base() },
        TrainConfig { order: 2, ..base() },
    ] {
        let train = |threads: usize| -> Vec<u32> {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let vectors = pool.install(|| embed(&graph, &*negatives, &config, &mut ()).unwrap());
            vectors.into_iter().map(f32::to_bits).collect()
        };
        assert!(train(1) == train(3), "{config:?}");
    }
}

/// A sampler that is asked epoch by epoch.
struct Each(Box<dyn NegativeSampler>);

impl NegativeSampler for Each {
    fn fill(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) {
        self.0.fill(centre, rng, out);
    }

    fn law(&self) -> Negatives {
        self.0.law()
    }

    fn weights(&self, centre: Node, out: &mut [f64]) {
        self.0.weights(centre, out);
    }
}

#[test]
fn negatives_drawn_ahead_are_those_of_their_epochs() {
    let graph = Arc::new(islands());
    for strategy in [Strategy::Table, Strategy::Levels] {
        for model in [Model::Deepwalk, Model::Line] {
            let config = NegativeConfig { strategy, ..Default::default() };
            let plan = NegativePlan::new(&graph, &config, &Budget::default()).unwrap();
            let sampler = || plan.build(&graph).unwrap();
            assert!(sampler().visits_are_slow());
            let config = TrainConfig { model, ..short() };
            let ahead = embed(&graph, &*sampler(), &config, &mut ()).unwrap();
            let each = embed(&graph, &Each(sampler()), &config, &mut ()).unwrap();
            assert_eq!(ahead, each, "{strategy:?}, {model:?}");
        }
    }
}

#[test]
fn kernels_lead_to_nearly_the_same_vectors() {
    let graph = builtin("builtin:karate");
    let negatives = sampler(&graph, Negatives::Distance);
    let config = TrainConfig { l2: L2::Value(0.1), ..short() };
    let train = |kernel| {
        let start = Start { kernel, ..Default::default() };
        embed_from(start, &graph, &*negatives, &config, &mut ()).unwrap()
    };
    let all: Vec<_> = InstructionSet::available().into_iter().map(train).collect();
    for vectors in &all {
        let far = vectors.iter().zip(&all[0]).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(far < 1e-3, "{far}");
    }
}

#[test]
fn near_nodes_come_near_and_far_nodes_far() {
    let graph = builtin("builtin:sparse");
    let negatives = sampler(&graph, Negatives::Distance);
    let base = || TrainConfig { dim: 32, ..Default::default() };
    check_near_and_far(&graph, &*negatives, &base());
    check_near_and_far(&graph, &*negatives, &TrainConfig { model: Model::Line, ..base() });
    let config = TrainConfig { walk_length: Some(10), ..base() };
    check_near_and_far(&graph, &*negatives, &config);
}

fn check_near_and_far(graph: &Arc<Graph>, negatives: &dyn NegativeSampler, config: &TrainConfig) {
    let vectors = embed(graph, negatives, config, &mut ()).unwrap();
    let row = |node: usize| &vectors[node * 32..(node + 1) * 32];
    let dot = |a, b| -> f64 { row(a).iter().zip(row(b)).map(|(x, y)| f64::from(x * y)).sum() };
    let n = graph.nodes();
    let (mut near, mut edges, mut all) = (0.0, 0.0, 0.0);
    for a in 0..n {
        for &b in graph.neighbours(a as u32) {
            near += dot(a, b as usize);
            edges += 1.0;
        }
        all += dot(a, (a * 7 + 1001) % n);
    }
    let (near, any) = (near / edges, all / n as f64);
    assert!(near > any + 1.0, "{config:?}: {near:.2} between neighbours, {any:.2} between any");
}

#[test]
fn every_node_gets_a_vector_isolated_ones_too() {
    let graph = Arc::new(islands());
    for negatives in [Negatives::Distance, Negatives::Edge, Negatives::Landmark] {
        let vectors = embed(&graph, &*sampler(&graph, negatives), &short(), &mut ()).unwrap();
        assert_eq!(vectors.len(), 22 * 24);
        assert!(vectors.iter().all(|value| value.is_finite()));
        assert!(vectors.chunks(24).all(|row| row.iter().any(|value| *value != 0.0)));
    }
}

/// Hubs meet everyone, and everyone meets them again and again: where steps are too long, this is
/// where vectors explode. On a long path, no pull brings the rank down, and on a random graph only
/// one that leaves nothing: they must not vanish.
#[test]
fn vectors_neither_explode_nor_vanish() {
    let star: Vec<_> = (1..1000).map(|leaf| (0, leaf)).collect();
    let path: Vec<_> = (1..1000).map(|node| (node - 1, node)).collect();
    let mut rng = Rng::new(0, Purpose::Edge, 0, 0);
    let mut node = || rng.below(4000) as Node;
    let any: Vec<_> = (0..40_000).map(|_| (node(), node())).collect();
    let graphs = [(1000, star), (1000, path), (4000, any)];
    let graphs = graphs.map(|(nodes, edges)| Arc::new(graph(nodes, &edges)));
    for graph in graphs.into_iter().chain([builtin("builtin:moderate"), builtin("builtin:dense")]) {
        for negatives in [Negatives::Uniform, Negatives::Distance] {
            let negatives = sampler(&graph, negatives);
            let config = TrainConfig { dim: 64, ..Default::default() };
            let vectors = embed(&graph, &*negatives, &config, &mut ()).unwrap();
            let square = |row: &[f32]| f64::from(row.iter().map(|x| x * x).sum::<f32>());
            let length = vectors.chunks(64).map(square).sum::<f64>() / graph.nodes() as f64;
            assert!((0.05..50.0).contains(&length), "{} nodes: {length:.3}", graph.nodes());
        }
    }
}

#[test]
fn a_centre_may_have_any_number_of_pairs() {
    let graph = Arc::new(graph(2, &[(0, 1)]));
    let config = TrainConfig { walks: Some(70_000), context: Some(2), epochs: Some(1), ..short() };
    let vectors = embed(&graph, &*sampler(&graph, Negatives::Uniform), &config, &mut ()).unwrap();
    assert!(vectors.iter().all(|value| value.is_finite()));
}

/// Remembers events, and stops after some epochs.
struct Listener {
    losses: Vec<f64>,
    stop_after: usize,
}

impl Sink for Listener {
    fn event(&mut self, event: &Event) -> nearfar::Result<ControlFlow<()>> {
        if let Event::Epoch { loss, .. } = event {
            self.losses.push(*loss);
        }
        let enough = self.losses.len() == self.stop_after;
        Ok(if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

#[test]
fn the_loss_falls_and_a_listener_can_stop() {
    let graph = builtin("builtin:moderate");
    let negatives = sampler(&graph, Negatives::Uniform);
    let mut listener = Listener { losses: vec![], stop_after: 5 };
    embed(&graph, &*negatives, &TrainConfig::default(), &mut listener).unwrap();
    assert_eq!(listener.losses.len(), 5);
    assert!(listener.losses[4] < listener.losses[0]);
}

/// Remembers how far the run was, and at which epoch.
#[derive(Default)]
struct Watch {
    epochs: usize,
    seen: Vec<(usize, f64)>,
}

impl Sink for Watch {
    fn event(&mut self, event: &Event) -> nearfar::Result<ControlFlow<()>> {
        match event {
            Event::Progress { done } => self.seen.push((self.epochs, *done)),
            Event::Epoch { epoch, .. } => self.epochs = *epoch,
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }
}

#[test]
fn progress_never_falls_and_counts_what_is_drawn_ahead() {
    let graph = builtin("builtin:sparse");
    let config = TrainConfig { epochs: Some(8), ..short() };
    for (negatives, ahead) in [(Negatives::Uniform, false), (Negatives::Distance, true)] {
        let negatives = sampler(&graph, negatives);
        assert_eq!(negatives.visits_are_slow(), ahead);
        let mut watch = Watch::default();
        embed(&graph, &*negatives, &config, &mut watch).unwrap();
        assert!(watch.seen.is_sorted_by_key(|&(_, done)| done));
        for &(epochs, done) in &watch.seen {
            let (least, most) = (epochs as f64 / 8.0, (epochs + 1) as f64 / 8.0);
            // The first epoch draws for all of them, which is a third of all there is to do.
            let most = if ahead { most + 0.36 } else { most };
            assert!((least..=most.min(1.0)).contains(&done), "{done} in epoch {}", epochs + 1);
        }
        let first = watch.seen.iter().rfind(|(epochs, _)| *epochs == 0);
        assert_eq!(first.is_some_and(|&(_, done)| done > 0.3), ahead);
    }
}

/// Saves the state after an epoch and stops there.
struct Saver<'a> {
    path: &'a Path,
    after: usize,
}

impl Sink for Saver<'_> {
    fn event(&mut self, _: &Event) -> nearfar::Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }

    fn state(&mut self, state: &State<'_>) -> nearfar::Result<ControlFlow<()>> {
        if state.epoch < self.after {
            return Ok(ControlFlow::Continue(()));
        }
        state.save(self.path, "of a test")?;
        Ok(ControlFlow::Break(()))
    }
}

#[test]
fn a_resumed_run_ends_in_the_same_bytes() {
    let graph = builtin("builtin:karate");
    let negatives = sampler(&graph, Negatives::Distance);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    for order in [1, 2] {
        let config = TrainConfig { epochs: Some(7), order, ..short() };
        let unbroken = embed(&graph, &*negatives, &config, &mut ()).unwrap();
        for after in [1, 2, 6] {
            let broken = embed(&graph, &*negatives, &config, &mut Saver { path: &path, after });
            assert!(broken.unwrap() != unbroken);
            let checkpoint = Checkpoint::load(&path).unwrap();
            assert_eq!((checkpoint.epoch, checkpoint.settings.as_str()), (after, "of a test"));
            let start = Start { checkpoint: Some(checkpoint), ..Default::default() };
            let resumed = embed_from(start, &graph, &*negatives, &config, &mut ()).unwrap();
            assert!(resumed == unbroken, "order {order}, resumed after epoch {after}");
        }
    }
}

#[test]
fn a_checkpoint_that_does_not_fit_is_refused() {
    let graph = builtin("builtin:karate");
    let negatives = sampler(&graph, Negatives::Uniform);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    embed(&graph, &*negatives, &short(), &mut Saver { path: &path, after: 1 }).unwrap();
    let checkpoint = Some(Checkpoint::load(&path).unwrap());
    for other in [TrainConfig { dim: 40, ..short() }, TrainConfig { order: 2, ..short() }] {
        let start = Start { checkpoint: checkpoint.clone(), ..Default::default() };
        let error = embed_from(start, &graph, &*negatives, &other, &mut ()).unwrap_err();
        assert!(error.to_string().contains("other settings"), "{error}");
    }
    let whole = std::fs::read(&path).unwrap();
    for length in [0, 7, 8, 100, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        assert!(Checkpoint::load(&path).unwrap_err().to_string().contains("no checkpoint"));
    }
}

#[test]
fn wrong_settings_are_refused() {
    let graph = builtin("builtin:karate");
    let negatives = sampler(&graph, Negatives::Uniform);
    let base = TrainConfig::default;
    for (name, config) in [
        ("dim", TrainConfig { dim: 0, ..base() }),
        ("context", TrainConfig { context: Some(1), ..base() }),
        ("walks", TrainConfig { walks: Some(0), ..base() }),
        ("k", TrainConfig { k: Some(0), ..base() }),
        ("walk-length", TrainConfig { walk_length: Some(4), ..base() }),
        ("order", TrainConfig { order: 3, ..base() }),
        ("p", TrainConfig { p: 0.0, model: Model::Node2vec, ..base() }),
        ("q", TrainConfig { q: f64::NAN, model: Model::Node2vec, ..base() }),
        ("epochs", TrainConfig { epochs: Some(0), ..base() }),
        ("lr", TrainConfig { lr: Some(f64::NAN), ..base() }),
        ("l2", TrainConfig { l2: L2::Value(-1.0), ..base() }),
        ("negative-weight", TrainConfig { negative_weight: -1.0, ..base() }),
    ] {
        let error = embed(&graph, &*negatives, &config, &mut ()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{name} is ")), "{error}");
    }
}
