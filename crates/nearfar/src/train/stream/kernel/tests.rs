//! Kernels against a naive implementation, against each other, and against finite differences.

use super::*;
use crate::rng::{Purpose, Rng};

fn random(len: usize, seed: u64) -> Vec<f32> {
    let mut rng = Rng::new(seed, Purpose::Start, 0, 0);
    (0..len).map(|_| (rng.unit() - 0.5) as f32).collect()
}

fn pairs(list: &[(u32, u32, bool)]) -> Vec<Pair> {
    list.iter().map(|&(centre, other, positive)| Pair::new(centre, other, positive)).collect()
}

/// The same steps in plain loops and double precision, for pairs of one piece.
fn naive(dim: usize, centres: &[f32], others: &[f32], pairs: &[Pair], step: Step) -> Vec<f64> {
    let rows = |rows: &[f32]| rows.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
    let (mut centres, mut others) = (rows(centres), rows(others));
    let g: Vec<f64> = pairs
        .iter()
        .map(|pair| {
            let (a, b) = (&centres[pair.centre() * dim..], &others[pair.other() * dim..]);
            let dot: f64 = a.iter().zip(b).take(dim).map(|(a, b)| a * b).sum();
            let sigmoid = 1.0 / (1.0 + (-dot).exp());
            if pair.is_positive() {
                f64::from(step.positive) * (1.0 - sigmoid)
            } else {
                f64::from(step.negative) * -sigmoid
            }
        })
        .collect();
    let mut old = vec![];
    for (at, (pair, g)) in pairs.iter().zip(g).enumerate() {
        if at == 0 || pairs[at - 1].centre() != pair.centre() {
            old = centres[pair.centre() * dim..][..dim].to_vec();
        }
        for (at, old) in old.iter().enumerate() {
            let (i, j) = (pair.centre() * dim + at, pair.other() * dim + at);
            centres[i] += g * others[j];
            others[j] += g * old;
        }
    }
    for pair in pairs.iter().filter(|pair| !pair.is_positive()) {
        let row = &mut centres[pair.centre() * dim..][..dim];
        for value in row {
            *value *= f64::from(step.shrink);
        }
    }
    [centres, others].concat()
}

#[test]
fn kernels_agree_with_the_naive_implementation() {
    let step = Step { positive: 0.1, negative: 0.05, shrink: 0.99 };
    let list = [(1, 3, true), (1, 7, true), (1, 3, false), (0, 4, true), (2, 1, false)];
    for dim in [16, 32, 48, 64, 112, 128, 144, 304] {
        let (centres, others) = (random(3 * dim, 1), random(8 * dim, 2));
        let expected = naive(dim, &centres, &others, &pairs(&list), step);
        for kernel in InstructionSet::available() {
            let (mut centres, mut others) = (centres.clone(), others.clone());
            let rows = PairRows { dim, centres: &mut centres, others: Some(&mut others) };
            train_pairs(kernel, rows, &pairs(&list), step);
            for (found, expected) in centres.iter().chain(&others).zip(&expected) {
                assert!((f64::from(*found) - expected).abs() < 1e-5, "{kernel:?}, dim {dim}");
            }
        }
    }
}

#[test]
fn kernels_agree_over_many_pieces_in_one_block() {
    let dim = 48;
    let step = Step { positive: 0.1, negative: 0.05, shrink: 0.99 };
    let mut rng = Rng::new(0, Purpose::Edge, 0, 0);
    let mut list = vec![];
    for centre in 0..30 {
        for _ in 0..rng.below(40) {
            let other = (centre + 1 + rng.below(29) as u32) % 30;
            list.push((centre, other, rng.below(2) == 0));
        }
    }
    let results: Vec<_> = InstructionSet::available()
        .into_iter()
        .map(|kernel| {
            let mut block = random(30 * dim, 2);
            let rows = PairRows { dim, centres: &mut block, others: None };
            let loss = train_pairs(kernel, rows, &pairs(&list), step);
            (block, loss)
        })
        .collect();
    for (block, loss) in &results[1..] {
        assert!(block.iter().zip(&results[0].0).all(|(a, b)| (a - b).abs() < 1e-4));
        assert!((loss - results[0].1).abs() < 1e-3);
    }
}

#[test]
#[should_panic(expected = "pairs are in range")]
fn a_row_out_of_range_panics() {
    let step = Step { positive: 0.1, negative: 0.1, shrink: 1.0 };
    let rows = PairRows { dim: 16, centres: &mut [0.0; 32], others: None };
    train_pairs(InstructionSet::detect(), rows, &pairs(&[(0, 1, true), (1, 2, true)]), step);
}

/// The other nodes' block may have fewer rows than that of the centres, and the reverse.
#[test]
fn rows_of_both_blocks_are_checked() {
    let step = Step { positive: 0.1, negative: 0.1, shrink: 1.0 };
    let trains = |dim: usize, sizes: [usize; 2], pair: (u32, u32)| {
        let [mut centres, mut others] = sizes.map(|rows| vec![0.0; rows * 16]);
        std::panic::catch_unwind(move || {
            let rows = PairRows { dim, centres: &mut centres, others: Some(&mut others) };
            train_pairs(InstructionSet::detect(), rows, &pairs(&[(pair.0, pair.1, true)]), step);
        })
        .is_ok()
    };
    assert!(trains(16, [5, 2], (4, 1)) && trains(16, [2, 5], (1, 4)));
    for (sizes, pair) in [([5, 2], (4, 2)), ([5, 2], (0, 4)), ([2, 5], (2, 4)), ([0, 5], (0, 0))] {
        assert!(!trains(16, sizes, pair), "{pair:?} in {sizes:?}");
    }
    assert!(!trains(8, [5, 5], (0, 0)) && !trains(0, [5, 5], (0, 0)), "rows are whole vectors");
}

#[test]
fn steps_follow_the_gradient_by_finite_differences() {
    let dim = 16;
    let (centre, block) = (random(dim, 3), random(4 * dim, 4));
    let list = pairs(&[(0, 1, true), (0, 2, false), (0, 3, false)]);
    let loss = |centre: &[f32], block: &[f32]| -> f64 {
        let dot = |row: usize| -> f64 {
            let other = &block[row * dim..(row + 1) * dim];
            centre.iter().zip(other).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        let log_sigmoid = |x: f64| -(1.0 + (-x).exp()).ln();
        -log_sigmoid(dot(1)) - log_sigmoid(-dot(2)) - log_sigmoid(-dot(3))
    };
    // Small, as pairs are updated one after the other.
    let rate = 1e-3;
    let (mut moved, mut moved_block) = (centre.clone(), block.clone());
    let step = Step { positive: rate, negative: rate, shrink: 1.0 };
    let rows = PairRows { dim, centres: &mut moved, others: Some(&mut moved_block) };
    let before = train_pairs(InstructionSet::detect(), rows, &list, step);
    assert!((before - loss(&centre, &block)).abs() < 1e-4);
    let change = 1e-2;
    for at in 0..dim {
        let mut shifted = centre.clone();
        shifted[at] += change;
        let up = loss(&shifted, &block);
        shifted[at] -= 2.0 * change;
        let gradient = (up - loss(&shifted, &block)) / (2.0 * f64::from(change));
        let found = f64::from((moved[at] - centre[at]) / rate);
        assert!((found + gradient).abs() < 2e-3, "centre {at}: {found} for {gradient}");
    }
    for at in 0..block.len() {
        let mut shifted = block.clone();
        shifted[at] += change;
        let up = loss(&centre, &shifted);
        shifted[at] -= 2.0 * change;
        let gradient = (up - loss(&centre, &shifted)) / (2.0 * f64::from(change));
        let found = f64::from((moved_block[at] - block[at]) / rate);
        assert!((found + gradient).abs() < 2e-3, "other {at}: {found} for {gradient}");
    }
}

#[test]
fn negative_pairs_shrink_the_centre() {
    let (mut centres, mut others) = ([1.0; 16], [0.0; 16]);
    let step = Step { positive: 0.0, negative: 0.0, shrink: 0.5 };
    let rows = PairRows { dim: 16, centres: &mut centres, others: Some(&mut others) };
    train_pairs(
        InstructionSet::detect(),
        rows,
        &pairs(&[(0, 0, true), (0, 0, false), (0, 0, false)]),
        step,
    );
    assert!(centres.iter().all(|value| (value - 0.25).abs() < 1e-7), "{centres:?}");
}
