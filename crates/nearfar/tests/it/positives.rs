//! Walks against the distribution of their steps.

use std::sync::Arc;

use nearfar::graph::{EdgeList, Graph, Node, NodeIds, ReadOptions, read};
use nearfar::positive::{Cooccurrence, CooccurrenceRow, Node2Vec, PositiveSource, Walk};
use nearfar::rng::{Purpose, Rng};

use crate::chi_square::{chi_square, chi_square_bound};
use crate::{graphs, naive};

fn karate() -> Arc<Graph> {
    Arc::new(read("builtin:karate", &ReadOptions::default()).unwrap().graph)
}

pub(crate) fn weighted() -> Arc<Graph> {
    let pairs = vec![(0, 1), (0, 2), (0, 3), (1, 2), (2, 3), (3, 4), (1, 4)];
    let weights = Some(vec![1.0, 5.0, 0.5, 2.0, 3.0, 0.1, 4.0]);
    let ids = NodeIds::Range { start: 0, len: 6 };
    Arc::new(EdgeList { pairs, weights, ids }.build().unwrap().0)
}

/// The probability of each next node: α(x) of node2vec times the weight of the edge, normalised,
/// for a walk that came from `before` to `node`.
fn step_probabilities(graph: &Graph, before: Option<Node>, node: Node, p: f64, q: f64) -> Vec<f64> {
    let mut steps = vec![0.0; graph.nodes()];
    for (edge, &next) in graph.neighbours(node).iter().enumerate() {
        let weight = graph.weights(node).map_or(1.0, |weights| f64::from(weights[edge]));
        let alpha = match before {
            None => 1.0,
            Some(before) if before == next => 1.0 / p,
            Some(before) if graph.has_edge(before, next) => 1.0,
            Some(_) => 1.0 / q,
        };
        steps[next as usize] = weight * alpha;
    }
    let total: f64 = steps.iter().sum();
    steps.iter().map(|weight| weight / total).collect()
}

/// Counts the steps of many walks by the two nodes before them, and compares the counts with
/// [`step_probabilities`].
fn check(graph: &Graph, source: &dyn PositiveSource, p: f64, q: f64) {
    let n = graph.nodes();
    let mut counts = vec![vec![0_u32; n]; n * n];
    let mut walk = [0; 30];
    for start in 0..n as Node {
        if graph.degree(start) == 0 {
            continue;
        }
        for repeat in 0..3000 {
            let mut rng = Rng::new(5, Purpose::Walk, repeat, u64::from(start));
            assert_eq!(source.walk(start, &mut rng, &mut walk), 30);
            for step in walk.windows(3) {
                counts[step[0] as usize * n + step[1] as usize][step[2] as usize] += 1;
            }
        }
    }
    for before in 0..n as Node {
        for &node in graph.neighbours(before) {
            let counts = &counts[before as usize * n + node as usize];
            let expected = step_probabilities(graph, Some(before), node, p, q);
            let (chi2, freedom) = chi_square(counts, &expected);
            let bound = chi_square_bound(freedom);
            assert!(chi2 <= bound, "{before} → {node}, p {p}, q {q}: {chi2:.1} over {bound:.1}");
        }
    }
}

#[test]
fn first_order_walks_follow_the_weights() {
    for graph in [karate(), weighted()] {
        check(&graph, &Walk::new(&graph), 1.0, 1.0);
    }
}

#[test]
fn second_order_walks_follow_p_and_q() {
    for graph in [karate(), weighted()] {
        for (p, q) in [
            (1.0, 1.0),
            (1.0, 4.0),
            (0.05, 1.0),
            (4.0, 0.25),
            (0.25, 0.25),
            (50.0, 2.0),
            (0.25, 4.0),
            (0.3, 0.5),
        ] {
            check(&graph, &Node2Vec::new(&graph, p, q).unwrap(), p, q);
        }
    }
}

#[test]
fn walks_from_isolated_nodes_have_one_node() {
    let graph = Arc::new(graphs::graph(3, &[(0, 1)]));
    let sources: [Box<dyn PositiveSource>; 2] =
        [Box::new(Walk::new(&graph)), Box::new(Node2Vec::new(&graph, 0.5, 2.0).unwrap())];
    for source in sources {
        let mut walk = [9; 4];
        assert_eq!(source.walk(2, &mut Rng::new(0, Purpose::Walk, 0, 0), &mut walk), 1);
        assert_eq!(walk[0], 2);
        assert_eq!(source.walk(0, &mut Rng::new(0, Purpose::Walk, 0, 0), &mut walk), 4);
        assert_eq!(walk, [0, 1, 0, 1]);
    }
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(
            Node2Vec::new(&graph, bad, 1.0).is_err() && Node2Vec::new(&graph, 1.0, bad).is_err()
        );
    }
}

#[test]
fn interleaved_walks_equal_single_walks() {
    let graph = Arc::new(graphs::islands());
    let sources: [Box<dyn PositiveSource>; 3] = [
        Box::new(Walk::new(&graph)),
        Box::new(Node2Vec::new(&graph, 0.5, 2.0).unwrap()),
        Box::new(Walk::with_centre_power(&graph, 1.0)),
    ];
    let starts: Vec<Node> = (0..graph.nodes() as Node).chain([0, 0]).collect();
    let rngs: Vec<Rng> =
        (0..starts.len()).map(|w| Rng::new(1, Purpose::Walk, 0, w as u64)).collect();
    for source in sources {
        let mut interleaved = vec![0; 6 * starts.len()];
        source.walks(&starts, &mut rngs.clone(), &mut interleaved);
        for (w, &start) in starts.iter().enumerate() {
            let mut single = [start; 6];
            source.walk(start, &mut rngs[w].clone(), &mut single);
            let walk = interleaved.iter().skip(w).step_by(starts.len()).copied();
            assert!(walk.eq(single), "from {start}");
        }
    }
}

#[test]
fn edges_are_drawn_by_weight() {
    for graph in [karate(), weighted()] {
        let edges = Walk::with_centre_power(&graph, 1.0);
        let n = graph.nodes();
        let mut counts = vec![0_u32; n * n];
        for epoch in 0..3000 {
            for start in (0..n as Node).filter(|&start| graph.degree(start) > 0) {
                let mut rng = Rng::new(2, Purpose::Walk, epoch, u64::from(start));
                for _ in 0..edges.walks_from(start, 3, &mut rng) {
                    let mut edge = [0; 2];
                    assert_eq!(edges.walk(start, &mut rng, &mut edge), 2);
                    counts[edge[0] as usize * n + edge[1] as usize] += 1;
                }
            }
        }
        let weight = |a: Node, b: Node| match graph.neighbours(a).binary_search(&b) {
            Ok(edge) => graph.weights(a).map_or(1.0, |weights| f64::from(weights[edge])),
            Err(_) => 0.0,
        };
        let weights: Vec<f64> =
            (0..(n * n) as Node).map(|pair| weight(pair / n as Node, pair % n as Node)).collect();
        let total: f64 = weights.iter().sum();
        let expected: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
        let (chi2, freedom) = chi_square(&counts, &expected);
        assert!(chi2 <= chi_square_bound(freedom), "{chi2:.1} with {freedom} degrees of freedom");
    }
}

/// π by the formula: the mean of C − 1 powers of the transition matrix, without the diagonal.
pub(crate) fn cooccurrence(graph: &Graph, context: usize) -> Vec<Vec<f64>> {
    let n = graph.nodes();
    let steps: Vec<Vec<f64>> =
        (0..n as Node).map(|node| step_probabilities(graph, None, node, 1.0, 1.0)).collect();
    let mut power: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    let mut pi = vec![vec![0.0; n]; n];
    for _ in 1..context {
        let times_step = |row: &Vec<f64>| -> Vec<f64> {
            // A walk ends at a node without neighbours.
            let from = |&k: &usize| row[k] > 0.0 && graph.degree(k as Node) > 0;
            let from: Vec<usize> = (0..n).filter(from).collect();
            (0..n).map(|j| from.iter().map(|&k| row[k] * steps[k][j]).sum()).collect()
        };
        power = power.iter().map(times_step).collect();
        for i in 0..n {
            for j in (0..n).filter(|&j| j != i) {
                pi[i][j] += power[i][j] / (context - 1) as f64;
            }
        }
    }
    pi
}

#[test]
fn cooccurrence_is_the_mean_of_powers_of_the_transition_matrix() {
    let graphs = [(*karate()).clone(), (*weighted()).clone(), graphs::islands(), graphs::path(9)];
    let mut row = CooccurrenceRow::default();
    for graph in graphs {
        for context in [2, 3, 5, 12] {
            let expected = cooccurrence(&graph, context);
            let cooccurrence = Cooccurrence::new(&graph, context);
            for (start, expected) in expected.iter().enumerate() {
                cooccurrence.fill(start as Node, &mut row);
                let mut found = vec![0.0; graph.nodes()];
                row.iter().for_each(|(node, p)| found[node as usize] = p);
                for (found, exact) in found.iter().zip(expected) {
                    assert!((found - exact).abs() < 1e-12, "{found}, expected {exact}");
                }
                let hops = naive::hops(&graph, start);
                for (d, found) in (1..).zip(row.by_distance()) {
                    let level = (0..graph.nodes()).filter(|&node| hops[node] == Some(d));
                    let exact: f64 = level.map(|node| expected[node]).sum();
                    assert!(
                        (found - exact).abs() < 1e-12,
                        "{found} at distance {d}, expected {exact}"
                    );
                }
            }
        }
    }
}

#[test]
fn sampled_walks_match_exact_cooccurrence() {
    let graph = weighted();
    let (walk, cooccurrence) = (Walk::new(&graph), Cooccurrence::new(&graph, 6));
    let mut row = CooccurrenceRow::default();
    for start in 0..5 {
        cooccurrence.fill(start, &mut row);
        let mut expected = vec![0.0; graph.nodes()];
        row.iter().for_each(|(node, p)| expected[node as usize] = p);
        // The nodes of a walk are not independent, so one node of each walk is counted.
        let mut counts = vec![0_u32; graph.nodes()];
        let mut rng = Rng::new(1, Purpose::Walk, 0, u64::from(start));
        let mut nodes = [0; 6];
        for _ in 0..40_000 {
            assert_eq!(walk.walk(start, &mut rng, &mut nodes), 6);
            counts[nodes[1 + rng.below(5)] as usize] += 1;
        }
        expected[start as usize] = 1.0 - expected.iter().sum::<f64>();
        let (chi2, freedom) = chi_square(&counts, &expected);
        let bound = chi_square_bound(freedom);
        assert!(chi2 <= bound, "from {start}: {chi2:.1} over {bound:.1}");
    }
}
