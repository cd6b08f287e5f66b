//! Training end to end, mostly with the stream trainer.

use std::ops::ControlFlow;
use std::sync::Arc;

use nearfar::graph::{Graph, Node, ReadOptions, read};
use nearfar::negative::{
    Demand, NegativeConfig, NegativePlan, NegativeSampler, Negatives, Strategy,
};
use nearfar::positive::{Node2Vec, PositiveSource, Walk};
use nearfar::rng::{Purpose, Rng};
use nearfar::simd::InstructionSet;
use nearfar::train::stream::reference;
use nearfar::train::{Event, L2, Model, Sink, TrainConfig};
use nearfar::{Budget, Parts};

use crate::graphs::{graph, islands, random};
use crate::trained::{embed, embed_parts, plan, sampler};

fn builtin(name: &str) -> Arc<Graph> {
    Arc::new(read(name, &ReadOptions::default()).unwrap().graph)
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
                let vectors = embed(&graph, negatives, &short(), &mut ());
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
    let negatives = Negatives::Uniform;
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
            let vectors = pool.install(|| embed(&graph, negatives, &config, &mut ()).unwrap());
            vectors.into_iter().map(f32::to_bits).collect()
        };
        assert!(train(1) == train(3), "{config:?}");
    }
}

/// A sampler that is called epoch by epoch.
struct Unbatched(Box<dyn NegativeSampler>);

impl NegativeSampler for Unbatched {
    fn fill(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) {
        self.0.fill(centre, rng, out);
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
            let plan =
                NegativePlan::new(&graph, &config, &Budget::default(), &Demand::default()).unwrap();
            let sampler = || plan.build(&graph).unwrap();
            assert!(sampler().prefers_batches());
            let config = TrainConfig { model, ..short() };
            let train = |negatives: Box<dyn NegativeSampler>| {
                let parts = Parts { negatives: Some(negatives), ..Default::default() };
                embed_parts(&graph, parts, &config, &mut ()).unwrap()
            };
            let (ahead, each) = (train(sampler()), train(Box::new(Unbatched(sampler()))));
            assert_eq!(ahead, each, "{strategy:?}, {model:?}");
        }
    }
}

#[test]
fn instruction_sets_lead_to_nearly_the_same_vectors() {
    let graph = builtin("builtin:karate");
    // Principal axes have no sign: without vectors of edges, coordinates can be compared.
    let config = TrainConfig { l2: L2::Value(0.1), pmi: Some(0.0), ..short() };
    let train = |set| {
        let parts = Parts { instruction_set: Some(set), ..Default::default() };
        embed_parts(&graph, parts, &config, &mut ()).unwrap()
    };
    let all: Vec<_> = InstructionSet::available().into_iter().map(train).collect();
    for vectors in &all {
        let error = vectors.iter().zip(&all[0]).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(error < 1e-3, "{error}");
    }
}

#[test]
fn the_stream_trainer_agrees_with_its_reference() {
    let base = || TrainConfig {
        dim: 20,
        l2: L2::Value(0.2),
        epochs: Some(3),
        smoothing: Some(0),
        ..short()
    };
    let configs = [
        base(),
        TrainConfig { walk_length: Some(8), context: Some(4), negative_weight: 1.5, ..base() },
        TrainConfig { model: Model::Line, ..base() },
        TrainConfig { model: Model::Node2vec, p: 0.5, q: 2.0, ..base() },
    ];
    for graph in [islands(), random(400, 1200, 3)].map(Arc::new) {
        for law in [Negatives::Uniform, Negatives::Distance, Negatives::Edge] {
            for config in &configs {
                let mut last = LastLoss::default();
                let fast = embed(&graph, law, config, &mut last).unwrap();
                let (plan, negatives) = (plan(&graph, law, config), sampler(&graph, law));
                let power = plan.centre_power;
                let positives: Box<dyn PositiveSource> = match config.model {
                    Model::Node2vec => {
                        let source = Node2Vec::with_centre_power(&graph, config.p, config.q, power);
                        Box::new(source.unwrap())
                    }
                    _ => Box::new(Walk::with_centre_power(&graph, power)),
                };
                let (slow, loss) = reference::train(&plan, 0.2, &graph, &*positives, &*negatives);
                let errors = fast.iter().zip(&slow).map(|(a, b)| (f64::from(*a) - b).abs());
                let error = errors.fold(0.0, f64::max);
                assert!(error < 1e-4, "{law:?}, {config:?}: {error}");
                assert!((last.0 - loss).abs() < 1e-5, "{} {loss}", last.0);
            }
        }
    }
}

/// The loss of the last epoch.
#[derive(Default)]
struct LastLoss(f64);

impl Sink for LastLoss {
    fn event(&mut self, event: &Event) -> nearfar::Result<ControlFlow<()>> {
        if let Event::Epoch { loss, .. } = event {
            self.0 = *loss;
        }
        Ok(ControlFlow::Continue(()))
    }
}

#[test]
fn adjacent_nodes_become_similar_and_distant_ones_do_not() {
    let graph = builtin("builtin:sparse");
    let negatives = Negatives::Distance;
    let base = || TrainConfig { dim: 32, ..Default::default() };
    check_similarities(&graph, negatives, &base());
    check_similarities(&graph, negatives, &TrainConfig { model: Model::Line, ..base() });
    let config = TrainConfig { walk_length: Some(10), ..base() };
    check_similarities(&graph, negatives, &config);
}

fn check_similarities(graph: &Arc<Graph>, negatives: Negatives, config: &TrainConfig) {
    let vectors = embed(graph, negatives, config, &mut ()).unwrap();
    let row = |node: usize| &vectors[node * 32..(node + 1) * 32];
    let dot = |a, b| -> f64 { row(a).iter().zip(row(b)).map(|(x, y)| f64::from(x * y)).sum() };
    let n = graph.nodes();
    let (mut adjacent, mut edges, mut any) = (0.0, 0.0, 0.0);
    for a in 0..n {
        for &b in graph.neighbours(a as u32) {
            adjacent += dot(a, b as usize);
            edges += 1.0;
        }
        any += dot(a, (a * 7 + 1001) % n);
    }
    let (adjacent, any) = (adjacent / edges, any / n as f64);
    assert!(
        adjacent > any + 1.0,
        "{config:?}: mean product {adjacent:.2} of neighbours, {any:.2} of any nodes"
    );
}

#[test]
fn isolated_nodes_get_vectors_too() {
    let graph = Arc::new(islands());
    for negatives in [Negatives::Distance, Negatives::Edge, Negatives::Landmark] {
        let vectors = embed(&graph, negatives, &short(), &mut ()).unwrap();
        assert_eq!(vectors.len(), 22 * 24);
        assert!(vectors.iter().all(|value| value.is_finite()));
        assert!(vectors.chunks(24).all(|row| row.iter().any(|value| *value != 0.0)));
    }
}

/// If steps are too large, training diverges at hubs first. On a long path no λ lowers the rank
/// to its target, and on a random graph only one that leaves all vectors at zero: they must not
/// vanish.
#[test]
fn vectors_neither_diverge_nor_vanish() {
    let star: Vec<_> = (1..1000).map(|leaf| (0, leaf)).collect();
    let path: Vec<_> = (1..1000).map(|node| (node - 1, node)).collect();
    let mut rng = Rng::new(0, Purpose::Edge, 0, 0);
    let mut node = || rng.below(4000) as Node;
    let random: Vec<_> = (0..40_000).map(|_| (node(), node())).collect();
    let graphs = [(1000, star), (1000, path), (4000, random)];
    let graphs = graphs.map(|(nodes, edges)| Arc::new(graph(nodes, &edges)));
    for graph in graphs.into_iter().chain([builtin("builtin:moderate"), builtin("builtin:dense")]) {
        for negatives in [Negatives::Uniform, Negatives::Distance] {
            let config = TrainConfig { dim: 64, ..Default::default() };
            let vectors = embed(&graph, negatives, &config, &mut ()).unwrap();
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
    let vectors = embed(&graph, Negatives::Uniform, &config, &mut ()).unwrap();
    assert!(vectors.iter().all(|value| value.is_finite()));
}

/// Records losses, and stops after some epochs.
struct Collector {
    losses: Vec<f64>,
    stop_after: usize,
}

impl Sink for Collector {
    fn event(&mut self, event: &Event) -> nearfar::Result<ControlFlow<()>> {
        if let Event::Epoch { loss, .. } = event {
            self.losses.push(*loss);
        }
        let enough = self.losses.len() == self.stop_after;
        Ok(if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

#[test]
fn the_loss_falls_and_a_sink_can_stop() {
    let graph = builtin("builtin:moderate");
    let negatives = Negatives::Uniform;
    let mut collector = Collector { losses: vec![], stop_after: 5 };
    embed(&graph, negatives, &TrainConfig::default(), &mut collector).unwrap();
    assert_eq!(collector.losses.len(), 5);
    assert!(collector.losses[4] < collector.losses[0]);
}

/// Records the progress, and the epoch at which it was reported.
#[derive(Default)]
struct ProgressLog {
    epochs: usize,
    seen: Vec<(usize, f64)>,
}

impl Sink for ProgressLog {
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
        assert_eq!(sampler(&graph, negatives).prefers_batches(), ahead);
        let mut log = ProgressLog::default();
        embed(&graph, negatives, &config, &mut log).unwrap();
        assert!(log.seen.is_sorted_by_key(|&(_, done)| done));
        for &(epochs, done) in &log.seen {
            let (least, most) = (epochs as f64 / 8.0, (epochs + 1) as f64 / 8.0);
            // The first epoch draws for all epochs, which is about a third of the run.
            let most = if ahead { most + 0.36 } else { most };
            assert!((least..=most.min(1.0)).contains(&done), "{done} in epoch {}", epochs + 1);
        }
        let first = log.seen.iter().rfind(|(epochs, _)| *epochs == 0);
        assert_eq!(first.is_some_and(|&(_, done)| done > 0.3), ahead);
    }
}

#[test]
fn invalid_options_are_refused() {
    let graph = builtin("builtin:karate");
    let negatives = Negatives::Uniform;
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
        let error = embed(&graph, negatives, &config, &mut ()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("--{name} ")), "{error}");
    }
}
