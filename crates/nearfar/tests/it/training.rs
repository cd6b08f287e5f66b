//! Training as a whole.

use std::ops::ControlFlow;
use std::sync::Arc;

use nearfar::graph::{Graph, ReadOptions, read};
use nearfar::negative::{Budget, NegativeConfig, NegativePlan, NegativeSampler, Negatives};
use nearfar::train::kernel::Kernel;
use nearfar::train::{Event, L2, Sink, TrainConfig, embed, embed_with};

use crate::graphs::{graph, islands};

fn builtin(name: &str) -> Arc<Graph> {
    Arc::new(read(name, &ReadOptions::default()).unwrap().graph)
}

pub(crate) fn sampler(graph: &Arc<Graph>, negatives: Negatives) -> Box<dyn NegativeSampler> {
    let config = NegativeConfig { negatives, ..Default::default() };
    NegativePlan::new(graph, &config, &Budget::default()).unwrap().build(graph).unwrap()
}

fn short() -> TrainConfig {
    TrainConfig { dim: 24, epochs: 3, ..Default::default() }
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
fn kernels_lead_to_nearly_the_same_vectors() {
    let graph = builtin("builtin:karate");
    let negatives = sampler(&graph, Negatives::Distance);
    let config = TrainConfig { l2: L2::Value(0.1), ..short() };
    let train = |kernel| embed_with(kernel, &graph, &*negatives, &config, &mut ()).unwrap();
    let all: Vec<_> = Kernel::available().into_iter().map(train).collect();
    for vectors in &all {
        let far = vectors.iter().zip(&all[0]).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(far < 1e-3, "{far}");
    }
}

#[test]
fn near_nodes_come_near_and_far_nodes_far() {
    let graph = builtin("builtin:sparse");
    let negatives = sampler(&graph, Negatives::Distance);
    let config = TrainConfig { dim: 32, ..Default::default() };
    let vectors = embed(&graph, &*negatives, &config, &mut ()).unwrap();
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
    assert!(near > any + 1.0, "{near:.2} between neighbours, {any:.2} between any two");
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

#[test]
fn a_centre_may_have_any_number_of_pairs() {
    let graph = Arc::new(graph(2, &[(0, 1)]));
    let config = TrainConfig { walks: Some(70_000), context: 2, epochs: 1, ..short() };
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

#[test]
fn wrong_settings_are_refused() {
    let graph = builtin("builtin:karate");
    let negatives = sampler(&graph, Negatives::Uniform);
    let base = TrainConfig::default;
    for (name, config) in [
        ("dim", TrainConfig { dim: 0, ..base() }),
        ("context", TrainConfig { context: 1, ..base() }),
        ("walks", TrainConfig { walks: Some(0), ..base() }),
        ("k", TrainConfig { k: 0, ..base() }),
        ("p", TrainConfig { p: 0.0, ..base() }),
        ("q", TrainConfig { q: f64::NAN, ..base() }),
        ("epochs", TrainConfig { epochs: 0, ..base() }),
        ("lr", TrainConfig { lr: f64::NAN, ..base() }),
        ("l2", TrainConfig { l2: L2::Value(-1.0), ..base() }),
        ("negative-weight", TrainConfig { negative_weight: -1.0, ..base() }),
    ] {
        let error = embed(&graph, &*negatives, &config, &mut ()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{name} is ")), "{error}");
    }
}
