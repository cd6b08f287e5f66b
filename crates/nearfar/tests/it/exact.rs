//! The exact trainer against the formula, and the sampled one against the exact.

use std::ops::ControlFlow;
use std::sync::Arc;

use nearfar::graph::{Graph, ReadOptions, read};
use nearfar::negative::Negatives;
use nearfar::positive::Walk;
use nearfar::rng::{Purpose, Rng};
use nearfar::train::exact::Objective;
use nearfar::train::stream::sampling::{EpochPairs, PairSources, Sampling};
use nearfar::train::{L2, Model, TrainConfig, TrainPlan, Trainer};

use crate::graphs::{islands, random, star};
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
        let mut pairs = EpochPairs::new(n, sources.rows);
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
