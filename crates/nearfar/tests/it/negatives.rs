//! The conformance suite: every sampler against its law, computed by the formula.
//!
//! A law passes if no centre's draws are improbable: chi-square at a fixed seed, the bound at a
//! probability of about 3 in a million. Nodes that the law excludes must never be drawn.

use std::sync::Arc;

use nearfar::distance::Far;
use nearfar::graph::{Graph, Node, ReadOptions, read};
use nearfar::negative::{
    Budget, LandmarkCount, NegativeConfig, NegativePlan, NegativeSampler, Negatives, Strategy,
};
use nearfar::rng::{Purpose, Rng};

use crate::chi_square::{chi_square, chi_square_bound};
use crate::graphs::{comet, graph, islands, path, random, star};
use crate::naive::{self, Distances};

const DRAWS: usize = 20_000;

fn sampler(graph: &Arc<Graph>, config: &NegativeConfig) -> Box<dyn NegativeSampler> {
    NegativePlan::new(graph, config, &Budget::default()).unwrap().build(graph).unwrap()
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

/// Compares draws with the law of every centre for which there is one.
fn check(what: &str, sampler: &dyn NegativeSampler, law: impl Fn(usize) -> Option<Vec<f64>>) {
    let mut out = vec![0; DRAWS];
    for centre in 0.. {
        let Some(law) = law(centre) else { break };
        if law[centre].is_nan() {
            assert!(!sampler.has_negatives(centre as Node), "{what}: centre {centre}");
            continue;
        }
        assert!(sampler.has_negatives(centre as Node), "{what}: centre {centre}");
        let mut exact = vec![f64::NAN; law.len()];
        sampler.probabilities(centre as Node, &mut exact);
        let off = exact.iter().zip(&law).map(|(p, law)| (p - law).abs()).fold(0.0, f64::max);
        assert!(off < 1e-12, "{what}: centre {centre}: {off:e} off its law");
        let mut rng = Rng::new(1, Purpose::Negative, 0, centre as u64);
        sampler.fill(centre as Node, &mut rng, &mut out);
        let mut counts = vec![0_u32; law.len()];
        for &negative in &out {
            counts[negative as usize] += 1;
        }
        let (chi2, freedom) = chi_square(&counts, &law);
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
                // A centre next to all others has no law.
                if p.iter().all(|p| p.is_nan()) { vec![f64::NAN; p.len()] } else { p }
            })
        });
    }
}

#[test]
fn distance_and_its_bounds() {
    type Cut = fn(f64, f64) -> f64;
    let cuts: [(Negatives, Cut); 3] = [
        (Negatives::Distance, |p, _| p),
        (Negatives::DistanceMin, f64::min),
        (Negatives::DistanceMax, f64::max),
    ];
    for (name, graph) in connected().into_iter().chain(disconnected()) {
        let distances = Distances::new(&graph, None);
        for (negatives, cut) in cuts {
            for gamma in [1.0, 0.0, 0.5, 1.25, 6.0, -1.0, -4.0] {
                for strategy in [Strategy::Table, Strategy::Levels] {
                    let config =
                        NegativeConfig { negatives, gamma, strategy, ..Default::default() };
                    let what = format!("{name}, {negatives:?} by {strategy:?}, gamma {gamma}");
                    check(&what, &*sampler(&graph, &config), |i| {
                        (i < graph.nodes()).then(|| naive::bounded(&distances, i, gamma, cut))
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
            for gamma in [1.0, 0.0, 0.5, 2.0, 4.0, -1.0, -3.0] {
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
            for gamma in [1.0, 0.0, 5.0, -2.0] {
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
fn far_is_as_far_as_it_is_told() {
    for (name, graph) in disconnected() {
        for far in [1, 3, 40, 5000] {
            let distances = Distances::new(&graph, Some(far));
            let landmarks = naive::Landmarks::new(&graph, &distances, 3);
            for gamma in [1.0, -1.0] {
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
                let scalable = sampler(&graph, &config(Negatives::Landmark, Strategy::Auto));
                check(&format!("{name}, far {far}, landmark"), &*scalable, |i| {
                    (i < graph.nodes()).then(|| naive::landmark(&distances, &landmarks, i, gamma))
                });
            }
        }
    }
}

#[test]
fn distances_over_255_hops_are_drawn_by_as_they_are() {
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
fn plans_fit_their_budget_or_say_what_would() {
    let graph = random(2000, 6000, 1);
    let config = |negatives| NegativeConfig { negatives, ..Default::default() };
    let plan = |negatives, budget: &Budget| NegativePlan::new(&graph, &config(negatives), budget);
    let roomy = plan(Negatives::Auto, &Budget::default()).unwrap();
    assert_eq!((roomy.negatives, roomy.strategy), (Negatives::Distance, Some(Strategy::Table)));
    let tight = Budget { memory: 3_000_000, ..Default::default() };
    let auto = plan(Negatives::Auto, &tight).unwrap();
    assert_eq!((auto.negatives, auto.landmarks), (Negatives::LandmarkApprox, Some(200)));
    let error = plan(Negatives::Distance, &tight).unwrap_err().to_string();
    assert!(error.contains("landmark-approx"), "{error}");
    let once = Budget { fills: Some(1), ..tight };
    let levels = plan(Negatives::Distance, &once).unwrap();
    assert_eq!(levels.strategy, Some(Strategy::Levels));
    assert!(levels.bytes <= once.memory);
    // Exact laws draw much at a time, which takes room as well.
    let ahead = Budget { ahead: 8_000_000_000, ..Default::default() };
    let auto = plan(Negatives::Auto, &ahead).unwrap();
    assert_eq!((auto.negatives, auto.landmarks), (Negatives::LandmarkApprox, Some(200)));
}

#[test]
fn large_graphs_have_as_many_landmarks_as_are_quickly_found() {
    let config =
        NegativeConfig { negatives: Negatives::LandmarkApprox, ..NegativeConfig::default() };
    let landmarks = |nodes, edges| {
        let graph = random(nodes, edges, 1);
        NegativePlan::new(&graph, &config, &Budget::default()).unwrap().landmarks.unwrap()
    };
    assert_eq!(landmarks(70_000, 70_000), 7000, "10 % of the nodes");
    assert_eq!(landmarks(90_000, 90_000), 8000, "distances of 64 MB");
    let many = landmarks(90_000, 900_000);
    assert!((5000..5400).contains(&many), "{many}, by 10¹⁰ looks at 1.9 million nodes and edges");
}

#[test]
fn wrong_settings_are_refused() {
    let graph = random(50, 100, 1);
    let refused = |config: NegativeConfig| {
        let plan = NegativePlan::new(&graph, &config, &Budget::default());
        plan.unwrap_err().to_string()
    };
    let base = NegativeConfig { negatives: Negatives::LandmarkApprox, ..Default::default() };
    for gamma in [f64::NAN, f64::INFINITY, -65.0] {
        assert!(refused(NegativeConfig { gamma, ..base.clone() }).contains("gamma"));
    }
    for degree_power in [f64::NAN, -0.5] {
        let message = refused(NegativeConfig { degree_power, ..base.clone() });
        assert!(message.contains("degree-power"));
    }
    for amount in [
        LandmarkCount::Count(0),
        LandmarkCount::Count(51),
        LandmarkCount::Fraction(0.0),
        LandmarkCount::Fraction(1.5),
    ] {
        let landmarks = Some(amount);
        assert!(refused(NegativeConfig { landmarks, ..base.clone() }).contains("landmarks"));
    }
}
