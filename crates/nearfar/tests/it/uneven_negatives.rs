//! Samplers where weights are very uneven, or where there are none, and where many lists are filled.

use std::sync::Arc;

use nearfar::distance::Far;
use nearfar::graph::Node;
use nearfar::negative::{LandmarkCount, NegativeConfig, Negatives, Strategy};
use nearfar::rng::{Purpose, Rng};

use crate::graphs::{graph, path, random, star};
use crate::naive::{self, Distances};
use crate::negatives::{check, sampler};

/// Weights so uneven that the heaviest are listed: the far end of a path at a high power, and the few
/// nodes of small components at a great distance from a large one.
#[test]
fn the_heaviest_nodes_are_drawn_by_their_weight() {
    // The components before and after the large one; its nodes are 2 to 41.
    let edges: Vec<_> = (2..41).map(|node| (node, node + 1)).chain([(0, 1)]).collect();
    let separate = Arc::new(graph(44, &edges));
    for (name, graph, gamma, far) in
        [("path", Arc::new(path(60)), 14.0, None), ("separate", separate, 1.0, Some(5000))]
    {
        let distances = Distances::new(&graph, far);
        let config = |negatives, strategy, count| NegativeConfig {
            negatives,
            strategy,
            gamma,
            far: far.map_or(Far::Auto, Far::Hops),
            landmarks: Some(LandmarkCount::Count(count)),
            ..Default::default()
        };
        let n = graph.nodes();
        for strategy in [Strategy::Table, Strategy::Levels] {
            let sampler = sampler(&graph, &config(Negatives::Distance, strategy, 1));
            check(&format!("{name}, {strategy:?}"), &*sampler, |i| {
                (i < n).then(|| naive::distance(&distances, i, gamma))
            });
        }
        let landmarks = naive::Landmarks::new(&graph, &distances, 35);
        let sampler = |law| sampler(&graph, &config(law, Strategy::Auto, 35));
        check(&format!("{name}, landmark"), &*sampler(Negatives::Landmark), |i| {
            (i < n).then(|| naive::landmark(&distances, &landmarks, i, gamma))
        });
        check(&format!("{name}, landmark-approx"), &*sampler(Negatives::LandmarkApprox), |i| {
            (i < n).then(|| naive::landmark_approx(&distances, &landmarks, i, gamma))
        });
    }
}

/// Nearly all nodes are near the hub. The end of its tail is far from it, and the other component is too,
/// at less than the largest distance: both are among the heaviest.
#[test]
fn far_nodes_within_and_outside_a_component_are_drawn_by_their_weight() {
    const LEAVES: Node = 400;
    let (tail, other) = (LEAVES + 25, LEAVES + 25 + 31);
    let mut edges: Vec<_> = (1..=LEAVES).map(|leaf| (0, leaf)).collect();
    edges.extend((LEAVES..tail).map(|a| (a, a + 1)));
    edges.extend((tail + 1..other).map(|a| (a, a + 1)));
    let graph = Arc::new(graph(other as usize + 1, &edges));
    let distances = Distances::new(&graph, Some(21));
    let landmarks = naive::Landmarks::new(&graph, &distances, 50);
    let config = |negatives, strategy| NegativeConfig {
        negatives,
        strategy,
        gamma: 4.0,
        far: Far::Hops(21),
        landmarks: Some(LandmarkCount::Count(50)),
        ..Default::default()
    };
    for strategy in [Strategy::Table, Strategy::Levels] {
        let sampler = sampler(&graph, &config(Negatives::Distance, strategy));
        check(&format!("{strategy:?}"), &*sampler, |i| {
            (i < 3).then(|| naive::distance(&distances, i, 4.0))
        });
    }
    let sampler = sampler(&graph, &config(Negatives::LandmarkApprox, Strategy::Auto));
    check("landmark-approx", &*sampler, |i| {
        (i < 3).then(|| naive::landmark_approx(&distances, &landmarks, i, 4.0))
    });
}

#[test]
fn a_centre_without_negatives_has_probabilities_of_zero() {
    let hub = Arc::new(star(9));
    let config = NegativeConfig { negatives: Negatives::Edge, ..Default::default() };
    let sampler = sampler(&hub, &config);
    let mut probabilities = [f64::NAN; 9];
    sampler.probabilities(0, &mut probabilities);
    assert!(probabilities.iter().all(|p| p.to_bits() == 0), "{probabilities:?}");
    let mut negatives = [7; 3];
    sampler.fill(0, &mut Rng::new(0, Purpose::Negative, 0, 0), &mut negatives);
    assert_eq!((negatives, sampler.has_negatives(0)), ([7; 3], false));
}

/// With lists of different lengths, and enough draws that a row of a table is read ahead.
#[test]
fn lists_are_filled_as_one_by_one() {
    let graph = Arc::new(random(300, 700, 4));
    for (negatives, strategy) in [
        (Negatives::Uniform, Strategy::Auto),
        (Negatives::Distance, Strategy::Table),
        (Negatives::Distance, Strategy::Levels),
        (Negatives::LandmarkApprox, Strategy::Auto),
    ] {
        let config = NegativeConfig { negatives, strategy, ..Default::default() };
        let sampler = sampler(&graph, &config);
        let rng = |list: usize| Rng::new(2, Purpose::Negative, 0, list as u64);
        let lengths = [0, 1, 7, 200];
        let mut together = lengths.map(|length| vec![9; length]);
        let lists = together.iter_mut().enumerate().map(|(at, list)| (rng(at), &mut list[..]));
        sampler.fill_each(9, &mut lists.collect::<Vec<_>>());
        for (at, list) in together.iter().enumerate() {
            let mut alone = vec![9; list.len()];
            sampler.fill(9, &mut rng(at), &mut alone);
            assert_eq!(list, &alone, "{negatives:?} by {strategy:?}");
            assert!(!list.contains(&9), "{negatives:?} by {strategy:?}");
        }
    }
}
