//! The exact trainer against the formula, and the sampled one against the exact.

use std::ops::ControlFlow;
use std::sync::Arc;

use nearfar::Result;
use nearfar::graph::{Graph, ReadOptions, read};
use nearfar::negative::Negatives;
use nearfar::positive::Walk;
use nearfar::rng::{Purpose, Rng};
use nearfar::train::exact::Objective;
use nearfar::train::stream::sampling::{EpochPairs, PairSources, Sampling};
use nearfar::train::{Event, L2, Model, Sink, TrainConfig, TrainPlan, Trainer};

use crate::graphs::{graph, islands, random, star};
use crate::naive;
use crate::trained::{embed, plan, sampler};

const DIM: usize = 3;
const L2_OF_TESTS: f64 = 0.3;

fn vectors(n: usize) -> Vec<f32> {
    let mut rng = Rng::new(5, Purpose::Start, 0, 0);
    (0..n * DIM).map(|_| (rng.unit() * 3.0 - 1.5) as f32).collect()
}

/// One step of a walk: each row is a distribution over nodes, and is multiplied by the transition
/// matrix.
fn step(graph: &Graph, rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = graph.nodes();
    let next = |row: &Vec<f64>| {
        let mut next = vec![0.0; n];
        for (node, probability) in row.iter().enumerate() {
            let neighbours = graph.neighbours(node as u32);
            if neighbours.is_empty() {
                next[node] += probability;
            }
            for &to in neighbours {
                next[to as usize] += probability / neighbours.len() as f64;
            }
        }
        next
    };
    rows.iter().map(next).collect()
}

/// Σ_i c_i ℓ_i by the formula.
fn objective(graph: &Graph, plan: &TrainPlan, law: &[Vec<f64>], z: &[f64]) -> f64 {
    let n = graph.nodes();
    let identity: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    let window = plan.window;
    let (mut at, mut contexts, mut centres) = (identity, vec![vec![0.0; n]; n], vec![0.0; n]);
    let windows = plan.length - window + 1;
    // A node without edges counts as one with a single edge.
    let start = |i: usize| (graph.degree(i as u32).max(1) as f64).powf(plan.centre_power);
    let starts: Vec<f64> = (0..n).map(start).collect();
    let mean = starts.iter().sum::<f64>() / n as f64;
    for position in 0..window.max(windows) {
        for i in 0..n {
            for j in 0..n {
                if position < windows {
                    centres[j] += starts[i] / mean * at[i][j] / windows as f64;
                }
                if position > 0 && position < window {
                    contexts[i][j] += at[i][j] / (window - 1) as f64;
                }
            }
        }
        at = step(graph, &at);
    }
    let row = |i: usize| &z[i * DIM..(i + 1) * DIM];
    let dot = |i, j| -> f64 { row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum() };
    let loss = |x: f64| (-x).exp().ln_1p();
    let mut sum = 0.0;
    for i in 0..n {
        let others = (0..n).filter(|&j| j != i);
        let pairs = others.map(|j| {
            contexts[i][j] * loss(dot(i, j)) + plan.negative_weight * law[i][j] * loss(-dot(i, j))
        });
        sum += centres[i] * (pairs.sum::<f64>() + L2_OF_TESTS / 2.0 * dot(i, i));
    }
    sum
}

fn configs() -> [TrainConfig; 3] {
    let base = || TrainConfig { dim: DIM, context: Some(4), ..Default::default() };
    [
        TrainConfig { negative_weight: 1.7, ..base() },
        TrainConfig { walk_length: Some(9), ..base() },
        TrainConfig { model: Model::Line, ..base() },
    ]
}

#[test]
fn the_gradient_is_that_of_the_formula() {
    const H: f64 = 1e-5;
    for graph in [islands(), random(150, 300, 1), star(9)].map(Arc::new) {
        let n = graph.nodes();
        let z = vectors(n);
        let wide: Vec<f64> = z.iter().map(|&x| f64::from(x)).collect();
        for config in configs() {
            let distances = naive::Distances::new(&graph, None);
            let law: Vec<_> = (0..n).map(|i| naive::distance(&distances, i, 1.0)).collect();
            let plan = plan(&graph, Negatives::Distance, &config);
            let negatives = sampler(&graph, Negatives::Distance);
            let mut found = vec![0.0; n * DIM];
            Objective::new(&graph, &*negatives, &plan).gradient(&z, DIM, L2_OF_TESTS, &mut found);
            for at in (0..n * DIM).step_by((n * DIM / 20).max(1)) {
                let shifted = |by: f64| {
                    let mut z = wide.clone();
                    z[at] += by;
                    objective(&graph, &plan, &law, &z)
                };
                let exact = (shifted(H) - shifted(-H)) / (2.0 * H);
                let found = f64::from(found[at]);
                assert!((found - exact).abs() < 1e-4 * exact.abs().max(1.0), "{found} {exact}");
            }
        }
    }
}

/// The gradient of one epoch of sampled pairs at fixed vectors, added to `sum`.
fn sampled(pairs: &EpochPairs, plan: &TrainPlan, z: &[f32], sum: &mut [f64]) {
    let row = |i: usize| &z[i * DIM..(i + 1) * DIM];
    for pair in pairs.buckets[0].list(0).flatten() {
        let (i, j) = (pair.centre(), pair.other());
        let dot: f32 = row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum();
        let sigma = 1.0 / (1.0 + f64::from(-dot).exp());
        let (g, l2) = if pair.is_positive() {
            ((sigma - 1.0) / (plan.window - 1) as f64, 0.0)
        } else {
            let k = plan.k as f64;
            (sigma * plan.negative_weight / k, L2_OF_TESTS / k)
        };
        for at in 0..DIM {
            sum[i * DIM + at] += g * f64::from(row(j)[at]) + l2 * f64::from(row(i)[at]);
            sum[j * DIM + at] += g * f64::from(row(i)[at]);
        }
    }
}

#[test]
fn the_mean_step_of_sampled_pairs_is_the_exact_gradient() {
    const EPOCHS: usize = 200;
    let graph = Arc::new(read("builtin:karate", &ReadOptions::default()).unwrap().graph);
    let n = graph.nodes();
    let z = vectors(n);
    let negatives = sampler(&graph, Negatives::Distance);
    for config in configs() {
        let plan = plan(&graph, Negatives::Distance, &config);
        let mut exact = vec![0.0; n * DIM];
        Objective::new(&graph, &*negatives, &plan).gradient(&z, DIM, L2_OF_TESTS, &mut exact);
        let positives = Walk::with_centre_power(&graph, plan.centre_power);
        let sources =
            PairSources { positives: &positives, negatives: &*negatives, nodes: n, rows: 64 };
        let (walks, length, context) = (10, plan.length, plan.window);
        let sampling = Sampling { walks, length, context, negatives: plan.k, ahead: 1, seed: 3 };
        let (mut sum, mut squares) = (vec![0.0; n * DIM], vec![0.0; n * DIM]);
        let mut pairs = EpochPairs::default();
        for epoch in 0..EPOCHS {
            let sampled_all =
                pairs.sample(sources, sampling, epoch as u64, |_| Ok(ControlFlow::Continue(())));
            assert!(sampled_all.unwrap().is_continue());
            let mut steps = vec![0.0; n * DIM];
            sampled(&pairs, &plan, &z, &mut steps);
            for ((sum, square), step) in sum.iter_mut().zip(&mut squares).zip(steps) {
                let of_a_window = step / (walks * (length - context + 1)) as f64;
                *sum += of_a_window;
                *square += of_a_window * of_a_window;
            }
        }
        for ((sum, square), exact) in sum.iter().zip(squares).zip(exact) {
            let mean = sum / EPOCHS as f64;
            let deviation = ((square / EPOCHS as f64 - mean * mean) / EPOCHS as f64).sqrt();
            let error = (mean - f64::from(exact)).abs();
            assert!(error < 5.0 * deviation + 1e-6, "{mean} ± {deviation}, exactly {exact}");
        }
    }
}

#[test]
fn the_same_bytes_on_any_number_of_threads() {
    let graph = Arc::new(random(300, 700, 2));
    let negatives = Negatives::Distance;
    let base = || TrainConfig { trainer: Some(Trainer::Exact), dim: 20, ..Default::default() };
    for config in [
        TrainConfig { epochs: Some(30), ..base() },
        TrainConfig { epochs: Some(7), l2: L2::Value(0.2), model: Model::Line, ..base() },
    ] {
        let train = |threads: usize| -> Vec<u32> {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let vectors = pool.install(|| embed(&graph, negatives, &config, &mut ()).unwrap());
            vectors.into_iter().map(f32::to_bits).collect()
        };
        let one = train(1);
        assert!([2, 3, 8].into_iter().all(|threads| train(threads) == one));
    }
}

/// Long walks visit a hub at every other step, so that nearly all pairs have a gradient at it.
#[test]
fn vectors_of_hubs_stay_bounded() {
    let graph = Arc::new(star(300));
    let negatives = Negatives::Distance;
    let trainer = Some(Trainer::Exact);
    let config = TrainConfig { trainer, dim: 8, walk_length: Some(20), ..Default::default() };
    let vectors = embed(&graph, negatives, &config, &mut ()).unwrap();
    assert!(vectors.iter().all(|value| value.abs() < 10.0));
}

#[test]
fn every_law_trains() {
    let graph = Arc::new(islands());
    let config = TrainConfig { trainer: Some(Trainer::Exact), dim: 8, ..Default::default() };
    for negatives in [Negatives::Uniform, Negatives::Degree, Negatives::LandmarkApprox] {
        let vectors = embed(&graph, negatives, &config, &mut ()).unwrap();
        assert!(vectors.iter().all(|value| value.is_finite()));
    }
}

/// Products are computed in tiles of 64 × 512 nodes.
#[test]
fn the_gradient_is_that_of_the_formula_over_several_tiles() {
    const H: f64 = 1e-4;
    let graph = Arc::new(random(1100, 1600, 1));
    let n = graph.nodes();
    let z = vectors(n);
    let mut wide: Vec<f64> = z.iter().map(|&x| f64::from(x)).collect();
    let config = TrainConfig { dim: DIM, context: Some(3), ..Default::default() };
    let law: Vec<_> = (0..n).map(|i| naive::uniform(n, i)).collect();
    let plan = plan(&graph, Negatives::Uniform, &config);
    let negatives = sampler(&graph, Negatives::Uniform);
    let mut found = vec![0.0; n * DIM];
    let all = Objective::new(&graph, &*negatives, &plan);
    all.gradient(&z, DIM, L2_OF_TESTS, &mut found);
    for node in [5, 600, 1090] {
        let at = node * DIM + 1;
        let mut shifted = |by: f64| {
            wide[at] += by;
            let loss = objective(&graph, &plan, &law, &wide);
            wide[at] -= by;
            loss
        };
        let exact = (shifted(H) - shifted(-H)) / (2.0 * H);
        let found = f64::from(found[at]);
        assert!((found - exact).abs() < 1e-4 * exact.abs().max(1.0), "{node}: {found} {exact}");
    }
}

/// Losses and pairs of all epochs.
#[derive(Default)]
struct Epochs(Vec<(u64, f64)>);

impl Sink for Epochs {
    fn event(&mut self, event: &Event) -> Result<ControlFlow<()>> {
        if let Event::Epoch { pairs, loss, .. } = event {
            self.0.push((*pairs, *loss));
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Gradient descent with a rate that falls to zero. On a ring no node is heavy enough for smaller steps.
#[test]
fn training_is_gradient_descent() {
    const EPOCHS: usize = 4;
    let edges: Vec<_> = (0..30).map(|a| (a, (a + 1) % 30)).collect();
    let graph = Arc::new(graph(30, &edges));
    let config = |epochs, lr| TrainConfig {
        trainer: Some(Trainer::Exact),
        dim: DIM,
        epochs: Some(epochs),
        lr: Some(lr),
        l2: L2::Value(L2_OF_TESTS),
        smoothing: Some(0),
        ..Default::default()
    };
    let law = Negatives::Uniform;
    let mut z = embed(&graph, law, &config(1, 1e-12), &mut ()).unwrap();
    let mut epochs = Epochs::default();
    let trained = embed(&graph, law, &config(EPOCHS, 0.5), &mut epochs).unwrap();
    let plan = plan(&graph, law, &config(EPOCHS, 0.5));
    let all = Objective::new(&graph, &*sampler(&graph, law), &plan);
    let mut gradient = vec![0.0; z.len()];
    for (epoch, &(pairs, reported)) in epochs.0.iter().enumerate() {
        let loss = all.gradient(&z, DIM, L2_OF_TESTS, &mut gradient);
        assert!((loss - reported).abs() < 1e-6, "{loss}, reported {reported}");
        assert_eq!(pairs, 30 * 29);
        let rate = 0.5 * (1.0 - epoch as f32 / EPOCHS as f32);
        z.iter_mut().zip(&gradient).for_each(|(z, gradient)| *z -= rate * gradient);
    }
    assert_eq!(epochs.0.len(), EPOCHS);
    for (trained, z) in trained.iter().zip(&z) {
        assert!((trained - z).abs() < 1e-5, "{trained} {z}");
    }
}

/// T in four bytes a pair, twelve for each pair of a window, the lists of both, and five numbers for
/// each node on each thread.
#[test]
fn memory_is_that_of_all_pairs() {
    let edges: Vec<_> = (0..1000).map(|a| (a, (a + 1) % 1000)).collect();
    let graph = graph(1000, &edges);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    // Within four hops are eight nodes, and a tenth more.
    let bytes = 1000 * 1000 * 4 + 8800 * 12 + 2 * 1000 * 24 + 3 * 1000 * 40;
    let found = pool.install(|| Objective::bytes(&graph, 5));
    assert!(found.abs_diff(bytes) <= 12, "{found} instead of {bytes}");
}
