//! Measures of vectors against their definitions, pair by pair.

use std::sync::Arc;

use nearfar::distance::Far;
use nearfar::embedding::Embedding;
use nearfar::evaluate::measure::{Counted, MeasureConfig, Measures, measure};
use nearfar::graph::{Graph, Node, NodeIds, Preset, SynthConfig, synth};
use nearfar::negative::{NegativeConfig, Negatives};
use nearfar::rng::{Purpose, Rng};
use nearfar::train::{L2, TrainConfig};

use crate::graphs::{comet, islands, path, random, star};
use crate::trained::embed;
use crate::{naive, positives};

/// Random vectors, correlated between neighbours.
fn vectors(graph: &Graph, dim: usize, spread: f64) -> Embedding {
    let n = graph.nodes();
    let mut rng = Rng::new(3, Purpose::Start, 0, 0);
    let mut table: Vec<f32> = (0..n * dim).map(|_| ((rng.unit() - 0.5) * spread) as f32).collect();
    for node in 0..n {
        for &other in graph.neighbours(node as Node) {
            for k in 0..dim {
                table[node * dim + k] += 0.2 * table[other as usize * dim + k];
            }
        }
    }
    Embedding::new(graph.ids().clone(), dim, table).unwrap()
}

/// The definitions; lists have the unconnected pairs at index 0.
struct Oracle {
    pairs: Vec<f64>,
    xi: Vec<f64>,
    xi_std: Vec<f64>,
    alpha: Vec<f64>,
    beta: Vec<f64>,
    cohesion: f64,
    separation: f64,
    separation_uniform: f64,
    total_distance: f64,
    spearman: f64,
}

fn oracle(graph: &Graph, embedding: &Embedding, config: &MeasureConfig) -> Oracle {
    let n = graph.nodes();
    let far = if let Far::Hops(hops) = config.negatives.far { Some(hops) } else { None };
    let distances = naive::Distances::new(graph, far);
    let pi = positives::cooccurrence(graph, config.context);
    let factor = (config.k * config.context) as f64;
    let mut by_distance: Vec<Vec<[f64; 3]>> = Vec::new();
    let mut total_distance = 0.0;
    for (i, cooccurrence) in pi.iter().enumerate() {
        let negatives = naive::distance(&distances, i, config.negatives.gamma);
        for j in (0..n).filter(|&j| j != i) {
            let pair = [i, j].map(|node| embedding.vector(node as Node));
            let x = pair[0].iter().zip(pair[1]).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            let at = if distances.connected[i][j] { distances.d[i][j] as usize } else { 0 };
            by_distance.resize(by_distance.len().max(at + 1), Vec::new());
            by_distance[at].push([x, cooccurrence[j], factor * negatives[j]]);
            total_distance += distances.d[i][j] / n as f64;
        }
    }
    let sigma = |x: f64| 1.0 / (1.0 + (-x).exp());
    let list = |of: &dyn Fn(&[[f64; 3]]) -> f64| by_distance.iter().map(|p| of(p)).collect();
    let mean = |pairs: &[[f64; 3]], of: &dyn Fn(&[f64; 3]) -> f64| {
        pairs.iter().map(of).sum::<f64>() / pairs.len() as f64
    };
    let alpha: Vec<f64> = list(&|pairs| mean(pairs, &|pair| pair[1]));
    let beta: Vec<f64> = list(&|pairs| mean(pairs, &|pair| pair[2]));
    let xi: Vec<f64> = list(&|pairs| mean(pairs, &|pair| sigma(pair[0])));
    let sum = |weights: &dyn Fn(usize) -> f64, sign: f64| -> f64 {
        let logs = |pairs: &Vec<[f64; 3]>| pairs.iter().map(|p| sigma(sign * p[0]).ln()).sum();
        let sums: Vec<f64> = by_distance.iter().map(logs).collect();
        let used = (0..sums.len()).filter(|&at| !by_distance[at].is_empty());
        used.map(|at| weights(at) * sums[at]).sum()
    };
    Oracle {
        pairs: list(&|pairs| pairs.len() as f64),
        xi_std: (0..xi.len())
            .map(|at| mean(&by_distance[at], &|p| (sigma(p[0]) - xi[at]).powi(2)).sqrt())
            .collect(),
        cohesion: sum(&|at| alpha[at], 1.0),
        separation: sum(&|at| beta[at], -1.0),
        separation_uniform: sum(&|_| factor / (n - 1) as f64, -1.0),
        spearman: spearman(&by_distance),
        xi,
        alpha,
        beta,
        total_distance,
    }
}

/// Pearson's correlation of ranks, found by counting.
fn spearman(by_distance: &[Vec<[f64; 3]>]) -> f64 {
    let pairs: Vec<[f64; 2]> = (1..by_distance.len())
        .flat_map(|d| by_distance[d].iter().map(move |pair| [d as f64, pair[0]]))
        .collect();
    let rank = |pair: &[f64; 2], of: usize| -> f64 {
        let less = pairs.iter().filter(|other| other[of] < pair[of]).count();
        let more = pairs.iter().filter(|other| other[of] > pair[of]).count();
        less as f64 - more as f64
    };
    let ranks: Vec<[f64; 2]> = pairs.iter().map(|pair| [rank(pair, 0), rank(pair, 1)]).collect();
    let sum = |a: usize, b: usize| ranks.iter().map(|rank| rank[a] * rank[b]).sum::<f64>();
    sum(0, 1) / (sum(0, 0) * sum(1, 1)).sqrt()
}

fn close(found: f64, exact: f64, what: &str) {
    let bound = 1e-6 * exact.abs().max(1.0);
    assert!((found - exact).abs() < bound, "{what}: {found} instead of {exact}");
}

fn close_lists(found: &[f64], exact: &[f64], what: &str) {
    assert_eq!(found.len(), exact.len(), "{what}");
    found.iter().zip(exact).for_each(|(&found, &exact)| close(found, exact, what));
}

#[test]
fn measures_match_their_definitions() {
    let graphs = [
        random(70, 180, 1),
        islands(),
        path(40),
        star(12),
        comet(20, 9),
        (*positives::weighted()).clone(),
    ];
    let law = |gamma, far| NegativeConfig { gamma, far, ..Default::default() };
    let configs = [
        MeasureConfig::default(),
        MeasureConfig {
            context: 3,
            k: 1,
            negatives: law(-1.5, Far::Hops(50)),
            ..Default::default()
        },
        MeasureConfig { context: 12, negatives: law(2.5, Far::Auto), ..Default::default() },
    ];
    for graph in graphs.into_iter().map(Arc::new) {
        for (config, spread) in configs.iter().zip([1.0, 0.1, 12.0]) {
            let embedding = vectors(&graph, 7, spread);
            let found = measure(&embedding, &graph, config).unwrap();
            let exact = oracle(&graph, &embedding, config);
            assert_eq!((found.counted, found.alpha_walks), (Counted::All, None));
            let pairs: Vec<f64> = found.pairs.iter().map(|&pairs| pairs as f64).collect();
            close_lists(&pairs, &exact.pairs[1..], "pairs");
            close_lists(&found.xi, &exact.xi[1..], "ξ");
            close_lists(&found.alpha, &exact.alpha[1..], "α");
            close_lists(&found.beta, &exact.beta[1..], "β");
            // Variances, because cancellation leaves their square roots half the digits.
            let variances = |list: &[f64]| list.iter().map(|std| std * std).collect::<Vec<_>>();
            close_lists(&variances(&found.xi_std), &variances(&exact.xi_std[1..]), "variance of ξ");
            close(found.cohesion, exact.cohesion, "cohesion");
            close(found.separation, exact.separation, "separation");
            close(found.uniform.separation, exact.separation_uniform, "uniform separation");
            close(found.mean_total_distance, exact.total_distance, "D(A)");
            let spearman = found.spearman.unwrap();
            assert!((spearman - exact.spearman).abs() < 3e-3, "{spearman} {}", exact.spearman);
            match &found.far {
                None => assert!(exact.pairs[0] < 1.0),
                Some(far) => {
                    close(far.pairs as f64, exact.pairs[0], "unconnected pairs");
                    close(far.xi, exact.xi[0], "ξ of unconnected pairs");
                    close(far.xi_std.powi(2), exact.xi_std[0].powi(2), "its variance");
                    close(far.beta, exact.beta[0], "β of unconnected pairs");
                }
            }
        }
    }
}

/// The paper's Theorem 1: equal cohesion does not imply equal separation. Vectors of a path of four
/// nodes, with equal angles between neighbours, which turn in one direction or back and forth.
#[test]
fn equal_cohesion_different_separation() {
    let graph = Arc::new(path(4));
    // With windows of two nodes, cohesion depends on edges only.
    let config = MeasureConfig { context: 2, ..Default::default() };
    let found = [[0, 1, 2, 3], [0, 1, 2, 1], [0, 1, 0, 1]].map(|angles| {
        let vector = |angle: i32| [f64::from(angle).cos() as f32, f64::from(angle).sin() as f32];
        let table = angles.into_iter().flat_map(vector).collect();
        let ids = NodeIds::Range { start: 0, len: 4 };
        measure(&Embedding::new(ids, 2, table).unwrap(), &graph, &config).unwrap()
    });
    let [turning, folded, crossed] = found;
    for other in [&folded, &crossed] {
        assert!((turning.cohesion - other.cohesion).abs() < 1e-6);
        assert!(turning.separation > other.separation + 0.1);
    }
    assert!(turning.alpha[1..].iter().all(|alpha| *alpha == 0.0));
    assert_eq!((turning.separation_power, turning.uniform.separation_power), (Some(3.0), 1.0));
}

/// A small version of the paper's Figure 4: no L2 regularisation, as in the paper, and some hundred
/// walks per node. The largest distances have only a few pairs at the ends of chains, so pairs are
/// compared in thirds, not by distance.
#[test]
fn distance_aware_negatives_separate_far_nodes() {
    for (seed, preset) in [(0, Preset::Sparse), (1, Preset::Sparse), (2, Preset::Moderate)] {
        let config = SynthConfig { nodes: 300, seed, ..SynthConfig::preset(preset) };
        let graph = Arc::new(synth(&config).unwrap().graph);
        let run = |negatives: Negatives| {
            let config = TrainConfig {
                dim: 32,
                context: Some(4),
                walks: Some(20),
                epochs: Some(20),
                l2: L2::Value(0.0),
                // It brings back near what the law separates.
                smoothing: Some(0),
                seed,
                ..Default::default()
            };
            let vectors = embed(&graph, negatives, &config, &mut ()).unwrap();
            let embedding = Embedding::new(graph.ids().clone(), 32, vectors).unwrap();
            let config = MeasureConfig { context: 4, ..Default::default() };
            measure(&embedding, &graph, &config).unwrap()
        };
        let (uniform, distance) = (run(Negatives::Uniform), run(Negatives::Distance));
        let [near, middle, far] = thirds(&distance, 4);
        assert!(near > middle + 0.03 && middle > far + 0.03, "{near} {middle} {far}");
        let [_, _, uniform_far] = thirds(&uniform, 4);
        assert!(far + 0.1 < uniform_far, "{far} against {uniform_far}");
        assert!(distance.xi.last() < uniform.xi.last());
        assert!(distance.spearman.unwrap() + 0.1 < uniform.spearman.unwrap());
    }
}

/// The mean of ξ over thirds of the pairs beyond `context` hops, by increasing distance.
fn thirds(found: &Measures, context: usize) -> [f64; 3] {
    let total: u64 = found.pairs[context..].iter().sum();
    let (mut sums, mut pairs, mut before) = ([0.0; 3], [0.0; 3], 0);
    for (&count, xi) in found.pairs[context..].iter().zip(&found.xi[context..]) {
        let third = ((before + count / 2) * 3 / total) as usize;
        sums[third] += xi * count as f64;
        pairs[third] += count as f64;
        before += count;
    }
    [0, 1, 2].map(|third| sums[third] / pairs[third])
}

#[test]
fn measures_do_not_depend_on_the_number_of_threads() {
    let graph = Arc::new(random(1500, 4000, 2));
    let embedding = vectors(&graph, 16, 1.0);
    for sources in [None, Some(700)] {
        let config = MeasureConfig { sources, ..Default::default() };
        let run = |threads: usize| -> Measures {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| measure(&embedding, &graph, &config).unwrap())
        };
        let one = serde_json::to_string(&run(1)).unwrap();
        for threads in [2, 5] {
            assert_eq!(serde_json::to_string(&run(threads)).unwrap(), one);
        }
    }
}

/// 95 % of the intervals should contain the exact value; 80 % allows for chance.
#[test]
fn confidence_intervals_contain_the_exact_values() {
    let graph = Arc::new(random(900, 1500, 5));
    let embedding = vectors(&graph, 8, 2.0);
    let exact = measure(&embedding, &graph, &MeasureConfig::default()).unwrap();
    let (mut inside, mut total) = (0, 0);
    for seed in 0..12 {
        let config = MeasureConfig { sources: Some(200), seed, ..Default::default() };
        let found = measure(&embedding, &graph, &config).unwrap();
        assert_eq!((found.counted, found.sources), (Counted::Sampled, 200));
        let interval = found.interval.unwrap();
        let mut check = |found: f64, exact: f64, half: f64| {
            total += 1;
            inside += usize::from((found - exact).abs() <= half);
        };
        for d in 0..8 {
            check(found.xi[d], exact.xi[d], interval.xi[d]);
        }
        check(found.alpha[1], exact.alpha[1], interval.alpha[1]);
        check(found.cohesion, exact.cohesion, interval.cohesion);
        check(found.separation, exact.separation, interval.separation);
        check(found.mean_total_distance, exact.mean_total_distance, interval.mean_total_distance);
    }
    assert!(inside * 100 >= total * 80 && inside < total, "{inside} of {total}");
}

#[test]
fn sampled_walks_approximate_exact_cooccurrence() {
    let graph = Arc::new(islands());
    let embedding = vectors(&graph, 4, 1.0);
    let exact = measure(&embedding, &graph, &MeasureConfig::default()).unwrap();
    for sources in [None, Some(21)] {
        let config = MeasureConfig { walks: Some(4000), sources, ..Default::default() };
        let walked = measure(&embedding, &graph, &config).unwrap();
        assert_eq!(walked.alpha_walks, Some(4000));
        for (walked, exact) in walked.alpha.iter().zip(&exact.alpha) {
            let slack = if sources.is_some() { 0.1 } else { 0.02 };
            assert!((walked - exact).abs() <= slack * exact, "{walked} instead of {exact}");
        }
    }
}

#[test]
fn graphs_without_edges() {
    let ids = |len| NodeIds::Range { start: 0, len };
    for (nodes, pairs) in [(1, 0), (3, 6)] {
        let graph = Arc::new(crate::graphs::graph(nodes, &[]));
        let embedding = Embedding::new(ids(nodes), 2, vec![1.0; 2 * nodes]).unwrap();
        let found = measure(&embedding, &graph, &MeasureConfig::default()).unwrap();
        assert_eq!((found.pairs.len(), found.spearman, found.separation_power), (0, None, None));
        assert_eq!(found.far.map_or(0, |far| far.pairs), pairs);
        assert!(found.cohesion == 0.0 && found.separation.is_finite());
    }
}

#[test]
fn rows_are_matched_by_id() {
    let graph = Arc::new(path(5));
    let embedding = vectors(&graph, 3, 4.0);
    let order = [3_u32, 0, 4, 1, 2];
    let strings = order.map(|node| node.to_string());
    let table = order.iter().flat_map(|&node| embedding.vector(node)).copied().collect();
    let ids = NodeIds::StringIds(strings.iter().map(String::as_str).collect());
    let shuffled = Embedding::new(ids, 3, table).unwrap();
    let config = MeasureConfig::default();
    assert_eq!(
        measure(&embedding, &graph, &config).unwrap(),
        measure(&shuffled, &graph, &config).unwrap()
    );
}
