//! Every computation of distances against single-source searches.

use std::ops::ControlFlow;

use nearfar::distance::{
    Diameter, DistanceHistogram, DistanceSummary, Far, HopRows, HopTable, Landmarks, Levels,
    MultiSourceBfs, SOURCES, hops,
};
use nearfar::graph::{Components, Graph, Node, ReadOptions, read};
use proptest::prelude::*;

use crate::graphs::{comet, graph, islands, path, random, star};
use crate::naive;

fn all_graphs() -> Vec<Graph> {
    let karate = read("builtin:karate", &ReadOptions::default()).unwrap().graph;
    vec![
        karate,
        path(40),
        star(30),
        comet(20, 30),
        islands(),
        random(60, 90, 1),
        random(60, 40, 2),
        random(700, 1400, 3),
    ]
}

pub(crate) fn check_all(graph: &Graph) {
    let n = graph.nodes();
    let oracle: Vec<_> = (0..n).map(|source| naive::hops(graph, source)).collect();
    let table = HopTable::new(graph).unwrap();
    let mut pairs = vec![0_u64];
    let mut unreachable = 0;
    for (a, row) in oracle.iter().enumerate() {
        assert_eq!(&Levels::new(graph, a as Node).hops(), row);
        for (b, &hops) in row.iter().enumerate() {
            assert_eq!(table.hops(a as Node, b as Node), hops, "{a}–{b}");
            match hops {
                None => unreachable += 1,
                Some(0) => {}
                Some(d) => {
                    pairs.resize(pairs.len().max(d as usize + 1), 0);
                    pairs[d as usize] += 1;
                }
            }
        }
    }
    let listed: Vec<i32> = oracle
        .iter()
        .flat_map(|row| row.iter().map(|hops| hops.map_or(-1, u32::cast_signed)))
        .collect();
    let all: Vec<Node> = (0..n as Node).collect();
    assert_eq!(hops(graph, &all), listed, "from all nodes");
    for few in all.chunks(3) {
        assert_eq!(
            hops(graph, few),
            listed[few[0] as usize * n..][..few.len() * n],
            "from {few:?}"
        );
    }
    let largest = pairs.len() as u32 - 1;
    let histogram = DistanceHistogram::exact(graph);
    assert_eq!(histogram, DistanceHistogram { pairs, unreachable, sources: n });
    let components = Components::new(graph);
    let diameter = Diameter::new(graph, &components, usize::MAX);
    assert_eq!(diameter, Diameter { at_least: largest, at_most: largest });
    if components.len() > 1 {
        assert_eq!(Far::Auto.hops(graph, &components), largest + 1);
    }
}

#[test]
fn all_distances_agree_with_single_searches() {
    all_graphs().iter().for_each(check_all);
}

proptest! {
    #[test]
    fn distances_of_random_graphs_agree_with_single_searches(
        n in 2_usize..40,
        pairs in prop::collection::vec((0_u32..40, 0_u32..40), 0..80),
    ) {
        let pairs: Vec<_> =
            pairs.into_iter().map(|(a, b)| (a % n as u32, b % n as u32)).collect();
        check_all(&graph(n, &pairs));
    }
}

#[test]
fn distances_over_255_take_two_bytes() {
    let graph = path(300);
    let nodes: Vec<Node> = (0..300).collect();
    assert!(HopRows::<u8>::new(&graph, &nodes, None, 2).is_none());
    let table = HopTable::new(&graph).unwrap();
    assert!(matches!(table, HopTable::U16(_)));
    assert_eq!(table.hops(0, 299), Some(299));
    assert_eq!(table.hops(299, 44), Some(255));
    assert!(matches!(HopTable::new(&path(256)).unwrap(), HopTable::U8(_)));
}

#[test]
fn a_search_visits_levels_in_order_and_can_be_stopped() {
    let graph = random(700, 1400, 4);
    let sources: Vec<Node> = (0..SOURCES as Node).collect();
    let mut bfs = MultiSourceBfs::new(&graph);
    for _ in 0..2 {
        let mut last = 0;
        let end = bfs.run(&sources, |hops, _, _| {
            assert!(hops >= last);
            last = hops;
            if hops == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(end.is_break());
    }
}

#[test]
fn sources_may_repeat_or_be_empty() {
    let graph = islands();
    let sources: Vec<Node> = [0; 40].into();
    assert_eq!(hops(&graph, &sources), hops(&graph, &[0]).repeat(40));
    assert!(hops(&graph, &[]).is_empty());
}

#[test]
fn a_sampled_summary_says_whether_its_diameter_is_exact() {
    let graph = path(2000);
    let exact = DistanceSummary::new(&graph, None, 0);
    assert_eq!((exact.diameter, exact.diameter_exact, exact.distance_sources), (1999, true, 2000));
    assert_eq!(exact.distance_histogram[&1999], 2);
    assert_eq!(exact, DistanceSummary::new(&graph, Some(usize::MAX), 0));
    let sampled = DistanceSummary::new(&graph, Some(5), 0);
    assert_eq!((sampled.distance_sources, sampled.graph), (5, exact.graph));
    assert!(sampled.diameter_exact && sampled.diameter == 1999, "a path takes few searches");
}

#[test]
fn the_distances_of_a_long_path_are_known_from_some_searches() {
    let n = 200_000;
    let graph = path(n as usize);
    let found = DistanceSummary::new(&graph, None, 0);
    assert_eq!((found.diameter, found.diameter_exact), (199_999, true));
    assert_eq!(found.distance_sources, 1024);
    // The mean of |i − j| over i ≠ j.
    assert!((found.mean_distance / (f64::from(n + 1) / 3.0) - 1.0).abs() < 0.02);
}

/// Few searches determine the diameter of many small components, and bound that of a ring.
#[test]
fn unconnected_nodes_always_get_a_distance() {
    let triangle = |k: Node| [(3 * k, 3 * k + 1), (3 * k, 3 * k + 2), (3 * k + 1, 3 * k + 2)];
    let graph = |n, pairs: Vec<_>| graph(n, &pairs);
    let triangles = graph(60_000, (0..20_000).flat_map(triangle).collect());
    assert_eq!(Far::Auto.hops(&triangles, &Components::new(&triangles)), 2);
    let ring = graph(20_001, (0..20_000).map(|k| (k, (k + 1) % 20_000)).collect());
    let far = Far::Auto.hops(&ring, &Components::new(&ring));
    assert!((10_001..10_100).contains(&far), "{far}");
}

/// Landmarks in many components take searches of their components alone: 60 000 searches of the
/// whole graph would visit 3.6 billion nodes.
#[test]
fn landmarks_of_many_components_and_of_long_paths() {
    let pairs: Vec<_> =
        (0..20_000).flat_map(|k| [(3 * k, 3 * k + 1), (3 * k, 3 * k + 2)]).collect();
    let triples = graph(60_000, &pairs);
    let components = Components::new(&triples);
    let chosen = Landmarks::<u8>::choose(&triples, &components, 60_000);
    let landmarks: Landmarks<u8> = Landmarks::new(&triples, &components, chosen, 2).unwrap();
    for at in (0..60_000).step_by(3) {
        let rows = [0, 1, 2].map(|of| landmarks.row(at + of));
        assert_eq!(rows, [[0, 1, 1], [1, 0, 2], [1, 2, 0]]);
    }
    let long = path(140_000);
    let components = Components::new(&long);
    let chosen: Vec<Node> = (0..100).map(|at| at * 1400).collect();
    assert!(Landmarks::<u16>::new(&long, &components, chosen.clone(), 2).is_none());
    let landmarks: Landmarks<u32> = Landmarks::new(&long, &components, chosen, 2).unwrap();
    for (a, from) in landmarks.nodes.iter().enumerate() {
        for (to, hops) in landmarks.nodes.iter().zip(landmarks.row(a)) {
            assert_eq!(from.abs_diff(*to), *hops);
        }
    }
}

#[test]
fn a_sampled_histogram_is_close_to_the_exact_one() {
    let graph = random(700, 1400, 3);
    let exact = DistanceHistogram::exact(&graph);
    let sampled = DistanceHistogram::sampled(&graph, 350, 0);
    assert_eq!(sampled.sources, 350);
    assert!((sampled.mean() / exact.mean() - 1.0).abs() < 0.02);
    assert_eq!(DistanceHistogram::sampled(&graph, 700, 0), exact);
}

#[test]
fn landmarks_agree_with_their_definition() {
    for graph in all_graphs() {
        let distances = naive::Distances::new(&graph, None);
        let components = Components::new(&graph);
        for count in [1, 3, graph.nodes() / 4, graph.nodes()] {
            let oracle = naive::Landmarks::new(&graph, &distances, count);
            let chosen = Landmarks::<u8>::choose(&graph, &components, count);
            let mut nodes = oracle.nodes.clone();
            nodes.sort_unstable();
            let mut found: Vec<usize> = chosen.iter().map(|&node| node as usize).collect();
            found.sort_unstable();
            assert_eq!(found, nodes);
            let landmarks: Landmarks<u8> = Landmarks::new(&graph, &components, chosen, 2).unwrap();
            for node in 0..graph.nodes() {
                let nearest = landmarks.nodes[landmarks.nearest[node] as usize] as usize;
                assert_eq!(nearest, oracle.nearest[node]);
                let depth = f64::from(landmarks.depth[node]);
                assert!((depth - distances.d[node][nearest]).abs() < 1e-9);
            }
            for a in 0..landmarks.len() {
                let start = landmarks.component[a].0 as usize;
                for (column, &cell) in landmarks.row(a).iter().enumerate() {
                    let (a, b) = (landmarks.nodes[a], landmarks.nodes[start + column]);
                    assert!((f64::from(cell) - distances.d[a as usize][b as usize]).abs() < 1e-9);
                }
            }
        }
    }
}

#[test]
fn many_components_take_little_memory() {
    let graph = graph(5000, &[(0, 1), (1, 2)]);
    let components = Components::new(&graph);
    let chosen = Landmarks::<u8>::choose(&graph, &components, 500);
    assert_eq!(Landmarks::<u8>::cells(&components, &chosen), 4997 + 9);
    let expected = chosen.len();
    let landmarks: Landmarks<u8> = Landmarks::new(&graph, &components, chosen, 2).unwrap();
    assert_eq!(landmarks.len(), expected);
}
