//! The conformance suite: every sampler against its distribution, computed by the formula.
//!
//! Draws of every centre are compared by a chi-square test with a fixed seed, at a significance of
//! about 3 in ten million: there are tens of thousands of tests. Nodes of probability 0 must never be drawn.

use std::sync::Arc;

use nearfar::Budget;
use nearfar::distance::Far;
use nearfar::graph::{Graph, Node, ReadOptions, read};
use nearfar::negative::{
    Demand, LandmarkCount, NegativeConfig, NegativePlan, NegativeSampler, Negatives, Strategy,
};
use nearfar::rng::{Purpose, Rng};

use crate::chi_square::{chi_square, chi_square_bound};
use crate::graphs::{comet, graph, islands, path, random, star};
use crate::naive::{self, Distances};

const DRAWS: usize = 20_000;

pub(crate) fn sampler(graph: &Arc<Graph>, config: &NegativeConfig) -> Box<dyn NegativeSampler> {
    NegativePlan::new(graph, config, &Budget::default(), &Demand::default())
        .unwrap()
        .build(graph)
        .unwrap()
}

fn connected() -> Vec<(&'static str, Arc<Graph>)> {
    let karate = read("builtin:karate", &ReadOptions::default()).unwrap().graph;
    vec![
        ("karate", Arc::new(karate)),
        ("path", Arc::new(path(12))),
        ("star", Arc::new(star(15))),
        ("comet", Arc::new(comet(60, 25))),
        ("pair", Arc::new(graph(2, &[(0, 1)]))),
    ]
}

fn disconnected() -> Vec<(&'static str, Arc<Graph>)> {
    vec![
        ("islands", Arc::new(islands())),
        ("sparse random", Arc::new(random(40, 25, 2))),
        ("one edge", Arc::new(graph(5, &[(3, 1)]))),
    ]
}

/// Compares probabilities and draws of every centre with the expected distribution. `expected`
/// returns `None` after the last centre, and NaN for a centre without negatives.
pub(crate) fn check(
    what: &str,
    sampler: &dyn NegativeSampler,
    expected: impl Fn(usize) -> Option<Vec<f64>>,
) {
    let mut out = vec![0; DRAWS];
    for centre in 0.. {
        let Some(expected) = expected(centre) else { break };
        if expected[centre].is_nan() {
            assert!(!sampler.has_negatives(centre as Node), "{what}: centre {centre}");
            continue;
        }
        assert!(sampler.has_negatives(centre as Node), "{what}: centre {centre}");
        let mut probabilities = vec![f64::NAN; expected.len()];
        sampler.probabilities(centre as Node, &mut probabilities);
        let errors = probabilities.iter().zip(&expected).map(|(p, expected)| (p - expected).abs());
        let error = errors.fold(0.0, f64::max);
        assert!(error < 1e-12, "{what}: centre {centre}: probabilities differ by {error:e}");
        let mut rng = Rng::new(1, Purpose::Negative, 0, centre as u64);
        sampler.fill(centre as Node, &mut rng, &mut out);
        let mut counts = vec![0_u32; expected.len()];
        for &negative in &out {
            counts[negative as usize] += 1;
        }
        let (chi2, freedom) = chi_square(&counts, &expected);
        let bound = chi_square_bound(freedom);
        assert!(chi2 <= bound, "{what}: centre {centre}: chi-square {chi2:.1} over {bound:.1}");
    }
}

#[test]
fn uniform() {
    for (name, graph) in connected().into_iter().chain(disconnected()) {
        let config = NegativeConfig { negatives: Negatives::Uniform, ..Default::default() };
        let n = graph.nodes();
        check(name, &*sampler(&graph, &config), |i| (i < n).then(|| naive::uniform(n, i)));
    }
}

#[test]
fn degree() {
    for (name, graph) in connected().into_iter().chain(disconnected()) {
        for degree_power in [0.75, 0.0, 1.0, 6.0] {
            let config =
                NegativeConfig { negatives: Negatives::Degree, degree_power, ..Default::default() };
            let what = format!("{name}, power {degree_power}");
            check(&what, &*sampler(&graph, &config), |i| {
                (i < graph.nodes()).then(|| naive::degree(&graph, i, degree_power))
            });
        }
    }
}

#[test]
fn edge() {
    let mut graphs = connected();
    graphs.retain(|(name, _)| *name != "pair");
    let almost_complete: Vec<_> =
        (0..12).flat_map(|a| (0..a).map(move |b| (a, b))).filter(|&e| e != (5, 2)).collect();
    graphs.push(("almost complete", Arc::new(crate::graphs::graph(12, &almost_complete))));
    for (name, graph) in graphs.into_iter().chain(disconnected()) {
        let config = NegativeConfig { negatives: Negatives::Edge, ..Default::default() };
        check(name, &*sampler(&graph, &config), |i| {
            (i < graph.nodes()).then(|| {
                let p = naive::edge(&graph, i);
                // A centre adjacent to all other nodes has no negatives.
                if p.iter().all(|p| p.is_nan()) { vec![f64::NAN; p.len()] } else { p }
            })
        });
    }
}

#[test]
fn distance_and_its_bounds() {
    type Clamp = fn(f64, f64) -> f64;
    let clamps: [(Negatives, Clamp); 3] = [
        (Negatives::Distance, |p, _| p),
        (Negatives::DistanceMin, f64::min),
        (Negatives::DistanceMax, f64::max),
    ];
    for (name, graph) in connected().into_iter().chain(disconnected()) {
        let distances = Distances::new(&graph, None);
        for (negatives, clamp) in clamps {
            for gamma in [1.0, 0.0, 0.5, 1.25, 6.0, 20.0, -1.0, -4.0] {
                for strategy in [Strategy::Table, Strategy::Levels] {
                    let config =
                        NegativeConfig { negatives, gamma, strategy, ..Default::default() };
                    let what = format!("{name}, {negatives:?} by {strategy:?}, gamma {gamma}");
                    check(&what, &*sampler(&graph, &config), |i| {
                        (i < graph.nodes()).then(|| naive::bounded(&distances, i, gamma, clamp))
                    });
                }
            }
        }
    }
}

#[test]
fn landmark_approx() {
    for (name, graph) in connected().into_iter().chain(disconnected()) {
        let distances = Distances::new(&graph, None);
        for count in [1, 2, 5, 12].into_iter().filter(|&count| count <= graph.nodes()) {
            let landmarks = naive::Landmarks::new(&graph, &distances, count);
            for gamma in [1.0, 0.0, 0.5, 2.0, 4.0, 20.0, 64.0, -1.0, -3.0, -4.0, -20.0, -64.0] {
                let config = NegativeConfig {
                    negatives: Negatives::LandmarkApprox,
                    gamma,
                    landmarks: Some(LandmarkCount::Count(count)),
                    ..Default::default()
                };
                let what = format!("{name}, {count} landmarks, gamma {gamma}");
                check(&what, &*sampler(&graph, &config), |i| {
                    (i < graph.nodes())
                        .then(|| naive::landmark_approx(&distances, &landmarks, i, gamma))
                });
            }
        }
    }
}

#[test]
fn landmark() {
    for (name, graph) in connected().into_iter().chain(disconnected()) {
        let distances = Distances::new(&graph, None);
        for count in [2, 5, 12].into_iter().filter(|&count| count <= graph.nodes()) {
            let landmarks = naive::Landmarks::new(&graph, &distances, count);
            for gamma in [1.0, 0.0, 5.0, 20.0, -2.0, -20.0] {
                let config = NegativeConfig {
                    negatives: Negatives::Landmark,
                    gamma,
                    landmarks: Some(LandmarkCount::Count(count)),
                    ..Default::default()
                };
                let what = format!("{name}, {count} landmarks, gamma {gamma}");
                check(&what, &*sampler(&graph, &config), |i| {
                    (i < graph.nodes()).then(|| naive::landmark(&distances, &landmarks, i, gamma))
                });
            }
        }
    }
}

#[test]
fn the_distance_between_components_can_be_set() {
    for (name, graph) in disconnected() {
        for far in [1, 3, 40, 5000] {
            let distances = Distances::new(&graph, Some(far));
            let landmarks = naive::Landmarks::new(&graph, &distances, 3);
            for gamma in [1.0, -1.0, 8.0] {
                let config = |negatives, strategy| NegativeConfig {
                    negatives,
                    strategy,
                    gamma,
                    far: Far::Hops(far),
                    landmarks: Some(LandmarkCount::Count(3)),
                    ..Default::default()
                };
                for strategy in [Strategy::Table, Strategy::Levels] {
                    let sampler = sampler(&graph, &config(Negatives::Distance, strategy));
                    let what = format!("{name}, far {far}, {strategy:?}");
                    check(&what, &*sampler, |i| {
                        (i < graph.nodes()).then(|| naive::distance(&distances, i, gamma))
                    });
                }
                let approx = sampler(&graph, &config(Negatives::LandmarkApprox, Strategy::Auto));
                check(&format!("{name}, far {far}, landmark-approx"), &*approx, |i| {
                    (i < graph.nodes())
                        .then(|| naive::landmark_approx(&distances, &landmarks, i, gamma))
                });
                let landmark = sampler(&graph, &config(Negatives::Landmark, Strategy::Auto));
                check(&format!("{name}, far {far}, landmark"), &*landmark, |i| {
                    (i < graph.nodes()).then(|| naive::landmark(&distances, &landmarks, i, gamma))
                });
            }
        }
    }
}

#[test]
fn distances_over_255_hops_are_not_truncated() {
    let graph = Arc::new(path(400));
    let distances = Distances::new(&graph, None);
    let landmarks = naive::Landmarks::new(&graph, &distances, 40);
    for strategy in [Strategy::Table, Strategy::Levels] {
        let config =
            NegativeConfig { negatives: Negatives::Distance, strategy, ..Default::default() };
        check("long path", &*sampler(&graph, &config), |i| {
            (i < 400).then(|| naive::distance(&distances, i, 1.0))
        });
    }
    let config = NegativeConfig {
        negatives: Negatives::LandmarkApprox,
        landmarks: Some(LandmarkCount::Count(40)),
        ..Default::default()
    };
    check("long path by landmarks", &*sampler(&graph, &config), |i| {
        (i < 400).then(|| naive::landmark_approx(&distances, &landmarks, i, 1.0))
    });
}

/// Long graphs, whose distances are joined to bands, around a few landmarks.
#[test]
fn steep_weights_of_long_distances() {
    let graph = Arc::new(path(400));
    let distances = Distances::new(&graph, None);
    let landmarks = naive::Landmarks::new(&graph, &distances, 3);
    for gamma in [3.0, 20.0, -2.0, -20.0] {
        let config = NegativeConfig {
            negatives: Negatives::LandmarkApprox,
            gamma,
            landmarks: Some(LandmarkCount::Count(3)),
            ..Default::default()
        };
        let sampler = sampler(&graph, &config);
        check(&format!("long path, gamma {gamma}"), &*sampler, |i| {
            (i < 400).then(|| naive::landmark_approx(&distances, &landmarks, i, gamma))
        });
    }
}

/// Every node is its own component, and all distances are equal.
#[test]
fn graphs_without_edges_have_negatives() {
    let graph = Arc::new(graph(7, &[]));
    let laws = [
        Negatives::Uniform,
        Negatives::Distance,
        Negatives::DistanceMin,
        Negatives::DistanceMax,
        Negatives::LandmarkApprox,
        Negatives::Landmark,
        Negatives::Edge,
    ];
    for negatives in laws {
        for gamma in [1.0, -1.0, 20.0] {
            let config = NegativeConfig { negatives, gamma, ..Default::default() };
            check(&format!("{negatives:?}, gamma {gamma}"), &*sampler(&graph, &config), |i| {
                (i < 7).then(|| naive::uniform(7, i))
            });
        }
    }
}

/// Every component has its landmarks, and searches stay within it.
#[test]
fn many_components_are_sampled_by_their_law() {
    let triangles: Vec<_> = (0..2000)
        .flat_map(|k| [(3 * k, 3 * k + 1), (3 * k, 3 * k + 2), (3 * k + 1, 3 * k + 2)])
        .collect();
    let graph = Arc::new(graph(6000, &triangles));
    for gamma in [1.0, -2.0] {
        let config =
            NegativeConfig { negatives: Negatives::LandmarkApprox, gamma, ..Default::default() };
        let sampler = sampler(&graph, &config);
        let mut weights = vec![0.0; 6000];
        sampler.weights(4000, &mut weights);
        for (k, weight) in weights.iter().enumerate() {
            // Nodes of other components are 2 hops away, between their landmarks.
            if k / 3 != 4000 / 3 {
                assert!(*weight > 0.0, "{k}");
            }
        }
        let mut out = vec![4000; 30_000];
        sampler.fill(4000, &mut Rng::new(0, Purpose::Negative, 0, 0), &mut out);
        let total: f64 = weights.iter().sum();
        let near = weights[3999] + weights[4001];
        let found = out.iter().filter(|&&k| k / 3 == 4000 / 3).count() as f64;
        let expected = near / total * 30_000.0;
        assert!((found - expected).abs() < 5.0 * expected.sqrt() + 1.0, "{found} for {expected}");
        assert!(!out.contains(&4000));
    }
}

#[test]
fn draws_do_not_depend_on_threads_or_order() {
    let graph = Arc::new(random(500, 1500, 5));
    for negatives in [
        Negatives::Uniform,
        Negatives::Degree,
        Negatives::Distance,
        Negatives::DistanceMin,
        Negatives::LandmarkApprox,
        Negatives::Landmark,
        Negatives::Edge,
    ] {
        let config = NegativeConfig { negatives, ..Default::default() };
        let draw = |threads: usize| -> Vec<[Node; 9]> {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                use rayon::prelude::*;
                let sampler = sampler(&graph, &config);
                (0..500_u32)
                    .into_par_iter()
                    .map(|centre| {
                        let mut out = [0; 9];
                        let mut rng = Rng::new(3, Purpose::Negative, 0, u64::from(centre));
                        sampler.fill(centre, &mut rng, &mut out);
                        out
                    })
                    .collect()
            })
        };
        assert_eq!(draw(1), draw(3), "{negatives:?}");
    }
}

#[test]
fn plans_fit_their_budget_or_name_an_alternative() {
    let graph = random(2000, 6000, 1);
    let config = |negatives| NegativeConfig { negatives, ..Default::default() };
    let plan = |negatives, budget: &Budget, demand: &Demand| {
        NegativePlan::new(&graph, &config(negatives), budget, demand)
    };
    let (allowed, nothing) = (Budget::default(), Demand::default());
    let large = plan(Negatives::Auto, &allowed, &nothing).unwrap();
    assert_eq!((large.law, large.strategy), (Negatives::Distance, Some(Strategy::Table)));
    let small = Budget { memory: 3_000_000, ..Default::default() };
    let auto = plan(Negatives::Auto, &small, &nothing).unwrap();
    assert_eq!((auto.law, auto.landmarks), (Negatives::LandmarkApprox, Some(200)));
    let error = plan(Negatives::Distance, &small, &nothing).unwrap_err().to_string();
    assert!(error.contains("landmark-approx"), "{error}");
    let once = Demand { fills: Some(1), ..nothing };
    let levels = plan(Negatives::Distance, &small, &once).unwrap();
    assert_eq!(levels.strategy, Some(Strategy::Levels));
    assert!(levels.building <= small.memory);
    // Exact distances are drawn from in large batches, whose memory counts too.
    let ahead = Demand { ahead: 8_000_000_000, ..nothing };
    let auto = plan(Negatives::Auto, &allowed, &ahead).unwrap();
    assert_eq!((auto.law, auto.landmarks), (Negatives::LandmarkApprox, Some(200)));
}

#[test]
fn the_default_number_of_landmarks_is_limited_by_memory_and_time() {
    let config =
        NegativeConfig { negatives: Negatives::LandmarkApprox, ..NegativeConfig::default() };
    let landmarks = |nodes, edges| {
        let graph = random(nodes, edges, 1);
        NegativePlan::new(&graph, &config, &Budget::default(), &Demand::default())
            .unwrap()
            .landmarks
            .unwrap()
    };
    assert_eq!(landmarks(70_000, 70_000), 7000, "10 % of the nodes");
    assert_eq!(landmarks(90_000, 90_000), 8000, "64 MB of distances");
    let many = landmarks(90_000, 900_000);
    assert!(
        (5000..5400).contains(&many),
        "{many} searches of 1.9 million nodes and edges are 10¹⁰ steps"
    );
}

#[test]
fn invalid_settings_are_errors() {
    let graph = random(50, 100, 1);
    let error = |config: NegativeConfig| {
        let plan = NegativePlan::new(&graph, &config, &Budget::default(), &Demand::default());
        plan.unwrap_err().to_string()
    };
    let base = NegativeConfig { negatives: Negatives::LandmarkApprox, ..Default::default() };
    for gamma in [f64::NAN, f64::INFINITY, -65.0] {
        assert!(error(NegativeConfig { gamma, ..base.clone() }).contains("gamma"));
    }
    for degree_power in [f64::NAN, -0.5] {
        let message = error(NegativeConfig { degree_power, ..base.clone() });
        assert!(message.contains("degree-power"));
    }
    for count in [
        LandmarkCount::Count(0),
        LandmarkCount::Count(51),
        LandmarkCount::Fraction(0.0),
        LandmarkCount::Fraction(1.5),
    ] {
        let landmarks = Some(count);
        assert!(error(NegativeConfig { landmarks, ..base.clone() }).contains("landmarks"));
    }
}
