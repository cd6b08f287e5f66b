//! What building merges, drops and keeps.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn list(n: usize, pairs: &[(Node, Node)], weights: Option<Vec<f32>>) -> EdgeList {
    EdgeList { pairs: pairs.to_vec(), weights, ids: NodeIds::Range { start: 0, len: n } }
}

#[test]
fn loops_duplicates_and_zeros_are_dropped_and_counted() {
    let pairs = [(0, 1), (1, 0), (2, 2), (1, 2), (0, 1), (0, 2)];
    let weights = vec![3.0, 4.0, 1.0, 5.0, 6.0, 0.0];
    let (graph, dropped) = list(4, &pairs, Some(weights)).build().unwrap();
    assert_eq!(dropped, Dropped { self_loops: 1, repeats: 2, zero_weights: 1 });
    assert_eq!(graph.nodes(), 4);
    assert_eq!(graph.edges(), 2);
    assert_eq!(graph.neighbours(1), [0, 2]);
    assert_eq!(graph.weights(1), Some(&[13.0, 5.0][..]), "weights are added");
    assert_eq!(graph.degree(3), 0);
}

#[test]
fn bad_weights_and_ends_are_refused() {
    for weight in [f32::NAN, f32::INFINITY, -1.0] {
        assert!(list(2, &[(0, 1)], Some(vec![weight])).build().is_err(), "{weight}");
    }
    assert!(list(2, &[(0, 2)], None).build().is_err());
    assert!(list(2, &[(0, 1)], Some(vec![])).build().is_err());
}

fn built(pairs: &[(Node, Node)], weights: &[f32], direction: Direction) -> Built {
    list(3, pairs, Some(weights.to_vec())).build_as(direction, Repeats::Sum).unwrap()
}

#[test]
fn both_directions_of_a_symmetric_list_are_one_edge() {
    let pairs = [(0, 1), (1, 0), (1, 2), (2, 1)];
    let both = built(&pairs, &[3.0, 3.0, 5.0, 5.0], Direction::Unstated);
    assert_eq!((both.storage, both.dropped), (Storage::Both, Dropped::default()));
    assert_eq!(both.graph.weights(1), Some(&[3.0, 5.0][..]));
    for direction in [Direction::Unstated, Direction::Entries] {
        let other = built(&pairs, &[3.0, 3.0, 5.0, 4.0], direction);
        assert_eq!((other.dropped.repeats, other.graph.weights(1)), (2, Some(&[6.0, 9.0][..])));
        let is_matrix = direction == Direction::Entries;
        assert_eq!(other.storage == Storage::Asymmetric, is_matrix);
    }
    let directed = built(&pairs, &[3.0, 3.0, 5.0, 5.0], Direction::Directed);
    assert_eq!((directed.storage, directed.dropped.repeats), (Storage::Once, 2));
    assert_eq!(directed.graph.weights(1), Some(&[6.0, 10.0][..]));
    let triangle = built(&[(0, 1), (0, 2)], &[1.0, 2.0], Direction::Entries);
    assert_eq!((triangle.storage, triangle.dropped.repeats), (Storage::Once, 0));
}

#[test]
fn sums_beyond_32_bits_are_refused() {
    let repeated = || list(2, &[(0, 1), (0, 1)], Some(vec![3e38, 3e38]));
    let error = repeated().build().unwrap_err().to_string();
    assert!(error.ends_with("the largest 32-bit number; use --repeats max"), "{error}");
    assert!(repeated().build_as(Direction::Unstated, Repeats::Max).is_ok());
}

proptest! {
    #[test]
    fn rows_agree_with_a_map_of_edges(
        edges in prop::collection::vec((0_u32..30, 0_u32..30, 1_u8..5), 0..200),
    ) {
        let pairs: Vec<_> = edges.iter().map(|&(a, b, _)| (a, b)).collect();
        let weights: Vec<f32> = edges.iter().map(|&(_, _, w)| f32::from(w)).collect();
        let count = |a, b, w| {
            edges.iter().filter(|&&(x, y, v)| (x, y, v) == (a, b, w)).count()
        };
        let symmetric = edges.iter().all(|&(a, b, w)| count(a, b, w) == count(b, a, w));
        for repeats in [Repeats::Sum, Repeats::Max, Repeats::Min, Repeats::First] {
            let mut oracle = BTreeMap::new();
            for &(a, b, w) in edges.iter().filter(|&&(a, b, _)| a != b && !(symmetric && a > b))
            {
                let w = f32::from(w);
                let all = oracle.entry((a.min(b), a.max(b)));
                all.and_modify(|all: &mut f32| match repeats {
                    Repeats::Sum => *all += w,
                    Repeats::Max => *all = all.max(w),
                    Repeats::Min => *all = all.min(w),
                    Repeats::First => {}
                })
                .or_insert(w);
            }
            let plain = list(30, &pairs, None).build_as(Direction::Unstated, repeats).unwrap();
            let weighted = list(30, &pairs, Some(weights.clone()));
            let weighted = weighted.build_as(Direction::Unstated, repeats).unwrap().graph;
            prop_assert_eq!(&plain.graph.targets, &weighted.targets);
            prop_assert_eq!(&plain.graph.offsets, &weighted.offsets);
            prop_assert_eq!(plain.graph.edges(), oracle.len());
            for ((a, b), w) in oracle {
                for (from, to) in [(a, b), (b, a)] {
                    let at = weighted.neighbours(from).binary_search(&to).unwrap();
                    prop_assert_eq!(weighted.weights(from).unwrap()[at].to_bits(), w.to_bits());
                }
            }
        }
    }
}
